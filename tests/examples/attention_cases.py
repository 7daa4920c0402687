"""Kinds of attention, random numbers, and convolutions with channels first: what their graphs are given, and what these
compute, in NumPy and float64."""

import numpy as np

from building_blocks import convolve, normal_of, philox, uniform_of
from inputs import bf16, f8e4m3, normal

# ---- attention -------------------------------------------------------------------------------------------------------


def kinds_inputs(rng, b, s, t):
    heads = {"q": 4, "k": 2, "v": 2}
    wholes = {name: normal(rng, b, t if name != "q" else s, count, 20) for name, count in heads.items()}
    low = {"low": normal(rng, b, s, 4, 20, dtype=bf16), "low_keys": normal(rng, b, t, 2, 20, dtype=bf16)}
    low["codes"] = normal(rng, b, t, 2, 20, dtype=f8e4m3)
    values = {"narrow": normal(rng, b, t, 2, 7), "wide": normal(rng, b, t, 2, 33)}
    bias = np.where(rng.random((b, 1, s, t)) < 0.2, -np.inf, normal(rng, b, 1, s, t)).astype(np.float32)
    return wholes | low | values | {"counts": rng.random((s, t)) < 0.6, "bias": bias}


def windowed(q, k, v, scale=None, left=-1, right=-1, soft_cap=0.0, mask=0.0):
    """As attention with a mask, where a query that sees no key gives 0."""
    shared = q.shape[2] // k.shape[2]
    k, v = np.repeat(k, shared, axis=2), np.repeat(v, shared, axis=2)
    scores = np.einsum("bshe,bthe->bhst", q, k) * (q.shape[3] ** -0.5 if scale is None else scale)
    if soft_cap:
        scores = soft_cap * np.tanh(scores / soft_cap)
    queries, keys = scores.shape[-2:]
    ahead = np.arange(keys) - (np.arange(queries)[:, None] + keys - queries)
    hidden = (ahead > right) & (right >= 0) | (-ahead > left) & (left >= 0)
    scores = np.where(hidden, -np.inf, scores + mask)
    greatest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isneginf(greatest), 0, greatest))
    total = weights.sum(axis=-1, keepdims=True)
    return np.einsum("bhst,bthe->bshe", weights / np.where(total == 0, 1, total), v)


def attention_kinds(q, k, v, low, low_keys, codes, narrow, wide, counts, bias):
    mask = np.where(counts, 0.0, -np.inf)
    return [
        windowed(q, k, v, mask=mask), np.maximum(windowed(q, k, v, left=9, right=4, soft_cap=2.5), 0),
        windowed(q, k, narrow, scale=0.4, right=0, mask=bias), windowed(q, k, wide, left=12, soft_cap=1.5, mask=mask),
        windowed(low, low_keys, low_keys, right=0, mask=mask), windowed(low, codes, codes, right=0),
    ]  # fmt: skip


# ---- chance ----------------------------------------------------------------------------------------------------------


def chance_cases(rng):
    """Several calls, which are counted."""
    for m, n in [(1, 1), (3, 5), (17, 33), (64, 100), (0, 7), (7, 0)]:
        calls = [{"x": normal(rng, m, n), "chances": rng.random((n, m)).astype(np.float32), "wide": np.zeros(n)} for _ in range(3)]
        yield f"{m}x{n}", calls


def random_numbers(x, chances, wide, state):
    calls = state.setdefault("calls", 0)
    state["calls"] += 1
    fixed = uniform_of(philox((2, x.shape[0], 3), 0, 9))
    return [
        uniform_of(philox(x.shape, 0, 7)) * 6 - 3, x + normal_of(philox(x.shape, calls, -12345678901)),
        uniform_of(philox(chances.shape, calls, 1)) < chances, normal_of(philox(wide.shape, 0, 3), bits=53), fixed,
        fixed.max(axis=-1),
    ]  # fmt: skip


# ---- convolutions ----------------------------------------------------------------------------------------------------


def channels_first_inputs(rng, n, l):
    shapes = {
        "line": (n, 6, l), "image": (n, 6, l, 9), "volume": (n, 4, 5, l, 7), "line_filters": (10, 3, 3), "image_filters": (8, 6, 3, 2),
        "second_filters": (5, 8, 1, 1), "volume_filters": (6, 4, 2, 3, 3), "bias": (10,), "volume_bias": (6,),
    }  # fmt: skip
    return {name: normal(rng, *shape) for name, shape in shapes.items()}


def channels_first(line, image, volume, line_filters, image_filters, second_filters, volume_filters, bias, volume_bias):
    along = convolve(line.transpose(0, 2, 1)[:, None], line_filters.transpose(2, 1, 0)[None], (1, 2), (0, 2, 0, 1), group=2)[:, 0]
    flat = convolve(image.transpose(0, 2, 3, 1), image_filters.transpose(2, 3, 1, 0), pads=(1, 0, 1, 1))
    second = convolve(flat / 2 / (1 + np.exp(-flat / 2)), second_filters.transpose(2, 3, 1, 0))
    planes = np.pad(volume.transpose(0, 2, 3, 4, 1), [(0, 0), (1, 0), *[(0, 0)] * 3])
    deep = [
        sum(convolve(planes[:, plane + 2 * tap], volume_filters.transpose(2, 3, 4, 1, 0)[tap], (2, 1), (1, 0, 1, 2)) for tap in range(2))
        for plane in range(planes.shape[1] - 2)
    ]
    return [
        np.maximum(along + bias, 0).transpose(0, 2, 1), second.transpose(0, 3, 1, 2),
        np.tanh(np.stack(deep, axis=1) + volume_bias).transpose(0, 4, 1, 2, 3),
    ]  # fmt: skip
