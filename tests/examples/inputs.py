"""What the graphs of specs/graphs are given: functions of a random generator, which make the inputs of a case, or
whole cases.

Those of tests/examples/graphs are in inputs_features.py, the benchmark's in inputs_gpu_rows.py.
"""

import itertools
from collections.abc import Iterator

import ml_dtypes
import numpy as np

bf16 = ml_dtypes.bfloat16
f8e4m3 = ml_dtypes.float8_e4m3fn
Inputs = dict[str, np.ndarray]
Case = tuple[str, list[Inputs]]  # a label and the inputs of one or more calls of the same loaded model


def normal(rng, *shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def with_specials(array, rng):
    """NaN and both infinities in a few places; the rest of the array must not notice."""
    flat = array.reshape(-1)
    for value in (np.nan, np.inf, -np.inf):
        if flat.size:
            flat[rng.integers(flat.size)] = value
    return array


def position(value):
    return np.array(value, dtype=np.int64)


def over_shapes(make, shapes):
    """A case per shape, from make(rng, *shape) -> Inputs."""

    def cases(rng):
        for shape in shapes:
            yield "x".join(map(str, shape)), [make(rng, *shape)]

    return cases


def joined(*makers):
    return lambda rng: itertools.chain.from_iterable(make(rng) for make in makers)


def matmul_inputs(k, n, dtype=np.float32):
    def make(rng, m):
        return {
            "A": normal(rng, m, k, dtype=dtype),
            "B": normal(rng, k, n, dtype=dtype),
            "bias": normal(rng, n, dtype=dtype),
        }

    return make


def swish_special(rng):
    yield "specials", [{"x": with_specials(normal(rng, 5, 67) * 30, rng)}]


def softmax_inputs(rng, b, s, t):
    mask = np.where(rng.random((s, t)) < 0.3, -np.inf, 0).astype(np.float32)
    if t:
        mask[:, 0] = 0  # no row is masked whole
    return {"scores": normal(rng, b, s, t) * 20, "mask": mask}


def softmax_special(rng):
    inputs = softmax_inputs(rng, 2, 6, 33)
    inputs["scores"][0, 0, 3] = np.nan
    inputs["scores"][1, 2, 5] = np.inf
    inputs["scores"][0, 1] = -np.inf
    inputs["mask"][4] = -np.inf  # a row without anything to attend to: NaN, as in NumPy and PyTorch
    yield "specials", [inputs]


def layer_norm_inputs(rng, m):
    return {"x": normal(rng, m, 768) * 3 + 1, "weight": normal(rng, 768), "bias": normal(rng, 768)}


def layer_norm_special(rng):
    inputs = layer_norm_inputs(rng, 9)
    inputs["x"][2, 7] = np.nan
    inputs["x"][4, 767] = np.inf
    inputs["x"][6] = 5  # no variance
    yield "specials", [inputs]
    inputs = layer_norm_inputs(rng, 3)
    inputs["x"] += 1000  # the mean far from zero: a variance from the mean of squares would lose its digits
    yield "far_from_zero", [inputs]


def add_rms_norm_inputs(rng, m):
    return {"x": normal(rng, m, 1024), "residual": normal(rng, m, 1024), "weight": normal(rng, 1024)}


def add_rms_norm_special(rng):
    inputs = add_rms_norm_inputs(rng, 6)
    inputs["x"][1, 3] = np.nan
    inputs["residual"][3, 1023] = np.inf
    inputs["x"][5], inputs["residual"][5] = 0, 0
    yield "specials", [inputs]


def angle_tables(positions, width):
    angles = np.arange(positions)[:, None] * 10000.0 ** (-(np.arange(width) % (width // 2)) / (width // 2))
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def loss_inputs(rng, n):
    target = rng.integers(0, 32768, n)
    target[rng.random(n) < 0.2] = -100
    return {"logits": normal(rng, n, 32768, dtype=bf16) * bf16(4), "target": target}


def loss_special(rng):
    inputs = loss_inputs(rng, 9)
    logits, target = inputs["logits"], inputs["target"]
    target[:] = rng.integers(0, 32768, 9)
    logits[0, 17], logits[1, 32767], logits[2, :5000], logits[3] = np.nan, np.inf, -np.inf, -np.inf
    logits[4, target[4]] = -np.inf  # the right class is impossible
    logits[5] = 300  # each is as likely as the others
    target[6], target[7], target[8] = 32768, -1, -32769  # no class, the last one, no class
    yield "specials", [inputs]


def rope_inputs(rng, b, s, h):
    cos, sin = (table[:, :32].copy() for table in angle_tables(s, 64))
    return {"x": normal(rng, b, s, h, 64), "cos": cos, "sin": sin}


def layer_weights(rng, prefix, width, query_width, key_width, hidden):
    shapes = {
        "wq": (width, query_width),
        "wk": (width, key_width),
        "wv": (width, key_width),
        "wo": (query_width, width),
        "w_gate": (width, hidden),
        "w_up": (width, hidden),
        "w_down": (hidden, width),
    }
    weights = {prefix + name: normal(rng, *shape) / np.float32(shape[0] ** 0.5) for name, shape in shapes.items()}
    for name in ("attention_norm", "mlp_norm"):
        weights[prefix + name] = 1 + normal(rng, width) / 10
    return weights


def llama_block_constants(rng):
    weights = layer_weights(rng, "", 512, 512, 256, 1376)
    weights["cos"], weights["sin"] = angle_tables(1024, 64)
    return weights


def small_llama_constants(rng, layers):
    weights = {"final_norm": 1 + normal(rng, 64) / 10, "lm_head": normal(rng, 64, 256) / 8}
    for layer in range(layers):
        weights |= layer_weights(rng, f"layers.{layer}.", 64, 64, 32, 176)
    weights["cos"], weights["sin"] = angle_tables(256, 16)
    return weights


def conversation(rng, width, calls):
    """One call of a model with a KV cache for each (batch, tokens), the positions following from the tokens."""
    steps, start = [], 0
    for batch, tokens in calls:
        steps.append({"x": normal(rng, batch, tokens, width), "position": position(start)})
        start += tokens
    return steps


def llama_block_cases(rng):
    yield "prefill_then_decode", conversation(rng, 512, [(2, 7), (2, 1), (2, 1), (2, 3), (2, 1)])
    yield "batch_shrinks", conversation(rng, 512, [(3, 2), (3, 1), (1, 1), (1, 4)])
    yield "one_token", conversation(rng, 512, [(1, 1), (1, 1)])
    yield "long", conversation(rng, 512, [(1, 129), (1, 1)])
    yield "end_of_cache", [{"x": normal(rng, 8, 4, 512), "position": position(1020)}]


def conversations(rng, width, prompts, decoded):
    """Prompts of these lengths side by side, behind rows of -1 where they are shorter, and so many tokens of each."""
    lengths, most = np.array(prompts), max(prompts)
    steps = [{"x": normal(rng, len(prompts), most, width),
              "positions": np.maximum(np.arange(most) - (most - lengths[:, None]), -1)}]
    for i in range(decoded):
        steps.append({"x": normal(rng, len(prompts), 1, width), "positions": lengths[:, None] + i})
    return steps


def llama_decode_cases(rng):
    yield "lengths_of_their_own", conversations(rng, 64, [5, 1, 70], 64)
    batch = conversations(rng, 64, [1 + 7 * b % 31 for b in range(16)], 3)
    batch[2]["positions"][3:5] = -1  # sequences that rest, after which the others go on
    batch[3]["positions"][3:5] -= 1
    yield "batch_of_16", batch
    yield "end_of_cache", [{"x": normal(rng, 2, 4, 64), "positions": np.arange(4) + np.array([[252], [0]])}]
    yield "largest_batch", conversations(rng, 64, [1] * 64, 2)


def paged_decode_constants(rng):
    weights = layer_weights(rng, "", 64, 64, 32, 176)
    weights["cos"], weights["sin"] = angle_tables(512, 16)
    return {name: weights[name] for name in ("attention_norm", "wq", "wk", "wv", "wo", "cos", "sin")}


def in_pages(rng, steps, pages):
    """The steps with tables of so many pages of 16 slots, which lie anywhere: those that a sequence has need of by then,
    and behind them what names no page."""
    own = rng.permutation(256)[: len(steps[0]["x"]) * pages].reshape(-1, pages)
    for step in steps:
        needed = (step["positions"].max(axis=1, keepdims=True) + 16) // 16
        table = np.where(np.arange(pages) < needed, own, np.where(own % 2, -1, 256 + own))
        yield step | {"block_table": table.astype(np.int32)}


def paged_decode_cases(rng):
    yield "lengths_of_their_own", list(in_pages(rng, conversations(rng, 64, [5, 1, 70], 20), 6))
    prompt, *tokens = in_pages(rng, conversations(rng, 64, [48, 48], 2), 4)
    first = {name: each[:1] for name, each in prompt.items()}
    shared = prompt["block_table"][:1, :3]  # the other sequence has the same beginning
    for step in tokens:
        step["block_table"] = np.concatenate([np.repeat(shared, 2, 0), step["block_table"][:, 3:]], 1)
    yield "shared_pages", [first, *tokens]
    rest = list(in_pages(rng, conversations(rng, 64, [33, 20, 9], 3), 3))
    rest[2]["positions"] = np.array([[34], [-1], [10]])  # a sequence that rests, after which it goes on
    rest[3]["positions"] = np.array([[35], [21], [11]])
    yield "rest", rest
    yield "largest", list(in_pages(rng, conversations(rng, 64, [128], 1), 32))


def llama_tiny_cases(rng):
    yield "prefill_then_decode", conversation(rng, 64, [(2, 7), (2, 1), (2, 1), (2, 3), (2, 1)])
    yield "largest", conversation(rng, 64, [(4, 128), (4, 127), (4, 1)])
    yield "one_token", conversation(rng, 64, [(1, 1)])


def beam_inputs(rng, s):
    return {
        "signal_real": normal(rng, s, 48),
        "signal_imaginary": normal(rng, s, 48),
        "window": normal(rng, 48),
        "steering_real": normal(rng, 48, 20),
        "steering_imaginary": normal(rng, 48, 20),
        "offset": normal(rng, 20),
    }


def int8_inputs(rng, m):
    return {
        "x": normal(rng, m, 48),
        "w_gate": rng.integers(-128, 128, (48, 40), dtype=np.int8),
        "w_up": rng.integers(-128, 128, (48, 40), dtype=np.int8),
        "gate_scale": normal(rng, 40) / 500,
        "up_scale": normal(rng, 40) / 500,
    }


def snake_inputs(rng, b, c, l):
    return {
        "x": normal(rng, b, c, l) * 3,
        "bias": normal(rng, c, 1),
        "alpha": (0.5 + rng.random((c, 1))).astype(np.float32),
        "gain": normal(rng, c, 1),
    }


def convolution_inputs(rng, b, l):
    shapes = {"x": (b, l, 96), "gate": (b, l, 96), "weight": (4, 96), "bias": (96,)}
    return {name: normal(rng, *shape, dtype=bf16) for name, shape in shapes.items()}


def image_inputs(rng, n, h, w):
    return {"x": normal(rng, n, h, w, 32), "filters": normal(rng, 3, 3, 32, 48) / 17, "bias": normal(rng, 48)}


def choice_inputs(rng, s, m):
    return {
        "few": normal(rng, s, 256),
        "many": normal(rng, m, 256),
        "weight": normal(rng, 256, 192) / 16,
        "bias": normal(rng, 192),
        "low": normal(rng, m, 192, dtype=bf16),
    }


def mandelbrot_cases(rng):
    views = {"whole": (-0.5, 0.0, 3.0, 48, 64), "valley": (-0.745, 0.113, 0.02, 33, 17), "pixel": (0.0, 0.0, 1.0, 1, 1)}
    views["anywhere"] = (*rng.uniform(-1, 0.5, 2), rng.uniform(0.01, 2), 40, 30)
    for label, (x, y, width, rows, columns) in views.items():
        scalars = {"center_x": x, "center_y": y, "width": width}
        inputs = {name: np.array(value, dtype=np.float64) for name, value in scalars.items()}
        yield label, [inputs | {"rows": position(rows), "columns": position(columns)}]
