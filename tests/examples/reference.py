"""What the graphs of specs/graphs compute, in NumPy and float64, written from the operators' definitions in the literature.

Nothing here reads kgen's specifications. Each function takes the inputs and constants by name, and the state of the
model as a dict that it updates, and returns the outputs in order. Arrays arrive as float64 (integers and booleans as
they are), holding exactly the values that the program under test receives.

The graphs of tests/examples/graphs are in reference_features.py and sampling_cases.py, those of the benchmark in
reference_gpu_rows.py.
"""

import numpy as np

from building_blocks import (
    attend, convolve, element_at, gelu, layer_norm, rms_norm, rotate, sigmoid, silu, softmax_last,
)  # fmt: skip


# ---- the examples of specs/graphs/custom ----------------------------------------------------------------------------


def snake(x, bias, alpha, gain):
    biased = x + bias
    return [(biased + np.sin(alpha * biased) ** 2 / alpha) * gain]


def beams(signal_real, signal_imaginary, window, steering_real, steering_imaginary, offset):
    product = (signal_real + 1j * signal_imaginary) * window @ (steering_real + 1j * steering_imaginary)
    in_phase = product.real - offset
    return [in_phase, in_phase**2 + product.imag**2]


def int8_mlp(x, w_gate, w_up, gate_scale, up_scale):
    return [silu(x @ w_gate * gate_scale) * (x @ w_up * up_scale)]


def gated_convolution(x, gate, weight, bias):
    taps = len(weight)
    padded = np.pad(x * gate, [(0, 0), (taps - 1, 0), (0, 0)])
    mixed = sum(weight[k] * padded[:, k : k + x.shape[1]] for k in range(taps))
    return [silu(mixed + bias) + x]


def mandelbrot(center_x, center_y, width, rows, columns, iterations=200):
    rows, columns = int(rows), int(columns)
    real = center_x - width / 2 + width * (np.arange(columns) + 0.5) / columns
    imaginary = (center_y - width / 2 + width * (rows - np.arange(rows) - 0.5) / rows)[:, None]
    x, y = np.zeros((rows, columns)), np.zeros((rows, columns))
    steps = np.zeros((rows, columns), dtype=np.int32)
    within = np.ones((rows, columns), dtype=bool)
    for _ in range(iterations):
        within &= x * x + y * y <= 4
        steps += within
        x, y = np.where(within, x * x - y * y + real, x), np.where(within, 2 * x * y + imaginary, y)
    return [steps, 1 - steps / iterations]


def kernel_choice(few, many, weight, bias, low):
    product = few @ weight + bias
    return [product * sigmoid(1.702 * product), many @ weight, gelu(low)]


# ---- the examples of specs/graphs ------------------------------------------------------------------------------------


def matmul_bias_relu(A, B, bias):
    return [np.maximum(A @ B + bias, 0)]


def conv_bias_relu(x, filters, bias):
    return [np.maximum(convolve(x, filters, (2, 2), (1, 1, 1, 1)) + bias, 0)]


def grayscale(image):
    return [np.einsum("chw,c->hw", image, np.array([0.21, 0.71, 0.07]))]


def swish(x):
    return [silu(x)]


def softmax(scores, mask):
    return [softmax_last(scores * 0.125 + mask)]


def layer_norm_gelu(x, weight, bias):
    return [gelu(layer_norm(x, weight, bias, 1e-5))]


def add_rms_norm(x, residual, weight):
    h = x + residual
    return [h, rms_norm(h, weight, 1e-6)]


def swiglu(gate_up):
    gate, up = np.split(gate_up, 2, axis=-1)
    return [silu(gate) * up]


def cross_entropy(logits, target):
    log_total = np.log(np.exp(logits - logits.max(axis=1, keepdims=True)).sum(axis=1)) + logits.max(axis=1)
    loss = log_total - element_at(logits, target[:, None], 1)[:, 0]
    return [np.where(target == -100, 0, loss)]


def rope(x, cos, sin):
    return [rotate(x, np.concatenate([cos, cos], axis=-1), np.concatenate([sin, sin], axis=-1))]


