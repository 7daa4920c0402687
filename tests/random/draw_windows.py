"""Draws windows over any axes of a tensor, and selections along an axis."""

from dims import Dim
from graph import Type
from scope import Scope
from specs import Operator


def windows(scope: Scope, op: Operator) -> None:
    """Over all axes of a tensor. Where strides are not 1 its extents are numbers, and the last window may be cut."""
    rank = scope.integer(1, 4)
    window, strides, dilations = ([scope.integer(1, most) for _ in range(rank)] for most in (3, 2, 2))
    pads = [scope.integer(0, 2) for _ in range(2 * rank)]
    ceil = scope.chance(0.3)
    extents = [Dim.of(scope.integer(6, 9)) if stride > 1 else scope.extent() for stride in strides]
    x = scope.need(Type(scope.dtype(op.types["T"]), tuple(extents)))
    type_, result = scope.type_of(x), []
    for axis, stride in enumerate(strides):
        span = extents[axis] + pads[axis] + pads[rank + axis] - (dilations[axis] * (window[axis] - 1) + 1)
        scope.require(0, span)
        if stride == 1:
            more = min(pads[rank + axis] - dilations[axis] * (window[axis] - 1), 0) if ceil else None
            result.append(span + 1 if more is None else extents[axis] + pads[axis] + more)
        else:
            last = extents[axis].constant + pads[axis] - 1
            result.append(Dim.of((min(span.constant + stride - 1, last) if ceil else span.constant) // stride + 1))
    attributes = {"window": window, "strides": strides, "pads": pads, "dilations": dilations, "ceil_mode": ceil}
    if "count_include_pad" in op.attributes and scope.chance(0.5):
        attributes["count_include_pad"] = scope.chance(0.5)
    if "storage_order" in op.attributes and scope.chance(0.5):
        attributes["storage_order"] = "column_major"
    if "p" in op.attributes and scope.chance(0.7):
        attributes["p"] = scope.one_of([1.0, 2.0, 3.0])
    types = [Type(type_.dtype if each.type == "T" else each.type, tuple(result)) for each in op.results]
    scope.add_node(op.name, [x], types, attributes)


def top_k(scope: Scope, op: Operator) -> None:
    x = scope.pick_or_make(op.types["T"], [1, 2, 2, 3, 4])
    type_ = scope.type_of(x)
    axis, count = scope.integer(0, len(type_.shape) - 1), scope.integer(0, 4)
    if scope.chance(0.2):  # all of them, which may be as many as the run says
        count = type_.shape[axis]
    scope.require(count, type_.shape[axis])
    shape = tuple(Dim.of(count) if i == axis else extent for i, extent in enumerate(type_.shape))
    attributes = {"k": count, "axis": axis, "largest": scope.chance(0.5)}
    scope.add_node(op.name, [x], [Type(type_.dtype, shape), Type("i64", shape)], attributes)
