"""A part of _aten.py: ATen's operators that index by several tensors, combine what meets at an index, sample between
elements; and those that graphs have no form of, with the reason."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from ._aten import RULES, Builder, aten, axis_of, require, size_of
from ._aten_memory import take
from ._graph import Dim, Operand, Unsupported, Value

# Core operators without a rule, and why: said beside the line of the user's module.
REFUSED: Dict[str, str] = {
    **dict.fromkeys(
        ("rand", "randn", "randperm", "rand_like", "randn_like", "randint", "randint_like", "bernoulli", "normal", "uniform",
         "exponential", "multinomial", "poisson", "normal_functional"),
        "graphs have no random numbers; make them outside, and pass them as an input"),
    "nonzero": "the size of its result follows from data; compute all elements, and choose with torch.where",
    **dict.fromkeys(
        ("linalg_inv", "linalg_inv_ex", "inverse", "linalg_solve", "_linalg_solve_ex", "linalg_solve_triangular", "triangular_solve",
         "linalg_lu", "linalg_lu_factor", "linalg_lu_factor_ex", "linalg_lu_solve", "linalg_ldl_factor_ex", "linalg_ldl_solve",
         "linalg_lstsq", "linalg_pinv", "linalg_qr", "geqrf", "linalg_householder_product", "cholesky", "linalg_cholesky",
         "linalg_cholesky_ex", "cholesky_solve", "cholesky_inverse", "_linalg_svd", "linalg_svd", "_linalg_eigh", "linalg_eigh", "linalg_eig",
         "linalg_eigvals", "_linalg_eigvals", "linalg_matrix_exp"),
        "graphs decompose no matrices and solve no systems of equations; compute it outside, and pass it as an input"),
    "_local_scalar_dense": "a number is read from a tensor, on which the module's Python goes on",
    **dict.fromkeys(
        ("_adaptive_avg_pool2d_backward", "avg_pool2d_backward", "convolution_backward", "embedding_dense_backward",
         "max_pool2d_with_indices_backward", "native_group_norm_backward", "native_layer_norm_backward"),
        "it computes a gradient"),
    "_native_batch_norm_legit.default": "batch_norm in training, which changes its statistics; call module.eval()",
    **dict.fromkeys(("sym_stride", "sym_storage_offset"), "tensors of graphs have no strides"),
}  # fmt: skip

# ---- indices -------------------------------------------------------------------------------------------------------------


def _broadcast_shape(values: Sequence[Value]) -> Tuple[Dim, ...]:
    rank = max(value.rank for value in values)
    shape: List[Dim] = []
    for axis in range(rank):
        extents = [value.shape[axis - rank + value.rank] for value in values if axis - rank + value.rank >= 0]
        shape.append(next((extent for extent in extents if extent != 1), 1))
    return tuple(shape)


def _counts_up(b: Builder, index: Value) -> bool:
    """Whether it is one of 0, 1, 2, ..., so that none is negative."""
    while made := b.source(index, "reshape") or b.source(index, "broadcast_to"):
        index = made[0]
    return b.is_counting(index)


_OF_MASK = "a mask as index, whose result has a size that follows from data; keep all elements: torch.where(mask, x, 0)"


class _Indexed:
    """x[indices], of which several are tensors: x as lines behind the axes that are indexed, and the line of each index."""

    def __init__(self, b: Builder, x: Value, indices: Sequence[Optional[Value]]) -> None:
        self.b = b
        given = [(axis, index) for axis, index in enumerate(indices) if index is not None]
        require(bool(given), "an index without a tensor")
        for _, index in given:
            require(index.dtype != torch.bool, _OF_MASK)
        axes = [axis for axis, _ in given]
        self.first = axes[0] if axes == list(range(axes[0], axes[-1] + 1)) else 0
        """Where the axes of the indices stand in the result."""
        self.rest = [axis for axis in range(x.rank) if axis not in axes]
        self.order = [*axes, *self.rest]
        extents = [x.shape[axis] for axis in axes]
        self.behind = [x.shape[axis] for axis in self.rest]
        self.lines = size_of(extents)
        self.width = size_of(self.behind)
        self.shape = _broadcast_shape([index for _, index in given])
        self.count = size_of(self.shape)
        self.flat = b.reshape(self._flat([index for _, index in given], extents), (self.count, 1))
        moved = b.transpose(x, self.order)
        self.moved_shape = moved.shape
        self.table = b.reshape(moved, (self.lines, self.width))

    def _flat(self, indices: Sequence[Value], extents: Sequence[Dim]) -> Value:
        """One index of a line; negative ones count from the end of their axis, for which a kernel of one axis sees itself."""
        b = self.b
        total: Optional[Value] = None
        for index, extent in zip(indices, extents):
            index = b.tensor(index, torch.int64)
            size = extent if isinstance(extent, int) or len(indices) == 1 else b.emit("dim_value", [], torch.int64, (), dim=extent)
            if len(indices) > 1 and not _counts_up(b, index):
                negative = b.emit("less", [index, 0], torch.bool, index.shape)
                wrapped = b.emit("add", [index, size], torch.int64, index.shape)
                index = b.emit("where", [negative, wrapped, index], torch.int64, index.shape)
            if total is not None:
                total = b.emit("mul", [total, size], torch.int64, total.shape)
            total = index if total is None else b.emit("add", [total, index], torch.int64, _broadcast_shape([total, index]))
        assert total is not None
        return b.broadcast(total, self.shape)

    def result(self, out: Value) -> Value:
        rows = self.b.emit("gather", [self.table, self.flat], self.table.dtype, (self.count, self.width), axis=0)
        apart = self.b.reshape(rows, (*self.shape, *self.behind))
        rank = len(self.shape)
        kept = list(range(rank, rank + len(self.behind)))
        return self.b.transpose(apart, [*kept[: self.first], *range(rank), *kept[self.first :]])

    def updated(self, x: Value, values: Value, reduction: str) -> Value:
        """x with the values, which broadcast to x[indices], in place of the lines."""
        b = self.b
        rank = len(self.shape)
        shape = (*self.behind[: self.first], *self.shape, *self.behind[self.first :])
        values = b.broadcast(values, shape)
        kept = list(range(rank, rank + len(self.behind)))
        perm = [*range(self.first, self.first + rank), *range(self.first), *range(self.first + rank, len(shape))]
        assert len(perm) == rank + len(kept)
        rows = b.reshape(b.transpose(values, perm), (self.count, self.width))
        written = b.emit("scatter", [self.table, self.flat, rows], x.dtype, (self.lines, self.width), axis=0, reduction=reduction)
        back = [self.order.index(axis) for axis in range(x.rank)]
        return b.transpose(b.reshape(written, self.moved_shape), back)


def _only_index(indices: Sequence[Optional[Value]]) -> Optional[Tuple[int, Value]]:
    """The axis and the tensor, where one axis is indexed."""
    given = [(axis, index) for axis, index in enumerate(indices) if index is not None]
    return given[0] if len(given) == 1 and given[0][1].dtype != torch.bool else None


@aten("index.Tensor", "_unsafe_index")
def _(b: Builder, out: Value, x: Value, indices: Sequence[Optional[Value]]) -> Value:
    only = _only_index(indices)
    return take(b, x, *only) if only else _Indexed(b, x, indices).result(out)


@aten("index_put", "_unsafe_index_put")
def _(b: Builder, out: Value, x: Value, indices: Sequence[Optional[Value]], values: Value, accumulate: bool = False) -> Value:
    values = b.tensor(values, x.dtype)
    first = indices[0]
    if len(indices) == 1 and first is not None and first.dtype == torch.bool:
        require(values.rank == 0 and not accumulate, "a mask as index, but with one number as the value")
        mask = b.reshape(first, (*first.shape, *[1] * (x.rank - first.rank)))
        return b.emit("where", [mask, values, x], x.dtype, x.shape)
    reduction = "add" if accumulate else "none"
    only = _only_index(indices)
    if only is None:
        return _Indexed(b, x, indices).updated(x, values, reduction)
    axis, index = only  # x keeps its form, so that a cache is written where it lies
    values = b.broadcast(values, (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]))
    count = size_of(index.shape)
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    flat = b.reshape(index, [count if i == axis else 1 for i in range(x.rank)])
    extra = {"reduction": reduction} if accumulate else {}
    return b.emit("scatter", [x, flat, b.reshape(values, shape)], x.dtype, x.shape, axis=axis, **extra)


@aten("_grouped_mm", "transformers::grouped_mm_fallback")
def _(b: Builder, out: Value, x: Value, matrices: Value, ends: Optional[Value] = None, bias: Optional[Value] = None, *_: Any, **__: Any) -> Value:
    require(ends is not None and x.rank == 2 and matrices.rank == 3, "groups of rows, each by a matrix of its own")
    require(bias is None, "a product of groups without a bias")
    assert ends is not None
    return b.tensor(b.emit("grouped_matmul", [x, matrices, ends], x.dtype, out.shape), out.dtype)


@aten("histc")
def _(b: Builder, out: Value, x: Value, bins: int = 100, min: float = 0, max: float = 0) -> Value:
    require(min < max, "limits that the data does not say")

    def flags(op: str, limit: float) -> Value:
        return b.emit(op, [x, limit], torch.bool, x.shape)

    moved = b.emit("mul", [b.emit("sub", [x, min], x.dtype, x.shape), bins], x.dtype, x.shape)
    place = b.emit("floor", [b.emit("div", [moved, max - min], x.dtype, x.shape)], x.dtype, x.shape)
    inside = b.emit("logical_and", [flags("greater_equal", min), flags("less_equal", max)], torch.bool, x.shape)
    last = b.emit("where", [flags("equal", max), bins - 1, place], x.dtype, x.shape)
    place = b.emit("cast", [b.emit("where", [inside, last, -1], x.dtype, x.shape)], torch.int64, x.shape, to=torch.int64)
    return b.tensor(b.emit("bincount", [place], torch.int64, out.shape, bins=bins), out.dtype)


@aten("masked_scatter")
def _(b: Builder, out: Value, x: Value, mask: Value, source: Value) -> Value:
    size = size_of(x.shape)
    truth = b.reshape(b.broadcast(mask, x.shape), (size,))
    numbers = b.emit("cast", [truth], torch.int64, (size,), to=torch.int64)
    place = b.emit("cumsum", [numbers], torch.int64, (size,), axis=0, exclusive=True)
    flat = b.reshape(source, (size_of(source.shape),))
    taken = b.emit("gather", [flat, place], x.dtype, (size,), axis=0)
    result = b.emit("where", [truth, taken, b.reshape(x, (size,))], x.dtype, (size,))
    return b.reshape(result, x.shape)


_REDUCTIONS = {"sum": ("add", 0.0), "prod": ("mul", 1.0), "amax": ("max", -math.inf), "amin": ("min", math.inf), "mean": ("add", 0.0)}


@aten("scatter_reduce.two", "scatter.reduce")
def _(b: Builder, out: Value, x: Value, dim: int, indices: Value, source: Value, reduce: str, include_self: bool = True) -> Value:
    axis = axis_of(dim, x.rank)
    name, neutral = _REDUCTIONS[{"add": "sum", "multiply": "prod"}.get(reduce, reduce)]
    source = b.tensor(source, x.dtype)
    for i, extent in enumerate(indices.shape):
        if source.rank and extent != source.shape[i]:
            source = b.slice(source, i, 0, extent)

    def scattered(into: Value, updates: Value, reduction: str) -> Value:
        updates = b.broadcast(updates, indices.shape)
        return b.emit("scatter", [into, indices, updates], into.dtype, into.shape, axis=axis, reduction=reduction)

    begin = x
    if not include_self:
        if not x.dtype.is_floating_point:
            info = torch.iinfo(x.dtype)
            neutral = {math.inf: info.max, -math.inf: info.min}.get(neutral, neutral)
        begin = scattered(x, b.tensor(neutral, x.dtype), "none")
    total = scattered(begin, source, name)
    if reduce != "mean":
        return total
    ones = b.tensor(1, x.dtype)
    count = scattered(b.broadcast(b.tensor(int(include_self), x.dtype), x.shape), ones, "add")
    count = b.emit("maximum", [count, b.cast(1, x.dtype)], x.dtype, x.shape)
    return b.emit("div" if x.dtype.is_floating_point else "floor_divide", [total, count], x.dtype, x.shape)


@aten("diagonal", "diagonal_copy")
def _(b: Builder, out: Value, x: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    first, second = axis_of(dim1, x.rank), axis_of(dim2, x.rank)
    kept = [axis for axis in range(x.rank) if axis not in (first, second)]
    square = b.transpose(x, [*kept, first, second])
    for axis, begin in ((x.rank - 2, max(-offset, 0)), (x.rank - 1, max(offset, 0))):
        if begin or square.shape[axis] != out.shape[-1]:
            square = b.slice(square, axis, begin, begin + out.shape[-1])
    return b.emit("diagonal", [square], x.dtype, out.shape)


@aten("_embedding_bag", "_embedding_bag_forward_only")
def _(b: Builder, out: Tuple[Value, ...], weight: Value, indices: Value, offsets: Value, _scale: bool = False, mode: int = 0,
      _sparse: bool = False, each: Optional[Value] = None, include_last: bool = False, padding: int = -1) -> Any:  # fmt: skip
    require(not any(b.wants(i) for i in (1, 2, 3)), "results of embedding_bag beside the first")
    count, (bags, width) = indices.shape[0], out[0].shape
    neutral = -math.inf if mode == 2 else 0.0
    rows = b.emit("embedding", [indices, weight], weight.dtype, (count, width))
    if each is not None:
        rows = b.emit("mul", [rows, b.reshape(each, (count, 1))], weight.dtype, (count, width))
    ones = b.broadcast(b.tensor(1.0, weight.dtype), (count, 1))
    if padding >= 0:
        counts = b.reshape(b.emit("not_equal", [indices, padding], torch.bool, (count,)), (count, 1))
        rows = b.emit("where", [counts, rows, neutral], weight.dtype, (count, width))
        ones = b.tensor(counts, weight.dtype)
    starts = b.tensor(offsets if not include_last else b.slice(offsets, 0, 0, bags), torch.int64)
    places = b.reshape(b.emit("iota", [], torch.int64, (count,), count=count), (count, 1))
    begun = b.emit("greater_equal", [places, b.reshape(starts, (1, bags))], torch.bool, (count, bags))
    numbers = b.emit("sum", [b.tensor(begun, torch.int64)], torch.int64, (count,), axes=[1])
    bag = b.reshape(b.emit("sub", [numbers, 1], torch.int64, (count,)), (count, 1))

    def gathered(values: Value, begin: float, reduction: str) -> Value:
        shape = (bags, values.shape[1])
        first = b.broadcast(b.tensor(begin, weight.dtype), shape)
        return b.emit("scatter", [first, bag, values], weight.dtype, shape, axis=0, reduction=reduction)

    total = gathered(rows, neutral, "max" if mode == 2 else "add")
    if mode == 0:
        return total, None, None, None
    sizes = gathered(ones, 0.0, "add")
    if mode == 1:
        least = b.emit("maximum", [sizes, 1.0], weight.dtype, (bags, 1))
        return b.emit("div", [total, least], weight.dtype, (bags, width)), None, None, None
    empty = b.emit("equal", [sizes, 0.0], torch.bool, (bags, 1))
    return b.emit("where", [empty, 0.0, total], weight.dtype, (bags, width)), None, None, None


# ---- in what is sorted ---------------------------------------------------------------------------------------------------


def _count_before(b: Builder, out: Value, values: Value, limits: Value, is_behind_equal: bool) -> Value:
    """For each value how many limits, along their last axis, it lies behind; of one that equals it also that one."""
    dtype = torch.promote_types(values.dtype, limits.dtype)
    sides = [b.reshape(b.tensor(values, dtype), (*values.shape, 1)), b.tensor(limits, dtype)]
    if limits.rank > 1:
        sides[1] = b.reshape(sides[1], (*limits.shape[:-1], 1, limits.shape[-1]))
    shape = (*values.shape, limits.shape[-1])
    behind = b.emit("greater_equal" if is_behind_equal else "greater", list(sides), torch.bool, shape)
    counted = b.emit("sum", [b.tensor(behind, torch.int64)], torch.int64, values.shape, axes=[len(shape) - 1])
    return b.tensor(counted, out.dtype)


@aten("bucketize.Tensor")
def _(b: Builder, out: Value, x: Value, limits: Value, out_int32: bool = False, right: bool = False) -> Value:
    return _count_before(b, out, x, limits, right)


@aten("searchsorted.Tensor")
def _(b: Builder, out: Value, limits: Value, x: Value, out_int32: bool = False, right: bool = False, side: Optional[str] = None,
      sorter: Optional[Value] = None) -> Value:  # fmt: skip
    require(sorter is None, "searchsorted by the order of a sorter")
    return _count_before(b, out, x, limits, right or side == "right")


@aten("kthvalue")
def _(b: Builder, out: Tuple[Value, ...], x: Value, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    axis = axis_of(dim, x.rank)
    results = RULES["sort"](b, (x, out[1]), x, axis)
    return tuple(b.reshape(b.slice(one, axis, k - 1, k), each.shape) for one, each in zip(results, out))


# ---- distances -----------------------------------------------------------------------------------------------------------


def _norm(b: Builder, difference: Value, shape: Sequence[Dim], p: float) -> Value:
    """Over the last axis."""
    dtype, axes = difference.dtype, [difference.rank - 1]
    if p == 2:
        return b.emit("reduce_l2", [difference], dtype, shape, axes=axes)
    if p == 1:
        return b.emit("reduce_l1", [difference], dtype, shape, axes=axes)
    if p == 0:
        differs = b.emit("not_equal", [difference, 0.0], torch.bool, difference.shape)
        return b.emit("sum", [b.tensor(differs, dtype)], dtype, shape, axes=axes)
    size = b.emit("abs", [difference], dtype, difference.shape)
    if p == math.inf:
        return b.emit("max", [size], dtype, shape, axes=axes)
    powers = b.emit("pow", [size, float(p)], dtype, size.shape)
    return b.emit("pow", [b.emit("sum", [powers], dtype, shape, axes=axes), 1 / p], dtype, shape)


@aten("_cdist_forward", "cdist")
def _(b: Builder, out: Value, x: Value, y: Value, p: float = 2.0, *_: Any) -> Value:
    rows = b.reshape(x, (*x.shape[:-1], 1, x.shape[-1]))
    columns = b.reshape(y, (*y.shape[:-2], 1, *y.shape[-2:]))
    return _norm(b, b.emit("sub", [rows, columns], out.dtype, (*out.shape, x.shape[-1])), out.shape, p)


@aten("_pdist_forward")
def _(b: Builder, out: Value, x: Value, p: float = 2.0) -> Value:
    rows = x.shape[0]
    if not isinstance(rows, int):
        raise Unsupported("pdist of a symbolic number of rows")
    pairs = torch.triu_indices(rows, rows, 1)
    left, right = (
        b.emit("embedding", [b.constant(pairs[side].clone(), "pairs"), x], x.dtype, (*out.shape, x.shape[1])) for side in (0, 1)
    )
    return _norm(b, b.emit("sub", [left, right], x.dtype, left.shape), out.shape, p)


# ---- between elements ----------------------------------------------------------------------------------------------------


@aten("grid_sampler_2d", "grid_sampler_3d", "grid_sampler")
def _(b: Builder, out: Value, x: Value, grid: Value, mode: int, padding: int, align_corners: bool) -> Value:
    # PyTorch limits each of the elements that are read, kgen the position.
    require(mode != 2 or padding != 1, "grid_sample in the mode bicubic with the padding border")
    named = {"mode": ("linear", "nearest", "cubic")[mode], "padding": ("zeros", "border", "reflection")[padding]}
    return b.emit(f"grid_sample{x.rank - 2}d", [x, grid], x.dtype, out.shape, **named, align_corners=bool(align_corners))


def _resize(op: str, coordinates: Optional[str], **more: Any) -> Any:
    """The rule of an `upsample`: of its form with `output_size` and `scale_factors`, and of that with the factors apart."""

    def rule(b: Builder, out: Value, x: Value, size: Any, *rest: Any, **named: Any) -> Value:
        given = list(rest)
        corners = given.pop(0) if coordinates is None and given else named.get("align_corners", False)
        where = coordinates or ("align_corners" if corners else "half_pixel")
        factors = named.get("scale_factors", given[0] if given and isinstance(given[0], (list, tuple)) else given)
        factors = [factor for factor in factors or () if factor is not None]
        extra = dict(more)
        if len(factors) == x.rank - 2 and where != "align_corners":
            extra["scales"] = [1.0, 1.0, *(float(factor) for factor in factors)]
        return b.emit(op, [x], x.dtype, out.shape, sizes=list(out.shape), coordinates=where, **extra)

    return rule


for _axes in ("1d", "2d", "3d"):
    RULES[f"upsample_nearest{_axes}"] = _resize("resize_nearest", "asymmetric", rounding="floor")
    RULES[f"_upsample_nearest_exact{_axes}"] = _resize("resize_nearest", "half_pixel", rounding="round_prefer_ceil")
for _name in ("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"):
    RULES[_name] = _resize("resize_linear", None)
RULES["upsample_bicubic2d"] = _resize("resize_cubic", None)
RULES["_upsample_bilinear2d_aa"] = _resize("resize_linear", None, antialias=True, exclude_outside=True)
RULES["_upsample_bicubic2d_aa"] = _resize("resize_cubic", None, antialias=True, exclude_outside=True, coefficient=-0.5)
