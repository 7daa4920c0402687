"""torch.compile(model, backend="kgen")."""

from __future__ import annotations

import hashlib
import logging
import threading
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import torch
from torch.fx import GraphModule
from torch.fx import Node as FxNode
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from .._errors import ArgumentError, BuildError, PlanError
from .._files import scratch_folder, writing_to
from .._load import cache, load
from .._model import Model
from ._convert import Converter, _outline, add_dims, is_assertion, is_same, is_size, line_of, name_of, range_of_size
from ._decompositions import decompositions
from ._devices import is_host_number, load_options, main_device, stranger_of, tensors_of
from ._frozen import Edition, Named, freeze, frozen_inputs, name_inputs
from ._graph import Graph, Unsupported, Value, extent_of, write_weights
from ._views import is_apart, is_view, set_views_apart

log = logging.getLogger("kgen.torch")
_most_editions = 8  # of one graph, for as many modules of a class


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


@dataclass(frozen=True)
class _Settings:
    """The options of a call of torch.compile, and what of its graph's inputs becomes constants, by node."""

    folder: Path
    numerics: str
    load: Dict[str, Any]
    frozen: Mapping[str, Named] = field(default_factory=dict)
    device: Optional[torch.device] = None


def backend(module: GraphModule, example_inputs: Sequence[Any], *, options: Optional[Dict[str, Any]] = None, **_: Any) -> Callable[..., Any]:  # fmt: skip
    """The backend. `options` of torch.compile:

    folder      where each graph has a folder with its graph.yaml, its source, to be read and edited, and report.txt (by default
                in kgen's cache)
    freezing    True: the module's parameters, and the buffers that it does not change, are constants of the graph, which kgen
                prepares once, at load. One that was changed since is noticed at the next call, and all are loaded anew; writes
                through `.data` are not noticed. Takes the memory of the parameters once more, and their file in the folder
    numerics    "fast", or "match_unfused": rounded after every operator, as PyTorch does without a compiler

    and those of kgen.load but for `weights`; `target`, `arch` and `device` are by default those of the tensors.

    What kgen has no operator for stays with PyTorch; kgen.torch.reports says what and why. Where gradients are needed,
    everything does."""
    from torch._dynamo.backends.common import aot_autograd

    given = dict(options or {})
    if "weights" in given:
        raise TypeError("options of the backend 'kgen': there are no weights; parameters are those of the module")
    folder = Path(given.pop("folder", None) or cache() / "torch").resolve()
    inputs = name_inputs(module, example_inputs) if given.pop("freezing", False) else []
    settings = _Settings(folder, given.pop("numerics", "fast"), given)
    if torch.is_grad_enabled() and any(isinstance(one, torch.Tensor) and one.requires_grad for one in example_inputs):
        report = Report(left=["everything: gradients are needed; call under torch.no_grad()"])
        _tell(report)
        return module.forward
    compiler: Any = aot_autograd(
        fw_compiler=lambda graph, _: _compile(graph, replace(settings, frozen=frozen_inputs(graph, inputs))),
        decompositions=decompositions(),
        keep_inference_input_mutations=False,
    )
    compiled: Callable[..., Any] = compiler(module, example_inputs)
    return compiled


def _compile(module: GraphModule, settings: _Settings) -> Callable[..., Any]:
    from torch._functorch._aot_autograd.utils import make_boxed_func
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    with unset_fake_temporarily():  # the constants of a graph are real tensors
        for node in module.graph.nodes:
            node.meta["kgen_name"] = node.name
        settings = replace(settings, device=main_device(module.graph.nodes))
        refused: Dict[str, str] = {}
        report, fused = _partitioned(module, settings, refused)
        while fused is None:  # a node was refused by the planner
            report, fused = _partitioned(module, settings, refused)
    _tell(report)
    boxed: Callable[..., Any] = make_boxed_func(fused.forward)
    return boxed


