"""What attention of all kinds computes of values that are known within bounds."""

from typing import Any

import numpy as np

import references
import rules
from enclosure import Floats, Value, anything, is_finite
from number_formats import FLOATS
from references import ADD, DIV, MUL, SUB, number, number_as, one
from rules import Rule, bilinear


def attention(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    q, k, v, *others = operands
    mask = [each for each in others if each.dtype in FLOATS or each.dtype == "bool"]
    lengths = [each for each in others if each.dtype in ("i32", "i64")]
    if not all(is_finite(each).all() for each in (q, k, v)) or any(each.unknown.any() for each in lengths):
        return [anything(q.dtype, q.shape)]
    count = np.reshape(lengths[0].value if lengths else k.shape[1], (-1, 1, 1, 1)).clip(0, k.shape[1]).astype(np.int64)
    return [attention_of(q, k, v, at, count, *mask)]


def attention_of(q: Floats, k: Floats, v: Floats, at: dict[str, Any], count: np.ndarray, mask: Value | None = None,
                 hidden: Any = False) -> Floats:
    """Of sequences of `count` keys, [B, 1, 1, 1], of which no query sees the `hidden` ones; in windows too."""
    k, v = (each.map(lambda part: np.repeat(part, q.shape[2] // max(part.shape[2], 1), axis=2)) for each in (k, v))
    scores = one(MUL, bilinear(lambda x, y, _: np.einsum("bshe,bthe->bhst", x, y), q, k, at), number(q, at["scale"]))
    if at.get("soft_cap", 0) > 0:
        cap = number_as(q.dtype, at["soft_cap"])
        scores = one(MUL, one(references.OPERATORS["tanh"], one(DIV, scores, cap)), cap)
    if mask is not None:
        scores = one(ADD, scores, added(mask, q.dtype))
    queries, keys = scores.shape[-2:]
    ahead = np.arange(keys) - (np.arange(queries)[:, None] + count - queries)
    left, right = at.get("left", -1), 0 if at.get("causal") else at.get("right", -1)
    hidden = hidden | (np.arange(keys) >= count) | (ahead > right) & (right >= 0) | (-ahead > left) & (left >= 0)
    return attended(scores, v, np.broadcast_to(hidden, scores.shape))


def added(mask: Value, dtype: str) -> Floats:
    """What a mask adds to scores: one of truth values 0 or -inf."""
    if isinstance(mask, Floats):
        return Floats(dtype, *mask.parts())
    low, high = (np.where(counts, 0.0, -np.inf) for counts in (mask.value & ~mask.unknown, mask.value | mask.unknown))
    return Floats(dtype, low, high, np.zeros(mask.shape, bool))


def attended(scores: Floats, v: Floats, hidden: np.ndarray) -> Floats:
    """softmax(scores) v, where queries see no `hidden` keys; a query that sees nothing gives 0."""
    hidden = hidden | np.isneginf(scores.hi)
    scores = Floats(v.dtype, np.where(hidden, -np.inf, scores.lo), np.where(hidden, -np.inf, scores.hi),
                    np.where(hidden, False, scores.nan))
    maximum, total = references.softmax_statistics([scores], references.LAST)
    blind = np.isneginf(maximum.hi)
    maximum = Floats(v.dtype, np.where(blind, 0, maximum.lo), np.where(blind, 0, maximum.hi), maximum.nan)
    total = Floats(v.dtype, np.where(blind, 1, total.lo), np.where(blind, 1, total.hi), total.nan)
    weights = one(DIV, references.exponentials(one(SUB, scores, maximum)), total)
    weights = Floats(v.dtype, np.where(hidden, 0, weights.lo), np.where(hidden, 0, weights.hi), weights.nan)
    # A GPU that multiplies matrices of a narrow dtype rounds the weights to it.
    weights = rules.widened(weights, rules.magnitude(weights) * FLOATS[v.dtype].epsilon)
    return bilinear(lambda p, x, _: np.einsum("bhst,bthe->bshe", p, x), weights, v, {})


def window_attention(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    q, k, v, *mask = operands
    if not all(is_finite(each).all() for each in (q, k, v)):
        return [anything(q.dtype, (*q.shape[:3], v.shape[3]))]
    return [attention_of(q, k, v, at, np.full((1, 1, 1, 1), k.shape[1]), *mask)]


OPERATORS: dict[str, Rule] = {"attention": attention, "window_attention": window_attention,
                              "attention_value_width": window_attention}
