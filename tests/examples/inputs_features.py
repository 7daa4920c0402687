"""What the graphs of tests/examples/graphs are given, as inputs.py has it."""

import ml_dtypes
import numpy as np

from inputs import bf16, normal, position, with_specials


def row_form_inputs(rng, m, n):
    shapes = {
        "x": (m, m, n), "plane": (4, 5), "images": (2, 3, 4, 5),
        "column": (m, 1), "one": (1,), "channel": (3, 1, 1), "row": (m,), "scalar": (),
    }  # fmt: skip
    return {name: 1 + normal(rng, *shape) for name, shape in shapes.items()}


def row_statistics_inputs(rng, m):
    shapes = {"a": (m, 64), "w": (64, 256), "residual": (m, 256), "up": (256, 136)}
    return {name: normal(rng, *shape, dtype=bf16) for name, shape in shapes.items()}


def quantize_inputs(rng, m):
    inputs = {name: normal(rng, m, 200, dtype=np.float16) for name in ("x", "residual")}
    return inputs | {"weight": normal(rng, 200, dtype=np.float16)}


def long_special(rng):
    x = normal(rng, 4, 1001)
    x[0, 1000] = np.nan
    x[1, 3] = np.inf
    x[2, :40] = -np.inf
    x[3] = -np.inf
    yield "specials", [{"x": x}]


def strided_cases(rng):
    for m, n in ((1, 1), (7, 33), (64, 96), (5, 0)):
        yield f"{m}x{n}_transposed", [
            {"x": normal(rng, n, m).T, "y": normal(rng, m, n), "w": normal(rng, 24, n).T},
        ]
        yield f"{m}x{n}_every_third", [
            {"x": normal(rng, m, 3 * n)[:, ::3], "y": normal(rng, 2 * m, n)[1::2], "w": normal(rng, n, 50)[:, 2:26]},
        ]
        yield f"{m}x{n}_reversed", [
            {"x": normal(rng, m, n)[::-1, ::-1], "y": normal(rng, m, n)[::-1], "w": normal(rng, n, 24)[:, ::-1]},
        ]
        yield f"{m}x{n}_broadcast", [
            {
                "x": np.broadcast_to(normal(rng, m, 1), (m, n)),
                "y": np.broadcast_to(normal(rng, n), (m, n)),
                "w": np.broadcast_to(normal(rng, 1, 24), (n, 24)),
            },
        ]


def concat_inputs(rng, m, n, k):
    return {"a": normal(rng, m, n), "b": normal(rng, m, k), "row": normal(rng, 1, n)}


def functions_constants(rng):
    constants = {}
    for index in range(5):
        constants[f"linear.{index}.w"] = normal(rng, 32, 32) / 5
        constants[f"linear.{index}.b"] = normal(rng, 32)
    return constants


def integer_inputs(rng, m, n):
    return {
        "a": rng.integers(-100, 100, (m, n), dtype=np.int32),
        "b": rng.integers(-100, 100, (m, n), dtype=np.int32),
        "wide": rng.integers(-(2**40), 2**40, (m, n), dtype=np.int64),
        "bytes": rng.integers(0, 256, (m, n), dtype=np.uint8),
        "flag": rng.random((m, n)) < 0.5,
    }


def function_inputs(rng, m, n):
    return {
        **{name: with_specials(normal(rng, m, n) * 4, rng) for name in "abcdefgx"},
        "y": normal(rng, n),
        **{name: with_specials(normal(rng, m, n, dtype=bf16) * bf16(2), rng) for name in "hkl"},
    }


def bit_inputs(rng, m, n):
    """With the ends of the range, zeros, and counts of shifts from far below to far above."""
    ends = np.array([np.iinfo(np.int32).min, np.iinfo(np.int32).max, 0, -1, 31, 32], np.int32)
    some = lambda *shape: np.where(rng.random(shape) < 0.3, rng.choice(ends, shape), rng.integers(-40, 40, shape))  # noqa: E731
    return {
        "a": some(m, n).astype(np.int32),
        "b": some(n).astype(np.int32),
        "c": rng.integers(0, 256, (m, n), dtype=np.uint8),
        "d": rng.integers(-(2**63), 2**63 - 1, (m, n), dtype=np.int64, endpoint=True) >> rng.integers(0, 63, (m, n)),
    }


