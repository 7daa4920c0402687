"""Draws rows that are scaled by a statistic of their own, and products of them with weights: rms_norm as one operator,
spelled out, or with another statistic, in front of one or several. Planners move the factors behind the products; by
chance few would be drawn."""

from dims import Dim
from draw_heads import elementwise
from graph import Type
from scope import NotPossible, Scope

DTYPES = ["f32", "f32", "bf16", "f16", "f64"]


def draw_norms(scope: Scope) -> None:
    dtype = scope.one_of(DTYPES)
    depth = Dim.of(scope.one_of([1, 5, 16, 33, 48]))
    x = scope.need(Type(dtype, (*scope.shape(scope.one_of([1, 1, 2])), depth)))
    if scope.chance(0.3):  # what a kernel writes
        weight = constant(scope, Type(dtype, (depth, depth)))
        x = scope.add_node("matmul", [x, weight], [scope.type_of(x)])[0]
    if scope.chance(0.3):
        x = elementwise(scope, x)
    if scope.type_of(x).shape[-1] != depth:
        raise NotPossible
    scaled = scope.one_of([normalised, normalised, spelled, by_statistic])(scope, x)
    for _ in range(scope.integer(1, 3)):
        result = product(scope, scaled)
        if scope.chance(0.5):
            elementwise(scope, result)
    if scope.chance(0.15):  # which needs it in memory
        elementwise(scope, scaled)


def constant(scope: Scope, type_: Type) -> str:
    """Mostly known at load."""
    count = 1
    for extent in type_.shape:
        if extent.constant is None:
            return scope.need(type_)
        count *= extent.constant
    return scope.fresh_constant(type_, count) if scope.chance(0.75) else scope.need(type_)


def gain(scope: Scope, x: str) -> str:
    type_ = scope.type_of(x)
    return constant(scope, Type(type_.dtype, type_.shape[-1:]))


def normalised(scope: Scope, x: str) -> str:
    return scope.add_node("rms_norm", [x, gain(scope, x)], [scope.type_of(x)], {"epsilon": scope.one_of([1e-5, 1e-2])})[0]


def statistic(scope: Scope, op: str, x: str) -> str:
    type_ = scope.type_of(x)
    shape = (*type_.shape[:-1], Dim.of(1))
    return scope.add_node(op, [x], [Type(type_.dtype, shape)], {"axes": [-1], "keepdims": True})[0]


def spelled(scope: Scope, x: str) -> str:
    """rms_norm or the l2 norm, by division or multiplication, with the gain on either side or none."""
    type_ = scope.type_of(x)
    squares = scope.add_node("square", [x], [type_])[0]
    total = statistic(scope, scope.one_of(["mean", "sum"]), squares)
    one_each = scope.type_of(total)
    shifted = scope.add_node("add", [total, scope.one_of([0.25, 0.5])], [one_each])[0]
    if scope.chance(0.5):
        result = scope.add_node("div", [x, scope.add_node("sqrt", [shifted], [one_each])[0]], [type_])[0]
    else:
        inputs = [x, scope.add_node("rsqrt", [shifted], [one_each])[0]]
        result = scope.add_node("mul", inputs if scope.chance(0.5) else inputs[::-1], [type_])[0]
    return scope.add_node("mul", [result, gain(scope, x)], [type_])[0] if scope.chance(0.6) else result


def by_statistic(scope: Scope, x: str) -> str:
    return scope.add_node("mul", [x, statistic(scope, scope.one_of(["max", "mean", "sum"]), x)], [scope.type_of(x)])[0]


def product(scope: Scope, x: str) -> str:
    type_ = scope.type_of(x)
    columns = Dim.of(scope.one_of([1, 7, 16, 24, 33]))
    weight = constant(scope, Type(type_.dtype, (type_.shape[-1], columns)))
    return scope.add_node("matmul", [x, weight], [Type(type_.dtype, (*type_.shape[:-1], columns))])[0]
