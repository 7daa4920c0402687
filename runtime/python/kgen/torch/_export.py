"""kgen.from_torch: a PyTorch module as graph.yaml and safetensors."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.utils._pytree import tree_leaves

from .._files import scratch_folder
from .._load import load
from .._model import Model
from .._plan import PathLike, run_kgen
from ._aten_complex import Complex
from ._convert import Converter, add_dims, is_known, line_in, line_of, op_of, path_of, range_of_size, stand_in
from ._graph import ExportError, Graph, Unsupported, Value, extent_of, extents_of, write_weights


@dataclass(frozen=True)
class Exported:
    """A written graph."""

    graph: Path
    """The file, to be read and edited; its weights lie beside it."""
    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]

    def load(self, **options: Any) -> Model:
        """kgen.load of it."""
        return load(self.graph, **options)


def from_torch(
    module: Union[torch.nn.Module, ExportedProgram],
    example_inputs: Sequence[Any] = (),
    *,
    path: PathLike = "graph.yaml",
    name: Optional[str] = None,
    dynamic_shapes: Any = None,
    kwargs: Optional[Mapping[str, Any]] = None,
    numerics: str = "fast",
) -> Exported:
    """Writes what a module computes in inference as a graph, and its parameters as safetensors beside it.

    module           a torch.nn.Module, which torch.export exports, or an ExportedProgram
    example_inputs   what it is called with; `kwargs` by name
    path             the graph.yaml to write; its folder is made
    name             of the graph; by default of the file
    dynamic_shapes   which sizes are symbolic, as torch.export.export takes it: {"x": {0: Dim("B", max=8)}}
    numerics         what the graph says of rounding: "fast", or "match_unfused", rounded after every operator, as PyTorch does

    Names follow the module: the parameter `layers.3.wq.weight` is `layers_3_wq_weight`. Layers that do the same, one after
    the other, are written once, as a function that is called for each (`kgen import` finds them, as it does in models of
    ONNX), with weights and state of its own. Buffers that the module changes become state, which begins as they are.

    Raises ExportError, which lists every operator that kgen lacks with its line of the module.
    """
    target = Path(path)
    if target.suffix not in (".yaml", ".yml"):
        raise ValueError(f"path: '{target}' is no name of a graph; write '{target.with_suffix('.yaml')}'")
    if not isinstance(module, ExportedProgram):
        module = _exported(module, example_inputs, dict(kwargs or {}), dynamic_shapes)
    program = _decomposed(module)
    graph = _graph_of(program, name or target.stem, _dim_names(program, dynamic_shapes), numerics == "match_unfused")
    _write(graph, target, numerics)
    return Exported(target, tuple(v.name for v in graph.inputs), tuple(v.name for v in graph.outputs))


def _exported(module: Any, inputs: Sequence[Any], kwargs: Dict[str, Any], dynamic_shapes: Any) -> ExportedProgram:
    """In inference; whether the module and those in it train is afterwards as it was."""
    if not isinstance(module, torch.nn.Module):
        what = f"module: it is a {type(module).__name__}, expected a torch.nn.Module or an ExportedProgram"
        raise TypeError(f"{what}; kgen.torch.graph_op takes functions" if callable(module) else what)
    if not isinstance(inputs, (tuple, list)):
        remedy = "pass it as kwargs=" if isinstance(inputs, Mapping) else "pass (x,) for one tensor x"
        raise TypeError(f"example_inputs: it is a {type(inputs).__name__}, expected a tuple of what the module is called with; {remedy}")
    _require_strided(module, {**dict(enumerate(inputs)), **kwargs})
    training = [each for each in module.modules() if each.training]
    try:
        with torch.no_grad():
            return torch.export.export(module.eval(), tuple(inputs), kwargs, dynamic_shapes=dynamic_shapes, strict=False)
    except (GuardOnDataDependentSymNode, DataDependentOutputException) as problem:
        what = "the module cannot be written as a graph: its Python goes on by numbers that only a run knows; " \
            "write what they decide with torch.where, and a slice that begins at one with an index: cache[:, position] = x"
        raise ExportError(f"{what}\n    {line_in(str(problem))}\n{problem}") from problem
    finally:
        for each in training:
            each.training = True


def _require_strided(module: torch.nn.Module, inputs: Mapping[Any, Any]) -> None:
    """Of tensors whose elements are no single block of memory torch.export says nothing that a person could use."""
    problems = []
    leaves = [(f"example input {place!r}", leaf) for place, each in inputs.items() for leaf in tree_leaves(each)]
    for name, tensor in (*leaves, *((f"'{n}'", t) for n, t in (*module.named_parameters(), *module.named_buffers()))):
        if not isinstance(tensor, torch.Tensor):
            continue
        if tensor.is_nested:
            problems.append(f"- {name}: it is nested, expected one shape; pass torch.nested.to_padded_tensor(x, 0.0)")
        elif tensor.is_quantized:
            problems.append(f"- {name}: it is quantized by PyTorch; pass x.int_repr(), or x.dequantize()")
        elif tensor.layout != torch.strided:
            problems.append(f"- {name}: the layout is {tensor.layout}, expected torch.strided; pass x.to_dense()")
    if problems:
        raise ExportError("\n".join(["the module cannot be written as a graph:", *problems]))


def _write(graph: Graph, target: Path, numerics: str) -> None:
    """The file and its weights, whole: models that were loaded from those that lie there keep theirs."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(target.parent) as own:
        written = own / target.name
        graph.write(written)
        files = write_weights(own, graph.name, graph.weights)
        try:
            run_kgen(["import", str(written), "-o", str(written), "--quiet", "--color", "never"])  # layers are written once
        finally:  # an error speaks of the lines as they are
            if numerics != "fast":
                written.write_text(f"{written.read_text(encoding='utf-8')}numerics: {numerics}\n", encoding="utf-8")
            for file in (*files, written):
                file.replace(target.with_name(file.name))


