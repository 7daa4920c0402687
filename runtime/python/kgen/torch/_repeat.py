"""Modules of a list that compute the same, one after the other, as one function that is called for each."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Dict, List, Optional, Set, Tuple

from ._graph import Constant, Function, Graph, Names, Node, Value


def write_repeated_once(graph: Graph) -> None:
    """Replaces the nodes of `layers.0`, `layers.1` and on by calls of a function `layers`, where each reads what the one before
    it made, values that all of them read, and weights of its own: layers.{index}.weight."""
    for prefix in sorted({match[1] for node in graph.nodes if (match := re.match(r"(.*?)\.?\d+(\.|$)", node.path))}):
        blocks = _blocks_of(graph, prefix)
        if blocks is not None:
            _Repeat(graph, prefix, blocks).write()


def _blocks_of(graph: Graph, prefix: str) -> Optional[List[List[Node]]]:
    """The nodes of each module of the list, where they stand together and in order."""
    pattern = re.compile(re.escape(prefix) + (r"\." if prefix else "") + r"(\d+)(?:\.|$)")
    indices = [int(match[1]) if (match := pattern.match(node.path)) else -1 for node in graph.nodes]
    found = [index for index in indices if index >= 0]
    count = max(found, default=0) + 1
    if count < 2 or found != sorted(found) or set(found) != set(range(count)):
        return None
    first = indices.index(0)
    if indices[first : first + len(found)] != found:
        return None
    nodes = graph.nodes[first : first + len(found)]
    return [[node for node, index in zip(nodes, found) if index == number] for number in range(count)]


class _Repeat:
    """One list of modules, whose blocks of nodes are compared operand by operand."""

    def __init__(self, graph: Graph, prefix: str, blocks: List[List[Node]]) -> None:
        self.graph, self.prefix, self.blocks = graph, prefix, blocks
        self.results = [[value for node in block for value in node.results] for block in blocks]
        self.places = [{id(value): place for place, value in enumerate(results)} for results in self.results]
        self.constants = {id(constant.value): constant for constant in graph.constants}
        self.carried: Dict[int, int] = {}  # id of the first block's operand: the place of the result that is the next one's
        self.same: List[Value] = []  # what all read
        self.weights: Dict[int, Tuple[Value, str]] = {}  # of the first block, with the key of all
        self.numbers: Dict[int, Constant] = {}

    def write(self) -> None:
        if not self._are_alike() or not self.carried or not self._are_private():
            return
        function = self._function()
        first = self.graph.nodes.index(self.blocks[0][0])
        length = sum(len(block) for block in self.blocks)
        starts = [value for value in self._values() if id(value) in self.carried]
        ends = [self.results[-1][self.carried[id(value)]] for value in starts]
        call = Node(function.name, [*starts, *self.same], ends, {"repeat": len(self.blocks)}, self.prefix, is_call=True)
        self.graph.nodes[first : first + length] = [call]
        self.graph.functions.append(function)
        read = {id(operand) for node in self.graph.nodes for operand in node.operands}
        kept = read | {id(value) for value in self.graph.outputs}
        self.graph.constants = [constant for constant in self.graph.constants if id(constant.value) in kept]

    # ---- comparing

    def _are_alike(self) -> bool:
        lengths = {len(block) for block in self.blocks}
        return len(lengths) == 1 and all(self._nodes_alike(nodes) for nodes in zip(*self.blocks))

    def _nodes_alike(self, nodes: Tuple[Node, ...]) -> bool:
        forms = {(node.op, str(node.attributes), len(node.operands), self._types(node)) for node in nodes}
        return len(forms) == 1 and all(self._operands_alike(operands) for operands in zip(*(node.operands for node in nodes)))

    def _types(self, node: Node) -> str:
        return str([(value.dtype, value.shape) for value in node.results])

    def _operands_alike(self, operands: Tuple[object, ...]) -> bool:
        if not all(isinstance(operand, Value) for operand in operands):
            return len({repr(operand) for operand in operands}) == 1 and not any(isinstance(one, Value) for one in operands)
        values: List[Value] = list(operands)  # type: ignore[arg-type]
        own = [places.get(id(value)) for places, value in zip(self.places, values)]
        if own[0] is not None:
            return len(set(own)) == 1
        if any(place is not None for place in own):
            return False
        if all(value is values[0] for value in values):
            return self._note_same(values[0])
        return self._note_weights(values) or self._note_carried(values)

    def _note_same(self, value: Value) -> bool:
        constant = self.constants.get(id(value))
        if constant is not None and constant.key is None:
            self.numbers[id(value)] = constant
        elif value not in self.same:
            self.same.append(value)
        return id(value) not in self.carried

    def _note_weights(self, values: List[Value]) -> bool:
        keys = [constant.key if (constant := self.constants.get(id(value))) else None for value in values]
        start = self.prefix + "." if self.prefix else ""
        for index, key in enumerate(keys):
            if key is None or not key.startswith(f"{start}{index}."):
                return False
        ends = {str(key)[len(f"{start}{index}.") :] for index, key in enumerate(keys)}
        if len(ends) != 1 or len({str((value.dtype, value.shape)) for value in values}) != 1:
            return False
        self.weights[id(values[0])] = (values[0], ends.pop())
        return True

    def _note_carried(self, values: List[Value]) -> bool:
        before = [places.get(id(value)) for places, value in zip(self.places, values[1:])]
        if before[0] is None or len(set(before)) != 1 or values[0] in self.same:
            return False
        return self.carried.setdefault(id(values[0]), before[0]) == before[0]

    def _are_private(self) -> bool:
        """Whether only the next block reads a block, and what follows only what the last one hands on."""
        handed = set(self.carried.values())
        inside: Set[int] = {id(node) for block in self.blocks for node in block}
        read = {id(operand) for node in self.graph.nodes if id(node) not in inside for operand in node.operands}
        read |= {id(value) for value in self.graph.outputs}
        read |= {id(value) for state in self.graph.states for value in state}
        for number, results in enumerate(self.results):
            is_last = number == len(self.results) - 1
            if any(id(value) in read and not (is_last and place in handed) for place, value in enumerate(results)):
                return False
        states = {id(state) for state, _ in self.graph.states}
        return not any(id(value) in states for value in self.same) and len(handed) == len(self.carried)

    # ---- writing

    def _values(self) -> List[Value]:
        """What the first block reads, in order, each once."""
        seen: Dict[int, Value] = {}
        for node in self.blocks[0]:
            for operand in node.operands:
                if isinstance(operand, Value):
                    seen.setdefault(id(operand), operand)
        return list(seen.values())

    def _function(self) -> Function:
        names = Names()
        new: Dict[int, Value] = {}

        def local(value: Value, wanted: str) -> Value:
            new[id(value)] = replace(value, name=names.new(wanted))
            return new[id(value)]

        start = f"{self.prefix}.0" if self.prefix else "0"
        starts = [value for value in self._values() if id(value) in self.carried]
        inputs = [local(value, value.name) for value in [*starts, *self.same]]
        constants = []
        for value, end in self.weights.values():
            key = f"{self.prefix}.{{index}}.{end}" if self.prefix else f"{{index}}.{end}"
            constants.append(Constant(local(value, end), key))
        constants += [replace(one, value=local(one.value, one.value.name)) for one in self.numbers.values()]
        plain = Names().new(start) + "_"
        for value in self.results[0]:
            local(value, value.name[len(plain) :] if value.name.startswith(plain) else value.name)
        nodes = [
            replace(
                node,
                operands=[new[id(one)] if isinstance(one, Value) else one for one in node.operands],
                results=[new[id(one)] for one in node.results],
            )
            for node in self.blocks[0]
        ]
        outputs = [new[id(self.results[0][self.carried[id(value)]])] for value in starts]
        name = self.graph.names.new(self.prefix or "layers")
        doc = f"Each of the {len(self.blocks)} modules {self.prefix + '.' if self.prefix else ''}0 to {len(self.blocks) - 1}."
        return Function(name, doc, inputs, constants, nodes, outputs)
