"""Layers and other parts of what graphs compute, in NumPy and float64, from their definitions in the literature."""

import math

import ml_dtypes
import numpy as np

erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def gelu(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def softmax_last(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True, initial=-np.inf))
    return e / e.sum(axis=-1, keepdims=True)


def rms_norm(x, weight, eps):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * weight


def layer_norm(x, weight, bias, eps):
    mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps) * weight + bias


def rotate(x, cos, sin):
    """Hugging Face's apply_rotary_pos_emb; x: [B, S, heads, E], cos and sin: [S, E], both halves of which are equal."""
    half = x.shape[-1] // 2
    rotated = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
    return x * cos[:, None, :] + rotated * sin[:, None, :]


def attend(q, k, v, scale, causal=False, mask=0):
    """q: [B, S, H, E]; k, v: [B, T, G, E], each head of them shared by H/G heads of q; the last query sees all keys."""
    shared = q.shape[2] // k.shape[2]
    k, v = np.repeat(k, shared, axis=2), np.repeat(v, shared, axis=2)
    scores = np.einsum("bshe,bthe->bhst", q, k) * scale + mask
    if causal:
        queries, keys = scores.shape[-2:]
        hidden = np.arange(keys)[None, :] > np.arange(queries)[:, None] + keys - queries
        scores = np.where(hidden, -np.inf, scores)
    return np.einsum("bhst,bthe->bshe", softmax_last(scores), v)


def element_at(x, indices, axis):
    """x[..., indices, ...] along the axis: negative indices count from the end, and beyond it there is NaN or 0."""
    extent = x.shape[axis]
    missing = np.full(1, np.nan if x.dtype.kind == "f" else 0).astype(x.dtype)
    padded = np.append(x, np.broadcast_to(missing, [1 if i == axis else n for i, n in enumerate(x.shape)]), axis)
    inside = (indices >= -extent) & (indices < extent)
    return np.take_along_axis(padded, np.where(inside, np.where(indices < 0, indices + extent, indices), extent), axis)


def place_of(find, x, axis=None, keepdims=False):
    """find(x, axis) is np.argmax or np.argmin, which do without an answer where there is nothing."""
    if x.size and (axis is None or x.shape[axis]):
        return find(x, axis=axis, keepdims=keepdims)
    return np.full_like(x.sum(axis=axis, keepdims=keepdims), -1, dtype=np.int64)


def convolve(x, filters, strides=(1, 1), pads=(0, 0, 0, 0), dilations=(1, 1), group=1):
    """x: [N, H, W, C]; filters: [KH, KW, C / group, O]; pads: above, left, below, right."""
    x = np.pad(x, [(0, 0), (pads[0], pads[2]), (pads[1], pads[3]), (0, 0)])
    rows, columns, channels, count = filters.shape
    height = (x.shape[1] - dilations[0] * (rows - 1) - 1) // strides[0] + 1
    width = (x.shape[2] - dilations[1] * (columns - 1) - 1) // strides[1] + 1
    y = np.zeros((len(x), height, width, group, count // group), np.result_type(x, filters))
    x, filters = x.reshape(*x.shape[:3], group, channels), filters.reshape(rows, columns, channels, group, -1)
    for i, j in np.ndindex(rows, columns):
        first = i * dilations[0], j * dilations[1]
        seen = x[:, first[0] :, first[1] :][:, :: strides[0], :: strides[1]][:, :height, :width]
        y += np.einsum("nhwgc,cgo->nhwgo", seen, filters[i, j])
    return y.reshape(*y.shape[:3], count)


def windows_of(x, outside, window, strides=(1, 1), pads=(0, 0, 0, 0), dilations=(1, 1)):
    """x: [N, H, W, C]; [N, OH, OW, C, elements of a window], `outside` where the pads above, left, below, right are."""
    x = np.pad(x, [(0, 0), (pads[0], pads[2]), (pads[1], pads[3]), (0, 0)], constant_values=outside)
    reach = tuple(step * (taps - 1) + 1 for step, taps in zip(dilations, window))
    seen = np.lib.stride_tricks.sliding_window_view(x, reach, (1, 2))
    seen = seen[:, :: strides[0], :: strides[1], :, :: dilations[0], :: dilations[1]]
    return seen.reshape(*seen.shape[:4], window[0] * window[1])


def round_to(dtype, x):
    return np.asarray(x, dtype=np.float64).astype(np.float32).astype(dtype).astype(np.float64)


def round_to_bf16(x):
    return round_to(ml_dtypes.bfloat16, x)


def normalised(x, axes, epsilon=1e-5):
    return (x - x.mean(axis=axes, keepdims=True)) / np.sqrt(x.var(axis=axes, keepdims=True) + epsilon)


def batched_log_softmax(x):
    shifted = x - x.max(axis=1, keepdims=True, initial=-np.inf)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def philox(shape, draw, seed):
    """Philox4x32-10's four words for each place of a shape: Salmon et al., SC 2011, table 2 and figure 1."""
    word = np.uint64(0xFFFFFFFF)
    place = np.arange(math.prod(shape), dtype=np.uint64).reshape(shape)
    draw, seed = (np.uint64(each % 2**64) for each in (draw, seed))
    a, b, c, d = place & word, place >> np.uint64(32), np.full(shape, draw & word), np.full(shape, draw >> np.uint64(32))
    low, high = int(seed & word), int(seed >> np.uint64(32))
    for turn in range(10):
        first, second = np.uint64(0xD2511F53) * a, np.uint64(0xCD9E8D57) * c
        key_low, key_high = ((start + turn * step) % 2**32 for start, step in ((low, 0x9E3779B9), (high, 0xBB67AE85)))
        a, b, c, d = (second >> np.uint64(32)) ^ b ^ np.uint64(key_low), second & word, (first >> np.uint64(32)) ^ d ^ np.uint64(key_high), first & word
    return a, b, c, d


def wide_of(high, low):
    """The 53 highest bits of two words."""
    return ((high << np.uint64(32) | low) >> np.uint64(11)).astype(np.float64)


def uniform_of(words, bits=24):
    """From 0 to 1, 1 left out."""
    if bits == 53:
        return wide_of(words[0], words[1]) / 2**53
    return (words[0] >> np.uint64(8)).astype(np.float64) / 2**24


def normal_of(words, bits=24):
    """Box's and Muller's."""
    if bits == 53:
        radius, angle = (wide_of(words[0], words[1]) + 1) / 2**53, wide_of(words[2], words[3]) / 2**53
    else:
        radius, angle = (words[0].astype(np.float64) + 1) / 2**32, (words[1] >> np.uint64(8)).astype(np.float64) / 2**24
    return np.sqrt(-2 * np.log(radius)) * np.cos(2 * np.pi * angle)
