"""A graph of torch.fx in ATen's operators, operator by operator, as a graph of kgen."""

from __future__ import annotations

import operator
import re
from types import MappingProxyType
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import torch
from torch.fx import Node as FxNode

from . import _aten_attention, _aten_memory, _aten_windows  # noqa: F401  (their rules)
from ._aten import Builder, rule_of
from ._aten_indexing import REFUSED
from ._graph import Dim, ExportError, Graph, Node, Operand, Unsupported, Value, dtype_names, extent_of, extents_of

DEFAULT_GREATEST = 1 << 20  # of a dim to which PyTorch gives no limit


def name_of(target: Any) -> str:
    """ "add.Tensor" of torch.ops.aten.add.Tensor; of a library that is not ATen "library::name"; "" of what is no operator."""
    if not isinstance(target, torch._ops.OpOverload):
        return ""
    return f"{target._schema.name.removeprefix('aten::')}.{target._overloadname}"


def op_of(node: FxNode) -> str:
    """ "index_put" of torch.ops.aten.index_put.default."""
    return name_of(node.target).split("::")[-1].split(".")[0].strip("_") or "value"


def is_size(node: FxNode) -> bool:
    """Whether a node computes a size, not a tensor."""
    return isinstance(node.meta.get("val"), (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool))


def is_assertion(node: FxNode) -> bool:
    """What checks sizes; the runtime checks ranges itself."""
    return not node.users and (not isinstance(node.meta.get("val"), torch.Tensor)) and "assert" in str(node.target)


def is_known(node: FxNode) -> bool:
    """Whether there is a rule, by the operator's name alone."""
    if node.op != "call_function":
        return node.op in ("placeholder", "output", "get_attr")
    return is_size(node) or is_assertion(node) or node.target is operator.getitem or rule_of(name_of(node.target)) is not None


def line_of(node: FxNode) -> str:
    """The line of the user's module that a node comes from: "model.py:12: y = f(x)"."""
    frames = re.findall(r'File "([^"]+)", line (\d+), in [^\n]+\n\s*([^\n]*)', node.meta.get("stack_trace") or "")
    own = [frame for frame in frames if "/torch/" not in frame[0]]
    if not frames:
        return "(no line is known)"
    file, line, text = (own or frames)[-1]
    return f"{file}:{line}: {text.strip()}"


