"""torch.compile(model, backend="kgen")."""

from __future__ import annotations

import hashlib
import logging
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

import torch
from torch.fx import GraphModule
from torch.fx import Node as FxNode
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from .._errors import ArgumentError, BuildError, PlanError
from .._load import _cache, load
from ._convert import Converter, _outline, add_dims, is_assertion, is_size, line_of, name_of, range_of
from ._graph import Graph, Unsupported, Value, extents_of

log = logging.getLogger("kgen.torch")


@dataclass
class Report:
    """What became of one graph that torch.compile gave to the backend."""

    planned: List[str] = field(default_factory=list)
    """A line for each graph that kgen computes: how many operators, and where its source is."""
    left: List[str] = field(default_factory=list)
    """A line for each operator that stays with PyTorch: why, and where it stands in the module."""

    def __str__(self) -> str:
        left = self.left or ["nothing"]
        return "\n".join(["kgen computes:", *(f"- {line}" for line in self.planned or ["nothing"]), "left to PyTorch:",
                          *(f"- {line}" for line in left)])  # fmt: skip


reports: List[Report] = []
"""Of this process, the latest last."""


def backend(module: GraphModule, example_inputs: Sequence[Any], *, options: Optional[Dict[str, Any]] = None, **_: Any) -> Callable[..., Any]:  # fmt: skip
    """The backend. `options` of torch.compile: `folder`, where each graph has a folder with its graph.yaml, its source, to be
    read and edited, and report.txt (by default in kgen's cache); and the options of kgen.load.

    What kgen has no operator for stays with PyTorch; kgen.torch.reports says what and why. Where gradients are needed,
    everything does."""
    from torch._dynamo.backends.common import aot_autograd

    settings = dict(options or {})
    folder = Path(settings.pop("folder", None) or _cache() / "torch").resolve()
    if torch.is_grad_enabled() and any(isinstance(one, torch.Tensor) and one.requires_grad for one in example_inputs):
        report = Report(left=["everything: gradients are needed; call under torch.no_grad()"])
        _tell(report)
        return module.forward
    decompositions: Any = torch._decomp.core_aten_decompositions()
    from ._aten import rule_of

    table = {op: rule for op, rule in decompositions.items() if rule_of(name_of(op)) is None}
    compiler: Any = aot_autograd(
        fw_compiler=lambda graph, inputs: _compile(graph, folder, settings), decompositions=table, keep_inference_input_mutations=False
    )
    compiled: Callable[..., Any] = compiler(module, example_inputs)
    return compiled


def _compile(module: GraphModule, folder: Path, settings: Dict[str, Any]) -> Callable[..., Any]:
    report = Report()
    support = _Support(report)
    partitioner = CapabilityBasedPartitioner(module, support, allows_single_node_partition=True)
    partitions = [part for part in partitioner.propose_partitions() if any(_computes(node) for node in part.nodes)]
    fused = partitioner.fuse_partitions(partitions)
    for name, part in list(fused.named_children()):
        if isinstance(part, GraphModule):
            setattr(fused, name, _planned(part, folder, settings, report))
    _tell(report)
    from torch._functorch._aot_autograd.utils import make_boxed_func

    boxed: Callable[..., Any] = make_boxed_func(fused.forward)
    return boxed


def _tell(report: Report) -> None:
    reports.append(report)
    log.info("%s", report)


def _computes(node: FxNode) -> bool:
    return node.op == "call_function" and not is_size(node) and "getitem" not in str(node.target)


class _Support(OperatorSupportBase):
    """Whether a node can be written, found by writing it."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def is_node_supported(self, submodules: Any, node: FxNode) -> bool:
        if node.op != "call_function" or is_assertion(node) or is_size(node):
            return False
        if _memory_is_read(node):
            return self._refuse(f"{name_of(node.target)}: as_strided reads its memory: {line_of(node)}")
        converter = Converter(Graph("trial"))
        for operand in node.all_input_nodes:
            outline = _outline(operand.meta.get("val"))
            for value in outline if isinstance(outline, tuple) else (outline,):
                if isinstance(value, Value):
                    value.name = operand.name
            if outline is not None:
                converter.values[operand] = outline
        converter.convert(node, node.name)
        for problem in converter.problems:
            self._refuse(problem.replace("\n    ", ": "))
        return not converter.problems

    def _refuse(self, line: str) -> bool:
        if line not in self._report.left:
            self._report.left.append(line)
        return False


def _memory_is_read(node: FxNode) -> bool:
    """Whether as_strided reads the memory of a node as it lies, perhaps through views of it: kgen's results lie elsewhere."""
    return any(
        "as_strided" in str(user.target) or (_is_view(user) and user.args[0] is node and _memory_is_read(user)) for user in node.users
    )


def _is_view(node: FxNode) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(each.alias_info is not None and not each.alias_info.is_write for each in schema.returns)


