"""Which target is that of PyTorch's tensors."""

from __future__ import annotations

from collections import Counter
from typing import Any, Dict, Iterable, Iterator, Optional

import torch
from torch.fx import Node as FxNode

from ._graph import ExportError, Unsupported

_of_nvidia = {(8, 0): "sm_80", (8, 6): "sm_86", (8, 9): "sm_89", (9, 0): "sm_90a", (10, 0): "sm_100", (12, 0): "sm_120"}
_of_amd = ("gfx942", "gfx90a", "gfx1100")


def load_options(device: Optional[torch.device], given: Dict[str, Any]) -> Dict[str, Any]:
    """The options of kgen.load for graphs of tensors on the device: those that are given, and its target where that names none.
    Raises Unsupported for a device that kgen has no target for."""
    if device is None or device.type == "cpu" or "target" in given:
        return given
    if device.type != "cuda":
        raise Unsupported(f"kgen computes nothing on devices of the type '{device.type}'")
    index = torch.cuda.current_device() if device.index is None else device.index
    target, arch = _target_of(index)
    return {"target": target, "arch": arch, "device": index, **given}


def options_for(device: Any = "cuda") -> Dict[str, Any]:
    """The options of kgen.load for PyTorch's tensors on a device, a GPU: {"target": "cuda", "arch": "sm_90a", "device": 0}. Raises
    ExportError for one that kgen has no target for."""
    try:
        return load_options(torch.device(device), {})
    except Unsupported as problem:
        raise ExportError(str(problem)) from None


def _target_of(index: int) -> Any:
    if torch.version.hip:
        name = torch.cuda.get_device_properties(index).gcnArchName.split(":")[0]
        if name in _of_amd:
            return "hip", name
    else:
        capability = torch.cuda.get_device_capability(index)
        if capability in _of_nvidia:
            return "cuda", _of_nvidia[capability]
        name = "sm_{}{}".format(*capability)
    known = ", ".join(_of_amd if torch.version.hip else _of_nvidia.values())
    raise Unsupported(f"kgen has no target for this GPU ({name}); it has {known}")


def tensors_of(node: FxNode) -> Iterator[torch.Tensor]:
    """Those that it reads and makes, as they were traced."""
    for value in (node, *node.all_input_nodes):
        yield from _tensors_in(value.meta.get("val"))


def _tensors_in(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _tensors_in(one)


def is_host_number(tensor: Any) -> bool:
    """Whether it is one number in memory of the host, which PyTorch's operators take wherever their tensors are."""
    return isinstance(tensor, torch.Tensor) and tensor.device.type == "cpu" and tensor.dim() == 0


def is_number_for(node: FxNode, device: Optional[torch.device]) -> bool:
    """Whether a node makes one number of such numbers, on the host, and only operators on the device read it, so that it may be
    computed there as well."""
    return (
        all(is_host_number(one) for one in tensors_of(node))
        and bool(node.users)
        and all(
            user.op == "call_function" and (_is_on(user, device) or is_number_for(user, device)) for user in node.users
        )
    )


def _is_on(node: FxNode, device: Optional[torch.device]) -> bool:
    made = list(_tensors_in(node.meta.get("val")))
    return bool(made) and all(one.device == device for one in made)


def stranger_of(node: FxNode, device: Optional[torch.device]) -> Optional[torch.device]:
    """Where a tensor of a node is that keeps the node off the device; None where none does."""
    if is_number_for(node, device):
        return None
    read = [one for operand in node.all_input_nodes for one in _tensors_in(operand.meta.get("val")) if not is_host_number(one)]
    return next((one.device for one in [*_tensors_in(node.meta.get("val")), *read] if one.device != device), None)


def main_device(nodes: Iterable[FxNode]) -> Optional[torch.device]:
    """The one that most results are on: a graph is computed on one device."""
    counted = Counter(one.device for node in nodes if node.op == "call_function" for one in _tensors_in(node.meta.get("val")))
    return counted.most_common(1)[0][0] if counted else None