def _partitioned(
    module: GraphModule, settings: _Settings, refused: Dict[str, str]
) -> Tuple[Report, Optional[GraphModule]]:
    """The module with parts of kgen's in it, all nodes but the refused ones. None, and one more refused, where the planner
    says of a node that it cannot be."""
    report = Report()
    copy = GraphModule(module, deepcopy(module.graph))  # which the partitioner changes
    set_views_apart(copy.graph)
    partitioner = CapabilityBasedPartitioner(copy, _Support(report, refused, settings.device), allows_single_node_partition=True)
    partitions = [part for part in partitioner.propose_partitions() if any(_is_work(node) for node in part.nodes)]
    fused = partitioner.fuse_partitions(partitions)
    for name, part in list(fused.named_children()):
        if not isinstance(part, GraphModule):
            continue
        before = len(refused)
        planned = _planned(part, settings, report, refused)
        if len(refused) > before:
            return report, None
        setattr(fused, name, planned)
    return report, fused


def _tell(report: Report) -> None:
    reports.append(report)
    log.info("%s", report)


def _computes(node: FxNode) -> bool:
    return node.op == "call_function" and not is_size(node) and "getitem" not in str(node.target)


def _is_work(node: FxNode) -> bool:
    """Whether it makes numbers, or memory: views cost PyTorch nothing."""
    return _computes(node) and not is_view(node)


class _Support(OperatorSupportBase):
    """Whether a node can be written, found by writing it; `refused` has those of which it is known that they cannot be."""

    def __init__(self, report: Report, refused: Mapping[str, str], device: Optional[torch.device]) -> None:
        self._report = report
        self._refused = refused
        self._device = device

    def is_node_supported(self, submodules: Any, node: FxNode) -> bool:
        if node.op != "call_function" or is_assertion(node) or is_size(node) or is_apart(node):
            return False
        if node.name in self._refused:
            return self._refuse(self._refused[node.name])
        elsewhere = stranger_of(node, self._device)
        if elsewhere is not None:
            return self._refuse(f"{name_of(node.target)}: a tensor on {elsewhere}, the others on {self._device}: {line_of(node)}")
        if any(one.is_complex() for one in tensors_of(node)):
            return self._refuse(f"{name_of(node.target)}: complex numbers, which kgen.from_torch writes: {line_of(node)}")
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
        try:
            converter.convert(node, node.name)
        except Exception as error:  # a mistake of kgen's: PyTorch computes what it was made on
            return self._refuse(
                f"{name_of(node.target)}: kgen failed ({type(error).__name__}: {error}): {line_of(node)}"
            )
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
        ("as_strided" in str(user.target) and not is_same(user))
        or (is_view(user) and user.args[0] is node and _memory_is_read(user))
        for user in node.users
    )


def _graph_of(part: GraphModule, name: str, settings: _Settings) -> Tuple[Graph, List[int]]:
    """And which of the part's arguments are inputs of the graph. Raises Unsupported."""
    graph = Graph(name, numerics=settings.numerics)
    converter = Converter(graph, settings.numerics == "match_unfused")
    placeholders = _placeholders_of(part)
    tensors = [node for node in placeholders if isinstance(node.meta.get("val"), torch.Tensor) and node.name not in settings.frozen]
    add_dims(graph, [node.meta["val"] for node in tensors], {})
    taken = []
    for i, node in enumerate(placeholders):
        example = node.meta.get("val")
        if node.name in settings.frozen:
            key, tensor = settings.frozen[node.name]
            converter.values[node] = graph.constant(tensor, key, key)
        elif isinstance(example, torch.Tensor):
            converter.values[node] = graph.value(example, node.name)
            graph.inputs.append(converter.values[node])
            taken.append(i)
        elif isinstance(example, torch.SymInt) and graph.takes_size(
            extent_of(example), node.name, range_of_size(example)
        ):
            taken.append(i)
    for node in part.graph.nodes:
        if node.op == "call_function":
            converter.convert(node, node.name)
        elif node.op == "output":
            results = node.args[0] if isinstance(node.args[0], (tuple, list)) else [node.args[0]]
            for i, result in enumerate(results):
                graph.outputs.append(converter.output(converter.values[result], f"output_{i}"))
    if converter.problems:
        raise Unsupported(converter.problems[0])
    return graph, taken


