"""Rows of matrix products of random shapes: of which kinds, and what PyTorch has for each. Of the kind `fused` graphs are
drawn as well (drawn_graphs.py), by the same seed; the others are shapes of the graphs beside this file."""

import math
import random

import torch
import torch.nn.functional as F
from drawn_graphs import COUNT, drawn_graphs
from kgen_library import DTYPES
from rows import (
    EPILOGUES, Row, f8_block_product, f8_block_scales, f8_product, f8_row_scales, grouped_products, int4_product, int4_weights,
    int8_inputs, int8_row_scales, int8_sums, mixture, normal, product, tiled
)

MOST = 2**30  # elements of an operand or a result


class Sizes:
    """Extents spread evenly over their magnitudes, of which each is odd now and then."""

    def __init__(self, seed, graphs):
        self.draw, self.graphs = random.Random(seed), list(drawn_graphs(seed, graphs))

    def extent(self, least, most):
        size = round(math.exp(self.draw.uniform(math.log(least), math.log(most))))
        unit = self.draw.choice([1, 8, 64, 64, 128])
        return max(least, min(most, round(size / unit) * unit))

    def product(self):
        return self.extent(1, 16384), self.extent(64, 16384), self.extent(64, 16384)


def bf16(sizes):
    graph, told = sizes.draw.choice(EPILOGUES)
    m, n, k = sizes.product()
    return product(f"{graph} {m}x{n}x{k}", graph, m, n, k, **told)


def f8(sizes):
    m, n, k = sizes.product()
    return f8_product(f"matmul_f8_row_scales {m}x{n}x{k}", m, n, k)


def f8_blocks(sizes):
    m, n, k = sizes.product()
    return f8_block_product(m, max(1, n // 128) * 128, max(1, k // 128) * 128)


def i8(sizes):
    scaled = sizes.draw.random() < 0.5
    m, n, k = sizes.product()
    graph, operations = "matmul_i8_row_scales" if scaled else "matmul_i8", 2 * m * n * k
    make, title = int8_inputs(m, n, k), f"{graph} {m}x{n}x{k}"
    if scaled:
        return Row(title, graph, make, int8_row_scales, operations=operations, most=0.55)
    return Row(title, graph, lambda: make()[:2], lambda x, w: (int8_sums(x, w),), operations=operations, most=0.55,
               exact=lambda x, w: (x.double() @ w.double().t(),))


def tf32(sizes):
    """Eager's are of tf32 where torch.backends.cuda.matmul.allow_tf32 says so."""
    transposed = sizes.draw.random() < 0.5
    m, n, k = sizes.product()
    graph = "matmul_tf32_transposed" if transposed else "matmul_tf32"

    def make():
        return [normal(m, k, dtype=torch.float32), normal(*((n, k) if transposed else (k, n)), dtype=torch.float32)]

    return Row(f"{graph} {m}x{n}x{k}", graph, make, lambda x, w: (x @ (w.t() if transposed else w),),
               operations=2 * m * n * k, most=2.1, error=2e-3)


def batched(sizes):
    transposed = sizes.draw.random() < 0.5
    batch = sizes.draw.choice([2, 3, 8, 12, 32, 64, 128, 500])
    m, n, k = sizes.extent(1, 4096), sizes.extent(16, 4096), sizes.extent(16, 4096)
    batch = max(1, min(batch, MOST // 8 // max(m * k, n * k, m * n)))
    graph = "batched_matmul_transposed_bf16" if transposed else "batched_matmul_bf16"

    def make():
        return [normal(batch, m, k) * 0.1, normal(batch, *((n, k) if transposed else (k, n)))]

    return Row(f"{graph} {batch}x{m}x{n}x{k}", graph, make, lambda x, w: (x @ (w.mT if transposed else w),),
               operations=2 * batch * m * n * k)


def grouped(sizes):
    experts, top = sizes.draw.choice([4, 8, 32, 64, 128]), sizes.draw.choice([1, 2, 4])
    tokens, n, k = sizes.extent(1, 8192), sizes.extent(64, 8192), sizes.extent(64, 8192)
    experts = max(4, min(experts, MOST // (n * k)))
    graph = "grouped_matmul_bf16"
    return mixture(f"{graph} {experts} experts, {tokens} tokens, top {top}, {k}x{n}", graph, tokens, top, experts, n, k,
                   lambda x, w, ends: (grouped_products(x, w, ends),))


def cast(x, to):
    """As it is where all is f64, which results are compared with."""
    return x if x.dtype == torch.float64 else x.to(DTYPES[to])


PYTORCH = {"torch": torch, "F": F, "cast": cast,
           **{each.__name__: each for each in (f8_row_scales, f8_block_scales, int8_row_scales, int4_product)}}


def numbers(graph, dtype, shape, kind):
    if dtype == "i8":  # of which a product of f16 must not be infinite
        most = 128 if graph.form == "i8_rows" else 4
        return torch.randint(-most, most, shape, device="cuda", dtype=torch.int8)
    if kind == "positive":
        return torch.rand(shape, device="cuda").to(DTYPES[dtype])
    return normal(*shape, dtype=DTYPES[dtype]) if kind == 1 else (normal(*shape, dtype=torch.float32) * kind).to(DTYPES[dtype])


def fused(sizes):
    graph = sizes.draw.choice(sizes.graphs)
    m, n, k = sizes.product()
    if graph.form == "int4":
        n, blocks, _ = graph.constants["c0"][1]
        m, k = sizes.extent(1, min(4096, int(graph.dims["M"].split("..")[1]))), 128 * blocks
    elif graph.form == "f8_blocks":
        n, k = max(1, n // 128) * 128, max(1, k // 128) * 128
    at = {"M": m, "N": n, "K": k, "128*H": n, "128*G": k, "H": n // 128, "G": k // 128}
    namespace = dict(PYTORCH)
    exec(graph.source(), namespace)
    compute = namespace["compute"]

    def make():
        inputs = [numbers(graph, dtype, [at.get(extent, extent) for extent in shape], kind)
                  for dtype, shape, kind in graph.inputs.values()]
        return inputs + (int4_weights(n, k) if graph.form == "int4" else [])

    def exact(*inputs):
        return compute(*(each if each.dtype == torch.uint8 else each.double() for each in inputs))

    def given(inputs):
        """Weights stand at the end."""
        x, *more = inputs
        return [x, *more[:-2], *tiled([x, *more[-2:]])[1:]] if graph.form == "int4" else inputs

    title = f"{graph.name} {m}x{n}x{k} {graph.dtype}" + "".join(f", {each}" for each in graph.said)
    # Operands are rounded, or what is between stubs.
    return Row(title, graph.name, make, compute, operations=2 * m * n * k, error=2e-2, exact=exact,
               constants=tuple(graph.constants), given=given)


KINDS = {kind.__name__: kind for kind in [bf16, f8, f8_blocks, i8, tf32, batched, grouped, fused]}
LIKELY = ["fused"] * 4 + [name for name in KINDS if name != "fused"]


def draw_products(seed, count, kinds=None, graphs=COUNT):
    """So many rows of these kinds, each of which is as likely as often as it is named; `graphs`: how many are drawn."""
    sizes, kinds = Sizes(seed, graphs), kinds or LIKELY
    for _ in range(count):
        yield KINDS[kinds[0] if len(kinds) == 1 else sizes.draw.choice(kinds)](sizes)
