"""Results whose size depends on the data, behind whose count they are 0, and contractions: what their graphs are given, and what
they compute, in NumPy."""

import numpy as np

from inputs import bf16, normal


def bounded_inputs(rng, m, n):
    x = rng.integers(-2, 3, (m, 5)).astype(np.float32) / 2
    if m > 2:
        x[1, 2], x[2, 0], x[2, 4] = np.nan, np.nan, -0.0
    corners = rng.integers(0, 40, (2, n, 4)).astype(np.float32) / 8
    return {
        "x": x, "flags": rng.random(n) < 0.4, "codes": rng.integers(-3, n + 2, (n, m)).astype(np.int32).T,
        "lines": normal(rng, 3, n, 4, dtype=bf16), "boxes": corners,
        "scores": rng.permutation(6 * n).reshape(2, 3, n).astype(np.float32) / (6 * n),  # no two are equal
        "squares": normal(rng, 2, n, n),
    }  # fmt: skip


def filled(found, size, axis=0):
    """`found` with zeros behind, up to `size` along the axis."""
    pads = [(0, 0)] * found.ndim
    pads[axis] = (0, size - found.shape[axis])
    return np.pad(found, pads)


def unique(x, in_order=True, axis=None):
    values, first, inverse, repeats = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    inverse = inverse.reshape(-1)
    order = np.arange(len(first)) if in_order else np.argsort(first)
    size = x.size if axis is None else x.shape[axis]
    back = np.argsort(order)
    results = [filled(each[order], size) for each in (values, first, repeats)]
    return [results[0], results[1], back[inverse] if size else inverse, results[2], np.int64(len(first))]


def overlap(a, b):
    low, high = np.maximum(np.minimum(a[:2], a[2:]), np.minimum(b[:2], b[2:])), np.minimum(np.maximum(a[:2], a[2:]), np.maximum(b[:2], b[2:]))
    common = np.prod(np.maximum(high - low, 0))
    together = np.prod(np.abs(a[2:] - a[:2])) + np.prod(np.abs(b[2:] - b[:2])) - common
    return common / together if together > 0 else 0


def non_max_suppression(boxes, scores, most, iou, least):
    rows = []
    for batch, classes in enumerate(scores):
        for number, line in enumerate(classes):
            kept = []
            for candidate in np.argsort(-line, kind="stable"):
                if len(kept) < most and line[candidate] > least:
                    if all(overlap(boxes[batch, candidate], boxes[batch, other]) <= iou for other in kept):
                        kept.append(candidate)
            rows += [[batch, number, each] for each in kept]
    size = scores.shape[0] * scores.shape[1] * most
    return [filled(np.array(rows, np.int64).reshape(-1, 3), size), np.int64(len(rows))]


def lp_pool(x):
    padded = np.pad(np.abs(x), ((0, 0), (1, 1)))
    return sum(padded[:, tap : tap + 5 : 2] ** 3 for tap in range(3)) ** (1 / 3)


def bounded_results(x, flags, codes, lines, boxes, scores, squares):
    places = np.stack(np.nonzero(x * x))
    count = len(flags)
    return [
        filled(places, x.size, 1), np.int64(places.shape[1]), filled(-lines[:, flags], count, 1), np.int64(flags.sum()),
        *unique(x), *unique(codes, False), *unique(codes, axis=0), *non_max_suppression(boxes, scores, 3, 0.4142, 0.11),
        np.bincount(codes[(codes >= 0) & (codes < count)].astype(np.int64), minlength=count), 3.0 - 2 * np.arange(count), x + np.arange(5),
        np.int64(2 * x.shape[0] + count), 2 * np.diagonal(squares, axis1=1, axis2=2), lp_pool(x),
    ]  # fmt: skip


def contraction_inputs(rng, m, n):
    return {
        "a": normal(rng, 2, m, 7), "b": normal(rng, 2, n, 7), "low": normal(rng, 7, n, 3, dtype=bf16),
        "square": normal(rng, n, n, 5), "fixed": normal(rng, 3, 6, 6), "whole": rng.integers(-9, 9, (n, 4)).astype(np.int32),
        "line": normal(rng, n),
    }  # fmt: skip


def contractions(a, b, low, square, fixed, whole, line):
    return [
        np.maximum(np.einsum("bmk,bnk->bmn", a, b), 0), np.einsum("bmk,bnk->nbm", a, b), np.einsum("knj,kmi->nmij", low, low),
        np.einsum("iij->ij", square), np.einsum("iij", square), np.einsum("...ii->i...", fixed), np.einsum("nj,nk->jk", whole, whole),
        np.einsum("i,i", line, line), np.einsum("bmk,n,bnk->m", a, line, b),
        fixed.sum(axis=-1)[..., None] * line, a,
    ]  # fmt: skip
