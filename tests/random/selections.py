"""What operators of sizes, of positions and of results whose size the data says compute, of values that are known within bounds."""

from typing import Any

import numpy as np

import number_formats
import references
from enclosure import Exact, Floats, Value, anything
from references import SUM, number_as, one
from rules import Rule, bilinear
from windows import sum_pool


def certain(x: Value) -> np.ndarray:
    return ~x.unknown if isinstance(x, Exact) else x.exact | np.isnan(x.lo) & np.isnan(x.hi)


def known(values: np.ndarray, is_known: bool = True) -> Exact:
    return Exact("i64", np.asarray(values, np.int64), np.full(np.shape(values), not is_known))


def scalar(value: int) -> Exact:
    return known(np.asarray(value))


# ---- sizes and counts ------------------------------------------------------------------------------------------------


def iota(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    return [known(at["start"] + np.arange(at["count"], dtype=np.int64) * at["step"])]


def dim_value(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    return [scalar(at["dim"])]


def bincount(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    (x,), bins = operands, at["bins"]
    inside = [each for each in x.value.ravel().tolist() if 0 <= each < bins]
    return [known(np.bincount(np.asarray(inside, np.int64), minlength=bins), not x.unknown.any())]


def diagonal(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    return [operands[0].map(lambda part: np.diagonal(part, axis1=-2, axis2=-1))]


# ---- results with a count --------------------------------------------------------------------------------------------


def padded(lines: np.ndarray, count: int, axis: int = 0) -> np.ndarray:
    """Zeros behind, so that there are `count` lines."""
    widths = [(0, 0)] * lines.ndim
    widths[axis] = (0, count - lines.shape[axis])
    return np.pad(lines, widths)


def nonzero(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    (x,) = operands
    value = x.value if isinstance(x, Exact) else x.lo
    sure = certain(x) if isinstance(x, Exact) else certain(x) | ((x.lo > 0) | (x.hi < 0)) & ~x.nan
    places = np.argwhere(value != 0).T
    is_known = bool(sure.all())
    return [known(padded(places, value.size, axis=1), is_known), known(np.asarray(places.shape[1]), is_known)]


def compress(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    x, condition = operands
    axis, lines = at["axis"] % len(x.shape), np.flatnonzero(condition.value)
    if condition.unknown.any():
        shape = [len(condition.value) if i == axis else extent for i, extent in enumerate(x.shape)]
        return [anything(x.dtype, tuple(shape)), known(np.asarray(0), False)]
    out = x.map(lambda part: padded(np.take(part, lines, axis), len(condition.value), axis))
    return [out, scalar(len(lines))]


def unique_rows(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    (x,) = operands
    total, is_known = x.shape[0], bool(certain(x).all())
    rows = x.value if isinstance(x, Exact) else x.lo
    order = np.lexsort(tuple(rows[:, column] for column in reversed(range(rows.shape[1]))))
    rows = rows[order]
    differs = (rows[1:] != rows[:-1]) & ~((rows[1:] != rows[1:]) & (rows[:-1] != rows[:-1]))
    first = np.concatenate([np.ones(min(total, 1), bool), differs.any(axis=1)])
    starts = np.flatnonzero(first)
    inverse = np.zeros(total, np.int64)
    inverse[order] = np.cumsum(first) - 1
    out, indices, counts = rows[starts], order[starts], np.diff(np.append(starts, total))
    if not at["sorted"]:
        turn = np.argsort(indices)
        out, indices, counts = out[turn], indices[turn], counts[turn]
        inverse = np.argsort(turn)[inverse]
    shown = anything(x.dtype, x.shape)
    if is_known:
        out = padded(out, total)
        parts = [out, np.zeros(out.shape, bool)] if isinstance(x, Exact) else [out, out, np.isnan(out)]
        shown = type(x)(x.dtype, *parts)
    return [shown, known(padded(indices, total), is_known), known(inverse, is_known), known(padded(counts, total), is_known),
            known(np.asarray(len(starts)), is_known)]


def unique(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    column = operands[0].map(lambda part: part.reshape(-1, 1))
    out, *others = unique_rows([column], at)
    return [out.map(lambda part: part[:, 0]), *others]


# ---- composites ------------------------------------------------------------------------------------------------------


def einsum(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    equation = at["equation"]
    if len(operands) == 2:
        return [bilinear(lambda a, b, _: np.einsum(equation, a, b), *operands, {})]
    # of one operand: its axes in another order, or a diagonal, and sums of those that the result lacks
    (x,), (read, made) = operands, equation.split("->")
    letters = "".join(dict.fromkeys(read))
    shown = x.map(lambda part: np.einsum(f"{read}->{letters}", part.astype(np.float64)).astype(part.dtype))
    summed = [axis for axis, letter in enumerate(letters) if letter not in made]
    left = "".join(letter for letter in letters if letter in made)
    result = one(SUM, shown, axes=summed, keepdims=False) if summed else shown
    return [result.map(lambda part: part.transpose([left.index(letter) for letter in made]))]


def lp_pool(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    (x,) = operands
    power = lambda base, exponent: one(references.OPERATORS["pow"], base, number_as(x.dtype, exponent))  # noqa: E731
    (total,) = sum_pool([power(one(references.OPERATORS["abs"], x), at["p"])], at)
    return [power(total, 1 / at["p"])]


def bitcast(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    """Of integers alone: what is known within bounds has no bits that are known (tests/conformance/type_models.py)."""
    (x,) = operands
    return [Exact(at["to"], x.value.view(number_formats.storage_dtype(at["to"])), x.unknown)]


OPERATORS: dict[str, Rule] = {
    "bitcast": bitcast,
    "bit_copy": bitcast,
    "iota": iota,
    "dim_value": dim_value,
    "bincount": bincount,
    "diagonal": diagonal,
    "nonzero": nonzero,
    "true_indices": nonzero,
    "compress": compress,
    "unique": unique,
    "unique_rows": unique_rows,
    "einsum": einsum,
    "lp_pool": lp_pool,
}
