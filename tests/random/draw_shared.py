"""Draws a value that several stubs read: sums along different axes, running sums, products with it and results that it
is added to. Planners compute such values again for each reader; by chance few would be drawn."""

from dims import Dim
from draw_heads import elementwise, product
from graph import Type
from scope import NotPossible, Scope


def draw_shared(scope: Scope) -> None:
    shape = scope.shape(scope.one_of([2, 2, 3]))
    made = [scope.need(Type(scope.dtype(scope.operators["matmul"].types["T"]), shape))]
    for _ in range(scope.integer(1, 3)):
        made.append(elementwise(scope, made[-1]))
    chain = made[1:]
    for _ in range(scope.integer(2, 4)):
        scope.one_of([reduced, reduced, running, product, beside])(scope, scope.one_of([*chain, chain[-1]]))


def reduced(scope: Scope, x: str) -> str:
    type_ = scope.type_of(x)
    axis, kept = scope.integer(0, len(type_.shape) - 1), scope.chance(0.3)
    shape = (*type_.shape[:axis], *([Dim.of(1)] if kept else []), *type_.shape[axis + 1:])
    attributes = {"axes": [axis], "keepdims": kept}
    return scope.add_node(scope.one_of(["sum", "max"]), [x], [Type(type_.dtype, shape)], attributes)[0]


def running(scope: Scope, x: str) -> str:
    """Often beside the value, in what follows."""
    type_ = scope.type_of(x)
    result = scope.add_node("cumsum", [x], [type_], {"axis": scope.integer(0, len(type_.shape) - 1)})[0]
    return scope.add_node("add", [result, x], [type_])[0] if scope.chance(0.4) else result


def beside(scope: Scope, x: str) -> str:
    """A product of that shape, with the value in its epilogue, by these axes or by others."""
    type_ = scope.type_of(x)
    depth = Dim.of(scope.one_of([1, 5, 16]))
    left = scope.need(Type(type_.dtype, (*type_.shape[:-1], depth)))
    right = scope.need(Type(type_.dtype, (depth, type_.shape[-1])))
    result = scope.add_node("matmul", [left, right], [type_])[0]
    if scope.chance(0.5):
        result = elementwise(scope, result)
    if scope.type_of(result) != type_:
        raise NotPossible
    return scope.add_node(scope.one_of(["add", "mul"]), [result, x], [type_])[0]
