"""What the benchmark's graphs on a GPU are given, as inputs.py has it."""

import numpy as np

from inputs import angle_tables, bf16, normal, softmax_inputs


def bf16_inputs(*names, width, vectors=()):
    """Matrices of this width, but for the vectors among the names."""

    def make(rng, m):
        return {name: normal(rng, *([] if name in vectors else [m]), width, dtype=bf16) for name in names}

    return make


def bf16_softmax_inputs(rng, b, s, t):
    return {name: array.astype(bf16) for name, array in softmax_inputs(rng, b, s, t).items()}


def bf16_rope_inputs(rng, s):
    cos, sin = (table[:, None, :].astype(bf16) for table in angle_tables(s, 128))
    return {"x": normal(rng, s, 32, 128, dtype=bf16), "cos": cos, "sin": sin}


def cross_entropy_inputs(rng, m):
    return {"logits": normal(rng, m, 32768, dtype=bf16) * bf16(3), "targets": rng.integers(0, 32768, m, dtype=np.int64)}
