"""Small models with inputs and outputs, in the form of ONNX's node tests, written field by field: what the conformance test
runs where ONNX's own are not at hand. The expected outputs are NumPy's, in float64."""

import struct
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np

from onnx_files import DTYPES
from tensor_files import PACKED_BITS, pack  # from here on of tests/examples, which onnx_files has found
from attention_cases import windowed
from building_blocks import normal_of, philox, uniform_of

FLOAT, F8E4M3, F8E5M2 = 1, 17, 19


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while True:
        out.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(out)


def field(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def code_of(array: np.ndarray) -> int:
    """ONNX's code of the elements."""
    return next(code for code, (_, element) in DTYPES.items() if np.dtype(element) == array.dtype)


def tensor(array: np.ndarray, name: str = "") -> bytes:
    code = code_of(array)
    dtype = DTYPES[code][0]
    data = pack(dtype, array) if dtype in PACKED_BITS else array
    dims = b"".join(field(1, extent) for extent in array.shape)
    return dims + field(2, code) + field(9, data.tobytes()) + field(8, name)


def value_info(name: str, shape: tuple[int | str, ...], code: int) -> bytes:
    dims = b"".join(field(1, field(1, each) if isinstance(each, int) else field(2, each)) for each in shape)
    return field(1, name) + field(2, field(1, field(1, code) + field(2, dims)))


def attribute(name: str, value: int | float | str | list[int]) -> bytes:
    if isinstance(value, float):
        return field(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + field(20, 1)
    if isinstance(value, str):
        return field(1, name) + field(4, value) + field(20, 3)
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    return field(1, name) + b"".join(field(8, each) for each in value) + field(20, 7)


def node(op: str, inputs: list[str], outputs: list[str], domain: str = "", **attributes: int | float | str | list[int]) -> bytes:
    return (b"".join(field(1, each) for each in inputs) + b"".join(field(2, each) for each in outputs) + field(4, op)
            + field(7, domain) + b"".join(field(5, attribute(name, value)) for name, value in attributes.items()))


def model(nodes: list[bytes], inputs: list[bytes], outputs: list[bytes], weights: list[bytes], version: int) -> bytes:
    graph = (b"".join(field(1, each) for each in nodes) + field(2, "g") + b"".join(field(5, each) for each in weights)
             + b"".join(field(11, each) for each in inputs) + b"".join(field(12, each) for each in outputs))
    opsets = (field(1, "") + field(2, version), field(1, "com.microsoft") + field(2, 1))
    return field(1, 8) + field(7, graph) + b"".join(field(8, each) for each in opsets)


Arrays = dict[str, np.ndarray]


def write(folder: Path, nodes: list[bytes], inputs: Arrays, weights: Arrays, outputs: Arrays, version: int = 18,
          shapes: dict[str, tuple[int | str, ...]] | None = None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    outputs = write_data(folder, 0, inputs, outputs)
    infos = [value_info(name, (shapes or {}).get(name, array.shape), code_of(array)) for name, array in inputs.items()]
    results = [value_info(name, array.shape, code_of(array)) for name, array in outputs.items()]
    kept = [tensor(array, name) for name, array in weights.items()]
    (folder / "model.onnx").write_bytes(model(nodes, infos, results, kept, version))


def write_data(folder: Path, number: int, inputs: Arrays, outputs: Arrays) -> Arrays:
    """The outputs as they are written."""
    data = folder / f"test_data_set_{number}"
    data.mkdir(parents=True, exist_ok=True)
    outputs = {name: array.astype(np.float32) if array.dtype == np.float64 else array for name, array in outputs.items()}
    for i, array in enumerate(inputs.values()):
        (data / f"input_{i}.pb").write_bytes(tensor(array))
    for i, array in enumerate(outputs.values()):
        (data / f"output_{i}.pb").write_bytes(tensor(array))
    return outputs


def perceptron(folder: Path, random: Callable[..., np.ndarray]) -> None:
    """Weights beside the graph, a symbolic dim, Gemm with a transposed weight."""
    x, w, b = random(5, 12), random(7, 12), random(7)
    y = np.maximum(x.astype(np.float64) @ w.T + b, 0)
    write(folder, [node("Gemm", ["x", "w", "b"], ["h"], transB=1), node("Relu", ["h"], ["y"])], {"x": x}, {"w": w, "b": b},
          {"y": y}, shapes={"x": ("batch", 12)})


def split_heads(folder: Path, random: Callable[..., np.ndarray]) -> None:
    """Shapes that are computed, as exporters write them."""
    x, zero, rest = random(3, 4, 6), np.array([0], np.int64), np.array([2, -1], np.int64)
    y = x.reshape(3, 2, -1).transpose(0, 2, 1)
    write(folder, [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"], axis=0),
                   node("Concat", ["n", "rest"], ["shape"], axis=0), node("Reshape", ["x", "shape"], ["r"]),
                   node("Transpose", ["r"], ["y.out"], perm=[0, 2, 1])],
          {"x": x}, {"zero": zero, "rest": rest}, {"y.out": y})


def convolution(folder: Path, random: Callable[..., np.ndarray]) -> None:
    """Channels first, a bias, a mean over both axes."""
    x, w, b = random(2, 3, 6, 5), random(4, 3, 3, 3), random(4)
    wide = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (1, 1), (1, 1)])
    y = np.zeros((2, 4, 6, 5))
    for i in range(3):
        for j in range(3):
            y += np.einsum("nchw,oc->nohw", wide[:, :, i:i + 6, j:j + 5], w[:, :, i, j])
    y = (y + b[:, None, None]).mean(axis=(2, 3), keepdims=True)
    write(folder, [node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]), node("GlobalAveragePool", ["c"], ["y"])],
          {"x": x}, {"w": w, "b": b}, {"y": y})


