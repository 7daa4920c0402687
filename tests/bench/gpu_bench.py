"""Times what kgen emits for memory-bound graphs against PyTorch and NVIDIA's libraries on the same GPU, in one run.

    gpu_bench.py [--rows TEXT,...] [--peers eager,cublaslt,compile,max-autotune,vendor | none] [--rounds N] [--write GPU.md]
    gpu_bench.py --draw-matmul SEED COUNT [--kinds fused,f8,...] [--graphs N] ...

Every side is captured in a CUDA graph of several calls, which go round three sets of random tensors, each larger than
the L2 cache. Results of all sides come from one pool of memory, which each lets go of before the next. A round times
each side once, in an order of its own, behind another replay of the same side: the caches are then full of its own
data, and its launch is not waited for. The figures are medians of the rounds. The floor is the time in which a
device-to-device copy of 134 MB, timed among them in the same way, would move the bytes that the row must move. Results
are compared with float64 before they are timed: a row of which kgen's are wrong fails, and the exit code says so; a
peer that is wrong is left out, and named. Times fail nothing; what is slower than it should be is listed.

The second form times matrix products of random shapes; those of the kind `fused` are of graphs that the seed draws as well,
which `scripts/gpu_bundle FOLDER --draw-matmul SEED` has planned. The peer cublaslt is eager with its products by cuBLASLt.
"""

import argparse
import functools
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
sys.path.insert(0, str(FOLDER / "gpu"))
SETS = 3
MOST_CALLS = 300  # of a side's graph: more of the shortest ones would take long to capture
MODES = {"compile": "default", "max-autotune": "max-autotune-no-cudagraphs"}  # the graph is ours, for all sides
COPIED = 1 << 27
PRODUCT = 8192  # edge of the matrices by which the rate of operations is measured


def compile_ahead(rows, peers):
    """Fills the compiler's cache, all rows at a time. What was the fastest under that load is not kept."""
    modes = [peer for peer in peers if peer in MODES]
    if not modes:
        return
    command = [sys.executable, __file__, "--peers", ",".join(modes), "--compile-only", "--rows"]
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
    if peer == "cublaslt":
        return with_cublaslt(row.compute) if row.operations else None
    if peer == "vendor":
        import vendor

        return vendor.function_of(row.graph, row.make(), library.path.with_name("libkgen_vendor.so"))
    torch._dynamo.reset()
    return torch.compile(row.compute, mode=MODES[peer], dynamic=False, fullgraph=True)


def with_cublaslt(compute):
    import torch

    def computed(*inputs):
        before = torch.backends.cuda.preferred_blas_library()
        torch.backends.cuda.preferred_blas_library("cublaslt")
        try:
            return compute(*inputs)
        finally:
            torch.backends.cuda.preferred_blas_library(before)

    return computed


# ---- results


@dataclass
class Expected:
    """A row's results in float64, and how large the terms are that they are sums of, where the row says so."""

    results: tuple
    terms: tuple | None


def largest_error(found, expected, terms):
    """Relative to |expected| + its root mean square, or + its terms; infinite where something is not finite. What is
    equal has none, also where all of that is 0: a product of one term that is."""
    found, expected = found.double().flatten(), expected.double().flatten()
    if found.shape != expected.shape:
        return float("inf")
    scale = expected.abs() + (expected.square().mean().sqrt() if terms is None else terms.flatten())
    distance = (found - expected).abs()
    error = (distance / scale).masked_fill(distance == 0, 0).max().item()
    return error if error == error else float("inf")


def tolerance(dtype):
    import torch

    return {torch.float32: 1e-5, torch.bfloat16: 4e-3, torch.float16: 1e-3, torch.float8_e4m3fn: 0.07,
            torch.int32: 0}[dtype]


def judge(found, expected, least=0, when=""):
    terms = expected.terms or (None,) * len(expected.results)
    for index, (one, other, sums) in enumerate(zip(found, expected.results, terms, strict=True)):
        error = largest_error(one, other, sums)
        if not error <= max(tolerance(one.dtype), least):
            lost = (~one.double().flatten().isfinite()).nonzero()
            where = f", {len(lost)} of {one.numel()} are not finite, from {lost[0].item()} on" if len(lost) else ""
            raise RuntimeError(f"output {index} is wrong by {error:.2e}{when}{where}")


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


def product_side():
    """cuBLAS's product of two matrices, by which the rate of operations is measured."""
    import torch

    sets = [[torch.randn(PRODUCT, PRODUCT, device="cuda").bfloat16() for _ in range(3)] for _ in range(SETS)]
    return Side([lambda x=x, w=w, y=y: torch.mm(x, w, out=y) for x, w, y in sets], SETS)


ROUNDS_BETWEEN = 0.1  # the error of what may round between operators