def _decomposed(program: ExportedProgram) -> ExportedProgram:
    """Functional, and with PyTorch's decompositions for those operators that have no rule."""
    program = program.run_decompositions({})
    for _ in range(4):
        unknown = {node.target for node in program.graph.nodes if not is_known(node)}
        decompositions: Any = torch.export.default_decompositions()
        table = {op: rule for op, rule in decompositions.items() if op in unknown}
        if not table:
            break
        program = program.run_decompositions(table)
    return program


def _dim_names(program: ExportedProgram, dynamic_shapes: Any) -> Dict[Any, str]:
    """The names that the user gave to symbols, by torch.export.Dim."""
    user = [spec.arg.name for spec in program.graph_signature.input_specs if spec.kind == InputKind.USER_INPUT]
    examples = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    given = _specs_of(dynamic_shapes)
    if isinstance(dynamic_shapes, Mapping) and not set(dynamic_shapes) - set(user):
        given = [dynamic_shapes.get(name) for name in user]
    names: Dict[Any, str] = {}
    for name, spec in zip(user, given):
        example = examples.get(name)
        if not isinstance(example, torch.Tensor) or spec is None:
            continue
        dims = spec.items() if isinstance(spec, Mapping) else enumerate(spec)
        extents = extents_of(example)
        for axis, dim in dims:
            if getattr(dim, "__name__", None) and not isinstance(extents[axis], int):
                names.setdefault(extents[axis], str(dim.__name__))
    return names


def _specs_of(shapes: Any) -> List[Any]:
    """What is said of each tensor, in the order of the inputs: {axis: Dim}, None, or a list for all axes."""
    if isinstance(shapes, Mapping) and not any(isinstance(key, int) for key in shapes):
        return [spec for value in shapes.values() for spec in _specs_of(value)]
    if isinstance(shapes, (list, tuple)) and any(isinstance(item, (Mapping, list, tuple)) for item in shapes):
        return [spec for item in shapes for spec in _specs_of(item)]
    return [shapes]


def _graph_of(program: ExportedProgram, name: str, dim_names: Dict[Any, str], is_unfused: bool) -> Graph:
    graph = Graph(name)
    converter = Converter(graph, is_unfused)
    nodes = list(program.graph.nodes)
    placeholders = {node.name: node for node in nodes if node.op == "placeholder"}
    signature = program.graph_signature
    mutated = {spec.target: spec.arg.name for spec in signature.output_specs if spec.kind == OutputKind.BUFFER_MUTATION}
    users = [placeholders[spec.arg.name] for spec in signature.input_specs if _is_tensor_input(spec, placeholders)]
    add_dims(graph, [node.meta["val"] for node in users], dim_names, program.range_constraints)
    states = _add_inputs(program, converter, placeholders, mutated)
    for node in nodes:
        if node.op == "call_function":
            converter.convert(node, _wanted_name(node))
        elif node.op == "get_attr":
            converter.problems.append(f"get_attr {node.target}: a graph within the graph\n    {line_of(node)}")
    _add_outputs(program, converter, {node.name: node for node in nodes}, states)
    converter.require_no_problems("the module")
    _check_sizes(graph)
    return graph


def _is_tensor_input(spec: Any, placeholders: Dict[str, Any]) -> bool:
    if spec.kind != InputKind.USER_INPUT:
        return False
    return isinstance(placeholders[spec.arg.name].meta.get("val"), torch.Tensor)


