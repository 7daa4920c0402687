"""How enclosures go through an operator, given what it computes as a function on NumPy's arrays.

A rule takes such a function and makes of it (operands, attributes) -> results, enclosures all. The result is as the
operator's compute dtype leaves it; evaluate.py rounds it to the dtype of the value.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import number_formats
from enclosure import (Exact, Floats, Value, anything, contains, exactly, is_finite, magnitude, mid, radius, rounded,
                       widened, within)
from number_formats import FLOATS

Rule = Callable[[list[Value], dict[str, Any]], list[Value]]


def unit(dtype: str) -> float:
    """The greatest relative error of one rounding, in the dtype that operators of this one compute in."""
    return FLOATS[number_formats.compute_dtype(dtype)].epsilon / 2


def tiny(dtype: str) -> float:
    """A GPU may take a subnormal number for zero, and the CPU's libraries round there as they like."""
    return 2.0**-126 if number_formats.compute_dtype(dtype) == "f32" else 2.0**-1022


def with_roundings(value: Floats, count: float, absolute: float = 0) -> Floats:
    """After arithmetic that is within `count` roundings of the result, and an absolute error in roundings of 1."""
    if not count and not absolute:
        return rounded(value, number_formats.compute_dtype(value.dtype), surely=False)
    error = count * unit(value.dtype) * magnitude(value) + absolute * unit(value.dtype) + tiny(value.dtype)
    value = widened(value, np.where(np.isfinite(error), error, 0))
    return rounded(value, number_formats.compute_dtype(value.dtype), surely=False)


def float_of(operands: list[Value]) -> str:
    return next(each.dtype for each in operands if isinstance(each, Floats))


def corners_of(operand: Value, critical: tuple[float, ...]) -> list[np.ndarray]:
    if isinstance(operand, Exact):
        return [operand.value]
    return [operand.lo, operand.hi, *(np.clip(point, operand.lo, operand.hi) for point in critical)]


# ---- elementwise -----------------------------------------------------------------------------------------------------


def elementwise(compute: Callable, roundings: float = 0, absolute: float = 0, f64_roundings: float = 1,
                critical: tuple[float, ...] = (), poles: Callable | None = None) -> Rule:
    """A function that is monotone in each operand between `critical` points. `poles`: where nothing is known."""

    def rule(operands: list[Value], attributes: dict[str, Any]) -> list[Value]:
        if all(isinstance(each, Exact) for each in operands):
            value = np.asarray(compute(*(each.value for each in operands), **attributes))
            unknown = np.broadcast_to(np.logical_or.reduce([each.unknown | np.zeros(value.shape, bool)
                                                            for each in operands]), value.shape)
            return [Exact(operands[0].dtype, value.astype(operands[0].value.dtype), unknown)]
        dtype = float_of(operands)
        choices = itertools.product(*(corners_of(each, critical) for each in operands))
        results = [np.asarray(compute(*choice, **attributes), np.float64) for choice in choices]
        nan = np.logical_or.reduce([np.isnan(each) for each in results])
        for each in operands:
            nan = nan | (each.nan if isinstance(each, Floats) else each.unknown)
        lo, hi = results[0], results[0]
        for each in results[1:]:
            lo, hi = np.fmin(lo, each), np.fmax(hi, each)
        lost = np.zeros(lo.shape, bool)
        for each in operands:
            lost = lost | (each.unknown if isinstance(each, Exact) else False)
        if poles is not None:
            lost = lost | poles(*operands)
        value = Floats(dtype, np.where(lost, -np.inf, lo), np.where(lost, np.inf, hi), nan | lost)
        return [with_roundings(value, f64_roundings if dtype == "f64" else roundings, absolute)]

    return rule


def slowly(compute: Callable, roundings: float) -> Rule:
    """A function whose slope is at most 1 and whose values are within [-1, 1]: sine and cosine."""

    def rule(operands: list[Value], attributes: dict[str, Any]) -> list[Value]:
        (x,) = operands
        at_middle, reach = compute(mid(x)), radius(x)
        value = widened(Floats(x.dtype, at_middle, at_middle, np.isnan(at_middle) | x.nan), reach)
        wide = ~x.exact & ~np.isnan(x.lo) & (np.isinf(x.lo) | np.isinf(x.hi) | (reach > 1))
        value = Floats(x.dtype, np.where(wide, -1, value.lo), np.where(wide, 1, value.hi), value.nan)
        return [with_roundings(value, roundings, 1)]

    return rule


