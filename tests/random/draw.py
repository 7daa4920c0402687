"""Draws graphs. draw(operators, seed, number) always gives the same one."""

import numpy as np

from dims import Dim
from draw_diamonds import draw_diamonds
from draw_heads import draw_heads
from draw_images import draw_images
from draw_nodes import draw_node, draw_sibling
from draw_norms import draw_norms
from draw_shared import draw_shared
from graph import Body, Graph, Input, Node, Symbol, Type, without_unread
from scope import NotPossible, Scope
from specs import Operator

# Ranges with 0, 1, odd sizes, and more than a vector, a tile or a wave of threads holds.
RANGES = [(0, 9), (0, 40), (1, 17), (1, 70), (2, 33), (3, 129), (0, 300), (1, 1000)]
KIND_WEIGHTS = {"elementwise": 3.0, "reduction": 4.0, "view": 7.0, "structured": 5.0, "composite": 4.0}


def draw(operators: dict[str, Operator], seed: int, number: int) -> Graph:
    rng = np.random.default_rng([seed, number])
    while True:
        try:
            return draw_once(rng, operators, f"graph_{number}")
        except NotPossible:
            pass


def draw_once(rng: np.random.Generator, operators: dict[str, Operator], name: str) -> Graph:
    graph = Graph(name)
    scope = Scope(rng, graph, graph.main, operators, set())
    draw_symbols(scope)
    for _ in range(scope.integer(1, 3)):
        dtype = scope.dtype(["f32", "f64", "f16", "bf16", "i32", "bool"])
        scope.fresh(Type(dtype, scope.shape(scope.one_of([0, 1, 2, 2, 3, 3, 4]))))
    if scope.chance(0.2):
        graph.functions["f"] = draw_function(scope)
    draw_nodes(scope, scope.one_of([1, 2, 3, 4, 6, 8, 12]))
    if scope.chance(0.25):
        graph.numerics = "match_unfused"
    choose_outputs(scope)
    graph = without_unread(graph)
    declare_symbols(graph)
    forbid_some(scope, graph)
    return graph


def draw_symbols(scope: Scope) -> None:
    for name in "MNK"[: scope.integer(0, 3)]:
        low, high = scope.one_of(RANGES)
        scope.graph.symbols[name] = Symbol(low, high)
    if scope.chance(0.15):
        scope.graph.symbols["P"] = Symbol(0, scope.integer(1, 20), source="position")
        scope.graph.main.inputs["position"] = Input(Type("i64", ()))
        scope.graph.main.types["position"] = Type("i64", ())
        scope.names.add("position")


def weighted_operator(scope: Scope) -> Operator:
    """Kinds by their weights, and the operators of a kind alike."""
    kinds: dict[str, list[Operator]] = {}
    for op in scope.operators.values():
        kinds.setdefault(op.kind, []).append(op)
    weights = np.array([KIND_WEIGHTS.get(kind, 1.0) for kind in kinds])
    if "elementwise" in kinds:
        weights[list(kinds).index("elementwise")] *= 3
    return scope.one_of(list(kinds.values())[int(scope.rng.choice(len(kinds), p=weights / weights.sum()))])


def draw_nodes(scope: Scope, count: int) -> None:
    for _ in range(4 * count):
        if len(scope.body.nodes) >= count:
            return
        undo = scope.checkpoint()
        try:
            if scope.body is scope.graph.main and scope.graph.functions and scope.chance(0.35):
                draw_call(scope)
            elif scope.chance(0.06):
                draw_running_state(scope)
            elif scope.chance(0.12):
                draw_heads(scope)
            elif scope.chance(0.12):
                draw_sibling(scope)
            elif scope.chance(0.08):
                draw_shared(scope)
            elif scope.chance(0.08):
                draw_norms(scope)
            elif scope.chance(0.06):
                draw_diamonds(scope)
            elif scope.chance(0.06):
                draw_images(scope)
            else:
                draw_node(scope, weighted_operator(scope))
        except NotPossible:
            undo()
    if not scope.body.nodes:
        raise NotPossible


def draw_running_state(scope: Scope) -> None:
    """A state that is replaced by what follows from it."""
    x = scope.pick(scope.operators["add"].types["T"])
    type_ = scope.type_of(x)
    state = scope.add_state(type_)
    op = scope.one_of(["add", "maximum", "sub", "mul"])
    (result,) = scope.add_node(op, [state, x], [type_])
    if scope.chance(0.3):
        (result,) = scope.add_node("copy", [x], [type_])
    scope.body.states[state].next = result


