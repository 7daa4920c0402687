"""What draw_models.py draws of ONNX Runtime's own operators (domain com.microsoft); what is expected is what its CPU provider
makes. Needs the package onnxruntime."""

import numpy as np
import onnx

from draw_models import Chance, Drawer, Input, Node
from drawn_nodes import weight

F32 = np.float32
DOMAIN = "com.microsoft"
# One of them stands among ONNX's own operators.
OF_ONNX = {"SimplifiedLayerNormalization"}


def given(array: np.ndarray | None) -> Input | None:
    return None if array is None else Input(array)


def stored(array: np.ndarray) -> Input:
    """A weight of the model's in each case."""
    return Input(array, weight=True, always=True)


def steps(c: Chance, *shape: int) -> np.ndarray:
    """Powers of two, by which products are exact."""
    return np.array(np.exp2(c.numpy.integers(-4, 1, shape)), F32)


# ---- weights of few bits ---------------------------------------------------------------------------------------------


def packed(c: Chance, *shape: int) -> np.ndarray:
    return c.numpy.integers(0, 256, shape).astype(np.uint8)


def zero_points(c: Chance, rows: int, blocks: int, bits: int) -> Input | None:
    """Packed, as numbers, or none."""
    form = c.one_of(["none", "packed", "numbers"])
    if form == "packed":
        return stored(packed(c, rows, (blocks * bits + 7) // 8))
    return Input(c.reals(rows, blocks, low=0, high=2**bits - 1)) if form == "numbers" and bits == 4 else None


def matmul_bits(c: Chance, op: str, version: int) -> Node:
    bits, width = c.one_of([2, 4, 4, 8]), c.one_of([16, 32, 64])
    M, N, K = c.integer(1, 5), c.integer(1, 20), c.integer(1, 100)
    blocks = -(-K // width)
    zeros = zero_points(c, N, blocks, bits)
    scales = steps(c, N, blocks)
    if zeros is None or c.some():
        scales = scales.reshape(-1)
        zeros = zeros and Input(zeros.array.reshape(-1), weight=zeros.weight, always=zeros.always)
    lead = c.shape(c.integer(1, 2), most=3)
    inputs = [Input(c.reals(*lead, M, K), batch=True), stored(packed(c, N, blocks, width * bits // 8)), weight(scales), zeros]
    inputs += [None, weight(c.reals(N))] if c.some(0.3) else []
    return Node(op, inputs, {"K": K, "N": N, "bits": bits, "block_size": width})


def gather_blocks(c: Chance, op: str, version: int) -> Node:
    V, width, blocks = c.integer(2, 9), c.one_of([16, 32]), c.integer(1, 4)
    indices = c.integers(*c.shape(c.integer(1, 2)), low=0, high=V - 1, dtype=c.one_of([np.int32, np.int64]))
    zeros = c.one_of([None, stored(packed(c, V, (blocks + 1) // 2))])
    return Node(op, [stored(packed(c, V, blocks * width // 2)), given(indices), weight(steps(c, V, blocks)), zeros],
                {"bits": 4, "block_size": width, "gather_axis": 0, "quantize_axis": 1})


# ---- norms and activations -------------------------------------------------------------------------------------------


def norm(skip: bool, bias_of_norm: bool) -> Drawer:
    def draw(c: Chance, op: str, version: int) -> Node:
        D = c.integer(1, 40)
        shape = [c.integer(1, 4), c.integer(1, 5), D]
        inputs: list[Input | None] = [Input(c.reals(*shape), batch=True)]
        if skip:
            inputs.append(Input(c.reals(*shape), batch=True))
        inputs.append(weight(c.reals(D)))
        if bias_of_norm:
            inputs.append(weight(c.reals(D)) if c.some(0.7) else None)
        if skip:
            inputs.append(weight(c.reals(D)) if c.some() else None)
        whole = skip and c.some()
        return Node(op, inputs, {"epsilon": c.one_of([1e-5, 1e-3])}, outputs=4 if whole else 1, unused=(1, 2) if whole else ())

    return draw


def embedding(c: Chance, op: str, version: int) -> Node:
    B, S, D, V = c.integer(1, 3), c.integer(1, 6), c.integer(1, 9), c.integer(2, 9)
    ids = lambda high: c.integers(B, S, low=0, high=high, dtype=np.int32)  # noqa: E731
    segments = c.some()
    inputs = [given(ids(V - 1)), given(ids(1)) if segments else None, weight(c.reals(V, D)), weight(c.reals(8, D)),
              weight(c.reals(2, D)) if segments else None, weight(c.reals(D)), weight(c.reals(D)),
              given(c.integers(B, S, low=0, high=1, dtype=np.int32)) if c.some() else None]
    masked = inputs[-1] is not None
    return Node(op, inputs, {"epsilon": 1e-3}, outputs=2, unused=() if masked else (1,))


def activation(*others: str) -> Drawer:
    def draw(c: Chance, op: str, version: int) -> Node:
        shape = [c.integer(1, 4), c.integer(1, 4), 2 * c.integer(1, 9)]
        # Far below 0 the error function's last bits are all that is left of 1 + erf(x).
        inputs: list[Input | None] = [Input(c.reals(*shape, low=-1), batch=True)]
        for each in others:
            inputs.append(weight(c.reals(shape[-1], low=-1)))
        if others == ("bias?",) and c.some():
            inputs.pop()
        attributes: dict = {}
        if op == "QuickGelu":
            c.given(attributes, "alpha", 1.25, 1.702)
        return Node(op, inputs, attributes)

    return draw


# ---- products and convolutions ---------------------------------------------------------------------------------------


def fused_matmul(c: Chance, op: str, version: int) -> Node:
    M, N, K = (c.integer(1, 9) for _ in range(3))
    lead = c.shape(c.integer(0, 2), most=3)
    a_turned, b_turned = c.some(), c.some()
    a = c.reals(*lead, *((K, M) if a_turned else (M, K)))
    b = c.reals(*(lead if c.some() else []), *((N, K) if b_turned else (K, N)))
    attributes = {"transA": int(a_turned), "transB": int(b_turned)}
    c.given(attributes, "alpha", 0.25, 1.0)
    return Node(op, [Input(a), weight(b)], attributes)


def activated(c: Chance, gemm: bool = False) -> dict:
    name = c.one_of(["Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", *([] if gemm else ["Clip"])])
    parameters = {"LeakyRelu": [0.125], "Clip": [-0.5, 2.0], "HardSigmoid": [0.25, 0.5]}.get(name)
    return {"activation": name} | ({"activation_params": parameters} if parameters else {})


def fused_gemm(c: Chance, op: str, version: int) -> Node:
    M, N, K = (c.integer(1, 9) for _ in range(3))
    a_turned, b_turned = c.some(), c.some()
    attributes = {"transA": int(a_turned), "transB": int(b_turned), "alpha": 1.0, "beta": 1.0} | activated(c, True)
    for name, value in zip(("activation_alpha", "activation_beta"), attributes.pop("activation_params", [])):
        attributes[name] = value
    return Node(op, [Input(c.reals(*((K, M) if a_turned else (M, K)))), weight(c.reals(*((N, K) if b_turned else (K, N)))),
                     weight(c.reals(N))], attributes)


def fused_conv(c: Chance, op: str, version: int) -> Node:
    groups = c.integer(1, 2)
    C, O, H, W = groups * c.integer(1, 3), groups * c.integer(1, 3), c.integer(3, 8), c.integer(3, 8)
    inputs: list[Input | None] = [Input(c.reals(1, C, H, W)), weight(c.reals(O, C // groups, 3, 3)), weight(c.reals(O))]
    attributes = {"group": groups, "kernel_shape": [3, 3], "pads": [1, 1, 1, 1]} | activated(c)
    if c.some():
        inputs.append(Input(c.reals(1, O, H, W)))
    return Node(op, inputs, attributes)


# ---- integers --------------------------------------------------------------------------------------------------------


def codes(c: Chance, dtype: type, *shape: int) -> np.ndarray:
    return np.array(c.numpy.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape), dtype)


def seven_bits(c: Chance, *shape: int) -> np.ndarray:
    """With more, ONNX Runtime's sums of products saturate where the processor has no VNNI."""
    return np.array(c.numpy.integers(-64, 64, shape), np.int8)


def scale_of(c: Chance, dtype: type) -> list[Input]:
    return [weight(steps(c)), weight(codes(c, dtype))]


def quantised(count: int, **attributes: object) -> Drawer:
    def draw(c: Chance, op: str, version: int) -> Node:
        dtype = c.one_of([np.uint8, np.int8])
        shape = c.shape(4)
        inputs = [each for _ in range(count) for each in (Input(codes(c, dtype, *shape)), *scale_of(c, dtype))]
        return Node(op, [*inputs, *scale_of(c, dtype)], dict(attributes))

    return draw


def quantised_softmax(c: Chance, op: str, version: int) -> Node:
    shape = c.shape(2, most=9)
    return Node(op, [Input(codes(c, np.uint8, *shape)), weight(np.array(0.0625, F32)), weight(np.array(128, np.uint8)),
                     weight(np.array(1 / 256, F32)), weight(np.array(0, np.uint8))], {"axis": -1, "opset": 13})


def quantised_concat(c: Chance, op: str, version: int) -> Node:
    dtype = c.one_of([np.uint8, np.int8])
    shape = c.shape(3)
    inputs = scale_of(c, dtype)
    for _ in range(c.integer(1, 3)):
        shape[1] = c.integer(1, 4)
        inputs += [Input(codes(c, dtype, *shape)), *scale_of(c, dtype)]
    return Node(op, inputs, {"axis": 1})


def quantised_gemm(c: Chance, op: str, version: int) -> Node:
    M, N, K = (c.integer(1, 9) for _ in range(3))
    inputs = [Input(codes(c, np.uint8, M, K)), *scale_of(c, np.uint8), weight(seven_bits(c, K, N)), *scale_of(c, np.int8)]
    bias = weight(c.integers(N, dtype=np.int32)) if c.some() else None
    return Node(op, [*inputs, bias, *(scale_of(c, np.uint8) if c.some() else [])], {})


def product_to_float(c: Chance, op: str, version: int) -> Node:
    M, N, K = (c.integer(1, 9) for _ in range(3))
    b = weight(seven_bits(c, K, N))
    b_scale = weight(steps(c, N) if c.some() else steps(c))
    b_zero = weight(codes(c, np.int8, *b_scale.array.shape)) if c.some() else None
    bias = weight(c.reals(N)) if c.some() else None
    if op == "DynamicQuantizeMatMul":
        return Node(op, [Input(c.reals(M, K)), b, b_scale, b_zero, bias], {})
    return Node(op, [Input(codes(c, np.uint8, M, K)), b, weight(steps(c)), b_scale, weight(codes(c, np.uint8)), b_zero, bias], {})


# ---- attention -------------------------------------------------------------------------------------------------------


def own_attention(c: Chance, op: str, version: int) -> Node:
    B, S, N, H, D = c.integer(1, 3), c.integer(1, 6), c.integer(1, 3), c.integer(1, 8), c.integer(1, 8)
    P = c.integer(1, 5) if c.some(0.4) else 0
    mask = c.one_of([None, "lengths", "keys", "queries"])
    T = S + P
    masks = {"lengths": c.integers(B, low=1, high=T, dtype=np.int32), "keys": c.integers(B, T, low=0, high=1, dtype=np.int32),
             "queries": c.integers(B, S, T, low=0, high=1, dtype=np.int32)}
    if mask == "keys":
        masks["keys"][:, 0] = 1
    if mask == "queries":
        masks["queries"][:, :, 0] = 1
    inputs = [Input(c.reals(B, S, D)), weight(c.reals(D, 3 * N * H, low=-1, high=1)), weight(c.reals(3 * N * H)),
              given(masks.get(mask)), given(c.reals(2, B, N, P, H)) if P else None,
              given(c.reals(B, N, S, T)) if not P and c.some(0.3) else None]
    attributes = {"num_heads": N}
    c.given(attributes, "unidirectional", 1, 0, 0.3)
    return Node(op, inputs, attributes, outputs=2 if P or c.some() else 1)


def many_heads(c: Chance, op: str, version: int) -> Node:
    B, S, L, N, H = c.integer(1, 3), c.integer(1, 5), c.integer(1, 6), c.integer(1, 3), c.integer(1, 8)
    form = c.one_of(["apart", "heads"])  # what the CPU provider takes
    bias = weight(c.reals(3 * N * H)) if c.some() else None
    P = c.integer(1, 4) if form == "apart" and c.some(0.3) else 0
    causal = form == "apart" and c.some(0.3)
    if form == "heads":
        inputs = [Input(c.reals(B, S, N * H)), Input(c.reals(B, N, L, H)), Input(c.reals(B, N, L, H)), bias]
    else:
        L = S if P or causal else L
        inputs = [Input(c.reals(B, S, N * H)), Input(c.reals(B, L, N * H)), Input(c.reals(B, L, N * H)), bias]
    T = L + P
    padding = c.one_of([None, "lengths", "keys"])
    keys = c.integers(B, T, low=0, high=1, dtype=np.int32)
    keys[:, 0] = 1
    masks = {"lengths": c.integers(B, low=1, high=T, dtype=np.int32), "keys": keys}
    inputs += [given(masks.get(padding)), given(c.reals(c.one_of([1, B]), c.one_of([1, N]), S, T)) if c.some(0.3) else None]
    if P:
        inputs += [given(c.reals(B, N, P, H)), given(c.reals(B, N, P, H))]
    attributes: dict = {"num_heads": N} | ({"unidirectional": 1} if causal else {})
    if c.some(0.3):
        attributes["scale"] = c.one_of([0.5, 0.0])
    return Node(op, inputs, attributes, outputs=3 if P else 1)


def grouped_queries(c: Chance, op: str, version: int) -> Node:
    B, G, H = c.integer(1, 3), c.integer(1, 2), 16 * c.integer(1, 2)
    N = G * c.integer(1, 3)
    P = c.integer(1, 6) if c.some(0.6) else 0
    S = 1 if P and c.some(0.7) else c.integer(1, 5)
    if P and S > 1:
        B = 1  # a piece of a prompt
    T = P + S
    if c.some(0.4):
        inputs = [Input(c.reals(B, S, (N + 2 * G) * H)), None, None]
    else:
        inputs = [Input(c.reals(B, S, N * H)), Input(c.reals(B, S, G * H)), Input(c.reals(B, S, G * H))]
    past = [given(c.reals(B, G, P, H)), given(c.reals(B, G, P, H))] if P else [None, None]
    inputs += [*past, given(np.full((B,), T - 1, np.int32)), given(np.array(T, np.int32))]
    attributes: dict = {"num_heads": N, "kv_num_heads": G}
    if c.some(0.6):
        angles = c.reals(16, H // 2)
        inputs += [weight(np.cos(angles)), weight(np.sin(angles))]
        attributes |= {"do_rotary": 1}
        c.given(attributes, "rotary_interleaved", 1, 0, 0.4)
    if c.some(0.3):
        attributes["local_window_size"] = c.integer(1, T)
    if c.some(0.2):
        attributes["softcap"] = 5.0
    return Node(op, inputs, attributes, outputs=3)


def rotary(c: Chance, op: str, version: int) -> Node:
    B, S, N, H, most = c.integer(1, 3), c.integer(1, 5), c.integer(1, 3), 2 * c.integer(1, 8), 16
    angles = c.reals(most, H // 2)
    heads_first = c.some()
    x = c.reals(*((B, N, S, H) if heads_first else (B, S, N * H)))
    positions = c.integers(B, S, low=0, high=most - 1) if c.some(0.7) else c.integers(1, low=0, high=most - S)
    attributes: dict = {}
    c.given(attributes, "interleaved", 1, 0)
    return Node(op, [Input(x), given(positions), weight(np.cos(angles)), weight(np.sin(angles))], attributes)


DRAWERS: dict[str, Drawer] = {
    "MatMulNBits": matmul_bits, "GatherBlockQuantized": gather_blocks,
    "SimplifiedLayerNormalization": norm(False, False), "SkipLayerNormalization": norm(True, True),
    "SkipSimplifiedLayerNormalization": norm(True, False), "EmbedLayerNormalization": embedding,
    "Gelu": activation(), "BiasGelu": activation("bias"), "FastGelu": activation("bias?"), "QuickGelu": activation(),
    "FusedMatMul": fused_matmul, "FusedGemm": fused_gemm, "FusedConv": fused_conv,
    "QLinearAdd": quantised(2), "QLinearMul": quantised(2), "QLinearSigmoid": quantised(1), "QLinearLeakyRelu": quantised(1, alpha=0.25),
    "QLinearGlobalAveragePool": quantised(1, channels_last=0), "QLinearAveragePool": quantised(1, kernel_shape=[1, 1]),
    "QLinearSoftmax": quantised_softmax, "QLinearConcat": quantised_concat, "QGemm": quantised_gemm,
    "MatMulIntegerToFloat": product_to_float, "DynamicQuantizeMatMul": product_to_float,
    "Attention": own_attention, "MultiHeadAttention": many_heads, "GroupQueryAttention": grouped_queries, "RotaryEmbedding": rotary,
}


def evaluate(model: onnx.ModelProto, values: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The model's outputs, as it stands: nothing is rewritten ahead."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, values)
