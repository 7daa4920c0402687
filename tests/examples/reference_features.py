"""What the graphs of tests/examples/graphs compute, as reference.py does."""

import math

import ml_dtypes
import numpy as np

from building_blocks import (
    attend, batched_log_softmax, convolve, element_at, gelu, layer_norm, normalised, place_of, rms_norm, round_to,
    round_to_bf16, silu, softmax_last, windows_of,
)  # fmt: skip
from reference import matmul_bias_relu


bf16_matmul_bias_relu = matmul_bias_relu


def bf16_match_unfused(a, b, w):
    total = round_to_bf16(a + b)
    product = round_to_bf16(total * a)
    outer = round_to_bf16(a[:, None] * w)
    return [round_to_bf16(product - b), round_to_bf16(1 - outer)]


def f16_norm_quantize(x, residual, weight):
    h = round_to(np.float16, x + residual)
    normed = rms_norm(h, weight, 1e-6)
    scale = np.maximum(np.abs(normed).max(axis=-1, keepdims=True), 1e-4) / 448
    return [h, normed / scale, scale]


def multi_reduction(x):
    high, low = x.max(axis=1, keepdims=True), x.min(axis=1, keepdims=True)
    centred = x - x.mean(axis=1, keepdims=True)
    return [centred / (high - low + 1), (centred**2).sum(axis=1), high]


def reduce_axes(x):
    second = x.max(axis=1, keepdims=True, initial=-np.inf)
    return [x.sum(axis=(1, 2)), second, x.sum(axis=0), x.sum(axis=(0, 3)), x.sum(), x - second]


def row_statistics(a, w, residual, up):
    h = a @ w + residual
    y = (h / np.sqrt((h * h).mean(axis=-1, keepdims=True) + 1e-5)) @ up
    return [h, y, np.abs(y).max(axis=-1)]


def row_forms(x, plane, images, column, one, channel, row, scalar):
    kept, dropped = x.sum(axis=-1, keepdims=True) + column, (x.sum(axis=-1) + column) * row
    first, middle = x.max(axis=0, keepdims=True, initial=-np.inf), x.min(axis=1, keepdims=True, initial=np.inf)
    every = (plane.sum(keepdims=True) + one) * (plane.max() + scalar)
    by_channel = images.sum(axis=(2, 3), keepdims=True) * channel
    return [kept, x + kept, dropped, first * column, first[0] + column, x - (middle + one), every, by_channel]


def long_rows(x):
    return [softmax_last(x), layer_norm(x, 1, 0, 1e-5)]


def wide_rows(x, low):
    return [softmax_last(x), softmax_last(low)]


def siblings(x, z, w1, w2, w3, narrow):
    sizes = np.abs(z)
    v = sizes @ narrow
    return [np.exp(x), np.tanh(x), silu(x @ w1) * (x @ w2), np.maximum(sizes @ w3, 0), sizes @ w1 - v, v]


def transposed_view(x, bias, w):
    y = np.maximum(x.T + bias, 0)
    return [y, y @ w.T]


def grouped_weights(x, q, scale):
    h = x @ (q.transpose(1, 2, 0) * scale).reshape(256, 72)
    return [h / (1 + np.exp(-h))]


def view_outputs(x):
    return [x.T, x[:, 1:], x[:, ::-1], 2 * x, (2 * x).reshape(-1), x[:, ::2], 2 * x + x[:, ::-1]]


def strided_input(x, y, w):
    return [x + y, (x + y).sum(axis=1), x @ w]


def f64_softmax(x, w):
    p = softmax_last(x)
    return [p, p @ w]


def concat_inputs(a, b, row):
    wide = np.hstack([a, b])
    return [wide, np.vstack([np.maximum(a, 0), row, a]), np.exp(wide)]


def functions_twice(x, constants):
    def linear(h, index):
        return h @ constants[f"linear.{index}.w"] + constants[f"linear.{index}.b"]

    second = linear(np.tanh(linear(x, 0)), 1)
    third = linear(linear(linear(second + x, 2), 3), 4)
    return [np.maximum(third, 0), second]


