"""What a product may be where factors of its left operand may move behind it, or into its right one: see
generator/pass/simplify/commute_factors.hpp. Then the operand without its factors is multiplied, which may exceed what f32
holds; and a right operand of bf16 is rounded once more, where the left one was."""

import numpy as np

from enclosure import Floats, anything, is_finite, magnitude, widened
from graph import Body, Node

MULTIPLYING = {"mul": (0, 1), "div": (0,), "rms_norm": (0,), "cast": (0,)}
GREATEST = 3.4e38
OPERATORS = {"matmul", "conv1d", "conv1d_ncl", "conv2d", "conv2d_nchw", "conv3d", "conv3d_ncdhw"}


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
    """The result of a matmul or a convolution."""
    if not isinstance(result, Floats) or result.dtype in ("f16", "f64"):
        return result
    return of_matmul(node, body, values, result) if node.op == "matmul" else of_convolution(node, body, values, result)


def any_where(unknown: np.ndarray, result: Floats) -> Floats:
    parts = zip(anything(result.dtype, result.shape).parts(), result.parts())
    return Floats(result.dtype, *(np.where(unknown, any_value, known) for any_value, known in parts))


def of_convolution(node: Node, body: Body, values: dict, result: Floats) -> Floats:
    """Also where it has nothing but padding under it, which is 0 times the factor then."""
    images, filters = (values[name] for name in node.inputs[:2])
    bases = [values[without_factors(body, name)] for name in node.inputs[:2]]
    if all(base is operand for base, operand in zip(bases, (images, filters))):
        return result
    finite = [np.nan_to_num(magnitude(base), nan=0.0, posinf=0.0) for base in bases]
    terms = np.prod(filters.shape) * finite[0].max(initial=0.0) * finite[1].max(initial=0.0)
    unknown = not is_finite(filters).all() or not terms < GREATEST / 2
    of_images = ~is_finite(images).reshape(images.shape[0], -1).all(axis=1)
    return any_where(unknown | of_images.reshape(-1, *(1,) * (len(result.shape) - 1)), result)


def of_matmul(node: Node, body: Body, values: dict, result: Floats) -> Floats:
    left, right = (values[name] for name in node.inputs)
    base = values[without_factors(body, node.inputs[0])]
    if base is left or not isinstance(base, Floats):
        return result
    terms = np.matmul(magnitude(left), magnitude(right))
    if result.dtype == "bf16":
        result = widened(result, 2.0**-7 * terms)
    unknown = ~is_finite(left).all(axis=-1, keepdims=True)
    return any_where(unknown | ~(np.matmul(magnitude(base), magnitude(right)) < GREATEST / 2), result)
