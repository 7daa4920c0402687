"""kgen with PyTorch: graphs from modules, graphs as operators, and the backend "kgen" of torch.compile."""

from ._backend import Report, backend, register, reports
from ._custom_op import CustomOpLibrary, graph_op
from ._devices import options_for
from ._export import Exported, from_torch
from ._graph import ExportError

register()

__all__ = [
    "CustomOpLibrary", "ExportError", "Exported", "Report", "backend", "from_torch", "graph_op", "options_for", "reports",
]  # fmt: skip
