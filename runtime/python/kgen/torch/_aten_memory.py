"""A part of _aten.py: ATen's operators that move elements, find them, or make new tensors."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

import sympy  # type: ignore[import-untyped, unused-ignore]
import torch

from ._aten import RULES, Builder, aten, axes_of, axis_of, binary, refuse, require, size_of
from ._graph import Dim, Operand, Value

# ---- views ---------------------------------------------------------------------------------------------------------------


@aten("view.default", "reshape", "_unsafe_view", "flatten", "unflatten", "view_copy", "_reshape_alias", "squeeze", "unsqueeze",
      "squeeze_copy", "unsqueeze_copy")  # fmt: skip
def _(b: Builder, out: Value, x: Value, *_: Any) -> Value:
    return b.reshape(x, out.shape)


@aten("permute", "permute_copy")
def _(b: Builder, out: Value, x: Value, dims: Sequence[int]) -> Value:
    return b.transpose(x, [axis_of(dim, x.rank) for dim in dims])


@aten("transpose", "transpose_copy")
def _(b: Builder, out: Value, x: Value, first: int, second: int) -> Value:
    if not x.rank:
        return x
    perm = list(range(x.rank))
    first, second = axis_of(first, x.rank), axis_of(second, x.rank)
    perm[first], perm[second] = second, first
    return b.transpose(x, perm)


@aten("t", "numpy_T", "mT")
def _(b: Builder, out: Value, x: Value) -> Value:
    return b.transpose(x, list(range(x.rank))[::-1]) if x.rank == 2 else refuse("t of more than two axes") if x.rank > 2 else x


@aten("expand", "expand_copy", "broadcast_to")
def _(b: Builder, out: Value, x: Value, *_: Any, **__: Any) -> Value:
    return b.broadcast(x, out.shape)


@aten("repeat")
def _(b: Builder, out: Value, x: Value, repeats: Sequence[int]) -> Value:
    value = b.reshape(x, [1] * (len(repeats) - x.rank) + list(x.shape))
    for axis, times in enumerate(repeats):
        if times != 1:
            if not isinstance(times, int):  # beside an axis of its own, and joined with it
                apart = b.broadcast(b.reshape(value, (*value.shape[:axis], 1, *value.shape[axis:])), (*value.shape[:axis], times, *value.shape[axis:]))  # fmt: skip
                value = b.reshape(apart, (*value.shape[:axis], value.shape[axis] * times, *value.shape[axis + 1 :]))
                continue
            shape = [extent * times if i == axis else extent for i, extent in enumerate(value.shape)]
            value = b.emit("concat", [value] * times, x.dtype, shape, axis=axis)
    return value


@aten("slice.Tensor", "slice_copy")
def _(b: Builder, out: Value, x: Value, dim: int = 0, start: Optional[Dim] = None, end: Optional[Dim] = None, step: int = 1) -> Value:  # fmt: skip
    axis = axis_of(dim, x.rank)
    extent, kept = x.shape[axis], out.shape[axis]
    begin = _index(0 if start is None else start, extent)
    if isinstance(begin, int) and begin == 0 and kept == extent and step == 1:
        return x
    return b.slice(x, axis, begin, begin + kept if step == 1 else begin + (kept - 1) * step + 1, step)


def _index(index: Dim, extent: Dim) -> Dim:
    """From the front, and within the axis where both are known."""
    if isinstance(index, int) and index < 0:
        return extent + index if not isinstance(extent, int) else max(extent + index, 0)
    return min(index, extent) if isinstance(index, int) and isinstance(extent, int) else index


@aten("slice_scatter")
def _(b: Builder, out: Value, x: Value, source: Value, dim: int = 0, start: Optional[Dim] = None, end: Optional[Dim] = None, step: int = 1) -> Value:  # fmt: skip
    require(step == 1, "a step of slice_scatter")
    axis = axis_of(dim, x.rank)
    begin = _index(0 if start is None else start, x.shape[axis])
    if source.shape == x.shape:
        return b.tensor(source, x.dtype)
    return b.emit("index_update", [x, b.cast(source, x.dtype)], x.dtype, x.shape, axis=axis, begin=begin)


@aten("select_scatter")
def _(b: Builder, out: Value, x: Value, source: Value, dim: int, index: Dim) -> Value:
    axis = axis_of(dim, x.rank)
    row = b.reshape(b.tensor(source, x.dtype), [*source.shape[:axis], 1, *source.shape[axis:]])
    return b.emit("index_update", [x, row], x.dtype, x.shape, axis=axis, begin=_index(index, x.shape[axis]))


@aten("select.int", "select_copy")
def _(b: Builder, out: Value, x: Value, dim: int, index: Dim) -> Value:
    axis = axis_of(dim, x.rank)
    return b.emit("select", [x], x.dtype, out.shape, axis=axis, index=_index(index, x.shape[axis]))


@aten("cat", "concat")
def _(b: Builder, out: Value, parts: Sequence[Value], dim: int = 0) -> Value:
    axis = axis_of(dim, out.rank)
    kept = [b.tensor(part, out.dtype) for part in parts if part.rank == out.rank]
    return kept[0] if len(kept) == 1 else b.emit("concat", kept, out.dtype, out.shape, axis=axis)


@aten("stack")
def _(b: Builder, out: Value, parts: Sequence[Value], dim: int = 0) -> Value:
    axis = axis_of(dim, out.rank)
    rows = [b.reshape(b.tensor(part, out.dtype), [*part.shape[:axis], 1, *part.shape[axis:]]) for part in parts]
    return rows[0] if len(rows) == 1 else b.emit("concat", rows, out.dtype, out.shape, axis=axis)


@aten("split", "split_with_sizes", "chunk", "tensor_split", "split_copy", "split_with_sizes_copy")
def _(b: Builder, out: Tuple[Value, ...], x: Value, sizes: Any, dim: int = 0) -> Tuple[Value, ...]:
    axis = axis_of(dim, x.rank)
    results, begin = [], 0
    for part in out:
        end = begin + part.shape[axis]
        results.append(b.slice(x, axis, begin, end))
        begin = end
    return tuple(results)


@aten("unbind")
def _(b: Builder, out: Tuple[Value, ...], x: Value, dim: int = 0) -> Tuple[Value, ...]:
    axis = axis_of(dim, x.rank)
    return tuple(b.emit("select", [x], x.dtype, part.shape, axis=axis, index=i) for i, part in enumerate(out))


@aten("flip")
def _(b: Builder, out: Value, x: Value, dims: Sequence[int]) -> Value:
    for dim in dims:
        x = b.emit("flip", [x], x.dtype, x.shape, axis=axis_of(dim, x.rank))
    return x


@aten("roll")
def _(b: Builder, out: Value, x: Value, shifts: Sequence[int], dims: Sequence[int] = ()) -> Value:
    if not dims:
        flat = Value(x.dtype, (size_of(x.shape),))
        return b.reshape(RULES["roll"](b, flat, b.reshape(x, flat.shape), shifts, (0,)), x.shape)
    for shift, dim in zip(shifts, dims):
        axis = axis_of(dim, x.rank)
        extent = x.shape[axis]
        if not isinstance(extent, int):
            count = b.emit("iota", [], torch.int64, (extent,), count=extent)
            size = b.emit("dim_value", [], torch.int64, (), dim=extent)
            index = b.emit("mod", [b.emit("sub", [count, shift], torch.int64, (extent,)), size], torch.int64, (extent,))
            x = take(b, x, axis, index)
            continue
        at = extent - shift % extent if extent else 0
        if at != extent:
            parts = [b.slice(x, axis, at, extent), b.slice(x, axis, 0, at)]
            x = b.emit("concat", parts, x.dtype, x.shape, axis=axis)
    return x


@aten("constant_pad_nd", "pad")
def _(b: Builder, out: Value, x: Value, padding: Sequence[int], *rest: Any, mode: str = "constant") -> Value:
    value: Any = 0
    if rest and isinstance(rest[0], str):
        mode, value = {"replicate": "edge", "circular": "wrap"}.get(rest[0], rest[0]), (*rest, None)[1] or 0
    elif rest:
        value = rest[0]
    before, after = [0] * x.rank, [0] * x.rank
    for i in range(len(padding) // 2):
        before[x.rank - 1 - i], after[x.rank - 1 - i] = padding[2 * i], padding[2 * i + 1]
    for axis in range(x.rank):  # a negative one cuts off
        front, back = min(before[axis], 0), min(after[axis], 0)
        if front or back:
            x = b.slice(x, axis, -front, x.shape[axis] + back)
    pads = [max(pad, 0) for pad in before + after]
    extra = {"mode": mode} if mode != "constant" else {"value": b.cast(value, x.dtype)}
    return b.emit("pad", [x], x.dtype, out.shape, pads=pads, **extra) if any(pads) else x


for _name, _mode in (("reflection_pad", "reflect"), ("replication_pad", "edge")):
    for _axes in "123":
        RULES[f"{_name}{_axes}d"] = lambda b, out, x, padding, _rule=RULES["pad"], _mode=_mode: _rule(b, out, x, padding, mode=_mode)


@aten("as_strided", "as_strided_copy")
def _(b: Builder, out: Value, x: Value, shape: Sequence[Dim], strides: Sequence[int], begin: Optional[int] = None) -> Value:
    """Of memory that x fills, in whatever order of its axes: the elements in a line, by their numbers."""
    own = b.strides_of_first() or refuse("it reads memory that its operand does not fill")
    require(all(isinstance(each, int) for each in (*strides, begin or 0)), "as_strided by symbolic strides")
    order, dense = list(range(x.rank)), sympy.Integer(1)
    if all(isinstance(each, int) for each in own):
        order.sort(key=lambda axis: -own[axis])
    for axis in reversed(order):
        require(x.shape[axis] == 1 or sympy.expand(dense - own[axis]) == 0, "as_strided of memory with gaps")
        dense = dense * x.shape[axis]
    line = b.reshape(b.transpose(x, order), (size_of(x.shape),))
    index = b.reshape(b.tensor(begin or 0, torch.int64), [1] * len(shape))
    for axis, (extent, stride) in enumerate(zip(shape, strides)):
        if extent != 1 and stride != 0:
            steps = b.emit("iota", [], torch.int64, (extent,), count=extent, **({"step": stride} if stride != 1 else {}))
            steps = b.reshape(steps, [extent if i == axis else 1 for i in range(len(shape))])
            index = b.emit("add", [index, steps], torch.int64, [extent if i == axis else one for i, one in enumerate(index.shape)])
    return take(b, line, 0, b.broadcast(index, shape))


# ---- indexing and selection ----------------------------------------------------------------------------------------------


@aten("embedding")
def _(b: Builder, out: Value, weight: Value, indices: Value, *_: Any) -> Value:
    return b.emit("embedding", [indices, weight], out.dtype, out.shape)


def take(b: Builder, x: Value, axis: int, indices: Value) -> Value:
    """x[:, indices] along one axis, indices of any shape."""
    count = size_of(indices.shape)
    flat = b.reshape(indices, [count if i == axis else 1 for i in range(x.rank)])
    taken = [count if i == axis else extent for i, extent in enumerate(x.shape)]
    value = b.emit("gather", [x, flat], x.dtype, taken, axis=axis)
    return b.reshape(value, [*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]])


@aten("unfold", "unfold_copy")
def _(b: Builder, out: Value, x: Value, dim: int, size: int, step: int) -> Value:
    """Windows along an axis, whose elements are the last axis."""
    if not x.rank:
        return b.reshape(x, out.shape)
    axis = axis_of(dim, x.rank)
    count = out.shape[axis]
    if step == size:
        whole = b.slice(x, axis, 0, count * size) if x.shape[axis] != count * size else x
        windows = b.reshape(whole, (*x.shape[:axis], count, size, *x.shape[axis + 1 :]))
    else:
        begins = b.emit("iota", [], torch.int64, (count,), count=count, **({"step": step} if step != 1 else {}))
        within = b.emit("iota", [], torch.int64, (size,), count=size)
        index = b.emit("add", [b.reshape(begins, (count, 1)), b.reshape(within, (1, size))], torch.int64, (count, size))
        windows = take(b, x, axis, index)
    return b.transpose(windows, [*range(axis + 1), *range(axis + 2, windows.rank), axis + 1])


@aten("index_select")
def _(b: Builder, out: Value, x: Value, dim: int, indices: Value) -> Value:
    return take(b, x, axis_of(dim, x.rank), indices)


@aten("gather")
def _(b: Builder, out: Value, x: Value, dim: int, indices: Value, **_: Any) -> Value:
    axis = axis_of(dim, x.rank)
    for i, extent in enumerate(indices.shape):
        if i != axis and extent != x.shape[i]:
            x = b.slice(x, i, 0, extent)
    return b.emit("gather", [x, indices], x.dtype, out.shape, axis=axis)


@aten("scatter.src", "scatter.value", "scatter_add")
def _(b: Builder, out: Value, x: Value, dim: int, indices: Value, source: Operand, reduction: str = "none") -> Value:
    updates = b.tensor(source, x.dtype)
    if updates.shape != indices.shape and updates.rank:
        for i, extent in enumerate(indices.shape):
            if extent != updates.shape[i]:
                updates = b.slice(updates, i, 0, extent)
    elif not updates.rank:
        updates = b.broadcast(updates, indices.shape)
    return b.emit("scatter", [x, indices, updates], x.dtype, x.shape, axis=axis_of(dim, x.rank), reduction=reduction)


RULES["scatter_add"] = lambda b, out, *x, _rule=RULES["scatter_add"]: _rule(b, out, *x, reduction="add")


@aten("one_hot")
def _(b: Builder, out: Value, indices: Value, classes: int = -1) -> Value:
    require(classes > 0, "one_hot without the number of classes")
    return b.tensor(b.emit("one_hot", [indices], torch.bool, out.shape, depth=classes), out.dtype)


@aten("argmax", "argmin")
def _(b: Builder, out: Value, x: Value, dim: Optional[int] = None, keepdim: bool = False, op: str = "argmax") -> Value:
    extra = {"keepdims": True} if keepdim else {}
    return b.emit(op, [x], torch.int64, out.shape, axes=axes_of(dim, x.rank), **extra)


RULES["argmin"] = lambda b, out, *x, _rule=RULES["argmax"], **k: _rule(b, out, *x, **k, op="argmin")


@aten("max", "min")
def _(b: Builder, out: Any, x: Value, dim: Any = None, keepdim: bool = False, op: str = "max") -> Any:
    if isinstance(dim, Value):
        return binary({"max": "maximum", "min": "minimum"}[op])(b, out, x, dim)
    extra: Dict[str, Any] = {"axes": axes_of(dim, x.rank), **({"keepdims": True} if keepdim else {})}
    if not isinstance(out, tuple):
        return b.emit(op, [x], x.dtype, out.shape, **extra)
    return b.emit(op, [x], x.dtype, out[0].shape, **extra), b.emit("arg" + op, [x], torch.int64, out[1].shape, **extra)


RULES["min"] = lambda b, out, *x, _rule=RULES["max"], **k: _rule(b, out, *x, **k, op="min")


@aten("topk")
def _(b: Builder, out: Tuple[Value, ...], x: Value, k: int, dim: int = -1, largest: bool = True, *_: Any) -> Any:
    types = [(x.dtype, out[0].shape), (torch.int64, out[1].shape)]
    return tuple(b.emit_many("top_k", [x], types, k=k, axis=axis_of(dim, x.rank), largest=largest))


@aten("sort")
def _(b: Builder, out: Tuple[Value, ...], x: Value, dim: int = -1, descending: bool = False, **_: Any) -> Any:
    extra = {"axis": axis_of(dim, x.rank), "descending": descending}
    return b.emit("sort", [x], x.dtype, x.shape, **extra), b.emit("argsort", [x], torch.int64, x.shape, **extra)


@aten("cumsum", "cumprod")
def _(b: Builder, out: Value, x: Value, dim: int, op: str = "cumsum", **_: Any) -> Value:
    return b.emit(op, [b.cast(x, out.dtype)], out.dtype, out.shape, axis=axis_of(dim, max(x.rank, 1)))


RULES["cumprod"] = lambda b, out, *x, _rule=RULES["cumsum"], **k: _rule(b, out, *x, op="cumprod")


@aten("tril", "triu")
def _(b: Builder, out: Value, x: Value, diagonal: int = 0, upper: bool = False) -> Value:
    return b.emit("trilu", [x], x.dtype, x.shape, diagonal=diagonal, upper=upper)


@aten("argsort")
def _(b: Builder, out: Value, x: Value, dim: int = -1, descending: bool = False, **_: Any) -> Value:
    return b.emit("argsort", [x], torch.int64, x.shape, axis=axis_of(dim, x.rank), descending=descending)


RULES["triu"] = lambda b, out, *x, _rule=RULES["tril"], **k: _rule(b, out, *x, **k, upper=True)


@aten("var")
def _(b: Builder, out: Value, x: Value, dim: Any = None, unbiased: Any = None, keepdim: bool = False, correction: Any = 1) -> Value:  # fmt: skip
    correction = correction if unbiased is None else int(unbiased)
    axes = axes_of(dim, x.rank)
    extra = {"keepdims": True} if keepdim else {}
    value = b.emit("variance", [x], x.dtype, out.shape, axes=axes, **extra)
    count = size_of([x.shape[axis] for axis in axes])
    if not correction:
        return value
    if not isinstance(count, int):
        number = b.tensor(b.emit("dim_value", [], torch.int64, (), dim=count), x.dtype)
        less = b.emit("maximum", [b.emit("sub", [number, float(correction)], x.dtype, ()), 0.0], x.dtype, ())
        return b.emit("mul", [value, b.emit("div", [number, less], x.dtype, ())], x.dtype, out.shape)
    return b.emit("mul", [value, count / max(count - float(correction), 0.0) if count > correction else float("nan")], x.dtype, out.shape)


# ---- new tensors ---------------------------------------------------------------------------------------------------------


@aten("full", "zeros", "ones", "full_like", "zeros_like", "ones_like", "new_zeros", "new_ones", "new_full", "scalar_tensor",
      "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted", "fill")  # fmt: skip
def _(b: Builder, out: Value, *arguments: Any, number: Any = None, **_: Any) -> Value:
    number = arguments[-1] if number is None else number
    if isinstance(number, (Value, sympy.Expr)):
        return b.broadcast(b.tensor(number, out.dtype), out.shape)
    return b.broadcast(b.constant(torch.tensor(number, dtype=out.dtype), "number"), out.shape)


for _name in ("zeros", "zeros_like", "new_zeros", "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided",
              "empty_permuted", "ones", "ones_like", "new_ones"):  # fmt: skip
    RULES[_name] = lambda b, out, *x, _rule=RULES["full"], _number=int("ones" in _name), **k: _rule(b, out, number=_number)


@aten("arange")
def _(b: Builder, out: Value, *arguments: Any, **_: Any) -> Value:
    begin, _end, step = {1: (0, arguments[0], 1), 2: (*arguments, 1), 3: arguments}[len(arguments)]
    count = out.shape[0]
    whole = isinstance(begin, int) and isinstance(step, int)
    extra = {name: number for name, number, usual in (("start", begin, 0), ("step", step, 1)) if whole and number != usual}
    places = b.emit("iota", [], torch.int64, (count,), count=count, **extra)
    if whole:
        return b.tensor(places, out.dtype)
    wide = out.dtype if out.dtype.is_floating_point else torch.int64
    value = b.tensor(places, wide)
    if step != 1:
        require(isinstance(step, (int, float)), "arange by a symbolic step")
        value = b.emit("mul", [value, b.cast(step, wide)], wide, (count,))
    if isinstance(begin, (int, float)):
        first: Operand = b.cast(begin, wide)
    else:
        first = b.tensor(b.emit("dim_value", [], torch.int64, (), dim=begin), wide)
    return b.tensor(b.emit("add", [value, first], wide, (count,)), out.dtype)


@aten("copy.default")
def _(b: Builder, out: Value, x: Value, source: Value, *_: Any) -> Value:
    return b.broadcast(b.tensor(source, x.dtype), x.shape)