def remainder(compute: Callable, quotient: Callable, roundings: float) -> Rule:
    """Of a division: continuous where the whole quotient is known, else anything that is smaller than the divisor."""
    plain = elementwise(compute, roundings, f64_roundings=roundings)

    def rule(operands: list[Value], attributes: dict[str, Any]) -> list[Value]:
        a, b = operands
        (value,) = plain(operands, attributes)
        if isinstance(value, Exact):
            return [value]
        wholes = [quotient(x, y) for x, y in itertools.product([a.lo, a.hi], [b.lo, b.hi])]
        known = np.logical_and.reduce([each == wholes[0] for each in wholes]) & np.isfinite(wholes[0])
        exact = a.exact & b.exact | np.isnan(a.lo) | np.isnan(b.lo)
        # The quotient of float64s is rounded as well: near to a whole number only exact operands tell.
        ratios = [a.lo / b.lo, a.hi / b.hi]
        near = np.logical_or.reduce([np.abs(each - np.rint(each)) <= 1e-12 * np.abs(each) for each in ratios])
        reach = np.fmax(magnitude(b), 0)
        lost = ~exact & (~known | near | contains(b, 0.0))
        undefined = contains(b, 0.0) | np.isinf(a.lo) | np.isinf(a.hi) | a.nan | b.nan
        return [Floats(value.dtype, np.where(lost, -reach, value.lo), np.where(lost, reach, value.hi),
                       np.where(lost, undefined, value.nan))]

    return rule


def property_of(surely: Callable, possibly: Callable) -> Rule:
    """What is asked of a float: where it is so, and where it may be."""

    def rule(operands: list[Value], attributes: dict[str, Any]) -> list[Value]:
        sure, possible = surely(operands[0], **attributes), possibly(operands[0], **attributes)
        return [Exact("bool", sure, sure != possible)]

    return rule


def on_integers(compute: Callable) -> Rule:
    """compute(arrays): in the operands' own dtype."""

    def rule(operands: list[Value], attributes: dict[str, Any]) -> list[Value]:
        value = np.asarray(compute(*(each.value for each in operands)))
        unknown = np.logical_or.reduce(np.broadcast_arrays(*(each.unknown for each in operands)))
        return [Exact(operands[0].dtype, value.astype(operands[0].value.dtype), np.broadcast_to(unknown, value.shape))]

    return rule


def comparison(compute: Callable) -> Rule:
    """Of floats, known where every corner gives the same and equality is not in doubt."""

    def rule(operands: list[Value], attributes: dict[str, Any]) -> list[Value]:
        a, b = operands
        if isinstance(a, Exact):
            value = compute(a.value, b.value)
            return [Exact("bool", value, np.broadcast_to(a.unknown | b.unknown, value.shape))]
        results = [compute(x, y) for x, y in itertools.product([a.lo, a.hi], [b.lo, b.hi])]
        agree = np.logical_and.reduce([each == results[0] for each in results])
        overlap = (a.lo <= b.hi) & (b.lo <= a.hi)
        decided = agree & (~overlap | a.exact & b.exact)
        surely_nan = np.isnan(a.lo) | np.isnan(b.lo)
        doubtful = (a.nan | b.nan) & ~surely_nan & (results[0] != compute(np.nan, np.nan))
        return [Exact("bool", results[0], ~(surely_nan | decided) | doubtful)]

    return rule


def logical(compute: Callable) -> Rule:
    def rule(operands: list[Value], attributes: dict[str, Any]) -> list[Value]:
        results = [compute(*choice) for choice in itertools.product(
            *([np.where(each.unknown, False, each.value), np.where(each.unknown, True, each.value)]
              for each in operands))]
        unknown = np.logical_or.reduce([each != results[0] for each in results])
        return [Exact("bool", results[0], unknown)]

    return rule


# ---- rearrangements --------------------------------------------------------------------------------------------------


def rearrangement(compute: Callable) -> Rule:
    """What moves elements and leaves them as they are: compute(array, attributes)."""

    def rule(operands: list[Value], attributes: dict[str, Any]) -> list[Value]:
        return [operands[0].map(lambda part: compute(part, attributes))]

    return rule


