"""What the operators compute that specs/ops gives by expansions, written from their definitions in the literature, and with
the table of all operators."""

from collections.abc import Callable
from typing import Any

import numpy as np

import attentions
import byte_products
import groups
import layers
import paged
import references
import rules
import sampling
import selections
import transforms
import windows
from enclosure import Exact, Floats, Value
from references import ADD, DIV, EXP, LOG, MUL, RSQRT, SIGMOID, SQUARE, SUB, SUM, maximum_of, number, one
from rules import Rule

PRIMITIVES = references.OPERATORS | windows.OPERATORS
ABS, NEG, RELU, TANH, SQRT, CLAMP, ROUND, EXPM1, LOG1P, GREATER, EQUAL, MAXIMUM, MINIMUM = (
    PRIMITIVES[name] for name in ("abs", "neg", "relu", "tanh", "sqrt", "clamp", "round", "expm1", "log1p", "greater",
                                  "equal", "maximum", "minimum"))
Activation = Callable[..., Value]


def activation(compute: Activation) -> Rule:
    """compute(x, attributes...): one enclosure of another."""
    return lambda operands, at: [compute(*operands, **at)]


def chosen(condition: Exact, a: Floats, b: Floats) -> Floats:
    return rules.choice([condition, a, b], {})[0]


# ---- activations -----------------------------------------------------------------------------------------------------


def bent(x: Floats, below: Floats) -> Floats:
    """x above 0, else the other."""
    return chosen(one(GREATER, x, number(x, 0.0)), x, below)


def times(x: Floats, factor: float) -> Floats:
    return one(MUL, x, references.number_as(x.dtype, factor))


def elu(x: Floats, alpha: float) -> Floats:
    return bent(x, times(one(EXPM1, x), alpha))


def celu(x: Floats, alpha: float) -> Floats:
    return bent(x, times(one(EXPM1, one(DIV, x, references.number_as(x.dtype, alpha))), alpha))


def softplus(x: Floats) -> Floats:
    return one(ADD, one(RELU, x), one(LOG1P, one(EXP, one(NEG, one(ABS, x)))))


def hard_sigmoid(x: Floats, alpha: float, beta: float) -> Floats:
    line = one(ADD, times(x, alpha), references.number_as(x.dtype, beta))
    return one(CLAMP, line, minimum=0.0, maximum=1.0)


def shrink(x: Floats, lambd: float, bias: float) -> Floats:
    edge, step = (references.number_as(x.dtype, each) for each in (lambd, bias))
    zero = number(x, 0.0)
    lower = chosen(one(GREATER, one(NEG, x), edge), one(ADD, x, step), zero)
    return chosen(one(GREATER, x, edge), one(SUB, x, step), lower)


def thresholded_relu(x: Floats, alpha: float) -> Floats:
    return chosen(one(GREATER, x, references.number_as(x.dtype, alpha)), x, number(x, 0.0))