def layer_inputs(rng, n):
    channels = {name: 1 + normal(rng, 6) / 4 for name in ("weight", "bias", "mean")}
    return {"x": normal(rng, n, 6, 5, 7) * 3, **channels, "variance": np.abs(normal(rng, 6)),
            "scale": (np.abs(normal(rng, 6, 1, 1)) + 0.25).astype(np.float32), "zero_point": np.array(100, np.uint8)}  # fmt: skip


def wrapping_inputs(rng, m, n):
    dtypes = {"a": np.int32, "b": np.uint8, "c": np.int8, "d": np.uint64}
    whole = {name: np.iinfo(dtype) for name, dtype in dtypes.items()}
    return {
        name: rng.integers(info.min, info.max, (m, n), dtype=dtypes[name], endpoint=True) | dtypes[name](1)
        for name, info in whole.items()
    }


def wide_inputs(rng, n):
    return {"a": rng.integers(-(2**63), 2**63, (n, 2)), "b": rng.integers(0, 2**64, n, dtype=np.uint64)}


def wrapping_by_hand(rng):
    a = np.array([[2**31 - 1, 100, 3, 1, 1], [-(2**31), -1, 1, 1, 1]], dtype=np.int32)
    b = np.array([[200, 57, 0, 0, 0], [255, 1, 1, 1, 1]], dtype=np.uint8)
    c = np.array([[-128, 127, 64, 2, 1], [-1, 2, 4, 64, 1]], dtype=np.int8)
    d = np.array([[2**64 - 1, 8, 0, 0, 0], [0, 0, 0, 0, 0]], dtype=np.uint64)
    yield "by_hand", [{"a": a, "b": b, "c": c, "d": d}]


def cast_inputs(rng, m, n):
    return {"x": normal(rng, m, n) * 300, "h": normal(rng, m, n, dtype=bf16), "w": normal(rng, n, 24)}


def prepared_inputs(rng, m):
    return {"tokens": rng.integers(0, 96, (m,)), "x": normal(rng, m, 64), "small": normal(rng, m, 40).astype(bf16)}


def grouped_inputs(rng, m):
    return {
        "x": normal(rng, m, 256).astype(bf16),
        "q": normal(rng, 72, 2, 128).astype(ml_dtypes.float8_e4m3fn),
        "scale": np.exp2(rng.integers(-6, -2, (2, 1, 72))).astype(bf16),  # tensor cores take weights in bf16
    }


def prepared_constants(rng):
    own = {f"layers.{index}.own": normal(rng, 64, 48) / 8 for index in range(3)}
    return own | {
        "table": normal(rng, 96, 32),
        "narrow": normal(rng, 120, 40).astype(bf16),
        "bias": normal(rng, 120).astype(bf16),
        "lift": normal(rng, 64, 160),
        "scale": normal(rng, 160),
        "common": normal(rng, 48, 64) / 8,
    }


def running_cases(rng):
    yield "three_calls", [{"x": normal(rng, 5, 7)} for _ in range(3)]
    yield "sizes_change", [{"x": normal(rng, m, n)} for m, n in ((8, 16), (3, 16), (0, 4), (8, 5), (8, 16))]


def update_cases(rng):
    steps = [(5, 0), (5, 1), (5, 60), (32, 7), (1, 8)]
    yield "five_calls", [{"rows": normal(rng, 2, n), "position": position(start)} for n, start in steps]


def regrouped_cases(rng):
    def call(batch, length, start):
        return {
            "x": normal(rng, batch, length, 24) / 4,
            "wq": normal(rng, 24, 21) / 4,
            "wv": normal(rng, 24, 32) / 4,
            "wo": normal(rng, 21, 5) / 4,
            "bias": normal(rng, 21),
            "of_channel": normal(rng, 7),
            "of_head": normal(rng, 3, 1),
            "heads": normal(rng, batch, length, 3, 7),
            "image": normal(rng, batch, 5, 6, 4) / 4,
            "filters": normal(rng, 3, 3, 4, 20) / 4,
            "of_place": normal(rng, 30, 1),
            "position": position(start),
        }

    for batch, length in [(1, 1), (3, 7), (4, 32), (2, 13), (0, 3), (3, 0)]:
        yield f"{batch}x{length}", [call(batch, length, 0), call(batch, length, length), call(batch, length, 20)]


