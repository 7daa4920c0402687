"""A Llama whose positions the device has (specs/graphs/llama_decode.yaml): one CUDA graph is its step at every position."""

import statistics
import time

import torch
from kgen_library import Model
from llama import REPLAYED_SMALL, Reference, ReferenceAtPositions, random_weights, write_safetensors

STEPS = 64
BATCHES = ((1, 8000), (16, 1000), (64, 1000))  # sequences, and the tokens behind each


class Decoder:
    """One token more of each sequence, in a CUDA graph captured through the C ABI: each replay goes on from the last."""

    def __init__(self, model, size, batch, table=None):
        """`table`: the embedding of words, with which a step is greedy; without, it says the same word again."""
        self.model, self.table = model, table
        self.tokens = torch.zeros(batch, device="cuda", dtype=torch.int64)
        self.positions = torch.zeros(batch, 1, device="cuda", dtype=torch.int64)
        self.x = torch.randn(batch, 1, size.D, device="cuda").to(torch.bfloat16)
        self.logits = torch.full((batch, 1, size.V), torch.nan, device="cuda", dtype=torch.bfloat16)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.step()

    def step(self):
        if self.table is not None:
            torch.index_select(self.table, 0, self.tokens, out=self.x[:, 0])
        self.model.run([self.x, self.positions], [self.logits])
        if self.table is not None:
            torch.argmax(self.logits[:, 0], -1, out=self.tokens)
        self.positions.add_(1)


def error_of(found, exact):
    difference = found.double() - exact.double()
    return (difference.square().mean() / exact.double().square().mean()).sqrt().item()


def prompts(batch):
    """Positions of prompts of different lengths side by side, the shorter ones behind rows of -1."""
    lengths = 1 + 7 * torch.arange(batch, device="cuda") % 40
    most = int(lengths.max())
    return torch.arange(most, device="cuda") - (most - lengths[:, None])


def greedy_steps(model, size, weights, batch):
    """Of each step behind a prompt: kgen's error and PyTorch's, both against PyTorch in f32, and how far the word that
    kgen chose is below the greatest there, in units of kgen's error."""
    table = torch.randn(size.V, size.D, device="cuda").to(torch.bfloat16)
    decoder = Decoder(model, size, batch, table)
    exact, theirs = (ReferenceAtPositions(size, weights, dtype, batch=batch) for dtype in (torch.float32, torch.bfloat16))
    positions = prompts(batch).clamp(min=-1)
    x = table[torch.randint(size.V, positions.shape, device="cuda")]
    logits = torch.empty(*positions.shape, size.V, device="cuda", dtype=torch.bfloat16)
    model.run([x, positions], [logits])
    exact(x, positions), theirs(x, positions)
    decoder.tokens.copy_(logits[:, -1].argmax(-1))
    decoder.positions.copy_(positions[:, -1:] + 1)
    for _ in range(STEPS):
        x, positions = table[decoder.tokens][:, None], decoder.positions.clone()
        decoder.graph.replay()
        expected = exact(x, positions)[:, 0]
        error = error_of(decoder.logits[:, 0], expected)
        chosen = expected.gather(1, decoder.tokens[:, None])[:, 0]
        below = (expected.amax(1) - chosen).max() / expected.square().mean().sqrt()
        yield error, error_of(theirs(x, positions)[:, 0], expected), below.item() / error


def compare_greedy(library, folder):
    """Whether kgen is as near as PyTorch at every step of small models, and what it prints of that."""
    size = REPLAYED_SMALL
    weights = random_weights(size, seed=1)
    write_safetensors(weights, folder / "llama.safetensors")
    model = Model(library, library.graph("llama_small"), folder)
    right = True
    for batch in (1, 16, 64):
        steps = list(greedy_steps(model, size, weights, batch))
        ours, theirs, below = (statistics.fmean(each) for each in zip(*steps))
        worst = max(own / other for own, other, _ in steps)
        print(f"{batch} sequences, {STEPS} greedy steps of one CUDA graph: mean error {ours:.2e}, PyTorch's {theirs:.2e}, "
              f"at one step at most {worst:.2f} of it; chosen words below the best by {max(s[2] for s in steps):.1f} errors",
              flush=True)
        right &= ours <= 1.1 * theirs and worst <= 1.5 and max(step[2] for step in steps) <= 8
    model.close()
    return right


def host_microseconds(call, calls):
    """The median of the host's time in a call, the device being idle."""
    times = []
    for _ in range(calls):
        torch.cuda.synchronize()
        began = time.perf_counter()
        call()
        times.append(1e6 * (time.perf_counter() - began))
    return statistics.median(times[2:])


def host_times(library, folder, size, graph):
    """Of a call of the C ABI, by what it launches."""
    x = torch.randn(1, 1, size.D, device="cuda").to(torch.bfloat16)
    positions = torch.full((1, 1), 100, device="cuda")
    logits = torch.empty(1, 1, size.V, device="cuda", dtype=torch.bfloat16)
    for what, eager in (("stub by stub", 1), ("as the graph that the model captured", 0)):
        model = Model(library, library.graph(graph), folder, eager=eager)
        call = model.prepared([x, positions], [logits])
        yield what, host_microseconds(call, 30)
        model.close()


def row_of(batch, behind):
    return f"one graph, {batch} of {behind} tokens each"


def measure_batches(model, size, weights, rounds, in_a_row, bandwidth):
    """Rows of (what, floor, kgen, PyTorch); bandwidth in bytes a millisecond."""
    for batch, behind in BATCHES:
        if batch > size.B:
            continue
        decoder = Decoder(model, size, batch)
        decoder.positions.fill_(behind)
        ours = in_a_row(decoder.graph.replay, rounds)
        theirs = Reference(size, weights, torch.bfloat16, slots=behind + 8, batch=batch)
        theirs(decoder.x, behind)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            theirs(decoder.x, behind)
        read = sum(weight.nbytes for weight in weights.values()) + 4 * size.layers * batch * behind * size.G * size.E
        yield row_of(batch, behind), read / bandwidth, ours, in_a_row(graph.replay, rounds)
        del theirs, graph
        torch.cuda.empty_cache()
