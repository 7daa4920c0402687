"""Draws images as PyTorch has them, channels first, between convolutions: sums, pools, joins, slices and statistics of
them. Planners choose in which order their axes lie; by chance few such chains would be drawn."""

from dims import Dim, Shape
from draw_convolutions import filters_of
from draw_heads import elementwise
from graph import Type
from scope import NotPossible, Scope


def draw_images(scope: Scope) -> None:
    x = scope.need(Type(scope.dtype(["f32", "f32", "f64", "bf16"]), image(scope)))
    if scope.chance(0.7):
        x = convolved(scope, x)
    earlier = [x]
    for _ in range(scope.integer(1, 4)):
        link = scope.one_of([changed, changed, added, added, pooled, joined, sliced, padded, weighted, resized])
        x = link(scope, x, earlier)
        earlier.append(x)
        if scope.chance(0.3):
            x = convolved(scope, x)
            earlier.append(x)
    for _ in range(scope.integer(1, 2)):
        convolved(scope, x)
    if scope.chance(0.3):
        reduced(scope, x, scope.one_of([[2, 3], [1], [0, 2]]), keepdims=scope.chance(0.5))


def image(scope: Scope) -> Shape:
    return (Dim.of(scope.integer(1, 2)), Dim.of(scope.one_of([1, 3, 4, 8, 17])), scope.extent(), scope.extent())


def convolved(scope: Scope, x: str) -> str:
    type_ = scope.type_of(x)
    batch, channels, *extents = type_.shape
    group = channels.constant if scope.chance(0.25) else 1
    filters = Dim.of(group if group > 1 else scope.one_of([1, 5, 8, 16]))
    taps, pads, result = [scope.integer(1, 3) for _ in extents], [scope.integer(0, 1) for _ in range(4)], []
    for axis, extent in enumerate(extents):
        span = extent + pads[axis] + pads[2 + axis] - taps[axis]
        scope.require(0, span)
        result.append(span + 1)
    weights = filters_of(scope, Type(type_.dtype, (filters, Dim.of(channels.constant // group), *map(Dim.of, taps))))
    attributes = {"strides": [1, 1], "pads": pads, "dilations": [1, 1], "group": group}
    return scope.add_node("conv2d_nchw", [x, weights], [Type(type_.dtype, (batch, filters, *result))], attributes)[0]


def changed(scope: Scope, x: str, _earlier: list[str]) -> str:
    return elementwise(scope, x)


def added(scope: Scope, x: str, earlier: list[str]) -> str:
    """What was there before, or something new."""
    type_ = scope.type_of(x)
    others = [each for each in earlier if scope.type_of(each) == type_]
    other = scope.one_of(others) if others and scope.chance(0.7) else scope.need(type_)
    return scope.add_node(scope.one_of(["add", "mul"]), [x, other], [type_])[0]


def pooled(scope: Scope, x: str, _earlier: list[str]) -> str:
    type_ = scope.type_of(x)
    window, pads = [1, 1, *(scope.integer(1, 2) for _ in range(2))], [0, 0, 0, 1, 0, 0, scope.integer(0, 1), 0]
    shape = tuple(extent + pads[axis] + pads[4 + axis] - window[axis] + 1 for axis, extent in enumerate(type_.shape))
    for axis in (2, 3):
        scope.require(1, shape[axis])
    attributes = {"window": window, "strides": [1] * 4, "pads": pads, "dilations": [1] * 4}
    return scope.add_node(scope.one_of(["max_pool", "average_pool"]), [x], [Type(type_.dtype, shape)], attributes)[0]


def joined(scope: Scope, x: str, earlier: list[str]) -> str:
    type_ = scope.type_of(x)
    axis = scope.integer(0, 3)
    others = range(axis), range(axis + 1, 4)

    def fits(name: str) -> bool:
        each = scope.type_of(name)
        return each.dtype == type_.dtype and all(each.shape[i] == type_.shape[i] for part in others for i in part)

    other = scope.one_of([*filter(fits, earlier), scope.need(type_)])
    shape = (*type_.shape[:axis], type_.shape[axis] + scope.type_of(other).shape[axis], *type_.shape[axis + 1:])
    return scope.add_node("concat", [x, other], [Type(type_.dtype, shape)], {"axis": axis})[0]


def sliced(scope: Scope, x: str, _earlier: list[str]) -> str:
    type_ = scope.type_of(x)
    axis = scope.integer(1, 3)
    scope.require(2, type_.shape[axis])
    shape = tuple(extent - 1 if i == axis else extent for i, extent in enumerate(type_.shape))
    attributes = {"axis": axis, "begin": Dim.of(1), "end": type_.shape[axis], "step": 1}
    return scope.add_node("slice", [x], [Type(type_.dtype, shape)], attributes)[0]


def padded(scope: Scope, x: str, _earlier: list[str]) -> str:
    type_ = scope.type_of(x)
    pads = [scope.integer(0, 1) for _ in range(8)]
    shape = tuple(extent + pads[axis] + pads[4 + axis] for axis, extent in enumerate(type_.shape))
    return scope.add_node("pad", [x], [Type(type_.dtype, shape)], {"pads": pads, "value": 0.5})[0]


def weighted(scope: Scope, x: str, _earlier: list[str]) -> str:
    """By a number for each channel, or each place, that follows from the image."""
    type_ = scope.type_of(x)
    weights = reduced(scope, x, scope.one_of([[2, 3], [2, 3], [1]]), keepdims=True)
    if scope.type_of(weights).shape[2:] == (Dim.of(1), Dim.of(1)) and scope.chance(0.5):
        weights = convolved(scope, weights)
        if scope.type_of(weights).shape[1:] != (type_.shape[1], Dim.of(1), Dim.of(1)):
            raise NotPossible
    return scope.add_node("mul", [weights, x], [type_])[0]


def reduced(scope: Scope, x: str, axes: list[int], keepdims: bool) -> str:
    type_ = scope.type_of(x)
    for axis in axes:
        scope.require(1, type_.shape[axis])
    kept = [(i, extent) for i, extent in enumerate(type_.shape) if keepdims or i not in axes]
    shape = tuple(Dim.of(1) if i in axes else extent for i, extent in kept)
    return scope.add_node(scope.one_of(["mean", "sum", "max"]), [x], [Type(type_.dtype, shape)],
                          {"axes": axes, "keepdims": keepdims})[0]


def resized(scope: Scope, x: str, _earlier: list[str]) -> str:
    type_ = scope.type_of(x)
    sizes = [*type_.shape[:2], *(extent + scope.integer(0, 2) for extent in type_.shape[2:])]
    for extent in type_.shape[2:]:
        scope.require(1, extent)
    attributes = {"sizes": sizes, "coordinates": "half_pixel"}
    return scope.add_node("resize_linear", [x], [Type(type_.dtype, tuple(sizes))], attributes)[0]
