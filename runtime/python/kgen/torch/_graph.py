"""A graph in the making: typed values, nodes, constants; and its text."""

from __future__ import annotations

import json
import keyword
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import sympy  # type: ignore[import-untyped, unused-ignore]
import torch
from torch.utils._sympy.functions import CleanDiv, FloorDiv

from .._errors import Error
from .._files import replacing

Dim = Union[int, sympy.Expr]

dtype_names: Dict[torch.dtype, str] = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float8_e4m3fn: "f8e4m3",
    torch.float8_e5m2: "f8e5m2",
    torch.float8_e4m3fnuz: "f8e4m3fnuz",
    torch.float8_e5m2fnuz: "f8e5m2fnuz",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.uint8: "u8",
    torch.uint16: "u16",
    torch.uint32: "u32",
    torch.uint64: "u64",
    torch.bool: "bool",
}

_reserved = set(keyword.kwlist) | set(
    "alignas alignof and_eq asm auto bitand bitor bool case catch char class compl concept const constexpr decltype default "
    "delete do double enum explicit export extern false float friend goto inline int long mutable namespace new noexcept "
    "not_eq nullptr operator or_eq private protected public register requires short signed sizeof static struct switch "
    "template this throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t xor xor_eq "
    "null yes no on off".split()
)


class ExportError(Error):
    """What PyTorch computes cannot be written as a graph; the message lists every reason, with its line of the module."""


class Unsupported(Exception):
    """Of one operator: why it cannot be written."""


@dataclass(eq=False)
class Value:
    """A tensor of the graph. Named at the end, when all are known."""

    dtype: torch.dtype
    shape: Tuple[Dim, ...]
    name: str = ""

    @property
    def rank(self) -> int:
        return len(self.shape)


Operand = Union[Value, int, float, bool, None]


@dataclass
class Node:
    """An operator of the graph."""

    op: str
    operands: List[Operand]
    results: List[Value]
    attributes: Dict[str, Any] = field(default_factory=dict)
    origin: str = ""
    """The node of torch.fx that it was written for."""


@dataclass
class SymbolicDim:
    """A dim of the graph; `source`: the input that it is read from, where it is no extent."""

    name: str
    low: int
    high: int
    source: str = ""


@dataclass
class Constant:
    """Numbers, or a tensor in the file. Of a state, neither: zero."""

    value: Value
    key: Optional[str]
    numbers: Tuple[str, ...] = ()


@dataclass
class State(Constant):
    """What a buffer begins as, and the value that it holds after a call."""

    following: Optional[Value] = None


def extents_of(tensor: torch.Tensor) -> Tuple[Dim, ...]:
    """The shape, symbolic extents as expressions of sympy."""
    return tuple(extent_of(extent) for extent in tensor.shape)


def extent_of(extent: Any) -> Dim:
    """A size as a number or an expression."""
    if isinstance(extent, torch.SymInt):
        expression = extent.node.expr
        return int(expression) if expression.is_number else expression
    if isinstance(extent, (torch.SymFloat, torch.SymBool)):
        raise Unsupported("it goes by a number that follows from sizes or data, and is no size")
    if isinstance(extent, sympy.Expr):
        return int(extent) if extent.is_number else extent
    return int(extent)


def dim_text(dim: Dim, names: Dict[sympy.Expr, str]) -> str:
    """As graphs write it, where `names` has the texts of symbols and of what else is known. Raises Unsupported for what they
    have no form of."""
    if isinstance(dim, int) or dim.is_Integer:
        return str(int(dim))
    if dim in names:
        return names[dim]
    if dim.is_Symbol:
        raise Unsupported(f"the size {dim} is no extent of an input: it follows from data")
    if isinstance(dim, (FloorDiv, CleanDiv)):
        over, under = (_in_brackets(part, names) for part in dim.args)
        return f"{over} / {under}"
    if dim.is_Add:
        terms = sorted(dim.args, key=lambda term: (term.is_number, str(term)))
        text = ""
        for term in terms:
            negative = term.could_extract_minus_sign()
            part = dim_text(-term if negative else term, names)
            text += (" - " if negative else " + ") + part if text else (f"0 - {part}" if negative else part)
        return text
    if dim.is_Mul:
        return "*".join(_in_brackets(part, names) for part in sorted(dim.args, key=lambda part: not part.is_number))
    if dim.is_Pow and dim.args[1].is_Integer and 0 < int(dim.args[1]) < 5:
        return "*".join([_in_brackets(dim.args[0], names)] * int(dim.args[1]))
    raise Unsupported(f"the size {dim} has no form in graphs")


