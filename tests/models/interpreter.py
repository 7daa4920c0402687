"""Computes a graph.yaml by the definitions of tests/random (composites.py), in f64: nothing is planned or built, so that what
kgen.from_torch and the backend write can be compared with PyTorch for many models in little time."""

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from safetensors import safe_open

TESTS = Path(__file__).resolve().parent.parent
sys.path += [str(TESTS / "random"), str(TESTS / "conformance"), str(TESTS / "examples")]
import composites  # noqa: E402
import evaluate  # noqa: E402
import number_formats  # noqa: E402
import specs  # noqa: E402
from dims import Dim  # noqa: E402
from enclosure import Exact, Value, exactly, mid  # noqa: E402
from graph import Body, Constant, Graph, Input, Node, State, Type  # noqa: E402

OPERATORS = specs.load(TESTS.parent / "specs" / "ops")
DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
    "bool": torch.bool,
}
NOT_ATTRIBUTES = {"op", "call", "in", "out", "repeat"}


class Interpreted(evaluate.Model):
    """A graph.yaml, to be called with PyTorch's tensors as a model of kgen.load is."""

    def __init__(self, path: Path) -> None:
        self.read = yaml.load(path.read_text(), Loader=Yaml12)
        self.folder = self.source = path.parent
        self.input_names = list(self.read.get("inputs") or {})
        super().__init__(Graph(self.read["graph"], numerics="match_unfused"), OPERATORS, {})
        self.files: dict[str, Any] = {}

    def __call__(self, *given: Any, out: Any = None) -> Any:
        tensors = tuple(each if isinstance(each, torch.Tensor) else torch.tensor(each) for each in given)
        sizes = self.sizes_of(tensors)
        self.graph.functions = {name: body_of(each, sizes) for name, each in (self.read.get("functions") or {}).items()}
        self.graph.main = body_of(self.read, sizes)
        self.counted: dict[str, int] = {}
        values = {
            name: exactly(self.graph.main.inputs[name].type.dtype, array_of(one))
            for name, one in zip(self.input_names, tensors)
        }
        with np.errstate(all="ignore"):
            results = tuple(map(tensor_of, self.run_body(self.graph.main, 0, {}, values)))
        if out is not None:
            for one, place in zip(results, out if isinstance(out, tuple) else (out,)):
                place.copy_(one)
            return out
        return results[0] if len(results) == 1 else results

    def sizes_of(self, tensors: tuple[torch.Tensor, ...]) -> dict[str, int]:
        sizes: dict[str, int] = {}
        for name, tensor in zip(self.input_names, tensors, strict=True):
            dtype, extents = parts_of(self.read["inputs"][name])
            assert DTYPES[dtype] == tensor.dtype and len(extents) == tensor.dim(), (
                name,
                dtype,
                extents,
                tensor.dtype,
                tensor.shape,
            )
            sizes |= {text: extent for text, extent in zip(extents, tensor.shape) if text.isidentifier()}
        for name, entry in (self.read.get("dims") or {}).items():
            if isinstance(entry, dict):
                source, _, element = entry["from"].partition("[")
                held = tensors[self.input_names.index(source)]
                sizes[name] = int(held[int(element.rstrip("]"))] if element else held)
            limits = entry.get("range", f"0..{2**31 - 1}") if isinstance(entry, dict) else entry
            low, high = map(int, str(limits).split(".."))
            assert low <= sizes[name] <= high, (name, entry, sizes[name])
        for name, tensor in zip(self.input_names, tensors):
            assert list(tensor.shape) == [size(each, sizes) for each in parts_of(self.read["inputs"][name])[1]], name
        return sizes

    # ---- what evaluate.Model does, by what the values say of themselves

    def given(self, constant: Constant, index: int, sizes: dict[str, int]) -> Value:
        if constant.key:
            key = re.sub(r"\{index\+?(\d*)\}", lambda found: str(index + int(found[1] or 0)), constant.key)
            if key not in self.weights:
                self.weights[key] = array_of(self.file(constant.file).get_tensor(key))
            return exactly(constant.type.dtype, self.weights[key].reshape(evaluate.at(constant.type, {})))
        return super().given(constant, index, sizes)

    def file(self, name: str) -> Any:
        if name not in self.files:
            self.files[name] = safe_open(self.folder / name, "pt")
        return self.files[name]

    def run_call(self, node: Node, sizes: dict[str, int], values: dict[str, Value]) -> list[Value]:
        body = self.graph.functions[node.op]
        operands, results = [values[name] for name in node.inputs], []
        for _ in range(node.repeat):
            operands = results + operands[len(results) :]
            index = self.counted.get(node.op, 0)
            self.counted[node.op] = index + 1
            results = self.run_body(body, index, sizes, dict(zip(body.inputs, operands)))
        return results

    def run_node(self, node: Node, body: Body, sizes: dict[str, int], values: dict[str, Value]) -> list[Value]:
        op = self.operators[node.op]
        operands = [
            values[each]
            if isinstance(each, str)
            else each
            if each is None
            else composites.references.number_as(evaluate.number_dtype(op, node, position, values), each)
            for position, each in enumerate(node.inputs)
        ]
        results = composites.OPERATORS[op.name](operands, evaluate.attributes_of(op, node, operands, sizes))
        return [known(each, self.dtype_of(op, node, i, values) or each.dtype) for i, each in enumerate(results)]

    def dtype_of(self, op: specs.Operator, node: Node, result: int, values: dict[str, Value]) -> str:
        """That of the operands whose type the result has; "" where it has none's."""
        wanted = op.results[min(result, len(op.results) - 1)].type
        for i, each in enumerate(node.inputs):
            if isinstance(each, str) and op.operands[min(i, len(op.operands) - 1)].type == wanted:
                return values[each].dtype
        return ""


