"""Plans graphs with kgen and compiles what it wrote: many graphs in one shared library, since their headers take
most of the time."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from graph import Graph, to_yaml


@dataclass
class Target:
    """How sources are compiled and run. `compile`: the command but for files; `link`: that which makes a library of its
    object, the linker first, none where nothing is linked; `driver`: the program that loads what comes out."""

    name: str
    compile: list[str]
    link: list[str]
    driver: str
    suffix: str = ".cpp"


@dataclass
class Tools:
    """kgen: empty where everything has been planned elsewhere."""

    kgen: str
    targets: dict[str, Target]

    @staticmethod
    def load(path: Path) -> "Tools":
        entries = json.loads(path.read_text())
        targets = {name: Target(name, **each) for name, each in entries["targets"].items()}
        return Tools(entries.get("kgen", ""), targets)


def run_quietly(command: list[str], timeout: float = 600) -> str:
    """What it says where it fails; "" where it does not."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=timeout, errors="replace")
    except subprocess.TimeoutExpired:
        return f"not finished after {timeout} s"
    if result.returncode == 0:
        return ""
    said = (result.stderr + result.stdout).strip()
    return said or (f"killed by signal {-result.returncode}" if result.returncode < 0 else "failed without a word")


# ---- planning --------------------------------------------------------------------------------------------------------


def plan(tools: Tools, graph: Graph, folder: Path, *arguments: str) -> str:
    """Writes the graph beside the folder, and its source into it. Says what is wrong, "" where nothing is."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    path = folder.parent / f"{graph.name}.yaml"
    path.write_text(to_yaml(graph))
    command = [tools.kgen, "plan", str(path), "--emit", str(folder), "--quiet", "--color", "never", *arguments]
    error = run_quietly(command)
    return error or ("" if "--check" not in arguments else observe(tools, folder))


def observe(tools: Tools, folder: Path) -> str:
    """The copies of stubs through which check mode looks into them."""
    for stub in listed(folder, "kgen_observed"):
        copy = folder / "observed" / stub
        copy.parent.mkdir(parents=True, exist_ok=True)
        error = run_quietly([tools.kgen, "observe", str(folder / stub), "--output", str(copy)])
        if error:
            return error
    return ""


def listed(folder: Path, name: str) -> list[str]:
    """The files of a list in the sources.cmake that kgen wrote."""
    text = (folder / "sources.cmake").read_text()
    _, found, rest = text.partition(f"set({name}\n")
    return rest.split(")")[0].split() if found else []


# ---- compiling -------------------------------------------------------------------------------------------------------


def sources_of(folder: Path) -> list[Path]:
    observed = [folder / "observed" / each for each in listed(folder, "kgen_observed")]
    return [*(folder / each for each in listed(folder, "kgen_sources")), *observed]


# How a header of kernels begins, behind its own includes, that is empty for GPUs.
FOR_CPU_ALONE = re.compile(r"^#if !defined\(KGEN_GPU\)\nnamespace kgen ", re.MULTILINE)


def needs_cpu(target: Target, folder: Path) -> bool:
    """Whether a plan for the CPU includes kernels that GPUs, and so their executor, do without."""
    included = {name for source in sources_of(folder) for name in re.findall(r'#include "(kgen/.+)"', source.read_text())}
    headers = [Path(each[2:], name) for each in target.compile if each.startswith("-I") for name in included]
    return any(FOR_CPU_ALONE.search(header.read_text()) for header in headers if header.exists())


def compile_library(target: Target, folders: list[Path], library: Path) -> str:
    """One translation unit of all graphs' sources. Compiled apart from the linking, and the same text in each clone of
    the repository, so that a compiler's cache knows it."""
    unit = library.with_suffix(target.suffix)
    unit.parent.mkdir(parents=True, exist_ok=True)
    sources = [source.resolve() for folder in folders for source in sources_of(folder)]
    paths = [os.path.relpath(source, unit.parent.resolve()) for source in sources]
    unit.write_text("".join(f'#include "{path}"\n' for path in paths))
    includes = [f"-I{(folder / 'stubs').resolve()}" for folder in folders if (folder / "observed").exists()]
    compiled = library.with_suffix(".o") if target.link else library
    error = run_quietly([*target.compile, *includes, str(unit), "-o", str(compiled)])
    if error or not target.link:
        return error
    linker, *libraries = target.link
    return run_quietly([linker, str(compiled), "-o", str(library), *libraries])


def compile_graphs(target: Target, folders: dict[str, Path], library: Path) -> tuple[dict[str, Path], dict[str, str]]:
    """The library of each graph, and what the compiler said of those that it does not take."""
    names = list(folders)
    error = compile_library(target, list(folders.values()), library)
    if not error:
        return {name: library for name in names}, {}
    if len(names) == 1:
        return {}, {names[0]: error}
    # Those that compile are run nevertheless.
    culprits = [name for name in names if f"/{name}/" in error]
    groups = [[name for name in names if name not in culprits], *([name] for name in culprits)]
    if not culprits or not groups[0]:
        groups = [names[: len(names) // 2], names[len(names) // 2:]]
    libraries: dict[str, Path] = {}
    errors: dict[str, str] = {}
    for number, group in enumerate(groups):
        part = library.with_name(f"{library.stem}_{number}.so")
        some, wrong = compile_graphs(target, {name: folders[name] for name in group}, part)
        libraries |= some
        errors |= wrong
    return libraries, errors
