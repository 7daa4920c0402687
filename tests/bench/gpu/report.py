"""What gpu_bench.py writes: the table of its rows, what stands out in it, and the page that says how it was made."""

import datetime
import pathlib
import shlex
import statistics
import subprocess
from dataclasses import dataclass

import torch
import triton
from cudnn_graph import MOST_ENGINES, TIMED_CALLS
from rows import Row

ROOT = pathlib.Path(__file__).resolve().parents[3]
BEYOND = 1.15  # times the best peer, more than which no drawn row should take


@dataclass
class Measured:
    """A row's times. The best peer is that of the least median."""

    row: Row
    floor: float  # microseconds, as all times here
    times: dict[str, list[float]]  # of each round, by side; kgen is one of them

    def __post_init__(self):
        self.medians = {side: statistics.median(times) for side, times in self.times.items()}
        self.best = min((side for side in self.times if side != "kgen"), key=self.medians.get, default=None)

    def over_floor(self):
        return self.medians["kgen"] / self.floor

    def over_best(self):
        return self.medians["kgen"] / self.medians[self.best]

    def rounds_won(self):
        """Of the rounds, in how many kgen was faster than the best peer: medians that differ little do not say."""
        rounds = list(zip(self.times["kgen"], self.times[self.best], strict=True))
        return f"{sum(kgen < best for kgen, best in rounds)}/{len(rounds)}"


@dataclass
class Made:
    """How all rows were measured."""

    arguments: list[str]  # of the command
    rounds: int
    sets: int
    copied: int  # bytes
    copy_us: float
    product: int  # edge of the matrices of the product by which operations are measured
    product_us: float | None
    peers: list[str]
    left_out: list[str]  # what is missing in the table, and why


def table(measured, peers):
    columns = ["row", "floor us", "kgen us", "kgen / floor", "at most", *[f"{peer} us" for peer in peers],
               "best peer us", "who", "best peer / floor", "kgen / best peer", "rounds won"]
    lines = ["| " + " | ".join(columns) + " |", "| --- |" + " ---: |" * (len(columns) - 1)]
    for one in measured:
        us = {side: f"{median:.1f}" for side, median in one.medians.items()}
        cells = [one.row.title, f"{one.floor:.1f}", us["kgen"], f"{one.over_floor():.3f}", f"{one.row.most:.2f}"]
        cells += [us.get(peer, "-") for peer in peers]
        if one.best:
            cells += [us[one.best], one.best, f"{one.medians[one.best] / one.floor:.2f}", f"{one.over_best():.3f}",
                      one.rounds_won()]
        else:
            cells += ["-"] * 5
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def mean_over_best(measured):
    ratios = [one.over_best() for one in measured if one.best]
    return statistics.geometric_mean(ratios) if ratios else float("nan")


def means_by_graph(measured):
    """Of rows drawn at random: over the best peer, each graph's geometric mean, and how many rows are well beyond it."""
    for graph in sorted({one.row.graph for one in measured}):
        own = [one for one in measured if one.row.graph == graph and one.best]
        if not own:
            continue
        ratios = sorted(one.over_best() for one in own)
        beyond = sum(ratio > BEYOND for ratio in ratios)
        yield (f"{graph}: {mean_over_best(own):.3f} of the best peer, {beyond} of {len(own)} beyond {BEYOND}, "
               f"worst {ratios[-1]:.2f}")


def remarks(measured):
    """The rows that take more over the floor than they may, and those that are behind their best peer."""
    for one in measured:
        if one.over_floor() > one.row.most:
            yield f"beyond {one.row.most:.2f} of the floor: {one.row.title}, {one.over_floor():.3f}"
    for one in measured:
        if one.best and one.over_best() > 1:
            yield f"behind {one.best}: {one.row.title}, {one.over_best():.4f}, {one.rounds_won()} rounds won"


def said_by(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def machine():
    driver = said_by("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    nvcc = said_by("nvcc", "--version").split("release ")[-1].split(",")[0]
    bundled = ROOT / "bundle.txt"
    kgen = bundled.read_text().strip() if bundled.exists() else "unknown"
    return f"""{torch.cuda.get_device_name()},
driver {driver}, CUDA {nvcc}, PyTorch {torch.__version__}, Triton {triton.__version__}; kgen {kgen}."""


def in_words(peers):
    if not peers:
        return "No peers were timed."
    words = {
        "eager": "PyTorch eager",
        "cublaslt": "the same with products by cuBLASLt",
        "compile": "`torch.compile`",
        "max-autotune": "`torch.compile` with max-autotune",
    }
    if "vendor" in peers:
        cudnn = ".".join(str(torch.backends.cudnn.version() // part % 100) for part in (10000, 100, 1))
        words["vendor"] = f"""NVIDIA's libraries
on the rows for which a call of theirs is known here: CUB's sum, and graphs of cuDNN {cudnn}, each by the engine that
was the fastest of at most {MOST_ENGINES} that cuDNN names, by one timing of {TIMED_CALLS} calls"""
    return f"Peers: {'; '.join(map(words.get, peers))}.\nA dash: the peer has no call for the row, or was left out."


def page(made, text):
    rivals = ["PyTorch"] * any(peer != "vendor" for peer in made.peers)
    rivals += ["NVIDIA's libraries"] * ("vendor" in made.peers)
    against = f", against {' and '.join(rivals)}" if rivals else ""
    left_out = "\n".join(["", "Left out:", "", *[f"- {line}" for line in made.left_out], ""]) if made.left_out else ""
    operations = f"""
Of rows of matrix products, its operations at the rate of cuBLAS's product of {made.product}^3 where that is more:
{made.product_us:.1f} us, {2 * made.product**3 / made.product_us / 1e6:.0f} TFLOP/s.""" if made.product_us else ""
    return f"""# Graphs on a GPU{against}

Written by `{shlex.join(["scripts/gpu_bench", *made.arguments])}` on {datetime.date.today()}: {machine()}

bf16 unless a row says otherwise. Every side in one run, captured as a CUDA graph of several calls that go round
{made.sets} sets of random tensors, so that the L2 cache holds nothing of the next one; results of all sides come from
one pool of memory. Medians of {made.rounds} rounds in which each is timed once, in random order, behind a replay of the
same graph. Rounds won: those in which kgen was faster than the best peer, which is that of the least median. kgen's
calls go through the C ABI on PyTorch's tensors. Results were compared with float64 first. The floor is the row's bytes,
moved once, at the rate of a copy of {made.copied / 1e6:.0f} MB from device to device: {made.copy_us:.1f} us,
{2 * made.copied / made.copy_us / 1e3:.0f} GB/s.{operations} "At most" is what kgen may take, over the floor.
{in_words(made.peers)}

{text}
{left_out}"""
