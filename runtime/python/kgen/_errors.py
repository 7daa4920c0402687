"""The exceptions. Each keeps kgen's own text whole."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import List, Optional


class Error(Exception):
    """What kgen or its runtime says. `status` is the runtime's code, as "KGEN_WRONG_DTYPE"; "" where it is not its."""

    def __init__(self, message: str, status: str = "") -> None:
        super().__init__(message)
        self.status = status


class ArgumentError(Error, ValueError):
    """An argument of a call is not what the graph wants; the message names it. Outputs and state are as they were."""


class WeightsError(Error, OSError):
    """The weights cannot be read, or are not those of the graph."""

    def __str__(self) -> str:
        return str(self.args[0])


class DeviceError(Error, RuntimeError):
    """A GPU or the memory failed: the outputs and the state are undefined."""


class CheckError(Error, AssertionError):
    """Check mode found an operator that differs from its reference; the outputs have been written."""


@dataclass(frozen=True)
class Diagnostic:
    """One message of kgen: where, and what."""

    file: str
    line: int
    column: int
    severity: str
    message: str


class PlanError(Error):
    """kgen cannot plan a graph. The message is what kgen prints, with file, line and caret; `diagnostics` has its parts."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.diagnostics: List[Diagnostic] = parse_diagnostics(text)


class BuildError(Error):
    """The emitted source cannot be built. `tool` is the missing program or package, where that is why; `log` is the whole
    output of the build."""

    def __init__(self, message: str, tool: Optional[str] = None, log: str = "") -> None:
        super().__init__(message)
        self.tool = tool
        self.log = log


_place = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:(?P<column>\d+):)? "
    r"(?P<severity>error|warning|note): (?P<text>.*)$",
    re.M,
)


def parse_diagnostics(text: str) -> List[Diagnostic]:
    """The messages in what kgen printed."""
    return [
        Diagnostic(m["file"], int(m["line"]), int(m["column"] or 0), m["severity"], m["text"]) for m in _place.finditer(text)
    ]


_kinds = {
    "KGEN_OUT_OF_MEMORY": DeviceError,
    "KGEN_DEVICE_ERROR": DeviceError,
    "KGEN_CHECK_FAILED": CheckError,
    "KGEN_FILE_ERROR": WeightsError,
    "KGEN_BAD_WEIGHTS": WeightsError,
    "KGEN_MISSING_WEIGHT": WeightsError,
    "KGEN_ABI_MISMATCH": Error,
    "KGEN_NOT_CHECKABLE": Error,
    "KGEN_INTERNAL": Error,
}


def of_status(status: str, message: str) -> Error:
    """The exception of a status of the runtime."""
    return _kinds.get(status, ArgumentError)(message, status)
