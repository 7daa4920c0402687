"""Draws a kernel with reshapes around it: elementwise nodes by other axes than the kernel walks, into its operand or after
its result, and from there back, or into a part of a state. Planners fuse such chains; by chance few would be drawn."""

from dims import Dim, Shape
from draw_nodes import broadcast_operand, draw_node, patterned
from graph import Type
from number_formats import FLOATS
from scope import NotPossible, Scope, broadcast

KERNELS = ["matmul", "matmul", "matmul", "attention", "conv2d", "conv1d", "cumsum", "pad"]


def draw_heads(scope: Scope) -> None:
    x = operand(scope) if scope.chance(0.4) else None
    result = product(scope, x) if x else kernel(scope)
    for _ in range(scope.integer(1, 2)):
        if scope.chance(0.3):
            result = elementwise(scope, result)
        result = reshaped(scope, result, regrouped(scope, scope.type_of(result).shape))
        for _ in range(scope.integer(0, 2)):
            result = elementwise(scope, result)
    if scope.chance(0.4):
        into_state(scope, result)
    elif scope.chance(0.3):
        into_whole(scope, result)


def operand(scope: Scope) -> str:
    """[..., heads * width], of elementwise nodes over [..., heads, width]."""
    shape = (*scope.shape(scope.integer(1, 2)), Dim.of(scope.one_of([1, 2, 3])), Dim.of(scope.one_of([3, 7, 8, 16])))
    x = scope.need(Type(scope.dtype(scope.operators["matmul"].types["T"]), shape))
    for _ in range(scope.integer(1, 2)):
        x = elementwise(scope, x)
    shape = scope.type_of(x).shape
    return reshaped(scope, x, (*shape[:-2], shape[-2] * shape[-1]))


def product(scope: Scope, x: str) -> str:
    type_ = scope.type_of(x)
    weight = scope.need(Type(type_.dtype, (type_.shape[-1], Dim.of(scope.one_of([1, 6, 8, 12, 21, 32])))))
    result = Type(type_.dtype, (*type_.shape[:-1], scope.type_of(weight).shape[-1]))
    return scope.add_node("matmul", [x, weight], [result])[0]


def kernel(scope: Scope) -> str:
    name = scope.one_of(KERNELS)
    if name == "matmul" and scope.chance(0.5):
        dtype = scope.dtype(scope.operators[name].types["T"])
        return product(scope, scope.need(Type(dtype, scope.shape(scope.integer(2, 3)))))
    if name == "matmul":
        patterned(scope, scope.operators[name], {"N": Dim.of(scope.one_of([6, 8, 12, 21, 24, 32, 48]))}, {})
    else:
        draw_node(scope, scope.operators[name])
    result = scope.body.nodes[-1].outputs[0]
    if scope.type_of(result).dtype not in FLOATS:
        raise NotPossible
    return result


def regrouped(scope: Scope, shape: Shape) -> Shape:
    """The last axis cut in two, or neighbours as one."""
    numbers = [n for n in (2, 3, 4, 7, 8, 16) if shape and (shape[-1].constant or 1) % n == 0]
    if numbers and len(shape) < 5 and scope.chance(0.7):
        width = scope.one_of(numbers)
        return (*shape[:-1], Dim.of(shape[-1].constant // width), Dim.of(width))
    if len(shape) < 2:
        raise NotPossible
    axis = scope.integer(0, len(shape) - 2)
    return (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2:])


def reshaped(scope: Scope, x: str, shape: Shape) -> str:
    return scope.add_node("reshape", [x], [Type(scope.type_of(x).dtype, shape)], {"shape": list(shape)})[0]


def elementwise(scope: Scope, x: str) -> str:
    type_ = scope.type_of(x)
    if scope.chance(0.2):
        return scope.add_node(scope.one_of(["relu", "tanh", "neg"]), [x], [type_])[0]
    other = broadcast_operand(scope, type_.dtype, type_.shape)
    if isinstance(other, str) and broadcast(type_.shape, scope.type_of(other).shape) != type_.shape:
        raise NotPossible
    inputs = [x, other] if scope.chance(0.7) else [other, x]
    return scope.add_node(scope.one_of(["add", "mul", "sub", "maximum"]), inputs, [type_])[0]


def into_state(scope: Scope, x: str) -> None:
    """A part of a state: as a cache takes keys and values."""
    type_ = scope.type_of(x)
    if not type_.shape:
        raise NotPossible
    axis = min(scope.integer(0, 1), len(type_.shape) - 1)
    room, shape = scope.integer(0, 3), list(type_.shape)
    shape[axis] = shape[axis] + room
    state = scope.add_state(Type(type_.dtype, tuple(shape)))
    attributes = {"axis": axis, "begin": Dim.of(scope.integer(0, room))}
    (result,) = scope.add_node("index_update", [state, x], [Type(type_.dtype, tuple(shape))], attributes)
    scope.body.states[state].next = result


def into_whole(scope: Scope, x: str) -> None:
    type_ = scope.type_of(x)
    if not type_.shape:
        raise NotPossible
    axis = scope.integer(0, len(type_.shape) - 1)
    shape = list(type_.shape)
    shape[axis] = shape[axis] + shape[axis]
    scope.add_node("concat", [x, scope.need(type_)], [Type(type_.dtype, tuple(shape))], {"axis": axis})
