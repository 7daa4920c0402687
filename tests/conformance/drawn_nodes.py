"""What draw_models.py draws: for each of ONNX's operators a node with its inputs, as a version of the operator takes
it."""

import numpy as np

from draw_models import Chance, Drawer, Input, Node

F32, F64, F16 = np.float32, np.float64, np.float16


def real_type(c: Chance) -> type:
    return c.one_of([F32, F32, F32, F64, F16])


def data(c: Chance, rank: int | None = None, dtype: type | None = None, batch: bool = True, **bounds) -> Input:
    shape = c.shape(c.integer(1, 4) if rank is None else rank)
    return Input(c.reals(*shape, dtype=dtype or real_type(c), **bounds), batch=batch)


def weight(array: np.ndarray) -> Input:
    """Given when the model runs, or part of it."""
    return Input(array, weight=True)


def known(values, dtype=np.int64) -> Input:
    return Input(np.array(values, dtype), known=True)


# ---- element by element ----------------------------------------------------------------------------------------------


def unary(low: float = -4, high: float = 4, **attributes: tuple) -> Drawer:
    def draw(c: Chance, op: str, version: int) -> Node:
        given: dict = {}
        for name, (value, default) in attributes.items():
            c.given(given, name, value, default)
        return Node(op, [data(c, low=low, high=high)], given)

    return draw


def gelu(c: Chance, op: str, version: int) -> Node:
    """In f16 the reference evaluator adds 1 and erf(x) in f16, where they cancel: -0.01154 of -2.625, which is -0.01137."""
    attributes: dict = {}
    c.given(attributes, "approximate", "tanh", "none")
    return Node(op, [data(c, dtype=c.one_of([F32, F32, F64]))], attributes)


def spread(c: Chance, shape: list[int]) -> list[int]:
    """A shape that broadcasts to it."""
    kept = shape[c.integer(0, len(shape)):]
    return [1 if c.some(0.3) else extent for extent in kept]


def binary(*types: type, low: float = -4, high: float = 4, positive: bool = False) -> Drawer:
    def draw(c: Chance, op: str, version: int) -> Node:
        dtype = c.one_of(types)
        shape = c.shape(c.integer(1, 4))
        shapes = [shape, spread(c, shape)]
        if c.some():
            shapes.reverse()
        if dtype in (F32, F64, F16):
            bounds = (0.125, 4) if positive else (low, high)
            make = lambda s: c.reals(*s, dtype=dtype, low=bounds[0], high=bounds[1])  # noqa: E731
        else:
            make = lambda s: c.integers(*s, dtype=dtype, low=1 if positive else -9)  # noqa: E731
        return Node(op, [weight(make(s)) for s in shapes])

    return draw


def variadic(c: Chance, op: str, version: int) -> Node:
    dtype, shape = c.one_of([F32, F64]), c.shape(c.integer(1, 3))
    shapes = [shape, *(spread(c, shape) for _ in range(c.integer(0, 3)))]
    return Node(op, [weight(c.reals(*s, dtype=dtype)) for s in shapes])


def mod(c: Chance, op: str, version: int) -> Node:
    shape = c.shape(2)
    if c.some():
        return Node(op, [Input(c.reals(*shape)), Input(c.positive(*shape))], {"fmod": 1})
    dtype = c.one_of([np.int8, np.int32, np.int64, np.uint8])
    values = c.integers(*shape, dtype=dtype, low=1) * (1 if dtype == np.uint8 else c.one_of([-1, 1]))
    attributes: dict = {}
    c.given(attributes, "fmod", 1, 0, 0.3)
    return Node(op, [Input(c.integers(*shape, dtype=dtype)), Input(values.astype(dtype))], attributes)


def bit_shift(c: Chance, op: str, version: int) -> Node:
    dtype, shape = c.one_of([np.uint8, np.uint16, np.uint32, np.uint64]), c.shape(2)
    return Node(op, [Input(c.integers(*shape, dtype=dtype)), Input(c.integers(*shape, dtype=dtype, low=0, high=7))],
                {"direction": c.one_of(["LEFT", "RIGHT"])})