def loaded(library, row, inputs):
    """The row's model, with the last of the inputs as its constants."""
    from kgen_library import Model
    from llama import write_safetensors

    with tempfile.TemporaryDirectory() as folder:
        if row.constants:
            constants = dict(zip(row.constants, inputs[-len(row.constants):], strict=True))
            write_safetensors(constants, pathlib.Path(folder) / "weights.safetensors")
        return Model(library, library.graph(row.graph), folder)


def loaded_models(library, row, sets):
    """A model for each set."""
    if row.constants:  # each set has its own, which no cache then holds of the last call
        return [loaded(library, row, inputs) for inputs in sets]
    return [loaded(library, row, [])] * len(sets)


def empty_results(model, expected, device):
    import torch

    return [torch.empty(result.shape, dtype=dtype, device=device)
            for result, dtype in zip(expected.results, model.output_dtypes(), strict=True)]


def kgen_side(models, row, sets, expected, count, pool, least=0):
    """Raises where a result is wrong: by more than its dtype's tolerance, or than `least` where that is more."""
    import torch

    if row.constants:
        sets = [inputs[:-len(row.constants)] for inputs in sets]

    def call(model, inputs):
        outputs = empty_results(model, expected, "cuda")
        poison(outputs)
        model.run(inputs, outputs)
        return outputs

    def poison(outputs):
        if not torch.cuda.is_current_stream_capturing():
            for tensor in outputs:
                tensor.view(-1).view(torch.uint8).fill_(0xFF)

    judge(call(models[0], sets[0]), expected, least)
    side = Side([functools.partial(call, *each) for each in zip(models, sets)], count, pool)
    poison(side.results[0])
    side.graph.replay()
    judge(side.results[0], expected, least, when=" when captured")
    side.results = None
    side.models = models  # whose memory is the graph's too
    return side


def double(tensors):
    return [tensor.double() if tensor.is_floating_point() else tensor for tensor in tensors]


def peer_side(peer, library, row, sets, expected, count, pool):
    """None where the peer does not compute the row. Raises where it declines, fails or is wrong."""
    function = peer_function(peer, row, library)
    if function is None:
        return None
    side = Side([functools.partial(function, *row.given(inputs)) for inputs in sets], count, pool)
    side.graph.replay()
    judge(side.results[0], expected, ROUNDS_BETWEEN)
    side.results = None
    return side


def first_line(error):
    return (str(error).strip() or repr(error)).splitlines()[0].replace(f"{ROOT}/", "")


def require_device(error):
    """Raises where the device is of no use after the error: it then says so of whatever it is asked."""
    import torch

    try:
        torch.cuda.synchronize()
    except RuntimeError:
        raise error from None


