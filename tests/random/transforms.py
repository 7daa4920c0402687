"""Fourier transforms, triangular factors and regions of images: what they compute of values that are known within
bounds, and how they are drawn."""

from collections.abc import Callable
from typing import Any

import numpy as np

import rules
from dims import Dim
from enclosure import Exact, Floats, Value, anything, is_finite, magnitude, mid, radius, rounded, widened
from graph import Type
from references import DIV, MATMUL, MUL, SUB, number, one
from rules import Rule, bilinear
from sampling import hat, with_sums
from scope import NotPossible, Scope
from selections import certain, known
from specs import Operator

# ---- Fourier transforms ----------------------------------------------------------------------------------------------


def turns(rows: int, parts: int, columns: int, length: int, sign: int) -> np.ndarray:
    products = sign * np.arange(rows)[:, None, None, None] * np.arange(columns)[:, None]
    return np.mod(products, max(length, 1)) / length + (np.arange(2) - np.arange(parts)[:, None, None]) / 4


def waves(dtype: str, rows: int, parts: int, columns: int, length: int, inverse: bool) -> Floats:
    """Rounded to the dtype, or not where they are used at once."""
    exact = np.cos(2 * np.pi * turns(rows, parts, columns, length, -1 if inverse else 1)) / (length if inverse else 1)
    return rounded(widened(Floats(dtype, exact, exact, np.zeros(exact.shape, bool)), 1e-14), dtype, surely=False)