def clip(c: Chance, op: str, version: int) -> Node:
    x = data(c, dtype=F32 if version < 12 else None)
    if version < 11:
        attributes: dict = {}
        if c.some():
            attributes["min"] = -1.5
        if c.some():
            attributes["max"] = 2.25
        return Node(op, [x], attributes)
    limit = lambda value: weight(np.array(value, x.array.dtype)) if c.some(0.7) else None  # noqa: E731
    return Node(op, [x, limit(-1.5), limit(2.25)])


def where(c: Chance, op: str, version: int) -> Node:
    shape = c.shape(3)
    return Node(op, [Input(c.integers(*spread(c, shape), low=0, high=1).astype(np.bool_)), Input(c.reals(*shape)),
                     Input(c.reals(*spread(c, shape)))])


def cast(c: Chance, op: str, version: int) -> Node:
    x = c.one_of([c.reals(3, 5), c.integers(4, 2), c.integers(7, dtype=np.int32), c.positive(2, 3, dtype=F64)])
    return Node(op, [Input(x, batch=True)], {"to": c.one_of([1, 6, 7, 9, 10, 11, 3])})


def prelu(c: Chance, op: str, version: int) -> Node:
    shape = c.shape(3)
    return Node(op, [Input(c.reals(*shape), batch=False), weight(c.reals(*spread(c, shape)))])


# ---- along axes ------------------------------------------------------------------------------------------------------


def reduction(inputs_since: int, positive: bool = False) -> Drawer:
    def draw(c: Chance, op: str, version: int) -> Node:
        rank = c.integer(1, 4)
        x = data(c, rank, c.one_of([F32, F64]))
        if positive:
            x.array = np.abs(x.array) + x.array.dtype.type(0.125)
        attributes: dict = {}
        c.given(attributes, "keepdims", 0, 1)
        axes = c.axes(rank, 1) if c.some(0.8) else None
        if version < 11 and axes is not None:
            axes = [axis % rank for axis in axes]
        if version < inputs_since:
            if axes is not None:
                attributes["axes"] = axes
            return Node(op, [x], attributes)
        c.given(attributes, "noop_with_empty_axes", 1, 0, 0.3)
        return Node(op, [x, known(axes) if axes is not None else None], attributes)

    return draw


def arg_extreme(c: Chance, op: str, version: int) -> Node:
    x, attributes = data(c), {}
    c.given(attributes, "axis", c.integer(0 if version < 11 else -x.array.ndim, x.array.ndim - 1), 0)
    c.given(attributes, "keepdims", 0, 1)
    if version >= 12:
        c.given(attributes, "select_last_index", 1, 0)
    return Node(op, [x], attributes)


def softmax(c: Chance, op: str, version: int) -> Node:
    """Before version 13 all axes from `axis` on are one, which the reference evaluator does not know."""
    x, attributes = data(c, c.integer(1, 4)), {}
    rank = x.array.ndim
    if version >= 13:
        c.given(attributes, "axis", c.axis(rank), -1)
    else:
        attributes["axis"] = rank - 1
    return Node(op, [x], attributes)


def cumulative(c: Chance, op: str, version: int) -> Node:
    x, attributes = data(c, dtype=c.one_of([F32, F64]), low=-1, high=1), {}
    c.given(attributes, "exclusive", 1, 0)
    c.given(attributes, "reverse", 1, 0)
    return Node(op, [x, known(c.axis(x.array.ndim))], attributes)


