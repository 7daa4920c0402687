"""kgen: a graph of tensor operators as C++ source that you can read, built and called from Python.

    model = kgen.load("graph.yaml", weights="weights/", folder="work/")   # plans, builds, loads
    y = model(x)                                                         # NumPy, PyTorch, anything with DLPack
    help(model)                                                          # its inputs, outputs and state

kgen.plan and kgen.build are the two steps on their own; kgen.from_torch writes a graph from a PyTorch module, and
kgen.torch has its graphs as PyTorch's operators and as a backend of torch.compile. Nothing here needs PyTorch but those.
"""

from __future__ import annotations

from typing import Any

from ._build import build
from ._errors import (
    ArgumentError,
    BuildError,
    CheckError,
    Diagnostic,
    DeviceError,
    Error,
    PlanError,
    WeightsError,
)
from ._load import load, load_built, load_library
from ._model import Model, Profile, ProfileRow, State
from ._plan import Plan, plan

__all__ = [
    "ArgumentError",
    "BuildError",
    "CheckError",
    "DeviceError",
    "Diagnostic",
    "Error",
    "Model",
    "Plan",
    "PlanError",
    "Profile",
    "ProfileRow",
    "State",
    "WeightsError",
    "build",
    "from_torch",
    "load",
    "load_built",
    "load_library",
    "plan",
]


def from_torch(*arguments: Any, **keywords: Any) -> Any:
    """Writes a graph and its weights from a PyTorch module: see kgen.torch.from_torch, which this is."""
    from .torch import from_torch as write

    return write(*arguments, **keywords)