def bound_axes(folder: Path, random: Callable[..., np.ndarray]) -> None:
    """An input that says axes is bound to its value in the example."""
    x, axes = random(2, 3, 4), np.array([0, -1], np.int64)
    write(folder, [node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)], {"x": x, "axes": axes}, {}, {"y": x.sum(axis=(0, 2))})


def sizes_of_calls(folder: Path, random: Callable[..., np.ndarray]) -> None:
    """Inputs that say sizes, each time others."""
    weights = {name: np.array(value, np.int64) for name, value in
               {"zero": 0, "one": 1, "two": [2], "last": [1], "start": [0], "rest": [-1], "places": [2, 0, 1]}.items()}
    weights["ends"] = np.array([2, 5], np.float32)
    nodes = [node("Reshape", ["x", "shape"], ["reshaped"]), node("ConstantOfShape", ["shape"], ["zeros"]),
             node("Add", ["reshaped", "zeros"], ["kept"]), node("Expand", ["row", "wide"], ["rows"]),
             node("Range", ["zero", "limit", "one"], ["numbers"]), node("Tile", ["row", "wide"], ["tiled"]),
             node("Slice", ["row", "start", "length", "last"], ["part"]), node("OneHot", ["places", "depth", "ends"], ["hot"]),
             node("Concat", ["length", "rest"], ["open"], axis=0), node("Reshape", ["x", "open"], ["halves"]),
             node("Mul", ["wide", "two"], ["doubled"]), node("ConstantOfShape", ["doubled"], ["nothing"]),
             node("TopK", ["x", "length"], ["best", "where"]), node("Pad", ["x", "frame"], ["framed"], mode="edge"),
             node("Pad", ["x", "frame", "fill"], ["filled"])]
    for number, (shape, wide, limit, length, depth, frame) in enumerate(
            [((3, 8), (5, 6), 4, 4, 3, (1, 0, 2, 3)), ((12, 2), (1, 6), 0, 6, 5, (0, 0, 0, 0)), ((1, 24), (9, 6), 33, 1, 1, (0, 7, 0, 1))]):
        x, row, fill, around = random(4, 6), random(1, 6), random(), ((frame[0], frame[2]), (frame[1], frame[3]))
        best = np.argsort(-x, axis=-1, kind="stable")[:, :length]
        inputs = {"x": x, "row": row, "shape": np.array(shape, np.int64), "wide": np.array(wide, np.int64),
                  "limit": np.array(limit, np.int64), "length": np.array([length], np.int64), "depth": np.array(depth, np.int64),
                  "frame": np.array(frame, np.int64), "fill": fill}
        outputs = {"kept": x.reshape(shape), "rows": np.broadcast_to(row, wide).copy(), "numbers": np.arange(limit),
                   "tiled": np.tile(row, wide), "part": row[:, :length], "halves": x.reshape(length, -1),
                   "hot": np.where(np.arange(depth) == weights["places"][:, None], 5, 2).astype(np.float32),
                   "nothing": np.zeros(2 * np.array(wide), np.float32),
                   "best": np.take_along_axis(x, best, -1), "where": best,
                   "framed": np.pad(x, around, "edge"), "filled": np.pad(x, around, constant_values=fill)}
        if number == 0:
            write(folder, nodes, inputs, weights, outputs)
        else:
            write_data(folder, number, inputs, outputs)