def choice(operands: list[Value], attributes: dict[str, Any]) -> list[Value]:
    """where(condition, a, b)"""
    condition, a, b = operands
    chosen = [np.where(condition.value, x, y) for x, y in zip(a.parts(), b.parts())]
    doubt = np.broadcast_to(condition.unknown, chosen[0].shape)
    if isinstance(a, Exact):
        return [Exact(a.dtype, chosen[0], np.where(doubt, a.unknown | b.unknown | (a.value != b.value), chosen[1]))]
    lo = np.where(doubt, np.fmin(a.lo, b.lo), chosen[0])
    hi = np.where(doubt, np.fmax(a.hi, b.hi), chosen[1])
    return [Floats(a.dtype, lo, hi, np.where(doubt, a.nan | b.nan, chosen[2]))]


def cast(operands: list[Value], attributes: dict[str, Any]) -> list[Value]:
    (x,), to = operands, attributes["to"]
    if isinstance(x, Floats):
        return [float_to_float(x, to) if to in FLOATS else float_to_exact(x, to)]
    if to == "bool":
        return [Exact(to, x.value != 0, x.unknown)]
    if to not in FLOATS:
        return [Exact(to, x.value.astype(number_formats.storage_dtype(to)), x.unknown)]
    # Beyond 2^53 a conversion by way of a double rounds twice.
    value = x.value.astype(np.float64)
    doubt = np.where(np.abs(value) > 2.0**53, np.abs(value) * 2.0**-52, 0)
    wide = anything(to, x.shape)
    lo, hi = (number_formats.round_to(to, each) for each in (value - doubt, value + doubt))
    return [Floats(to, np.where(x.unknown, wide.lo, lo), np.where(x.unknown, wide.hi, hi), x.unknown)]


def narrow(operands: list[Value], attributes: dict[str, Any]) -> list[Value]:
    """A cast; where it does not saturate, NaN for what rounds to more than the greatest number."""
    (value,) = cast(operands, attributes)
    if attributes["saturate"] or attributes["to"] not in FLOATS or not FLOATS[attributes["to"]].saturates:
        return [value]
    form = FLOATS[attributes["to"]]
    lo, hi = (np.abs(number_formats.round_to(attributes["to"], each, saturates=False)) > form.greatest for each in operands[0].parts()[:2])
    lost = lo & hi & (np.sign(operands[0].lo) == np.sign(operands[0].hi))
    return [Floats(value.dtype, np.where(lost, np.nan, value.lo), np.where(lost, np.nan, value.hi), value.nan | lo | hi)]


def float_to_float(x: Floats, to: str) -> Floats:
    """A cast that loses nothing of what its operand's dtype holds need not round what a fusion has not rounded to that."""
    source, target = FLOATS[x.dtype], FLOATS[to]
    holds_all = (target.mantissa_bits >= source.mantissa_bits and target.greatest >= source.greatest
                 and target.least_step <= source.least_step)
    return rounded(Floats(to, x.lo, x.hi, x.nan), to, surely=not holds_all)


def float_to_exact(x: Floats, to: str) -> Exact:
    """Truncated towards zero; what the dtype cannot hold is nobody's to say."""
    if to == "bool":
        zero = (x.lo == 0) & (x.hi == 0)
        return Exact(to, ~zero, contains(x, 0.0) & ~(zero & ~x.nan))
    limits = np.iinfo(number_formats.storage_dtype(to))
    lo, hi = np.trunc(x.lo), np.trunc(x.hi)
    known = (lo == hi) & ~x.nan & (lo >= float(limits.min)) & (hi < float(limits.max) + (limits.bits < 64))
    return Exact(to, np.where(known, lo, 0).astype(number_formats.storage_dtype(to)), ~known)


# ---- reductions ------------------------------------------------------------------------------------------------------