def _add_inputs(
    program: ExportedProgram, converter: Converter, placeholders: Dict[str, Any], mutated: Mapping[str, str]
) -> Dict[str, Value]:
    """Inputs and weights; returns the states by their names in the module."""
    states: Dict[str, Value] = {}
    weights: Dict[Any, Any] = {}
    for spec in program.graph_signature.input_specs:
        node = placeholders.get(spec.arg.name)
        if spec.kind == InputKind.TOKEN:  # the order of effects
            continue
        if node is None or (not node.users and spec.kind != InputKind.USER_INPUT and spec.target not in mutated):
            continue
        try:
            if spec.kind == InputKind.USER_INPUT:
                _add_input(program, converter, node)
                continue
            if spec.kind not in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
                raise Unsupported(f"it is of the kind {spec.kind}")
            tensor = program.state_dict.get(spec.target)
            tensor = program.constants[spec.target] if tensor is None else tensor
            if spec.target in mutated:
                states[spec.target] = converter.values[node] = converter.graph.state(tensor, spec.target)
                continue
            identity = (tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.numel() == 0 and spec.target)
            if identity not in weights:
                weights[identity] = _constant(converter.graph, tensor, spec)
            converter.values[node] = weights[identity]
        except Unsupported as problem:
            what = f"input '{node.name}'" if spec.kind == InputKind.USER_INPUT else f"'{spec.target}'"
            converter.problems.append(f"{what}: {problem}")
            converter.values[node] = stand_in(node.meta.get("val"))
    return states


def _add_input(program: ExportedProgram, converter: Converter, node: Any) -> None:
    graph, example = converter.graph, node.meta.get("val")
    if isinstance(example, torch.Tensor):
        if example.is_complex():
            raise Unsupported(f"{example.dtype} is no dtype of graphs; pass it as torch.view_as_real has it")
        converter.values[node] = graph.value(example, node.name)
        graph.inputs.append(converter.values[node])
    elif isinstance(example, torch.SymInt):
        graph.takes_size(extent_of(example), node.name, range_of_size(example, program.range_constraints))


def _constant(graph: Graph, tensor: torch.Tensor, spec: Any) -> Any:
    """A parameter, or what else of the module does not change; complex ones in two parts."""
    if tensor.is_complex():
        parts = (("real", tensor.real), ("imag", tensor.imag.resolve_neg()))
        return Complex(*(graph.constant(part.contiguous(), f"{spec.target}_{name}", f"{spec.target}.{name}") for name, part in parts))
    is_small = spec.kind == InputKind.CONSTANT_TENSOR and tensor.numel() <= 16
    return graph.constant(tensor, spec.target, None if is_small else spec.target)


def _wanted_name(node: Any) -> str:
    """The module, and for all but its last operator the operator."""
    path = path_of(node)
    if not path:
        return re.sub(r"_(default|tensor|int|scalar)$", "", node.name)
    users = [reader for user in node.users for reader in (user.users if user.target is operator.getitem else [user])]
    is_last = bool(users) and all((path_of(user) or "") != path and not (path_of(user) or "").startswith(path + ".") for user in users)
    return path if is_last else f"{path}_{op_of(node)}"


def _add_outputs(program: ExportedProgram, converter: Converter, nodes: Dict[str, Any], states: Dict[str, Value]) -> None:
    graph = converter.graph
    count = 0
    for spec in program.graph_signature.output_specs:
        if spec.kind == OutputKind.BUFFER_MUTATION:
            following = converter.values.get(nodes[spec.arg.name])
            if isinstance(following, Value):
                state = next(each for each in graph.states if each.value is states[spec.target])
                state.following = converter.output(following, spec.target + "_next")
        elif spec.kind == OutputKind.USER_OUTPUT:
            name = getattr(spec.arg, "name", None)
            value = converter.values.get(nodes[name]) if name in nodes else None
            if isinstance(spec.arg, ConstantArgument) and spec.arg.value is None:
                pass  # as models return what they were not asked for
            elif isinstance(value, Complex):
                converter.problems.append(f"result {count} of the module is complex, as no output of a graph is; return torch.view_as_real(it)")
            elif not isinstance(value, Value):
                converter.problems.append(f"result {count} of the module is no tensor")
            else:
                graph.outputs.append(converter.output(value, f"output_{count}"))
            count += 1
        elif spec.kind != OutputKind.TOKEN:
            converter.problems.append(f"the module changes '{spec.target}', which is not a buffer ({spec.kind.name})")


def _check_sizes(graph: Graph) -> None:
    """Of sizes that graphs have no form of."""
    try:
        graph.text()
    except Unsupported as problem:
        raise ExportError(f"the module cannot be written as a graph: {problem}") from None


__all__ = ["Exported", "ExportError", "from_torch"]