class Converter(Builder):
    """Converts node after node. Reasons against are gathered, so that all are told at once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.values: Dict[FxNode, Any] = {}
        self.problems: List[str] = []
        self._wanted = ""
        self._node: Optional[FxNode] = None
        self._small: Dict[Any, Value] = {}
        self._makers: Dict[int, Node] = {}
        self._sizes: Dict[Any, Value] = {}

    # ---- what rules ask for

    def emit_many(self, op: str, operands: Sequence[Operand], types: Sequence[Tuple[torch.dtype, Sequence[Dim]]], /, **attributes: Any) -> List[Value]:  # fmt: skip
        if op == "dim_value" and attributes["dim"] in self._sizes:
            return [self._sizes[attributes["dim"]]]
        results = [Value(dtype, tuple(shape)) for dtype, shape in types]
        for result in results:
            if result.dtype not in dtype_names:
                raise Unsupported(f"{result.dtype} is no dtype of graphs")
        self.graph.nodes.append(Node(op, list(operands), results, attributes, self._node.name if self._node else ""))
        if op == "dim_value":
            self._sizes[attributes["dim"]] = results[0]
        self._makers.update((id(result), self.graph.nodes[-1]) for result in results)
        return results

    def emit(self, op: str, operands: Sequence[Operand], dtype: torch.dtype, shape: Sequence[Dim], /, **attributes: Any) -> Value:
        return self.emit_many(op, operands, [(dtype, shape)], **attributes)[0]

    def source(self, value: Value, op: str) -> Optional[Tuple[Value, Dict[str, Any]]]:
        node = self._makers.get(id(value))
        if node is None or node.op != op or not isinstance(node.operands[0], Value):
            return None
        return node.operands[0], node.attributes

    def is_counting(self, value: Value) -> bool:
        node = self._makers.get(id(value))
        return node is not None and node.op == "iota" and all(node.attributes.get(name, 0) >= 0 for name in ("start", "step"))

    def constant(self, tensor: torch.Tensor, wanted: str) -> Value:
        key = (tensor.dtype, tuple(tensor.shape), str(tensor.tolist())) if tensor.numel() < 16 else None
        if key is not None and key in self._small:
            return self._small[key]
        value = self.graph.constant(tensor, wanted)
        if key is not None:
            self._small[key] = value
        return value

    def wants(self, result: int) -> bool:
        assert self._node is not None
        return any(user.target is not operator.getitem or user.args[1] == result for user in self._node.users)

    # ---- nodes

    def convert(self, node: FxNode, wanted: str) -> None:
        """One call of a function; its result gets the name that is wanted, those on the way that with an addition."""
        if is_size(node) or is_assertion(node):
            return
        self._node, self._wanted = node, wanted
        nodes_before = len(self.graph.nodes)
        try:
            result = self._converted(node)
        except Unsupported as problem:
            del self.graph.nodes[nodes_before:]
            self.problems.append(f"{name_of(node.target) or node.target}: {problem}\n    {line_of(node)}")
            result = _stand_in(node.meta.get("val"))
        self.values[node] = result
        self._name(result, nodes_before)

    def _converted(self, node: FxNode) -> Any:
        arguments, keywords = self._mapped(node.args), self._mapped(node.kwargs)
        if node.target is operator.getitem:
            picked = arguments[0][arguments[1]]
            if picked is None and node.users:
                raise Unsupported("this result of the operator")
            return picked
        if is_same(node):
            return arguments[0]
        name = name_of(node.target)
        rule = rule_of(name)
        if rule is None:
            raise Unsupported(REFUSED.get(name) or REFUSED.get(name.split(".")[0]) or "kgen has no such operator")
        keywords = {name: value for name, value in keywords.items() if name not in _placing}
        out = _outline(node.meta["val"])
        try:
            return rule(self, out, *arguments, **keywords)
        except TypeError as error:
            if "argument" in str(error):
                raise Unsupported(f"arguments in this form ({error})") from None
            raise

    def _mapped(self, argument: Any) -> Any:
        if isinstance(argument, FxNode):
            return self.values[argument] if argument in self.values else extent_of(argument.meta["val"])
        if isinstance(argument, (list, tuple)):
            return type(argument)(self._mapped(item) for item in argument) if type(argument) in (list, tuple) else [
                self._mapped(item) for item in argument
            ]
        if isinstance(argument, dict):
            return {name: self._mapped(item) for name, item in argument.items()}
        return extent_of(argument) if isinstance(argument, torch.SymInt) else argument

    def _name(self, result: Any, nodes_before: int) -> None:
        assert self._node is not None
        place = self._wanted.removesuffix(op_of(self._node))
        last = [value for value in (result if isinstance(result, tuple) else (result,)) if isinstance(value, Value)]
        for value in last:
            if not value.name:
                value.name = self.graph.names.new(self._wanted)
        for node in self.graph.nodes[nodes_before:]:
            for value in node.results:
                if not value.name:
                    value.name = self.graph.names.new(f"{place}_{node.op}")

    def output(self, value: Value, wanted: str) -> Value:
        """The value as a result of the graph of its own: inputs, constants and what is a result already are copied."""
        computed = any(value in node.results for node in self.graph.nodes)
        if computed and value not in self.graph.outputs and value not in (state.following for state in self.graph.states):
            return value
        copy = self.emit("copy", [value], value.dtype, value.shape)
        copy.name = self.graph.names.new(wanted)
        return copy

    def require_no_problems(self, what: str) -> None:
        if self.problems:
            unique = list(dict.fromkeys(self.problems))
            raise ExportError(f"{what} cannot be written as a graph:\n" + "\n".join(f"- {problem}" for problem in unique))


_placing = {"device", "layout", "pin_memory", "memory_format", "dtype", "generator", "non_blocking", "implicit"}


def _outline(example: Any) -> Any:
    """The result as PyTorch has it: dtype and shape."""
    if isinstance(example, (list, tuple)):
        return tuple(_outline(item) for item in example)
    return Value(example.dtype, extents_of(example)) if isinstance(example, torch.Tensor) else None


def _stand_in(example: Any) -> Any:
    outline = _outline(example)
    for value in outline if isinstance(outline, tuple) else (outline,):
        if value is not None:
            value.name = "unknown"
    return outline


def add_dims(graph: Graph, tensors: Sequence[Any], names: Mapping[Any, str], promised: Mapping[Any, Any] = MappingProxyType({})) -> None:  # fmt: skip
    """Extents of inputs as dims: symbols that are an extent by themselves first, and then what stands for those that are not.
    `promised`: ranges of symbols that an export says."""
    extents = [extent for tensor in tensors for extent in tensor.shape if isinstance(extent, torch.SymInt)]
    for extent in sorted(extents, key=lambda each: not getattr(each.node.expr, "is_Symbol", False)):
        size = extent_of(extent)
        if not isinstance(size, int) and not graph.has_form(size):
            graph.dim(size, names.get(size) or f"D{len(graph.dims)}", range_of_size(extent, promised))


def range_of_size(size: torch.SymInt, promised: Mapping[Any, Any] = MappingProxyType({})) -> Tuple[int, int]:
    """PyTorch's range of a size, with an end. While it traces it takes all sizes for 2 or more; what an export then promises of a
    symbol is what was asked for."""
    known: Any = size.node.shape_env
    bounds: Any = promised.get(size.node.expr) or known.bound_sympy(size.node.expr)
    low = int(bounds.lower) if getattr(bounds.lower, "is_Integer", False) else 0
    is_open = not getattr(bounds.upper, "is_Integer", False) or int(bounds.upper) > DEFAULT_GREATEST
    return max(low, 0), DEFAULT_GREATEST if is_open else int(bounds.upper)


def is_same(node: FxNode) -> bool:
    """Whether as_strided gives what it is given, in the same order: PyTorch writes it to say how a result lies in memory."""
    if node.op != "call_function" or name_of(node.target) != "as_strided.default" or not isinstance(node.args[0], FxNode):
        return False
    given, result = node.args[0].meta.get("val"), node.meta.get("val")
    if not isinstance(given, torch.Tensor) or not isinstance(result, torch.Tensor) or extents_of(given) != extents_of(result):
        return False
    offset = node.args[3] if len(node.args) > 3 else None
    strides = zip(extents_of(given), *([extent_of(each) for each in one.stride()] for one in (given, result)))
    return offset in (None, 0) and all(extent == 1 or one == other for extent, one, other in strides)


def path_of(node: FxNode) -> Optional[str]:
    """The module that a node belongs to: "layers.3.attention.wq"; "" for the outermost."""
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return None
    path = list(stack.values())[-1][0]
    path = re.sub(r"^(L\['self'\]\.?|L__self___?|_orig_mod\.?)", "", str(path))
    return "" if "hook" in path or "(" in path else path.replace("._modules", "").replace("['", ".").replace("']", "")