def lesser_of_sizes(folder: Path, random: Callable[..., np.ndarray]) -> None:
    """At most so many of an axis, its last elements, and a frame up to a multiple, where the axis may be shorter;
    a dim whose name says what it follows from."""
    weights = {name: np.array(value, np.int64) for name, value in
               {"most": [5], "from": [-3], "end": [1 << 40], "multiple": [4], "zero": [0], "one": 1}.items()}
    nodes = [node("Shape", ["x"], ["n"]), node("Min", ["n", "most"], ["k"]), node("TopK", ["x", "k"], ["best", "where"]),
             node("Slice", ["x", "from", "end"], ["last"]), node("Neg", ["n"], ["minus"]),
             node("Mod", ["minus", "multiple"], ["missing"]), node("Concat", ["zero", "missing"], ["pads"], axis=0),
             node("Pad", ["x", "pads"], ["padded"]), node("Concat", ["x", "x"], ["twice"], axis=0),
             node("Sub", ["twice", "mask"], ["masked"]), node("Squeeze", ["k"], ["limit"]),
             node("Range", ["limit", "top", "one"], ["behind"])]
    weights["top"] = np.array(4, np.int64)
    for number, count in enumerate((7, 2, 4, 1)):
        x, mask = random(count), random(2 * count)
        best = np.argsort(-x, kind="stable")[:5]
        inputs = {"x": x, "mask": mask}
        outputs = {"best": x[best], "where": best, "last": x[-3:], "padded": np.pad(x, (0, -count % 4)),
                   "masked": np.concatenate([x, x]) - mask, "behind": np.arange(min(count, 5), 4)}
        if number == 0:
            write(folder, nodes, inputs, weights, outputs, shapes={"x": ("count",), "mask": ("2*count",)})
        else:
            write_data(folder, number, inputs, outputs)


def products(folder: Path, random: Callable[..., np.ndarray]) -> None:
    """Matrices in both operands, softmax of an old version over two axes."""
    a, b = random(2, 3, 4), random(2, 4, 5)
    scores = (a.astype(np.float64) @ b).reshape(2, 15)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    y = (weights / weights.sum(axis=1, keepdims=True)).reshape(2, 3, 5)
    write(folder, [node("MatMul", ["a", "b"], ["p"]), node("Softmax", ["p"], ["y"], axis=1)], {"a": a, "b": b}, {}, {"y": y}, 11)


def transposed_convolution(folder: Path, random: Callable[..., np.ndarray]) -> None:
    """Groups, strides, dilations, and pads that are wider than the filters along one axis."""
    x, w, b = random(2, 4, 5, 3), random(4, 3, 3, 2), random(6)
    whole = np.zeros((2, 6, 2 * 4 + 2 * 2 + 1 + 1, 3 * 2 + 1 + 1 + 1))
    for i in range(3):
        for j in range(2):
            for group in range(2):
                taps = np.einsum("nchw,co->nohw", x[:, 2 * group:2 * group + 2].astype(np.float64), w[2 * group:2 * group + 2, :, i, j])
                whole[:, 3 * group:3 * group + 3, 2 * i:2 * i + 9:2, j:j + 7:3] += taps
    y = whole[:, :, 1:-2, 2:-1] + b[:, None, None]  # the last row and column are the output's own padding
    write(folder, [node("ConvTranspose", ["x", "w", "b"], ["y"], group=2, strides=[2, 3], dilations=[2, 1], pads=[1, 2, 2, 1],
                        output_padding=[1, 1])], {"x": x}, {"w": w, "b": b}, {"y": y})