def dft_turns(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    exact = turns(*(at[name] for name in ("rows", "parts", "columns", "length", "sign")))
    return [widened(Floats("f64", exact, exact, np.zeros(exact.shape, bool)), 1e-15)]


def dft_matrix(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    return [waves(at["to"], at["rows"], at["parts"], at["columns"], at["length"], at["inverse"])]


def multiplied(x: Floats, matrix: Floats) -> Floats:
    """Lines of x, whose last two axes are one, by a matrix."""
    lines = x.map(lambda part: part.reshape(*part.shape[:-2], 1, part.shape[-2] * part.shape[-1]))
    return bilinear(MATMUL, lines, matrix, {}).map(lambda part: part[..., 0, :])


def transformed(x: Floats, at: dict[str, Any], columns: int) -> list[Value]:
    length = at["length"]
    rows, parts = x.shape[-2:]
    matrix = waves(x.dtype, rows, parts, columns, length, at["inverse"]).map(
        lambda part: part.reshape(rows * parts, 2 * columns)
    )
    return [multiplied(x, matrix).map(lambda part: part.reshape(*x.shape[:-2], columns, 2))]


# ---- triangular factors ----------------------------------------------------------------------------------------------


def factored(matrix: Floats) -> tuple[Floats, list[int]] | None:
    """None where it is not certain which elements are the greatest of their columns."""
    size, pivots = matrix.shape[0], []
    parts = [part.copy() for part in matrix.parts()]
    at = lambda *where: Floats(matrix.dtype, *(part[where] for part in parts))  # noqa: E731

    def put(value: Floats, *where: Any) -> None:
        for part, new in zip(parts, value.parts()):
            part[where] = new

    for k in range(size):
        column = at(slice(k, None), k)
        if not is_finite(column).all():
            return None
        most = magnitude(column)
        least = np.where((column.lo > 0) | (column.hi < 0), np.minimum(np.abs(column.lo), np.abs(column.hi)), 0)
        best = int(np.argmax(least))
        if (most[:best] >= least[best]).any() or (most[best + 1 :] > least[best]).any():
            if not most.any():
                best = 0
            else:
                return None
        pivots.append(k + best)
        for part in parts:
            part[[k, k + best]] = part[[k + best, k]]
        if not most.any():
            continue
        below, behind = slice(k + 1, None), slice(k + 1, None)
        put(one(DIV, at(below, k), at(slice(k, k + 1), k)), below, k)
        taken = one(MUL, at(below, slice(k, k + 1)), at(slice(k, k + 1), behind))
        put(one(SUB, at(below, behind), taken), below, behind)
    return Floats(matrix.dtype, *parts), pivots


def each_factored(x: Floats) -> tuple[Floats, Exact]:
    factors, pivots = anything(x.dtype, x.shape), known(np.zeros(x.shape[:-1]), False)
    for place in np.ndindex(x.shape[:-2]):
        found = factored(x.map(lambda part: part[place]))  # noqa: B023
        if found:
            for whole, part in zip(factors.parts(), found[0].parts()):
                whole[place] = part
            pivots.value[place], pivots.unknown[place] = found[1], False
    return factors, pivots


def lu_factor(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    return list(each_factored(operands[0]))


def det(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    (x,), size = operands, operands[0].shape[-1]
    factors, pivots = each_factored(x)
    product = Floats(x.dtype, np.ones(x.shape[:-2]), np.ones(x.shape[:-2]), np.zeros(x.shape[:-2], bool))
    for k in range(size):
        moved = pivots.value[..., k] != k
        term = factors.map(lambda part: part[..., k, k])  # noqa: B023
        term = Floats(x.dtype, np.where(moved, -term.hi, term.lo), np.where(moved, -term.lo, term.hi), term.nan)
        product = rules.with_roundings(one(MUL, product, term), 4)
    unknown = pivots.unknown.any(axis=-1)
    wide = anything(x.dtype, product.shape)
    return [Floats(x.dtype, *(np.where(unknown, loose, part) for loose, part in zip(wide.parts(), product.parts())))]


# ---- regions of images -----------------------------------------------------------------------------------------------


def samples(low: float, high: float, bins: int, count: int, half_pixel: bool) -> tuple[np.ndarray, bool]:
    """The positions [bins, samples] along an axis, and whether their number is certain."""
    extent = high - low if half_pixel else max(high - low, 1.0)
    size = extent / bins
    many = count or min(max(int(np.ceil(size)), 0), 4096)
    steps = (np.arange(many) + 0.5) / max(many, 1)
    sure = (
        bool(count)
        or abs(size - np.rint(size)) > 1e-4 * (1 + abs(low) + abs(high))
        or (low == np.rint(low) and high == np.rint(high) and bins == 1)
    )
    return low - (0.5 if half_pixel else 0) + (np.arange(bins)[:, None] + steps) * size, sure


def roi_align(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    x, regions, images = operands
    shape = (len(regions.lo), x.shape[1], at["height"], at["width"])
    out = anything(x.dtype, shape)
    if not is_finite(x).all() or 0 in x.shape[2:]:
        return [out]
    unit = 2.0**-53 if regions.dtype == "f64" else 2.0**-24
    for region in range(shape[0]):
        corners, image = regions.lo[region] * at["scale"], int(images.value[region])
        if not is_finite(regions)[region].all() or not certain(regions)[region].all() or images.unknown[region]:
            continue
        if not 0 <= image < x.shape[0]:
            for part, missing in zip(out.parts(), (np.nan, np.nan, True)):
                part[region] = missing
            continue
        shares, doubt, error = [], False, 0.0
        for axis, bins in ((0, at["height"]), (1, at["width"])):
            positions, sure = samples(corners[1 - axis], corners[3 - axis], bins, at["samples"], at["half_pixel"])
            extent, off = x.shape[2 + axis], 64 * unit * (1 + np.abs(corners).max() + x.shape[2 + axis])
            edges = np.minimum(np.abs(positions + 1), np.abs(positions - extent))
            doubt = doubt or not sure or bool((edges < off).any())
            error += off
            weight = hat(np.abs(np.arange(extent) - np.clip(positions, 0, extent - 1)[..., None]))
            shares.append(np.where(((positions < -1) | (positions > extent))[..., None], 0, weight))
        if doubt or at["mode"] == "max":
            continue
        count = max(shares[0].shape[1] * shares[1].shape[1], 1)
        apply = lambda part: np.einsum("ish,jtw,chw->cij", *shares, part) / count  # noqa: B023, E731
        plane = x.map(lambda part: part[image])  # noqa: B023
        middle, size = apply(mid(plane)), apply(magnitude(plane))
        reach = apply(radius(plane)) + 16 * error * magnitude(plane).max(initial=0)
        value = with_sums(x.dtype, middle, reach, size + magnitude(plane).max(initial=0), 4 * count)
        for whole, part in zip(out.parts(), value.parts()):
            whole[region] = part
    return [out]


def max_roi_pool(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    x, regions = operands
    shape = (len(regions.lo), x.shape[1], at["height"], at["width"])
    out = anything(x.dtype, shape)
    for region in range(shape[0]):
        if (
            not certain(regions)[region].all()
            or not is_finite(regions)[region].all()
            or np.abs(regions.lo[region]).max() > 1e6
        ):
            continue
        number_of, *corners = regions.lo[region]
        corners = np.array(corners) * at["scale"]
        if (np.abs(np.abs(corners - np.floor(corners)) - 0.5) < 1e-4).any():
            continue
        if not 0 <= number_of < x.shape[0]:
            for part, missing in zip(out.parts(), (np.nan, np.nan, True)):
                part[region] = missing
            continue
        left, top, right, bottom = np.rint(corners).astype(int)
        for i, j in np.ndindex(at["height"], at["width"]):
            reach = []
            for first, last, bins, bin, extent in (
                (top, bottom, at["height"], i, x.shape[2]),
                (left, right, at["width"], j, x.shape[3]),
            ):
                size = max(last - first + 1, 1)
                reach.append(
                    slice(
                        np.clip(first + bin * size // bins, 0, extent),
                        np.clip(first - (-(bin + 1) * size // bins), 0, extent),
                    )
                )
            seen = x.map(
                lambda part: part[(int(number_of), slice(None), *reach)].reshape(part.shape[1], -1)
            )  # noqa: B023
            value = rules.extreme(1)(seen)[0] if seen.shape[1] else number(x, 0.0)
            for whole, part in zip(out.parts(), value.parts()):
                whole[region, :, i, j] = part.reshape(-1) if part.ndim else part
    return [out]


# ---- drawing ---------------------------------------------------------------------------------------------------------


def transform(scope: Scope, op: Operator) -> None:
    dtype, leading = scope.dtype(op.types["T"]), scope.shape(scope.integer(0, 2))
    length = scope.extent() + 1 if scope.chance(0.5) else Dim.of(scope.integer(1, 40))
    rows = length if scope.chance(0.6) else length - 1
    x = scope.need(Type(dtype, (*leading, rows, Dim.of(scope.integer(1, 2)))))
    attributes: dict[str, Any] = {"length": length, "inverse": scope.chance(0.5)}
    columns = length
    if op.name == "rfft":
        if length.constant is None:
            raise NotPossible
        columns = Dim.of(length.constant // 2 + 1)
    scope.add_node(op.name, [x], [Type(dtype, (*leading, columns, Dim.of(2)))], attributes)


def matrix_of_waves(scope: Scope, op: Operator) -> None:
    rows, columns, parts = scope.extent(), scope.extent(), Dim.of(scope.integer(1, 2))
    attributes: dict[str, Any] = {"rows": rows, "parts": parts, "columns": columns, "length": scope.extent() + 1}
    dtype = "f64"
    if op.name == "dft_matrix":
        dtype = scope.one_of(["f32", "f64", "bf16"])
        attributes |= {"to": dtype, "inverse": scope.chance(0.5)}
    elif scope.chance(0.5):
        attributes["sign"] = -1
    scope.add_node(op.name, [], [Type(dtype, (rows, parts, columns, Dim.of(2)))], attributes)


def matrices(scope: Scope, op: Operator) -> None:
    dtype, leading, size = scope.dtype(op.types["T"]), scope.shape(scope.integer(0, 2)), Dim.of(scope.integer(1, 5))
    x = scope.need(Type(dtype, (*leading, size, size)))
    results = (
        [Type(dtype, (*leading, size, size)), Type("i64", (*leading, size))]
        if op.name == "lu_factor"
        else [Type(dtype, leading)]
    )
    scope.add_node(op.name, [x], results)


def image_regions(scope: Scope, op: Operator) -> None:
    images, count = scope.extent(), scope.extent()
    x = scope.need(Type(scope.dtype(op.types["T"]), (images, Dim.of(scope.integer(1, 3)), *scope.shape(2))))
    type_ = scope.type_of(x)
    numbers = Dim.of(4 if op.name == "roi_align" else 5)
    inputs = [x, scope.fresh(Type(scope.dtype(op.types["P"]), (count, numbers)))]
    height, width = scope.integer(1, 4), scope.integer(1, 4)
    attributes: dict[str, Any] = {"height": height, "width": width, "scale": scope.one_of([1.0, 0.5, 3.0])}
    if op.name == "roi_align":
        inputs.append(scope.fresh(Type(scope.dtype(op.types["I"]), (count,)), extent=images))
        attributes |= {
            "samples": scope.integer(0, 3),
            "half_pixel": scope.chance(0.5),
            "mode": scope.one_of(["avg", "avg", "max"]),
        }
    result = Type(type_.dtype, (count, type_.shape[1], Dim.of(height), Dim.of(width)))
    scope.add_node(op.name, inputs, [result], attributes)


OPERATORS: dict[str, Rule] = {
    "dft_turns": dft_turns,
    "dft_matrix": dft_matrix,
    "dft": lambda operands, at: transformed(operands[0], at, at["length"]),
    "rfft": lambda operands, at: transformed(operands[0], at, at["length"] // 2 + 1),
    "lu_factor": lu_factor,
    "det": det,
    "roi_align": roi_align,
    "max_roi_pool": max_roi_pool,
}
HINTS: dict[str, Callable[[Scope, Operator], None]] = {
    "dft_turns": matrix_of_waves, "dft_matrix": matrix_of_waves, "dft": transform, "rfft": transform,
    "lu_factor": matrices, "det": matrices,
    "roi_align": image_regions, "max_roi_pool": image_regions,
}  # fmt: skip
