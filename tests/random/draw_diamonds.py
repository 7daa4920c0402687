"""Draws an elementwise value that several elementwise nodes read, whose results come together again, as silu is spelt, and a
permutation of that. Planners take the permutation of memory, ahead of all of them; by chance few would be drawn."""

from draw_heads import elementwise, kernel, product
from graph import Type
from number_formats import FLOATS
from scope import NotPossible, Scope


def draw_diamonds(scope: Scope) -> None:
    result = head(scope)
    for _ in range(scope.integer(1, 2)):
        result = diamond(scope, result)
    result = permuted(scope, result)
    match scope.integer(0, 3):
        case 0:
            elementwise(scope, result)
        case 1:
            product(scope, result)
        case 2:
            type_ = scope.type_of(result)
            axis = scope.integer(0, len(type_.shape) - 1)
            shape = (*type_.shape[:axis], *type_.shape[axis + 1:])
            scope.add_node("sum", [result], [Type(type_.dtype, shape)], {"axes": [axis]})
        case 3:
            permuted(scope, diamond(scope, result))


def head(scope: Scope) -> str:
    if scope.chance(0.5):
        result = kernel(scope)
        if len(scope.type_of(result).shape) < 2:
            raise NotPossible
        return result
    return scope.need(Type(scope.dtype(list(FLOATS)), scope.shape(scope.integer(2, 4))))


def diamond(scope: Scope, x: str) -> str:
    """e is read two or three times; all that is made of it meets."""
    type_ = scope.type_of(x)
    e = elementwise(scope, x)
    sides = [e if scope.chance(0.4) else elementwise(scope, e)]
    for _ in range(scope.integer(1, 2)):
        side = elementwise(scope, scope.one_of([e, *sides]))
        sides.append(elementwise(scope, side) if scope.chance(0.3) else side)
    result = sides[0]
    for each in sides[1:]:
        result = scope.add_node(scope.one_of(["add", "mul", "sub", "maximum"]), [result, each], [type_])[0]
    return result


def permuted(scope: Scope, x: str) -> str:
    type_ = scope.type_of(x)
    order = [int(axis) for axis in scope.rng.permutation(len(type_.shape))]
    shape = tuple(type_.shape[axis] for axis in order)
    return scope.add_node("transpose", [x], [Type(type_.dtype, shape)], {"perm": order})[0]