def _graph_of(part: GraphModule, name: str) -> Graph:
    """Raises Unsupported."""
    graph = Graph(name)
    converter = Converter(graph)
    placeholders = [node for node in part.graph.nodes if node.op == "placeholder"]
    tensors = [node for node in placeholders if isinstance(node.meta.get("val"), torch.Tensor)]
    add_dims(graph, [node.meta["val"] for node in tensors], {}, lambda symbol: _range(tensors, symbol))
    for node in tensors:
        converter.values[node] = graph.value(node.meta["val"], node.name)
        graph.inputs.append(converter.values[node])
    for node in part.graph.nodes:
        if node.op == "call_function":
            converter.convert(node, node.name)
        elif node.op == "output":
            results = node.args[0] if isinstance(node.args[0], (tuple, list)) else [node.args[0]]
            for i, result in enumerate(results):
                graph.outputs.append(converter.output(converter.values[result], f"output_{i}"))
    if converter.problems:
        raise Unsupported(converter.problems[0])
    return graph


def _range(tensors: Sequence[FxNode], symbol: Any) -> Any:
    for node in tensors:
        for extent in node.meta["val"].shape:
            if isinstance(extent, torch.SymInt) and extent.node.expr == symbol:
                known: Any = extent.node.shape_env
                return range_of(known.var_to_range.get(symbol))
    return range_of(None)


def _planned(part: GraphModule, folder: Path, settings: Dict[str, Any], report: Report) -> torch.nn.Module:
    """The part by kgen, or as it is with the reason in the report."""
    operators = [node for node in part.graph.nodes if _computes(node)]
    try:
        text = _graph_of(part, "part").text()
        name = "torch_" + hashlib.sha256(text.encode()).hexdigest()[:10]
        work = folder / name
        graph = _graph_of(part, name)
        graph.doc = f"{len(operators)} operators that torch.compile gave to kgen, from {line_of(operators[0])}"
        graph.write(work / "graph.yaml")
        model = load(work / "graph.yaml", folder=work, **settings)
    except (Unsupported, PlanError, BuildError) as problem:
        first = str(problem).splitlines()[0]
        report.left.append(f"{len(operators)} operators from {line_of(operators[0])}: {first}")
        return part
    report.planned.append(f"{len(operators)} operators in {model.source}")
    (work / "report.txt").write_text(str(report) + "\n", encoding="utf-8")
    return _Planned(model, part, report)


class _Planned(torch.nn.Module):
    """A part of a module that a model computes; `part`, PyTorch's own, computes it for sizes that are too large for the model."""

    def __init__(self, model: Any, part: GraphModule, report: Report) -> None:
        super().__init__()
        nodes = [node for node in part.graph.nodes if node.op == "placeholder"]
        self._tensors = [isinstance(node.meta.get("val"), torch.Tensor) for node in nodes]
        self._model = model
        self._part = part
        self._report = report
        output = next(node for node in part.graph.nodes if node.op == "output")
        self._is_tuple = isinstance(output.args[0], (tuple, list))
        results = output.args[0] if self._is_tuple else [output.args[0]]
        self._results = [node.meta["val"] for node in results]
        orders = [_memory_order(one) for one in self._results]
        self._orders = [(i, order, _inverse(order)) for i, order in enumerate(orders) if order is not None]

    def forward(self, *arguments: Any) -> Any:
        given = [one.detach().resolve_neg().contiguous() for one, wanted in zip(arguments, self._tensors) if wanted]
        try:
            result = self._call(given)
        except ArgumentError as problem:
            if problem.status != "KGEN_DIM_OUT_OF_RANGE":
                raise
            line = f"calls of {self._model.source}: {problem}"
            if line not in self._report.left:
                self._report.left.append(line)
            return self._part(*arguments)
        results = list(result) if isinstance(result, tuple) else [result]
        for i, order, inverse in self._orders:
            results[i] = results[i].permute(order).contiguous().permute(inverse)
        return tuple(results) if self._is_tuple else results[0]

    def _call(self, given: List[torch.Tensor]) -> Any:
        if given:
            return self._model(*given)
        # nothing says whose tensors, and where
        out = tuple(torch.empty(one.shape, dtype=one.dtype, device=one.device) for one in self._results)
        return self._model(out=out if len(out) > 1 else out[0])


def _memory_order(tensor: torch.Tensor) -> Optional[List[int]]:
    """The axes of a result as PyTorch's own lies in memory, the farthest apart first, as after a transpose or in channels_last:
    what reads it may go by that. None: as they are, or no order of dense memory."""
    sizes, strides = ([_hint(extent) for extent in each] for each in (tensor.shape, tensor.stride()))
    if None in sizes or None in strides:
        return None
    order = sorted(range(len(sizes)), key=lambda axis: -strides[axis])  # type: ignore[operator]
    dense = 1
    for axis in reversed(order):
        if sizes[axis] != 1 and strides[axis] != dense:
            return None
        dense *= sizes[axis]  # type: ignore[operator]
    return None if order == sorted(order) else order


def _hint(extent: Any) -> Optional[int]:
    """A size, or what it was when the graph was traced."""
    known: Any = extent.node.hint if isinstance(extent, torch.SymInt) else extent
    return None if known is None else int(known)


def _inverse(order: Optional[List[int]]) -> List[int]:
    return [order.index(axis) for axis in range(len(order))] if order is not None else []


def register() -> None:
    """Makes the name "kgen" known to torch.compile."""
    from torch._dynamo import list_backends, register_backend

    if "kgen" not in list_backends(exclude_tags=()):
        register_backend(backend, name="kgen")
