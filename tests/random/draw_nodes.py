"""Draws one node of a given operator, right by construction in dtypes and shapes.

Elementwise operators, reductions and operators with shape patterns are drawn from their specifications alone; HINTS
completes the few whose shapes hang together by more than the patterns' names, and FORMS knows the forms of views.
"""

from typing import Any, Callable

import byte_products
import groups
import number_formats
import paged
import transforms
from dims import Dim, Shape, count_of
from draw_convolutions import channels_first, convolution
from draw_layers import HINTS as LAYERS
from draw_scaled_products import HINTS as SCALED
from draw_selections import HINTS as SELECTIONS
from draw_windows import top_k, windows
from graph import Type
from scope import NotPossible, Scope, broadcast
from specs import Operand, Operator

RANKS = [0, 1, 1, 2, 2, 2, 3, 3, 4]


def draw_node(scope: Scope, op: Operator) -> None:
    if op.name in HINTS:
        HINTS[op.name](scope, op)
    elif op.kind == "view":
        FORMS[op.form](scope, op)
    elif op.kind == "reduction" or {"axes", "keepdims"} <= set(op.attributes):
        reduction(scope, op)
    elif any(each.pattern is not None for each in op.operands):
        patterned(scope, op, {}, {})
    else:
        broadcasting(scope, op)


# ---- from the specification ------------------------------------------------------------------------------------------


def choose_types(scope: Scope, op: Operator, first: str) -> dict[str, str]:
    """A dtype for each type variable, beginning with that of the first operand, which is of this dtype."""
    bound = {op.operands[0].type: first}
    for name, allowed in op.types.items():
        bound.setdefault(name, scope.dtype(allowed))
    return bound


def dtype_of(result: Operand, bound: dict[str, str], attributes: dict[str, Any]) -> str:
    return attributes[result.type[1:]] if result.type.startswith("$") else bound.get(result.type, result.type)


def attributes_of(scope: Scope, op: Operator, rank: int) -> dict[str, Any]:
    """Those that have a default now and then take another value; the others must."""
    values: dict[str, Any] = {}
    for name, spec in op.attributes.items():
        if "default" in spec and scope.chance(0.4):
            continue
        if name == "saturate":  # infinities and NaN are all that it would tell of: see tests/conformance/type_models.py
            continue
        match spec["type"]:
            case "boolean":
                values[name] = scope.chance(0.5)
            case "dtype":
                values[name] = scope.dtype(number_formats.ALL)
            case "text":
                values[name] = scope.one_of(spec["allowed"])
            case "integer" if name == "axis":
                values[name] = any_axis(scope, rank)
            case "dims" if name == "axes":
                values[name] = any_axes(scope, rank)
            case "number":
                values[name] = scope.one_of([1e-6, 1e-3, 0.5] if "epsilon" in name else [0.25, 0.5, 1.5])
    if {"minimum", "maximum"} <= set(op.attributes):
        values = {"minimum": scope.one_of([-1.0, 0.0, -3.5]), "maximum": scope.one_of([1.0, 0.5, 6.0])}
    return values


def any_axis(scope: Scope, rank: int) -> int:
    if rank == 0:
        raise NotPossible
    return scope.integer(-rank, rank - 1)


def any_axes(scope: Scope, rank: int) -> list[int]:
    chosen = [axis for axis in range(rank) if scope.chance(0.5)] or ([scope.integer(0, rank - 1)] if rank else [])
    return [axis - rank if scope.chance(0.3) else axis for axis in chosen]


