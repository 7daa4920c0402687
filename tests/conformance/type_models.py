"""Small models of the element types: each code of the narrow ones, what is hard to convert to them, and tensors of elements
that share bytes. What is expected is ml_dtypes', or follows here from a format's definition."""

from pathlib import Path

import ml_dtypes
import numpy as np

from own_models import Arrays, code_of, node, write

FLOATS = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e4m3z": ml_dtypes.float8_e4m3fnuz,
          "e5m2z": ml_dtypes.float8_e5m2fnuz}
INTEGERS = {"i4": ml_dtypes.int4, "u4": ml_dtypes.uint4, "i2": ml_dtypes.int2, "u2": ml_dtypes.uint2}
BITS = {"i4": 4, "u4": 4, "i2": 2, "u2": 2}
VERSION = 26
F32, F16, I8, I32 = 1, 10, 3, 6


def codes(element: type, bits: int) -> np.ndarray:
    return np.arange(1 << bits, dtype=np.uint8).view(element)


def code(element: type) -> int:
    return code_of(np.zeros(1, element))


def cast(inputs: list[str], outputs: list[str], to: int, **more: int | str) -> bytes:
    return node("Cast", inputs, outputs, to=to, **more)


def every_code(folder: Path) -> None:
    """To f32 and f16. (NumPy's cast of 2^-127 to f16 is 0, as ours.)"""
    types = {**FLOATS, "e8m0": ml_dtypes.float8_e8m0fnu, "f4": ml_dtypes.float4_e2m1fn, **INTEGERS}
    inputs, nodes, outputs = {}, [], {}
    with np.errstate(all="ignore"):
        for name, element in types.items():
            inputs[name] = codes(element, BITS.get(name, 4 if name == "f4" else 8))
            nodes += [cast([name], [f"{name}_f32"], F32), cast([name], [f"{name}_f16"], F16)]
            outputs[f"{name}_f32"] = inputs[name].astype(np.float32)
            outputs[f"{name}_f16"] = inputs[name].astype(np.float32).astype(np.float16)
    write(folder, nodes, inputs, {}, outputs, VERSION)


def hard_floats(element: type, bits: int) -> np.ndarray:
    """The numbers of a format, halfway between them, and next to that."""
    values = codes(element, bits).astype(np.float64)
    values = np.unique(values[np.isfinite(values)])
    middles = ((values[1:] + values[:-1]) / 2).astype(np.float32)
    beyond = np.float32(values[-1]) * np.array([1.01, 1.03125, 1.0357143, 1.0625, 1.125, 1.15, 1.25, 2, 1e3], np.float32)
    x = np.concatenate([values.astype(np.float32), middles, np.nextafter(middles, np.float32(np.inf)),
                        np.nextafter(middles, np.float32(-np.inf)), beyond, -beyond])
    return np.concatenate([x, np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38], np.float32)])


def to_floats(folder: Path) -> None:
    """Ties, subnormals, NaN, infinity and overflow, with and without saturation."""
    inputs, nodes, outputs = {}, [], {}
    with np.errstate(all="ignore"):
        for name, element in FLOATS.items():
            x = inputs[name] = hard_floats(element, 8)
            greatest = float(ml_dtypes.finfo(element).max)
            nodes += [cast([name], [f"{name}_last"], code(element)), cast([name], [f"{name}_any"], code(element), saturate=0),
                      cast([f"{name}_any"], [f"{name}_wide"], F32)]
            outputs[f"{name}_last"] = np.clip(x, -greatest, greatest).astype(element)
            outputs[f"{name}_any"] = x.astype(element)
            outputs[f"{name}_wide"] = outputs[f"{name}_any"].astype(np.float32)
        x = inputs["f4"] = hard_floats(ml_dtypes.float4_e2m1fn, 4)
        nodes.append(cast(["f4"], ["f4_last"], code(ml_dtypes.float4_e2m1fn)))
        outputs["f4_last"] = x.astype(ml_dtypes.float4_e2m1fn)
    write(folder, nodes, inputs, {}, outputs, VERSION)


def power_of(x: float, mode: str, saturate: bool) -> float:
    """x as float8e8m0, by its definition: https://onnx.ai/onnx/technical/float8.html."""
    first, last = 2.0**-127, 2.0**127
    beyond = lambda limit: limit if saturate else np.nan  # noqa: E731
    if np.isnan(x) or x < 0:
        return np.nan
    if x < first:
        return beyond(first)
    if np.isinf(x):
        return beyond(last)
    below = 2.0 ** int(np.floor(np.log2(x)))
    below = below if below <= x else below / 2
    above = below if below == x else below * 2
    power = {"up": above, "down": below, "nearest": above if x - below >= above - x else below}[mode]
    return power if power <= last else beyond(last)


