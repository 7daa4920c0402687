"""Operators of signs, NaN and distances that are several of kgen's."""

from __future__ import annotations

import torch

from ._aten import RULES, Builder, aten, broadcast_shape, require, size_of
from ._graph import Operand, Value


@aten("sign", "sgn")
def _(b: Builder, out: Value, x: Value) -> Value:
    """NaN has the sign 0 here, and itself in graphs; -0 has 0."""
    if not x.dtype.is_floating_point:
        return x if x.dtype == torch.bool else b.emit("sign", [x], out.dtype, out.shape)
    sides = [b.emit(op, [x, 0.0], torch.bool, out.shape) for op in ("greater", "less")]
    return b.emit("sub", [b.tensor(side, out.dtype) for side in sides], out.dtype, out.shape)


def _is_negative(b: Builder, x: Value) -> Value:
    """Of -0 too, and not of NaN, whose sign means nothing."""
    below = b.emit("less", [x, b.cast(0, x.dtype)], torch.bool, x.shape)
    if not x.dtype.is_floating_point:
        return below
    inverse = b.emit("less", [b.emit("reciprocal", [x], x.dtype, x.shape), 0.0], torch.bool, x.shape)
    return b.emit("logical_or", [below, inverse], torch.bool, x.shape)


@aten("signbit")
def _(b: Builder, out: Value, x: Value) -> Value:
    return b.broadcast(b.tensor(False, torch.bool), out.shape) if x.dtype == torch.bool else _is_negative(b, x)


@aten("copysign")
def _(b: Builder, out: Value, x: Value, sign: Operand) -> Value:
    size = b.emit("abs", [b.cast(x, out.dtype)], out.dtype, x.shape)
    negative = b.emit("neg", [size], out.dtype, x.shape)
    return b.emit("where", [_is_negative(b, b.tensor(sign, out.dtype)), negative, size], out.dtype, out.shape)


def _of_numbers(op: str, b: Builder, out: Value, left: Value, right: Value) -> Value:
    """The greater or lesser one, where one is NaN the other."""
    if not out.dtype.is_floating_point:
        return b.emit(op, [b.tensor(left, out.dtype), b.tensor(right, out.dtype)], out.dtype, out.shape)
    sides = [b.tensor(left, out.dtype), b.tensor(right, out.dtype)]
    result = b.emit(op, sides, out.dtype, out.shape)
    for side, other in (sides, sides[::-1]):
        unknown = b.emit("isnan", [side], torch.bool, side.shape)
        result = b.emit("where", [unknown, other, result], out.dtype, out.shape)
    return result


@aten("fmax")
def _(b: Builder, out: Value, left: Value, right: Value) -> Value:
    return _of_numbers("maximum", b, out, left, right)


@aten("fmin")
def _(b: Builder, out: Value, left: Value, right: Value) -> Value:
    return _of_numbers("minimum", b, out, left, right)


@aten("dist")
def _(b: Builder, out: Value, left: Value, right: Value, p: float = 2) -> Value:
    require(p in (1, 2), "another distance than the sum of sizes or the root of squares")
    shape = broadcast_shape(left.shape, right.shape)
    apart = b.emit("sub", [b.tensor(left, out.dtype), b.tensor(right, out.dtype)], out.dtype, shape)
    part = b.emit("square" if p == 2 else "abs", [apart], out.dtype, shape)
    total = b.emit("sum", [part], out.dtype, (), axes=list(range(len(shape)))) if shape else part
    return b.emit("sqrt", [total], out.dtype, ()) if p == 2 else total


@aten("put")
def _(b: Builder, out: Value, x: Value, index: Value, source: Value, accumulate: bool = False) -> Value:
    flat = b.reshape(x, (size_of(x.shape),))
    places = b.reshape(index, (size_of(index.shape),))
    values = b.reshape(source, (size_of(source.shape),))
    return b.reshape(RULES["index_put"](b, flat, flat, [places], values, accumulate), out.shape)