def constants_at_load(x, constants):
    w = constants["w"]
    unit = w / np.linalg.norm(w, axis=1, keepdims=True)
    similarity = x @ unit.T
    return [similarity.reshape(-1, 15, 2) * np.array([-0.5, 0.5])]


def prepared_weights(tokens, x, small, constants):
    table, scale = constants["table"], constants["scale"]
    scores = table[tokens] @ table.T
    wide = lambda values: np.asarray(values, np.float64)  # noqa: E731
    mixed = np.maximum(wide(small) @ wide(constants["narrow"]).T + wide(constants["bias"]), 0)
    lifted = x @ (constants["lift"] * scale) + x @ constants["lift"]
    last = x
    for index in range(3):
        last = np.tanh(last @ constants[f"layers.{index}.own"]) @ constants["common"]
    return [scores, mixed, lifted, last]


def integers_bools(a, b, wide, bytes, flag):
    halves = bytes.astype(np.float64) / 2
    mixed = np.trunc(halves).astype(np.int32) + a
    return [a > b, np.maximum(a, b), (a > b) & flag, wide.sum(axis=1), halves, mixed]


def integer_bits(a, b, c, d):
    """NumPy's integers have 0 for a division by 0, and lose what is shifted out."""
    away = (np.fmod(a, b) != 0) & ((a < 0) != (b < 0))
    return [
        (a & b) | (a ^ b), ~c | (c << np.uint8(3)), np.right_shift(a, b), np.left_shift(a, b),
        np.floor_divide(a, b) + away, np.floor_divide(a, b), np.mod(a, b),
        np.fmod(d, 7), np.sign(d), np.clip(d, -2, 3),
    ]  # fmt: skip


def elementary_functions(a, b, c, d, e, f, g, x, y, h, k, l):  # noqa: E741
    return [
        np.arcsinh(np.sinh(a)), np.arccosh(np.cosh(b) + 0.5), np.arcsin(np.arctan(c) / 2), np.arccos(np.tanh(d) / 2),
        np.arctan2(np.mod(e, y), y), np.floor_divide(f, y), np.arctanh(np.fmod(g, 0.75)),
        np.trunc(x), np.isnan(x), np.isposinf(x), np.log1p(np.abs(h)), np.log10(np.exp2(k)), np.expm1(l), np.isfinite(l),
    ]  # fmt: skip


def imported_layers(x, weight, bias, mean, variance, scale, zero_point):
    column = lambda each: each[:, None, None]  # noqa: E731
    batched = column(weight) * (x - column(mean)) / np.sqrt(column(variance) + 1e-5) + column(bias)
    swished = batched * np.clip(batched / 6 + 0.5, 0, 1)
    grouped = normalised(x.reshape(-1, 3, 2, 5, 7), (2, 3, 4)).reshape(x.shape)
    separate = normalised(grouped * column(weight) + column(bias), (2, 3)) * column(weight) + column(bias)
    total = np.log(np.exp(x).sum(axis=(2, 3), keepdims=True))
    stored = np.clip(np.rint(x / scale) + zero_point, 0, 255)
    high, low = max(x.max(initial=0), 0), min(x.min(initial=0), 0)
    step = (high - low) / 255 if high > low else 1.0
    return [
        swished, separate * np.tanh(np.log1p(np.exp(separate))),
        batched_log_softmax(x), total, (stored - zero_point) * scale,
        np.asarray(step), np.asarray(np.clip(np.rint(-low / step), 0, 255)).astype(np.uint8),
    ]  # fmt: skip


def wrapping(a, b, c, d):
    """NumPy's integers wrap, once it is kept from summing in wider ones."""
    positive = a.sum(axis=-1, dtype=a.dtype) > 0
    below = a.prod(axis=-1, keepdims=True, dtype=a.dtype) < a
    bytes = b.sum(axis=-1, keepdims=True, dtype=b.dtype)
    squared = (bytes * bytes).astype(np.int32)
    small = c.prod(axis=0, dtype=c.dtype).astype(np.float64)
    lower = (-c - np.int8(100)).astype(np.int64)
    huge_wrapped = d.sum(dtype=d.dtype) < 9
    return [positive, below, np.maximum(b, bytes), squared, small, b * b >= b, lower, huge_wrapped]


