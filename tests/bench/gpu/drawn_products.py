"""Rows of matrix products of random shapes: of which kinds, and what PyTorch has for each."""

import math
import random

import torch
from rows import (
    EPILOGUES, Row, f8_product, grouped_products, int8_inputs, int8_row_scales, int8_sums, mixture, normal, product
)

MOST = 2**30  # elements of an operand or a result


class Sizes:
    """Extents spread evenly over their magnitudes, of which each is odd now and then."""

    def __init__(self, seed):
        self.draw = random.Random(seed)

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


KINDS = {kind.__name__: kind for kind in [bf16, f8, i8, tf32, batched, grouped]}


def draw_products(seed, count, kinds):
    """So many rows of these kinds, each of which is as likely."""
    sizes = Sizes(seed)
    for _ in range(count):
        yield KINDS[kinds[0] if len(kinds) == 1 else sizes.draw.choice(kinds)](sizes)
