"""Runs a Llama of the size of Llama-3-8B, of random bf16 weights, through kgen's C ABI, and beside PyTorch.

    gpu_llama_bench.py [--rounds N] [--graph-replay] [--stored f8e4m3|int4] [--write LLAMA_GPU.md]

First the logits of some prompts and single tokens are compared with PyTorch in f32, beside PyTorch's in bf16: kgen's
errors, relative in the root of their mean square, may be 1.1 of those. Then the decoding of one token behind 8000, each
at a position of its own, and of a prompt of 2048 tokens, all of whose logits are computed. PyTorch runs eager, its
token in a CUDA graph of one position. The floor of a token is the time in which a copy, timed first, would move all
weights and what the cache holds of 8000 tokens; of the prompt, that of its products at the rate of one of 8192^3. Weights
that are stored as f8e4m3, with a scale for each column, or as int4, in groups of 128 along the depth, are bf16 for PyTorch:
what they stand for, rounded.

Rows of one graph are of the same model with its positions on the device: one CUDA graph, captured once through the C ABI,
is replayed for token after token of some sequences. PyTorch's graph is of one position. Before, a small model of the same
shape is compared at each of 64 greedy steps, of sequences of different lengths, with PyTorch in f32 fed the same tokens.
Host times are of a call of the C ABI, the device being idle.
"""

import argparse
import datetime
import pathlib
import statistics
import sys
import tempfile
import time

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
sys.path.insert(0, str(FOLDER / "gpu"))
BEHIND, PROMPT = 8000, 2048


def error_of(found, exact):
    difference = found.double() - exact.double()
    return (difference.square().mean() / exact.double().square().mean()).sqrt().item()


class Kgen:
    """The model behind its C ABI; `size` tokens at a position at a time."""

    def __init__(self, library, size, folder, name="llama"):
        import torch
        from kgen_library import Model

        free = torch.cuda.mem_get_info()[0]
        began = time.monotonic()
        self.size, self.model = size, Model(library, library.graph(name), folder)
        torch.cuda.synchronize()
        self.seconds, self.bytes = time.monotonic() - began, free - torch.cuda.mem_get_info()[0]

    def logits(self, x):
        import torch

        return torch.full((*x.shape[:2], self.size.V), torch.nan, device="cuda", dtype=torch.bfloat16)

    def run(self, x, position, logits):
        import torch

        self.model.run([x, torch.tensor(position)], [logits])
        return logits


def compare(kgen, size, weights):
    """Pairs of errors, kgen's and PyTorch's in bf16, of steps of some tokens."""
    import torch
    from llama import Reference

    exact = Reference(size, weights, torch.float32, slots=256)
    theirs = Reference(size, weights, torch.bfloat16, slots=256)
    position = 0
    for tokens in (37, 1, 1, 5, 1, 20, 1):
        x = torch.randn(1, tokens, size.D, device="cuda").to(torch.bfloat16)
        expected = exact(x, position)
        yield (error_of(kgen.run(x, position, kgen.logits(x)), expected), error_of(theirs(x, position), expected))
        position += tokens


def milliseconds(call, rounds):
    """The median of so many calls, behind two."""
    import torch

    times = []
    for number in range(rounds + 2):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        if number >= 2:
            times.append(begin.elapsed_time(end))
    return statistics.median(times)


def in_a_row(call, rounds):
    """Of so many calls that are not waited for: a token in a stream of them."""
    import torch

    def all_calls():
        for _ in range(rounds):
            call()

    all_calls()
    torch.cuda.synchronize()
    return milliseconds(all_calls, 3) / rounds


def bandwidth():
    """Of a copy, in bytes a millisecond; an H200 of which most memory is in use copies a tenth slower."""
    import torch

    source = torch.empty(1 << 30, device="cuda", dtype=torch.uint8)
    target = torch.empty_like(source)
    return 2 * source.nbytes / milliseconds(lambda: target.copy_(source), 10)


def floors(size, weights, bandwidth):
    """Milliseconds of a token and of the prompt."""
    import torch

    read = sum(weight.nbytes for weight in weights.values()) + 4 * size.layers * BEHIND * size.G * size.E
    a = torch.randn(8192, 8192, device="cuda").to(torch.bfloat16)
    product = milliseconds(lambda: a @ a, 10)
    products = weights.exact or {name: weight for name, weight in weights.items() if name not in ("cos", "sin")}
    elements = sum(weight.numel() for weight in products.values() if weight.dim() == 2)
    attended = size.layers * size.H * size.E * PROMPT * (PROMPT + 1)  # multiplications, keys' and values'
    return read / bandwidth, (elements * PROMPT + attended) / (8192**3 / product)


def measure(kgen, size, weights, rounds, bandwidth):
    """Rows of (what, floor, kgen, PyTorch)."""
    import torch
    from llama import Reference

    theirs = Reference(size, weights, torch.bfloat16)
    token = torch.randn(1, 1, size.D, device="cuda").to(torch.bfloat16)
    prompt = torch.randn(1, PROMPT, size.D, device="cuda").to(torch.bfloat16)
    of_token, of_prompt = kgen.logits(token), kgen.logits(prompt)
    step = iter(range(BEHIND, size.T))
    decode = in_a_row(lambda: kgen.run(token, next(step), of_token), min(rounds, 30))
    prefill = in_a_row(lambda: kgen.run(prompt, 0, of_prompt), 5)
    theirs(token, BEHIND)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        theirs(token, BEHIND)
    least_token, least_prompt = floors(size, weights, bandwidth)
    return [(f"one token behind {BEHIND}", least_token, decode, in_a_row(graph.replay, rounds)),
            (f"a prompt of {PROMPT}", least_prompt, prefill, in_a_row(lambda: theirs(prompt, 0), 5))]