def draw_function(outer: Scope) -> Body:
    inner = Scope(outer.rng, outer.graph, Body(), outer.operators, outer.names)
    for _ in range(inner.integer(1, 2)):
        dtype = inner.dtype(["f32", "f16", "bf16"])
        inner.fresh(Type(dtype, inner.shape(inner.one_of([1, 2, 3]))))
    draw_nodes(inner, inner.integer(1, 5))
    made = lasting(inner.body)
    inner.body.outputs = [made[-1]]
    if len(made) > 1 and inner.chance(0.3):
        inner.body.outputs.append(inner.one_of(made[:-1]))
    for each in inner.body.inputs.values():
        each.strided = False
    return inner.body


def draw_call(scope: Scope) -> None:
    body = scope.graph.functions["f"]
    if not body.inputs:
        raise NotPossible
    operands = [scope.fresh(each.type, each.extent_of) if each.extent_of is not None
                else scope.need(each.type) for each in body.inputs.values()]
    results = [body.types[name] for name in body.outputs]
    parameters = [each.type for each in body.inputs.values()]
    repeat = 1
    if len(results) <= len(parameters) and results == parameters[: len(results)] and scope.chance(0.5):
        repeat = scope.integer(2, 4)
    scope.add_node("f", operands, results, call=True, repeat=repeat)


def lasting(body: Body) -> list[str]:
    """What nodes give, but for the versions of a state that are updated once more."""
    versions = {state.next for state in body.states.values()}
    updated = set()
    for node in reversed(body.nodes):
        if node.op == "index_update" and node.outputs[0] in versions | updated:
            updated.add(node.inputs[0])
    return [name for node in body.nodes for name in node.outputs if name not in updated]


def choose_outputs(scope: Scope) -> None:
    """What nothing reads, and now and then what is read too."""
    body = scope.body
    made = lasting(body)
    read = {name for node in body.nodes for name in node.inputs if isinstance(name, str)}
    body.outputs = [name for name in made if name not in read or scope.chance(0.15)] or made[-1:]


def declare_symbols(graph: Graph) -> None:
    """Those that occur; what the inputs' extents do not say is read from a scalar, or from elements of a line."""
    used = {name for body in graph.bodies for type_ in used_types(body) for extent in type_.shape
            for name in extent.symbols}
    used |= {name for body in graph.bodies for node in body.nodes for value in node.attributes.values()
             for each in (value if isinstance(value, list) else [value]) if isinstance(each, Dim)
             for name in each.symbols}
    given = said_by_extents(graph)
    for body in graph.bodies:  # those of nodes that went
        body.requirements = [each for each in body.requirements if {*each.least.symbols, *each.most.symbols} <= used]
    for name in list(graph.symbols):
        if name not in used:
            del graph.symbols[name]
    open_ = [name for name, symbol in graph.symbols.items() if name not in given and not symbol.source]
    if open_:
        is_line = len(open_) > 1 or len(graph.main.inputs) % 2 == 0
        type_ = Type("i32", (Dim.of(len(open_) + 1),)) if is_line else Type("i64", ())
        source = "sizes" if is_line else f"size_of_{open_[0]}"
        graph.main.inputs[source] = Input(type_)
        graph.main.types[source] = type_
        for place, name in enumerate(open_, 1):  # the first element of a line is nothing's size
            graph.symbols[name].source = f"{source}[{place}]" if is_line else source
    sources = {each.source for each in graph.symbols.values()}
    if "position" in graph.main.inputs and "position" not in sources:
        read = {name for node in graph.main.nodes for name in node.inputs if isinstance(name, str)}
        if "position" not in read:
            del graph.main.inputs["position"]


def said_by_extents(graph: Graph) -> set[str]:
    """Symbols that an input has as an extent by itself, or in one that is linear in it and has no other that is unknown."""
    extents = [extent for each in graph.main.inputs.values() for extent in each.type.shape]
    read = {name for name, symbol in graph.symbols.items() if symbol.source}
    known: set[str] = set()
    while True:
        said = set()
        for extent in extents:
            unknown = extent.symbols - known - read
            if len(unknown) == 1 and extent.slope(*unknown) > 0:
                said |= unknown
        if not said:
            return known
        known |= said


def used_types(body: Body) -> list[Type]:
    names = [*body.inputs, *body.constants, *body.states, *(name for node in body.nodes for name in node.outputs)]
    return [body.types[name] for name in names]


def forbid_some(scope: Scope, graph: Graph) -> None:
    if not scope.chance(0.15):
        return
    made = {name for node in graph.main.nodes for name in node.outputs}
    edges = [[name, node.outputs[0]] for node in graph.main.nodes for name in node.inputs
             if isinstance(name, str) and name in made]
    if edges:
        graph.forbid.append(scope.one_of(edges))