def broadcasting(scope: Scope, op: Operator) -> None:
    """Operands that broadcast: elementwise operators, and composites without shapes."""
    ranks = RANKS if op.kind == "elementwise" else RANKS[1:]  # the others may have an axis that they mean
    first = scope.pick_or_make(op.dtypes_of(op.operands[0].type), ranks)
    bound = choose_types(scope, op, scope.type_of(first).dtype)
    inputs: list[Any] = [first]
    shape = scope.type_of(first).shape
    for operand in op.operands[1:]:
        if operand.optional and scope.chance(0.5):
            break
        chosen = broadcast_operand(scope, bound.get(operand.type, operand.type), shape)
        inputs.append(chosen)
        if isinstance(chosen, str):
            shape = broadcast(shape, scope.type_of(chosen).shape)
    if op.kind == "elementwise" and len(inputs) == 2 and scope.chance(0.3):
        inputs.reverse()
    for index, operand in enumerate(op.operands[1:len(inputs)], 1):  # numbers alone do not say their dtype
        if not any(isinstance(other, str) for other, each in zip(inputs, op.operands) if each.type == operand.type):
            inputs[index] = scope.need(Type(bound.get(operand.type, operand.type), shape))
    attributes = attributes_of(scope, op, len(scope.type_of(first).shape))  # axes are those of the first operand
    results = [Type(dtype_of(each, bound, attributes), shape if each.pattern is None else ()) for each in op.results]
    scope.add_node(op.name, inputs, results, attributes)


def broadcast_operand(scope: Scope, dtype: str, shape: Shape) -> Any:
    if dtype != "bool" and scope.chance(0.2):
        return scope.element(dtype)
    if scope.chance(0.6):
        try:
            return scope.pick([dtype], lambda other: broadcast(shape, other) is not None)
        except NotPossible:
            pass
    other = list(shape)
    if scope.chance(0.5):
        other = other[scope.integer(0, len(other)):]
    other = [Dim.of(1) if scope.chance(0.25) else extent for extent in other]
    return scope.need(Type(dtype, tuple(other)))


def reduction(scope: Scope, op: Operator) -> None:
    x = scope.pick_or_make(op.dtypes_of(op.operands[0].type), RANKS)
    shape = scope.type_of(x).shape
    bound = choose_types(scope, op, scope.type_of(x).dtype)
    attributes = attributes_of(scope, op, len(shape))
    axes = attributes.get("axes", op.attributes["axes"]["default"])
    if axes and not shape:
        attributes["axes"] = axes = []
    reduced = {axis % len(shape) for axis in axes} or set(range(len(shape)))
    kept = attributes.get("keepdims", False)
    result = tuple(Dim.of(1) if axis in reduced else extent
                   for axis, extent in enumerate(shape) if kept or axis not in reduced)
    scope.add_node(op.name, [x], [Type(dtype_of(each, bound, {}), result) for each in op.results], attributes)


def draw_sibling(scope: Scope) -> None:
    """An operator on the first operand of an earlier node of it, and now and then one that needs the results of both."""
    def has_siblings(op: Operator) -> bool:
        patterns = op.operands and op.operands[0].pattern and op.results[0].pattern
        return op.kind == "structured" and op.name not in HINTS and len(op.results) == 1 and bool(patterns)

    earlier = [node for node in scope.body.nodes if not node.call and has_siblings(scope.operators[node.op])]
    if not earlier:
        raise NotPossible
    node = scope.one_of(earlier)
    op = scope.operators[node.op]
    made = scope.type_of(node.outputs[0])
    sizes = {}
    if scope.chance(0.6):
        sizes = {name: extent for name, extent in zip(axes_of(op.results[0].pattern, len(made.shape)), made.shape)
                 if name != "..." and name not in op.operands[0].pattern}
    patterned(scope, op, sizes, node.attributes, first=node.inputs[0])
    other = scope.body.nodes[-1].outputs[0]
    if scope.type_of(other) == made and scope.chance(0.6):
        scope.add_node(scope.one_of(["mul", "add", "sub"]), [node.outputs[0], other], [made])


