"""Draws matrices whose blocks have scales, and products of two."""

from dims import Dim
from graph import Type
from scope import Scope
from specs import Operator


def dequantize_blocks(scope: Scope, op: Operator) -> None:
    """A matrix of few rows and columns, of which blocks of some have a scale."""
    rows, columns, high, wide = (scope.one_of([1, 2, 3, 5, 9]) for _ in range(4))
    lead = scope.shape(scope.integer(0, 1))
    x = scope.need(Type(scope.dtype(op.types["D"]), (*lead, Dim.of(rows), Dim.of(columns))))
    scale = scope.need(Type("f32", (*lead, Dim.of(-(-rows // high)), Dim.of(-(-columns // wide)))))
    result = Type("f32", (*lead, Dim.of(rows), Dim.of(columns)))
    scope.add_node(op.name, [x, scale], [result], {"rows": high, "columns": wide})


def block_scaled_matmul(scope: Scope, op: Operator) -> None:
    rows, depth = scope.shape(scope.integer(1, 2)), scope.one_of([1, 17, 128, 130, 256])
    columns, width = scope.one_of([1, 7, 16, 130]), scope.one_of([1, 3, 64, 128])
    blocks = Dim.of(-(-depth // 128))
    a, b = (scope.need(Type("f8e4m3", each)) for each in [(*rows, Dim.of(depth)), (Dim.of(depth), Dim.of(columns))])
    a_scale = scope.need(Type("f32", (*rows, blocks)))
    b_scale = scope.need(Type("f32", (blocks, Dim.of(-(-columns // width)))))
    scope.add_node(op.name, [a, b, a_scale, b_scale], [Type("f32", (*rows, Dim.of(columns)))], {"width": width})


HINTS = {"dequantize_blocks": dequantize_blocks, "block_scaled_matmul": block_scaled_matmul}
