"""Products of groups of rows, and caches that take rows at slots: what they compute of values that are known within bounds,
and graphs that have them."""

from typing import Any

import numpy as np

from dims import Dim
from enclosure import Exact, Floats, Value, anything
from graph import Type
from rules import Rule, bilinear
from scope import Scope
from specs import Operator

# ---- products of groups of rows --------------------------------------------------------------------------------------


def grouped_product(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    a, b, ends = operands
    shape = (a.shape[0], b.shape[2])
    if ends.unknown.any():
        return [anything(a.dtype, shape)]
    groups = np.searchsorted(np.maximum.accumulate(ends.value), np.arange(shape[0]), side="right")

    def product(rows: np.ndarray, matrices: np.ndarray, _: Any = None) -> np.ndarray:
        out = np.zeros(shape, np.result_type(rows, matrices))
        for group in range(b.shape[0]):
            out[groups == group] = rows[groups == group] @ matrices[group]
        return out

    if not isinstance(a, Exact):
        return [bilinear(product, a, b, {})]
    rows_of_doubt, matrices_of_doubt = (each.unknown.astype(np.int64) for each in (a, b))
    unknown = product(rows_of_doubt, np.ones(b.shape, np.int64)) + product(np.ones(a.shape, np.int64), matrices_of_doubt) > 0
    return [Exact(a.dtype, product(a.value, b.value), unknown)]


def draw_grouped_product(scope: Scope, op: Operator) -> None:
    """The groups' ends are the running sum of what experts have, or whatever an input holds."""
    dtype, rows, depth, groups = scope.dtype(op.types["T"]), scope.extent(), scope.extent(), Dim.of(scope.one_of([1, 2, 3, 5, 8]))
    columns = scope.extent() if scope.chance(0.5) else Dim.of(scope.one_of([1, 7, 8, 16, 33]))
    a, b = scope.need(Type(dtype, (rows, depth))), scope.need(Type(dtype, (groups, depth, columns)))
    line = Type("i64", (groups,))
    if scope.chance(0.6):
        experts = scope.fresh(Type(scope.dtype(["i32", "i64"]), (rows,)), extent=groups)
        counts = scope.add_node("bincount", [experts], [line], {"bins": groups})
        (ends,) = scope.add_node("cumsum", counts, [line])
    else:
        ends = scope.fresh(Type(scope.dtype(op.types["I"]), (groups,)), extent=rows + 1)
    scope.add_node(op.name, [a, b, ends], [Type(dtype, (rows, columns))])


def expert_linear(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    x, weight, experts = operands
    shape = (x.shape[0], weight.shape[1])
    if experts.unknown.any():
        return [anything(x.dtype, shape)]
    place = experts.value.astype(np.int64)
    place = np.where(place < 0, place + weight.shape[0], place)
    lost = np.broadcast_to(((place < 0) | (place >= weight.shape[0]))[:, None], shape)

    def product(rows: np.ndarray, matrices: np.ndarray, _: Any) -> np.ndarray:
        out = np.zeros(shape, np.result_type(rows, matrices))
        for expert in range(weight.shape[0]):
            out[place == expert] = rows[place == expert] @ matrices[expert].T
        return out

    found = bilinear(product, x, weight, {})
    return [Floats(x.dtype, np.where(lost, np.nan, found.lo), np.where(lost, np.nan, found.hi), found.nan | lost)]


def draw_expert_linear(scope: Scope, op: Operator) -> None:
    dtype, rows, depth, experts = scope.dtype(op.types["T"]), scope.extent(), scope.extent(), Dim.of(scope.one_of([1, 2, 3, 8]))
    columns = scope.extent()
    x, weight = scope.need(Type(dtype, (rows, depth))), scope.need(Type(dtype, (experts, columns, depth)))
    chosen = scope.fresh(Type(scope.dtype(op.types["I"]), (rows,)), extent=experts)
    scope.add_node(op.name, [x, weight, chosen], [Type(dtype, (rows, columns))])


# ---- caches ----------------------------------------------------------------------------------------------------------


def cache_update(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    """Which of several rows stays that name one slot is nobody's to say."""
    *caches, keys, values, slots = operands
    places = np.arange(caches[0].shape[1])
    met = slots.value[:, :, None] == places  # [B, S, T]
    doubtful = (met.sum(1) > 1) | slots.unknown.any(-1, keepdims=True)
    results = []
    for cache, rows in zip(caches, (keys, values)):
        if not met.shape[1]:
            results.append(cache)
            continue
        step = met.argmax(1)[:, :, None, None]
        taken, wide = rows.map(lambda part: np.take_along_axis(part, step, 1)), anything(cache.dtype, cache.shape)  # noqa: B023
        parts = [np.where(doubtful[:, :, None, None], loose, np.where(met.any(1)[:, :, None, None], new, old))
                 for loose, new, old in zip(wide.parts(), taken.parts(), cache.parts())]
        results.append(type(cache)(cache.dtype, *parts))
    return results


def draw_cache_update(scope: Scope, op: Operator) -> None:
    """Of states that nothing else reads, or of values."""
    dtype, batch = scope.dtype(op.types["T"]), scope.extent()
    room, length = scope.extent(), Dim.of(scope.one_of([1, 1, 2, 3])) if scope.chance(0.7) else scope.extent()
    line = (Dim.of(scope.integer(1, 3)), Dim.of(scope.one_of([1, 3, 4, 8, 16])))
    cache, news = Type(dtype, (batch, room, *line)), Type(dtype, (batch, length, *line))
    slots = scope.fresh(Type(scope.dtype(op.types["I"]), (batch, length)), extent=room)
    update_caches(scope, op, cache, [scope.need(news), scope.need(news), slots])


def update_caches(scope: Scope, op: Operator, cache: Type, others: list[str]) -> None:
    """Of two such caches, states or values, and the other operands."""
    of_states = scope.chance(0.6)
    caches = [scope.add_state(cache) if of_states else not_a_state(scope, scope.need(cache)) for _ in range(2)]
    results = scope.add_node(op.name, [*caches, *others], [cache, cache])
    if of_states:
        for state, result in zip(caches, results):
            scope.body.states[state].next = result


def not_a_state(scope: Scope, value: str) -> str:
    """The value, or a copy of what becomes a state."""
    if any(value == state.next for state in scope.body.states.values()):
        (value,) = scope.add_node("copy", [value], [scope.type_of(value)])
    return value


OPERATORS: dict[str, Rule] = {"grouped_matmul": grouped_product, "cache_update": cache_update,
                              "expert_linear": expert_linear}
HINTS = {"grouped_matmul": draw_grouped_product, "cache_update": draw_cache_update,
         "expert_linear": draw_expert_linear}
