"""What windows over any axes of a tensor, and selections along an axis, compute of values that are known within bounds."""

from typing import Any

import numpy as np

import rules
from enclosure import Exact, Floats, Value, anything
from references import DIV, SUM, number_as, one
from rules import Rule


def windows_along(x: np.ndarray, outside: float, at: dict[str, Any]) -> np.ndarray:
    """The windows' positions, and as a last axis the elements of each: `outside` where it reaches beyond x."""
    rank, widths, positions, reaches = x.ndim, [], [], []
    for axis, n in enumerate(x.shape):
        before, behind, stride = at["pads"][axis], at["pads"][rank + axis], at["strides"][axis]
        reach = at["dilations"][axis] * (at["window"][axis] - 1) + 1
        count = (n + before + behind - reach) // stride + 1
        if at["ceil_mode"]:
            count = min(-(-(n + before + behind - reach) // stride) + 1, (n + before - 1) // stride + 1)
        widths.append((before, behind + max((count - 1) * stride + reach - n - before - behind, 0)))
        positions.append(count)
        reaches.append(reach)
    if 0 in positions:
        return np.zeros((*positions, int(np.prod(at["window"]))), x.dtype)
    seen = np.lib.stride_tricks.sliding_window_view(np.pad(x, widths, constant_values=outside), reaches)
    seen = seen[tuple(slice(None, None, step) for step in [*at["strides"], *at["dilations"]])]
    return seen[tuple(slice(count) for count in positions)].reshape(*positions, -1)


def in_windows(x: Value, outside: float, at: dict[str, Any]) -> Value:
    fill = number_as(x.dtype, outside)
    return type(x)(x.dtype, *(windows_along(part, beyond.item(), at) for part, beyond in zip(x.parts(), fill.parts())))


def least_of(x: Value) -> float:
    return -np.inf if isinstance(x, Floats) else np.iinfo(x.value.dtype).min


def max_pool(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    return rules.extreme(1)(in_windows(operands[0], least_of(operands[0]), at))


def max_pool_with_indices(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    """The index is known where all that the window sees is."""
    (x,) = operands
    numbers = np.arange(np.prod(x.shape, dtype=np.int64)).reshape(x.shape)
    if at["storage_order"] == "column_major" and numbers.ndim > 2:
        turned = (*x.shape[:2], *x.shape[:1:-1])
        numbers = numbers.reshape(turned).transpose(0, 1, *range(numbers.ndim - 1, 1, -1))
    seen, number = in_windows(x, least_of(x), at), windows_along(numbers, -1, at)
    value = seen.value if isinstance(seen, Exact) else seen.lo
    certain = ~seen.unknown if isinstance(seen, Exact) else seen.exact | np.isnan(seen.lo) & np.isnan(seen.hi)
    # The first that is greatest (NaN before all others) of those that are in x.
    best = value.max(axis=-1, keepdims=True, initial=least_of(x))
    is_it = (number >= 0) & (np.isnan(value) if isinstance(seen, Floats) else False)
    is_it = np.where(is_it.any(axis=-1, keepdims=True), is_it, (number >= 0) & (value == best))
    first = np.take_along_axis(number, is_it.argmax(axis=-1)[..., None], -1)[..., 0]
    place = np.where(is_it.any(axis=-1), first, -1)
    return [*max_pool(operands, at), Exact("i64", place, ~(certain | (number < 0)).all(axis=-1))]


def sum_pool(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    return [one(SUM, in_windows(operands[0], 0, at), axes=[-1], keepdims=False)]


def average_pool(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    (x,) = operands
    rank, seen = len(x.shape), np.ones(x.shape)
    if at["count_include_pad"]:
        pads = at["pads"]
        seen = np.pad(seen, list(zip(pads[:rank], pads[rank:])), constant_values=1)
        count = windows_along(seen, 0, at | {"pads": [0] * 2 * rank})
    else:
        count = windows_along(seen, 0, at)
    (total,) = sum_pool(operands, at)
    # Of the padded tensor more windows begin before the end.
    count = count.sum(axis=-1)[tuple(map(slice, total.shape))]
    return [one(DIV, total, Floats(x.dtype, count, count, np.zeros(count.shape, bool)))]


def top_k(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    """Lines are known where all of their elements are."""
    (x,) = operands
    line = x.map(lambda part: np.moveaxis(part, at["axis"], -1))
    count = line.shape[-1]
    value = line.value if isinstance(line, Exact) else line.lo
    certain = ~line.unknown if isinstance(line, Exact) else line.exact | np.isnan(line.lo) & np.isnan(line.hi)
    order = np.argsort(np.flip(value, -1) if at["largest"] else value, axis=-1, kind="stable")
    if at["largest"]:
        order = np.flip(count - 1 - order, -1)
    order = order[..., : at["k"]]
    unknown = np.broadcast_to(~certain.all(axis=-1, keepdims=True), order.shape)
    chosen, wide = line.map(lambda part: np.take_along_axis(part, order, -1)), anything(x.dtype, order.shape)
    parts = [np.where(unknown, loose, known) for loose, known in zip(wide.parts(), chosen.parts())]
    values, indices = type(x)(x.dtype, *parts), Exact("i64", order.astype(np.int64), unknown)
    return [each.map(lambda part: np.moveaxis(part, -1, at["axis"])) for each in (values, indices)]


def sorted_by(result: int) -> Rule:
    """All of each line: its values (0) or their places (1)."""

    def rule(operands: list[Value], at: dict[str, Any]) -> list[Value]:
        whole = {"k": operands[0].shape[at["axis"]], "axis": at["axis"], "largest": at["descending"]}
        return [top_k(operands, whole)[result]]

    return rule


OPERATORS: dict[str, Rule] = {
    "max_pool": max_pool,
    "max_pool_with_indices": max_pool_with_indices,
    "sum_pool": sum_pool,
    "average_pool": average_pool,
    "top_k": top_k,
    "sort": sorted_by(0),
    "argsort": sorted_by(1),
}
