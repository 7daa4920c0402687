"""Planning: a graph's source, written by the generator."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional, Sequence, Union

from ._errors import BuildError, PlanError
from ._home import generator

PathLike = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Plan:
    """A planned graph."""

    graph: str
    """Its name."""
    folder: Path
    """The source, with plan.yaml beside it."""
    summary: str
    """What kgen said: how many stubs, and which files are new."""


def arguments_of(
    target: str, arch: Optional[str], check: bool, specs: Sequence[PathLike], kernels: Sequence[PathLike]
) -> List[str]:
    """The options of `kgen plan`, as lists on the command line."""
    arguments = ["--target", target]
    if arch is not None:
        arguments += ["--arch", arch]
    if check:
        arguments.append("--check")
    for path in specs:
        arguments += ["--specs", os.fspath(path)]
    for path in kernels:
        arguments += ["--kernels", os.fspath(path)]
    return arguments


def run_kgen(arguments: Sequence[str]) -> str:
    """What kgen prints. Raises PlanError with the whole text where it fails, BuildError where it cannot start."""
    result = subprocess.run(
        [str(generator()), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace"
    )
    said = re.sub(r"^kgen: \w+ \.\.\.\n", "", result.stdout, flags=re.M).rstrip()  # without what it is at, where it takes long
    if result.returncode == 127:  # what the loader and the shell say of a program that cannot start
        raise BuildError(f"the generator cannot start: {said}", tool="kgen")
    if result.returncode != 0:
        raise PlanError(said or f"kgen ended with status {result.returncode}")
    return said


def plan(
    graph: PathLike,
    emit: PathLike,
    *,
    target: str = "cpu",
    arch: Optional[str] = None,
    check: bool = False,
    specs: Sequence[PathLike] = (),
    kernels: Sequence[PathLike] = (),
) -> Plan:
    """Plans a graph and writes its source into the folder `emit`, where edits are kept: `kgen plan GRAPH --emit FOLDER`.

    graph    a graph.yaml
    target   "cpu", "cuda" or "hip"; `arch` as `kgen plan --arch` takes it: "sm_90a"
    check    also write the unfused references that check mode compares with
    specs    more operators (YAML); kernels: folders of headers of your own

    Raises PlanError with kgen's own text, file, line and caret.
    """
    path, source = (_no_option(os.fspath(each)) for each in (graph, emit))
    summary = run_kgen(["plan", path, "--emit", source, *arguments_of(target, arch, check, specs, kernels)])
    folder = Path(emit).resolve()
    return Plan(graph_of(folder), folder, summary)


def _no_option(path: str) -> str:
    """The path as the command line does not take it for an option."""
    return os.path.join(".", path) if path.startswith("-") else path


def graph_of(folder: Path) -> str:
    """The name of the graph whose source is in the folder. Raises PlanError where none is."""
    try:
        text = (folder / "plan.yaml").read_text(encoding="utf-8")
    except OSError:
        raise PlanError(f"{folder}: there is no plan.yaml; write the source with kgen.plan(graph, emit=...)") from None
    for line in text.splitlines():
        if line.startswith("graph:"):
            return line[len("graph:") :].strip().strip('"')
    raise PlanError(f"{folder / 'plan.yaml'}: it names no graph")