def casts(x, h, w):
    quantised = round_to(ml_dtypes.float8_e4m3fn, np.clip(x, -448, 448))
    return [
        quantised,
        x - quantised,
        round_to(np.float16, x).sum(axis=-1),
        round_to(np.float16, h) * 3,
        round_to_bf16(x) @ w,
        np.zeros(x.shape),
    ]


casts_match_unfused = casts


def wide_integers(a, b):
    pair, least = np.array([2**53 + 1, 2**63 - 1]), np.int64(-(2**63))
    lowest = np.minimum(a, least)
    return [a + pair[::-1], np.maximum(a, pair - 1), a + np.int64(2**53 + 1), lowest, np.uint64(2**64 - 1) - b, b < 2**63]


def running_state(x, state):
    total = state.setdefault("total", np.zeros((8, 16)))
    previous = state.setdefault("previous", np.full((8, 16), 2.5))
    window = np.s_[: x.shape[0], : x.shape[1]]
    total[window] += x
    change = x - previous[window]
    previous[window] = 1.5 * x
    return [total[window].copy(), change]


def update_state(rows, position, state):
    buffer = state.setdefault("buffer", np.zeros((64, 32)))[:, : rows.shape[1]]
    buffer[int(position) : int(position) + 2] = 2 * rows
    buffer[62:] = rows
    log = state.setdefault("log", np.zeros((64, 32)))[:, : rows.shape[1]]
    log[:2], log[1:3] = np.exp(rows), rows
    log[int(position) : int(position) + 2] = np.tanh(np.exp(rows))
    return [buffer.sum(axis=1), np.exp(buffer[:10]), np.tanh(np.exp(rows)) - np.exp(rows), -log]


def regrouped(
    x, wq, wv, wo, bias, of_channel, of_head, heads, image, filters, of_place, position, state
):
    batch, length = x.shape[:2]
    cache = state.setdefault("cache", np.zeros((4, 64, 3, 7)))[:batch]
    wide = state.setdefault("wide_cache", np.zeros((4, 64, 2, 16)))[:batch]
    rows, used = slice(int(position), int(position) + length), slice(0, int(position) + length)
    cache[:, rows] = (x @ wq + bias).reshape(batch, length, 3, 7) * of_channel + of_head
    wide[:, rows] = (x @ wv).reshape(batch, length, 2, 16)
    attended = attend(heads, cache[:, used], cache[:, used], 7**-0.5, causal=True)
    seen = convolve(image, filters, pads=(1, 1, 1, 1)).reshape(batch, 30, 20) * of_place
    return [
        wide.sum(axis=2),
        (cache[:, rows] * of_channel).reshape(batch, length, 21) @ wo,
        attended.reshape(batch, length, 21) * bias,
        np.exp(seen.reshape(batch, 30, 4, 5)),
    ]


def update_values(x, rows, position):
    placed = x.copy()
    placed[int(position) : int(position) + 2] = rows
    y = placed + x
    both = y.copy()
    both[:2] = np.exp(rows)
    both[14:] = rows
    return [y, both, y, x]


def kernels_in_place(x, w, v, bias, row, position, state):
    batch, length, width = x.shape[0], x.shape[1], w.shape[1]
    cache = state.setdefault("cache", np.zeros((4, 32, 32)))[:batch, :, :width]
    product, opened, start = x @ w, np.maximum(x @ v.T + bias, 0), int(position)
    cache[:, start : start + length] = product
    gated = np.tanh(opened) * 2 * product
    return [
        np.concatenate([product, row, product], axis=1),
        np.concatenate([row, opened], axis=1),
        cache.sum(axis=1),
        np.concatenate([2 * product, np.exp(2 * product)], axis=2),
        np.concatenate([gated, gated], axis=1),
    ]