def time_row(library, row, peers, floors, rounds, left_out):
    """Microseconds of each round by side, and the bytes that must move. To `left_out` goes what is said of peers."""
    import torch

    sets = [row.make() for _ in range(SETS)]
    exact = double(sets[0])
    expected = Expected((row.exact or row.compute)(*exact), row.terms(*exact) if row.terms else None)
    del exact
    models = loaded_models(library, row, sets)
    moved = row.moved(sets[0], empty_results(models[0], expected, "meta"))
    torch.cuda.empty_cache()
    least_us = max(moved / 4.2e6, row.operations / 7e8)
    count = SETS * max(1, min(MOST_CALLS, round(1500 / least_us)) // SETS)
    pool = torch.cuda.graph_pool_handle()  # a side's results are let go of before the next one is captured
    sides = {"kgen": kgen_side(models, row, sets, expected, count, pool, row.error)}
    for peer in peers:
        try:
            side = peer_side(peer, library, row, sets, expected, count, pool)
        except (AttributeError, OSError, RuntimeError) as error:
            require_device(error)
            left_out.append(f"{row.title}, {peer}: {first_line(error)}")
            print("LEFT OUT", left_out[-1], flush=True)
            continue
        if side is not None:
            sides[peer] = side
    del expected
    for timed in (False, True):
        for _ in range(rounds if timed else 3):
            timed_now = [*sides.values(), *floors]
            for side in random.sample(timed_now, len(timed_now)):
                side.time()
        if not timed:
            for side in sides.values():
                side.times.clear()
    return {name: side.times for name, side in sides.items()}, moved


# ---- all rows


def time_all(libraries, rows, peers, rounds, left_out):
    """What was measured of each row, and the microseconds of the copy and of the product, where a row asks for it. Rows
    that fail go to `left_out`, as peers do. `libraries`: of each graph."""
    import torch
    from report import Measured

    copy, timed = copy_side(), []
    product = product_side() if any(row.operations for row in rows) else None
    for row in rows:
        try:
            floors = [copy, product] if row.operations else [copy]
            times, moved = time_row(libraries[row.graph], row, peers, floors, rounds, left_out)
        except RuntimeError as error:
            require_device(error)
            left_out.append(f"{row.title}, FAILED: {first_line(error)}")
            print(left_out[-1], flush=True)
            continue
        timed.append((row, moved, times))
        print(row.title, {name: round(statistics.median(us), 1) for name, us in times.items()}, flush=True)
        torch.cuda.empty_cache()
    if not timed:
        sys.exit("no row was timed")
    rate = 2 * COPIED / copy.median()  # bytes a microsecond
    product_us = product.median() if product and product.times else None
    operations = 2 * PRODUCT**3 / product_us if product_us else 1  # a microsecond

    def floor(row, moved):
        return max(moved / rate, row.operations / operations)

    return [Measured(row, floor(row, moved), times) for row, moved, times in timed], copy.median(), product_us


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default=ROOT / "build/libkgen_rows.so", type=pathlib.Path)
    parser.add_argument("--rows", default="", help="those whose graph contains one of these texts")
    parser.add_argument("--peers", help="or none; those above, but for cublaslt where no products are drawn")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--write", type=pathlib.Path, help="a Markdown file for the table and how it was made")
    parser.add_argument("--draw-matmul", nargs=2, type=int, metavar=("SEED", "COUNT"),
                        help="so many rows of matrix products of random shapes and kinds, instead of the rows")
    parser.add_argument("--kinds", help="of the matrix products that are drawn, each as likely as often as it is named: fused, "
                        "bf16, f8, f8_blocks, i8, tf32, batched, grouped")
    parser.add_argument("--graphs", type=int, help="how many graphs the kind `fused` has, as many as gpu_bundle planned")
    parser.add_argument("--draw-attention", nargs=2, type=int, metavar=("SEED", "COUNT"),
                        help="so many rows of attention of random heads, lengths and widths, instead of the rows")
    parser.add_argument("--draw-convolution", nargs=2, type=int, metavar=("SEED", "COUNT"),
                        help="so many rows of convolutions of random forms, images and channels, instead of the rows")
    parser.add_argument("--compile-only", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.kinds = options.kinds and options.kinds.split(",")
    if not options.peers:
        options.peers = ("eager,cublaslt" if options.draw_matmul else "eager") + ",compile,max-autotune,vendor"
    return options


def main():
    options = parse()
    peers = [] if options.peers == "none" else options.peers.split(",")
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(ROOT / "build/inductor"))
    os.environ.setdefault("TORCHINDUCTOR_AUTOTUNE_LOCAL_CACHE", "0")  # each process measures for itself
    if options.compile_only:
        os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "2"

    import torch
    from drawn_graphs import COUNT
    from drawn_products import draw_products
    from rows import ROWS, draw_attentions, draw_convolutions

    torch._inductor.config.autotune_local_cache = False
    torch._dynamo.config.recompile_limit = 1000  # each row is a shape of its own
    torch.backends.cudnn.benchmark = True  # the fastest of its algorithms
    torch.backends.cuda.matmul.allow_tf32 = True  # of rows of f32 products, which kgen plans as such
    drawn = [*draw_products(*(options.draw_matmul or (0, 0)), options.kinds, options.graphs or COUNT),
             *draw_attentions(*(options.draw_attention or (0, 0))),
             *draw_convolutions(*(options.draw_convolution or (0, 0)))]
    rows = drawn or ROWS
    rows = [row for row in rows if any(text in row.graph for text in options.rows.split(","))]
    if options.compile_only:
        for row in rows:
            inputs = row.make()
            for peer in peers:
                peer_function(peer, row)(*row.given(inputs))
        return 0

    import report
    from kgen_library import Library

    paths = [options.library, options.library.with_name("libkgen_drawn.so")]
    built = [Library(path.resolve()) for path in paths if path.exists()]
    libraries = {row.graph: library for row in rows for library in built if library.graph(row.graph) is not None}
    left_out = [f"{row.graph}: skipped, as no library has it" for row in rows if row.graph not in libraries]
    rows = [row for row in rows if row.graph in libraries]
    for line in left_out:
        print(line)
    if not drawn:  # whose rows are shapes of few graphs
        compile_ahead(rows, peers)
    measured, copy_us, product_us = time_all(libraries, rows, peers, options.rounds, left_out)
    text = report.table(measured, peers)
    print(f"\na copy of 134 MB: {copy_us:.1f} us\n\n{text}\n", *report.remarks(measured), sep="\n")
    if drawn:
        print(*report.means_by_graph(measured), sep="\n")
    if product_us:
        print(f"a product of {PRODUCT}^3: {product_us:.1f} us; over the best peers, geometric mean", end=" ")
        print(f"{report.mean_over_best([one for one in measured if one.row.operations]):.3f}")
    if options.write:
        made = report.Made(sys.argv[1:], options.rounds, SETS, COPIED, copy_us, PRODUCT, product_us, peers, left_out)
        options.write.write_text(report.page(made, text))
    return 1 if len(measured) < len(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
