"""A graph of torch.fx in ATen's operators, operator by operator, as a graph of kgen."""

from __future__ import annotations

import hashlib
import operator
import re
from types import MappingProxyType
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import sympy  # type: ignore[import-untyped, unused-ignore]
import torch
from torch.fx import Node as FxNode

from . import _aten_attention, _aten_memory, _aten_signs, _aten_windows  # noqa: F401  (their rules)
from ._aten import Builder, rule_of
from ._aten_complex import DTYPES as COMPLEX_DTYPES
from ._aten_complex import Complex, complex_rule_of, is_complex, part_of
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


def _kinds_of(target: Any) -> Dict[str, str]:
    """The types of an operator's arguments by name: "int" of sizes, "number" of numbers."""
    schema = getattr(target, "_schema", None)
    return {each.name: str(each.type) for each in schema.arguments} if schema is not None else {}


def is_item(node: FxNode) -> bool:
    """Whether a node is x.item()."""
    return name_of(node.target) in ("_local_scalar_dense.default", "item.default")


def is_assertion(node: FxNode) -> bool:
    """What checks sizes; the runtime checks ranges itself."""
    return not node.users and (not isinstance(node.meta.get("val"), torch.Tensor)) and "assert" in str(node.target)


def is_check(node: FxNode) -> bool:
    """Whether a node only checks something, in the order of effects (as torch.linalg.inv does that it could), or passes that order on."""
    if node.target is operator.getitem and isinstance(node.args[0], FxNode):
        return is_check(node.args[0])
    if node.target is not torch.ops.higher_order.with_effects:
        return False
    checked: Any = node.args[1]
    return not checked._schema.returns and re.search("assert|check", name_of(checked)) is not None


def is_known(node: FxNode) -> bool:
    """Whether there is a rule, by the operator's name alone."""
    if node.op != "call_function":
        return node.op in ("placeholder", "output", "get_attr")
    name = name_of(node.target)
    return is_size(node) or is_assertion(node) or node.target is operator.getitem or bool(rule_of(name) or complex_rule_of(name))


def line_of(node: FxNode) -> str:
    """The line of the user's module that a node comes from: "model.py:12: y = f(x)"."""
    return line_in(node.meta.get("stack_trace") or "")


def line_in(trace: str) -> str:
    """The innermost line in a trace that is not PyTorch's own."""
    frames = re.findall(r'File "([^"]+)", line (\d+), in [^\n]+\n\s*([^\n]*)', trace)
    own = [frame for frame in frames if "/torch/" not in frame[0]]
    if not frames:
        return "(no line is known)"
    file, line, text = (own or frames)[-1]
    return f"{file}:{line}: {text.strip()}"