def update_value_cases(rng):
    for n, start in [(1, 0), (5, 1), (32, 7), (3, 14)]:
        inputs = {"x": normal(rng, 16, n), "rows": normal(rng, 2, n), "position": position(start)}
        yield f"{n}_columns_at_{start}", [inputs]


def in_place_cases(rng):
    def call(batch, length, width, start):
        return {
            "x": normal(rng, batch, length, 12) / 4,
            "w": normal(rng, 12, width) / 4,
            "v": normal(rng, width, 12) / 4,
            "bias": normal(rng, width),
            "row": normal(rng, batch, 1, width),
            "position": position(start),
        }

    for shape in [(1, 1, 1), (3, 2, 5), (4, 9, 32), (2, 7, 17), (0, 3, 4), (3, 0, 4)]:
        yield "x".join(map(str, shape)), [call(*shape, 0), call(*shape, 23), call(*shape, 4)]


def written_view_cases(rng):
    def call(m, n, start):
        return {
            "x": normal(rng, m, 12) / 4,
            "w": normal(rng, 12, n),
            "row": normal(rng, 1, 6),
            "position": position(start),
        }

    for m, n in [(1, 1), (5, 33), (64, 64), (17, 8), (3, 0)]:
        yield f"{m}x{n}", [call(m, n, 0), call(m, n, 60), call(m, n, 4)]
    yield "0x3", [call(0, 3, 2)]


def batched_inputs(rng, b, s):
    return {
        "x": normal(rng, b, s, 37),
        "w": normal(rng, 37, 20),
        "residual": normal(rng, b, s, 20),
        "factor": np.array(rng.standard_normal(), dtype=np.float32),
    }


def spelled_inputs(rng, s, t):
    return {
        "x": normal(rng, s, 70000) * 3,
        "gain": normal(rng, 70000),
        "shift": normal(rng, 70000),
        "q": normal(rng, s, 16),
        "k": normal(rng, t, 16),
        "v": normal(rng, t, 16),
        "bias": normal(rng, s, t),
        "queries": normal(rng, 2, s, 3, 8),
        "keys": normal(rng, 2, t, 3, 8),
        "values": normal(rng, 2, t, 3, 8),
    }


def attention_inputs(rng, b, s, t):
    return {"q": normal(rng, b, s, 6, 20), "k": normal(rng, b, t, 2, 20), "v": normal(rng, b, t, 2, 20)}


def masked_inputs(rng, b, s, t):
    mask = np.where(rng.random((b, 4, s, t)) < 0.4, -np.inf, rng.standard_normal((b, 4, s, t))).astype(bf16)
    mask[..., 0] = 0  # no row is masked whole
    heads = {"q": (b, s, 4, 24), "k": (b, t, 4, 24), "v": (b, t, 4, 24)}
    return {name: normal(rng, *shape, dtype=bf16) for name, shape in heads.items()} | {"mask": mask}


def siblings_inputs(rng, m, w):
    return {
        "x": normal(rng, m, 48),
        "z": normal(rng, m, 48),
        "w1": normal(rng, 48, 33) / 7,
        "w2": normal(rng, 48, 33) / 7,
        "w3": normal(rng, 48, w),
        "narrow": normal(rng, 48, 33, dtype=bf16),
    }


def convolutions_inputs(rng, n, h, w):
    shapes = {
        "x": (n, h, w, 12),
        "channels_first": (n, 12, h, w),
        "filters": (3, 3, 12, 20),
        "grouped_filters": (3, 2, 4, 15),
        "depthwise_filters": (3, 3, 1, 12),
        "torch_filters": (20, 12, 3, 3),
        "line_filters": (5, 12, 7),
        "bias": (20,),
    }
    return {name: normal(rng, *shape) for name, shape in shapes.items()}


def sums_inputs(rng, a, b, c):
    counts = rng.integers(-1000, 1000, (a, c), dtype=np.int32)
    return {"x": 1 + normal(rng, a, b, c), "counts": counts, "low": 1 + normal(rng, a, c, dtype=bf16)}


def sums_special(rng):
    inputs = sums_inputs(rng, 3, 4, 50)
    with_specials(inputs["x"], rng)
    yield "specials", [inputs]


def pooling_inputs(rng, n, h, c):
    return {
        "x": normal(rng, n, h, 9, c), "first": normal(rng, n, c, 8, 7), "low": normal(rng, n, h, 9, c, dtype=bf16),
        "bytes": rng.integers(0, 256, (n, h, 9, c), dtype=np.uint8), "bias": normal(rng, c),
    }  # fmt: skip


