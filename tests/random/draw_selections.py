"""Draws operators of sizes and positions, and those whose results have a count."""

from collections.abc import Callable

import number_formats
from dims import Dim, count_of
from graph import Type
from scope import NotPossible, Scope
from specs import Operator

MOST_SORTED = 600  # elements of what is made unique, at the greatest sizes


def size_of_any(scope: Scope) -> Dim:
    return scope.extent() + scope.one_of([0, 0, 1, 3])


def iota(scope: Scope, op: Operator) -> None:
    count = size_of_any(scope)
    attributes = {"count": count}
    if scope.chance(0.6):
        attributes |= {"start": scope.integer(-5, 5), "step": scope.integer(-3, 3)}
    scope.add_node(op.name, [], [Type("i64", (count,))], attributes)


def dim_value(scope: Scope, op: Operator) -> None:
    scope.add_node(op.name, [], [Type("i64", ())], {"dim": size_of_any(scope)})


def bincount(scope: Scope, op: Operator) -> None:
    bins = size_of_any(scope)
    x = scope.fresh(Type(scope.dtype(op.types["I"]), scope.shape(scope.integer(0, 2))), extent=bins)
    scope.add_node(op.name, [x], [Type("i64", (bins,))], {"bins": bins})


def diagonal(scope: Scope, op: Operator) -> None:
    extent, front = scope.extent(), scope.shape(scope.integer(0, 2))
    x = scope.need(Type(scope.dtype(op.types["T"]), (*front, extent, extent)))
    scope.add_node(op.name, [x], [Type(scope.type_of(x).dtype, (*front, extent))])


def nonzero(scope: Scope, op: Operator) -> None:
    dtype = scope.dtype(op.types.get("T", ["bool"]))
    x = scope.fresh(Type(dtype, scope.shape(scope.integer(1, 3)))) if scope.chance(0.6) else scope.pick_or_make([dtype], [1, 2, 3])
    shape = scope.type_of(x).shape
    scope.add_node(op.name, [x], [Type("i64", (Dim.of(len(shape)), count_of(shape))), Type("i64", ())])


def compress(scope: Scope, op: Operator) -> None:
    x = scope.pick_or_make(op.types["T"], [1, 2, 3])
    type_ = scope.type_of(x)
    axis = scope.integer(0, len(type_.shape) - 1)
    count = type_.shape[axis] if scope.chance(0.6) else Dim.of(scope.integer(1, 3))
    scope.require(count, type_.shape[axis])
    condition = scope.fresh(Type("bool", (count,)))
    shape = tuple(count if i == axis else extent for i, extent in enumerate(type_.shape))
    scope.add_node(op.name, [x, condition], [Type(type_.dtype, shape), Type("i64", ())], {"axis": axis})


def unique(scope: Scope, op: Operator) -> None:
    rows = op.name == "unique_rows"
    shape = (scope.extent(), Dim.of(scope.integer(1, 3))) if rows else scope.shape(scope.integer(1, 2))
    if scope.most(count_of(shape)) > MOST_SORTED:
        raise NotPossible
    dtype = scope.dtype(op.types["T"])
    x = scope.fresh(Type(dtype, shape)) if scope.chance(0.8) else scope.need(Type(dtype, shape))
    count = shape[0] if rows else count_of(shape)
    line = Type("i64", (count,))
    results = [Type(dtype, shape if rows else (count,)), line, line, line, Type("i64", ())]
    scope.add_node(op.name, [x], results, {"sorted": False} if scope.chance(0.4) else {})


def einsum(scope: Scope, op: Operator) -> None:
    floats = [each for each in op.types["T"] if each in ("f32", "f64", "f16", "bf16")]
    equation = scope.one_of(["ij,jk->ik", "bij,bjk->bik", "bij,bkj->bik", "ij,kj->ki", "i,j->ij", "ij,ij->ij", "bi,bi->b",
                             "bhtd,bshd->bhts", "ij->ji", "ii->i", "bij->bj", "iji->j", "ij->"])
    read, made = equation.split("->")
    extents = {letter: scope.extent() for letter in dict.fromkeys(read) if letter != ","}
    dtype = scope.dtype(floats)
    operands = [scope.need(Type(dtype, tuple(extents[letter] for letter in each))) for each in read.split(",")]
    scope.add_node(op.name, operands, [Type(dtype, tuple(extents[letter] for letter in made))], {"equation": equation})


def bitcast(scope: Scope, op: Operator) -> None:
    """Integers as others of their width."""
    x = scope.pick_or_make(list(number_formats.INTEGERS), [0, 1, 2, 2, 3])
    type_ = scope.type_of(x)
    other = scope.one_of(f"{sign}{type_.dtype[1:]}" for sign in "iu")
    scope.add_node(op.name, [x], [Type(other, type_.shape)], {"to": other})


HINTS: dict[str, Callable[[Scope, Operator], None]] = {
    "bitcast": bitcast,
    "bit_copy": bitcast,
    "iota": iota,
    "dim_value": dim_value,
    "bincount": bincount,
    "diagonal": diagonal,
    "nonzero": nonzero,
    "true_indices": nonzero,
    "compress": compress,
    "unique": unique,
    "unique_rows": unique,
    "einsum": einsum,
}
