"""Times what kgen emits for memory-bound graphs against PyTorch on the same GPU, in one run.

    gpu_bench.py --library build/libkgen_rows.so [--rows TEXT,...] [--peers eager,compile,max-autotune,vendor | none]
                 [--rounds N] [--write GPU.md]

Every side is captured in a CUDA graph of several calls, which go round three sets of random tensors, each larger than
the L2 cache. Results of all sides come from one pool of memory, which each lets go of before the next. A round times
each side once, in an order of its own, behind another replay of the same side: the caches are then full of its own
data, and its launch is not waited for. The figures are medians of the rounds. The floor is the time in which a
device-to-device copy of 134 MB, timed among them in the same way, would move the bytes that the row must move. Results
are compared with float64 before they are timed.
"""

import argparse
import datetime
import functools
import os
import pathlib
import random
import statistics
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
sys.path.insert(0, str(FOLDER / "gpu"))
SETS = 3
MODES = {"compile": "default", "max-autotune": "max-autotune-no-cudagraphs"}  # the graph is ours, for all sides
COPIED = 1 << 27


def compile_ahead(rows, peers):
    """Fills the compiler's cache, all rows at a time. What was the fastest under that load is not kept."""
    modes = [peer for peer in peers if peer in MODES]
    if not modes:
        return
    command = [sys.executable, __file__, "--library", "", "--peers", ",".join(modes), "--compile-only", "--rows"]
    start = functools.partial(subprocess.Popen, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for row, process in [(row, start([*command, row.graph])) for row in rows]:
        text, _ = process.communicate()
        if process.returncode != 0:
            print(f"{row.title}: could not be compiled ahead: {text[-600:]}", flush=True)


def peer_function(peer, row, library=None):
    """None where the peer does not compute the row."""
    import torch

    if peer == "eager":
        return row.compute
    if peer == "vendor":
        return vendor_function(row, library.path.with_name("libkgen_vendor.so"))
    torch._dynamo.reset()
    return torch.compile(row.compute, mode=MODES[peer], dynamic=False, fullgraph=True)


def vendor_function(row, cub_path):
    import torch
    import vendor

    try:
        inputs = row.make()
        function = vendor.function_of(row.graph, inputs, cub_path)
        if function is not None:
            function(*inputs)
            torch.cuda.synchronize()
        return function
    except (AttributeError, OSError, RuntimeError) as error:
        print(f"{row.title}, vendor: {error}", flush=True)
        return None


# ---- results


def largest_error(found, expected):
    """Relative to |expected| + its root mean square; infinite where something is not finite."""
    found, expected = found.double().flatten(), expected.double().flatten()
    if found.shape != expected.shape:
        return float("inf")
    scale = expected.abs() + expected.square().mean().sqrt()
    error = ((found - expected).abs() / scale).max().item()
    return error if error == error else float("inf")


def tolerance(dtype):
    import torch

    return {torch.float32: 1e-5, torch.bfloat16: 4e-3, torch.float8_e4m3fn: 0.07}[dtype]


def judge(title, found, expected, least=0):
    for index, (one, other) in enumerate(zip(found, expected, strict=True)):
        error = largest_error(one, other)
        if not error <= max(tolerance(one.dtype), least):
            raise RuntimeError(f"{title}: output {index} is wrong by {error:.2e}")


# ---- times


class Side:
    """A graph of `count` calls, which take the sets in turn, and allocate in `pool`. `results`: of each set."""

    def __init__(self, calls, count, pool=None):
        import torch

        self.count, self.times, self.graph = count, [], torch.cuda.CUDAGraph()
        self.calls = calls  # and the tensors that they hold: the graph has but their addresses
        kept = [None] * len(calls)  # so that each set has results of its own
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for call in calls:
                call()
        stream.synchronize()
        with torch.cuda.graph(self.graph, pool=pool):
            for index in range(count):
                kept[index % len(calls)] = calls[index % len(calls)]()
        self.results = kept

    def time(self):
        import torch

        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        self.graph.replay()
        begin.record()
        self.graph.replay()
        end.record()
        end.synchronize()
        self.times.append(begin.elapsed_time(end) * 1e3 / self.count)

    def median(self):
        return statistics.median(self.times)


def copy_side():
    import torch

    pairs = [[torch.randint(256, (COPIED,), dtype=torch.uint8, device="cuda") for _ in range(2)] for _ in range(SETS)]
    return Side([lambda pair=pair: pair[0].copy_(pair[1]) for pair in pairs], 12)


def kgen_side(library, row, sets, expected, count, pool):
    import torch
    from kgen_library import Model

    model = Model(library, library.graph(row.graph))
    dtypes = list(model.output_dtypes())

    def call(inputs):
        outputs = [torch.empty(result.shape, dtype=dtype, device="cuda") for result, dtype in zip(expected, dtypes)]
        poison(outputs)
        model.run(inputs, outputs)
        return outputs

    def poison(outputs):
        if not torch.cuda.is_current_stream_capturing():
            for tensor in outputs:
                tensor.view(-1).view(torch.uint8).fill_(0xFF)

    judge(f"{row.title}, kgen", call(sets[0]), expected)
    side = Side([functools.partial(call, inputs) for inputs in sets], count, pool)
    poison(side.results[0])
    side.graph.replay()
    judge(f"{row.title}, kgen captured", side.results[0], expected)
    side.results = None
    side.model = model  # its memory is the graph's too
    return side


def double(tensors):
    return [tensor.double() if tensor.is_floating_point() else tensor for tensor in tensors]


def time_row(library, row, peers, copy, rounds):
    """Microseconds by side, and the bytes that must move."""
    import torch

    sets = [row.make() for _ in range(SETS)]
    expected = row.compute(*double(sets[0]))
    results = row.compute(*sets[0])
    moved = row.moved(sets[0], results)
    del results
    torch.cuda.empty_cache()
    count = SETS * max(1, round(1500 / (moved / 4.2e6) / SETS))
    pool = torch.cuda.graph_pool_handle()  # a side's results are let go of before the next one is captured
    sides = {"kgen": kgen_side(library, row, sets, expected, count, pool)}
    for peer in peers:
        function = peer_function(peer, row, library)
        if function is None:
            continue
        side = sides[peer] = Side([functools.partial(function, *inputs) for inputs in sets], count, pool)
        side.graph.replay()
        judge(f"{row.title}, {peer}", side.results[0], expected, least=0.1)  # it may round in between
        side.results = None
    del expected
    for timed in (False, True):
        for _ in range(rounds if timed else 3):
            for side in random.sample([*sides.values(), copy], len(sides) + 1):
                side.time()
        if not timed:
            for side in sides.values():
                side.times.clear()
    figures = {name: side.median() for name, side in sides.items()}
    return figures, moved


# ---- the table


def table(measured, copy_us, peers):
    rate = 2 * COPIED / copy_us  # bytes a microsecond
    columns = ["row", "floor us", "kgen us", "kgen / floor", *[f"{peer} us" for peer in peers], "best peer us", "who",
               "best peer / floor", "kgen / best peer"]
    lines = ["| " + " | ".join(columns) + " |", "| --- |" + " ---: |" * (len(columns) - 1)]
    for row, figures, moved in measured:
        floor = moved / rate
        timed = [peer for peer in peers if peer in figures]
        who = min(timed, key=figures.get, default=None)
        kgen, best = figures["kgen"], figures.get(who)
        cells = [row.title, f"{floor:.1f}", f"{kgen:.1f}", f"{kgen / floor:.3f}"]
        cells += [f"{figures[peer]:.1f}" if peer in figures else "-" for peer in peers]
        cells += [f"{best:.1f}", who, f"{best / floor:.2f}", f"{kgen / best:.3f}"] if who else ["-"] * 4
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def said_by(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def page(text, copy_us, rounds):
    import torch
    import triton

    driver = said_by("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    nvcc = said_by("nvcc", "--version").split("release ")[-1].split(",")[0]
    cudnn = ".".join(str(torch.backends.cudnn.version() // part % 100) for part in (10000, 100, 1))
    version = (ROOT / "bundle.txt").read_text().strip() if (ROOT / "bundle.txt").exists() else "unknown"
    return f"""# Memory-bound graphs on a GPU, against PyTorch

Written by `scripts/gpu_bench --write tests/bench/GPU.md` on {datetime.date.today()}: {torch.cuda.get_device_name()},
driver {driver}, CUDA {nvcc}, PyTorch {torch.__version__}, Triton {triton.__version__}; kgen {version}.

bf16 unless a row says otherwise. Every side in one run, captured as a CUDA graph of several calls that go round {SETS}
sets of random tensors, so that the L2 cache holds nothing of the next one; results of all sides come from one pool of
memory. Medians of {rounds} rounds in which each is timed once, in random order, behind a replay of the same graph.
kgen's calls go through the C ABI on PyTorch's tensors. Results were compared with float64 first. The floor is the row's
bytes, moved once, at the rate of a copy of 134 MB from device to device: {copy_us:.1f} us,
{2 * COPIED / copy_us / 1e3:.0f} GB/s. Peers: PyTorch eager, `torch.compile`, `torch.compile` with max-autotune, and
NVIDIA's libraries where one call of theirs computes the row: CUB's sum, graphs of cuDNN {cudnn} (the fastest of the
engines that it names).

{text}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, type=pathlib.Path)
    parser.add_argument("--rows", default="", help="those whose graph contains one of these texts")
    parser.add_argument("--peers", default="eager,compile,max-autotune,vendor", help="or none")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--write", type=pathlib.Path, help="a Markdown file for the table and how it was made")
    parser.add_argument("--compile-only", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    peers = [] if options.peers == "none" else options.peers.split(",")
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(ROOT / "build/inductor"))
    os.environ.setdefault("TORCHINDUCTOR_AUTOTUNE_LOCAL_CACHE", "0")  # each process measures for itself
    if options.compile_only:
        os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "2"

    import torch
    from rows import ROWS

    torch._inductor.config.autotune_local_cache = False
    rows = [row for row in ROWS if any(text in row.graph for text in options.rows.split(","))]
    if options.compile_only:
        for row in rows:
            inputs = row.make()
            for peer in peers:
                peer_function(peer, row)(*inputs)
        return 0

    from kgen_library import Library

    library = Library(options.library.resolve())
    missing = [row.graph for row in rows if library.graph(row.graph) is None]
    rows = [row for row in rows if row.graph not in missing]
    if missing:
        print("skipped, as the library has none of it:", *missing)
    compile_ahead(rows, peers)
    copy, measured, failures = copy_side(), [], 0
    for row in rows:
        try:
            figures, moved = time_row(library, row, peers, copy, options.rounds)
        except RuntimeError as error:
            if "CUDA error" in str(error):
                raise  # the device is of no use after it
            failures += 1
            print("FAILED", error, flush=True)
            continue
        measured.append((row, figures, moved))
        print(row.title, {name: round(us, 1) for name, us in figures.items()}, flush=True)
        torch.cuda.empty_cache()
    text = table(measured, copy.median(), peers)
    print(f"\na copy of 134 MB: {copy.median():.1f} us\n\n{text}")
    if options.write:
        options.write.write_text(page(text, copy.median(), options.rounds))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
