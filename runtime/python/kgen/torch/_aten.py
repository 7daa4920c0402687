"""What ATen's operators are in kgen's. The tables are the mapping; an operator that needs more than a name has a function.

Names are those of core ATen (https://docs.pytorch.org/docs/stable/torch.compiler_ir.html) and of the composite operators
above it that kgen computes whole; of one that is not here, PyTorch's own decomposition is taken where there is one."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, overload

import sympy  # type: ignore[import-untyped, unused-ignore]
import torch
from torch.utils._sympy.functions import FloorDiv

from ._graph import Dim, Graph, Operand, Unsupported, Value

# The same value, in inference.
IDENTITY = """alias.default clone.default contiguous.default detach.default lift_fresh_copy.default alias_copy.default
detach_copy.default lift.default""".split()

# One tensor, computed in the dtype of the result.
UNARY = {
    "abs": "abs", "acos": "acos", "acosh": "acosh", "asin": "asin", "asinh": "asinh", "atan": "atan", "atanh": "atanh",
    "ceil": "ceil", "cos": "cos", "cosh": "cosh", "erf": "erf", "exp": "exp", "exp2": "exp2", "expm1": "expm1",
    "floor": "floor", "log": "log", "log10": "log10", "log1p": "log1p", "log2": "log2", "neg": "neg", "_neg_view": "neg",
    "reciprocal": "reciprocal", "relu": "relu", "round": "round", "rsqrt": "rsqrt", "sigmoid": "sigmoid", "silu": "silu",
    "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "square": "square", "tan": "tan", "tanh": "tanh",
    "trunc": "trunc", "fix": "trunc", "relu6": "relu6", "mish": "mish", "log_sigmoid": "log_sigmoid",
    "logical_not": "logical_not", "bitwise_not": "bitwise_not", "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite",
}  # fmt: skip

# Two that broadcast, both in the dtype of the result.
BINARY = {
    "mul": "mul", "atan2": "atan2", "maximum": "maximum", "minimum": "minimum", "fmod": "fmod", "remainder": "mod",
    "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor", "pow": "pow",
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor",
    "bitwise_left_shift": "shift_left", "bitwise_right_shift": "shift_right", "floor_divide": "floor_divide",
    "__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor", "__lshift__": "shift_left",
    "__rshift__": "shift_right",
}  # fmt: skip
ON_BOOLS = {"bitwise_and": "logical_and", "bitwise_or": "logical_or", "bitwise_xor": "logical_xor",
            "bitwise_not": "logical_not", "mul": "logical_and", "add": "logical_or", "maximum": "logical_or",
            "minimum": "logical_and"}  # fmt: skip

COMPARISONS = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}

# Over `dim`, all axes where there is none.
REDUCTIONS = {"sum": "sum", "mean": "mean", "amax": "max", "amin": "min", "any": "any", "all": "all", "prod": "prod",
              "logsumexp": "log_sum_exp"}  # fmt: skip

Rule = Callable[..., Any]
RULES: Dict[str, Rule] = {}


def aten(*names: str) -> Callable[[Rule], Rule]:
    """The rule of these operators: rule(builder, out, *arguments), where `out` is the result's value as PyTorch has it."""

    def add(rule: Rule) -> Rule:
        for name in names:
            RULES[name] = rule
        return rule

    return add


def rule_of(name: str) -> Optional[Rule]:
    """Of "add.Tensor", or of its base name where every overload has the same; None where there is none."""
    return RULES.get(name) or RULES.get(name.split(".")[0])


