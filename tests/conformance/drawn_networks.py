"""What draw_models.py draws of products of matrices, convolutions, pooling, resampling, quantisation, attention and
recurrent layers."""

import numpy as np

from draw_models import Chance, Drawer, Input, Node
from drawn_nodes import channels, data, known, spread, weight

F32 = np.float32


def matmul(c: Chance, op: str, version: int) -> Node:
    m, k, n = c.shape(3)
    lead = c.shape(c.integer(0, 2))
    a = [k] if c.some(0.15) else [*lead, m, k]
    b = [k] if c.some(0.15) else [*spread(c, lead), k, n]
    if op == "MatMulInteger":
        types = [c.one_of([np.uint8, np.int8]) for _ in range(2)]
        points = [weight(np.array(c.integer(0, 9), dtype)) if c.some() else None for dtype in types]
        left, right = c.integers(*lead, m, k, dtype=types[0]), c.integers(k, n, dtype=types[1])
        return Node(op, [Input(left), weight(right), *points])
    return Node(op, [Input(c.reals(*a)), weight(c.reals(*b))])


def gemm(c: Chance, op: str, version: int) -> Node:
    m, k, n, attributes = *c.shape(3), {}
    turned = [c.given(attributes, name, 1, 0) for name in ("transA", "transB")]
    c.given(attributes, "alpha", 0.5, 1.0)
    c.given(attributes, "beta", 0.25, 1.0)
    addend = weight(c.reals(*c.one_of([[m, n], [1, n], [n], [m, 1], [1]])))
    a, b = c.reals(*([k, m] if turned[0] else [m, k])), c.reals(*([n, k] if turned[1] else [k, n]))
    return Node(op, [Input(a), weight(b), addend if version < 11 or c.some() else None], attributes)


def einsum(c: Chance, op: str, version: int) -> Node:
    equation, shapes = c.one_of([
        ("ij,jk->ik", [(3, 4), (4, 5)]), ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]), ("ij->ji", [(3, 4)]),
        ("ii->i", [(4, 4)]), ("i,i->", [(5,), (5,)]), ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
        ("bhqd,bhkd->bhqk", [(2, 2, 3, 4), (2, 2, 5, 4)]), ("ij,jk", [(3, 4), (4, 5)]),
        ("a,b,c->abc", [(2,), (3,), (4,)]), ("...i->...", [(2, 3, 4)]), ("ij,ij->j", [(3, 4), (3, 4)]),
    ])
    return Node(op, [Input(c.reals(*shape)) for shape in shapes], {"equation": equation})


# ---- windows ---------------------------------------------------------------------------------------------------------


def windows(c: Chance, version: int, axes: int, dilations: bool, ceil: bool = False) -> tuple[list[int], dict]:
    """A kernel's shape, and the attributes that say where it goes."""
    attributes: dict = {}
    kernel = [c.integer(1, 3) for _ in range(axes)]
    c.given(attributes, "strides", [c.integer(1, 3) for _ in range(axes)], [1] * axes)
    if dilations and c.some(0.3):
        attributes["dilations"] = [c.integer(1, 2) for _ in range(axes)]
    form = c.one_of(["none", "pads", "auto"])
    if form == "pads":
        attributes["pads"] = [c.integer(0, extent - 1) for extent in [*kernel, *kernel]]
    elif form == "auto":
        same = ["SAME_UPPER", "SAME_LOWER"] if "dilations" not in attributes else []
        attributes["auto_pad"] = c.one_of(["VALID", "NOTSET", *same])
    if ceil:
        c.given(attributes, "ceil_mode", 1, 0, 0.4)
    return kernel, attributes


def convolution(c: Chance, op: str, version: int) -> Node:
    axes, groups, width = c.integer(1, 3), c.one_of([1, 1, 2]), c.integer(1, 3)
    kernel, attributes = windows(c, version, axes, True)
    outputs = groups * c.integer(1, 3)
    x = Input(c.reals(c.integer(1, 2), groups * width, *c.shape(axes, 5, 8)), batch=True)
    if groups > 1 or c.some(0.3):
        attributes["group"] = groups
    if c.some():
        attributes["kernel_shape"] = kernel
    bias = channels(c, outputs) if c.some() else None
    return Node(op, [x, weight(c.reals(outputs, width, *kernel)), bias], attributes)


