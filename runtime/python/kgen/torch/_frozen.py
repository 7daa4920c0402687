"""Parameters as constants of a graph: the option "freezing" of the backend, which PyTorch's own compiler calls so too."""

from __future__ import annotations

import re
import weakref
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
from torch.fx import GraphModule
from torch.fx import Node as FxNode

from .._model import Model
from ._graph import dtype_names

Named = Tuple[str, Any]


@dataclass(frozen=True)
class Frozen:
    """A tensor of a module as it was when it became a constant."""

    key: str
    tensor: Any
    address: int
    version: Optional[int]

    def is_current(self, tensor: Any) -> bool:
        """Whether it is the same tensor, with what it held then: but for what was written through `.data`, which PyTorch does
        not count."""
        is_same = tensor is self.tensor() and tensor.data_ptr() == self.address
        return is_same and (self.version is None or tensor._version == self.version)

    def is_fresh(self) -> bool:
        """Whether the tensor is there still, as it was."""
        tensor = self.tensor()
        return tensor is not None and self.is_current(tensor)


@dataclass(frozen=True)
class Edition:
    """A model, and what was frozen into it, by where it stands among the arguments: modules of one class share their graph, and
    each has an edition of it."""

    model: Model
    frozen: Tuple[Tuple[int, Frozen], ...] = ()

    def is_of(self, arguments: Sequence[Any]) -> bool:
        for i, frozen in self.frozen:  # at each call
            if not frozen.is_current(arguments[i]):
                return False
        return True

    def changes(self) -> List[str]:
        """What was written to since, or is gone."""
        return [frozen.key for _, frozen in self.frozen if not frozen.is_fresh()]


def freeze(key: str, tensor: torch.Tensor) -> Frozen:
    return Frozen(key, weakref.ref(tensor), tensor.data_ptr(), version_of(tensor))


def version_of(tensor: torch.Tensor) -> Optional[int]:
    """How often it was written to; of a tensor made in inference mode nobody counts that."""
    return None if tensor.is_inference() else tensor._version


def name_inputs(module: GraphModule, examples: Sequence[Any]) -> List[Named]:
    """What torch.compile calls the backend's graph with, each by the name that it has in the user's module."""
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    paths = [_path_of(node) for node in placeholders]
    names = [path if paths.count(path) == 1 else node.name for path, node in zip(paths, placeholders)]
    return list(zip(names, examples))


def _path_of(node: FxNode) -> str:
    """ "layers.0.weight" of L['self']._modules['layers']._modules['0']._parameters['weight']."""
    source = getattr(node, "_dynamo_source", None) or getattr(node.meta.get("grapharg"), "source", None)
    name = getattr(source, "name", None)
    text = name() if callable(name) else name
    parts = [quoted or plain for quoted, plain in re.findall(r"\['([^']+)'\]|\.([A-Za-z]\w*)", str(text or ""))]
    return ".".join(parts[1:]) or node.name


def frozen_inputs(module: GraphModule, inputs: Sequence[Named]) -> Dict[str, Named]:
    """Of the graph that AOT autograd made of it, the inputs that become constants, by node: the parameters and buffers of modules
    that the graph itself does not change."""
    from torch._guards import TracingContext

    context = TracingContext.try_get()
    metadata: Any = context.fw_metadata if context is not None else None
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    if metadata is None or len(placeholders) != len(inputs):
        return {}
    static = [i for i in metadata.static_input_indices if not metadata.input_info[i].mutates_data]
    return {
        placeholders[i].name: inputs[i]
        for i in static
        if _can_be_constant(inputs[i][1]) and _is_like(inputs[i][1], placeholders[i].meta.get("val"))
    }


def _can_be_constant(tensor: Any) -> bool:
    is_plain = type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.layout == torch.strided
    return is_plain and tensor.dtype in dtype_names and not tensor.is_meta


def _is_like(tensor: torch.Tensor, traced: Any) -> bool:
    return isinstance(traced, torch.Tensor) and (tensor.shape, tensor.dtype) == (traced.shape, traced.dtype)