def patterned(scope: Scope, op: Operator, sizes: dict[str, Any], attributes: dict[str, Any],
              first: str | None = None) -> None:
    """Operands of given axes. `sizes`: extents by name, or functions that find them from those that are known. `first`:
    the first operand, where it is not to be drawn."""
    pattern = op.operands[0].pattern
    fixed = len(pattern) - pattern.count("...")
    ranks = [fixed] if fixed == len(pattern) else [fixed, fixed + 1, fixed + 2]
    known: dict[str, Any] = {name: each for name, each in sizes.items() if isinstance(each, Dim)}

    def fits(shape: Shape) -> bool:
        return len(shape) in ranks and all(known.get(name, extent) == extent
                                           for name, extent in zip(axes_of(pattern, len(shape)), shape))

    allowed = op.dtypes_of(op.operands[0].type)
    try:
        if first is None and scope.chance(0.8):
            first = scope.pick(allowed, fits)
    except NotPossible:
        pass
    if first is None:
        shape = scope.shape(scope.one_of(ranks))
        shape = tuple(known.get(name, extent) for name, extent in zip(axes_of(pattern, len(shape)), shape))
        first = scope.fresh(Type(scope.dtype(allowed), shape))
    bound = choose_types(scope, op, scope.type_of(first).dtype)
    shape = scope.type_of(first).shape
    named = list(zip(axes_of(pattern, len(shape)), shape))
    known |= {name: extent for name, extent in named if name != "..."}
    known["..."] = tuple(extent for name, extent in named if name == "...")
    inputs = [first]
    for operand in op.operands[1:]:
        if operand.optional and scope.chance(0.5):
            break
        if operand.pattern is None:
            inputs.append(broadcast_operand(scope, bound.get(operand.type, operand.type), shape))
            continue
        wanted = Type(bound.get(operand.type, operand.type), extents_of(scope, operand.pattern, known, sizes))
        if wanted.dtype in ("i32", "i64"):
            inputs.append(scope.fresh(wanted, extent=shape[-1]))
        else:
            inputs.append(scope.need(wanted))
    attributes = attributes_of(scope, op, len(shape)) | attributes
    results = [Type(dtype_of(each, bound, attributes), extents_of(scope, each.pattern, known, sizes))
               for each in op.results]
    scope.add_node(op.name, inputs, results, attributes)


def axes_of(pattern: list[str], rank: int) -> list[str]:
    """The name of each axis; "..." for those of an ellipsis."""
    if "..." not in pattern:
        return pattern
    place = pattern.index("...")
    return pattern[:place] + ["..."] * (rank - len(pattern) + 1) + pattern[place + 1:]


def extents_of(scope: Scope, pattern: list[str], known: dict[str, Any], sizes: dict[str, Any]) -> Shape:
    shape: tuple[Dim, ...] = ()
    for name in pattern:
        if name not in known:
            known[name] = Dim.of(sizes[name](known)) if name in sizes else scope.extent()
        shape += known[name] if name == "..." else (known[name],)
    return shape


# ---- operators whose sizes hang together -----------------------------------------------------------------------------


def attention(scope: Scope, op: Operator) -> None:
    shared = scope.one_of([1, 1, 2, 3])
    groups = scope.one_of([1, 2, 3])
    sizes = {"H": Dim.of(groups * shared), "G": Dim.of(groups), "D": Dim.of(scope.one_of([4, 8, 16, 20, 24, 64])),
             "T": lambda known: known["S"] if scope.chance(0.5) else scope.extent()}
    if op.name == "attention_value_width":
        sizes["E"] = Dim.of(scope.one_of([1, 5, 16, 24, 33]))
    patterned(scope, op, sizes, paged.attention_attributes(scope, op))


def rope(scope: Scope, op: Operator) -> None:
    width = Dim.of(2 * scope.integer(1, 9))
    x = scope.need(Type(scope.dtype(op.types["T"]), (*scope.shape(scope.integer(1, 3)), width)))
    type_ = scope.type_of(x)
    tables = [scope.need(Type(type_.dtype, type_.shape[scope.integer(0, len(type_.shape) - 1):])) for _ in range(2)]
    scope.add_node(op.name, [x, *tables], [type_])


def rope_interleaved(scope: Scope, op: Operator) -> None:
    half = scope.integer(1, 9)
    x = scope.need(Type(scope.dtype(op.types["T"]), (*scope.shape(scope.integer(1, 3)), Dim.of(2 * half))))
    type_ = scope.type_of(x)
    shape = (*type_.shape[scope.integer(0, len(type_.shape) - 1):-1], Dim.of(half))
    tables = [scope.need(Type(type_.dtype, shape)) for _ in range(2)]
    scope.add_node(op.name, [x, *tables], [type_])


def group_norm(scope: Scope, op: Operator) -> None:
    groups = scope.integer(1, 4)
    patterned(scope, op, {"C": Dim.of(groups * scope.integer(1, 4))}, {"groups": groups})


