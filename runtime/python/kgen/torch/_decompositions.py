"""What torch.compile is to write as other operators before the backend sees it."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Tuple

import torch
import torch.nn.functional as F

from ._aten import rule_of
from ._convert import name_of


def decompositions() -> Dict[Any, Callable[..., Any]]:
    """PyTorch's own for operators that have no rule, and for the layers that its eager mode computes in one, as it does in
    inference."""
    core: Any = torch._decomp.core_aten_decompositions()
    table = {op: rule for op, rule in core.items() if rule_of(name_of(op)) is None}
    table[torch.ops.aten._transformer_encoder_layer_fwd.default] = _encoder_layer
    table[torch.ops.aten._native_multi_head_attention.default] = _multi_head_attention
    return table


def _encoder_layer(
    x: Any, width: int, heads: int, qkv: Any, qkv_bias: Any, projection: Any, projection_bias: Any, is_gelu: bool, norm_first: bool,
    eps: float, norm_1: Any, norm_bias_1: Any, norm_2: Any, norm_bias_2: Any, up: Any, up_bias: Any, down: Any, down_bias: Any,
    mask: Any = None, mask_type: Optional[int] = None,
) -> Any:  # fmt: skip
    """torch.nn.TransformerEncoderLayer: residuals about attention and two products, each normalised before or after."""

    def attention(h: Any) -> Any:
        return _multi_head_attention(h, h, h, width, heads, qkv, qkv_bias, projection, projection_bias, mask, False, True, mask_type)[0]

    def products(h: Any) -> Any:
        between = F.linear(h, up, up_bias)
        return F.linear(F.gelu(between) if is_gelu else F.relu(between), down, down_bias)

    for part, norm, bias in ((attention, norm_1, norm_bias_1), (products, norm_2, norm_bias_2)):
        if norm_first:
            x = x + part(F.layer_norm(x, (width,), norm, bias, eps))
        else:
            x = F.layer_norm(x + part(x), (width,), norm, bias, eps)
    return x


def _multi_head_attention(
    query: Any, key: Any, value: Any, width: int, heads: int, qkv: Any, qkv_bias: Any, projection: Any, projection_bias: Any,
    mask: Any = None, needs_weights: bool = True, is_mean: bool = True, mask_type: Optional[int] = None,
) -> Tuple[Any, Any]:  # fmt: skip
    """The result, and the weights of each pair of places; these are empty where they are not wanted."""
    sides = []
    for given, matrix, bias in zip((query, key, value), qkv.chunk(3), qkv_bias.chunk(3)):
        projected = F.linear(given, matrix, bias)
        sides.append(projected.view(*projected.shape[:2], heads, width // heads).transpose(1, 2))
    seen, (q, k, v) = _seen(mask, mask_type), sides
    if needs_weights:
        scores = q @ k.transpose(-2, -1) * (width // heads) ** -0.5
        weights = (scores if seen is None else scores.masked_fill(~seen, float("-inf"))).softmax(-1)
        result = weights @ v
        weights = weights.mean(1) if is_mean else weights
    else:
        result, weights = F.scaled_dot_product_attention(q, k, v, attn_mask=seen), query.new_empty(0)
    return F.linear(result.transpose(1, 2).flatten(2), projection, projection_bias), weights


def _seen(mask: Any, mask_type: Optional[int]) -> Any:
    """Which keys a query sees, broadcast over [batch, heads, queries, keys]. PyTorch's masks hide what is not 0; their types are 0, of
    queries and keys, 1, of batch and keys, and 2, of all."""
    if mask is None:
        return None
    seen = mask == 0
    return seen[:, None, None, :] if mask_type == 1 else seen