def written_views(x, w, row, position, state):
    cache = state.setdefault("cache", np.zeros((64, 3, 4)))
    cache[int(position)] = x.max(axis=0, initial=-np.inf).reshape(3, 4)
    column = np.exp(x.sum(axis=1))[:, None]
    return [
        (x @ w).T,
        np.maximum(2 * x @ w, 0)[::-1],
        softmax_last(x).reshape(-1, 3, 4).transpose(2, 0, 1),
        softmax_last(2 * x).T,
        softmax_last(x.reshape(-1, 3, 4)).transpose(1, 0, 2),
        column,
        np.concatenate([softmax_last(x.T).T.reshape(-1, 6), row]),
        cache.max(axis=0)[:, ::-1],
        column + 1,
    ]


def function_broadcasts(x, mask, gain):
    h = x
    for _ in range(3):
        h = softmax_last(h + mask) * gain
    return [softmax_last(h + mask) * x]


def batched_prologue(x, w, residual, factor):
    return [gelu(np.maximum(x * factor, 0) @ w + residual)]


def attention_plain(q, k, v):
    return [attend(q, k, v, 0.25)]


def spelled_out(x, gain, shift, q, k, v, bias, queries, keys, values):
    one = softmax_last(q @ k.T / 4 + bias) @ v
    many = attend(queries, keys, values, 1 / math.sqrt(8))
    several = attend(queries, keys, values, 0.35).reshape(2, -1, 24)
    return [gelu(layer_norm(x, gain, shift, 1e-5)), softmax_last(x), one, many, several]


def attention_masked(q, k, v, mask):
    return [attend(q, k, v, 24**-0.5, mask=mask)]


def convolutions(x, channels_first, filters, grouped_filters, depthwise_filters, torch_filters, line_filters, bias):
    image, taps = channels_first.transpose(0, 2, 3, 1), torch_filters.transpose(2, 3, 1, 0)
    return [
        np.maximum(convolve(np.exp(x), filters, pads=(1, 1, 1, 1)) + bias, 0),
        convolve(x, grouped_filters, pads=(2, 0, 0, 3), dilations=(1, 2), group=3),
        np.maximum(convolve(x, depthwise_filters, strides=(2, 3), pads=(1, 1, 1, 1), group=12), 0),
        convolve(image, taps, strides=(2, 2)).transpose(0, 3, 1, 2),
        np.tanh(convolve(x[:, :1], line_filters[None], pads=(0, 4, 0, 0))[:, 0]),
    ]


def running_sums(x, counts, low):
    energy = np.zeros_like(x)  # exclusive: without the last square, and with nothing in front
    energy[:, 1:] = np.cumsum(x * x, axis=1)[:, :-1]
    left = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1] - counts
    return [
        np.cumsum(x, axis=2),
        np.sqrt(energy),
        np.cumsum(x[::-1], axis=0)[::-1],
        left,
        np.cumsum(low, axis=1),
        np.cumsum(x.transpose(2, 0, 1), axis=0),
    ]


def pooling(x, first, low, bytes, bias):
    inside = windows_of(np.ones_like(x), 0, (3, 2), pads=(1, 0, 1, 1)).sum(axis=-1)
    return [
        windows_of(np.maximum(x + bias, 0), -np.inf, (3, 3), pads=(1, 1, 1, 1)).max(axis=-1),
        windows_of(np.moveaxis(first, 1, 3), 0, (2, 3), (2, 2), dilations=(1, 2)).max(axis=-1).transpose(0, 3, 1, 2),
        windows_of(x, 0, (3, 2), pads=(1, 0, 1, 1)).sum(axis=-1) / inside * x,
        windows_of(low, 0, (2, 2), pads=(0, 1, 0, 0)).mean(axis=-1),
        windows_of(bytes, 0, (2, 2), (1, 2)).max(axis=-1),
    ]