def attention_layer(x, weights, attend_to, head_width):
    batch, tokens, _ = x.shape
    n = rms_norm(x, weights["attention_norm"], 1e-5)
    q, k, v = ((n @ weights[name]).reshape(batch, tokens, -1, head_width) for name in ("wq", "wk", "wv"))
    return x + attend_to(q, k, v).reshape(batch, tokens, -1) @ weights["wo"]


def llama_layer(x, weights, attend_to, head_width):
    """attend_to(q, k, v): what the queries make of the new keys, values and those before them."""
    h = attention_layer(x, weights, attend_to, head_width)
    n = rms_norm(h, weights["mlp_norm"], 1e-5)
    return h + (silu(n @ weights["w_gate"]) * (n @ weights["w_up"])) @ weights["w_down"]


def cached_attention(q, k, v, caches, begin, weights):
    """caches: the keys' and the values', [B of the greatest size, T, G, E], updated in place from slot `begin` on."""
    batch, tokens, _, width = q.shape
    end = begin + tokens
    cos, sin = weights["cos"][begin:end], weights["sin"][begin:end]
    k_cache, v_cache = caches
    k_cache[:batch, begin:end] = rotate(k, cos, sin)
    v_cache[:batch, begin:end] = v
    return attend(rotate(q, cos, sin), k_cache[:batch, :end], v_cache[:batch, :end], width**-0.5, causal=True)


def attention_at(q, k, v, caches, positions, weights):
    """The same of sequences whose last tokens stand at positions of their own; those at -1, in front, see nothing."""
    attended = np.zeros_like(q)
    for b, row in enumerate(positions):
        own, batch = row >= 0, slice(b, b + 1)
        if own.any():
            parts = (part[batch, own] for part in (q, k, v))
            attended[batch, own] = cached_attention(*parts, caches[:, batch], int(row[own][0]), weights)
    return attended


def layers_of(constants, count):
    """The weights of each layer, with the tables of angles."""
    for layer in range(count):
        prefix = f"layers.{layer}."
        weights = {key.removeprefix(prefix): value for key, value in constants.items() if key.startswith(prefix)}
        yield weights | {"cos": constants["cos"], "sin": constants["sin"]}


def llama_block(x, position, constants, state):
    caches = state.setdefault("caches", np.zeros((2, 8, 1024, 4, 64)))
    return [llama_layer(x, constants, lambda *new: cached_attention(*new, caches, int(position), constants), 64)]


def llama_of(x, layers, attention, place, caches, constants):
    h = x
    for own, weights in zip(caches, layers, strict=True):
        h = llama_layer(h, weights, lambda *new: attention(*new, own, place, weights), 16)
    return [rms_norm(h, constants["final_norm"], 1e-5) @ constants["lm_head"]]


def llama_tiny(x, position, constants, state):
    caches = state.setdefault("caches", np.zeros((32, 2, 4, 256, 2, 16)))
    return llama_of(x, layers_of(constants, 32), cached_attention, int(position), caches, constants)


def paged_decode(x, positions, block_table, constants, state):
    """The pages are gathered for each sequence, and what is new is put into them."""
    pages = state.setdefault("pages", np.zeros((2, 256, 16, 2, 16)))

    def attend_to(q, k, v):
        attended = np.zeros_like(q)
        for b, row in enumerate(positions):
            own, batch = row >= 0, slice(b, b + 1)
            if not own.any():
                continue
            entries = block_table[b, : row.max() // 16 + 1]
            caches = pages[:, entries].reshape(2, 1, -1, 2, 16)
            parts = (part[batch, own] for part in (q, k, v))
            attended[batch, own] = cached_attention(*parts, caches, int(row[own][0]), constants)
            pages[:, entries] = caches.reshape(2, -1, 16, 2, 16)
        return attended

    return [attention_layer(x, constants, attend_to, 16)]


def llama_decode(x, positions, constants, state):
    caches = state.setdefault("caches", np.zeros((4, 2, 64, 256, 2, 16)))
    return llama_of(x, layers_of(constants, 4), attention_at, positions, caches, constants)