def safe_softmax(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    (weights,) = references.softmax(operands, at)
    never = np.isnan(weights.lo)
    undefined = Exact("bool", never, weights.nan & ~never)
    return [one(rules.choice, undefined, number(weights, 0.0), weights)]


# ---- normalisation ---------------------------------------------------------------------------------------------------


def log_softmax(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    (x,), axes = operands, [at["axis"]]
    shifted = one(SUB, x, maximum_of(x, axes))
    total = one(SUM, references.exponentials(shifted), axes=axes, keepdims=True)
    return [one(SUB, shifted, one(LOG, total))]


def channel_affine(x: Floats, scale: Floats, shift: Floats) -> Floats:
    column = lambda each: each.map(lambda part: part.reshape([-1] + [1] * (len(x.shape) - 2)))  # noqa: E731
    return one(ADD, one(MUL, x, column(scale)), column(shift))


def batch_norm(x: Floats, weight: Floats, bias: Floats, mean: Floats, variance: Floats, epsilon: float) -> Floats:
    scale = one(MUL, weight, one(RSQRT, one(ADD, variance, number(x, epsilon))))
    return channel_affine(x, scale, one(SUB, bias, one(MUL, mean, scale)))


def normalised(x: Floats, axes: list[int], epsilon: float) -> Floats:
    (result,) = references.layer_norm([x, number(x, 1.0), number(x, 0.0)], {"axes": axes, "epsilon": epsilon})
    return result


def instance_norm(x: Floats, weight: Floats, bias: Floats, epsilon: float) -> Floats:
    return channel_affine(normalised(x, list(range(2, len(x.shape))), epsilon), weight, bias)


def group_norm(x: Floats, weight: Floats, bias: Floats, groups: int, epsilon: float) -> Floats:
    n, c, *rest = x.shape
    grouped = x.map(lambda part: part.reshape(n, groups, c // groups, *rest))
    each = normalised(grouped, list(range(2, len(grouped.shape))), epsilon)
    return channel_affine(each.map(lambda part: part.reshape(x.shape)), weight, bias)


def rope_interleaved(x: Floats, cos: Floats, sin: Floats) -> Floats:
    first, second = (x.map(lambda part, start=start: part[..., start::2]) for start in (0, 1))
    rotated = [one(SUB, one(MUL, first, cos), one(MUL, second, sin)),
               one(ADD, one(MUL, second, cos), one(MUL, first, sin))]
    parts = [np.stack(pair, axis=-1).reshape(x.shape) for pair in zip(*(each.parts() for each in rotated))]
    return Floats(x.dtype, *parts)


# ---- reductions ------------------------------------------------------------------------------------------------------


def log_sum_exp(x: Floats, **at: Any) -> Floats:
    maximum, total = references.softmax_statistics([x], at)
    infinite = one(EQUAL, one(ABS, maximum), number(x, np.inf))
    return chosen(infinite, maximum, one(ADD, maximum, one(LOG, total)))


# ---- quantisation ----------------------------------------------------------------------------------------------------


def in_f32(x: Value) -> Floats:
    if isinstance(x, Floats):
        return Floats("f32", x.lo, x.hi, x.nan)
    return rules.cast([x], {"to": "f32"})[0]


def quantize(x: Floats, scale: Floats, zero_point: Value, saturate: bool) -> Value:
    assert saturate  # as it is always drawn
    ratio = one(DIV, in_f32(x), in_f32(scale))
    to = zero_point.dtype
    if isinstance(zero_point, Floats):
        return rules.float_to_float(one(ADD, ratio, in_f32(zero_point)), to)
    limits = np.iinfo(zero_point.value.dtype)
    stored = one(ADD, one(ROUND, ratio), in_f32(zero_point))
    saturated = one(CLAMP, stored, minimum=float(limits.min), maximum=float(limits.max))
    return rules.float_to_exact(saturated, to)


def dequantize(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    x, scale, *zero_point = operands
    steps = one(SUB, in_f32(x), in_f32(zero_point[0])) if zero_point else in_f32(x)
    product = one(MUL, steps, in_f32(scale))
    return [Floats(scale.dtype, product.lo, product.hi, product.nan)]


def dynamic_quantize(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    (x,), whole = operands, {"axes": [], "keepdims": False}
    zero = number(x, 0.0)
    high = one(MAXIMUM, PRIMITIVES["max"]([x], whole)[0], zero)
    low = one(MINIMUM, PRIMITIVES["min"]([x], whole)[0], zero)
    reach = one(SUB, high, low)
    scale = chosen(one(EQUAL, reach, zero), number(x, 1.0), one(DIV, reach, number(x, 255.0)))
    steps = one(ROUND, one(NEG, one(DIV, low, scale)))
    zero_point = rules.float_to_exact(one(CLAMP, steps, minimum=0.0, maximum=255.0), "u8")
    return [quantize(x, scale, zero_point, saturate=True), scale, zero_point]


def dequantize_blocks(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    x, scale = operands

    def repeated(part: np.ndarray) -> np.ndarray:
        whole = np.repeat(np.repeat(part, int(at["rows"]), axis=-2), int(at["columns"]), axis=-1)
        return whole[..., : x.shape[-2], : x.shape[-1]]

    return dequantize([x, scale.map(repeated)], {})


def block_scaled_matmul(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    a, b, a_scale, b_scale = operands
    (left,) = dequantize_blocks([a, a_scale], {"rows": 1, "columns": 128})
    (right,) = dequantize_blocks([b, b_scale], {"rows": 128, "columns": at["width"]})
    return PRIMITIVES["matmul"]([left, right], {})


OPERATORS: dict[str, Rule] = PRIMITIVES | attentions.OPERATORS | selections.OPERATORS | sampling.OPERATORS | layers.OPERATORS | byte_products.OPERATORS | groups.OPERATORS | paged.OPERATORS | transforms.OPERATORS | {
    "leaky_relu": activation(lambda x, alpha: bent(x, times(x, alpha))),
    "prelu": activation(lambda x, slope: bent(x, one(MUL, x, slope))),
    "relu6": activation(lambda x: one(CLAMP, x, minimum=0.0, maximum=6.0)),
    "thresholded_relu": activation(thresholded_relu),
    "shrink": activation(shrink),
    "elu": activation(elu),
    "selu": activation(lambda x, alpha, gamma: times(elu(x, alpha), gamma)),
    "celu": activation(celu),
    "softplus": activation(softplus),
    "log_sigmoid": activation(lambda x: one(NEG, softplus(one(NEG, x)))),
    "hard_sigmoid": activation(hard_sigmoid),
    "hard_swish": activation(lambda x: one(MUL, x, hard_sigmoid(x, 1 / 6, 0.5))),
    "mish": activation(lambda x: one(MUL, x, one(TANH, softplus(x)))),
    "quick_gelu": activation(lambda x, alpha: one(MUL, x, one(SIGMOID, times(x, alpha)))),
    "softsign": activation(lambda x: one(DIV, x, one(ADD, one(ABS, x), number(x, 1.0)))),
    "log_softmax": log_softmax,
    "safe_softmax": safe_softmax,
    "channel_affine": activation(channel_affine),
    "batch_norm": activation(batch_norm),
    "instance_norm": activation(instance_norm),
    "group_norm": activation(group_norm),
    "rope_interleaved": activation(rope_interleaved),
    "reduce_l1": activation(lambda x, **at: one(SUM, one(ABS, x), **at)),
    "reduce_l2": activation(lambda x, **at: one(SQRT, one(SUM, one(SQUARE, x), **at))),
    "sum_square": activation(lambda x, **at: one(SUM, one(SQUARE, x), **at)),
    "log_sum": activation(lambda x, **at: one(LOG, one(SUM, x, **at))),
    "log_sum_exp": activation(log_sum_exp),
    "variance": lambda operands, at: references.mean_variance(operands, at)[1:],
    "quantize_linear": activation(quantize),
    "dequantize_linear": dequantize,
    "dequantize_blocks": dequantize_blocks,
    "block_scaled_matmul": block_scaled_matmul,
    "dynamic_quantize_linear": dynamic_quantize,
}
