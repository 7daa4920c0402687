"""The inputs that each example runs with, and how near its outputs must come to the reference.

EXAMPLES has one row per graph. A case is a label and the inputs of one or more calls of the same loaded model.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

import attention_cases
import bounded_cases
import inputs
import inputs_features
import inputs_gpu_rows
import reference
import reference_features
import reference_gpu_rows
import sampling_cases
import signal_cases
from inputs import Case, Inputs, bf16, normal, over_shapes, joined

# kgen's names of the element types.
DTYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": bf16,
    "f8e4m3": ml_dtypes.float8_e4m3fn,
    "i32": np.int32,
    "i64": np.int64,
    "i8": np.int8,
    "u8": np.uint8,
    "u64": np.uint64,
    "bool": np.bool_,
}

# One rounding to the type costs half of its epsilon; a value on the edge of a rounding may fall to either side.
# Integers and truth values are exact.
TOLERANCES = {"f64": 1e-14, "f32": 5e-6, "f16": 1e-3, "bf16": 4e-3, "f8e4m3": 0.07}


@dataclass
class Example:
    """Errors are compared with tolerance * (|expected| + root mean square of the expected)."""

    cases: Callable[[np.random.Generator], Iterator[Case]]
    outputs: dict[str, str] = field(default_factory=lambda: {"y": "f32"})  # name: dtype
    constants: Callable[[np.random.Generator], Inputs] | None = None
    tolerance: dict[str, float] = field(default_factory=dict)  # by dtype, where it is not that of TOLERANCES


# ---- the table -------------------------------------------------------------------------------------------------------

PLANES = [(1, 1), (3, 5), (17, 33), (64, 128), (0, 7), (7, 0)]
ROWS = [(1,), (2,), (7,), (64,), (0,)]
FEW_ROWS = [(1,), (3,), (40,), (0,)]
PRODUCTS = [(1, 64, 64), (129, 264, 136), (300, 136, 520), (70, 77, 33), (5, 999, 24)]  # M, N, K
# Batches, queries, heads, width of a head, keys, heads of keys. At most as many queries as keys, so that all see one.
ATTENTIONS = [
    (1, 1, 1, 8, 1, 1), (2, 1, 8, 128, 700, 2), (1, 130, 2, 64, 200, 1), (1, 70, 3, 40, 129, 3), (2, 5, 2, 136, 90, 2),
    (1, 9, 2, 21, 9, 1),
]  # fmt: skip


def bf16_tensors(**axes):
    """Tensors of bf16, by name; a letter for each axis."""
    letters = "bshdtg" if any("t" in names for names in axes.values()) else "mnk"

    def make(rng, *sizes):
        extents = dict(zip(letters, sizes, strict=True))
        return {name: normal(rng, *(extents[axis] for axis in names), dtype=bf16) for name, names in axes.items()}

    return make


EXAMPLES = {
    # specs/graphs
    "matmul_bias_relu": Example(over_shapes(inputs.matmul_inputs(512, 512), [(1,), (3,), (64,), (129,)])),
    "conv_bias_relu": Example(
        over_shapes(inputs.image_inputs, [(1, 1, 1), (2, 5, 8), (1, 33, 31), (0, 4, 4), (3, 1, 70)])
    ),
    "grayscale": Example(
        over_shapes(lambda rng, h, w: {"image": rng.random((3, h, w), dtype=np.float32)}, PLANES), {"gray": "f32"}
    ),
    "swish": Example(joined(over_shapes(lambda rng, m, n: {"x": normal(rng, m, n)}, PLANES), inputs.swish_special)),
    "softmax": Example(
        joined(
            over_shapes(inputs.softmax_inputs, [(1, 1, 1), (2, 5, 33), (1, 2, 4096), (0, 4, 4), (2, 0, 5), (2, 3, 0)]),
            inputs.softmax_special,
        ),
        {"probabilities": "f32"},
    ),
    "layer_norm_gelu": Example(
        joined(over_shapes(inputs.layer_norm_inputs, ROWS), inputs.layer_norm_special), tolerance={"f32": 1e-4}
    ),
    "add_rms_norm": Example(
        joined(over_shapes(inputs.add_rms_norm_inputs, ROWS), inputs.add_rms_norm_special), {"h": "f32", "y": "f32"}
    ),
    "swiglu": Example(over_shapes(lambda rng, m: {"gate_up": normal(rng, m, 2752) * 4}, ROWS)),
    "cross_entropy": Example(
        joined(over_shapes(inputs.loss_inputs, [(1,), (3,), (33,), (0,)]), inputs.loss_special), {"loss": "bf16"}
    ),
    "rope": Example(over_shapes(inputs.rope_inputs, [(1, 1, 1), (2, 7, 3), (1, 33, 8), (0, 3, 2), (2, 0, 2)])),
    "llama_block": Example(inputs.llama_block_cases, constants=inputs.llama_block_constants, tolerance={"f32": 1e-5}),
    "llama_tiny": Example(
        inputs.llama_tiny_cases, {"logits": "f32"}, constants=lambda rng: inputs.small_llama_constants(rng, 32),
        tolerance={"f32": 3e-5},
    ),
    "llama_decode": Example(
        inputs.llama_decode_cases, {"logits": "f32"}, constants=lambda rng: inputs.small_llama_constants(rng, 4),
        tolerance={"f32": 1e-5},
    ),
    "paged_decode": Example(
        inputs.paged_decode_cases, constants=inputs.paged_decode_constants, tolerance={"f32": 1e-5},
    ),
    # specs/graphs/custom
    "snake": Example(over_shapes(inputs.snake_inputs, [(1, 1, 1), (3, 5, 33), (2, 8, 1000), (2, 3, 0)])),
    "gated_convolution": Example(
        over_shapes(inputs.convolution_inputs, [(1, 1), (2, 3), (3, 129), (1, 0)]), {"y": "bf16"}
    ),
    "mandelbrot": Example(inputs.mandelbrot_cases, {"steps": "i32", "shade": "f32"}),
    "kernel_choice": Example(
        over_shapes(inputs.choice_inputs, [(1, 1), (16, 16), (7, 300)]),
        {"y_few": "f32", "y_many": "f32", "y_low": "bf16"},
    ),
    "beams": Example(over_shapes(inputs.beam_inputs, [(1,), (7,), (130,)]), {"in_phase": "f32", "power": "f32"}),
    "int8_mlp": Example(over_shapes(inputs.int8_inputs, [(1,), (5,), (64,)])),
    # tests/examples/graphs
    "bf16_matmul_bias_relu": Example(over_shapes(inputs.matmul_inputs(131, 77, bf16), ROWS), {"y": "bf16"}),
    "bf16_match_unfused": Example(
        over_shapes(
            lambda rng, n: {name: normal(rng, *shape, dtype=bf16) for name, shape in (("a", [n]), ("b", [n]), ("w", [1, 9]))},
            [(1,), (1000,), (0,)],
        ),
        {"y": "bf16", "rest": "bf16"},
        tolerance={"bf16": 0.0},
    ),
    "f16_norm_quantize": Example(
        over_shapes(inputs_features.quantize_inputs, ROWS),
        {"h": "f16", "quantized": "f8e4m3", "scale": "f32"},
        tolerance={"f32": 2e-3},  # it follows from a value that was rounded to f16
    ),
    "multi_reduction": Example(
        over_shapes(lambda rng, m, n: {"x": normal(rng, m, n)}, [(1, 1), (5, 33), (3, 4096), (100, 7)]),
        {"y": "f32", "energy": "f32", "high": "f32"},
    ),
    "reduce_axes": Example(
        over_shapes(
            lambda rng, *shape: {"x": 1 + normal(rng, *shape)},  # sums of all elements do not cancel
            [(1, 1, 1, 1), (3, 5, 7, 9), (16, 8, 4, 32), (2, 0, 3, 4), (2, 3, 0, 4), (0, 3, 2, 4)],
        ),
        {name: "f32" for name in ("middle", "second", "leading", "outer", "total", "shifted")},
    ),
    "row_statistics": Example(
        over_shapes(inputs_features.row_statistics_inputs, [(128,), (301,)]),
        {"h": "bf16", "y": "bf16", "greatest": "bf16"},
        tolerance={"bf16": 1e-2},  # h is rounded ahead of the second product, whose sums cancel
    ),
    "row_forms": Example(
        over_shapes(inputs_features.row_form_inputs, [(1, 1), (4, 4), (5, 33), (7, 1), (0, 3)]),
        {f"y_{name}": "f32" for name in ("kept", "full", "dropped", "first", "first_dropped", "middle", "all", "channel")},
    ),
    "long_rows": Example(
        joined(
            over_shapes(lambda rng, m, n: {"x": normal(rng, m, n) * 5}, [(1, 1), (3, 17), (2, 70001), (0, 9)]),
            inputs_features.long_special,
        ),
        {"p": "f32", "normed": "f32"},
    ),
    "spelled_out": Example(
        over_shapes(inputs_features.spelled_inputs, [(1, 1), (2, 5), (7, 33), (0, 3)]),
        {"y": "f32", "p": "f32", "one": "f32", "many": "f32", "several": "f32"},
    ),
    "wide_rows": Example(
        over_shapes(
            lambda rng, m: {"x": normal(rng, m, 20000) * 5, "low": normal(rng, m, 65536, dtype=bf16)}, [(1,), (3,), (0,)]
        ),
        {"p": "f32", "q": "bf16"},
    ),
    "siblings": Example(
        over_shapes(inputs_features.siblings_inputs, [(0, 5), (1, 1), (5, 70), (8, 33), (131, 7)]),
        {name: "f32" for name in ("grown", "squashed", "y", "opened", "difference", "v")},
    ),
    "transposed_view": Example(
        over_shapes(
            lambda rng, m, n: {"x": normal(rng, m, n), "bias": normal(rng, m), "w": normal(rng, 40, m)},
            [(1, 1), (5, 33), (64, 17), (3, 0), (0, 3)],
        ),
        {"y": "f32", "z": "f32"},
    ),
    "view_outputs": Example(
        over_shapes(lambda rng, m, n: {"x": normal(rng, m, n)}, [(1, 2), (5, 33), (16, 64), (0, 3)]),
        {name: "f32" for name in ("x_t", "right", "mirrored", "doubled", "flat", "even", "y")},
    ),
    "strided_input": Example(inputs_features.strided_cases, {"sum": "f32", "totals": "f32", "product": "f32"}),
    "f64_softmax": Example(
        over_shapes(
            lambda rng, m, n: {"x": normal(rng, m, n, dtype=np.float64) * 9, "w": normal(rng, n, 9, dtype=np.float64)},
            [(1, 1), (5, 33), (2, 1000), (0, 4)],
        ),
        {"p": "f64", "y": "f64"},
    ),
    "concat_inputs": Example(
        over_shapes(inputs_features.concat_inputs, [(1, 1, 1), (5, 33, 7), (16, 8, 24), (0, 3, 2), (3, 0, 4), (3, 4, 0)]),
        {"wide": "f32", "tall": "f32", "y": "f32"},
    ),
    "functions_twice": Example(
        over_shapes(lambda rng, m: {"x": normal(rng, m, 32)}, ROWS),
        {"y": "f32", "second": "f32"},
        constants=inputs_features.functions_constants,
    ),
    "constants_at_load": Example(
        over_shapes(lambda rng, m: {"x": normal(rng, m, 50)}, ROWS), constants=lambda rng: {"w": normal(rng, 30, 50)}
    ),
    "prepared_weights": Example(
        over_shapes(inputs_features.prepared_inputs, [(1,), (2,), (5,), (7,), (12,), (40,), (0,)]),
        {"scores": "f32", "mixed": "bf16", "lifted": "f32", "last": "f32"},
        constants=inputs_features.prepared_constants,
    ),
    "integers_bools": Example(
        over_shapes(inputs_features.integer_inputs, PLANES),
        {"above": "bool", "larger": "i32", "both": "bool", "totals": "i64", "halves": "f32", "mixed": "i32"},
    ),
    "integer_bits": Example(
        over_shapes(inputs_features.bit_inputs, PLANES),
        {
            "either": "i32", "packed": "u8", **dict.fromkeys(("lowered", "raised", "quotient", "floored", "rest"), "i32"),
            **dict.fromkeys(("short_rest", "side", "limited"), "i64"),
        },
    ),  # fmt: skip
    "elementary_functions": Example(
        over_shapes(inputs_features.function_inputs, PLANES),
        {
            **dict.fromkeys(("same", "magnitude", "up", "down", "angle", "whole", "steep", "cut"), "f32"),
            "lost": "bool", "endless": "bool", "natural": "bf16", "decimal": "bf16", "grown": "bf16", "sound": "bool",
        },
    ),  # fmt: skip
    "imported_layers": Example(
        over_shapes(inputs_features.layer_inputs, [(1,), (3,), (0,)]),
        {**dict.fromkeys(("swished", "soft", "chances", "total", "back", "step"), "f32"), "offset": "u8"},
    ),
    "grouped_weights": Example(
        over_shapes(inputs_features.grouped_inputs, [(1,), (5,), (16,), (40,), (0,)]), {"y": "bf16"}
    ),
    "wrapping": Example(
        joined(over_shapes(inputs_features.wrapping_inputs, PLANES), inputs_features.wrapping_by_hand),
        {
            "positive": "bool", "below": "bool", "larger": "u8", "wide_squared": "i32", "small_f32": "f32", "grew": "bool",
            "wide_lower": "i64", "huge_wrapped": "bool",
        },
    ),  # fmt: skip
    "wide_integers": Example(
        over_shapes(inputs_features.wide_inputs, ROWS),
        {"shifted": "i64", "larger": "i64", "added": "i64", "lowest": "i64", "rest": "u64", "fits": "bool"},
    ),
    **dict.fromkeys(
        ("casts", "casts_match_unfused"),
        Example(
            over_shapes(inputs_features.cast_inputs, PLANES),
            {"quantised": "f8e4m3", "lost": "f32", "total": "f32", "tripled": "f32", "product": "f32", "nothing": "f32"},
            tolerance={"f8e4m3": 0.0},
        ),
    ),
    "running_state": Example(inputs_features.running_cases, {"total_next": "f32", "change": "f32"}),
    "update_state": Example(
        inputs_features.update_cases, {name: "f32" for name in ("totals", "grown", "lost", "log_negated")}
    ),
    "regrouped": Example(inputs_features.regrouped_cases, {name: "f32" for name in ("totals", "y", "z", "t")}),
    "update_values": Example(inputs_features.update_value_cases, {name: "f32" for name in ("y", "both", "whole", "replaced")}),
    "kernels_in_place": Example(
        inputs_features.in_place_cases, {name: "f32" for name in ("twice", "below", "totals", "beside", "pair")}
    ),
    "written_views": Example(
        inputs_features.written_view_cases,
        {name: "f32" for name in ("turned", "mirrored", "crossed", "spread", "heads", "column", "below")}
        | {"peak_mirrored": "f32", "shifted": "f32"},
        tolerance={"f32": 2e-5},  # e to the power of a sum
    ),
    "function_broadcasts": Example(
        over_shapes(
            lambda rng, b, s: {"x": normal(rng, b, 4, s, s), "mask": normal(rng, b, 1, 1, s), "gain": normal(rng, s)},
            [(1, 1), (3, 5), (8, 32), (0, 3), (2, 0)],
        )
    ),
    "batched_prologue": Example(over_shapes(inputs_features.batched_inputs, [(1, 1), (3, 7), (4, 64), (0, 3), (2, 0)])),
    "attention_plain": Example(
        over_shapes(inputs_features.attention_inputs, [(1, 1, 1), (2, 7, 33), (1, 100, 128), (0, 2, 3), (2, 0, 3)])
    ),
    "attention_masked": Example(
        over_shapes(inputs_features.masked_inputs, [(1, 1, 1), (2, 7, 33), (1, 65, 128)]), {"y": "bf16"}
    ),
    "index_of_extremes": Example(
        joined(
            over_shapes(
                inputs_features.extreme_inputs,
                [(1, 1, 1), (3, 5, 7), (2, 3, 70001), (1, 40, 1030), (2, 3, 0), (2, 0, 3), (0, 3, 2)],
            ),
            inputs_features.extreme_special,
        ),
        {"best": "i64", "greatest": "f32", "lowest": "i64", "first": "i64", "narrow": "i32"},
    ),
    "gathers": Example(
        over_shapes(inputs_features.gather_inputs, [(1, 1, 1), (7, 5, 33), (64, 100, 70), (0, 3, 9), (9, 0, 3)]),
        {"embedded": "bf16", "one": "f32", "normed": "f32", "product": "f32", "shares": "f32", "crossed": "f32", "greatest": "f32"}
        | {"also_chosen": "f32", "grown_sum": "f32", "set": "bool", "front": "f32"},
    ),
    # tests/bench/gpu
    "matmul_bf16": Example(over_shapes(bf16_tensors(x="mk", w="kn"), PRODUCTS), {"y": "bf16"}),
    "matmul_transposed_bf16": Example(over_shapes(bf16_tensors(x="mk", w="nk"), PRODUCTS), {"y": "bf16"}),
    "matmul_bias_relu_bf16": Example(over_shapes(bf16_tensors(A="mk", B="kn", bias="n"), PRODUCTS), {"y": "bf16"}),
    "matmul_bias_gelu_residual_bf16": Example(
        over_shapes(bf16_tensors(x="mk", w="kn", bias="n", residual="mn"), PRODUCTS), {"y": "bf16"}
    ),
    "matmul_swiglu_bf16": Example(over_shapes(bf16_tensors(x="mk", w1="kn", w3="kn"), PRODUCTS), {"y": "bf16"}),
    "attention_bf16": Example(
        over_shapes(bf16_tensors(q="bshd", k="btgd", v="btgd"), ATTENTIONS), {"y": "bf16"},
        tolerance={"bf16": 1.2e-2},  # weights are rounded to bf16, and their sums cancel
    ),
    "attention_causal_bf16": Example(
        over_shapes(bf16_tensors(q="bshd", k="btgd", v="btgd"), ATTENTIONS), {"y": "bf16"},
        tolerance={"bf16": 1.2e-2},  # weights are rounded to bf16, and their sums cancel
    ),
    "silu_bf16": Example(over_shapes(inputs_gpu_rows.bf16_inputs("x", width=8192), FEW_ROWS), {"y": "bf16"}),
    "bias_gelu_residual_bf16": Example(
        over_shapes(inputs_gpu_rows.bf16_inputs("x", "bias", "residual", width=4096, vectors=["bias"]), FEW_ROWS), {"y": "bf16"}
    ),
    "rms_norm_bf16": Example(
        over_shapes(inputs_gpu_rows.bf16_inputs("x", "weight", width=4096, vectors=["weight"]), FEW_ROWS), {"y": "bf16"}
    ),
    "add_rms_norm_bf16": Example(
        over_shapes(inputs_gpu_rows.bf16_inputs("x", "residual", "weight", width=4096, vectors=["weight"]), FEW_ROWS),
        {"h": "bf16", "y": "bf16"},
    ),
    "swiglu_bf16": Example(over_shapes(inputs_gpu_rows.bf16_inputs("gate", "up", width=14336), FEW_ROWS), {"y": "bf16"}),
    "sum_f32": Example(
        over_shapes(lambda rng, n: {"x": 1 + normal(rng, n)}, [(1,), (1000,), (1_000_003,), (0,)]), {"y": "f32"}
    ),
    "layer_norm_gelu_bf16": Example(
        over_shapes(inputs_gpu_rows.bf16_inputs("x", "weight", "bias", width=4096, vectors=["weight", "bias"]), FEW_ROWS),
        {"y": "bf16"},
    ),
    "softmax_bf16": Example(
        over_shapes(
            inputs_gpu_rows.bf16_softmax_inputs, [(1, 1, 4096), (2, 5, 4096), (1, 40, 4096), (0, 4, 4096), (2, 0, 4096)]
        ),
        {"p": "bf16"},
    ),
    "rope_bf16": Example(
        over_shapes(inputs_gpu_rows.bf16_rope_inputs, [(1,), (7,), (33,), (0,)]), {"y": "bf16"}
    ),
    "rms_norm_quantize_bf16": Example(
        over_shapes(inputs_gpu_rows.bf16_inputs("x", "weight", width=4096, vectors=["weight"]), FEW_ROWS),
        {"quantized": "f8e4m3", "scale": "f32"},
    ),
    "transpose_bias_relu_bf16": Example(
        over_shapes(
            lambda rng, m, n: {"x": normal(rng, m, n, dtype=bf16), "bias": normal(rng, m, dtype=bf16)},
            # Every other case is aligned. The fifth has whole tiles, which a GPU then reads in vectors.
            [(1, 1), (5, 33), (64, 128), (130, 264), (136, 272), (0, 3), (3, 0)],
        ),
        {"y": "bf16"},
    ),
    "cross_entropy_bf16": Example(over_shapes(inputs_gpu_rows.cross_entropy_inputs, FEW_ROWS), {"loss": "bf16"}),
    "convolutions": Example(
        over_shapes(inputs_features.convolutions_inputs, [(1, 3, 3), (2, 5, 8), (1, 33, 31), (0, 4, 4), (3, 3, 64)]),
        {name: "f32" for name in ("y", "grouped", "depthwise", "as_torch", "waves")},
    ),
    "running_sums": Example(
        joined(
            over_shapes(inputs_features.sums_inputs, [(1, 1, 1), (3, 5, 33), (2, 1, 70001), (2, 300, 4), (0, 3, 4)]),
            inputs_features.sums_special,
        ),
        {"last": "f32", "middle": "f32", "first": "f32", "left": "i32", "rounded": "bf16", "across": "f32"},
        tolerance={"f32": 2e-5},  # sums of many
    ),
    "pooling": Example(
        over_shapes(inputs_features.pooling_inputs, [(1, 3, 1), (2, 5, 7), (3, 33, 40), (0, 4, 2), (2, 4, 0)]),
        {"greatest": "f32", "channels_first": "f32", "scaled": "f32", "whole": "bf16", "brightest": "u8"},
    ),
    "resampling": Example(
        over_shapes(sampling_cases.resampling_inputs, [(1, 1, 1), (2, 5, 7), (1, 33, 40), (0, 4, 2), (2, 4, 0)]),
        {
            "nearest": "f32", "linear": "f32", "corners": "bf16", "cubic": "f32", "small": "f32", "picked": "u8", "wider": "f32", "bent": "f32",
            "mirrored": "f32",
        },
        tolerance={"f32": 2e-5},  # places among 40 are rounded before they are taken apart
    ),  # fmt: skip
    "signals": Example(
        over_shapes(signal_cases.signal_inputs, [(1, 2), (2, 5), (3, 33), (1, 300), (0, 4)]),
        {
            "halved": "f32", "filled": "f64", "turned": "bf16", "moments": "f32", "areas": "f32", "bent": "f64",
            "factors": "f32", "pivots": "i64",
        },
        tolerance={"f32": 2e-5, "f64": 1e-13, "bf16": 1e-2},  # sums of many, in bf16 of waves that were rounded
    ),  # fmt: skip
    "image_regions": Example(
        over_shapes(signal_cases.region_inputs, [(1, 1, 1, 1), (2, 7, 5, 9), (4, 33, 40, 50), (1, 4, 0, 3), (2, 4, 2, 0)]),
        {
            "positive": "f32", "greatest": "bf16", "doubled": "f32", "sampled": "f32", "sums": "i32", "real": "f32", "apart": "i32",
        },
    ),  # fmt: skip
    "recurrent": Example(
        over_shapes(sampling_cases.recurrent_inputs, [(1, 1), (5, 3), (3, 40), (17, 9), (0, 2), (4, 0)]),
        dict.fromkeys(
            ["states", "last_h", "last_c", "backwards", "first_h", "first_c", "gated", "gated_h", "linear", "linear_h", "plain", "plain_h"],
            "f32"),
    ),  # fmt: skip
    "triangles": Example(
        over_shapes(inputs_features.triangle_inputs, [(1, 1), (2, 5), (3, 33), (2, 70), (0, 4), (2, 0)]),
        {
            "after": "f32", "halved": "f32", "band": "bf16", "corner": "bool", "across": "f32", "places": "bool",
            "chosen": "f32", "numbers": "f32",
        },
    ),  # fmt: skip
    "bounded_results": Example(
        over_shapes(bounded_cases.bounded_inputs, [(1, 1), (3, 2), (7, 33), (40, 64), (0, 5)]),
        dict.fromkeys(["places", "place_count"], "i64") | {"turned": "bf16", "kept_count": "i64", "values": "f32"}
        | dict.fromkeys(["first", "inverse", "repeats", "value_count"], "i64") | {"found": "i32"}
        | dict.fromkeys(["found_first", "found_inverse", "found_repeats", "found_count"], "i64") | {"rows": "i32"}
        | dict.fromkeys(["row_first", "row_inverse", "row_repeats", "row_count", "selected", "selected_count", "bins"], "i64")
        | {"ramp": "f32", "shifted": "f32", "wide": "i64", "doubled": "f32", "pooled": "f32"},
    ),  # fmt: skip
    "attention_kinds": Example(
        over_shapes(attention_cases.kinds_inputs, [(1, 1, 1), (2, 7, 33), (1, 100, 128), (2, 40, 9), (0, 2, 3), (2, 0, 3)]),
        {"masked": "f32", "positive": "f32", "biased": "f32", "widened": "f32", "rounded": "bf16", "cached": "bf16"},
    ),
    "random_numbers": Example(
        attention_cases.chance_cases,
        {"shifted": "f32", "noisy": "f32", "kept": "bool", "precise": "f64", "fixed": "f32", "greatest": "f32"},
    ),
    "channels_first": Example(
        over_shapes(attention_cases.channels_first_inputs, [(1, 3), (2, 8), (3, 33), (0, 4)]),
        {"positive": "f32", "second": "f32", "bent": "f32"},
    ),
    "contractions": Example(
        over_shapes(bounded_cases.contraction_inputs, [(1, 1), (3, 2), (7, 33), (40, 64), (0, 5)]),
        {
            "positive": "f32", "turned": "f32", "products": "bf16", "middle": "f32", "trace": "f32", "diagonals": "f32",
            "counts": "i32", "dot": "f32", "three": "f32", "outer": "f32", "same": "f32",
        },
    ),  # fmt: skip
    "batched_products": Example(
        over_shapes(
            inputs_features.batched_product_inputs,
            [(1, 1, 1), (2, 1, 37), (2, 5, 3), (1, 33, 70), (3, 100, 65), (0, 2, 3), (2, 0, 3), (2, 3, 0)],
        ),
        {"weights": "f32", "by_position": "f32", "positive": "f64", "dots": "f32", "zeros": "f64"},
    ),
    "grouped_products": Example(over_shapes(inputs_features.grouped_product_inputs, [(1,), (2,), (7,), (64,), (0,)])),
    "block_scales": Example(
        over_shapes(inputs_features.block_scale_inputs, [(1,), (5,), (64,), (129,), (0,)]),
        {"y": "bf16", "biased": "f32", "parts": "f32", "tiled": "f32"},
        tolerance={"f32": 1e-3},  # tensor cores keep 13 bits of sums of 128
    ),
    "frames": Example(
        over_shapes(inputs_features.frames_inputs, [(1, 1), (2, 5), (33, 70), (64, 512)]),
        {"doubled": "f32", "held": "i8", "mirrored": "f32", "guarded": "bool", "same": "f32"},
    ),
    "forbid_force": Example(
        over_shapes(lambda rng, m, n: {"x": normal(rng, m, n), "bias": normal(rng, n)}, PLANES),
    ),
}


def reference_of(name: str) -> Callable[..., list[np.ndarray]]:
    """What computes the graph, as reference.py says."""
    modules = (reference, reference_features, reference_gpu_rows, sampling_cases, bounded_cases, attention_cases, signal_cases)
    return next(getattr(each, name) for each in modules if hasattr(each, name))


assert all(map(reference_of, EXAMPLES))
