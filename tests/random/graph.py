"""A graph as a person writes it: draw.py makes it, reduce.py shrinks it, evaluate.py computes it, kgen reads its YAML."""

from dataclasses import dataclass, field, replace
from typing import Any

from dims import Dim, Shape


@dataclass(frozen=True)
class Type:
    dtype: str
    shape: Shape

    @property
    def text(self) -> str:
        return f"{self.dtype}[{', '.join(extent.text for extent in self.shape)}]"


@dataclass
class Input:
    type: Type
    strided: bool = False
    extent_of: Dim | None = None  # of indices: the extent that they count in


@dataclass
class Constant:
    """`values`: None where the weights' file holds them, else a number or nested lists."""

    type: Type
    values: Any = None
    key: str = ""


@dataclass
class State(Constant):
    """Of neither values nor a key: zero at first."""

    next: str = ""


@dataclass
class Node:
    """An operator's, or a function's where `call` says so. An operand is a name, or a number."""

    op: str
    inputs: list[Any]
    outputs: list[str]
    attributes: dict[str, Any] = field(default_factory=dict)
    call: bool = False
    repeat: int = 1


@dataclass
class Requirement:
    """least <= most, at every size that the graph may be run with."""

    least: Dim
    most: Dim


@dataclass
class Body:
    """What main and functions have in common."""

    inputs: dict[str, Input] = field(default_factory=dict)
    constants: dict[str, Constant] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    types: dict[str, Type] = field(default_factory=dict)  # of every value
    requirements: list[Requirement] = field(default_factory=list)


@dataclass
class Symbol:
    low: int
    high: int
    source: str = ""  # "position", "sizes[0]": the scalar input that it is read from, or the element of one

    @property
    def input(self) -> str:
        return self.source.partition("[")[0]

    @property
    def element(self) -> int:
        return int(self.source.partition("[")[2].rstrip("]") or 0)


@dataclass
class Graph:
    name: str
    symbols: dict[str, Symbol] = field(default_factory=dict)
    functions: dict[str, Body] = field(default_factory=dict)
    main: Body = field(default_factory=Body)
    numerics: str = "fast"
    forbid: list[list[str]] = field(default_factory=list)

    @property
    def bodies(self) -> list[Body]:
        return [*self.functions.values(), self.main]

    def operators(self) -> set[str]:
        return {node.op for body in self.bodies for node in body.nodes if not node.call}


# ---- without what nothing reads --------------------------------------------------------------------------------------


def without_unread(graph: Graph) -> Graph:
    """The graph without the nodes, inputs, constants, states and functions that its outputs do not follow from."""
    main = body_without_unread(graph.main, [s.input for s in graph.symbols.values() if s.source])
    called = {node.op for node in main.nodes if node.call}
    functions = {name: body_without_unread(body, []) for name, body in graph.functions.items() if name in called}
    # A function keeps its parameters: its callers pass them.
    for name, body in functions.items():
        body.inputs = graph.functions[name].inputs
    made = {name for node in main.nodes for name in node.outputs}
    forbid = [group for group in graph.forbid if all(name in made for name in group)]
    return replace(graph, main=main, functions=functions, forbid=forbid)


def body_without_unread(body: Body, also_read: list[str]) -> Body:
    read = {*body.outputs, *also_read, *(state.next for state in body.states.values())}
    nodes = []
    for node in reversed(body.nodes):
        if read.intersection(node.outputs):
            nodes.append(node)
            read.update(name for name in node.inputs if isinstance(name, str))
    kept = lambda section: {name: value for name, value in section.items() if name in read}  # noqa: E731
    states = kept(body.states)
    if len(states) < len(body.states):  # what an unread state becomes is unread too
        return body_without_unread(replace(body, states=states), also_read)
    return replace(body, inputs=kept(body.inputs), constants=kept(body.constants), states=states, nodes=nodes[::-1])


# ---- as text ---------------------------------------------------------------------------------------------------------


def text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Dim):
        return value.text
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return ".inf" if value > 0 else "-.inf"
    if isinstance(value, float):
        text = repr(value)
        return text if "e" not in text or "." in text else text.replace("e", ".0e")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(text_of, value))}]"
    if isinstance(value, str) and "," in value:  # an equation, which is no word of YAML's
        return f'"{value}"'
    return str(value)


def node_text(node: Node) -> str:
    fields = {"call" if node.call else "op": node.op}
    fields["in"] = node.inputs[0] if len(node.inputs) == 1 and isinstance(node.inputs[0], str) else node.inputs
    fields["out"] = node.outputs[0] if len(node.outputs) == 1 else node.outputs
    fields |= node.attributes
    if node.repeat != 1:
        fields["repeat"] = node.repeat
    return "{" + ", ".join(f"{key}: {text_of(value)}" for key, value in fields.items()) + "}"


def held_text(given: Constant, weights: str) -> str:
    if given.key:
        return f", file: {weights}, key: \"{given.key}\""
    return "" if given.values is None else f", values: {text_of(given.values)}"


def body_lines(body: Body, weights: str) -> list[str]:
    lines = ["inputs:"] if body.inputs else []
    for name, each in body.inputs.items():
        lines.append(f"  {name}: " + (f'{{type: "{each.type.text}", strided: true}}' if each.strided
                                      else each.type.text))
    lines += ["constants:"] if body.constants else []
    for name, constant in body.constants.items():
        lines.append(f'  {name}: {{type: "{constant.type.text}"{held_text(constant, weights)}}}')
    lines += ["state:"] if body.states else []
    for name, state in body.states.items():
        lines.append(f'  {name}: {{type: "{state.type.text}", next: {state.next}{held_text(state, weights)}}}')
    lines += ["nodes:", *(f"  - {node_text(node)}" for node in body.nodes)]
    return [*lines, f"outputs: [{', '.join(body.outputs)}]"]


def to_yaml(graph: Graph) -> str:
    weights = graph.name + ".safetensors"
    lines = [f"graph: {graph.name}"]
    lines += ["dims:"] if graph.symbols else []
    for name, symbol in graph.symbols.items():
        bounds = f"{symbol.low}..{symbol.high}"
        lines.append(f"  {name}: " + (f"{{range: {bounds}, from: '{symbol.source}'}}" if symbol.source else bounds))
    if graph.numerics != "fast":
        lines.append(f"numerics: {graph.numerics}")
    lines += ["functions:"] if graph.functions else []
    for name, body in graph.functions.items():
        lines += [f"  {name}:", *("    " + line for line in body_lines(body, weights))]
    lines += body_lines(graph.main, weights)
    if graph.forbid:
        lines.append(f"fusion: {{forbid: {text_of(graph.forbid)}}}")
    return "\n".join(lines) + "\n"
