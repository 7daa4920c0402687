"""Shrinks a graph that fails, as long as it fails in the same way: fewer outputs, fewer nodes, fewer symbols, no
directives."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace

from dims import Dim
from graph import Body, Graph, Input, Node, without_unread

Fails = Callable[[Graph], bool]


def reduced(graph: Graph, fails: Fails, most_tries: int) -> Graph:
    """The smallest graph found that still fails. `fails` is asked at most so often."""
    tries = 0
    changed = True
    while changed and tries < most_tries:
        changed = False
        for candidate in candidates(graph):
            tries += 1
            if tries > most_tries:
                break
            if fails(candidate):
                graph, changed = candidate, True
                break
    return graph


def candidates(graph: Graph) -> Iterator[Graph]:
    """Smaller ones, the smallest first."""
    outputs = graph.main.outputs
    if len(outputs) > 1:
        half = len(outputs) // 2
        for kept in [outputs[:half], outputs[half:], *([name] for name in outputs)]:
            yield with_outputs(graph, kept)
    for node in reversed(graph.main.nodes):
        yield from (each for each in [with_input_for(graph, node)] if each is not None)
    for node in reversed(graph.main.nodes):
        inner = [name for name in node.inputs if isinstance(name, str) and made_by_node(graph.main, name)]
        if set(node.outputs) & set(outputs) and inner:
            yield with_outputs(graph, [name for name in outputs if name not in node.outputs] + inner)
    if graph.forbid:
        yield replace(graph, forbid=[])
    if graph.numerics != "fast":
        yield replace(graph, numerics="fast")
    for name in graph.main.inputs:
        if graph.main.inputs[name].strided:
            changed = copy.deepcopy(graph)
            changed.main.inputs[name].strided = False
            yield changed
    for name, symbol in graph.symbols.items():
        if not symbol.source:
            yield with_number(graph, name, min(max(symbol.low, 2), symbol.high))


def made_by_node(body: Body, name: str) -> Node | None:
    return next((node for node in body.nodes if name in node.outputs), None)


def with_outputs(graph: Graph, outputs: list[str]) -> Graph:
    return without_unread(replace(graph, main=replace(graph.main, outputs=list(dict.fromkeys(outputs)))))


def with_input_for(graph: Graph, node: Node) -> Graph | None:
    """What the node computes becomes an input."""
    main = graph.main
    if set(node.outputs) & {state.next for state in main.states.values()}:
        return None
    inputs = main.inputs | {name: Input(main.types[name]) for name in node.outputs if name not in main.outputs}
    outputs = [name for name in main.outputs if name not in node.outputs]
    if not outputs:
        return None
    nodes = [each for each in main.nodes if each is not node]
    return without_unread(replace(graph, main=replace(main, inputs=inputs, outputs=outputs, nodes=nodes)))


def with_number(graph: Graph, symbol: str, number: int) -> Graph:
    """With a number for a symbol, everywhere."""
    changed = copy.deepcopy(graph)
    del changed.symbols[symbol]
    sizes = {symbol: number}
    for body in changed.bodies:
        for name, type_ in body.types.items():
            body.types[name] = replace(type_, shape=tuple(extent.substitute(sizes) for extent in type_.shape))
        for section in (body.inputs, body.constants, body.states):
            for name, each in section.items():
                each.type = body.types[name]
        for node in body.nodes:
            node.attributes = {key: substituted(value, sizes) for key, value in node.attributes.items()}
        for each in body.inputs.values():
            each.extent_of = substituted(each.extent_of, sizes)
        for requirement in body.requirements:
            requirement.least = requirement.least.substitute(sizes)
            requirement.most = requirement.most.substitute(sizes)
    return changed


def substituted(value, sizes: dict[str, int]):
    if isinstance(value, list):
        return [substituted(each, sizes) for each in value]
    return value.substitute(sizes) if isinstance(value, Dim) else value