def to_powers(folder: Path) -> None:
    element = ml_dtypes.float8_e8m0fnu
    powers = codes(element, 8)[:-1].astype(np.float32)
    x = np.concatenate([powers, powers * np.float32(1.5), np.nextafter(powers, np.float32(np.inf)),
                        np.nextafter(powers, np.float32(0)), np.nextafter(powers * np.float32(1.5), np.float32(0)),
                        np.array([0, np.inf, np.nan, 1e-45, 3.4e38, 7e-39, -2, -np.inf], np.float32)])
    nodes, outputs = [], {}
    for mode in ("up", "down", "nearest"):
        for saturate in (0, 1):
            name = f"{mode}_{saturate}"
            nodes.append(cast(["x"], [name], code(element), saturate=saturate, round_mode=mode))
            wanted = np.array([power_of(float(each), mode, bool(saturate)) for each in x])
            exponent = np.where(np.isnan(wanted), 255, np.log2(np.where(np.isnan(wanted), 1, wanted)) + 127)
            outputs[name] = exponent.astype(np.uint8).view(element)
    write(folder, nodes, {"x": x}, {}, outputs, VERSION)


def to_integers(folder: Path) -> None:
    """Fractions are cut off, and integers keep their lowest bits."""
    whole = np.arange(-129, 130, dtype=np.int32)
    inputs: Arrays = {"whole": whole, "bytes": whole[1:257].astype(np.int8), "truth": np.array([True, False, True])}
    nodes, outputs = [], {}
    for name, element in INTEGERS.items():
        bits = BITS[name]
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if name[0] == "i" else (0, (1 << bits) - 1)
        inputs[f"real_{name}"] = np.linspace(low, high, 37, dtype=np.float32)
        for source in ("whole", "bytes", "truth", f"real_{name}"):
            nodes.append(cast([source], [f"{name}_{source}"], code(element)))
            kept = inputs[source].astype(np.int64) & ((1 << bits) - 1)
            outputs[f"{name}_{source}"] = kept.astype(np.uint8).view(element)
        inputs[name] = codes(element, bits)
        for to, wide in ((I8, np.int8), (I32, np.int32), (9, np.bool_)):
            nodes.append(cast([name], [f"{name}_to_{to}"], to))
            outputs[f"{name}_to_{to}"] = inputs[name].astype(np.int32).astype(wide)
    write(folder, nodes, inputs, {}, outputs, VERSION)