def top_k(c: Chance, op: str, version: int) -> Node:
    rank = c.integer(1, 3)
    shape, attributes = c.shape(rank, 2, 7), {}
    x = Input(c.numpy.permutation(np.arange(np.prod(shape))).reshape(shape).astype(F32), batch=False)
    axis = c.given(attributes, "axis", c.integer(0 if version < 11 else -rank, rank - 1), -1)
    k = c.integer(1, shape[axis])
    if version >= 11:
        c.given(attributes, "largest", 0, 1)
        c.given(attributes, "sorted", 1, 1)
    if version < 10:
        return Node(op, [x], {**attributes, "k": k}, 2)
    return Node(op, [x, known([k])], attributes, 2)


# ---- shapes ----------------------------------------------------------------------------------------------------------


def concat(c: Chance, op: str, version: int) -> Node:
    rank = c.integer(1, 4)
    shape, axis, dtype = c.shape(rank), c.integer(0, rank - 1), real_type(c)
    parts = []
    for _ in range(c.integer(1, 4)):
        shape[axis] = c.integer(0, 4)
        parts.append(Input(c.reals(*shape, dtype=dtype), batch=axis != 0))
    return Node(op, parts, {"axis": axis - rank if version >= 11 and c.some(0.3) else axis})


def split(c: Chance, op: str, version: int) -> Node:
    rank, attributes = c.integer(1, 3), {}
    shape = c.shape(rank)
    axis = c.given(attributes, "axis", c.integer(0 if version < 11 else -rank, rank - 1), 0)
    lengths = [c.integer(1, 4) for _ in range(c.integer(1, 4))]
    equal = c.some()
    if equal:
        lengths = [lengths[0]] * len(lengths)
    shape[axis] = sum(lengths)
    x, count = Input(c.reals(*shape)), len(lengths)
    if version >= 18 and equal and c.some():
        return Node(op, [x], {**attributes, "num_outputs": count}, count)
    if version < 18 and equal and c.some():
        return Node(op, [x], attributes, count)
    if version < 13:
        return Node(op, [x], {**attributes, "split": lengths}, count)
    return Node(op, [x, known(lengths)], attributes, count)


def slice_(c: Chance, op: str, version: int) -> Node:
    rank = c.integer(1, 4)
    x = data(c, rank, batch=False)
    axes = sorted(c.random.sample(range(rank), c.integer(1, rank)))
    starts = [c.integer(-7, 7) for _ in axes]
    ends = [c.one_of([c.integer(-7, 7), 2**31 - 1, -(2**31)]) for _ in axes]
    if version < 10:
        attributes = {"starts": starts, "ends": ends}
        return Node(op, [x], attributes | ({} if axes == list(range(len(axes))) and c.some() else {"axes": axes}))
    leading = axes == list(range(len(axes)))
    named = None if leading and c.some() else known([axis - rank if c.some(0.3) else axis for axis in axes])
    steps = known([c.one_of([1, 2, -1, -2, 3]) for _ in axes]) if c.some() else None
    return Node(op, [x, known(starts), known(ends), named, steps])


def transpose(c: Chance, op: str, version: int) -> Node:
    x = data(c)
    order = list(range(x.array.ndim))
    c.random.shuffle(order)
    return Node(op, [x], {"perm": order} if c.some(0.8) else {})


def reshape(c: Chance, op: str, version: int) -> Node:
    x = Input(c.reals(c.integer(1, 4), 6, c.integer(1, 3)), batch=True)
    a, _, b = x.array.shape
    return Node(op, [x, known(c.one_of([[0, -1], [-1], [0, 2, 3, 0], [-1, b, 6], [0, 0, -1], [1, 0, -1]]))])


def flatten(c: Chance, op: str, version: int) -> Node:
    x, attributes = data(c), {}
    c.given(attributes, "axis", c.integer(0 if version < 11 else -x.array.ndim, x.array.ndim), 1)
    return Node(op, [x], attributes)


