"""Small models of ONNX Runtime's own operators, in the form of ONNX's node tests. The expected outputs are NumPy's, in float64;
scripts/conformance --onnxruntime draws others, and takes what ONNX Runtime makes of them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from own_models import node, write
from attention_cases import windowed  # of tests/examples, which own_models has found

DOMAIN = "com.microsoft"


def fours(codes: np.ndarray) -> np.ndarray:
    """Two to a byte, the first one in the low half."""
    return (codes[..., ::2] | codes[..., 1::2] << 4).astype(np.uint8)


def rms_norm(x: np.ndarray, gain: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * gain


def few_bits(folder: Path, random: Callable[..., np.ndarray]) -> None:
    """Rows of a table, and a product by weights whose depth does not fill its blocks, with zero points of each block and
    without; of 4 and 8 bits."""
    rng = np.random.default_rng(9)
    V, K, N, width, blocks = 11, 100, 67, 16, 7
    D = blocks * width
    table, ids = rng.integers(0, 16, (V, D)), rng.integers(0, V, (2, 3))
    codes, zeros = rng.integers(0, 16, (N, blocks, width)), rng.integers(0, 16, (N, blocks + 1))
    wide = rng.integers(0, 256, (N, blocks, width)).astype(np.uint8)
    scales, of_table, bias = np.abs(random(N, blocks)), np.abs(random(V, blocks)), random(N)
    rows = ((table.reshape(V, blocks, width) - 8.0) * of_table[..., None]).reshape(V, D)[ids]
    x = rows[..., :K]
    weight = ((codes - zeros[:, :blocks, None].astype(float)) * scales[..., None]).reshape(N, -1)[:, :K]
    other = ((wide - 128.0) * scales[..., None]).reshape(N, -1)[:, :K]
    size = {"K": K, "N": N, "block_size": width}
    write(folder, [node("GatherBlockQuantized", ["table", "ids", "of_table"], ["rows"], domain=DOMAIN, bits=4, block_size=width),
                   node("Slice", ["rows", "begin", "end", "axis"], ["x"]),
                   node("MatMulNBits", ["x", "codes", "scales", "zeros", "", "bias"], ["y"], domain=DOMAIN, bits=4, **size),
                   node("MatMulNBits", ["x", "wide", "flat"], ["z"], domain=DOMAIN, bits=8, **size)],
          {"ids": ids}, {"table": fours(table), "of_table": of_table, "codes": fours(codes), "scales": scales, "zeros": fours(zeros),
                         "bias": bias, "wide": wide, "flat": scales.reshape(-1), "begin": np.array([0]), "end": np.array([K]),
                         "axis": np.array([2])},
          {"rows": rows, "y": x @ weight.T + bias, "z": x @ other.T})


def rotated(x: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    """[batch, length, heads, width], by angles [length, width / 2] of halves."""
    first, second = np.split(x, 2, axis=-1)
    cos, sin = cos[:, None], sin[:, None]
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], -1)


def decoder_layer(folder: Path, random: Callable[..., np.ndarray]) -> None:
    """Grouped queries behind a cache, rotated, of a length that only the run knows, that see all keys or three; a norm of a sum
    that goes on."""
    B, S, P, N, G, H = 2, 1, 5, 4, 2, 16
    q, k, v = random(B, S, N * H), random(B, S, G * H), random(B, S, G * H)
    past_k, past_v, skip, gain = random(B, G, P, H), random(B, G, P, H), random(B, S, N * H), random(N * H)
    angles = random(9, H // 2)
    at = slice(P, P + S)
    heads = lambda x: x.astype(np.float64).reshape(B, S, -1, H)  # noqa: E731
    turned, keys = (rotated(heads(x), np.cos(angles[at]), np.sin(angles[at])) for x in (q, k))
    keys = np.concatenate([past_k, keys.transpose(0, 2, 1, 3)], 2)
    values = np.concatenate([past_v, heads(v).transpose(0, 2, 1, 3)], 2)
    seen = [x.transpose(0, 2, 1, 3) for x in (keys, values)]
    y = windowed(turned, *seen, right=0).reshape(B, S, -1)
    near = windowed(turned, *seen, left=2, right=0).reshape(B, S, -1)
    total = y + skip
    write(folder, [node("GroupQueryAttention", ["q", "k", "v", "past_k", "past_v", "lengths", "total", "cos", "sin"],
                        ["y", "keys", "values"], domain=DOMAIN, num_heads=N, kv_num_heads=G, do_rotary=1),
                   node("GroupQueryAttention", ["q", "k", "v", "past_k", "past_v", "lengths", "total", "cos", "sin"],
                        ["near"], domain=DOMAIN, num_heads=N, kv_num_heads=G, do_rotary=1, local_window_size=3),
                   node("SkipSimplifiedLayerNormalization", ["skip", "y", "gain"], ["n", "", "", "sum"], domain=DOMAIN, epsilon=1e-5)],
          {"q": q, "k": k, "v": v, "past_k": past_k, "past_v": past_v, "lengths": np.full(B, P + S - 1, np.int32),
           "total": np.array(P + S, np.int32), "skip": skip},
          {"cos": np.cos(angles), "sin": np.sin(angles), "gain": gain},
          {"near": near, "keys": keys, "values": values, "n": rms_norm(total, gain), "sum": total},
          shapes={"q": ("batch", "length", N * H), "k": ("batch", "length", G * H), "v": ("batch", "length", G * H),
                  "past_k": ("batch", G, "past", H), "past_v": ("batch", G, "past", H), "lengths": ("batch",),
                  "skip": ("batch", "length", N * H)})


def packed_heads(folder: Path, random: Callable[..., np.ndarray]) -> None:
    """Queries, keys and values in one tensor, and keys and values in one, of which some do not count."""
    B, S, T, N, H = 2, 3, 4, 2, 8
    qkv, q, kv = random(B, S, N, 3, H), random(B, S, N * H), random(B, T, N, 2, H)
    lengths = np.array([4, 2], np.int32)
    wide = qkv.astype(np.float64)
    y = windowed(*(wide[..., i, :] for i in range(3))).reshape(B, S, -1)
    masked = np.where(np.arange(T) < lengths[:, None], 0, -np.inf)[:, None, None]
    z = windowed(q.astype(np.float64).reshape(B, S, N, H), *(kv[..., i, :].astype(np.float64) for i in range(2)), mask=masked).reshape(B, S, -1)
    write(folder, [node("MultiHeadAttention", ["qkv"], ["y"], domain=DOMAIN, num_heads=N),
                   node("MultiHeadAttention", ["q", "kv", "", "", "lengths"], ["z"], domain=DOMAIN, num_heads=N)],
          {"qkv": qkv, "q": q, "kv": kv, "lengths": lengths}, {}, {"y": y, "z": z})


def make(folder: Path) -> None:
    rng = np.random.default_rng(11)
    for case in (few_bits, decoder_layer, packed_heads):
        case(folder / case.__name__, lambda *shape: rng.standard_normal(shape).astype(np.float32))
