"""What each operator computes: one row for each, written from its definition in the literature. An operator without a
row here or in composites.py fails the test, which names it."""

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
import building_blocks  # noqa: E402  what the examples are compared with
import rules  # noqa: E402
from enclosure import Exact, Floats, Value, exactly, is_finite, anything  # noqa: E402
from number_formats import FLOATS  # noqa: E402
from rules import Rule, bilinear, elementwise, over_rows  # noqa: E402

# ---- parts of the composites -----------------------------------------------------------------------------------------

ADD = elementwise(np.add)
SUB = elementwise(np.subtract)
MUL = elementwise(np.multiply, critical=(0.0,))  # an infinity times what may be 0


def divide_poles(a: Value, b: Value) -> np.ndarray:
    """By what may be zero of either sign, or so small that a GPU takes it for zero."""
    edge = rules.tiny(b.dtype) * 4
    return (b.lo <= edge) & (b.hi >= -edge)


def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of integers towards zero, and 0 where the divisor is."""
    if a.dtype.kind == "f":
        return np.divide(a, b)
    away = (np.fmod(a, b) != 0) & ((a < 0) != (b < 0))
    return np.floor_divide(a, b) + away.astype(a.dtype)


DIV = elementwise(divide, 8, f64_roundings=8, critical=(0.0,), poles=divide_poles)  # 0 over an infinity
EXP = elementwise(np.exp, 8, f64_roundings=8)
LOG_POLES = lambda x: np.abs(x.hi) < rules.tiny(x.dtype)  # noqa: E731
LOG = elementwise(np.log, 8, 8, f64_roundings=8, critical=(0.0,), poles=LOG_POLES)
SIGMOID = elementwise(building_blocks.sigmoid, 16, 8, f64_roundings=16)
SQUARE = elementwise(np.square, critical=(0.0,))
RSQRT = elementwise(lambda x: 1 / np.sqrt(x), 8, f64_roundings=8,
                    poles=lambda x: (x.lo <= rules.tiny(x.dtype)) & (x.hi >= -rules.tiny(x.dtype)))
SUM = rules.accumulated(
    lambda x, at: x.sum(axis=rules.reduction_axes(x, at), keepdims=at["keepdims"]),
    lambda x, at: np.add.reduce(x, axis=rules.reduction_axes(x, at), keepdims=at["keepdims"], dtype=x.dtype))
MATMUL = lambda a, b, at: np.matmul(a, b)  # noqa: E731
LAST = {"axes": [-1], "keepdims": True}


def one(rule: Rule, *operands: Value, **attributes: Any) -> Value:
    return rule(list(operands), attributes)[0]


def number(like: Floats, value: float) -> Floats:
    return Floats(like.dtype, *(np.asarray(each) for each in (value, value, False)))


def maximum_of(x: Floats, axes: list[int]) -> Floats:
    return one(over_rows(rules.extreme(1)), x, axes=axes, keepdims=True)


def mean_of(x: Floats, at: dict[str, Any]) -> Floats:
    count = np.prod([x.shape[axis] for axis in rules.reduction_axes(x, at)], dtype=np.float64)
    total = one(SUM, x, **at)
    if count:
        return one(elementwise(lambda sum_: sum_ / count, 8, f64_roundings=8), total)
    return exactly(x.dtype, np.full(total.shape, np.nan))


def keep(at: dict[str, Any]) -> dict[str, Any]:
    return at | {"keepdims": True}


def drop(value: Value, x: Value, at: dict[str, Any]) -> Value:
    """A reduction's result without the axes that were kept."""
    axes = rules.reduction_axes(x, at)
    return value if at["keepdims"] else value.map(lambda part: part.reshape(
        [n for axis, n in enumerate(part.shape) if axis not in axes]))


# ---- reductions ------------------------------------------------------------------------------------------------------