def quantised_weight(folder: Path) -> None:
    """Weights of 4 bits in blocks, of which one is not whole, as the right operand of a product."""
    rng = np.random.default_rng(3)
    inputs, weights, nodes, outputs = {"x": rng.standard_normal((5, 40)).astype(np.float32)}, {}, [], {}
    for name, block in (("even", 8), ("uneven", 12)):
        count = -(-40 // block)
        q = rng.integers(-8, 8, (40, 13)).astype(ml_dtypes.int4)
        zero = rng.integers(-8, 8, (count, 13)).astype(ml_dtypes.int4)
        scale = rng.uniform(0.1, 2, (count, 13)).astype(np.float32)
        weights |= {f"q_{name}": q, f"scale_{name}": scale, f"zero_{name}": zero}
        nodes += [node("DequantizeLinear", [f"q_{name}", f"scale_{name}", f"zero_{name}"], [f"w_{name}"], axis=0, block_size=block),
                  node("MatMul", ["x", f"w_{name}"], [name])]
        spread = [np.repeat(each.astype(np.float64), block, axis=0)[:40] for each in (scale, zero)]
        outputs[name] = inputs["x"].astype(np.float64) @ ((q.astype(np.float64) - spread[1]) * spread[0])
    write(folder, nodes, inputs, weights, outputs, VERSION)


def quantised_blocks(folder: Path) -> None:
    """To types of 4 and 2 bits, and back."""
    rng = np.random.default_rng(4)
    x = rng.uniform(-9, 9, (3, 10, 7)).astype(np.float32)
    nodes, outputs, weights = [], {}, {"scale": rng.uniform(0.5, 2, (3, 2, 7)).astype(np.float32)}
    ratio = x / np.repeat(weights["scale"], 5, axis=1)
    for name, element in INTEGERS.items():
        info = ml_dtypes.iinfo(element)
        weights[f"zero_{name}"] = np.ones((3, 2, 7), element)
        nodes += [node("QuantizeLinear", ["x", "scale", f"zero_{name}"], [name], axis=1, block_size=5),
                  node("DequantizeLinear", [name, "scale", f"zero_{name}"], [f"{name}_back"], axis=1, block_size=5)]
        outputs[name] = np.clip(np.rint(ratio) + 1, int(info.min), int(info.max)).astype(element)
        outputs[f"{name}_back"] = (outputs[name].astype(np.float32) - 1) * np.repeat(weights["scale"], 5, axis=1)
    nodes.append(node("QuantizeLinear", ["x", "scale"], ["f4"], axis=1, block_size=5, output_dtype=code(ml_dtypes.float4_e2m1fn)))
    outputs["f4"] = ratio.astype(ml_dtypes.float4_e2m1fn)
    write(folder, nodes, {"x": x}, weights, outputs, VERSION)


def packed_views(folder: Path) -> None:
    """Slices that begin and end within a byte, lines that do, transposes, and what is written beside a neighbour."""
    rng = np.random.default_rng(5)
    inputs, nodes, outputs, weights = {}, [], {}, {
        "begin": np.array([1, 1], np.int64), "end": np.array([3, 6], np.int64), "axes": np.array([1, 2], np.int64),
        "pads": np.array([0, 1, 1, 0, 0, 2], np.int64), "places": np.array([2, 0, 2], np.int64)}
    for name, element in {**INTEGERS, "f4": ml_dtypes.float4_e2m1fn}.items():
        bits = BITS.get(name, 4)
        x, y = (codes(element, bits)[rng.integers(0, 1 << bits, (5, 3, 7))] for _ in range(2))
        inputs |= {f"{name}_x": x, f"{name}_y": y}
        nodes += [node("Transpose", [f"{name}_x"], [f"{name}_turned"], perm=[2, 0, 1]),
                  node("Slice", [f"{name}_x", "begin", "end", "axes"], [f"{name}_part"]),
                  node("Cast", [f"{name}_part"], [f"{name}_wide"], to=F32),
                  node("Concat", [f"{name}_x", f"{name}_y"], [f"{name}_joined"], axis=2),
                  node("Gather", [f"{name}_x", "places"], [f"{name}_taken"], axis=2),
                  node("Pad", [f"{name}_x", "pads"], [f"{name}_framed"])]
        outputs |= {f"{name}_turned": x.transpose(2, 0, 1).copy(), f"{name}_part": x[:, 1:3, 1:6].copy(),
                    f"{name}_wide": x[:, 1:3, 1:6].astype(np.float32), f"{name}_joined": np.concatenate([x, y], axis=2),
                    f"{name}_taken": x[:, :, [2, 0, 2]].copy(),
                    f"{name}_framed": np.pad(x.view(np.uint8), [(0, 0), (1, 0), (1, 2)]).view(element)}
    inputs["none"] = np.zeros((3, 0), ml_dtypes.int4)
    nodes.append(cast(["none"], ["none_wide"], F32))
    outputs["none_wide"] = np.zeros((3, 0), np.float32)
    write(folder, nodes, inputs, weights, outputs, VERSION)


def bits(folder: Path) -> None:
    """Every bit stays, those of a NaN that signals too."""
    words = np.arange(65536, dtype=np.uint16)
    inputs = {"h": words.view(np.float16), "b": words.view(ml_dtypes.bfloat16), "w": words.view(np.int16),
              "n": codes(ml_dtypes.float8_e4m3fn, 8), "s": np.array([0, 1, 0x7f800001, 0xffffffff, 0x80000000], np.uint32),
              "d": np.array([0, 1, (1 << 64) - 1, 0x7ff0000000000001], np.uint64), "q": codes(ml_dtypes.int4, 4)}
    pairs = {"h": np.uint16, "b": np.int16, "w": np.float16, "n": np.uint8, "s": np.float32, "d": np.int64, "q": ml_dtypes.uint4}
    nodes = [node("BitCast", [name], [f"{name}_bits"], to=code(to)) for name, to in pairs.items()]
    outputs = {f"{name}_bits": inputs[name].view(to) for name, to in pairs.items()}
    write(folder, nodes, inputs, {}, outputs, VERSION)


def wide_integers(folder: Path) -> None:
    """Numbers of 64 bits that no double holds."""
    odd, large = np.array((1 << 62) + 1, np.int64), np.array((1 << 64) - 3, np.uint64)
    inputs = {"x": np.array([(1 << 62) + 2, 1 << 62, -7], np.int64), "u": np.array([(1 << 64) - 1, 5], np.uint64)}
    write(folder, [node("Sub", ["x", "odd"], ["y"]), node("Sub", ["u", "large"], ["v"])], inputs, {"odd": odd, "large": large},
          {"y": inputs["x"] - odd, "v": inputs["u"] - large}, VERSION)


def small_weights(folder: Path) -> None:
    """Weights that stand in the graph as numbers."""
    types = {**FLOATS, "e8m0": ml_dtypes.float8_e8m0fnu, "f4": ml_dtypes.float4_e2m1fn, **INTEGERS}
    x = np.array([1, 2, 3, 4, 5], np.float32)
    weights = {name: np.array([1, 1, 0.5 if name in ("f4", "e8m0") else 0, 1, 2 if name[:2] != "i2" else -2], np.float32).astype(element)
               for name, element in types.items()}
    nodes, outputs = [], {}
    for name, weight in weights.items():
        nodes += [cast([name], [f"{name}_wide"], F32), node("Mul", ["x", f"{name}_wide"], [f"{name}_product"])]
        outputs[f"{name}_product"] = x * weight.astype(np.float32)
    write(folder, nodes, {"x": x}, weights, outputs, VERSION)


def make(folder: Path) -> None:
    for case in (every_code, to_floats, to_powers, to_integers, quantised_weight, quantised_blocks, packed_views, bits, wide_integers,
                 small_weights):
        case(folder / case.__name__)