class Builder:
    """What rules write with. Raises Unsupported."""

    graph: Graph
    is_unfused = False
    """Whether the graph rounds after every operator."""

    def emit(self, op: str, operands: Sequence[Operand], dtype: torch.dtype, shape: Sequence[Dim], /, **attributes: Any) -> Value:
        raise NotImplementedError

    def emit_many(self, op: str, operands: Sequence[Operand], types: Sequence[Tuple[torch.dtype, Sequence[Dim]]], /, **attributes: Any) -> List[Value]:  # fmt: skip
        raise NotImplementedError

    def constant(self, tensor: torch.Tensor, wanted: str) -> Value:
        raise NotImplementedError

    def wants(self, result: int) -> bool:
        """Whether anything reads this one of the operator's results."""
        raise NotImplementedError

    def strides_of_first(self) -> Optional[Sequence[Dim]]:
        """The strides of PyTorch's of the operator's first operand; None where it does not fill its memory without gaps."""
        raise NotImplementedError

    @overload
    def cast(self, value: Value, dtype: torch.dtype) -> Value: ...
    @overload
    def cast(self, value: Operand, dtype: torch.dtype) -> Operand: ...
    def cast(self, value: Operand, dtype: torch.dtype) -> Operand:
        """The value in the dtype; numbers are written as it wants them, and symbolic sizes become values."""
        if isinstance(value, sympy.Expr):
            value = self.emit("dim_value", [], torch.int64, (), dim=value)
        if isinstance(value, Value):
            return value if value.dtype == dtype else self.emit("cast", [value], dtype, value.shape, to=dtype)
        if value is None or dtype == torch.bool:
            return value
        return float(value) if dtype.is_floating_point else int(value)

    def dtype_within(self, dtype: torch.dtype) -> torch.dtype:
        """Of the steps of what PyTorch rounds once, at its end."""
        return torch.float32 if self.is_unfused and dtype in (torch.bfloat16, torch.float16) else dtype

    def tensor(self, value: Operand, dtype: torch.dtype) -> Value:
        cast = self.cast(value, dtype)
        return cast if isinstance(cast, Value) else self.constant(torch.tensor(cast, dtype=dtype), "number")

    def source(self, value: Value, op: str) -> Optional[Tuple[Value, Dict[str, Any]]]:
        """What an operator of this name made the value of, and its attributes; None where something else made it."""
        raise NotImplementedError

    def is_counting(self, value: Value) -> bool:
        """Whether the value is an iota from 0 on or more, upwards."""
        raise NotImplementedError

    def reshape(self, value: Value, shape: Sequence[Dim]) -> Value:
        before = self.source(value, "reshape")
        value = before[0] if before else value
        return value if tuple(shape) == value.shape else self.emit("reshape", [value], value.dtype, shape, shape=list(shape))

    def transpose(self, value: Value, perm: Sequence[int]) -> Value:
        before = self.source(value, "transpose")
        if before:
            value, perm = before[0], [before[1]["perm"][axis] for axis in perm]
        if list(perm) == list(range(value.rank)):
            return value
        return self.emit("transpose", [value], value.dtype, [value.shape[axis] for axis in perm], perm=list(perm))

    def broadcast(self, value: Value, shape: Sequence[Dim]) -> Value:
        return value if tuple(shape) == value.shape else self.emit("broadcast_to", [value], value.dtype, shape, shape=list(shape))

    def slice(self, value: Value, axis: int, begin: Dim, end: Dim, step: int = 1) -> Value:
        extent = end - begin
        if step != 1:
            extent = (extent + step - 1) // step if isinstance(extent, int) else FloorDiv(extent + step - 1, step)
        shape = [extent if i == axis else size for i, size in enumerate(value.shape)]
        extra = {"step": step} if step != 1 else {}
        return self.emit("slice", [value], value.dtype, shape, axis=axis, begin=begin, end=end, **extra)


def is_number(operand: Operand, number: int) -> bool:
    return isinstance(operand, (int, float)) and not isinstance(operand, bool) and operand == number


def axis_of(dim: int, rank: int) -> int:
    return dim + rank if dim < 0 else dim


def axes_of(dims: Any, rank: int) -> List[int]:
    if dims is None or (isinstance(dims, (list, tuple)) and not dims):
        return list(range(rank))
    return sorted(axis_of(dim, rank) for dim in (dims if isinstance(dims, (list, tuple)) else [dims]))


def size_of(shape: Sequence[Dim]) -> Dim:
    total: Dim = 1
    for extent in shape:
        total = total * extent
    return total


def broadcast_shape(one: Sequence[Dim], other: Sequence[Dim]) -> List[Dim]:
    """Of two that PyTorch has found to fit."""
    rank = max(len(one), len(other))
    extents = [[1] * (rank - len(each)) + list(each) for each in (one, other)]
    return [right if left == 1 else left for left, right in zip(*extents)]


def refuse(reason: str) -> Any:
    raise Unsupported(reason)


def require(holds: bool, reason: str) -> None:
    if not holds:
        raise Unsupported(reason)