def softmax_statistics(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    (x,) = operands
    maximum = maximum_of(x, at["axes"])
    # A row of -inf, or of nothing, has the total 0.
    finite = maximum.map(lambda part: part)
    finite.lo, finite.hi = (np.where(np.isneginf(each), 0, each) for each in (maximum.lo, maximum.hi))
    total = one(SUM, exponentials(one(SUB, x, finite)), **keep(at))
    return [drop(maximum, x, at), drop(total, x, at)]


def exponentials(shifted: Floats) -> Floats:
    """Terms of a sum in which exp(0) is one: within 2^-22 of that."""
    return rules.with_roundings(one(EXP, shifted), 8, 8)


def mean_variance(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    (x,) = operands
    mean = mean_of(x, keep(at))
    count = np.prod([x.shape[axis] for axis in rules.reduction_axes(x, at)], dtype=np.float64)
    mean = rules.with_roundings(mean, 4 * count)
    variance = mean_of(one(SQUARE, one(SUB, x, mean)), keep(at))
    return [drop(mean, x, at), drop(rules.with_roundings(variance, 8 * count + 8), x, at)]


# ---- composites ------------------------------------------------------------------------------------------------------


def softmax(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    (x,), axes = operands, [at["axis"]]
    exponential = exponentials(one(SUB, x, maximum_of(x, axes)))
    return [one(DIV, exponential, one(SUM, exponential, axes=axes, keepdims=True))]


def layer_norm(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    x, weight, bias = operands
    mean, variance = mean_variance([x], {"axes": at["axes"], "keepdims": True})
    scale = one(RSQRT, one(ADD, variance, number(x, at["epsilon"])))
    return [one(ADD, one(MUL, one(MUL, one(SUB, x, mean), scale), weight), bias)]


def rms_norm(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    x, weight = operands
    mean_square = mean_of(one(SQUARE, x), LAST)
    scale = one(RSQRT, one(ADD, mean_square, number(x, at["epsilon"])))
    return [one(MUL, one(MUL, x, scale), weight)]


def cross_entropy(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    logits, target = operands
    maximum, total = softmax_statistics([logits], LAST)
    column = target.map(lambda part: part[:, None])
    (chosen,) = gather([logits, column], {"axis": -1})
    loss = one(ADD, one(LOG, total), one(SUB, maximum, chosen))
    ignored = Exact("bool", column.value == at["ignore_index"], column.unknown)
    counted = rules.choice([ignored, number(logits, 0.0), loss], {})[0]
    return [counted.map(lambda part: part[:, 0])]


def linear(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    x, weight, *bias = operands
    product = bilinear(MATMUL, x, weight.map(np.transpose), at)
    return [one(ADD, product, bias[0]) if bias else product]


def rope(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    x, cos, sin = operands
    half = x.shape[-1] // 2
    turned = x.map(lambda part: np.concatenate([part[..., half:], part[..., :half]], axis=-1))
    signs = np.where(np.arange(x.shape[-1]) < half, -1.0, 1.0)
    turned = one(MUL, turned, exactly(x.dtype, signs))
    return [rules.with_roundings(one(ADD, one(MUL, x, cos), one(MUL, turned, sin)), 1)]


def swiglu(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    gate, up = operands
    return [one(MUL, one(OPERATORS["silu"], gate), up)]


# ---- structured ------------------------------------------------------------------------------------------------------


def convolution(compute: Any) -> Rule:
    def rule(operands: list[Value], at: dict[str, Any]) -> list[Value]:
        x, filters = operands
        if not is_finite(filters).all():  # which may or may not meet the zeros of the padding
            shape = compute(np.zeros(x.shape), np.zeros(filters.shape), at).shape
            return [anything(x.dtype, shape)]
        return [bilinear(compute, x, filters, at)]

    return rule


def conv2d(x: np.ndarray, filters: np.ndarray, at: dict[str, Any]) -> np.ndarray:
    return building_blocks.convolve(x, filters, at["strides"], at["pads"], at["dilations"], at["group"])


def conv1d(x: np.ndarray, filters: np.ndarray, at: dict[str, Any]) -> np.ndarray:
    before, after = at["pads"]
    return building_blocks.convolve(x[:, None], filters[None], (1, at["stride"]), (0, before, 0, after),
                                    (1, at["dilation"]), at["group"])[:, 0]


def conv3d(x: np.ndarray, filters: np.ndarray, at: dict[str, Any]) -> np.ndarray:
    """Plane by plane of the filters, whose sums are those of the planes that they see."""
    (step, *strides), (apart, *dilations), pads = at["strides"], at["dilations"], at["pads"]
    x = np.pad(x, [(0, 0), (pads[0], pads[3]), *[(0, 0)] * 3])
    planes = (x.shape[1] - apart * (len(filters) - 1) - 1) // step + 1
    parts = []
    for number, plane in enumerate(filters):
        seen = x[:, number * apart :][:, ::step][:, :planes]
        part = building_blocks.convolve(seen.reshape(-1, *x.shape[2:]), plane, strides, (*pads[1:3], *pads[4:6]),
                                        dilations, at["group"])
        parts.append(part.reshape(len(x), planes, *part.shape[1:]))
    return np.sum(parts, axis=0)


def windows(x: Value, outside: float, at: dict[str, Any]) -> Value:
    """[N, OH, OW, C, elements of a window]."""
    form = at["window"], at["strides"], at["pads"], at["dilations"]
    fill = number_as(x.dtype, outside)
    parts = [building_blocks.windows_of(part, beyond.item(), *form) for part, beyond in zip(x.parts(), fill.parts())]
    return type(x)(x.dtype, *parts)


def max_pool2d(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    (x,) = operands
    least = -np.inf if isinstance(x, Floats) else np.iinfo(x.value.dtype).min
    return rules.extreme(1)(windows(x, least, at))


def average_pool2d(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    (x,) = operands
    total = one(SUM, windows(x, 0, at), axes=[-1], keepdims=False)
    inside = windows(exactly("i64", np.ones(x.shape, np.int64)), int(at["count_include_pad"]), at)
    count = inside.value.sum(axis=-1).astype(np.float64)
    return [one(DIV, total, Floats(x.dtype, count, count, np.zeros(count.shape, bool)))]


def pad(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    (x,) = operands
    rank = len(x.shape)
    widths = [(at["pads"][axis], at["pads"][rank + axis]) for axis in range(rank)]
    if at["mode"] != "constant":
        if any(n == 0 for n in x.shape):
            return [anything(x.dtype, tuple(n + sum(w) for n, w in zip(x.shape, widths)))]
        return [x.map(lambda part: np.pad(part, widths, mode=at["mode"]))]
    frame = number_as(x.dtype, at["value"])
    parts = [np.pad(part, widths, constant_values=value.item()) for part, value in zip(x.parts(), frame.parts())]
    return [type(x)(x.dtype, *parts)]


def number_as(dtype: str, value: float) -> Value:
    """A number in a graph's text, as an operand: rounded to the dtype, or, within a chain, perhaps not."""
    if dtype not in FLOATS:
        return exactly(dtype, np.asarray(value))
    exact = Floats(dtype, *(np.asarray(each) for each in (float(value), float(value), value != value)))
    return rules.rounded(exact, dtype, surely=False)


def cumulated(x: np.ndarray, at: dict[str, Any], dtype: type | None = None) -> np.ndarray:
    axis = at["axis"]
    x = np.flip(x, axis) if at["reverse"] else x
    sums = np.cumsum(x, axis=axis, dtype=dtype or x.dtype)
    if at["exclusive"]:
        first = [1 if i == axis % x.ndim else n for i, n in enumerate(x.shape)]
        sums = np.concatenate([np.zeros([min(a, b) for a, b in zip(first, x.shape)], sums.dtype), sums], axis)
        sums = np.take(sums, np.arange(x.shape[axis]), axis)
    return np.flip(sums, axis) if at["reverse"] else sums


def running_product(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    (x,) = operands
    axis, count = at["axis"] % len(x.shape), x.shape[at["axis"]]
    if count == 0:
        return [x]
    line = x.map(lambda part: np.moveaxis(np.flip(part, axis) if at["reverse"] else part, axis, -1))
    ends = range(count) if at["exclusive"] else range(1, count + 1)
    products = [rules.product(line.map(lambda part: part[..., :end]))[0] for end in ends]  # noqa: B023
    parts = [np.moveaxis(np.stack(each, axis=-1), -1, axis) for each in zip(*(one.parts() for one in products))]
    return [type(x)(x.dtype, *(np.flip(part, axis) if at["reverse"] else part for part in parts))]


# ---- by index --------------------------------------------------------------------------------------------------------


def gather(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    x, indices = operands
    axis = at["axis"] % len(x.shape)
    rank = max(len(x.shape), len(indices.shape))
    aligned = indices.map(lambda part: part.reshape([1] * (rank - len(part.shape)) + list(part.shape)))
    x = x.map(lambda part: part.reshape([1] * (rank - len(part.shape)) + list(part.shape)))
    axis += rank - len(operands[0].shape)
    common = np.broadcast_shapes(tuple(1 if i == axis else n for i, n in enumerate(x.shape)), aligned.shape)
    aligned = aligned.map(lambda part: np.broadcast_to(part, common))
    line = tuple(x.shape[axis] if i == axis else n for i, n in enumerate(common))
    chosen = x.map(lambda part: take(np.broadcast_to(part, line), aligned.value.astype(np.int64), axis))
    wide = anything(x.dtype, common)
    if isinstance(x, Floats):  # NaN where an index is beyond the axis
        outside = np.isnan(chosen.lo)
        chosen.nan = chosen.nan | outside
    parts = [np.where(aligned.unknown, w, c) for w, c in zip(wide.parts(), chosen.parts())]
    return [type(chosen)(x.dtype, *parts)]


def take(x: np.ndarray, indices: np.ndarray, axis: int) -> np.ndarray:
    if x.dtype == bool or x.dtype.kind in "iuf":
        return building_blocks.element_at(x, indices, axis)
    raise TypeError(x.dtype)


def embedding(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    indices, weight = operands
    flat = indices.map(lambda part: part.reshape(-1, 1))
    (rows,) = gather([weight, flat], {"axis": 0}) if flat.shape[0] else [weight.map(lambda part: part[:0])]
    return [rows.map(lambda part: part.reshape(*indices.shape, weight.shape[1]))]


def one_hot(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    (indices,) = operands
    place = np.where(indices.value < 0, indices.value + at["depth"], indices.value)[..., None]
    value = place == np.arange(at["depth"])
    return [Exact("bool", value, np.broadcast_to(indices.unknown[..., None], value.shape))]


def scatter(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    """Sums and products in the order of the indices; no graph is drawn where they round."""
    out, indices, updates = operands
    axis = at["axis"] % len(out.shape)
    extent = out.shape[axis]
    places = np.arange(extent).reshape([-1 if i == axis else 1 for i in range(len(out.shape))])
    wide = anything(out.dtype, out.shape)
    for step in range(indices.shape[axis]):
        index = np.take(indices.value, [step], axis).astype(np.int64)
        met = places == np.where(index < 0, index + extent, index)
        update = updates.map(lambda part: np.broadcast_to(np.take(part, [step], axis), out.shape))  # noqa: B023
        if at["reduction"] != "none":
            op = {"max": "maximum", "min": "minimum"}.get(at["reduction"], at["reduction"])
            (update,) = OPERATORS[op]([out, update], {})
        parts = [np.where(met, new, old) for new, old in zip(update.parts(), out.parts())]
        unknown = np.take(indices.unknown, [step], axis)
        out = type(out)(out.dtype, *(np.where(unknown, w, part) for w, part in zip(wide.parts(), parts)))
    return [out]


# ---- views -----------------------------------------------------------------------------------------------------------


def sliced(x: np.ndarray, at: dict[str, Any]) -> np.ndarray:
    axis = at["axis"] % x.ndim
    return x[(slice(None),) * axis + (slice(at["begin"], at["end"], at["step"]),)]


def concat(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    parts = [np.concatenate(each, axis=at["axis"]) for each in zip(*(operand.parts() for operand in operands))]
    return [type(operands[0])(operands[0].dtype, *parts)]


def index_update(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    buffer, update = operands
    axis, begin = at["axis"] % len(buffer.shape), at["begin"]
    place = (slice(None),) * axis + (slice(begin, begin + update.shape[axis]),)
    parts = [part.copy() for part in buffer.parts()]
    for part, new in zip(parts, update.parts()):
        part[place] = new
    return [type(buffer)(buffer.dtype, *parts)]


# ---- the table -------------------------------------------------------------------------------------------------------

moved = rules.rearrangement


def power(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """With the special cases of IEEE 754-2019, section 9.2.1, that NumPy's vector code has as NaN."""
    a, b = np.broadcast_arrays(np.asarray(a), np.asarray(b))
    result = np.asarray(np.power(a, b))
    if result.dtype.kind != "f":
        return result
    even = (b != np.rint(b)) | (np.fmod(b, 2) == 0)  # or no integer
    result = np.where(np.isneginf(a) & (b > 0) & even, np.inf, result)
    result = np.where(np.isneginf(a) & (b < 0) & even, 0.0, result)
    return np.where((np.abs(a) == 1) & np.isinf(b) | (a == 1) | (b == 0), 1.0, result)


def power_poles(a: Value, b: Value) -> np.ndarray:
    """Around 0, and of what may be negative, the exponent decides whether there is a power."""
    return (a.lo <= rules.tiny(a.dtype)) & ~(a.exact & b.exact & (b.lo > 0)) & ~np.isnan(b.lo)


def tangent_poles(x: Value) -> np.ndarray:
    return ~x.exact & (np.floor(x.lo / np.pi + 0.5) != np.floor(x.hi / np.pi + 0.5))


def atan2_poles(y: Value, x: Value) -> np.ndarray:
    """Left of the origin, the sign of a zero counts; around it, anything does."""
    edge = rules.tiny(x.dtype) * 4
    return (y.lo <= edge) & (y.hi >= -edge) & (x.lo <= edge)


def limited(x: np.ndarray, minimum: float, maximum: float) -> np.ndarray:
    """Between numbers that the dtype of x may not hold."""
    if x.dtype.kind == "f":
        return np.minimum(np.maximum(x, minimum), maximum)
    limits = np.iinfo(x.dtype)
    low, high = max(minimum, limits.min), min(maximum, limits.max)
    return np.minimum(np.maximum(x, x.dtype.type(math.ceil(low))), x.dtype.type(math.floor(high)))


def is_infinite(x: Floats, detect_negative: bool, detect_positive: bool, surely: bool) -> np.ndarray:
    """Certainly, or possibly."""
    known = ~x.nan if surely else True
    negative = np.isneginf(x.hi if surely else x.lo) & known
    positive = np.isposinf(x.lo if surely else x.hi) & known
    return negative & detect_negative | positive & detect_positive


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def silu(x: np.ndarray) -> np.ndarray:
    return x * building_blocks.sigmoid(x)


def activation(compute, lowest: float) -> Rule:
    """x times a weight of which each bit of 1 may be lost: an error relative to x. At -inf the product of infinity and
    0 is NaN, where the limit is 0."""

    def rule(operands: list[Value], at: dict[str, Any]) -> list[Value]:
        (x,) = operands
        value = one(elementwise(compute, 16, critical=(lowest,), f64_roundings=64), x)
        # Where x has no bound, the least value is that at the critical point or at the other bound.
        nearest = np.fmax(np.fmin(np.abs(x.lo), np.abs(x.hi)), abs(lowest))
        reach = np.where(np.isfinite(rules.magnitude(x)), rules.magnitude(x), nearest)
        value = rules.widened(value, np.where(np.isfinite(reach), 64 * rules.unit(x.dtype) * reach, 0))
        infinite = np.isneginf(x.lo)
        return [Floats(x.dtype, np.where(infinite, np.fmin(np.where(np.isnan(value.lo), 0, value.lo), 0), value.lo),
                       np.where(infinite, np.fmax(np.where(np.isnan(value.hi), 0, value.hi), 0), value.hi),
                       value.nan | infinite)]

    return rule


OPERATORS: dict[str, Rule] = {
    # comparisons
    "equal": rules.comparison(np.equal),
    "not_equal": rules.comparison(np.not_equal),
    "less": rules.comparison(np.less),
    "less_equal": rules.comparison(np.less_equal),
    "greater": rules.comparison(np.greater),
    "greater_equal": rules.comparison(np.greater_equal),
    "logical_and": rules.logical(np.logical_and),
    "logical_or": rules.logical(np.logical_or),
    "logical_xor": rules.logical(np.logical_xor),
    "logical_not": rules.logical(np.logical_not),
    "isnan": rules.property_of(lambda x: np.isnan(x.lo), lambda x: x.nan),
    "isinf": rules.property_of(lambda x, **at: is_infinite(x, surely=True, **at),
                               lambda x, **at: is_infinite(x, surely=False, **at)),
    "isfinite": rules.property_of(is_finite, lambda x: ~(np.isnan(x.lo) | np.isposinf(x.lo) | np.isneginf(x.hi))),
    "where": rules.choice,
    # bits
    "bitwise_and": rules.on_integers(np.bitwise_and),
    "bitwise_or": rules.on_integers(np.bitwise_or),
    "bitwise_xor": rules.on_integers(np.bitwise_xor),
    "bitwise_not": rules.on_integers(np.invert),
    "shift_left": rules.on_integers(np.left_shift),
    "shift_right": rules.on_integers(np.right_shift),
    # arithmetic
    "add": ADD,
    "sub": SUB,
    "mul": MUL,
    "div": DIV,
    "floor_divide": elementwise(np.floor_divide, 8, f64_roundings=8, critical=(0.0,), poles=divide_poles),
    "mod": rules.remainder(np.mod, lambda a, b: np.floor(a / b), 1),
    "fmod": rules.remainder(np.fmod, lambda a, b: np.trunc(a / b), 0),
    "neg": elementwise(np.negative, f64_roundings=0),
    "abs": elementwise(np.abs, critical=(0.0,), f64_roundings=0),
    "minimum": elementwise(np.minimum, f64_roundings=0),
    "maximum": elementwise(np.maximum, f64_roundings=0),
    "pow": elementwise(power, 64, f64_roundings=64, critical=(0.0, 1.0), poles=power_poles),
    "reciprocal": elementwise(np.reciprocal, 8, f64_roundings=8, poles=lambda x: divide_poles(x, x)),
    "square": SQUARE,
    "floor": elementwise(np.floor, f64_roundings=0),
    "ceil": elementwise(np.ceil, f64_roundings=0),
    "round": elementwise(np.rint, f64_roundings=0),
    "trunc": elementwise(np.trunc, f64_roundings=0),
    "sign": elementwise(np.sign, f64_roundings=0),
    "clamp": elementwise(limited, 1),
    "sqrt": elementwise(np.sqrt, 4, f64_roundings=4, critical=(0.0,)),
    "rsqrt": RSQRT,
    "exp": EXP,
    "exp_nonpositive": elementwise(np.exp, 8, f64_roundings=8, poles=lambda x: x.hi > 0),
    "log": LOG,
    "exp2": elementwise(np.exp2, 8, f64_roundings=8),
    "expm1": elementwise(np.expm1, 8, f64_roundings=8),
    "log2": elementwise(np.log2, 8, 8, f64_roundings=8, critical=(0.0,), poles=LOG_POLES),
    "log10": elementwise(np.log10, 8, 8, f64_roundings=8, critical=(0.0,), poles=LOG_POLES),
    "log1p": elementwise(np.log1p, 8, f64_roundings=8, critical=(-1.0,)),
    "sin": rules.slowly(np.sin, 8),
    "cos": rules.slowly(np.cos, 8),
    "tan": elementwise(np.tan, 16, f64_roundings=16, poles=tangent_poles),
    "asin": elementwise(np.arcsin, 8, f64_roundings=8, critical=(-1.0, 1.0)),
    "acos": elementwise(np.arccos, 8, f64_roundings=8, critical=(-1.0, 1.0)),
    "atan": elementwise(np.arctan, 8, f64_roundings=8),
    "atan2": elementwise(np.arctan2, 8, f64_roundings=8, critical=(0.0,), poles=atan2_poles),
    "sinh": elementwise(np.sinh, 16, f64_roundings=16),
    "cosh": elementwise(np.cosh, 16, f64_roundings=16, critical=(0.0,)),
    "asinh": elementwise(np.arcsinh, 8, f64_roundings=8),
    "acosh": elementwise(np.arccosh, 8, f64_roundings=8, critical=(1.0,)),
    "atanh": elementwise(np.arctanh, 8, f64_roundings=8, critical=(-1.0, 1.0)),
    "tanh": elementwise(np.tanh, 16, f64_roundings=16),
    "erf": elementwise(building_blocks.erf, 16, 4, f64_roundings=16),
    "relu": elementwise(lambda x: np.maximum(x, np.zeros((), x.dtype)), f64_roundings=0),
    "sigmoid": SIGMOID,
    "copy": moved(lambda x, at: x),
    "cast": rules.cast,
    "narrow": rules.narrow,
    "gather": gather,
    "embedding": embedding,
    "one_hot": one_hot,
    # reductions
    "sum": SUM,
    "mean": lambda operands, at: [drop(mean_of(operands[0], keep(at)), operands[0], at)],
    "prod": over_rows(rules.product),
    "max": over_rows(rules.extreme(1)),
    "min": over_rows(rules.extreme(-1)),
    "argmax": over_rows(rules.place_of_extreme(1, lambda x, axis: building_blocks.place_of(np.argmax, x, axis))),
    "argmin": over_rows(rules.place_of_extreme(-1, lambda x, axis: building_blocks.place_of(np.argmin, x, axis))),
    "all": over_rows(rules.truth(np.all)),
    "any": over_rows(rules.truth(np.any)),
    "softmax_statistics": softmax_statistics,
    "mean_variance": mean_variance,
    # composites
    "silu": activation(silu, -1.2784645427610738),
    "gelu": activation(building_blocks.gelu, -0.7517916243860417),
    "gelu_tanh": activation(gelu_tanh, -0.7524614220710613),
    "swiglu": swiglu,
    "softmax": softmax,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "cross_entropy": cross_entropy,
    "linear": linear,
    "rope": rope,
    # structured
    "matmul": rules.sum_of_products(MATMUL),
    "conv2d": convolution(conv2d),
    "conv3d": convolution(conv3d),
    "conv1d": convolution(conv1d),
    "max_pool2d": max_pool2d,
    "average_pool2d": average_pool2d,
    "pad": pad,
    "trilu": moved(lambda x, at: (np.triu if at["upper"] else np.tril)(x, at["diagonal"])),
    "cumsum": rules.accumulated(cumulated, cumulated),
    "cumprod": running_product,
    "scatter": scatter,
    # views
    "transpose": moved(lambda x, at: np.transpose(x, at["perm"])),
    "reshape": moved(lambda x, at: np.reshape(x, at["shape"])),
    "broadcast_to": moved(lambda x, at: np.broadcast_to(x, at["shape"])),
    "slice": moved(sliced),
    "select": moved(lambda x, at: np.take(x, at["index"], at["axis"])),
    "unsqueeze": moved(lambda x, at: np.expand_dims(x, at["axis"])),
    "squeeze": moved(lambda x, at: np.squeeze(x, at["axis"])),
    "flip": moved(lambda x, at: np.flip(x, at["axis"])),
    "concat": concat,
    "index_update": index_update,
}
