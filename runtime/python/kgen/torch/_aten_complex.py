"""What of ATen is of complex numbers. Graphs have none: each is two values, and a discrete Fourier transform is a product with
the matrix of its roots of unity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch

from ._aten import Builder, axis_of, is_number, require, rule_of
from ._graph import Dim, Operand, Value

MOST_ELEMENTS = 4096  # of a transform, whose matrix has their square

DTYPES = {torch.complex32: torch.float16, torch.complex64: torch.float32, torch.complex128: torch.float64}


@dataclass(eq=False)
class Complex:
    """A tensor of complex numbers, by its parts."""

    real: Value
    imag: Value


RULES: Dict[str, Callable[..., Any]] = {}


def aten(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The rule of these operators where an operand or the result is complex, of which `out` has the parts' dtype."""

    def add(rule: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            RULES[name] = rule
        return rule

    return add


def complex_rule_of(name: str) -> Optional[Callable[..., Any]]:
    base = name.split(".")[0]
    rule = RULES.get(name) or RULES.get(base)
    if rule is None and (name in PARTWISE or base in PARTWISE) and rule_of(name) is not None:
        return lambda b, out, *given, **named: _by_parts(b, name, out, given, named)
    return rule


def part_of(out: Any) -> Any:
    """What PyTorch says of a result, of one of its parts."""
    if isinstance(out, tuple):
        return tuple(part_of(one) for one in out)
    return Value(DTYPES[out.dtype], out.shape) if isinstance(out, Value) and out.dtype in DTYPES else out


def is_complex(argument: Any) -> bool:
    """Whether an argument, or one in it, is complex."""
    if isinstance(argument, (list, tuple)):
        return any(is_complex(one) for one in argument)
    return isinstance(argument, (Complex, complex)) or (isinstance(argument, Value) and argument.dtype in DTYPES)


# ---- what moves elements, adds them up, or makes them --------------------------------------------------------------------

PARTWISE = """view.default reshape _unsafe_view flatten unflatten view_copy _reshape_alias squeeze unsqueeze permute transpose t
expand repeat slice.Tensor select.int cat stack split split_with_sizes chunk unbind flip roll index.Tensor index_select gather
slice_scatter select_scatter index_put copy.default where.self alias.default clone.default contiguous.default detach.default
lift_fresh_copy.default sum mean cumsum constant_pad_nd""".split()

NEW = "full zeros ones full_like zeros_like ones_like new_full new_zeros new_ones empty empty_like new_empty scalar_tensor".split()


def _by_parts(b: Builder, name: str, out: Any, given: Sequence[Any], named: Dict[str, Any]) -> Any:
    rule = rule_of(name)
    assert rule is not None
    require(name != "constant_pad_nd.default" or len(given) < 3 or given[2] == 0, "complex numbers, padded with other numbers than 0")
    sides = [rule(b, out, *_side(b, given, i), **{key: _side(b, value, i) for key, value in named.items()}) for i in (0, 1)]
    return tuple(map(Complex, *sides)) if isinstance(out, tuple) else Complex(*sides)


def _side(b: Builder, argument: Any, side: int) -> Any:
    """An argument as it is for the real parts, 0, or for the imaginary ones, 1: of what is real, 0."""
    if isinstance(argument, (list, tuple)):
        return type(argument)(_side(b, one, side) for one in argument)
    if isinstance(argument, (Complex, complex)):
        return argument.imag if side else argument.real
    if side and isinstance(argument, Value) and argument.dtype.is_floating_point:
        return b.broadcast(b.tensor(0.0, argument.dtype), argument.shape)
    return 0.0 if side and isinstance(argument, float) else argument


def _new(name: str) -> Callable[..., Any]:
    def rule(b: Builder, out: Value, *given: Any, **named: Any) -> Complex:
        make = rule_of(name)
        assert make is not None
        imag = next((one.imag for one in given if isinstance(one, complex)), 0.0)
        return _made(b, out, make(b, out, *_side(b, given, 0), **named), imag)

    return rule


RULES.update({name: _new(name) for name in NEW})

# ---- parts ---------------------------------------------------------------------------------------------------------------


@aten("view_as_complex", "view_as_complex_copy")
def _(b: Builder, out: Value, x: Value) -> Complex:
    return Complex(*(b.emit("select", [x], x.dtype, out.shape, axis=x.rank - 1, index=i) for i in (0, 1)))


@aten("view_as_real", "view_as_real_copy")
def _(b: Builder, out: Value, z: Complex) -> Value:
    apart = (*z.real.shape, 1)
    return b.emit("concat", [b.reshape(part, apart) for part in (z.real, z.imag)], out.dtype, out.shape, axis=out.rank - 1)


@aten("complex")
def _(b: Builder, out: Value, real: Value, imag: Value) -> Complex:
    return _made(b, out, real, imag)


@aten("polar")
def _(b: Builder, out: Value, size: Value, angle: Value) -> Complex:
    turned = (b.emit(op, [angle], out.dtype, angle.shape) for op in ("cos", "sin"))
    return _made(b, out, *(_times(b, out, size, each) for each in turned))


@aten("real")
def _(b: Builder, out: Value, z: Complex) -> Value:
    return z.real


@aten("imag")
def _(b: Builder, out: Value, z: Complex) -> Value:
    return z.imag


@aten("_to_copy", "to")
def _(b: Builder, out: Value, z: Operand, *_: Any, **__: Any) -> Any:
    if isinstance(z, Complex) and z.real.shape == out.shape:
        return Complex(*(b.tensor(part, out.dtype) for part in (z.real, z.imag)))
    return _made(b, out, z, 0.0)


@aten("abs")
def _(b: Builder, out: Value, z: Complex) -> Value:
    squares = [b.emit("square", [part], out.dtype, out.shape) for part in (z.real, z.imag)]
    return b.emit("sqrt", [b.emit("add", list(squares), out.dtype, out.shape)], out.dtype, out.shape)


@aten("angle")
def _(b: Builder, out: Value, z: Complex) -> Value:
    return b.emit("atan2", [z.imag, z.real], out.dtype, out.shape)


@aten("_conj", "conj", "_conj_physical", "conj_physical", "_conj_copy")
def _(b: Builder, out: Value, z: Complex) -> Complex:
    return Complex(z.real, b.emit("neg", [z.imag], out.dtype, out.shape))


@aten("resolve_conj", "resolve_neg")
def _(b: Builder, out: Value, z: Complex) -> Complex:
    return z


# ---- arithmetic ----------------------------------------------------------------------------------------------------------


def _parts(b: Builder, out: Value, operand: Any) -> Tuple[Any, Any]:
    if isinstance(operand, (Complex, complex)):
        return tuple(b.cast(part, out.dtype) for part in (operand.real, operand.imag))  # type: ignore[return-value]
    return b.cast(operand, out.dtype), 0.0


def _made(b: Builder, out: Value, real: Operand, imag: Operand) -> Complex:
    return Complex(*(b.broadcast(b.tensor(part, out.dtype), out.shape) for part in (real, imag)))


def _times(b: Builder, out: Value, x: Operand, y: Operand) -> Operand:
    if is_number(x, 0) or is_number(y, 0):
        return 0.0
    if is_number(x, 1) or is_number(y, 1):
        return y if is_number(x, 1) else x
    if isinstance(x, (int, float)) and isinstance(y, (int, float)):
        return x * y
    return b.emit("mul", [x, y], out.dtype, out.shape)


def _plus(b: Builder, out: Value, x: Operand, y: Operand, op: str = "add") -> Operand:
    if is_number(y, 0):
        return x
    if is_number(x, 0):
        return y if op == "add" else _times(b, out, y, -1.0)
    if isinstance(x, (int, float)) and isinstance(y, (int, float)):
        return x + y if op == "add" else x - y
    return b.emit(op, [x, y], out.dtype, out.shape)


def _sum(op: str) -> Callable[..., Any]:
    def rule(b: Builder, out: Value, left: Any, right: Any, alpha: float = 1) -> Complex:
        (a, c), (d, e) = _parts(b, out, left), _parts(b, out, right)
        return _made(b, out, *(_plus(b, out, x, _times(b, out, y, float(alpha)), op) for x, y in ((a, d), (c, e))))

    return rule


RULES["add"], RULES["sub"] = _sum("add"), _sum("sub")


@aten("neg", "_neg_view")
def _(b: Builder, out: Value, z: Complex) -> Complex:
    return Complex(*(b.emit("neg", [part], out.dtype, out.shape) for part in (z.real, z.imag)))


def _product(b: Builder, out: Value, left: Any, right: Any) -> Complex:
    (a, c), (d, e) = _parts(b, out, left), _parts(b, out, right)
    real = _plus(b, out, _times(b, out, a, d), _times(b, out, c, e), "sub")
    return _made(b, out, real, _plus(b, out, _times(b, out, a, e), _times(b, out, c, d)))


RULES["mul"] = _product


@aten("div")
def _(b: Builder, out: Value, left: Any, right: Any) -> Complex:
    d, e = _parts(b, out, right)
    if not isinstance(right, (Complex, complex)):
        return _made(b, out, *(b.emit("div", [b.tensor(x, out.dtype), d], out.dtype, out.shape) for x in _parts(b, out, left)))
    size = b.tensor(_plus(b, out, _times(b, out, d, d), _times(b, out, e, e)), out.dtype)
    turned = _product(b, out, left, Complex(b.tensor(d, out.dtype), b.tensor(_times(b, out, e, -1.0), out.dtype)))
    return Complex(*(b.emit("div", [part, size], out.dtype, out.shape) for part in (turned.real, turned.imag)))


@aten("reciprocal")
def _(b: Builder, out: Value, z: Complex) -> Complex:
    inverse: Complex = RULES["div"](b, out, 1.0, z)
    return inverse


@aten("exp")
def _(b: Builder, out: Value, z: Complex) -> Complex:
    size = b.emit("exp", [z.real], out.dtype, out.shape)
    turned = (b.emit(op, [z.imag], out.dtype, out.shape) for op in ("cos", "sin"))
    return Complex(*(b.emit("mul", [size, each], out.dtype, out.shape) for each in turned))


@aten("mm", "bmm", "matmul")
def _(b: Builder, out: Value, left: Any, right: Any) -> Complex:
    def product(x: Operand, y: Operand) -> Operand:
        return 0.0 if is_number(x, 0) or is_number(y, 0) else b.emit("matmul", [x, y], out.dtype, out.shape)

    (a, c), (d, e) = _parts(b, out, left), _parts(b, out, right)
    return _made(b, out, _plus(b, out, product(a, d), product(c, e), "sub"), _plus(b, out, product(a, e), product(c, d)))


# ---- transforms ----------------------------------------------------------------------------------------------------------


def _roots(rows: int, columns: int, count: int) -> Tuple[torch.Tensor, torch.Tensor]:
    """cos and sin of 2 pi j k / count, exact to the last bit of f64."""
    places = torch.outer(torch.arange(rows), torch.arange(columns)) % count
    angles = places.double() * (2 * math.pi / count)
    return angles.cos(), angles.sin()


def _scale(count: int, norm: int) -> float:
    """0: as the sum is; 1: over the root of the number of elements; 2: over the number."""
    return (1.0, 1 / math.sqrt(count), 1 / count)[norm]


def _count(extent: Dim) -> int:
    require(isinstance(extent, int), "a Fourier transform of a symbolic size")
    require(extent <= MOST_ELEMENTS, f"a Fourier transform of {extent} elements, which is computed as a matrix product ({MOST_ELEMENTS} at most)")
    return int(extent)


def _through(b: Builder, x: Value, axis: int, matrix: torch.Tensor) -> Value:
    """x times the matrix along one axis, which then is the last."""
    last = b.transpose(x, [*(i for i in range(x.rank) if i != axis), axis])
    roots = b.constant(matrix.to(x.dtype), "roots_of_unity")
    return b.emit("matmul", [last, roots], x.dtype, (*last.shape[:-1], matrix.shape[1]))


def _back(b: Builder, x: Value, axis: int) -> Value:
    return b.transpose(x, [*range(axis), x.rank - 1, *range(axis, x.rank - 1)])


def _halves(b: Builder, x: Value, axis: int) -> Complex:
    """The two halves of the last axis, which goes back to its place."""
    half = int(x.shape[-1]) // 2
    return Complex(*(_back(b, b.slice(x, x.rank - 1, begin, begin + half), axis) for begin in (0, half)))


def _turn(b: Builder, z: Complex, axis: int, norm: int, forward: bool) -> Complex:
    count = _count(z.real.shape[axis])
    cos, sin = _roots(count, count, count)
    sin = sin if forward else -sin
    matrix = torch.cat([torch.cat([cos, -sin], 1), torch.cat([sin, cos], 1)]) * _scale(count, norm)
    shape = [2 * extent if i == axis else extent for i, extent in enumerate(z.real.shape)]
    joined = b.emit("concat", [z.real, z.imag], z.real.dtype, shape, axis=axis)
    return _halves(b, _through(b, joined, axis, matrix), axis)


def _axes(dims: Sequence[int], rank: int) -> List[int]:
    return [axis_of(dim, rank) for dim in dims]


@aten("_fft_r2c")
def _(b: Builder, out: Value, x: Value, dims: Sequence[int], norm: int, onesided: bool) -> Complex:
    *others, last = _axes(dims, x.rank)
    count = _count(x.shape[last])
    cos, sin = _roots(count, count // 2 + 1 if onesided else count, count)
    z = _halves(b, _through(b, x, last, torch.cat([cos, -sin], 1) * _scale(count, norm)), last)
    for axis in others:
        z = _turn(b, z, axis, norm, True)
    return z


@aten("_fft_c2c")
def _(b: Builder, out: Value, z: Complex, dims: Sequence[int], norm: int, forward: bool) -> Complex:
    for axis in _axes(dims, z.real.rank):
        z = _turn(b, z, axis, norm, forward)
    return z


@aten("_fft_c2r")
def _(b: Builder, out: Value, z: Complex, dims: Sequence[int], norm: int, size: Dim) -> Value:
    *others, last = _axes(dims, z.real.rank)
    for axis in others:
        z = _turn(b, z, axis, norm, False)
    count = _count(size)
    half = int(z.real.shape[last])
    cos, sin = _roots(half, count, count)
    twice = torch.tensor([1.0 if k == 0 or 2 * k == count else 2.0 for k in range(half)], dtype=torch.float64)[:, None]
    matrix = torch.cat([twice * cos, -twice * sin]) * _scale(count, norm)
    shape = [2 * extent if i == last else extent for i, extent in enumerate(z.real.shape)]
    joined = b.emit("concat", [z.real, z.imag], out.dtype, shape, axis=last)
    return _back(b, _through(b, joined, last, matrix), last)