def batched_products(q, keys, values, mask, maps, points, lines, columns):
    of_key = np.arange(6) // 3  # three heads share one
    weights = np.tanh(np.einsum("bshd,bthd->bhst", q, keys[:, :, of_key])) + mask[:, 0]
    rows = np.einsum("bhst,bthe->bshe", weights, values[:, :, of_key]) / 8
    b, s, t = len(q), lines.shape[1], len(columns)
    return [
        weights.reshape(b, 2, 3, s, t), rows.reshape(b, s, 2, 3, 33),
        np.maximum(np.einsum("mk,bhks->bhms", maps, points), 0),
        np.einsum("hsk,tk->hst", lines[:, :, 0], columns[:, :, 0])[..., None, None], np.zeros((b, 3, 5, s)),
    ]  # fmt: skip


def grouped_products(x, scores, up, gate, down):
    shares = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    y = np.zeros_like(x)
    for token, experts in enumerate(np.argsort(-scores, axis=-1)[:, :2]):
        for expert in experts:
            inner = silu(x[token] @ gate[expert]) * (x[token] @ up[expert])
            y[token] += shares[token, expert] * (inner @ down[expert])
    return [y]


def block_scales(
    x, x_scale, w, w_scale, columns, column_scale, bias, batch, batch_scale, part, part_scale, tiles, tile_scale
):
    def scaled(codes, scale, rows, wide):
        factors = np.repeat(np.repeat(scale, rows, axis=-2), wide, axis=-1)
        return codes.astype(float) * factors[..., : codes.shape[-2], : codes.shape[-1]]

    left = scaled(x, x_scale, 1, 128)
    product = left @ scaled(w, w_scale, 128, 128).T
    return [
        silu(product), left @ scaled(columns, column_scale, 128, 1) + bias,
        scaled(batch, batch_scale, 1, 128) @ scaled(part, part_scale, 128, 60), scaled(tiles, tile_scale, 3, 5),
    ]  # fmt: skip


def triangles(scores, low, flags, labels, gains, codes):
    def one_hot(indices, depth):
        return (indices[..., None] == np.arange(depth)) | (indices[..., None] + depth == np.arange(depth))

    places = one_hot(labels, 21)
    return [
        np.triu(scores), np.tril(np.exp(scores), -1) / 2, np.tril(np.triu(low, -2), 3), np.tril(flags, 1),
        np.triu(np.swapaxes(scores, 1, 2), 2), places, np.where(places, gains, -1), one_hot(codes, 10).astype(float),
    ]  # fmt: skip


def frames(x, counts, flags):
    return [
        2 * np.pad(np.exp(x), [(1, 3), (2, 4)], constant_values=-1),
        np.pad(counts, [(0, 2), (17, 0)], mode="edge"),
        np.pad(x.T, [(3, 2), (0, 1)], mode="reflect"),
        np.pad(flags, [(5, 2)], constant_values=True),
        x,
    ]


def forbid_force(x, bias):
    return [np.maximum(x + bias, 0)]


def index_of_extremes(x, bias, counts):
    biased = x + bias
    b, m, n = counts.shape
    middle = counts.transpose(1, 0, 2).reshape(m, b * n)
    return [
        place_of(np.argmax, biased, -1),
        biased.max(axis=-1, initial=-np.inf),
        place_of(np.argmin, x, 1, keepdims=True),
        place_of(np.argmax, counts),
        place_of(np.argmin, middle, 1),
    ]


def gathers(tokens, token, table, codes, weight, w, x, columns, rows, flags):
    embedded = element_at(table, np.broadcast_to(tokens[:, None], (len(tokens), 48)), 0)
    coded = element_at(codes, np.broadcast_to(tokens[:, None], (len(tokens), 48)), 0)
    chosen = element_at(x, columns, 1)
    return [
        embedded,
        element_at(codes, np.broadcast_to(token, (1, 48)), 0)[0],
        rms_norm(embedded, weight, 1e-5),
        coded @ w,
        softmax_last(chosen),
        element_at(x, rows, 0),
        np.take_along_axis(x, place_of(np.argmax, x, 1, keepdims=True), 1),
        chosen.T,
        np.exp(chosen) + 1,
        element_at(flags, columns, 1),
        x[:, :1],
    ]