def _in_brackets(dim: Any, names: Dict[sympy.Symbol, str]) -> str:
    text = dim_text(dim, names)
    return text if re.fullmatch(r"\w+", text) else f"({text})"


class Names:
    """Names of C, each given once."""

    def __init__(self) -> None:
        self._used: Dict[str, int] = {}

    def new(self, wanted: str) -> str:
        base = re.sub(r"[^0-9A-Za-z_]+", "_", wanted).strip("_") or "value"
        if base[0].isdigit() or base in _reserved:
            base = "v_" + base if base[0].isdigit() else base + "_"
        base = re.sub(r"__+", "_", base)
        name = base
        while name in self._used:
            self._used[base] += 1
            name = f"{base}_{self._used[base] + 1}"
        self._used[name] = 0
        return name


class Graph:
    """Values by name, as they come."""

    def __init__(self, name: str, doc: str = "", numerics: str = "fast") -> None:
        self.name = Names().new(name)
        self.doc = doc
        self.numerics = numerics
        self.names = Names()
        self.dims: List[SymbolicDim] = []
        self._sizes: Dict[sympy.Expr, str] = {}
        self.inputs: List[Value] = []
        self.constants: List[Constant] = []
        self.weights: Dict[str, torch.Tensor] = {}
        self.states: List[State] = []
        self.nodes: List[Node] = []
        self.outputs: List[Value] = []

    def dim(self, size: sympy.Expr, wanted: str, limits: Tuple[int, int], source: str = "") -> None:
        """A new dim: the only symbol of the size that is not known, where the size is a multiple of it, or more by a number; else the
        size, and with it the symbol that it follows from."""
        unknown = [symbol for symbol in size.free_symbols if symbol not in self._sizes]
        slope, rest = self._line_of(size, unknown[0]) if len(unknown) == 1 else (0, 0)
        if not source and slope and isinstance(rest, int):
            inner = re.fullmatch(r"(?:\d+\*)?([^\W\d]\w*)(?: [+-] \d+)?", wanted)
            name = self.names.new(inner[1] if inner else wanted)
            self.dims.append(SymbolicDim(name, max(0, -((rest - limits[0]) // slope)), (limits[1] - rest) // slope))
            self._sizes[unknown[0]] = name
            return
        name = self.names.new(wanted)
        self.dims.append(SymbolicDim(name, *limits, source))
        self._sizes[size] = name
        if slope and self.has_form(rest):
            less = name if rest == 0 else f"({name} - {_in_brackets(rest, self._sizes)})"
            self._sizes[unknown[0]] = less if slope == 1 else f"{less} / {slope}"

    @staticmethod
    def _line_of(size: sympy.Expr, symbol: sympy.Symbol) -> Tuple[int, Dim]:
        """How many times the size has the symbol, and what it is beside that; 0 times where it is no such sum."""
        if not size.is_polynomial(symbol):
            return 0, 0
        slope, rest = size.coeff(symbol, 1), size.coeff(symbol, 0)
        if not slope.is_Integer or slope <= 0 or sympy.expand(slope * symbol + rest - size) != 0:
            return 0, 0
        return int(slope), int(rest) if rest.is_Integer else rest

    def takes_size(self, size: Dim, wanted: str, limits: Tuple[int, int]) -> bool:
        """Whether a size that is passed as a number becomes an input: where nothing else says it."""
        if isinstance(size, int) or self.has_form(size):
            return False
        self.inputs.append(Value(torch.int64, (), self.names.new(wanted)))
        self.dim(size, f"D{len(self.dims)}", limits, self.inputs[-1].name)
        return True

    def has_form(self, size: Dim) -> bool:
        try:
            self.text_of(size)
        except Unsupported:
            return False
        return True

    def value(self, tensor: torch.Tensor, wanted: str) -> Value:
        """A named value of the type of a tensor."""
        if tensor.dtype not in dtype_names:
            raise Unsupported(f"{tensor.dtype} is no dtype of graphs")
        return Value(tensor.dtype, extents_of(tensor), self.names.new(wanted))

    def constant(self, tensor: torch.Tensor, wanted: str, key: Optional[str] = None) -> Value:
        """A constant: in the file of weights under `key`, or its numbers where it has few and no key."""
        result = self.value(tensor, wanted)
        if key is None and tensor.numel() <= 16:
            self.constants.append(Constant(result, None, numbers_of(tensor)))
            return result
        key = key or result.name
        self.weights[key] = tensor
        self.constants.append(Constant(result, key))
        return result

    def state(self, tensor: torch.Tensor, wanted: str) -> Value:
        """A state that begins as the tensor is: zero, one number, or what lies in the file of weights under its name."""
        result = self.value(tensor, wanted)
        bits = tensor.detach().cpu().contiguous().reshape(-1, 1).view(torch.uint8)
        if not bits.any():
            self.states.append(State(result, None))
        elif torch.equal(bits, bits[:1].expand(bits.shape)):
            self.states.append(State(result, None, numbers_of(tensor.flatten()[:1])))
        else:
            self.weights[wanted] = tensor
            self.states.append(State(result, wanted))
        return result

    def _constant_text(self, constant: Constant) -> str:
        parts = [f"type: {json.dumps(self.type_of(constant.value))}"]
        if isinstance(constant, State) and constant.following:
            parts.append(f"next: {constant.following.name}")
        if constant.key is not None:
            parts.append(f"file: {json.dumps(self.name + '.safetensors')}, key: {json.dumps(constant.key)}")
        elif not isinstance(constant, State):
            parts.append(f"values: [{', '.join(constant.numbers)}]")
        elif constant.numbers:
            parts.append(f"values: {constant.numbers[0]}")
        return f"{constant.value.name}: {{{', '.join(parts)}}}"

    def type_of(self, value: Value) -> str:
        return f"{dtype_names[value.dtype]}[{', '.join(self.text_of(dim) for dim in value.shape)}]"

    def text_of(self, dim: Dim) -> str:
        return dim_text(dim, self._sizes)

    def _dim_text(self, dim: SymbolicDim) -> str:
        limits = f"{dim.low}..{dim.high}"
        return f"{dim.name}: {{range: {limits}, from: {dim.source}}}" if dim.source else f"{dim.name}: {limits}"

    def origin_at(self, line: int) -> str:
        """The origin of the node that stands on this line of the text, counted from 1."""
        place = line - self.text().splitlines().index("nodes:") - 2
        return self.nodes[place].origin if 0 <= place < len(self.nodes) else ""

    def text(self) -> str:
        """The file."""
        lines = [f"graph: {self.name}"]
        if self.doc:
            lines.append(f"doc: {json.dumps(self.doc)}")
        if self.numerics != "fast":
            lines.append(f"numerics: {json.dumps(self.numerics)}")
        if self.dims:
            lines.append("dims:")
            lines += [f"  {self._dim_text(dim)}" for dim in self.dims]
        if self.inputs:
            lines += ["inputs:", *(f"  {value.name}: {json.dumps(self.type_of(value))}" for value in self.inputs)]
        if self.constants:
            lines += ["constants:", *(f"  {self._constant_text(constant)}" for constant in self.constants)]
        if self.states:
            lines += ["state:", *(f"  {self._constant_text(state)}" for state in self.states)]
        lines += ["nodes:", *(self._node_text(node) for node in self.nodes)]
        lines.append(f"outputs: [{', '.join(json.dumps(value.name) for value in self.outputs)}]")
        return "\n".join(lines) + "\n"

    def _node_text(self, node: Node) -> str:
        operands = [_operand_text(operand) for operand in node.operands]
        results = [json.dumps(result.name) if len(result.name) == 1 else result.name for result in node.results]
        parts = [f"op: {node.op}", f"in: {_one_or_list(operands)}", f"out: {_one_or_list(results)}"]
        parts += [f"{key}: {self._attribute_text(value)}" for key, value in node.attributes.items()]
        return f"- {{{', '.join(parts)}}}"

    def _attribute_text(self, value: Any) -> str:
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(self._attribute_text(item) for item in value)}]"
        if isinstance(value, torch.dtype):
            return dtype_names[value]
        if isinstance(value, str):
            return value
        if isinstance(value, (bool, float)):
            return number_text(value)
        return self.text_of(value)

    def _drop_unread(self) -> None:
        """Nodes whose results nothing reads: views that others were made of without them."""
        read = {id(value) for value in self.outputs} | {id(state.following) for state in self.states}
        kept = []
        for node in reversed(self.nodes):
            if any(id(result) in read for result in node.results):
                kept.append(node)
                read |= {id(operand) for operand in node.operands}
        self.nodes = kept[::-1]
        self.constants = [constant for constant in self.constants if id(constant.value) in read]
        keys = {constant.key for constant in [*self.constants, *self.states]}
        self.weights = {key: tensor for key, tensor in self.weights.items() if key in keys}

    def write(self, path: Path) -> None:
        """The file. What lies in `weights` then has its place beside it: write_weights."""
        self._drop_unread()
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(self.text().encode())


def write_weights(folder: Path, graph: str, weights: Mapping[str, torch.Tensor]) -> List[Path]:
    """The file of a graph's weights, where it has any."""
    if not weights:
        return []
    path = folder / f"{graph}.safetensors"
    write_safetensors(path, weights)
    return [path]


def numbers_of(tensor: torch.Tensor) -> Tuple[str, ...]:
    return tuple(number_text(number) for number in tensor.detach().cpu().flatten().tolist())


def _operand_text(operand: Operand) -> str:
    if operand is None:
        return "~"
    if isinstance(operand, Value):
        return json.dumps(operand.name) if len(operand.name) == 1 else operand.name
    return number_text(operand)


def _one_or_list(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def number_text(number: Union[int, float, bool]) -> str:
    """As YAML 1.2 has it."""
    if isinstance(number, bool):
        return "true" if number else "false"
    if isinstance(number, float):
        if math.isnan(number):
            return ".nan"
        if math.isinf(number):
            return ".inf" if number > 0 else "-.inf"
    return repr(number)


_file_names = {
    "f64": "F64", "f32": "F32", "f16": "F16", "bf16": "BF16", "f8e4m3": "F8_E4M3", "f8e5m2": "F8_E5M2",
    "f8e4m3fnuz": "F8_E4M3FNUZ", "f8e5m2fnuz": "F8_E5M2FNUZ", "i8": "I8", "i16": "I16", "i32": "I32", "i64": "I64",
    "u8": "U8", "u16": "U16", "u32": "U32", "u64": "U64", "bool": "BOOL",
}  # fmt: skip


def write_safetensors(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """https://github.com/huggingface/safetensors#format"""
    header: Dict[str, Any] = {}
    offset = 0
    for name, tensor in tensors.items():
        size = tensor.numel() * tensor.element_size()
        dtype = _file_names[dtype_names[tensor.dtype]]
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with replacing(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            flat = tensor.detach().cpu().contiguous().flatten()
            if flat.numel():
                file.write(flat.view(torch.uint8).numpy().tobytes())
