"""The benchmark's tables: of what cpu_bench.time_row() measured."""

import contextlib
import datetime
import math
import os
import platform
import re
import shlex
import statistics
import subprocess
from importlib import metadata
from pathlib import Path

PACKAGES = {"eager": "torch", "ort": "onnxruntime", "openvino": "openvino", "max": "modular"}
NAMES = {"ort": "ONNX Runtime", "openvino": "OpenVINO", "max": "MAX", "compile": "torch.compile"}
BEHIND = 1.10  # times the best peer, from which on a drawn row is printed


def medians(one):
    return {side: statistics.median(times) for side, times in one["us"].items()}


def peers_of(one):
    return [side for side in one["us"] if side not in ("kgen", "copy", "stream")]


def best_peer(one):
    """Its name and its microseconds: of the peer that kgen is the furthest behind, or the least ahead of; None without one."""
    us = medians(one)
    if "kgen" in us:
        best = max(peers_of(one), key=lambda side: over(one, side), default=None)
    else:
        best = min(peers_of(one), key=us.get, default=None)
    return best and (best, us[best])


def over(one, side):
    """kgen's time over that side's: the median of the rounds' ratios, as what disturbs a round disturbs both."""
    return statistics.median(kgen / other for kgen, other in zip(one["us"]["kgen"], one["us"][side]))


def over_floor(one, rate, side="kgen"):
    """A side's time over the floor, in the same way; nan where there is no floor."""
    copies = [one["us"][copy] for copy in ("copy", "stream") if copy in one["us"]]
    work = one["operations"] / rate if rate else 0
    floors = [max(work, min(copied)) for copied in zip(*copies)]
    return statistics.median(us / least for us, least in zip(one["us"][side], floors)) if floors else math.nan


def rates(measured):
    """Operations a microsecond of the fastest row of each dtype and number of threads."""
    best = {}
    for one in measured:
        for side, us in medians(one).items():
            if one["operations"] and side not in ("copy", "stream"):
                key = one["dtype"], one["threads"]
                best[key] = max(best.get(key, 0), one["operations"] / us)
    return best


def floor(one, rate):
    """Microseconds: of the copy, which moved as many bytes, or of the operations."""
    us = medians(one)
    copied = min((us[side] for side in ("copy", "stream") if side in us), default=0)
    return max(copied, one["operations"] / rate if rate else 0)


def figure(us):
    return f"{us:.0f}" if us >= 100 else f"{us:.1f}"