def narrow_floats(folder: Path, random: Callable[..., np.ndarray]) -> None:
    """Casts to floats of 8 bits, which saturate or not."""
    x = np.concatenate([random(9), [0, 440, 463, 464, 465, 1e4, 57344, 61439, 61440, 1e9, np.inf, np.nan]]).astype(np.float32)
    x = np.concatenate([x, -x])
    nodes, outputs = [], {}
    for code, narrow, greatest in ((F8E4M3, ml_dtypes.float8_e4m3fn, 448.0), (F8E5M2, ml_dtypes.float8_e5m2, 57344.0)):
        for saturate in (0, 1):
            name = f"y{code}_{saturate}"
            nodes += [node("Cast", ["x"], [f"{name}_narrow"], to=code, saturate=saturate),
                      node("Cast", [f"{name}_narrow"], [name], to=FLOAT)]
            outputs[name] = (np.clip(x, -greatest, greatest) if saturate else x).astype(narrow).astype(np.float32)
    write(folder, nodes, {"x": x}, {}, outputs, 19)


def running_products(folder: Path, random: Callable[..., np.ndarray]) -> None:
    """Along each axis; what overflows behind a zero is zero."""
    x = random(3, 5, 37)
    x[0, 2], x[1, 3, 4:] = 0, 1e30
    x[1, 3, 4] = 0
    axes = {f"axis{i}": np.array(i, np.int64) for i in range(3)}
    nodes = [node("CumProd", ["x", name], [f"y{name}"], exclusive=int(i == 1), reverse=int(i == 1)) for i, name in enumerate(axes)]
    wide = x.astype(np.float64)
    backwards = np.ones_like(wide)
    backwards[:, :-1] = np.cumprod(wide[:, :0:-1], axis=1)[:, ::-1]
    outputs = {"yaxis0": np.cumprod(wide, axis=0), "yaxis1": backwards, "yaxis2": np.cumprod(wide, axis=2)}
    write(folder, nodes, {"x": x}, axes, outputs, 26)


def scattered(folder: Path, random: Callable[..., np.ndarray]) -> None:
    """Into a graph that goes on: updates that meet, negative indices, whole lines."""
    x, few, lines = random(5, 3), random(4, 3), random(3, 3)
    indices = np.array([[0, -1, 2], [0, 1, 2], [4, -5, 2], [1, 1, 1]], np.int64)
    places = np.array([[1], [-1], [1]], np.int64)
    sums = np.exp(x.astype(np.float64))
    for k in range(4):
        for j in range(3):
            sums[indices[k, j], j] += few[k, j]
    for place, line in zip(places[:, 0], lines):
        sums[place] = line
    write(folder, [node("Exp", ["x"], ["e"]), node("ScatterElements", ["e", "i", "few"], ["s"], reduction="add"),
                   node("ScatterND", ["s", "p", "lines"], ["w"]), node("Relu", ["w"], ["y"])],
          {"x": x, "i": indices, "few": few, "p": places, "lines": lines}, {}, {"y": np.maximum(sums, 0)})


def no_elements(folder: Path, random: Callable[..., np.ndarray]) -> None:
    """A weight without elements."""
    x = random(3, 4)
    write(folder, [node("Concat", ["empty", "x"], ["y"], axis=1)], {"x": x}, {"empty": np.zeros((3, 0), np.float32)}, {"y": x})


def layers(folder: Path, random: Callable[..., np.ndarray]) -> None:
    """Layers that are written once: weights that are called after them, and others; what the first computes for all; results
    that callers get of each."""
    x, mask = random(5, 12), random(5, 1)
    kept = {f"layers.{i}.b": random(12) for i in range(3)} | {f"w_{7 * i + 9}": random(12, 12) / 4 for i in range(6)}
    nodes, outputs, last, result = [], {}, "x", x.astype(np.float64)
    for i in range(3):
        up, down = f"w_{14 * i + 9}", f"w_{14 * i + 16}"
        nodes += [node("MatMul", [last, up], [f"up{i}"]), node("Add", [f"up{i}", f"layers.{i}.b"], [f"biased{i}"])]
        nodes += [node("Tanh", ["m"], ["mask"])] if i == 0 else []
        nodes += [node("Mul", [f"biased{i}", "mask"], [f"masked{i}"]), node("Relu", [f"masked{i}"], [f"act{i}"]),
                  node("MatMul", [f"act{i}", down], [f"down{i}"]), node("Add", [f"down{i}", last], [f"out{i}"])]
        act = np.maximum((result @ kept[up] + kept[f"layers.{i}.b"]) * np.tanh(mask.astype(np.float64)), 0)
        result = act @ kept[down] + result
        outputs |= {f"act{i}": act} | ({"out2": result} if i == 2 else {})
        last = f"out{i}"
    write(folder, nodes, {"x": x, "m": mask}, kept, outputs)