def squeeze(c: Chance, op: str, version: int) -> Node:
    shape = [1 if c.some() else c.integer(2, 4) for _ in range(c.integer(1, 5))]
    ones = [axis for axis, extent in enumerate(shape) if extent == 1]
    if version >= 11:
        ones = [axis - len(shape) if c.some(0.3) else axis for axis in ones]
    x = Input(c.reals(*shape))
    if not ones or c.some(0.2):
        return Node(op, [x])
    axes = c.random.sample(ones, c.integer(1, len(ones)))
    return Node(op, [x], {"axes": axes}) if version < 13 else Node(op, [x, known(axes)])


def unsqueeze(c: Chance, op: str, version: int) -> Node:
    x = data(c, c.integer(0, 3))
    rank = x.array.ndim + c.integer(1, 2)
    axes = c.random.sample(range(rank), rank - x.array.ndim)
    if version >= 11:
        axes = [axis - rank if c.some(0.3) else axis for axis in axes]
    return Node(op, [x], {"axes": axes}) if version < 13 else Node(op, [x, known(axes)])


def expand(c: Chance, op: str, version: int) -> Node:
    shape = c.shape(c.integer(1, 4))
    return Node(op, [Input(c.reals(*spread(c, shape))), known(shape if c.some() else spread(c, shape) or [1])])


def tile(c: Chance, op: str, version: int) -> Node:
    x = data(c, dtype=F32)
    return Node(op, [x, known([c.integer(0 if c.some(0.1) else 1, 3) for _ in x.array.shape])])


def pad(c: Chance, op: str, version: int) -> Node:
    rank = c.integer(1, 4)
    x = Input(c.reals(*c.shape(rank, 3, 5)), batch=False)
    modes = ["constant", "reflect", "edge"] + (["wrap"] if version >= 19 else [])
    mode = c.one_of(modes)
    attributes: dict = {"mode": mode} if mode != "constant" or c.some() else {}
    low = -1 if mode == "constant" else 0
    if version < 11:
        pads = [c.integer(low, 2) for _ in range(2 * rank)]
        value = {"value": 1.5} if mode == "constant" and c.some() else {}
        return Node(op, [x], {**attributes, "pads": pads, **value})
    axes = c.axes(rank) if version >= 18 and c.some() else None
    count = rank if axes is None else len(axes)
    value = weight(np.array(1.5, F32)) if mode == "constant" and c.some() else None
    pads = known([c.integer(low, 2) for _ in range(2 * count)])
    return Node(op, [x, pads, value, known(axes) if axes else None], attributes)


def depth(c: Chance, op: str, version: int) -> Node:
    b, attributes = c.integer(1, 3), {}
    n, channels, h, w = c.integer(1, 3), c.integer(1, 3), c.integer(1, 3), c.integer(1, 3)
    if op == "SpaceToDepth":
        return Node(op, [Input(c.reals(n, channels, h * b, w * b), batch=True)], {"blocksize": b})
    if version >= 11:
        c.given(attributes, "mode", "CRD", "DCR")
    return Node(op, [Input(c.reals(n, channels * b * b, h, w), batch=True)], {**attributes, "blocksize": b})


def trilu(c: Chance, op: str, version: int) -> Node:
    attributes: dict = {}
    c.given(attributes, "upper", 0, 1)
    return Node(op, [data(c, c.integer(2, 4)), known(c.integer(-3, 3)) if c.some() else None], attributes)


def eye_like(c: Chance, op: str, version: int) -> Node:
    attributes: dict = {}
    c.given(attributes, "k", c.integer(-2, 2), 0)
    if c.some():
        attributes["dtype"] = c.one_of([1, 7, 11])
    return Node(op, [data(c, 2, F32)], attributes)


def constant_of_shape(c: Chance, op: str, version: int) -> Node:
    from onnx import numpy_helper

    value = c.one_of([np.array([1.5], F32), np.array([3], np.int64), np.array([True])])
    attributes = {"value": numpy_helper.from_array(value)} if c.some() else {}
    return Node(op, [known(c.shape(c.integer(0, 4), 0))], attributes)