# ---- tables --------------------------------------------------------------------------------------------------------------


def _unary(op: str) -> Rule:
    def rule(b: Builder, out: Value, x: Value) -> Value:
        if out.dtype == torch.bool:
            if op in ("isnan", "isinf", "isfinite"):
                if not x.dtype.is_floating_point:
                    return b.broadcast(b.tensor(op == "isfinite", torch.bool), out.shape)
                return b.emit(op, [x], torch.bool, out.shape)
            return b.emit(ON_BOOLS.get(op, op), [b.cast(x, torch.bool)], torch.bool, out.shape)
        if op in ("floor", "ceil", "round", "trunc") and not x.dtype.is_floating_point:
            return x
        return b.emit(op, [b.cast(x, out.dtype)], out.dtype, out.shape)

    return rule


def binary(op: str) -> Rule:
    def rule(b: Builder, out: Value, left: Operand, right: Operand) -> Value:
        if op == "pow" and not out.dtype.is_floating_point:
            powers = [b.cast(b.cast(side, out.dtype), torch.float64) for side in (left, right)]
            return b.tensor(b.emit("pow", powers, torch.float64, out.shape), out.dtype)
        if op == "mul" and is_number(right, 1) and isinstance(left, Value):
            return b.tensor(left, out.dtype)
        name = ON_BOOLS.get(op, op) if out.dtype == torch.bool else op
        return b.emit(name, [b.cast(left, out.dtype), b.cast(right, out.dtype)], out.dtype, out.shape)

    return rule


def _comparison(op: str) -> Rule:
    def rule(b: Builder, out: Value, left: Operand, right: Operand) -> Value:
        sides = [_example(side) for side in (left, right)]
        dtype = torch.result_type(*sides)
        return b.emit(op, [b.cast(left, dtype), b.cast(right, dtype)], torch.bool, out.shape)

    return rule


def _example(side: Operand) -> Any:
    """Something of the dtype and of as many axes, for PyTorch's rules of promotion."""
    if isinstance(side, sympy.Expr):
        return 1
    return torch.empty([1] * side.rank, dtype=side.dtype) if isinstance(side, Value) else side


