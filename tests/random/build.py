"""Plans graphs with kgen and compiles what it wrote: many graphs in one shared library, since their headers take most of
the time."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from graph import Graph, to_yaml


@dataclass
class Target:
    """How sources are compiled and run. `compile`: the command but for files; `link`: the libraries behind them;
    `driver`: the program that loads what comes out."""

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
    error = run_quietly([tools.kgen, "plan", str(path), "--emit", str(folder), "--quiet", "--color", "never", *arguments])
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


def compile_library(target: Target, folders: list[Path], library: Path) -> str:
    """One translation unit of all graphs' sources."""
    unit = library.with_suffix(target.suffix)
    unit.parent.mkdir(parents=True, exist_ok=True)
    unit.write_text("".join(f'#include "{source.resolve()}"\n' for folder in folders for source in sources_of(folder)))
    includes = [f"-I{(folder / 'stubs').resolve()}" for folder in folders if (folder / "observed").exists()]
    return run_quietly([*target.compile, *includes, str(unit), "-o", str(library), *target.link])


def compile_graphs(target: Target, folders: dict[str, Path], work: Path, per_unit: int,
                   jobs: int) -> tuple[dict[str, Path], dict[str, str]]:
    """The library of each graph, and what the compiler said of those that it does not take."""
    names = sorted(folders)
    libraries: dict[str, Path] = {}
    errors: dict[str, str] = {}

    def compile_some(label: str, some: list[str]) -> None:
        library = work / f"{target.name}_{label}.so"
        error = compile_library(target, [folders[name] for name in some], library)
        if not error:
            libraries.update((name, library) for name in some)
        elif len(some) == 1:
            errors[some[0]] = error
        else:  # those that compile are run nevertheless
            culprits = [name for name in some if f"/{name}/" in error]
            groups = [[name for name in some if name not in culprits], *([name] for name in culprits)]
            if not culprits or not groups[0]:
                groups = [some[: len(some) // 2], some[len(some) // 2:]]
            for number, group in enumerate(groups):
                compile_some(f"{label}_{number}", group)

    batches = [names[start: start + per_unit] for start in range(0, len(names), per_unit)]
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda item: compile_some(str(item[0]), item[1]), enumerate(batches)))
    return libraries, errors
