"""Graphs that fail for a reason which is known and not mended yet. They are left out and counted. Nothing stays here
for longer than its defect."""

from collections.abc import Callable

from graph import Body, Graph, Node

NARROW = ("f16", "bf16", "f8e4m3", "f8e5m2")
REDUCTIONS = {"sum", "mean", "prod", "max", "min", "all", "any", "argmax", "argmin", "softmax_statistics",
              "mean_variance"}
KERNELS = {"matmul", "linear", "attention", "conv1d", "conv2d", "cumsum"}


def dtype_of(body: Body, node: Node) -> str:
    return body.types[node.outputs[0]].dtype


def operand_of(body: Body, node: Node):
    """The type of the first operand; None of a number."""
    return body.types.get(node.inputs[0]) if isinstance(node.inputs[0], str) else None


def of_scalar(graph: Graph, body: Body, node: Node) -> bool:
    operand = operand_of(body, node)
    return node.op in REDUCTIONS and operand is not None and not operand.shape


def unrounded_kernel(graph: Graph, body: Body, node: Node) -> bool:
    return graph.numerics == "match_unfused" and node.op in KERNELS and dtype_of(body, node) in NARROW


DEFECTS: dict[str, Callable[[Graph, Body, Node], bool]] = {
    "a reduction of a scalar, which does not compile": of_scalar,
    "match_unfused that does not round what a kernel gives its epilogue": unrounded_kernel,
    "mean_variance of infinities": lambda graph, body, node: node.op == "mean_variance",
}


def known_defect(graph: Graph) -> str:
    """"" for most."""
    for defect, has in DEFECTS.items():
        if any(not node.call and has(graph, body, node) for body in graph.bodies for node in body.nodes):
            return defect
    return ""