def range_(c: Chance, op: str, version: int) -> Node:
    dtype = c.one_of([np.int64, np.int32, F32])
    numbers = (c.integer(-4, 4), c.integer(-8, 12), c.one_of([1, 2, 3, -1, -2]))
    return Node(op, [known(number, dtype) for number in numbers])


def shape_of(c: Chance, op: str, version: int) -> Node:
    attributes: dict = {}
    if op == "Shape" and version >= 15:
        c.given(attributes, "start", c.integer(-5, 5), 0)
        if c.some():
            attributes["end"] = c.integer(-5, 5)
    return Node(op, [data(c)], attributes)


# ---- by indices ------------------------------------------------------------------------------------------------------


def gather(c: Chance, op: str, version: int) -> Node:
    x, attributes = data(c, c.integer(1, 4), batch=False), {}
    axis = c.given(attributes, "axis", c.axis(x.array.ndim), 0)
    extent = x.array.shape[axis]
    low = -extent if version >= 11 else 0
    indices = c.integers(*c.shape(c.integer(0, 3), 1, 4), low=low, high=extent - 1)
    return Node(op, [x, weight(indices)], attributes)


def gather_elements(c: Chance, op: str, version: int) -> Node:
    x, attributes = data(c, c.integer(1, 3), batch=False), {}
    axis = c.given(attributes, "axis", c.axis(x.array.ndim), 0)
    shape = [c.integer(1, extent) for extent in x.array.shape]
    shape[axis] = c.integer(1, 6)
    extent = x.array.shape[axis]
    return Node(op, [x, weight(c.integers(*shape, low=-extent, high=extent - 1))], attributes)


def gather_nd(c: Chance, op: str, version: int) -> Node:
    x = data(c, c.integer(2, 4), batch=False)
    shape, attributes = x.array.shape, {}
    batch = c.given(attributes, "batch_dims", c.integer(0, len(shape) - 2), 0) if version >= 12 else 0
    depth_ = c.integer(1, len(shape) - batch)
    lead = [*shape[:batch], *c.shape(c.integer(0 if batch else 1, 2), 1, 3)]
    indices = [c.integers(*lead, low=-extent, high=extent - 1) for extent in shape[batch:batch + depth_]]
    return Node(op, [x, weight(np.stack(indices, axis=-1))], attributes)


def scatter_elements(c: Chance, op: str, version: int) -> Node:
    x, attributes = data(c, c.integer(1, 3), F32, batch=False), {}
    axis = c.given(attributes, "axis", c.axis(x.array.ndim), 0)
    shape = [c.integer(1, extent) for extent in x.array.shape]
    reductions = ["none"] + (["add", "mul"] if version >= 16 else []) + (["min", "max"] if version >= 18 else [])
    reduction_ = c.given(attributes, "reduction", c.one_of(reductions), "none", 0.7) if version >= 16 else "none"
    places = np.argsort(c.numpy.random(x.array.shape), axis=axis)[tuple(slice(0, extent) for extent in shape)]
    if reduction_ != "none":  # the same place several times
        places = places // 2
    if c.some(0.3):
        places = places - x.array.shape[axis]
    return Node(op, [x, weight(places.astype(np.int64)), Input(c.reals(*shape))], attributes)


def scatter_nd(c: Chance, op: str, version: int) -> Node:
    x, attributes = data(c, c.integer(1, 3), F32, batch=False), {}
    shape = x.array.shape
    depth_ = c.integer(1, len(shape))
    places = c.numpy.permutation(int(np.prod(shape[:depth_])))[:c.integer(1, 5)]
    if version >= 16:
        reductions = ["add", "mul"] + (["min", "max"] if version >= 18 else [])
        if c.given(attributes, "reduction", c.one_of(reductions), "none", 0.6) != "none":
            places = np.concatenate([places, places])
    indices = np.stack(np.unravel_index(places, shape[:depth_]), axis=-1).astype(np.int64)
    return Node(op, [x, weight(indices), Input(c.reals(len(places), *shape[depth_:]))], attributes)