def weighted(scope: Scope, op: Operator) -> None:
    """Often by a constant whose columns fill panels, or nearly: those are packed when the model is loaded."""
    try:
        x = scope.pick(op.types["T"], lambda shape: len(shape) > 1 and bool(shape[-1].constant))
    except NotPossible:
        x = None
    if x is None or scope.chance(0.4):
        return patterned(scope, op, {}, {})
    type_ = scope.type_of(x)
    extents = {"K": type_.shape[-1], "N": Dim.of(scope.one_of([15, 16, 31, 32, 48]))}
    shape = tuple(extents[name] for name in op.operands[1].pattern if name != "...")
    inputs = [x, scope.fresh_constant(Type(type_.dtype, shape), count_of(shape).constant)]
    if len(op.operands) > 2 and scope.chance(0.5):
        inputs.append(scope.need(Type(type_.dtype, (extents["N"],))))
    scope.add_node(op.name, inputs, [Type(type_.dtype, (*type_.shape[:-1], extents["N"]))])


def product(scope: Scope, op: Operator) -> None:
    """By one matrix, or by a batch of them, whose leading axes broadcast with those of the other operand; often one that
    lies transposed."""
    if scope.chance(0.5):
        return weighted(scope, op)
    dtype, depth, batch = scope.dtype(op.types["T"]), scope.extent(), scope.shape(scope.integer(1, 2))

    def leading() -> Shape:
        kept = batch[scope.one_of([0, 0, 0, len(batch) - 1, len(batch)]):]
        return tuple(Dim.of(1) if scope.chance(0.2) else extent for extent in kept)

    a = scope.need(Type(dtype, (*leading(), scope.extent(), depth)))
    shape = (*leading(), depth, scope.extent())
    if scope.chance(0.5):
        b = scope.need(Type(dtype, (*shape[:-2], shape[-1], shape[-2])))
        perm = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
        b = scope.add_node("transpose", [b], [Type(dtype, shape)], {"perm": perm})[0]
    else:
        b = scope.need(Type(dtype, shape))
    rows = scope.type_of(a).shape
    scope.add_node(op.name, [a, b], [Type(dtype, (*broadcast(rows[:-2], shape[:-2]), rows[-2], shape[-1]))])


