"""Computes what a graph's outputs may be: its operators by references.py, in the order and with the state that calls of
one model have."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import commuted
import composites
import number_formats
import references
from dims import Dim
from enclosure import Value, exactly, rounded
from graph import Body, Constant, Graph, Node, State, Type
from specs import Operator


# Whose scale is 1 / sqrt(the width of the queries) where it is not given.
SCALED_BY_WIDTH = ("attention", "window_attention", "attention_value_width", "linear_attention", "paged_attention",
                   "paged_window_attention")


@dataclass
class Model:
    """A graph that has been loaded: its weights by key, and its state, which calls advance."""

    graph: Graph
    operators: dict[str, Operator]
    weights: dict[str, np.ndarray]
    state: dict[tuple[str, int], Value] = field(default_factory=dict)
    seen: dict[str, Value] = field(default_factory=dict)  # every value of main, in the last call

    def run(self, sizes: dict[str, int], inputs: dict[str, np.ndarray]) -> list[Value]:
        """The inputs decoded: float64, or integers and booleans as they are."""
        main = self.graph.main
        values = {name: exactly(main.inputs[name].type.dtype, array) for name, array in inputs.items()}
        self.calls = 0
        with np.errstate(all="ignore"):
            outputs = self.run_body(main, 0, sizes, values)
        self.seen = values
        return outputs

    def run_body(self, body: Body, index: int, sizes: dict[str, int], values: dict[str, Value]) -> list[Value]:
        """Adds to `values` what the body computes."""
        for name, constant in body.constants.items():
            values[name] = self.given(constant, index, sizes)
        for name, state in body.states.items():
            values[name] = self.window(name, index, state, sizes).map(np.copy)
        for node in body.nodes:
            results = self.run_call(node, sizes, values) if node.call else self.run_node(node, body, sizes, values)
            values |= zip(node.outputs, results)
        for name, state in body.states.items():
            for part, new in zip(self.window(name, index, state, sizes).parts(),
                                 stored(values[state.next]).parts()):
                part[...] = new
        return [values[name] for name in body.outputs]

    def given(self, constant: Constant, index: int, sizes: dict[str, int]) -> Value:
        """The elements of a constant, or those that a state begins as."""
        shape = at(constant.type, sizes)
        key = constant.key.replace("{index}", str(index))
        data = self.weights[key] if key else np.asarray(0 if constant.values is None else constant.values)
        data = data.reshape(shape) if data.size != 1 else np.broadcast_to(data.reshape(()), shape)
        return exactly(constant.type.dtype, data)

    def window(self, name: str, index: int, state: State, sizes: dict[str, int]) -> Value:
        """What calls of these sizes see of a buffer for the greatest ones."""
        greatest = {each: symbol.high for each, symbol in self.graph.symbols.items()}
        if (name, index) not in self.state:
            self.state[name, index] = self.given(state, index, greatest).map(np.copy)
        whole = (..., *(slice(0, extent.at(sizes)) for extent in state.type.shape))
        return self.state[name, index].map(lambda part: part[whole])

    def run_call(self, node: Node, sizes: dict[str, int], values: dict[str, Value]) -> list[Value]:
        body = self.graph.functions[node.op]
        operands = [values[name] for name in node.inputs]
        results: list[Value] = []
        for _ in range(node.repeat):
            operands = results + operands[len(results):]
            results = self.run_body(body, self.calls, sizes, dict(zip(body.inputs, operands)))
            self.calls += 1
        return results

    def run_node(self, node: Node, body: Body, sizes: dict[str, int], values: dict[str, Value]) -> list[Value]:
        op = self.operators[node.op]
        if op.name not in composites.OPERATORS:
            raise LookupError(f"operator {op.name} has no reference in tests/random/references.py")
        operands = [values[each] if isinstance(each, str) else references.number_as(
            number_dtype(op, node, position, values), each) for position, each in enumerate(node.inputs)]
        results = composites.OPERATORS[op.name](operands, attributes_of(op, node, operands, sizes))
        if op.name in commuted.OPERATORS and self.graph.numerics != "match_unfused":
            results = [commuted.loosened(node, body, values, results[0])]
        return [self.finished(op, result, body.types[name]) for name, result in zip(node.outputs, results)]

    def finished(self, op: Operator, result: Value, type_: Type) -> Value:
        """A result as those who read it may see it. Floats are rounded to their dtype, or not where that is fused."""
        if type_.dtype not in number_formats.FLOATS or op.kind == "view" or op.name in ("cast", "narrow"):
            return result
        surely = self.graph.numerics == "match_unfused" and type_.dtype not in ("f32", "f64")
        return rounded(result, type_.dtype, surely)


def stored(value: Value) -> Value:
    return rounded(value, value.dtype, surely=True) if value.dtype in number_formats.FLOATS else value


def at(type_: Type, sizes: dict[str, int]) -> tuple[int, ...]:
    return tuple(extent.at(sizes) for extent in type_.shape)


def number_dtype(op: Operator, node: Node, position: int, values: dict[str, Value]) -> str:
    """A number takes the dtype of the operands of its type."""
    operand_at = lambda i: op.operands[min(i, len(op.operands) - 1)]  # noqa: E731
    wanted = operand_at(position).type
    for i, each in enumerate(node.inputs):
        if isinstance(each, str) and operand_at(i).type == wanted:
            return values[each].dtype
    return "f32" if "f32" in op.dtypes_of(wanted) else op.dtypes_of(wanted)[0]


def attributes_of(op: Operator, node: Node, operands: list[Value], sizes: dict[str, int]) -> dict[str, Any]:
    """All of them, as numbers."""
    number = lambda value: value.at(sizes) if isinstance(value, Dim) else value  # noqa: E731
    values = {}
    for name, spec in op.attributes.items():
        value = node.attributes.get(name, spec.get("default"))
        values[name] = [number(each) for each in value] if isinstance(value, list | tuple) else number(value)
    if op.form == "slice" and "end" not in node.attributes:
        values["end"] = None
    if op.name in SCALED_BY_WIDTH and "scale" not in node.attributes:
        values["scale"] = operands[0].shape[3] ** -0.5
    return values