def known(value: Value, dtype: str) -> Value:
    """One that it may be: bounds would only grow from operator to operator. Of this dtype, in which it is stored."""
    if isinstance(value, Exact):
        return exactly(dtype, value.value)
    inner = np.where(np.isinf(value.lo), value.hi, value.lo)  # of bounds one of which went beyond the greatest number
    middle = np.where(np.isfinite(value.lo) & np.isfinite(value.hi), mid(value), inner)
    return exactly(dtype, number_formats.round_to(dtype, middle))


class Yaml12(yaml.SafeLoader):
    """Words and numbers as YAML 1.2 has them: `y`, `on` and the like are words, 1e-5 is a number."""


Yaml12.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in each if tag not in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:float")]
    for first, each in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Yaml12.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), list("tf"))
Yaml12.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^([-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?(?<=[.eE\d])(?=$)|[-+]?\.inf|\.nan)$"),
    list("-+.0123456789"),
)


def parts_of(entry: Any) -> tuple[str, list[str]]:
    """The dtype and the extents of a type: "f32[M, 4]"."""
    text = entry["type"] if isinstance(entry, dict) else entry
    dtype, _, rest = text.partition("[")
    return dtype, [each.strip() for each in rest.rstrip("]").split(",") if each.strip()]


def size(text: Any, sizes: dict[str, int]) -> Any:
    """The number that a size is."""
    return eval(str(text).replace("/", "//"), {"__builtins__": {}}, sizes)


def type_of(entry: Any, sizes: dict[str, int]) -> Type:
    dtype, extents = parts_of(entry)
    return Type(dtype, tuple(Dim.of(size(each, sizes)) for each in extents))


def body_of(read: dict[str, Any], sizes: dict[str, int]) -> Body:
    body = Body()
    for name, entry in (read.get("inputs") or {}).items():
        body.inputs[name] = Input(type_of(entry, sizes))
    for name, entry in (read.get("constants") or {}).items():
        body.constants[name] = constant_of(Constant, entry, sizes)
    for name, entry in (read.get("state") or {}).items():
        body.states[name] = constant_of(State, entry, sizes)
        body.states[name].next = entry["next"]
    for entry in read["nodes"]:
        inputs, outputs = (each if isinstance(each, list) else [each] for each in (entry.get("in", []), entry["out"]))
        attributes = {name: attribute(value, sizes) for name, value in entry.items() if name not in NOT_ATTRIBUTES}
        body.nodes.append(
            Node(entry.get("op") or entry["call"], inputs, outputs, attributes, "call" in entry, entry.get("repeat", 1))
        )
    outputs = read["outputs"]
    body.outputs = (
        list(outputs.values()) if isinstance(outputs, dict) else outputs if isinstance(outputs, list) else [outputs]
    )
    return body


def constant_of(kind: type, entry: Any, sizes: dict[str, int]) -> Any:
    if not isinstance(entry, dict):  # a number
        return kind(Type("f32", ()), entry)
    result = kind(type_of(entry, sizes), entry.get("values"), entry.get("key", ""))
    result.file = entry.get("file")
    return result


def attribute(value: Any, sizes: dict[str, int]) -> Any:
    if isinstance(value, list):
        return [attribute(each, sizes) for each in value]
    is_size = isinstance(value, str) and re.search(r"\W", value) or value in sizes
    return size(value, sizes) if is_size and re.fullmatch(r"[\w\s+*/()-]+", value) else value


def array_of(tensor: torch.Tensor) -> np.ndarray:
    tensor = tensor.detach()
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()


def tensor_of(value: Value) -> torch.Tensor:
    array = value.value if isinstance(value, Exact) else value.lo
    return torch.from_numpy(np.array(array, order="C")).to(DTYPES[value.dtype])