def pool(scope: Scope, op: Operator) -> None:
    window, strides, dilations = ([scope.integer(1, most) for _ in range(2)] for most in (4, 2, 2))
    pads = [scope.integer(0, 2) for _ in range(4)]
    image = [Dim.of(scope.integer(7, 12)) if strides[axis] > 1 else scope.extent() for axis in range(2)]
    x = scope.need(Type(scope.dtype(op.types["T"]), (scope.extent(), *image, scope.extent())))
    type_ = scope.type_of(x)
    result = []
    for axis in range(2):
        span = image[axis] + pads[axis] + pads[2 + axis] - (dilations[axis] * (window[axis] - 1) + 1)
        scope.require(0, span)
        result.append(span + 1 if strides[axis] == 1 else Dim.of(span.constant // strides[axis] + 1))
    attributes = {"window": window, "strides": strides, "pads": pads, "dilations": dilations}
    if "count_include_pad" in op.attributes and scope.chance(0.5):
        attributes["count_include_pad"] = scope.chance(0.5)
    scope.add_node(op.name, [x], [Type(type_.dtype, (type_.shape[0], *result, type_.shape[3]))], attributes)


def pad(scope: Scope, op: Operator) -> None:
    x = scope.pick_or_make(op.types["T"], [1, 2, 2, 3, 4])
    type_ = scope.type_of(x)
    rank = len(type_.shape)
    mode = scope.one_of(op.attributes["mode"]["allowed"])
    pads = [scope.one_of([0, 0, 1, 2, 5]) for _ in range(2 * rank)]
    for axis, extent in enumerate(type_.shape):
        if mode == "reflect":
            scope.require(max(pads[axis], pads[rank + axis]) + 1, extent)
        elif mode in ("edge", "wrap"):
            scope.require(1, extent)
    attributes = {"pads": pads} | ({"mode": mode} if mode != "constant" or scope.chance(0.5) else {})
    if mode == "constant" and scope.chance(0.5):
        attributes["value"] = 1 if type_.dtype == "bool" else scope.element(type_.dtype)
    shape = tuple(extent + pads[axis] + pads[rank + axis] for axis, extent in enumerate(type_.shape))
    scope.add_node(op.name, [x], [Type(type_.dtype, shape)], attributes)


def gather(scope: Scope, op: Operator) -> None:
    x = scope.pick_or_make(op.types["T"], [1, 2, 2, 3])
    type_ = scope.type_of(x)
    axis = any_axis(scope, len(type_.shape))
    shape = [Dim.of(1) if scope.chance(0.2) else extent for extent in type_.shape]
    shape[axis] = scope.extent()
    indices = scope.fresh(Type(scope.dtype(op.types["I"]), tuple(shape)), extent=type_.shape[axis])
    line = tuple(Dim.of(1) if i == axis % len(shape) else extent for i, extent in enumerate(type_.shape))
    result = broadcast(line, scope.type_of(indices).shape)
    scope.add_node(op.name, [x, indices], [Type(type_.dtype, result)], {"axis": axis})


def scatter(scope: Scope, op: Operator) -> None:
    x = scope.pick_or_make(op.types["T"], [1, 2, 2, 3])
    type_ = scope.type_of(x)
    axis = any_axis(scope, len(type_.shape))
    shape = list(type_.shape)
    shape[axis] = scope.extent()
    indices = scope.fresh(Type(scope.dtype(op.types["I"]), tuple(shape)), extent=type_.shape[axis])
    updates = scope.need(Type(type_.dtype, tuple(shape)))
    attributes = {"axis": axis, "reduction": scope.one_of(["none", "max", "min"])}
    scope.add_node(op.name, [x, indices, updates], [type_], attributes)


def embedding(scope: Scope, op: Operator) -> None:
    rows, width = scope.extent(), scope.extent()
    weight = scope.need(Type(scope.dtype(op.types["T"]), (rows, width)))
    shape = scope.shape(scope.integer(1, 3))
    indices = scope.fresh(Type(scope.dtype(op.types["I"]), shape), extent=rows)
    scope.add_node(op.name, [indices, weight], [Type(scope.type_of(weight).dtype, (*shape, width))])


def one_hot(scope: Scope, op: Operator) -> None:
    depth, shape = Dim.of(scope.one_of([1, 2, 5, 9, 17])), scope.shape(scope.integer(0, 3))
    indices = scope.fresh(Type(scope.dtype(op.types["I"]), shape), extent=depth)
    scope.add_node(op.name, [indices], [Type("bool", (*shape, depth))], {"depth": depth})


def trilu(scope: Scope, op: Operator) -> None:
    x = scope.pick_or_make(op.types["T"], [2, 2, 3, 4])
    attributes = {"diagonal": scope.integer(-4, 4)} if scope.chance(0.7) else {}
    if scope.chance(0.6):
        attributes["upper"] = scope.chance(0.3)
    scope.add_node(op.name, [x], [scope.type_of(x)], attributes)


def cast(scope: Scope, op: Operator) -> None:
    x = scope.pick_or_make(op.types["T"], RANKS)
    scope.converted(x, scope.dtype(number_formats.ALL))


def narrow(scope: Scope, op: Operator) -> None:
    """To f8e5m2 with `saturate`: the infinities that it has without are in no graph that is drawn."""
    narrow_floats = [name for name, form in number_formats.FLOATS.items() if form.saturates]
    x = scope.pick_or_make([name for name in number_formats.FLOATS if name not in narrow_floats], RANKS)
    to = scope.dtype(narrow_floats if scope.chance(0.8) else [*number_formats.FLOATS, "bool"])
    attributes = {"to": to} | ({"saturate": scope.chance(0.3)} if to != "f8e5m2" else {})
    scope.add_node(op.name, [x], [Type(to, scope.type_of(x).shape)], attributes)


HINTS: dict[str, Callable[[Scope, Operator], None]] = {
    "matmul": product,
    "linear": weighted,
    "attention": attention,
    "window_attention": attention,
    "attention_value_width": attention,
    "rope": rope,
    "rope_interleaved": rope_interleaved,
    "group_norm": group_norm,
    "conv1d": convolution(1),
    "conv2d": convolution(2),
    "conv1d_ncl": channels_first(1),
    "conv2d_nchw": channels_first(2),
    "conv3d_ncdhw": channels_first(3),
    "conv3d": convolution(3),
    "max_pool": windows,
    "max_pool_with_indices": windows,
    "sum_pool": windows,
    "average_pool": windows,
    "lp_pool": windows,
    "top_k": top_k,
    "max_pool2d": pool,
    "average_pool2d": pool,
    "pad": pad,
    "gather": gather,
    "embedding": embedding,
    "scatter": scatter,
    "one_hot": one_hot,
    "trilu": trilu,
    "cast": cast,
    "narrow": narrow,
} | SELECTIONS | LAYERS | SCALED | byte_products.HINTS | groups.HINTS | paged.HINTS | transforms.HINTS

# ---- views -----------------------------------------------------------------------------------------------------------


def viewed(scope: Scope, op: Operator, ranks: list[int]) -> tuple[str, Type]:
    x = scope.pick_or_make(op.types["T"], ranks)
    return x, scope.type_of(x)


def permute(scope: Scope, op: Operator) -> None:
    x, type_ = viewed(scope, op, [2, 2, 3, 4])
    perm = [int(axis) for axis in scope.rng.permutation(len(type_.shape))]
    scope.add_node(op.name, [x], [Type(type_.dtype, tuple(type_.shape[axis] for axis in perm))], {"perm": perm})


def reshape(scope: Scope, op: Operator) -> None:
    x, type_ = viewed(scope, op, [1, 2, 3, 4])
    shape = list(type_.shape)
    for _ in range(scope.integer(1, 2)):
        axis = scope.integer(0, len(shape) - 1)
        number = shape[axis].constant
        factors = [n for n in range(2, 9) if number and number % n == 0]
        if factors and scope.chance(0.5):
            factor = scope.one_of(factors)
            shape[axis: axis + 1] = [Dim.of(factor), Dim.of(number // factor)]
        elif axis + 1 < len(shape):
            shape[axis: axis + 2] = [shape[axis] * shape[axis + 1]]
        else:
            shape.insert(axis, Dim.of(1))
    if len(shape) > 5:
        raise NotPossible
    written = list(shape)
    axis = scope.integer(0, len(shape) - 1)
    others = [extent.constant for i, extent in enumerate(shape) if i != axis]
    if scope.chance(0.3) and all(others):  # -1 follows where the others are numbers
        written[axis] = Dim.of(-1)
    scope.add_node(op.name, [x], [Type(type_.dtype, tuple(shape))], {"shape": written})


def broadcast_view(scope: Scope, op: Operator) -> None:
    x, type_ = viewed(scope, op, [0, 1, 2, 3])
    shape = [scope.extent() if extent == 1 else extent for extent in type_.shape]
    shape = [*scope.shape(scope.integer(0, 1)), *shape]
    scope.add_node(op.name, [x], [Type(type_.dtype, tuple(shape))], {"shape": shape})


def slice_view(scope: Scope, op: Operator) -> None:
    x, type_ = viewed(scope, op, [1, 2, 3, 4])
    axis = any_axis(scope, len(type_.shape))
    extent = type_.shape[axis]
    begin, cut, step = scope.integer(0, 2), scope.integer(0, 2), scope.one_of([1, 1, 1, 2, 3])
    if extent.constant is None:
        step = 1
    length = extent - begin - cut
    scope.require(0, length)
    attributes: dict[str, Any] = {"axis": axis}
    if begin or scope.chance(0.3):
        attributes["begin"] = begin
    if cut and scope.chance(0.5):
        attributes["end"] = -cut
    elif cut or scope.chance(0.3):
        attributes["end"] = extent - cut
    if step > 1:
        attributes["step"] = step
        length = Dim.of((length.constant + step - 1) // step)
    shape = list(type_.shape)
    shape[axis] = length
    scope.add_node(op.name, [x], [Type(type_.dtype, tuple(shape))], attributes)


def select(scope: Scope, op: Operator) -> None:
    x, type_ = viewed(scope, op, [1, 2, 3, 4])
    axis = any_axis(scope, len(type_.shape))
    index = scope.integer(0, 2)
    scope.require(index + 1, type_.shape[axis])
    shape = [extent for i, extent in enumerate(type_.shape) if i != axis % len(type_.shape)]
    written = -1 - index if scope.chance(0.3) else index
    scope.add_node(op.name, [x], [Type(type_.dtype, tuple(shape))], {"axis": axis, "index": written})


def unsqueeze(scope: Scope, op: Operator) -> None:
    x, type_ = viewed(scope, op, [0, 1, 2, 3])
    axis = scope.integer(0, len(type_.shape))
    shape = (*type_.shape[:axis], Dim.of(1), *type_.shape[axis:])
    written = axis - len(shape) if scope.chance(0.3) else axis
    scope.add_node(op.name, [x], [Type(type_.dtype, shape)], {"axis": written})


def squeeze(scope: Scope, op: Operator) -> None:
    x = scope.pick(op.types["T"], lambda shape: any(extent == 1 for extent in shape))
    type_ = scope.type_of(x)
    axis = scope.one_of(i for i, extent in enumerate(type_.shape) if extent == 1)
    shape = type_.shape[:axis] + type_.shape[axis + 1:]
    scope.add_node(op.name, [x], [Type(type_.dtype, shape)], {"axis": axis})


def flip(scope: Scope, op: Operator) -> None:
    x, type_ = viewed(scope, op, [1, 2, 3, 4])
    scope.add_node(op.name, [x], [type_], {"axis": any_axis(scope, len(type_.shape))})


def concat(scope: Scope, op: Operator) -> None:
    x, type_ = viewed(scope, op, [1, 2, 3, 4])
    axis = any_axis(scope, len(type_.shape))
    parts, total = [x], type_.shape[axis]
    for _ in range(scope.one_of([0, 1, 1, 1, 2])):
        shape = list(type_.shape)
        shape[axis] = shape[axis] if scope.chance(0.5) else scope.extent()
        parts.append(scope.need(Type(type_.dtype, tuple(shape))))
        total = total + shape[axis]
    shape = list(type_.shape)
    shape[axis] = total
    scope.add_node(op.name, parts, [Type(type_.dtype, tuple(shape))], {"axis": axis})


def index_update(scope: Scope, op: Operator) -> None:
    """Of a value, or of a state that nothing else reads."""
    x, type_ = viewed(scope, op, [1, 2, 3, 4])
    axis = any_axis(scope, len(type_.shape))
    shape = list(type_.shape)
    shape[axis] = scope.one_of([shape[axis], Dim.of(1), Dim.of(2), scope.extent()])
    room = type_.shape[axis] - shape[axis]
    begin = Dim.of(scope.one_of([0, 0, 1, 2]))
    positions = [name for name, each in scope.graph.symbols.items() if each.source]
    if positions and scope.chance(0.6):
        begin = Dim.symbol(scope.one_of(positions))
    scope.require(begin, room)
    update = scope.need(Type(type_.dtype, tuple(shape)))
    attributes = {"axis": axis} | ({"begin": begin} if begin != 0 or scope.chance(0.3) else {})
    if scope.chance(0.35):
        state = scope.add_state(type_)
        first = attributes if scope.chance(0.8) else {"axis": axis}
        (result,) = scope.add_node(op.name, [state, update], [type_], first)
        while scope.chance(0.35):  # once more; nothing may read what is between
            scope.values.remove(result)
            part = update if scope.chance(0.4) else scope.need(Type(type_.dtype, tuple(shape)))
            again = attributes | {"begin": scope.one_of([begin, Dim.of(0)])}
            (result,) = scope.add_node(op.name, [result, part], [type_], again)
        scope.body.states[state].next = result
    else:
        scope.add_node(op.name, [groups.not_a_state(scope, x), update], [type_], attributes)


FORMS: dict[str, Callable[[Scope, Operator], None]] = {
    "permute": permute,
    "reshape": reshape,
    "broadcast": broadcast_view,
    "slice": slice_view,
    "select": select,
    "unsqueeze": unsqueeze,
    "squeeze": squeeze,
    "flip": flip,
    "concat": concat,
    "update": index_update,
}
