"""Matrix products of bytes: what they compute of values that are known within bounds, and graphs that have them."""

from typing import Any

import numpy as np

from dims import Dim
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


OPERATORS: dict[str, Rule] = {"integer_matmul": byte_product}
HINTS = {"integer_matmul": draw_byte_product}
