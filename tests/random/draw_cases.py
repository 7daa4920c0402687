"""Draws what a graph is run with: sizes of its symbols, weights, and inputs, some of them with strides, infinities and
NaN."""

from dataclasses import dataclass

import numpy as np

import number_formats
from evaluate import at
from graph import Graph, Input


@dataclass
class Step:
    """A call. `inputs`: elements as they stand in memory."""

    sizes: dict[str, int]
    inputs: dict[str, np.ndarray]


@dataclass
class Case:
    """Calls of one model."""

    threads: int
    misaligned: bool
    steps: list[Step]


def draw_cases(rng: np.random.Generator, graph: Graph) -> tuple[list[Case], dict[str, np.ndarray]]:
    """Also the weights, as they stand in memory."""
    cases = []
    has_state = any(body.states for body in graph.bodies)
    for number, how in enumerate(["least", "odd", "any", "greatest"] if graph.symbols else ["any", "any"]):
        special = rng.random() < 0.25
        steps = []
        for _ in range(3 if has_state else 1):
            sizes = draw_sizes(rng, graph, how)
            if sizes is not None:
                inputs = {name: draw_input(rng, graph, name, each, sizes, special)
                          for name, each in graph.main.inputs.items()}
                steps.append(Step(sizes, inputs))
            how = "any"
        if steps:
            cases.append(Case([1, 3][number % 2], bool(rng.random() < 0.3), steps))
    return cases, draw_weights(rng, graph)


def draw_sizes(rng: np.random.Generator, graph: Graph, how: str) -> dict[str, int] | None:
    """None where no sizes were found that the graph's requirements take."""
    for attempt in range(60):
        sizes = {name: draw_size(rng, each.low, each.high, how if attempt == 0 else "any")
                 for name, each in graph.symbols.items()}
        if all(each.least.at(sizes) <= each.most.at(sizes) for body in graph.bodies for each in body.requirements):
            return sizes
    return None


def draw_size(rng: np.random.Generator, low: int, high: int, how: str) -> int:
    if how == "least":
        return int(rng.integers(low, min(low + 1, high) + 1))
    if how == "greatest":
        return high
    size = int(rng.integers(low, high + 1))
    return max(low, size - 1) if how == "odd" and size % 2 == 0 else size


def draw_weights(rng: np.random.Generator, graph: Graph) -> dict[str, np.ndarray]:
    weights = {}
    calls = sum(node.repeat for node in graph.main.nodes if node.call)
    for body in graph.bodies:
        for constant in [*body.constants.values(), *body.states.values()]:
            for index in range(calls if "{index}" in constant.key else 1):
                if constant.key:
                    shape = at(constant.type, {})
                    weights[constant.key.replace("{index}", str(index))] = draw_elements(
                        rng, constant.type.dtype, shape, False)
    return weights


def draw_input(rng: np.random.Generator, graph: Graph, name: str, each: Input, sizes: dict[str, int],
               special: bool) -> np.ndarray:
    shape = at(each.type, sizes)
    held = [symbol for symbol, declaration in graph.symbols.items() if declaration.input == name]
    if held:
        values = np.zeros(shape, number_formats.storage_dtype(each.type.dtype))
        for symbol in held:
            values.reshape(-1)[graph.symbols[symbol].element] = sizes[symbol]
        return values
    if each.extent_of is not None:
        elements = draw_indices(rng, each.type.dtype, shape, each.extent_of.at(sizes))
    else:
        elements = draw_elements(rng, each.type.dtype, shape, special)
    return with_strides(rng, elements) if each.strided and shape else elements


def draw_indices(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], extent: int) -> np.ndarray:
    """Most of them within the axis, from either end."""
    indices = rng.integers(-extent, max(extent, 1), shape)
    beyond = rng.random(shape) < 0.05
    return np.where(beyond, rng.choice([extent, -extent - 1, 100000], shape), indices).astype(
        number_formats.storage_dtype(dtype))


def draw_elements(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], special: bool) -> np.ndarray:
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype in number_formats.INTEGERS:
        native = number_formats.storage_dtype(dtype)
        limits = np.iinfo(native)
        if rng.random() < 0.3:
            return rng.integers(limits.min, limits.max, shape, dtype=native, endpoint=True)
        return rng.integers(max(limits.min, -9), 10, shape).astype(native)
    values = rng.standard_normal(shape) * rng.choice([0.3, 1, 1, 4])
    if rng.random() < 0.15:
        values = np.rint(values)
    if rng.random() < 0.2:
        values = np.abs(values)
    if special:
        chosen = rng.random(shape) < 0.08
        values = np.where(chosen, rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30], shape), values)
    if dtype.startswith("f8"):
        values = np.where(np.isinf(values), np.nan, values)
    return number_formats.encode(dtype, number_formats.round_to(dtype, values))


def with_strides(rng: np.random.Generator, elements: np.ndarray) -> np.ndarray:
    """The same elements, further apart and with their axes in another order in memory."""
    order = rng.permutation(elements.ndim)
    steps = rng.choice([1, 1, 2, 3], elements.ndim)
    memory = np.zeros([int(elements.shape[axis] * steps[axis]) for axis in order], elements.dtype)
    view = memory[tuple(slice(None, None, int(steps[axis])) for axis in order)].transpose(np.argsort(order))
    view[...] = elements
    return view
