"""Draws convolutions of one, two and three axes."""

from collections.abc import Callable, Sequence

from dims import Dim, count_of
from graph import Type
from scope import Scope
from specs import Operator


def filters_of(scope: Scope, type_: Type) -> str:
    """Often constants, which are packed when the model is loaded."""
    if scope.chance(0.5):
        return scope.fresh_constant(type_, count_of(type_.shape).constant)
    return scope.need(type_)


def convolution(axes: int, groups: Sequence[int] = (1, 1, 1, 2, 3)) -> Callable[[Scope, Operator], None]:
    def draw(scope: Scope, op: Operator) -> None:
        group = scope.one_of(groups)
        channels, filters = group * scope.integer(1, 8), group * scope.integer(1, 9)
        if len(groups) > 1 and scope.chance(0.2):  # a filter for each channel
            group = channels = filters = scope.integer(2, 20)
        taps = [scope.integer(1, 4) for _ in range(axes)]
        strides, dilations = ([scope.integer(1, 2) for _ in range(axes)] for _ in range(2))
        pads = [scope.integer(0, 2) for _ in range(2 * axes)]
        image = [Dim.of(scope.integer(4, 12)) if strides[axis] > 1 else scope.extent() for axis in range(axes)]
        x = scope.need(Type(scope.dtype(op.types.get("T", ["f32"])), (scope.extent(), *image, Dim.of(channels))))
        type_ = scope.type_of(x)
        result = [type_.shape[0]]
        for axis in range(axes):
            span = image[axis] + pads[axis] + pads[axes + axis] - (dilations[axis] * (taps[axis] - 1) + 1)
            scope.require(0, span)
            result.append(span + 1 if strides[axis] == 1 else Dim.of(span.constant // strides[axis] + 1))
        weights = filters_of(scope, Type(type_.dtype, tuple(map(Dim.of, [*taps, channels // group, filters]))))
        names = ["strides", "dilations"] if axes > 1 else ["stride", "dilation"]
        values = [strides, dilations] if axes > 1 else [strides[0], dilations[0]]
        attributes = dict(zip(names, values)) | {"pads": pads, "group": group}
        scope.add_node(op.name, [x, weights], [Type(type_.dtype, (*result, Dim.of(filters)))], attributes)

    return draw


def channels_first(axes: int) -> Callable[[Scope, Operator], None]:
    """What `convolution` draws, with its axes where PyTorch has them, and often a bias."""
    order, turned = [0, axes + 1, *range(1, axes + 1)], [axes + 1, axes, *range(axes)]

    def draw(scope: Scope, op: Operator) -> None:
        convolution(axes)(scope, op)
        node = scope.body.nodes[-1]
        for place, (name, axes_of) in enumerate(zip(node.inputs, (order, turned))):
            type_ = scope.type_of(name)
            wanted = Type(type_.dtype, tuple(type_.shape[axis] for axis in axes_of))
            node.inputs[place] = filters_of(scope, wanted) if place else scope.fresh(wanted)
        (result,) = node.outputs
        type_ = scope.type_of(result)
        scope.body.types[result] = Type(type_.dtype, tuple(type_.shape[axis] for axis in order))
        if scope.chance(0.6):
            node.inputs.append(scope.fresh(Type(type_.dtype, type_.shape[-1:])))

    return draw