MANY_SEQUENCES = 120e9  # bytes of a device that holds the caches of 64 beside weights, PyTorch's too


def compare_replayed(model, size, weights, tokens=37):
    """Errors of such a prompt, kgen's and PyTorch's in bf16."""
    import torch
    from llama import Reference

    x = torch.randn(1, tokens, size.D, device="cuda").to(torch.bfloat16)
    logits = torch.full((1, tokens, size.V), torch.nan, device="cuda", dtype=torch.bfloat16)
    model.run([x, torch.arange(tokens, device="cuda")[None]], [logits])
    expected = Reference(size, weights, torch.float32, slots=tokens)(x, 0)
    return error_of(logits, expected), error_of(Reference(size, weights, torch.bfloat16, slots=tokens)(x, 0), expected)


def measure_replayed(library, weights, stored, folder, rounds, bandwidth):
    """The rows of one graph, of a model for as many sequences as the device's memory holds the caches of, its errors,
    and what is said below the table."""
    import torch
    from kgen_library import Model
    from llama import REPLAYED_8B, replayed_name
    from llama_replayed import host_times, measure_batches

    sequences = 64 if torch.cuda.mem_get_info()[1] > MANY_SEQUENCES else 16
    size, graph = REPLAYED_8B[sequences], replayed_name(stored, sequences)
    torch.cuda.empty_cache()
    hosts = "; ".join(f"{what} {time:.0f} us" for what, time in host_times(library, folder, size, graph))
    model = Model(library, library.graph(graph), folder)
    errors = compare_replayed(model, size, weights)
    weights.exact = {name: weight.to(torch.bfloat16) for name, weight in weights.exact.items()}  # half of the memory
    torch.cuda.empty_cache()
    rows = list(measure_batches(model, size, weights, rounds, in_a_row, bandwidth))
    model.close()
    said = f"Those of one graph are of a model for {sequences} sequences. Host time of a token's call: {hosts}."
    return rows, errors, said


def memory_of(kgen, size, weights):
    needed = sum(weight.nbytes for weight in weights.values()) + 4 * size.layers * size.B * size.T * size.G * size.E
    return (f"Loaded in {kgen.seconds:.1f} s; {kgen.bytes / 1e9:.2f} GB on the device, of which weights and the cache "
            f"of {size.B} sequences of {size.T} tokens are {needed / 1e9:.2f}.")


def table(rows):
    lines = ["| | floor ms | kgen ms | kgen / floor | PyTorch ms | kgen / PyTorch |", "| --- |" + " ---: |" * 5]
    for what, floor, ours, theirs in rows:
        lines.append(f"| {what} | {floor:.2f} | {ours:.2f} | {ours / floor:.2f} | {theirs:.2f} | {ours / theirs:.2f} |")
    return "\n".join(lines)


def main():
    from llama import LLAMA_3_8B, STORED, graph_name, random_weights, write_safetensors

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--graph-replay", action="store_true", help="only the rows of one graph")
    parser.add_argument("--stored", default="bf16", choices=STORED, help="weights of products")
    parser.add_argument("--write", type=pathlib.Path, help="a Markdown file for the table and how it was made")
    options = parser.parse_args()

    import torch
    from kgen_library import Library
    from llama_replayed import compare_greedy

    torch.backends.cuda.matmul.allow_tf32 = False
    size, rows, memory, errors, right = LLAMA_3_8B, [], "", [], True
    name = graph_name(options.stored)
    library, copied = Library(options.build / f"libkgen_{name}.so"), bandwidth()
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        if options.stored == "bf16":
            right = compare_greedy(library, pathlib.Path(folder))
        weights = random_weights(size).stored_as(options.stored)
        write_safetensors(weights, pathlib.Path(folder) / "llama.safetensors")
        torch.cuda.synchronize()
        if not options.graph_replay:
            kgen = Kgen(library, size, folder, name)
            errors = list(compare(kgen, size, weights))
            print("errors, kgen's and PyTorch's:", ", ".join(f"{ours:.2e} {theirs:.2e}" for ours, theirs in errors), flush=True)
            rows = measure(kgen, size, weights, options.rounds, copied)
            memory = memory_of(kgen, size, weights)
            kgen.model.close()
        of_one_graph, found, hosts = measure_replayed(library, weights, options.stored, folder, options.rounds,
                                                      copied)
        print("errors of one graph, kgen's and PyTorch's: {:.2e} {:.2e}".format(*found), flush=True)
        rows, errors, memory = rows + of_one_graph, [*errors, found], f"{memory} {hosts}".strip()
    print(f"{table(rows)}\n{memory}")
    if options.write:
        told = (f"{datetime.date.today()}, {torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, PyTorch "
                f"{torch.__version__}: `scripts/gpu_bench --llama`" + (f", weights in {options.stored}" if options.stored != "bf16" else ""))
        options.write.write_text(f"# A whole Llama on a GPU\n\n{told}\n{__doc__.split(chr(10) * 2, 2)[2]}\n{table(rows)}\n\n{memory}\n")
    return 0 if right and all(ours <= 1.1 * theirs for ours, theirs in errors) else 1


if __name__ == "__main__":
    sys.exit(main())