class Converter(Builder):
    """Converts node after node. Reasons against are gathered, so that all are told at once."""

    def __init__(self, graph: Graph, is_unfused: bool = False) -> None:
        self.graph = graph
        self.is_unfused = is_unfused
        self.values: Dict[FxNode, Any] = {}
        self.problems: List[str] = []
        self._wanted = ""
        self._node: Optional[FxNode] = None
        self._constants: Dict[Any, Value] = {}
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
        bits = tensor.contiguous().reshape(-1, 1).view(torch.uint8).numpy().tobytes()
        key = (tensor.dtype, tuple(tensor.shape), hashlib.sha256(bits).digest())
        if key not in self._constants:
            self._constants[key] = self.graph.constant(tensor, wanted)
        return self._constants[key]

    def strides_of_first(self) -> Optional[Sequence[Dim]]:
        assert self._node is not None and isinstance(self._node.args[0], FxNode)
        example = self._node.args[0].meta["val"]
        size: Any = extent_of(example.untyped_storage().nbytes()) - extent_of(example.numel() * example.element_size())
        is_whole = sympy.simplify(size) == 0 and extent_of(example.storage_offset()) == 0
        return [extent_of(each) for each in example.stride()] if is_whole else None

    def wants(self, result: int) -> bool:
        assert self._node is not None
        return any(user.target is not operator.getitem or user.args[1] == result for user in self._node.users)

    # ---- nodes

    def convert(self, node: FxNode, wanted: str) -> None:
        """One call of a function; its result gets the name that is wanted, those on the way that with an addition."""
        if is_assertion(node) or is_check(node) or (is_size(node) and not is_item(node)):
            return
        self._node, self._wanted = node, wanted
        nodes_before = len(self.graph.nodes)
        try:
            result = self._converted(node)
        except Unsupported as problem:
            del self.graph.nodes[nodes_before:]
            self.problems.append(f"{name_of(node.target) or node.target}: {problem}\n    {line_of(node)}")
            result = stand_in(node.meta.get("val"))
        self.values[node] = result
        self._name(result, nodes_before)

    def _converted(self, node: FxNode) -> Any:
        kinds = _kinds_of(node.target)
        arguments = [self._mapped(each, "int" in kind) for each, kind in zip(node.args, [*kinds.values(), *[""] * len(node.args)])]
        keywords = {name: self._mapped(each, "int" in kinds.get(name, "")) for name, each in node.kwargs.items()}
        if node.target is operator.getitem:
            picked = arguments[0][arguments[1]]
            if picked is None and node.users:
                raise Unsupported("this result of the operator")
            return picked
        if is_same(node):
            return arguments[0]
        if is_item(node):  # a number that Python has from a tensor; nothing waits for it here
            return self.reshape(arguments[0], ()) if isinstance(arguments[0], Value) else arguments[0]
        name = name_of(node.target)
        out = _outline(node.meta["val"])
        of_complex = is_complex((out, *arguments, *keywords.values()))
        rule = complex_rule_of(name) if of_complex else rule_of(name)
        if rule is None:
            reason = "kgen has no such operator" + (" of complex numbers" if of_complex else "")
            raise Unsupported(REFUSED.get(name) or REFUSED.get(name.split(".")[0]) or reason)
        keywords = {name: value for name, value in keywords.items() if name not in _placing}
        try:
            return rule(self, part_of(out), *arguments, **keywords)
        except TypeError as error:
            if "argument" in str(error):
                raise Unsupported(f"arguments in this form ({error})") from None
            raise

    def _mapped(self, argument: Any, is_of_size: bool) -> Any:
        """As rules take it: what of an operator is a size stays one, though it is a number of a tensor."""
        if isinstance(argument, FxNode):
            if argument in self.values and not (is_of_size and is_item(argument)):
                return self.values[argument]
            if "val" not in argument.meta:
                raise Unsupported("graphs have no graph within the graph, as torch.cond and its like make")
            return extent_of(argument.meta["val"])
        if isinstance(argument, (list, tuple)):
            mapped = [self._mapped(item, is_of_size) for item in argument]
            return tuple(mapped) if type(argument) is tuple else mapped
        if isinstance(argument, dict):
            return {name: self._mapped(item, is_of_size) for name, item in argument.items()}
        return extent_of(argument) if isinstance(argument, torch.SymInt) else argument

    def _name(self, result: Any, nodes_before: int) -> None:
        assert self._node is not None
        place = self._wanted.removesuffix(op_of(self._node))
        for value in result if isinstance(result, tuple) else (result,):
            parts = [(value, "")] if isinstance(value, Value) else []
            if isinstance(value, Complex):
                parts = [(value.real, "_real"), (value.imag, "_imag")]
            for part, which in parts:
                part.name = part.name or self.graph.names.new(self._wanted + which)
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


def stand_in(example: Any) -> Any:
    """What the operator would have made, so that those behind it are looked at."""
    if isinstance(example, (list, tuple)):
        return tuple(stand_in(one) for one in example)
    if not isinstance(example, torch.Tensor):
        return None
    if example.dtype in COMPLEX_DTYPES:
        return Complex(*(Value(COMPLEX_DTYPES[example.dtype], extents_of(example), "unknown") for _ in range(2)))
    return Value(example.dtype, extents_of(example), "unknown")


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
