"""Caches in pages: what attention over them and their updates compute of values that are known within bounds, and
graphs that have them."""

from typing import Any

import numpy as np

import attentions
import groups
from dims import Dim
from enclosure import Exact, Value, anything, is_finite
from graph import Type
from rules import Rule
from scope import Scope
from specs import Operator


def places(table: Value, pages: int) -> tuple[np.ndarray, np.ndarray]:
    """The pages of each sequence, 0 for one that is not there, and which are."""
    entries = table.value.astype(np.int64)
    there = (entries >= 0) & (entries < pages)
    return np.where(there, entries, 0), there


def paged_attention(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    """paged_attention, and paged_window_attention."""
    q, k, v, table, lengths, *mask = operands
    if not all(is_finite(each).all() for each in (q, k, v)) or table.unknown.any() or lengths.unknown.any():
        return [anything(q.dtype, q.shape)]
    pages, page_keys = k.shape[:2]
    entries, there = places(table, pages)
    keys = table.shape[1] * page_keys

    def gathered(part: np.ndarray) -> np.ndarray:
        shape = (q.shape[0], keys, *part.shape[2:])
        return part[entries].reshape(shape) if pages else np.zeros(shape, part.dtype)

    count = lengths.value.astype(np.int64).clip(0, keys).reshape(-1, 1, 1, 1)
    hidden = ~np.repeat(there, page_keys, axis=1)[:, None, None]
    return [attentions.attention_of(q, k.map(gathered), v.map(gathered), at, count, *mask, hidden=hidden)]


def attention_attributes(scope: Scope, op: Operator) -> dict[str, Any]:
    """Of attention of any kind."""
    attributes: dict[str, Any] = {"scale": 0.25} if scope.chance(0.4) else {}
    if "causal" in op.attributes:
        return attributes | {"causal": scope.chance(0.5)}
    return attributes | {"left": scope.one_of([-1, 0, 3, 17]), "right": scope.one_of([-1, 0, 0, 4]),
                         "soft_cap": scope.one_of([0, 2.5])}


def draw_paged_attention(scope: Scope, op: Operator) -> None:
    dtype, batch, queries = scope.dtype(op.types["T"]), scope.extent(), Dim.of(scope.one_of([1, 1, 2, 5, 17, 40]))
    heads, shared, width = scope.one_of([1, 2, 3]), scope.one_of([1, 1, 2, 4]), Dim.of(scope.one_of([4, 8, 16, 24, 64]))
    pages, page_keys = Dim.of(scope.one_of([1, 3, 8, 20])), scope.one_of([1, 3, 4, 8, 16, 40])
    own = scope.one_of([1, 2, 5])
    q = scope.need(Type(dtype, (batch, queries, Dim.of(heads * shared), width)))
    cache = Type(dtype, (pages, Dim.of(page_keys), Dim.of(heads), width))
    table = scope.fresh(Type(scope.dtype(op.types["E"]), (batch, Dim.of(own))), extent=pages)
    lengths = scope.fresh(Type(scope.dtype(op.types["I"]), (batch,)), extent=Dim.of(own * page_keys + 1))
    attributes = attention_attributes(scope, op)
    inputs = [q, scope.need(cache), scope.need(cache), table, lengths]
    if scope.chance(0.4):
        scores = (batch, Dim.of(heads * shared), queries, Dim.of(own * page_keys))
        inputs.append(scope.need(Type(scope.dtype(op.types["M"]), scores)))
    scope.add_node(op.name, inputs, [scope.type_of(q)], attributes)


def paged_cache_update(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    """As of a cache of one sequence, whose slots are those of all pages."""
    *caches, keys, values, table, slots = operands
    pages, page_slots = caches[0].shape[:2]
    entries, there = places(table, pages)
    slot = slots.value.astype(np.int64)
    inside = (slot >= 0) & (slot < table.shape[1] * page_slots)
    number = np.where(inside, slot, 0) // max(page_slots, 1)
    if inside.any():
        flat = np.take_along_axis(entries, number, 1) * page_slots + slot % page_slots
        flat = np.where(inside & np.take_along_axis(there, number, 1), flat, -1)
    else:
        flat = np.full(slot.shape, -1)
    unknown = slots.unknown | table.unknown.any(-1, keepdims=True)

    def as_one(value: Value) -> Value:
        return value.map(lambda part: part.reshape(1, -1, *part.shape[2:]))

    found = groups.cache_update(
        [*map(as_one, caches), as_one(keys), as_one(values), Exact("i64", flat.reshape(1, -1), unknown.reshape(1, -1))], at)
    return [each.map(lambda part: part.reshape(caches[0].shape)) for each in found]


def draw_paged_cache_update(scope: Scope, op: Operator) -> None:
    """Of states that nothing else reads, or of values."""
    dtype, batch, length = scope.dtype(op.types["T"]), scope.extent(), Dim.of(scope.one_of([1, 1, 2, 3]))
    pages, page_slots, own = Dim.of(scope.one_of([1, 5, 16])), scope.one_of([1, 3, 8]), scope.one_of([1, 2, 4])
    line = (Dim.of(scope.integer(1, 3)), Dim.of(scope.one_of([1, 3, 4, 8, 16])))
    cache, news = Type(dtype, (pages, Dim.of(page_slots), *line)), Type(dtype, (batch, length, *line))
    table = scope.fresh(Type(scope.dtype(op.types["E"]), (batch, Dim.of(own))), extent=pages)
    slots = scope.fresh(Type(scope.dtype(op.types["I"]), (batch, length)), extent=Dim.of(own * page_slots))
    groups.update_caches(scope, op, cache, [scope.need(news), scope.need(news), table, slots])


OPERATORS: dict[str, Rule] = {"paged_attention": paged_attention, "paged_window_attention": paged_attention,
                              "paged_cache_update": paged_cache_update}
HINTS = {"paged_attention": draw_paged_attention, "paged_window_attention": draw_paged_attention,
         "paged_cache_update": draw_paged_cache_update}
