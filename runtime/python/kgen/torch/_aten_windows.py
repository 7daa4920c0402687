"""What of ATen moves a window over its operand: convolutions and pooling."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

import sympy  # type: ignore[import-untyped, unused-ignore]
import torch
from torch.utils._sympy.functions import FloorDiv

from ._aten import RULES, Builder, aten, require
from ._graph import Dim, Operand, Value

# ---- convolutions --------------------------------------------------------------------------------------------------------


def _each(values: Any, count: int) -> List[int]:
    """One number for each axis."""
    listed = list(values) if isinstance(values, (list, tuple)) else [values]
    return listed * count if len(listed) == 1 else listed


def _convolve(b: Builder, out: Value, image: Value, filters: Value, bias: Optional[Value], stride: Sequence[int], pads: Sequence[int],
              dilation: Sequence[int], groups: int) -> Value:  # fmt: skip
    """Of an image [N, ..., C] and filters [..., C / group, O]; the result is PyTorch's, [N, O, ...]."""
    axes = image.rank - 2
    shape = [out.shape[0], *out.shape[2:], out.shape[1]]
    named: Dict[str, Any] = {"strides": list(stride), "pads": list(pads), "dilations": list(dilation)}
    if axes == 1:
        named = {"stride": stride[0], "pads": list(pads), "dilation": dilation[0]}
    result = b.emit(f"conv{axes}d", [image, filters], out.dtype, shape, **named, group=groups)
    if bias is not None:
        result = b.emit("add", [result, bias], out.dtype, shape)
    return b.transpose(result, [0, axes + 1, *range(1, axes + 1)])


def _batched(b: Builder, out: Value, x: Value, weight: Value) -> "tuple[Value, Value]":
    """The image and the result with an axis of batches, which one image may lack."""
    axes = weight.rank - 2
    require(axes in (1, 2, 3), f"convolution over {axes} axes")
    if x.rank == weight.rank:
        return x, out
    return b.reshape(x, (1, *x.shape)), Value(out.dtype, (1, *out.shape))