def convolution_transposed(c: Chance, op: str, version: int) -> Node:
    axes, groups, width = c.integer(1, 2), c.one_of([1, 1, 2]), c.integer(1, 3)
    attributes: dict = {"group": groups} if groups > 1 else {}
    kernel = [c.integer(1, 3) for _ in range(axes)]
    strides = c.given(attributes, "strides", [c.integer(1, 3) for _ in range(axes)], [1] * axes)
    if c.some():
        attributes["pads"] = [c.integer(0, (extent - 1) // 2) for extent in [*kernel, *kernel]]
    if c.some(0.4):
        attributes["output_padding"] = [c.integer(0, stride - 1) for stride in strides]
    x = Input(c.reals(c.integer(1, 2), groups * width, *c.shape(axes, 3, 5)), batch=True)
    outputs = c.integer(1, 3)
    # Of groups the reference evaluator adds the first one's bias to all.
    bias = channels(c, outputs) if groups == 1 and c.some() else None
    return Node(op, [x, weight(c.reals(groups * width, outputs, *kernel)), bias], attributes)


def pooling(c: Chance, op: str, version: int) -> Node:
    axes = c.integer(1, 3)
    dilations = version >= {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op]
    kernel, attributes = windows(c, version, axes, dilations, version >= (18 if op == "LpPool" else 10))
    x = Input(c.reals(c.integer(1, 2), c.integer(1, 3), *c.shape(axes, 5, 8)), batch=True)
    attributes["kernel_shape"] = kernel
    # Of windows one place apart the reference evaluator pads elsewhere, and counts indices anew in each channel.
    is_dense = {*attributes.get("strides", [1]), *attributes.get("dilations", [1])} == {1}
    if op == "MaxPool" and is_dense:
        attributes.pop("pads", None)
    if op == "AveragePool":
        c.given(attributes, "count_include_pad", 1, 0)
    if op == "LpPool":
        c.given(attributes, "p", c.integer(1, 3), 2)
    indices = op == "MaxPool" and not is_dense and version >= 8 and axes < 3 and c.some(0.4)
    return Node(op, [x], attributes, 2 if indices else 1)


def over_images(c: Chance, op: str, version: int) -> Node:
    return Node(op, [Input(c.reals(*c.shape(4)), batch=True)])


# ---- resampling ------------------------------------------------------------------------------------------------------


def resize(c: Chance, op: str, version: int) -> Node:
    shape = [c.integer(1, 2), c.integer(1, 2), *c.shape(2, 2, 5)]
    x = Input(c.reals(*shape), batch=True)
    modes = ["nearest", "linear"] + (["cubic"] if op == "Resize" and version >= 11 else [])
    attributes: dict = {}
    mode = c.given(attributes, "mode", c.one_of(modes), "nearest", 0.7)
    scales = known([1, 1, *(c.one_of([0.5, 1, 1.5, 2, 3]) for _ in range(2))], F32)
    if op == "Upsample":
        grown = [max(1.0, float(each)) for each in scales.array]
        if version < 9:
            return Node(op, [x], {**attributes, "scales": grown})
        return Node(op, [x, known(grown, F32)], attributes)
    if version < 11:
        return Node(op, [x, scales], attributes)
    coordinates = c.one_of(["align_corners", "asymmetric", "pytorch_half_pixel"])
    c.given(attributes, "coordinate_transformation_mode", coordinates, "half_pixel")
    if mode == "nearest":
        c.given(attributes, "nearest_mode", c.one_of(["floor", "ceil", "round_prefer_ceil"]), "round_prefer_floor")
    if mode == "cubic":
        c.given(attributes, "cubic_coeff_a", -0.5, -0.75)
        c.given(attributes, "exclude_outside", 1, 0)
    sizes = known([*shape[:2], *(c.integer(1, 9) for _ in range(2))])
    empty = Input(np.zeros(0, F32), known=True) if version < 13 else None
    if c.some():
        return Node(op, [x, empty, scales], attributes)
    return Node(op, [x, empty, Input(np.zeros(0, F32), known=True) if version < 13 else None, sizes], attributes)


def grid_sample(c: Chance, op: str, version: int) -> Node:
    axes, attributes = c.integer(2, 3) if version >= 20 else 2, {}
    linear, cubic = ("linear", "cubic") if version >= 20 else ("bilinear", "bicubic")
    c.given(attributes, "mode", c.one_of(["nearest", *([cubic] if axes == 2 else [])]), linear)
    c.given(attributes, "padding_mode", c.one_of(["border", "reflection"]), "zeros")
    c.given(attributes, "align_corners", 1, 0)
    x = Input(c.reals(2, 2, *c.shape(axes, 2, 5)), batch=False)
    grid = c.numpy.integers(-19, 20, (2, *c.shape(axes), axes)) / 16.5
    return Node(op, [x, Input(grid.astype(F32))], attributes)


# ---- quantisation ----------------------------------------------------------------------------------------------------


def quantised(c: Chance, op: str, version: int) -> Node:
    """By tensor, by axis and by block."""
    forms = ["tensor"] + (["axis"] if version >= 13 else []) + (["block"] if version >= 21 else [])
    form, dtype, attributes = c.one_of(forms), c.one_of([np.uint8, np.int8]), {}
    shape = [c.integer(1, 3), 4, c.integer(1, 4)]
    scale_shape: list[int] = []
    if form != "tensor":
        axis = c.given(attributes, "axis", c.one_of([0, 2, -1, -2]), 1)
        scale_shape = [shape[axis]]
        if form == "block":
            shape[axis], scale_shape = 4, list(shape)
            scale_shape[axis] = 2
            attributes["block_size"] = 2
    scale = weight((c.one_of([0.25, 0.5]) * (1 + c.integers(*scale_shape, low=0, high=1))).astype(F32))
    point = weight(c.integers(*scale_shape, dtype=dtype)) if c.some(0.7) else None
    if op == "DequantizeLinear":
        codes = c.integers(*shape, dtype=dtype, low=-99, high=99)
        return Node(op, [Input(codes, batch=form == "tensor"), scale, point], attributes)
    return Node(op, [Input(c.reals(*shape), batch=form == "tensor"), scale, point], attributes)


def dynamic_quantised(c: Chance, op: str, version: int) -> Node:
    return Node(op, [data(c, dtype=F32)], {}, 3)


# ---- attention and recurrent layers ----------------------------------------------------------------------------------


def attention(c: Chance, op: str, version: int) -> Node:
    """Of three axes and of four, shared heads, masks of every form, caches of either kind, windows."""
    b, s, heads, sharing, d, e = (c.integer(1, most) for most in (2, 4, 2, 2, 5, 5))
    flat, cached = c.some(0.4), c.some(0.4)
    t, past, attributes = s if c.some(0.3) else c.integer(1, 6), c.integer(1, 3) if cached else 0, {}


    def make(length: int, count: int, width: int) -> Input:
        shape = [b, length, count * width] if flat else [b, count, length, width]
        return Input(c.reals(*shape, low=-1, high=1))

    inputs = [make(s, heads * sharing, d), make(t, heads, d), make(t, heads, e)]
    if flat:
        attributes |= {"q_num_heads": heads * sharing, "kv_num_heads": heads}
    c.given(attributes, "is_causal", 1, 0)
    if c.some(0.3):
        attributes["scale"] = 0.5
    if c.some(0.3):
        attributes["softcap"] = 2.0
    whole = past + t
    mask = None
    if c.some():
        lead = c.one_of([[], [1], [heads * sharing], [b, 1], [b, heads * sharing]])
        shape = [*lead, s, whole]
        mask = Input(c.numpy.random(shape) < 0.7 if c.some() else c.reals(*shape, low=-1, high=1))
    inputs += [mask, *([Input(c.reals(b, heads, past, width)) for width in (d, e)] if cached else [None, None])]
    if version >= 24:
        external = not cached and c.some(0.4)
        inputs.append(Input(c.integers(b, low=s, high=whole)) if external and s <= whole else None)
    if version >= 25 and c.some(0.6):
        c.given(attributes, "left_window_size", c.integer(0, 3), -1, 0.7)
        c.given(attributes, "right_window_size", c.integer(0, 2), -1)
    outputs = 4 if c.some(0.2) else 3 if cached else 1
    if outputs == 4:
        # The reference evaluator's scores of mode 0 are capped, those of the operator are not.
        if c.given(attributes, "qk_matmul_output_mode", c.integer(0, 3), 0) == 0:
            attributes.pop("softcap", None)
        return Node(op, inputs, attributes, 4, () if cached else (1, 2))
    return Node(op, inputs, attributes, outputs)


def rotary(c: Chance, op: str, version: int) -> Node:
    b, s, heads, half = c.integer(1, 2), c.integer(1, 4), c.integer(1, 3), c.integer(1, 3)
    flat, attributes, places = c.some(0.4), {}, c.some()
    c.given(attributes, "interleaved", 1, 0)
    width = 2 * half
    if c.some(0.3):
        attributes["rotary_embedding_dim"] = width
        width += 2
    if flat:
        attributes["num_heads"] = heads
    x = Input(c.reals(*([b, s, heads * width] if flat else [b, heads, s, width])))
    shape = [7, half] if places else [b, s, half]
    caches = [weight(c.reals(*shape, low=-1, high=1)) for _ in range(2)]
    return Node(op, [x, *caches, Input(c.integers(b, s, low=0, high=6)) if places else None], attributes)


def linear_attention(c: Chance, op: str, version: int) -> Node:
    b, s, heads, sharing, d, e = (c.integer(1, most) for most in (2, 4, 2, 2, 5, 5))
    rule = c.one_of(["linear", "gated", "delta", "gated_delta"])
    attributes: dict = {"q_num_heads": heads * sharing, "kv_num_heads": heads}
    c.given(attributes, "update_rule", rule, "gated_delta", 1.0)
    c.given(attributes, "scale", 0.5, 0.0)
    state = Input(c.reals(b, heads, d, e)) if c.some() else None
    decay = Input(c.reals(b, s, c.one_of([heads, heads * d]), low=-2, high=0)) if "gated" in rule else None
    beta = Input(c.reals(b, s, c.one_of([heads, 1]), low=0, high=1)) if "delta" in rule else None
    x = [Input(c.reals(b, s, width, low=-1, high=1)) for width in (heads * sharing * d, heads * d, heads * e)]
    return Node(op, [*x, state, decay, beta], attributes, 2)


def causal_convolution(c: Chance, op: str, version: int) -> Node:
    b, channels_, s, k, attributes = c.integer(1, 2), c.integer(1, 4), c.integer(1, 5), c.integer(1, 4), {}
    c.given(attributes, "activation", c.one_of(["silu", "swish"]), "none")
    bias = channels(c, channels_) if c.some() else None
    past = Input(c.reals(b, channels_, k - 1)) if c.some() and k > 1 else None
    filters = weight(c.reals(channels_, 1, k))
    return Node(op, [Input(c.reals(b, channels_, s)), filters, bias, past], attributes, 2)


def recurrent(gates: int) -> Drawer:
    def draw(c: Chance, op: str, version: int) -> Node:
        """One direction, which is all that the reference evaluator knows."""
        s, b, i, h, attributes = c.integer(1, 4), c.integer(1, 3), c.integer(1, 4), c.integer(1, 4), {}
        attributes["hidden_size"] = h
        if op == "GRU":
            c.given(attributes, "linear_before_reset", 1, 0)
        x = Input(c.reals(s, b, i, low=-1, high=1))
        weights = [weight(c.reals(1, gates * h, width, low=-1, high=1)) for width in (i, h)]
        bias = weight(c.reals(1, 2 * gates * h, low=-1, high=1)) if c.some() else None
        first = [Input(c.reals(1, b, h, low=-1, high=1)) for _ in range(2 if op == "LSTM" else 1)] if c.some() else []
        return Node(op, [x, *weights, bias, None, *first], attributes, 2)

    return draw


DRAWERS: dict[str, Drawer] = {
    "MatMul": matmul, "MatMulInteger": matmul, "Gemm": gemm, "Einsum": einsum, "Conv": convolution,
    "ConvTranspose": convolution_transposed, **dict.fromkeys(["MaxPool", "AveragePool", "LpPool"], pooling),
    **dict.fromkeys(["GlobalAveragePool", "GlobalMaxPool"], over_images), "Resize": resize, "Upsample": resize,
    "GridSample": grid_sample, "QuantizeLinear": quantised, "DequantizeLinear": quantised,
    "DynamicQuantizeLinear": dynamic_quantised, "Attention": attention, "RotaryEmbedding": rotary,
    "LinearAttention": linear_attention, "CausalConvWithState": causal_convolution,
    "RNN": recurrent(1), "GRU": recurrent(3), "LSTM": recurrent(4),
}