def _reduction(op: str) -> Rule:
    def rule(b: Builder, out: Value, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
        dtype = torch.bool if op in ("any", "all") else out.dtype
        operand = x if x.rank else x
        operand = b.tensor(operand, dtype) if not (dtype == torch.bool and x.dtype != torch.bool) else b.emit(
            "not_equal", [x, b.cast(0, x.dtype)], torch.bool, x.shape)
        if not x.rank:
            return operand
        extra = {"keepdims": True} if keepdim else {}
        result = b.emit(op, [operand], dtype, out.shape, axes=axes_of(dim, x.rank), **extra)
        return b.tensor(result, out.dtype)

    return rule


for _name in IDENTITY:
    RULES[_name] = lambda b, out, x: x
RULES.update({name: _unary(op) for name, op in UNARY.items()})
RULES.update({name: binary(op) for name, op in BINARY.items()})
RULES.update({name: _comparison(op) for name, op in COMPARISONS.items()})
RULES.update({name: _reduction(op) for name, op in REDUCTIONS.items()})

# ---- arithmetic ----------------------------------------------------------------------------------------------------------


def _sum(op: str, b: Builder, out: Value, left: Operand, right: Operand, alpha: float) -> Value:
    right = b.cast(right, out.dtype)
    if alpha != 1:
        if isinstance(right, Value):
            right = b.emit("mul", [right, b.cast(alpha, out.dtype)], out.dtype, right.shape)
        else:
            right = right * alpha  # type: ignore[operator]
    if is_number(right, 0) and isinstance(left, Value) and not out.dtype.is_floating_point:
        return b.tensor(left, out.dtype)
    name = ON_BOOLS.get(op, op) if out.dtype == torch.bool else op
    return b.emit(name, [b.cast(left, out.dtype), right], out.dtype, out.shape)


@aten("add")
def _(b: Builder, out: Value, left: Operand, right: Operand, alpha: float = 1) -> Value:
    return _sum("add", b, out, left, right, alpha)


@aten("sub")
def _(b: Builder, out: Value, left: Operand, right: Operand, alpha: float = 1) -> Value:
    return _sum("sub", b, out, left, right, alpha)


@aten("rsub")
def _(b: Builder, out: Value, left: Operand, right: Operand, alpha: float = 1) -> Value:
    return _sum("sub", b, out, right, left, alpha)


@aten("div")
def _(b: Builder, out: Value, left: Operand, right: Operand, rounding_mode: Optional[str] = None) -> Value:
    sides = [b.cast(left, out.dtype), b.cast(right, out.dtype)]
    if rounding_mode == "floor":
        return b.emit("floor_divide", sides, out.dtype, out.shape)
    quotient = b.emit("div", sides, out.dtype, out.shape)
    if rounding_mode == "trunc" and out.dtype.is_floating_point:
        return b.emit("trunc", [quotient], out.dtype, out.shape)
    return quotient


@aten("pow.Tensor_Scalar")
def _(b: Builder, out: Value, x: Value, exponent: float) -> Value:
    whole: Dict[float, str] = {2: "square", 1: "copy"}
    parts: Dict[float, str] = {0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"} if out.dtype.is_floating_point else {}
    op = whole.get(exponent) or parts.get(exponent)
    return b.emit(op, [b.cast(x, out.dtype)], out.dtype, out.shape) if op else binary("pow")(b, out, x, exponent)


@aten("clamp", "clip", "hardtanh")
def _(b: Builder, out: Value, x: Value, minimum: Operand = None, maximum: Operand = None, **named: Any) -> Value:
    minimum, maximum = named.get("min", named.get("min_val", minimum)), named.get("max", named.get("max_val", maximum))
    result = b.tensor(x, out.dtype)
    limits = {"minimum": minimum, "maximum": maximum}
    if not any(isinstance(limit, Value) for limit in limits.values()):
        given = {name: b.cast(limit, out.dtype) for name, limit in limits.items() if limit is not None}
        return b.emit("clamp", [result], out.dtype, out.shape, **given)
    for op, limit in (("maximum", minimum), ("minimum", maximum)):
        if limit is not None:
            result = b.emit(op, [result, b.cast(limit, out.dtype)], out.dtype, out.shape)
    return result


@aten("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def _(b: Builder, out: Value, condition: Value, x: Operand, y: Operand) -> Value:
    x, y = b.cast(x, out.dtype), b.cast(y, out.dtype)
    if not isinstance(x, Value) and not isinstance(y, Value):
        x = b.tensor(x, out.dtype)
    return b.emit("where", [condition, x, y], out.dtype, out.shape)


@aten("masked_fill")
def _(b: Builder, out: Value, x: Value, mask: Value, value: Operand) -> Value:
    return b.emit("where", [mask, b.cast(value, out.dtype), x], out.dtype, out.shape)


@aten("to", "_to_copy", "type_as", "to_copy", "prims::convert_element_type")
def _(b: Builder, out: Value, x: Value, *_: Any, **__: Any) -> Value:
    if out.dtype == torch.bool and x.dtype != torch.bool:
        return b.emit("not_equal", [x, b.cast(0, x.dtype)], torch.bool, x.shape)
    return b.tensor(x, out.dtype)


@aten("dropout", "native_dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
def _(b: Builder, out: Any, x: Value, p: float = 0.5, train: Optional[bool] = True) -> Any:
    require(train is False or p == 0, "dropout that drops: graphs have no random numbers; call module.eval(), or pass training=False")
    return (x, None) if isinstance(out, tuple) else x


@aten("round.decimals")
def _(b: Builder, out: Value, x: Value, decimals: int = 0) -> Value:
    there, back = ("mul", "div") if decimals > 0 else ("div", "mul")
    scale = float(10 ** abs(decimals))
    whole = b.emit("round", [b.emit(there, [x, scale], out.dtype, out.shape)], out.dtype, out.shape)
    return b.emit(back, [whole, scale], out.dtype, out.shape)


@aten("gelu")
def _(b: Builder, out: Value, x: Value, approximate: str = "none") -> Value:
    return b.emit("gelu" if approximate == "none" else "gelu_tanh", [x], out.dtype, out.shape)


@aten("elu")
def _(b: Builder, out: Value, x: Value, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Value:
    if input_scale != 1:  # celu's
        require(abs(alpha * input_scale - 1) < 1e-6, "an input_scale of elu that is not 1 / alpha")
        value = b.emit("celu", [x], out.dtype, out.shape, alpha=float(alpha))
    else:
        value = b.emit("elu", [x], out.dtype, out.shape, alpha=float(alpha))
    return value if scale == 1 else b.emit("mul", [value, float(scale)], out.dtype, out.shape)


@aten("leaky_relu")
def _(b: Builder, out: Value, x: Value, negative_slope: float = 0.01) -> Value:
    return b.emit("leaky_relu", [x], out.dtype, out.shape, alpha=float(negative_slope))


@aten("rrelu_with_noise_functional", "rrelu_with_noise")
def _(b: Builder, out: Any, x: Value, _noise: Value, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, *_: Any) -> Any:
    require(not training, "rrelu in training")
    result = b.emit("leaky_relu", [x], x.dtype, x.shape, alpha=(lower + upper) / 2)
    return (result, None) if isinstance(out, tuple) else result


@aten("hardsigmoid")
def _(b: Builder, out: Value, x: Value) -> Value:
    return b.emit("hard_sigmoid", [x], out.dtype, out.shape, alpha=1 / 6, beta=0.5)


@aten("hardswish")
def _(b: Builder, out: Value, x: Value) -> Value:
    return b.emit("hard_swish", [x], out.dtype, out.shape)


@aten("softplus")
def _(b: Builder, out: Value, x: Value, beta: float = 1, threshold: float = 20) -> Value:
    if beta == 1 and threshold >= 20:  # beyond which both are x in f32
        return b.emit("softplus", [x], out.dtype, out.shape)
    scaled = b.emit("mul", [x, float(beta)], out.dtype, out.shape)
    soft = b.emit("div", [b.emit("softplus", [scaled], out.dtype, out.shape), float(beta)], out.dtype, out.shape)
    beyond = b.emit("greater", [scaled, float(threshold)], torch.bool, out.shape)
    return b.emit("where", [beyond, x, soft], out.dtype, out.shape)


@aten("softmax.int", "_softmax", "log_softmax.int", "_log_softmax")
def _(b: Builder, out: Value, x: Value, dim: int, *_: Any, op: str = "softmax", **__: Any) -> Value:
    return b.emit(op, [b.cast(x, out.dtype)], out.dtype, out.shape, axis=axis_of(dim, max(x.rank, 1)))


for _name in ("log_softmax.int", "_log_softmax"):
    RULES[_name] = lambda b, out, *x, _rule=RULES["softmax.int"], **k: _rule(b, out, *x, op="log_softmax")

# ---- products ------------------------------------------------------------------------------------------------------------


@aten("mm", "bmm", "matmul")
def _(b: Builder, out: Value, left: Value, right: Value) -> Value:
    sides = [b.tensor(left, out.dtype), b.tensor(right, out.dtype)]
    shape = list(out.shape)
    if left.rank == 1:
        sides[0] = b.reshape(sides[0], (1, *left.shape))
        shape.insert(len(shape) if right.rank == 1 else len(shape) - 1, 1)
    if right.rank == 1:
        sides[1] = b.reshape(sides[1], (*right.shape, 1))
        shape.append(1)
    return b.reshape(b.emit("matmul", sides, out.dtype, shape), out.shape)


RULES["mv"] = RULES["dot"] = RULES["mm"]


@aten("addmm", "baddbmm")
def _(b: Builder, out: Value, bias: Value, left: Value, right: Value, beta: float = 1, alpha: float = 1) -> Value:
    dtype = b.dtype_within(out.dtype)
    bias, left, right = (b.cast(each, dtype) for each in (bias, left, right))
    product = b.emit("matmul", [left, right], dtype, out.shape)
    if alpha != 1:
        product = b.emit("mul", [product, b.cast(alpha, dtype)], dtype, out.shape)
    if beta != 1:
        bias = b.emit("mul", [bias, b.cast(beta, dtype)], dtype, bias.shape)
    return b.cast(b.emit("add", [product, bias], dtype, out.shape), out.dtype)


@aten("addmv")
def _(b: Builder, out: Value, bias: Value, matrix: Value, line: Value, beta: float = 1, alpha: float = 1) -> Value:
    product = RULES["mm"](b, out, matrix, line)
    return _sum("add", b, out, bias if beta == 1 else binary("mul")(b, bias, bias, beta), product, alpha)


@aten("linear")
def _(b: Builder, out: Value, x: Value, weight: Value, bias: Optional[Value] = None) -> Value:
    line = x.rank == 1
    rows = b.reshape(x, (1, *x.shape)) if line else x
    dtype = out.dtype if bias is None else b.dtype_within(out.dtype)
    operands = [b.cast(each, dtype) for each in ([rows, weight] if bias is None else [rows, weight, bias])]
    result = b.emit("linear", operands, dtype, (1, *out.shape) if line else out.shape)
    return b.cast(b.reshape(result, out.shape), out.dtype)


@aten("_trilinear")
def _(b: Builder, out: Value, one: Value, two: Value, three: Value, expand_1: Sequence[int], expand_2: Sequence[int],
      expand_3: Sequence[int], summed: Sequence[int], *_: Any) -> Value:  # fmt: skip
    """Products of three that broadcast, after axes of one were put in, and their sum; torch.nn.Bilinear's."""
    sides = []
    for side, places in ((one, expand_1), (two, expand_2), (three, expand_3)):
        shape: List[Dim] = list(side.shape)
        for axis in sorted(places):
            shape.insert(axis, 1)
        sides.append(b.reshape(b.tensor(side, out.dtype), shape))
    product = sides[0]
    for side in sides[1:]:
        product = b.emit("mul", [product, side], out.dtype, broadcast_shape(product.shape, side.shape))
    return b.emit("sum", [product], out.dtype, out.shape, axes=sorted(summed)) if summed else product


# ---- normalisation -------------------------------------------------------------------------------------------------------


@aten("layer_norm", "native_layer_norm")
def _(b: Builder, out: Any, x: Value, shape: Sequence[int], weight: Operand = None, bias: Operand = None, eps: float = 1e-5, *_: Any) -> Any:  # fmt: skip
    axes = list(range(x.rank - len(shape), x.rank))
    operands = [x, 1.0 if weight is None else weight, 0.0 if bias is None else bias]
    result = b.emit("layer_norm", operands, x.dtype, x.shape, axes=axes, epsilon=float(eps))
    return (result, None, None) if isinstance(out, tuple) else result


@aten("rms_norm", "_fused_rms_norm")
def _(b: Builder, out: Any, x: Value, shape: Sequence[int], weight: Operand = None, eps: Optional[float] = None) -> Any:
    epsilon = torch.finfo(x.dtype).eps if eps is None else eps
    weight = b.constant(torch.ones([int(extent) for extent in shape], dtype=x.dtype), "ones") if weight is None else weight
    size = size_of(shape)
    lines, flat = b.reshape(x, (*x.shape[: x.rank - len(shape)], size)), b.reshape(b.tensor(weight, x.dtype), (size,))
    result = b.reshape(b.emit("rms_norm", [lines, flat], x.dtype, lines.shape, epsilon=float(epsilon)), x.shape)
    return (result, None) if isinstance(out, tuple) else result


@aten("group_norm")
def _(b: Builder, out: Value, x: Value, groups: int, weight: Operand = None, bias: Operand = None, eps: float = 1e-5, *_: Any) -> Value:
    channels = [x.shape[1]]
    weight = weight or b.constant(torch.ones(channels, dtype=x.dtype), "ones")
    bias = bias or b.constant(torch.zeros(channels, dtype=x.dtype), "zeros")
    return b.emit("group_norm", [x, weight, bias], x.dtype, x.shape, groups=groups, epsilon=float(eps))


@aten("native_group_norm")
def _(b: Builder, out: Any, x: Value, weight: Operand, bias: Operand, _n: Dim, _c: Dim, _hw: Dim, groups: int, eps: float) -> Any:
    return RULES["group_norm"](b, out[0], x, groups, weight, bias, eps), None, None


@aten("batch_norm", "_native_batch_norm_legit_no_training")
def _(b: Builder, out: Any, x: Value, weight: Operand, bias: Operand, mean: Value, variance: Value, *rest: Any) -> Any:
    if not isinstance(out, tuple):
        require(not rest[0], "batch_norm in training")
    eps = rest[-1] if isinstance(out, tuple) else rest[2]
    weight = weight or b.constant(torch.ones(mean.shape, dtype=x.dtype), "ones")
    bias = bias or b.constant(torch.zeros(mean.shape, dtype=x.dtype), "zeros")
    parts = [b.cast(part, x.dtype) for part in (weight, bias, mean, variance)]
    result = b.emit("batch_norm", [x, *parts], x.dtype, x.shape, epsilon=float(eps))
    return (result, None, None) if isinstance(out, tuple) else result


def _by_its_statistics(b: Builder, x: Value, weight: Operand, bias: Operand, eps: float) -> Tuple[Value, Value, Value]:
    """Batch normalisation, with the mean and the variance of each channel, whose other axes are kept."""
    axes = [axis for axis in range(x.rank) if axis != 1]
    one = tuple(x.shape[1] if axis == 1 else 1 for axis in range(x.rank))
    mean = b.emit("mean", [x], x.dtype, one, axes=axes, keepdims=True)
    variance = b.emit("variance", [x], x.dtype, one, axes=axes, keepdims=True)
    root = b.emit("rsqrt", [b.emit("add", [variance, float(eps)], x.dtype, one)], x.dtype, one)
    result = b.emit("mul", [b.emit("sub", [x, mean], x.dtype, x.shape), root], x.dtype, x.shape)
    for op, part in (("mul", weight), ("add", bias)):
        if isinstance(part, Value):
            result = b.emit(op, [result, b.reshape(part, one)], x.dtype, x.shape)
    return result, mean, variance


@aten("_native_batch_norm_legit.no_stats")
def _(b: Builder, out: Any, x: Value, weight: Operand, bias: Operand, _training: bool, _momentum: float, eps: float) -> Any:
    require(not b.wants(1) and not b.wants(2), "the statistics of batch_norm")
    return _by_its_statistics(b, x, weight, bias, eps)[0], None, None


@aten("_native_batch_norm_legit_functional")
def _(b: Builder, out: Any, x: Value, weight: Operand, bias: Operand, mean: Value, variance: Value, training: bool, momentum: float,
      eps: float) -> Any:  # fmt: skip
    """As torch.compile has one in training: the running statistics are results."""
    require(not b.wants(1) and not b.wants(2), "the statistics of batch_norm")
    if not training:
        result = RULES["batch_norm"](b, out[0], x, weight, bias, mean, variance, False, momentum, eps)
        return result, None, None, mean, variance
    require(x.dtype == mean.dtype, "running statistics in another dtype than what is normalised")
    result, *found = _by_its_statistics(b, x, weight, bias, eps)
    count = b.cast(size_of([extent for axis, extent in enumerate(x.shape) if axis != 1]), x.dtype)
    one = found[0].shape
    unbiased = b.emit("div", [b.emit("mul", [found[1], count], x.dtype, one), _less_one(b, count, x.dtype)], x.dtype, one)
    following = []
    for running, new in ((mean, found[0]), (variance, unbiased)):
        kept = b.emit("mul", [running, 1.0 - momentum], x.dtype, running.shape)
        added = b.emit("mul", [b.reshape(new, running.shape), float(momentum)], x.dtype, running.shape)
        following.append(b.emit("add", [kept, added], x.dtype, running.shape))
    return result, None, None, *following


def _less_one(b: Builder, count: Operand, dtype: torch.dtype) -> Operand:
    return b.emit("sub", [count, 1.0], dtype, ()) if isinstance(count, Value) else count - 1  # type: ignore[operator, unused-ignore]


@aten("instance_norm")
def _(b: Builder, out: Value, x: Value, weight: Operand = None, bias: Operand = None, mean: Operand = None, variance: Operand = None,
      uses_input: bool = True, _momentum: float = 0.1, eps: float = 1e-5, *_: Any) -> Value:  # fmt: skip
    channels = [int(x.shape[1])]
    weight = weight or b.constant(torch.ones(channels, dtype=x.dtype), "ones")
    bias = bias or b.constant(torch.zeros(channels, dtype=x.dtype), "zeros")
    if not uses_input:
        return b.emit("batch_norm", [x, weight, bias, mean, variance], x.dtype, x.shape, epsilon=float(eps))
    return b.emit("instance_norm", [x, weight, bias], x.dtype, x.shape, epsilon=float(eps))
