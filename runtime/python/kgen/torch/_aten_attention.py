"""What of ATen is attention."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import torch

from ._aten import RULES, Builder, aten, require, size_of
from ._graph import Dim, Operand, Value


def _seen(b: Builder, q: Value, k: Value) -> Value:
    """Which keys a query of PyTorch's is_causal sees: query s keys 0 to s, however many keys there are."""
    ones = b.broadcast(b.constant(torch.ones((), dtype=torch.bool), "seen"), (q.shape[-2], k.shape[-2]))
    return b.emit("trilu", [ones], torch.bool, ones.shape, diagonal=0, upper=False)


def _before_repeat(b: Builder, x: Value) -> Optional[Value]:
    """[B, G, L, E] where x is that with each of its heads several times, as models have it that share them: attention does."""
    joined = b.source(x, "reshape")
    repeated = b.source(joined[0], "broadcast_to") if joined else None
    apart = b.source(repeated[0], "reshape") if repeated else None
    if not joined or not repeated or not apart or joined[0].rank != 5 or x.rank != 4:
        return None
    batch, groups, one, length, width = repeated[0].shape
    times = joined[0].shape[2]
    if (
        one != 1
        or joined[0].shape != (batch, groups, times, length, width)
        or x.shape != (batch, groups * times, length, width)
    ):
        return None
    return b.reshape(repeated[0], (batch, groups, length, width))


def _before_repeats(b: Builder, k: Value, v: Value) -> Tuple[Value, Value]:
    keys, values = _before_repeat(b, k), _before_repeat(b, v)
    return (k, v) if keys is None or values is None or keys.shape[:-1] != values.shape[:-1] else (keys, values)


def _spelt(b: Builder, out: Value, q: Value, k: Value, v: Value, mask: Optional[Value], scale: Operand) -> Value:
    """In matrix products, of dtypes that the operator `attention` does not take."""
    batch, heads, (length, width), (count, values) = q.shape[:-3], q.shape[-3], q.shape[-2:], v.shape[-2:]
    groups = k.shape[-3]
    if groups != heads:  # a head of keys for several of queries
        require(isinstance(heads, int) and isinstance(groups, int), "attention of a symbolic number of heads")
        times = heads // groups
        q = b.reshape(q, (*batch, groups, times, length, width))
        k, v = (b.reshape(x, (*batch, groups, 1, *x.shape[-2:])) for x in (k, v))
        mask = mask if mask is None else b.reshape(mask, (*batch, groups, times, length, count))
    turned = b.transpose(k, [*range(k.rank - 2), k.rank - 1, k.rank - 2])
    shape = (*q.shape[:-1], count)
    scores = b.emit("mul", [b.emit("matmul", [q, turned], q.dtype, shape), scale], q.dtype, shape)
    if mask is not None and mask.dtype == torch.bool:
        scores = b.emit("where", [mask, scores, float("-inf")], q.dtype, shape)
    elif mask is not None:
        scores = b.emit("add", [scores, b.tensor(mask, q.dtype)], q.dtype, shape)
    weights = b.emit("softmax" if mask is None else "safe_softmax", [scores], q.dtype, shape, axis=q.rank - 1)
    return b.reshape(b.emit("matmul", [weights, v], q.dtype, (*q.shape[:-1], values)), out.shape)


@aten("scaled_dot_product_attention")
def _(b: Builder, out: Value, q: Value, k: Value, v: Value, mask: Optional[Value] = None, dropout_p: float = 0,
      is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False) -> Value:  # fmt: skip
    require(not dropout_p, "dropout in attention")
    require(mask is None or not is_causal, "attention that is causal and has a mask")
    front: Tuple[Dim, ...] = out.shape[:-3] if out.rank > 3 else ()

    def with_heads(x: Value) -> Value:  # [..., H, L, E], of one batch axis
        heads = x.shape[-3] if x.rank > 2 else 1
        return b.reshape(
            b.broadcast(x, (*front, *x.shape[-3:])) if x.rank > 3 else x, (size_of(front), heads, *x.shape[-2:])
        )

    is_whole = is_causal and q.shape[-2] == k.shape[-2]
    is_spelt = q.dtype == torch.float64
    if is_causal and (is_spelt or not is_whole):
        mask = _seen(b, q, k)
    if mask is not None:
        mask = with_heads(b.broadcast(mask, (*out.shape[:-1], k.shape[-2])))
    k, v = _before_repeats(b, k, v)
    q, k, v = (with_heads(x) for x in (q, k, v))
    if is_spelt:
        return _spelt(b, out, q, k, v, mask, float(q.shape[-1]) ** -0.5 if scale is None else float(scale))
    operands: List[Operand] = [b.transpose(x, [0, 2, 1, 3]) for x in (q, k, v)]
    named: Dict[str, Any] = {} if scale is None else {"scale": float(scale)}
    if mask is not None:
        operands.append(mask)
    is_plain = q.shape[-1] == v.shape[-1]
    if is_whole:
        named.update({"causal": True} if is_plain else {"right": 0})
    batch, heads, length, _ = q.shape
    op = "attention" if is_plain else "attention_value_width"
    result = b.emit(op, operands, out.dtype, (batch, length, heads, v.shape[-1]), **named)
    return b.reshape(b.transpose(result, [0, 2, 1, 3]), out.shape)


def _with_statistics(b: Builder, out: Any, *rest: Any, **named: Any) -> Any:
    require(not any(b.wants(i) for i in range(1, len(out))), "results of attention beside the first")
    result = RULES["scaled_dot_product_attention"](b, out[0], *rest, **named)
    return (result, *[None] * (len(out) - 1))


@aten("_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention")
def _(b: Builder, out: Any, q: Value, k: Value, v: Value, dropout_p: float = 0, is_causal: bool = False, _debug: bool = False, *,
      attn_mask: Optional[Value] = None, scale: Optional[float] = None) -> Any:  # fmt: skip
    return _with_statistics(b, out, q, k, v, attn_mask, dropout_p, is_causal, scale=scale)


@aten("_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention")
def _(b: Builder, out: Any, q: Value, k: Value, v: Value, bias: Optional[Value], _sums: bool, dropout_p: float = 0, is_causal: bool = False, _debug: bool = False, *, scale: Optional[float] = None) -> Any:  # fmt: skip
    return _with_statistics(b, out, q, k, v, bias, dropout_p, is_causal, scale=scale)
