"""Graphs that fail for a reason which is known and not mended yet. They are left out and counted. Nothing stays here
for longer than its defect."""

from collections.abc import Callable

from graph import Body, Graph, Node

DEFECTS: dict[str, Callable[[Graph, Body, Node], bool]] = {}


def known_defect(graph: Graph) -> str:
    """"" for most."""
    for defect, has in DEFECTS.items():
        if any(not node.call and has(graph, body, node) for body in graph.bodies for node in body.nodes):
            return defect
    return ""