def one_hot(c: Chance, op: str, version: int) -> Node:
    depth_, rank, attributes = c.integer(1, 6), c.integer(1, 3), {}
    c.given(attributes, "axis", c.axis(rank + 1), -1)
    indices = c.integers(*c.shape(rank), low=-depth_ if version >= 11 else 0, high=depth_ - 1)
    return Node(op, [Input(indices), known(depth_), weight(np.array([0.5, 2], F32))], attributes)


def reverse_sequence(c: Chance, op: str, version: int) -> Node:
    x = data(c, c.integer(2, 4), batch=False)
    batch, time = c.one_of([(0, 1), (1, 0)])
    lengths = c.integers(x.array.shape[batch], low=1, high=x.array.shape[time])
    return Node(op, [x, weight(lengths)], {"batch_axis": batch, "time_axis": time})


# ---- normalisations --------------------------------------------------------------------------------------------------


def channels(c: Chance, count: int, positive: bool = False) -> Input:
    return weight(c.positive(count) if positive else c.reals(count))


def batch_norm(c: Chance, op: str, version: int) -> Node:
    x, attributes = data(c, c.integer(2, 4), F32), {}
    c.given(attributes, "epsilon", 0.01, 1e-5)
    if version < 14:
        # The reference evaluator trains, by 1 - momentum; before version 9 by the statistics of the data alone.
        if version < 9:
            raise ValueError("the reference evaluator normalises as in training")
        attributes["momentum"] = 1.0
    count = x.array.shape[1]
    return Node(op, [x, *(channels(c, count) for _ in range(3)), channels(c, count, True)], attributes)


def instance_norm(c: Chance, op: str, version: int) -> Node:
    x, attributes = Input(c.reals(*c.shape(4, 2, 5)), batch=True), {}
    c.given(attributes, "epsilon", 0.01, 1e-5)
    return Node(op, [x, channels(c, x.array.shape[1]), channels(c, x.array.shape[1])], attributes)


def group_norm(c: Chance, op: str, version: int) -> Node:
    groups, width = c.integer(1, 3), c.integer(1, 3)
    x = Input(c.reals(c.integer(1, 3), groups * width, *c.shape(c.integer(1, 2), 2, 4)), batch=True)
    attributes: dict = {"num_groups": groups}
    c.given(attributes, "epsilon", 0.01, 1e-5)
    return Node(op, [x, channels(c, groups * width), channels(c, groups * width)], attributes)


def layer_norm(c: Chance, op: str, version: int) -> Node:
    x, attributes = Input(c.reals(*c.shape(c.integer(1, 4), 2, 5)), batch=False), {}
    axis = c.given(attributes, "axis", c.axis(x.array.ndim), -1)
    c.given(attributes, "epsilon", 0.01, 1e-5)
    scale = weight(c.reals(*x.array.shape[axis:]))
    if op == "RMSNormalization":
        return Node(op, [x, scale], attributes)
    bias = weight(c.reals(*x.array.shape[axis:])) if c.some() else None
    return Node(op, [x, scale, bias], attributes)


def lp_norm(c: Chance, op: str, version: int) -> Node:
    x, attributes = data(c, dtype=F32, low=0.125), {}
    c.given(attributes, "axis", c.axis(x.array.ndim), -1)
    c.given(attributes, "p", 1, 2)
    return Node(op, [x], attributes)


def lrn(c: Chance, op: str, version: int) -> Node:
    attributes: dict = {"size": c.integer(1, 5)}
    for name, value, default in (("alpha", 0.25, 1e-4), ("beta", 0.5, 0.75), ("bias", 2.0, 1.0)):
        c.given(attributes, name, value, default)
    return Node(op, [Input(c.reals(*c.shape(4)), batch=True)], attributes)


