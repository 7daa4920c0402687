"""Matrix products and convolutions of bytes: what they compute of values that are known within bounds, and graphs that
have them."""

from typing import Any

import numpy as np

import building_blocks
from dims import Dim, count_of
from draw_convolutions import convolution
from enclosure import Exact, Value
from graph import Type
from rules import Rule
from scope import Scope
from specs import Operator


def steps(x: Exact, zero: Exact | None) -> tuple[np.ndarray, np.ndarray]:
    """x less what stands for 0 in it, and where that is not known."""
    if zero is None:
        return x.value.astype(np.int64), x.unknown
    return x.value.astype(np.int64) - zero.value.astype(np.int64), x.unknown | zero.unknown


def byte_product(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    a, b, a_zero, b_zero = [*operands, None, None][:4]
    left, left_unknown = steps(a, a_zero)
    right, right_unknown = steps(b, b_zero)
    sums = np.matmul(left, right).astype(np.int32)  # wraps
    unknown = left_unknown.any(-1, keepdims=True) | right_unknown.any(-2, keepdims=True)
    return [Exact("i32", sums, np.broadcast_to(unknown, sums.shape).copy())]


def byte_convolution(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    x, filters, x_zero, filters_zero = operands
    image, image_unknown = steps(x, x_zero)  # 0 stands around it
    taps, taps_unknown = steps(filters, filters_zero)

    def convolved(seen: np.ndarray, by: np.ndarray) -> np.ndarray:
        return building_blocks.convolve(seen.astype(np.int64), by.astype(np.int64), at["strides"], at["pads"],
                                        at["dilations"])

    sums = convolved(image, taps).astype(np.int32)  # wraps
    unknown = convolved(image_unknown, np.ones(taps.shape)) + convolved(np.ones(image.shape), taps_unknown)
    return [Exact("i32", sums, unknown > 0)]


def draw_byte_convolution(scope: Scope, op: Operator) -> None:
    """What `convolution` draws of bytes, of one group, with what stands for 0."""
    convolution(2, groups=[1])(scope, op)
    node = scope.body.nodes[-1]
    (result,) = node.outputs
    types = [scope.dtype(op.types[name]) for name in ("A", "B")]
    shapes = [scope.type_of(name).shape for name in node.inputs]
    filters = Type(types[1], shapes[1])
    constant = scope.chance(0.5)  # which is packed when the model is loaded
    # Nothing that a node behind this one would make.
    node.inputs[:] = [scope.fresh(Type(types[0], shapes[0])),
                      scope.fresh_constant(filters, count_of(filters.shape).constant) if constant else scope.fresh(filters)]
    node.inputs += [scope.fresh(Type(types[0], ())), scope.fresh(Type(types[1], shapes[1][-1:]))]
    del node.attributes["group"]
    scope.body.types[result] = Type("i32", scope.type_of(result).shape)


def draw_byte_product(scope: Scope, op: Operator) -> None:
    left, right = scope.dtype(op.types["A"]), scope.dtype(op.types["B"])
    rows, depth = scope.shape(scope.integer(1, 3)), scope.extent()
    columns = scope.extent() if scope.chance(0.5) else Dim.of(scope.one_of([1, 6, 8, 15, 16, 21, 32]))
    inputs = [scope.need(Type(left, (*rows, depth))), scope.need(Type(right, (depth, columns)))]
    if scope.chance(0.6):
        inputs.append(scope.need(Type(left, (*rows, Dim.of(1)))))
        if scope.chance(0.5):
            inputs.append(scope.need(Type(right, (columns,))))
    scope.add_node(op.name, inputs, [Type("i32", (*rows, columns))])


OPERATORS: dict[str, Rule] = {"integer_matmul": byte_product, "integer_conv2d": byte_convolution}
HINTS = {"integer_matmul": draw_byte_product, "integer_conv2d": draw_byte_convolution}