def _placeholders_of(part: GraphModule) -> List[FxNode]:
    return [node for node in part.graph.nodes if node.op == "placeholder"]


def _planned(part: GraphModule, settings: _Settings, report: Report, refused: Dict[str, str]) -> torch.nn.Module:
    """The part by kgen, or as it is with the reason in the report."""
    operators = [node for node in part.graph.nodes if _computes(node)]
    try:
        settings = replace(settings, load=load_options(settings.device, settings.load))
        text = "\n".join([_graph_of(part, "part", settings)[0].text(), *_names_of_target(settings.load)])
        name = "torch_" + hashlib.sha256(text.encode()).hexdigest()[:10]
        graph, taken = _graph_of(part, name, settings)
        graph.doc = f"{len(operators)} operators that torch.compile gave to kgen, from {line_of(operators[0])}"
        planned = _Planned(part, graph, settings, report, taken)
    except (Unsupported, PlanError, BuildError) as problem:
        first = str(problem).splitlines()[0]
        culprit = _culprit(problem, part, graph) if isinstance(problem, PlanError) else None
        if culprit is not None:
            refused[culprit.meta["kgen_name"]] = f"{name_of(culprit.target)}: {first}: {line_of(culprit)}"
        elif isinstance(problem, BuildError):  # nothing of the module's
            log.warning("%s", problem)
        report.left.append(f"{len(operators)} operators from {line_of(operators[0])}: {first}")
        return part
    held = f", with {planned.frozen_count} tensors of the module" if planned.frozen_count else ""
    report.planned.append(f"{len(operators)} operators in {planned.source}{held}")
    (settings.folder / name / "report.txt").write_text(str(report) + "\n", encoding="utf-8")
    return planned


def _names_of_target(options: Mapping[str, Any]) -> List[str]:
    """Of one that is not the default: the same graph has a folder for each."""
    return [str(options[key]) for key in ("target", "arch") if options.get(key) not in (None, "cpu")]


def _culprit(problem: PlanError, part: GraphModule, graph: Graph) -> Optional[FxNode]:
    """The operator of PyTorch's that wrote the line of which the planner says that it cannot be."""
    lines = [each.line for each in problem.diagnostics if each.severity == "error"]
    origin = graph.origin_at(lines[0]) if lines else None
    return next((node for node in part.graph.nodes if node.name == origin and "kgen_name" in node.meta), None)


