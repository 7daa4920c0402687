"""What a product may be where factors of its left operand may move behind it, or into its right one: see
generator/pass/simplify/commute_factors.hpp. Then the operand without its factors is multiplied, which may exceed what f32
holds; and a right operand of bf16 is rounded once more, where the left one was."""

import numpy as np

from enclosure import Floats, anything, is_finite, magnitude, widened
from graph import Body, Node

MULTIPLYING = {"mul": (0, 1), "div": (0,), "rms_norm": (0,), "cast": (0,)}
GREATEST = 3.4e38


def without_factors(body: Body, name: str) -> str:
    """Behind what multiplies it; `name` itself where nothing does."""
    makers = {output: node for node in body.nodes for output in node.outputs}
    while name in makers and makers[name].op in MULTIPLYING:
        node, shape = makers[name], body.types[name].shape
        scaled = [node.inputs[i] for i in MULTIPLYING[node.op]
                  if isinstance(node.inputs[i], str) and body.types[node.inputs[i]].shape == shape]
        if not scaled:
            return name
        name = scaled[0]
    return name


def loosened(node: Node, body: Body, values: dict, result: Floats) -> Floats:
    left, right = (values[name] for name in node.inputs)
    base = values[without_factors(body, node.inputs[0])]
    if base is left or not isinstance(base, Floats) or result.dtype in ("f16", "f64"):
        return result
    terms = np.matmul(magnitude(left), magnitude(right))
    if result.dtype == "bf16":
        result = widened(result, 2.0**-7 * terms)
    unknown = ~is_finite(left).all(axis=-1, keepdims=True)
    unknown = unknown | ~(np.matmul(magnitude(base), magnitude(right)) < GREATEST / 2)
    parts = zip(anything(result.dtype, result.shape).parts(), result.parts())
    return Floats(result.dtype, *(np.where(unknown, any_value, known) for any_value, known in parts))
