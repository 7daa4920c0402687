"""Views among the results of a graph that torch.compile gives to the backend: they share memory with what they are views of, an input
or another result, and torch.compile goes by their strides and their offset where it makes them anew. So they stay with PyTorch, which
makes them of what kgen computes."""

from __future__ import annotations

import operator
from typing import Any, Dict

from torch.fx import Graph as FxGraph
from torch.fx import Node as FxNode
from torch.fx import map_arg


def is_view(node: FxNode) -> bool:
    """Of its first argument, also where it is one of several: of x.unbind()."""
    if node.target is operator.getitem:
        return isinstance(node.args[0], FxNode) and is_view(node.args[0])
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(each.alias_info is not None and not each.alias_info.is_write for each in schema.returns)


def is_apart(node: FxNode) -> bool:
    """Whether it is there for a result alone."""
    return bool(node.meta.get("kgen_apart"))


def set_views_apart(graph: FxGraph) -> None:
    """Gives each result that is a view of something views of its own, which nothing else reads."""
    output = next(node for node in graph.nodes if node.op == "output")
    made: Dict[FxNode, FxNode] = {}

    def apart(node: FxNode) -> FxNode:
        if not is_view(node) or not isinstance(node.args[0], FxNode):
            return node
        if node not in made:
            source = apart(node.args[0])
            with graph.inserting_before(output):
                copy = graph.node_copy(node, lambda each: source if each is node.args[0] else each)
            copy.meta = {**node.meta, "kgen_apart": True}
            made[node] = copy
        return made[node]

    results: Any = map_arg(output.args, apart)
    output.args = results
    for node in reversed(list(graph.nodes)):
        if node in made and not node.users:
            graph.erase_node(node)