class _Planned(torch.nn.Module):
    """A part of a module that a model computes; `part`, PyTorch's own, computes it for sizes that are too large for the model."""

    def __init__(self, part: GraphModule, graph: Graph, settings: _Settings, report: Report, taken: List[int]) -> None:
        super().__init__()
        self._taken = taken
        placeholders = _placeholders_of(part)
        examples = [placeholders[i].meta.get("val") for i in taken]
        self._has_tensors = any(isinstance(example, torch.Tensor) for example in examples)
        self._device = settings.device or torch.device("cpu")
        self._numbers = [i for i, example in enumerate(examples) if self._device.type != "cpu" and is_host_number(example)]
        self._work = settings.folder / graph.name
        self._options = settings.load
        with writing_to(self._work):
            graph.write(self._work / "graph.yaml")
            named = [(i, settings.frozen[node.name]) for i, node in enumerate(placeholders) if node.name in settings.frozen]
            frozen = tuple((i, freeze(*one)) for i, one in named if one[0] in graph.weights)
            self._editions = [Edition(self._loaded(graph.weights), frozen)]
        keys = {each.key for _, each in frozen}
        self._constants = {key: tensor for key, tensor in graph.weights.items() if key not in keys}
        self._freezing = threading.Lock()
        self._part = part
        self._report = report
        output = next(node for node in part.graph.nodes if node.op == "output")
        self._is_tuple = isinstance(output.args[0], (tuple, list))
        results = output.args[0] if self._is_tuple else [output.args[0]]
        self._results = [node.meta["val"] for node in results]
        orders = [_memory_order(one) for one in self._results]
        self._orders = [(i, order, _inverse(order)) for i, order in enumerate(orders) if order is not None]

    @property
    def source(self) -> Path:
        return self._editions[0].model.source

    @property
    def frozen_count(self) -> int:
        return len(self._editions[0].frozen)

    def forward(self, *arguments: Any) -> Any:
        edition = self._edition_of(arguments) or self._freeze(arguments)
        given = [_dense(arguments[i]) for i in self._taken]
        for i in self._numbers:  # filled in by a kernel that has the number: nobody waits, and it can be captured
            given[i] = torch.full((), given[i].item(), dtype=given[i].dtype, device=self._device)
        try:
            result = self._call(edition.model, given)
        except ArgumentError as problem:
            if problem.status != "KGEN_DIM_OUT_OF_RANGE":
                raise
            line = f"calls of {self.source}: {problem}"
            if line not in self._report.left:
                self._report.left.append(line)
            return self._part(*arguments)
        results = list(result) if isinstance(result, tuple) else [result]
        for i, order, inverse in self._orders:
            results[i] = results[i].permute(order).contiguous().permute(inverse)
        return tuple(results) if self._is_tuple else results[0]

    def _call(self, model: Model, given: List[Any]) -> Any:
        if self._has_tensors:
            return model(*given)
        # nothing says whose tensors, and where
        out = tuple(torch.empty(one.shape, dtype=one.dtype, device=self._device) for one in self._results)
        return model(*given, out=out if len(out) > 1 else out[0])

    def _edition_of(self, arguments: Sequence[Any]) -> Optional[Edition]:
        return next((edition for edition in self._editions if edition.is_of(arguments)), None)

    def _freeze(self, arguments: Sequence[Any]) -> Edition:
        """One more edition, for parameters that none has, instead of those whose parameters were changed."""
        with self._freezing:
            known = self._edition_of(arguments)
            if known is not None:  # another thread was here
                return known
            frozen = tuple((i, freeze(each.key, arguments[i])) for i, each in self._editions[0].frozen)
            weights = {**self._constants, **{each.key: arguments[i] for i, each in frozen}}
            made = Edition(self._loaded(weights), frozen)
            changes = [edition.changes() for edition in self._editions]
            kept = [edition for edition, changed in zip(self._editions, changes) if not changed]
            self._editions = [made, *kept][:_most_editions]
        for changed in filter(None, changes):
            log.warning("%s changed since it was frozen, as %s: loaded anew", changed[0], self.source)
        line = f"loaded again, as parameters changed or are another module's: {self.source}"
        if line not in self._report.planned:
            self._report.planned.append(line)
        return made

    def _loaded(self, weights: Mapping[str, torch.Tensor]) -> Model:
        """The model with these weights. They are read from a file of this call's own, which then takes the place of the last
        one: other models of the same graph, here and in other processes, keep theirs."""
        with scratch_folder(self._work) as own:
            files = write_weights(own, self._work.name, weights)
            model = load(self._work / "graph.yaml", weights=own, folder=self._work, **self._options)
            for file in files:
                file.replace(self._work / file.name)
        return model


def _dense(argument: Any) -> Any:
    """A tensor as graphs take it, without a call of PyTorch's where it is so already."""
    if not isinstance(argument, torch.Tensor) or (argument.is_contiguous() and not argument.is_neg()):
        return argument
    return argument.resolve_neg().contiguous()


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