def accumulated(compute: Callable, exact: Callable) -> Rule:
    """Sums: compute(array, attributes). Each of n additions rounds; `exact` is the same on integers."""

    def rule(operands: list[Value], attributes: dict[str, Any]) -> list[Value]:
        (x,) = operands
        if isinstance(x, Exact):
            value = exact(x.value, attributes)
            return [Exact(x.dtype, value, compute(x.unknown.astype(np.float64), attributes) > 0)]
        count = compute(np.ones(x.shape), attributes)
        greatest = FLOATS[number_formats.compute_dtype(x.dtype)].greatest

        def error(bound: np.ndarray) -> np.ndarray:
            """Sums that round grow with each of their terms, so that either bound is as far off as its own terms say."""
            terms = compute(np.abs(bound), attributes)
            rounding = np.where(terms > greatest / 2, np.inf, count * (unit(x.dtype) * terms * 2 + tiny(x.dtype)))
            return np.where(np.isfinite(terms), rounding, 0)

        lo, hi = compute(x.lo, attributes), compute(x.hi, attributes)
        unknown = np.isneginf(lo) & np.isposinf(hi)  # the sum of infinities of either sign
        nan = (compute(x.nan.astype(np.float64), attributes) > 0) | unknown
        return [within(x.dtype, lo - error(x.lo), hi + error(x.hi), nan)]

    return rule


def reduction_axes(x: Value, attributes: dict[str, Any]) -> tuple[int, ...]:
    return tuple(axis % len(x.shape) for axis in attributes["axes"]) or tuple(range(len(x.shape)))