@aten("conv1d", "conv2d", "conv3d")
def _(b: Builder, out: Value, x: Value, weight: Value, bias: Optional[Value] = None, stride: Any = 1, padding: Any = 0,
      dilation: Any = 1, groups: int = 1) -> Value:  # fmt: skip
    x, whole = _batched(b, out, x, weight)
    axes = weight.rank - 2
    stride, dilation = _each(stride, axes), _each(dilation, axes)
    if isinstance(padding, str):
        spans = [dilation[i] * (int(weight.shape[2 + i]) - 1) if padding == "same" else 0 for i in range(axes)]
        pads = [*(span // 2 for span in spans), *(span - span // 2 for span in spans)]
    else:
        pads = _each(padding, axes) * 2
    image = b.transpose(x, [0, *range(2, x.rank), 1])
    filters = b.transpose(weight, [*range(2, x.rank), 1, 0])
    return b.reshape(_convolve(b, whole, image, filters, bias, stride, pads, dilation, groups), out.shape)


def _spread(b: Builder, image: Value, axis: int, stride: int) -> Value:
    """The image with stride - 1 zeros between its elements along an axis."""
    if stride == 1:
        return image
    extent = image.shape[axis]
    apart = b.reshape(image, (*image.shape[: axis + 1], 1, *image.shape[axis + 1 :]))
    pads = [0] * (2 * apart.rank)
    pads[apart.rank + axis + 1] = stride - 1
    shape = [*image.shape[: axis + 1], stride, *image.shape[axis + 1 :]]
    padded = b.emit("pad", [apart], image.dtype, shape, pads=pads, value=b.cast(0, image.dtype))
    joined = b.reshape(padded, [extent * stride if i == axis else size for i, size in enumerate(image.shape)])
    return b.slice(joined, axis, 0, extent * stride - (stride - 1))


@aten("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def _(b: Builder, out: Value, x: Value, weight: Value, bias: Optional[Value] = None, stride: Any = 1, padding: Any = 0,
      output_padding: Any = 0, groups: int = 1, dilation: Any = 1) -> Value:  # fmt: skip
    """The convolution of the image with zeros between its elements, by the filters turned round."""
    x, whole = _batched(b, out, x, weight)
    axes = weight.rank - 2
    stride, padding, more, dilation = (_each(one, axes) for one in (stride, padding, output_padding, dilation))
    kernel = [int(extent) for extent in weight.shape[2:]]
    image = b.transpose(x, [0, *range(2, x.rank), 1])
    front, back = [], []
    for i in range(axes):
        image = _spread(b, image, i + 1, stride[i])
        reach = (kernel[i] - 1) * dilation[i]
        front.append(reach - padding[i])
        back.append(reach - padding[i] + more[i])
        if front[i] < 0 or back[i] < 0:
            image = b.slice(image, i + 1, max(-front[i], 0), image.shape[i + 1] - max(-back[i], 0))
    pads = [max(pad, 0) for pad in front + back]
    inputs, outputs = int(weight.shape[0]), int(weight.shape[1])
    grouped = b.reshape(weight, (groups, inputs // groups, outputs, *kernel))
    turned = b.transpose(grouped, [*range(3, 3 + axes), 1, 0, 2])
    filters = b.reshape(turned, (*kernel, inputs // groups, groups * outputs))
    for axis in range(axes):
        filters = b.emit("flip", [filters], filters.dtype, filters.shape, axis=axis)
    return b.reshape(_convolve(b, whole, image, filters, bias, [1] * axes, pads, dilation, groups), out.shape)


@aten("convolution", "_convolution")
def _(b: Builder, out: Value, x: Value, weight: Value, bias: Optional[Value], stride: Any, padding: Any, dilation: Any,
      transposed: bool, output_padding: Any, groups: int, *_: Any) -> Value:  # fmt: skip
    if transposed:
        turned: Value = RULES["conv_transpose2d"](b, out, x, weight, bias, stride, padding, output_padding, groups, dilation)
        return turned
    plain: Value = RULES["conv2d"](b, out, x, weight, bias, stride, padding, dilation, groups)
    return plain


# ---- pooling -------------------------------------------------------------------------------------------------------------


def _window(x: Value, window: Any, stride: Any, padding: Any, dilation: Any, axes: int) -> Dict[str, List[int]]:
    front = [1] * (x.rank - axes)
    pads = [0] * (x.rank - axes) + _each(padding, axes)
    return {
        "window": front + _each(window, axes),
        "strides": front + (_each(stride, axes) if stride not in (None, []) else _each(window, axes)),
        "pads": pads + pads,
        "dilations": front + _each(dilation, axes),
    }


def _max_pool(axes: int) -> Any:
    def rule(b: Builder, out: Any, x: Value, window: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False) -> Any:  # fmt: skip
        named = {**_window(x, window, stride, padding, dilation, axes), "ceil_mode": ceil_mode}
        if not isinstance(out, tuple):
            return b.emit("max_pool", [x], x.dtype, out.shape, **named)
        if not b.wants(1):
            return b.emit("max_pool", [x], x.dtype, out[0].shape, **named), None
        # kgen numbers the elements of x, PyTorch those of a plane.
        types = [(x.dtype, out[0].shape), (torch.int64, out[1].shape)]
        values, indices = b.emit_many("max_pool_with_indices", [x], types, **named)
        plane: Dim = 1
        for extent in x.shape[x.rank - axes :]:
            plane = plane * extent
        size = plane if isinstance(plane, int) else b.emit("dim_value", [], torch.int64, (), dim=plane)
        return values, b.emit("mod", [indices, size], torch.int64, out[1].shape)

    return rule


def _average_pool(axes: int) -> Any:
    def rule(b: Builder, out: Value, x: Value, window: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor: Any = None) -> Value:  # fmt: skip
        named = {**_window(x, window, stride, padding, 1, axes), "ceil_mode": ceil_mode}
        if divisor is not None:
            total = b.emit("sum_pool", [x], x.dtype, out.shape, **named)
            return b.emit("div", [total, b.cast(divisor, x.dtype)], x.dtype, out.shape)
        return b.emit("average_pool", [x], x.dtype, out.shape, **named, count_include_pad=count_include_pad)

    return rule


for _axes in (1, 2, 3):
    for _name in (f"max_pool{_axes}d", f"max_pool{_axes}d_with_indices"):
        RULES[_name] = _max_pool(_axes)
    RULES[f"avg_pool{_axes}d"] = _average_pool(_axes)


def _ends(extent: Dim, wanted: int, place: int) -> Tuple[Dim, Dim]:
    """Where the window at this place of an axis that is pooled to so many elements begins and ends."""
    if isinstance(extent, int):
        return place * extent // wanted, -((place + 1) * extent // -wanted)
    begin = FloorDiv(place * extent, wanted) if place > 0 else 0
    return begin, FloorDiv((place + 1) * extent + wanted - 1, wanted) if place + 1 < wanted else extent


def _by_windows(b: Builder, op: str, x: Value, axis: int, wanted: int) -> Value:
    """Along one axis, over windows that differ in size, or whose sizes the run knows: a reduction of each."""
    one = tuple(1 if i == axis else size for i, size in enumerate(x.shape))
    parts: List[Operand] = []
    for place in range(wanted):
        part = b.slice(x, axis, *_ends(x.shape[axis], wanted, place)) if wanted > 1 else x
        parts.append(b.emit(op, [part], x.dtype, one, axes=[axis], keepdims=True))
    shape = tuple(wanted if i == axis else size for i, size in enumerate(x.shape))
    return b.emit("concat", parts, x.dtype, shape, axis=axis) if wanted > 1 else b.reshape(parts[0], shape)  # type: ignore[arg-type]


def _averaged(b: Builder, x: Value, axis: int, wanted: int) -> Value:
    """Along one axis, over windows that differ in size: a matrix product."""
    extent = x.shape[axis]
    if not isinstance(extent, int):
        return _by_windows(b, "mean", x, axis, wanted)
    shares = torch.zeros(extent, wanted, dtype=x.dtype)
    for place in range(wanted):
        begin, end = _ends(extent, wanted, place)
        shares[begin:end, place] = 1 / (end - begin)
    perm = [i for i in range(x.rank) if i != axis] + [axis]
    last = b.transpose(x, perm)
    pooled = b.emit("matmul", [last, b.constant(shares, "shares")], x.dtype, (*last.shape[:-1], wanted))
    return b.transpose(pooled, [perm.index(i) for i in range(x.rank)])


def _greatest(b: Builder, x: Value, axis: int, wanted: int) -> Value:
    return _by_windows(b, "max", x, axis, wanted)


def _adaptive(b: Builder, x: Value, size: Sequence[Dim], whole: str, pool: str, one_axis: Any) -> Value:
    """By `whole` to one element, by `pool` over windows of one size, and else axis by axis. An axis that keeps its extent is
    left alone."""
    require(0 not in size, "adaptive pooling to no element")
    axes = list(range(x.rank - len(size), x.rank))
    result = (*x.shape[: -len(size)], *size)
    if all(extent == 1 for extent in size):
        return b.emit(whole, [x], x.dtype, result, axes=axes, keepdims=True)
    ratios = [_ratio(x.shape[axis], wanted) for axis, wanted in zip(axes, size)]
    if all(ratio is not None for ratio in ratios):
        named = {**_window(x, ratios, ratios, 0, 1, len(axes)), "ceil_mode": False}
        extra = {"count_include_pad": True} if pool == "average_pool" else {}
        return b.emit(pool, [x], x.dtype, result, **named, **extra)
    for axis, ratio, wanted in zip(axes, ratios, size):
        if ratio == 1:
            continue
        what = f"adaptive pooling of the size {b.graph.text_of(x.shape[axis])} to {b.graph.text_of(wanted)}"
        require(isinstance(wanted, int), f"{what}, which is no fixed part of it")
        x = one_axis(b, x, axis, wanted)
    return x


def _ratio(extent: Dim, wanted: Dim) -> Optional[int]:
    """How many times as much, where that is a whole number that is known."""
    if isinstance(extent, int) and isinstance(wanted, int):
        return extent // wanted if wanted and extent % wanted == 0 else None
    ratio = sympy.simplify(sympy.sympify(extent) / wanted)
    return int(ratio) if ratio.is_Integer and ratio > 0 else None


@aten("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d")
def _(b: Builder, out: Value, x: Value, size: Sequence[Dim]) -> Value:
    return _adaptive(b, x, size, "mean", "average_pool", _averaged)


@aten("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def _(b: Builder, out: Any, x: Value, size: Sequence[Dim]) -> Any:
    require(not isinstance(out, tuple) or not b.wants(1), "the indices of adaptive_max_pool")
    result = _adaptive(b, x, size, "max", "max_pool", _greatest)
    return (result, None) if isinstance(out, tuple) else result