def geometric(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else float("nan")


def line(one):
    """A row as it is said while the run goes on."""
    if "failed" in one:
        return f"{one['title']}: FAILED: {one['failed']}"
    us = {side: figure(us) for side, us in medians(one).items()}
    left = {side: reason[:60] for side, reason in one["reasons"].items()}
    best, kgen = best_peer(one), medians(one).get("kgen")
    ratio = f" {over(one, best[0]):.2f} of {best[0]}" if best and kgen else ""
    return f"{one['title']} ({one['threads']}):{ratio} {us} {left or ''} {one['errors'].get('kgen', math.nan):.0e}"


class Notes:
    """Footnotes: of equal texts, one."""

    def __init__(self):
        self.texts = []

    def mark(self, text):
        if text not in self.texts:
            self.texts.append(text)
        return f"[{self.texts.index(text) + 1}]"

    def __str__(self):
        return "\n".join(f"[{number}] {text}  " for number, text in enumerate(self.texts, 1))


def table(measured, peers, rate, notes):
    """Rows of one number of threads."""
    header = ["row", "floor us", "kgen us", "least", *peers, "best peer", "kgen/best", "kgen/floor"]
    lines = [header, ["---"] + ["---:"] * (len(header) - 1)]
    for one in measured:
        us = medians(one)
        best, kgen = best_peer(one), us.get("kgen")
        least = floor(one, rate.get((one["dtype"], one["threads"])))

        def cell(side):
            return figure(us[side]) if side in us else "-" + notes.mark(f"{side}: {one['reasons'].get(side, 'not run')}")

        lines.append([
            one["title"], figure(least), cell("kgen"), figure(min(one["us"]["kgen"])) if kgen else "-", *map(cell, peers),
            best[0] if best else "-", f"{over(one, best[0]):.2f}" if best and kgen else "-",
            f"{over_floor(one, rate.get((one['dtype'], one['threads']))):.2f}" if kgen and least else "-"])
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def summary(measured, rate):
    """Geometric means, and how many rows are behind."""
    both = [one for one in measured if "kgen" in one["us"] and best_peer(one)]
    ratios = [over(one, best_peer(one)[0]) for one in both]
    said = [f"{len(ratios)} rows with a peer: geometric mean of kgen over the best peer {geometric(ratios):.2f}, behind in "
            f"{sum(ratio > 1 for ratio in ratios)}, by more than {BEHIND:.2f} in {sum(ratio > BEHIND for ratio in ratios)}."]
    memory = [one for one in both if one["kind"] == "memory" and floor(one, None)]
    if memory:
        kgen, peers = ([over_floor(one, None, side or best_peer(one)[0]) for one in memory] for side in ("kgen", None))
        said.append(f"{len(memory)} memory-bound rows: over the floor {geometric(kgen):.2f} (the best peers "
                    f"{geometric(peers):.2f}).")
    for side in dict.fromkeys(side for one in both for side in peers_of(one)):
        own = [over(one, side) for one in both if side in one["us"]]
        said.append(f"Over {NAMES.get(side, side)} alone, {len(own)} rows: {geometric(own):.2f}.")
    return " ".join(said)


def tables(measured, peers):
    """For each number of threads the rows by group, what sums them up, and the rates that floors come from."""
    failed = [one for one in measured if "failed" in one]
    measured = [one for one in measured if "failed" not in one]
    rate, notes, parts = rates(measured), Notes(), []
    for threads in sorted({one["threads"] for one in measured}, reverse=True):
        here = [one for one in measured if one["threads"] == threads]
        parts.append(f"## {threads} thread{'s' * (threads > 1)}\n\n{summary(here, rate)}")
        said = ", ".join(f"{dtype} {1e-3 * most:.0f} GFLOP/s" for (dtype, count), most in sorted(rate.items())
                         if count == threads)
        if said:
            parts.append(f"The fastest matrix products: {said}.")
        for group in dict.fromkeys(one["group"] for one in here):
            rows = [one for one in here if one["group"] == group]
            parts.append((f"### {group}\n\n" if group else "") + table(rows, peers, rate, notes))
    parts += [f"{one['title']}: {one['failed']}" for one in failed]
    return "\n\n".join(parts) + f"\n\n{notes}\n"


def losses(measured, peers):
    """The graphs in which a peer is ahead, the worst first."""
    behind = []
    for one in measured:
        if "failed" not in one and "kgen" in one["us"] and best_peer(one):
            who, _ = best_peer(one)
            behind.append((over(one, who), who, one))
    behind.sort(key=lambda item: -item[0])
    return "\n".join(f"{ratio:.2f} of {who}, {one['threads']} threads: {one['title']}\n{one['graph']}"
                     for ratio, who, one in behind if ratio > 1)


def versions(peers):
    said = []
    for peer in peers:
        if peer in PACKAGES:
            with contextlib.suppress(metadata.PackageNotFoundError):  # a row says so
                said.append(f"{PACKAGES[peer]} {metadata.version(PACKAGES[peer])}")
    return ", ".join(said)


TITLE = "kgen on the CPU, beside its peers"


def section_of(path):
    """What write() put at the end of a file; nothing where it did not."""
    _, heading, text = (path.read_text() if path.exists() else "").partition(f"\n## {TITLE}")
    return heading + text


def write(path, text):
    """A page as a file of its own; where the file has it as a section, which is its last, as that."""
    old = section_of(path)
    if not old:
        path.write_text(text)
        return
    path.write_text(path.read_text().removesuffix(old) + "\n" + re.sub(r"^#", "##", text, flags=re.MULTILINE))


def page(text, arguments, options, measured, what=TITLE):
    processor = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    flags = re.findall(r"flags\s*: (.*)", Path("/proc/cpuinfo").read_text())[:1]
    sets = [flag for flag in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile") if flags and flag in flags[0].split()]
    compiler = subprocess.run(["c++", "--version"], text=True, stdout=subprocess.PIPE).stdout.splitlines()[0]
    bundle = Path(__file__).resolve().parents[3] / "bundle.txt"
    revision = bundle.read_text().strip() if bundle.exists() else subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], text=True, stdout=subprocess.PIPE, cwd=Path(__file__).parent).stdout.strip()
    rounds = max((len(times) for one in measured for times in one.get("us", {}).values()), default=0)
    neighbours = f" {options.neighbours} busy loops share the processors of all sides." if options.neighbours else ""
    hidden = ("--prefix", "--bundle", "--work", "--write", "--around", "--nice")
    shown = [argument for index, argument in enumerate(arguments)
             if argument not in hidden and not (index and arguments[index - 1] in hidden)]
    return f"""\
# {what}

Written by `scripts/bench {shlex.join(shown)}` on {datetime.date.today()}, kgen {revision}:
{processor[0] if processor else platform.machine()} ({' '.join(sets)}), load {os.getloadavg()[0]:.1f} at the end; {compiler};
{versions(options.peers)}.

Microseconds, medians of {rounds} rounds of {options.seconds} s, all sides interleaved, each called from Python in a
process of its own; ratios are medians of the rounds' ratios, as what disturbs a round disturbs all sides, and the best peer
is that with the greatest. The floor is the greater of two times: of a copy that moves as many bytes (inputs, constants and
results once), timed in the same rounds, the faster of one through the cache and one past it; and of as many operations at
the rate of the fastest matrix product in this table. Constants are constants to every side, which may pack them; torch.compile
is told to freeze them. f32 is f32 to every side, but that
OpenVINO rounds what it multiplies by weights of 8 and 4 bits to 8 bits.{neighbours} -[n]: no time, for the reason n.

{text}"""