def rows_of(array: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """The reduced axes as one, the last."""
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    moved = array.transpose(kept + sorted(axes))
    count = int(np.prod([array.shape[axis] for axis in axes], dtype=np.int64))
    return moved.reshape(*moved.shape[: len(kept)], count)


def unrows(result: np.ndarray, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> np.ndarray:
    return result.reshape([1 if axis in axes else n for axis, n in enumerate(shape)]) if keepdims else result


def over_rows(reduce: Callable[[Value], list[Value]]) -> Rule:
    """A reduction of the last axis, over any."""

    def rule(operands: list[Value], attributes: dict[str, Any]) -> list[Value]:
        (x,), axes = operands, reduction_axes(operands[0], attributes)
        results = reduce(x.map(lambda part: rows_of(part, axes)))
        return [each.map(lambda part: unrows(part, x.shape, axes, attributes["keepdims"])) for each in results]

    return rule


def extreme(sign: int) -> Callable[[Value], list[Value]]:
    """The greatest (1) or the least (-1) of rows."""
    reduce = np.maximum.reduce if sign > 0 else np.minimum.reduce

    def find(x: Value) -> list[Value]:
        if isinstance(x, Exact):
            limits = np.iinfo(x.value.dtype)
            initial = limits.min if sign > 0 else limits.max
            return [Exact(x.dtype, reduce(x.value, axis=-1, initial=initial), x.unknown.any(axis=-1))]
        lo, hi = (reduce(each, axis=-1, initial=-sign * np.inf) for each in (x.lo, x.hi))
        return [within(x.dtype, lo, hi, x.nan.any(axis=-1))]

    return find


def place_of_extreme(sign: int, find: Callable) -> Callable[[Value], list[Value]]:
    """argmax or argmin of rows: known where no other element can stand before the one that is found."""

    def reduce(x: Value) -> list[Value]:
        if isinstance(x, Exact):
            return [Exact("i64", find(x.value, axis=-1), x.unknown.any(axis=-1))]
        lo, hi = (x.lo, x.hi) if sign > 0 else (-x.hi, -x.lo)
        place = find(lo * sign, axis=-1)
        if not x.shape[-1] or not place.size:
            return [exactly("i64", place)]
        best = np.take_along_axis(lo, place[..., None], -1)
        numbers = np.arange(x.shape[-1])
        equal = (lo == best) & (hi == best)
        is_it = numbers == place[..., None]
        below = np.isnan(best) | (hi < best) | equal & (numbers > place[..., None])
        doubtful = x.nan & ~np.isnan(lo) & ~(np.isnan(best) & (numbers > place[..., None]))
        return [Exact("i64", place, (~(below | is_it) | doubtful).any(axis=-1))]

    return reduce


def product(x: Value) -> list[Value]:
    if isinstance(x, Exact):
        value = np.multiply.reduce(x.value, axis=-1, dtype=x.value.dtype)
        return [Exact(x.dtype, value, x.unknown.any(axis=-1))]
    middle, reach, count = mid(x), radius(x), x.shape[-1]
    value = np.multiply.reduce(middle, axis=-1)
    with np.errstate(all="ignore"):
        relative = np.where(reach == 0, 0, reach / np.abs(middle)).sum(axis=-1)
        above = np.multiply.reduce(np.fmax(magnitude(x), 1), axis=-1)
        nonzero = np.where(middle == 0, 1, np.abs(middle))
        below = np.multiply.reduce(np.fmin(nonzero, 1), axis=-1)
    error = np.expm1(relative + 2 * count * unit(x.dtype)) * np.abs(value)
    greatest = FLOATS[number_formats.compute_dtype(x.dtype)].greatest
    sure = (above < greatest) & (below > 1 / greatest) & (relative < 0.5) & ~x.nan.any(axis=-1)
    surely_nan = np.isnan(x.lo).any(axis=-1)
    wide = anything(x.dtype, value.shape)
    result = widened(within(x.dtype, value, value), np.where(np.isfinite(error), error, 0))
    return [Floats(x.dtype, np.where(sure, result.lo, np.where(surely_nan, np.nan, wide.lo)),
                   np.where(sure, result.hi, np.where(surely_nan, np.nan, wide.hi)), ~sure)]


def truth(reduce: Callable) -> Callable[[Value], list[Value]]:
    def over(x: Value) -> list[Value]:
        least, most = (reduce(np.where(x.unknown, default, x.value), axis=-1) for default in (False, True))
        return [Exact("bool", least, least != most)]

    return over


# ---- sums of products ------------------------------------------------------------------------------------------------


def multiplied_radius(operand: Floats) -> np.ndarray:
    """Where a float of 8 bits is multiplied as bf16, what was never stored as such may be rounded to that instead."""
    apart = radius(operand)
    if FLOATS[operand.dtype].bytes > 1:
        return apart
    return apart + np.where(apart > 0, FLOATS["bf16"].epsilon / 2 * magnitude(operand), 0)


def bilinear(compute: Callable, a: Floats, b: Floats, attributes: dict[str, Any]) -> Floats:
    """compute(a, b, attributes) is linear in each operand: the radius of the result follows from it on magnitudes."""
    at = lambda x, y: np.asarray(compute(x, y, attributes), np.float64)  # noqa: E731
    fine_a, fine_b = is_finite(a), is_finite(b)
    mid_a, mid_b = np.where(fine_a, mid(a), 0), np.where(fine_b, mid(b), 0)
    reach_a, reach_b = np.where(fine_a, multiplied_radius(a), 0), np.where(fine_b, multiplied_radius(b), 0)
    value = at(mid_a, mid_b)
    terms = at(np.abs(mid_a) + reach_a, np.abs(mid_b) + reach_b)
    spread = terms - at(np.abs(mid_a), np.abs(mid_b)) + 2.0**-50 * terms
    spread = np.where((reach_a.any() | reach_b.any()), spread, 0)
    count = at(np.ones(a.shape), np.ones(b.shape))
    error = spread + (count + 4) * (2 * unit(a.dtype) * terms + tiny(a.dtype))
    greatest = FLOATS[number_formats.compute_dtype(a.dtype)].greatest
    result = widened(Floats(a.dtype, value, value, np.zeros(value.shape, bool)),
                     np.where(terms > greatest / 2, np.inf, error))
    if fine_a.all() and fine_b.all():
        return result
    # With an infinity or a NaN among the terms: known where the operands are.
    touched = at((~fine_a).astype(float), np.ones(b.shape)) + at(np.ones(a.shape), (~fine_b).astype(float)) > 0
    naive = at(mid(a), mid(b))
    doubt = at((~a.exact & ~np.isnan(a.lo)).astype(float), np.ones(b.shape)) > 0
    doubt |= at(np.ones(a.shape), (~b.exact & ~np.isnan(b.lo)).astype(float)) > 0
    doubt |= terms > greatest / 2  # the finite terms may make infinities of their own
    special = within(a.dtype, np.where(doubt, -np.inf, naive), np.where(doubt, np.inf, naive), doubt)
    return Floats(a.dtype, *(np.where(touched, x, y) for x, y in zip(special.parts(), result.parts())))


def sum_of_products(compute: Callable) -> Rule:
    return lambda operands, attributes: [bilinear(compute, operands[0], operands[1], attributes)]