def triangle_inputs(rng, b, s):
    return {
        "scores": normal(rng, b, s, s), "low": normal(rng, s, 40, dtype=bf16), "flags": rng.random((b, s)) < 0.7,
        "labels": rng.integers(-23, 23, (b, s)), "gains": normal(rng, s, 21),
        "codes": rng.integers(-12, 12, b, dtype=np.int32),
    }  # fmt: skip


def batched_product_inputs(rng, b, s, t):
    heads = {"q": (bf16, b, s, 6, 20), "keys": (bf16, b, t, 2, 20), "values": (bf16, b, t, 2, 33), "mask": ("f4", b, 1, 1, s, t)}
    others = {"maps": ("f8", 5, 7), "points": ("f8", b, 3, 7, s), "lines": ("f4", 6, s, 1, 9), "columns": ("f4", t, 9, 1)}
    return {name: normal(rng, *shape, dtype=dtype) for name, (dtype, *shape) in (heads | others).items()}


def grouped_product_inputs(rng, t):
    scores = rng.permuted(np.tile(np.arange(6, dtype=np.float32) / 2, (t, 1)), axis=1)  # no two alike
    scores[: t // 3] = np.arange(6)  # so that an expert may be left without tokens
    matrices = {name: normal(rng, *shape) / 8 for name, shape in {"up": (6, 40, 24), "gate": (6, 40, 24), "down": (6, 24, 40)}.items()}
    return {"x": normal(rng, t, 40), "scores": scores} | {name: value.astype(np.float32) for name, value in matrices.items()}


def block_scale_inputs(rng, m):
    def codes(*shape):
        return normal(rng, *shape).astype(ml_dtypes.float8_e4m3fn)

    def scales(*shape):
        return np.exp2(normal(rng, *shape)).astype(np.float32) / 8

    return {
        "x": codes(m, 384), "x_scale": scales(m, 3), "w": codes(256, 384), "w_scale": scales(2, 3),
        "columns": codes(384, 72), "column_scale": scales(3, 72), "bias": normal(rng, 72),
        "batch": codes(m, 2, 200), "batch_scale": scales(m, 2, 2), "part": codes(200, 140), "part_scale": scales(2, 3),
        "tiles": rng.integers(-128, 128, (m, 17), dtype=np.int8), "tile_scale": scales((m + 2) // 3, 4),
    }  # fmt: skip


def frames_inputs(rng, m, n):
    counts = rng.integers(-128, 128, (m, n), dtype=np.int8)
    return {"x": normal(rng, m, n), "counts": counts, "flags": rng.random(n) < 0.5}


def extreme_inputs(rng, b, m, n):
    return {
        "x": rng.integers(-50, 50, (b, m, n)).astype(np.float32),  # with many equals
        "bias": rng.integers(-5, 5, n).astype(np.float32),
        "counts": rng.integers(-9, 9, (b, m, n), dtype=np.int32),
    }


def extreme_special(rng):
    inputs = extreme_inputs(rng, 3, 5, 300)
    x, counts = inputs["x"], inputs["counts"]
    x[0, 0], x[0, 1] = -np.inf, np.inf
    x[0, 2, 7], x[0, 2, 250:] = np.nan, np.nan
    x[0, 3, 8:], x[0, 4, 299] = -np.inf, np.inf
    x[1, :, 3] = [np.inf, np.nan, -np.inf, np.nan, 0]
    counts[0] = np.iinfo(np.int32).min
    counts[1:] = np.iinfo(np.int32).max
    yield "specials", [inputs]


def gather_inputs(rng, t, m, n):
    columns = rng.integers(-n, n, (m, 5), dtype=np.int32)
    columns[1::3, 2] = n
    columns[2::5, 4] = -n - 1
    tokens = rng.integers(-30, 30, t)
    tokens[3::7] = 1 << 40
    return {
        "tokens": tokens,
        "token": rng.integers(-31, 31, ()),
        "table": normal(rng, 100, 48, dtype=bf16),
        "codes": normal(rng, 30, 48),
        "weight": normal(rng, 48),
        "w": normal(rng, 48, 20),
        "x": normal(rng, m, n),
        "columns": columns,
        "rows": rng.integers(-m - 1, m + 1, (1, n)),
        "flags": rng.random((m, n)) < 0.5,
    }