def integer_products(folder: Path, random: Callable[..., np.ndarray]) -> None:
    """Quantised products with a dequantising epilogue, a batch of them, and products of 32 and 64 bits that wrap."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 256, (2, 19, 301)).astype(np.uint8), rng.integers(-128, 128, (301, 67)).astype(np.int8)
    a_zero, b_zero = np.array(131, np.uint8), rng.integers(-128, 128, 67).astype(np.int8)
    scale = random(67)
    c = rng.integers(-128, 128, (2, 301, 5)).astype(np.int8)
    d, row_zeros = rng.integers(-128, 128, (301, 40)).astype(np.int8), rng.integers(0, 256, 19).astype(np.uint8)
    of_rows = (a[0].astype(np.int64) - row_zeros[:, None]) @ d.astype(np.int64)
    i, k = rng.integers(-2**31, 2**31, (2, 7, 33), np.int64).astype(np.int32), rng.integers(-2**31, 2**31, (33, 31), np.int64).astype(np.int32)
    u, v = rng.integers(0, 2**64, (3, 5), np.uint64), rng.integers(0, 2**64, (5, 18), np.uint64)
    wide = a.astype(np.int64) - 131
    product = wide @ (b.astype(np.int64) - b_zero)
    write(folder, [node("MatMulInteger", ["a", "b", "a_zero", "b_zero"], ["p"]), node("Cast", ["p"], ["f"], to=1),
                   node("Mul", ["f", "scale"], ["y"]), node("MatMulInteger", ["a", "c", "a_zero"], ["z"]),
                   node("MatMulInteger", ["first", "d", "row_zeros"], ["q"]),
                   node("MatMul", ["i", "k"], ["w"]), node("MatMul", ["u", "v"], ["x"])],
          {"a": a, "b": b, "a_zero": a_zero, "b_zero": b_zero, "scale": scale, "c": c, "first": a[0], "row_zeros": row_zeros,
           "i": i, "u": u, "v": v}, {"k": k, "d": d},
          {"q": of_rows.astype(np.int32), "y": product * scale.astype(np.float64), "z": (wide @ c.astype(np.int64)).astype(np.int32),
           "w": (i.astype(np.int64) @ k.astype(np.int64)).astype(np.int32), "x": u @ v},
          shapes={"a": ("batch", "rows", 301), "c": ("batch", 301, 5)})


def chosen_elements(folder: Path, random: Callable[..., np.ndarray]) -> None:
    """Sizes that only the run knows, and what is computed of such values; among them all and none."""
    x, some = random(5, 6), np.array([1, 0, 1, 1], bool)
    positive = np.maximum(x, 0)
    places = np.argwhere(positive)
    chosen = positive[tuple(places.T)].astype(np.float64)
    whole, first, inverse, repeats = np.unique(np.sign(x).astype(np.int32), return_index=True, return_inverse=True, return_counts=True)
    write(folder, [node("Relu", ["x"], ["p"]), node("NonZero", ["p"], ["places"]), node("Transpose", ["places"], ["rows"]),
                   node("GatherND", ["x", "rows"], ["chosen"]), node("Sqrt", ["chosen"], ["roots"]), node("Shape", ["chosen"], ["size"]),
                   node("Compress", ["x", "some"], ["columns"], axis=1), node("Neg", ["columns"], ["turned"]),
                   node("Sign", ["x"], ["signs"]), node("Cast", ["signs"], ["codes"], to=6),
                   node("Unique", ["codes"], ["whole", "first", "inverse", "repeats"]),
                   node("Less", ["x", "least"], ["nothing"]), node("NonZero", ["nothing"], ["none"])],
          {"x": x, "some": some}, {"least": np.array(-1e9, np.float32)},
          {"roots": np.sqrt(chosen), "size": np.array([len(chosen)]), "turned": -x[:, :4][:, some], "whole": whole, "first": first,
           "inverse": inverse.reshape(-1), "repeats": repeats, "none": np.zeros((2, 0), np.int64), "places": places.T})


def attention(folder: Path, random: Callable[..., np.ndarray]) -> None:
    """With a cache whose length is symbolic, and more keys than queries; causal, with a soft cap and values of a width of their
    own."""
    q, k, v, past_k, past_v = random(2, 4, 3, 8), random(2, 2, 3, 8), random(2, 2, 3, 5), random(2, 2, 4, 8), random(2, 2, 4, 5)
    keys, values = np.concatenate([past_k, k], 2), np.concatenate([past_v, v], 2)
    y = windowed(*(each.astype(np.float64).transpose(0, 2, 1, 3) for each in (q, keys, values)), soft_cap=1.5, right=0)
    # A mask that lets queries see the first keys alone: as many keys as there are, but fewer queries.
    longer = random(2, 2, 6, 8)
    seen = np.arange(6) <= np.arange(3)[:, None]
    first = windowed(*(each.astype(np.float64).transpose(0, 2, 1, 3) for each in (q, longer, longer)), mask=np.where(seen, 0, -np.inf))
    counts = np.array([[True, False, True, True, False, True]])
    some = windowed(*(each.astype(np.float64).transpose(0, 2, 1, 3) for each in (q, longer, longer)), mask=np.where(counts, 0, -np.inf))
    write(folder, [node("Attention", ["q", "k", "v", "", "past_k", "past_v"], ["y", "keys", "values"], is_causal=1, softcap=1.5),
                   node("Attention", ["q", "longer", "longer"], ["first"], is_causal=1),
                   node("Attention", ["q", "longer", "longer", "counts"], ["some"])],
          {"q": q, "k": k, "v": v, "past_k": past_k, "past_v": past_v, "longer": longer, "counts": counts}, {},
          {"y": y.transpose(0, 2, 1, 3), "keys": keys, "values": values, "first": first.transpose(0, 2, 1, 3),
           "some": some.transpose(0, 2, 1, 3)}, version=24,
          shapes={"q": ("batch", 4, "length", 8), "k": ("batch", 2, "length", 8), "v": ("batch", 2, "length", 5),
                  "past_k": ("batch", 2, "past", 8), "past_v": ("batch", 2, "past", 5), "longer": ("batch", 2, "keys", 8),
                  "counts": (1, "keys")})


def chance(folder: Path, random: Callable[..., np.ndarray]) -> None:
    """What ONNX leaves open, the numbers, as kgen's operators say them."""
    x, chances = random(3, 5), np.abs(random(4, 6)) / 2
    logits = random(3, 9)
    information = -np.log(uniform_of(philox((3, 11, 9), 0, 21)))
    drawn = np.argmax(logits[:, None].astype(np.float64) - np.log(information), axis=-1).astype(np.int32)
    write(folder, [node("RandomUniform", [], ["a"], shape=[4, 7], seed=5.0, low=-2.0, high=3.0),
                   node("RandomUniformLike", ["x"], ["b"], seed=0.5), node("RandomNormal", [], ["c"], shape=[50], seed=-7.0, mean=1.0),
                   node("RandomNormalLike", ["x"], ["d"], seed=8.0, scale=0.25), node("Bernoulli", ["chances"], ["e"], seed=4.0),
                   node("Multinomial", ["logits"], ["f"], seed=21.0, sample_size=11), node("Dropout", ["x"], ["g"])],
          {"x": x, "chances": chances, "logits": logits}, {},
          {"a": uniform_of(philox((4, 7), 0, 5)) * 5 - 2, "b": uniform_of(philox(x.shape, 0, 524288)),
           "c": normal_of(philox((50,), 0, -7)) + 1, "d": normal_of(philox(x.shape, 0, 8)) / 4,
           "e": (uniform_of(philox(chances.shape, 0, 4)) < chances).astype(np.float32), "f": drawn, "g": x}, version=22,
          shapes={"chances": ("rows", 6)})


def make(folder: Path) -> None:
    rng = np.random.default_rng(7)
    for case in (perceptron, split_heads, convolution, bound_axes, sizes_of_calls, lesser_of_sizes, products, transposed_convolution, narrow_floats, running_products,
                 scattered, no_elements, layers, chosen_elements, integer_products, attention, chance):
        case(folder / case.__name__, lambda *shape: rng.standard_normal(shape).astype(np.float32))