FLOATS = (F32, F64, F16)
NUMBERS = (F32, F64, np.int32, np.int64)
SIGNED_INTEGERS = (np.int8, np.int32, np.int64, np.uint8)

DRAWERS: dict[str, Drawer] = {
    **dict.fromkeys(["Abs", "Ceil", "Floor", "Neg", "Relu", "Sigmoid", "Tanh", "Erf", "Sign", "Round", "Softplus",
                     "Softsign", "Identity", "Sin", "Cos", "Atan", "Sinh", "Cosh", "Asinh", "HardSwish", "Mish"],
                    unary()),
    **dict.fromkeys(["Sqrt", "Log", "Reciprocal"], unary(0.125)), **dict.fromkeys(["Asin", "Acos"], unary(-1, 1)),
    "Exp": unary(), "Tan": unary(-1, 1), "Acosh": unary(1.25), "Atanh": unary(-0.875, 0.875),
    "LeakyRelu": unary(alpha=(0.25, 0.01)), "Elu": unary(alpha=(0.5, 1.0)), "Celu": unary(alpha=(0.5, 1.0)),
    "Selu": unary(alpha=(1.5, 1.67326319217681884765625), gamma=(0.5, 1.05070102214813232421875)),
    "HardSigmoid": unary(alpha=(0.25, 0.2), beta=(0.25, 0.5)), "ThresholdedRelu": unary(alpha=(0.5, 1.0)),
    "Shrink": unary(bias=(0.5, 0.0), lambd=(1.5, 0.5)), "Gelu": gelu,
    "Swish": unary(alpha=(0.5, 1.0)),
    **dict.fromkeys(["Add", "Sub", "Mul"], binary(*NUMBERS)), "Div": binary(*NUMBERS, positive=True),
    "Pow": binary(F32, F64, positive=True),
    **dict.fromkeys(["Greater", "Less", "Equal"], binary(F32, np.int32, np.int64)),
    **dict.fromkeys(["GreaterOrEqual", "LessOrEqual"], binary(*NUMBERS)),
    **dict.fromkeys(["And", "Or", "Xor"], binary(np.bool_)),
    **dict.fromkeys(["BitwiseAnd", "BitwiseOr", "BitwiseXor"], binary(*SIGNED_INTEGERS)),
    **dict.fromkeys(["Max", "Min", "Sum", "Mean"], variadic), "Mod": mod, "BitShift": bit_shift, "Clip": clip,
    "Where": where, "Cast": cast, "PRelu": prelu,
    **dict.fromkeys(["ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"],
                    reduction(18)),
    "ReduceSum": reduction(13), "ReduceLogSum": reduction(18, positive=True), "ReduceLogSumExp": reduction(18),
    **dict.fromkeys(["ArgMax", "ArgMin"], arg_extreme), **dict.fromkeys(["Softmax", "LogSoftmax", "Hardmax"], softmax),
    "CumSum": cumulative, "CumProd": cumulative, "TopK": top_k,
    "Concat": concat, "Split": split, "Slice": slice_, "Transpose": transpose, "Reshape": reshape, "Flatten": flatten,
    "Squeeze": squeeze, "Unsqueeze": unsqueeze, "Expand": expand, "Tile": tile, "Pad": pad, "DepthToSpace": depth,
    "SpaceToDepth": depth, "Trilu": trilu, "EyeLike": eye_like, "ConstantOfShape": constant_of_shape, "Range": range_,
    "Shape": shape_of, "Size": shape_of, "Gather": gather, "GatherElements": gather_elements, "GatherND": gather_nd,
    "ScatterElements": scatter_elements, "ScatterND": scatter_nd, "OneHot": one_hot,
    "ReverseSequence": reverse_sequence, "BatchNormalization": batch_norm,
    "InstanceNormalization": instance_norm, "GroupNormalization": group_norm,
    "LayerNormalization": layer_norm, "RMSNormalization": layer_norm, "LpNormalization": lp_norm, "LRN": lrn,
}
