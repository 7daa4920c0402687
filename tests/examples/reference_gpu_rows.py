"""What the benchmark's graphs on a GPU compute, as reference.py does."""

import numpy as np

from building_blocks import (
    attend, gelu, layer_norm, rms_norm, rotate, silu, softmax_last,
)  # fmt: skip
from reference import matmul_bias_relu


matmul_bias_relu_bf16 = matmul_bias_relu


def matmul_bf16(x, w):
    return [x @ w]


def matmul_transposed_bf16(x, w):
    return [x @ w.T]


def matmul_bias_gelu_residual_bf16(x, w, bias, residual):
    return [gelu(x @ w + bias) + residual]


def matmul_swiglu_bf16(x, w1, w3):
    return [silu(x @ w1) * (x @ w3)]


def attention_bf16(q, k, v):
    return [attend(q, k, v, 0.1)]


def attention_causal_bf16(q, k, v):
    return [attend(q, k, v, 0.1, causal=True)]


def silu_bf16(x):
    return [silu(x)]


def bias_gelu_residual_bf16(x, bias, residual):
    return [gelu(x + bias) + residual]


def rms_norm_bf16(x, weight):
    return [rms_norm(x, weight, 1e-6)]


def add_rms_norm_bf16(x, residual, weight):
    h = x + residual
    return [h, rms_norm(h, weight, 1e-6)]


def swiglu_bf16(gate, up):
    return [silu(gate) * up]


def sum_f32(x):
    return [x.sum()]


def layer_norm_gelu_bf16(x, weight, bias):
    return [gelu(layer_norm(x, weight, bias, 1e-5))]


def softmax_bf16(scores, mask):
    return [softmax_last(scores * 0.125 + mask)]


def rope_bf16(x, cos, sin):
    return [rotate(x, cos[:, 0], sin[:, 0])]


def rms_norm_quantize_bf16(x, weight):
    normed = rms_norm(x, weight, 1e-6)
    scale = np.maximum(np.abs(normed).max(axis=-1, keepdims=True) / 448, 1e-12)
    return [normed / scale, scale]  # not rounded: what is on the edge of a rounding may fall to either side


def transpose_bias_relu_bf16(x, bias):
    return [np.maximum(x.T + bias, 0)]


def cross_entropy_bf16(logits, targets):
    greatest = logits.max(axis=-1)
    total = np.log(np.exp(logits - greatest[:, None]).sum(axis=-1)) + greatest
    return [total - logits[np.arange(len(targets)), targets]]
