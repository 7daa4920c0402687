"""Loading: plan, build, open; each only where it is not done already."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from . import _kgen
from ._build import open_built
from ._files import hash_of, locked, writing_to
from ._home import generator
from ._model import Model, make_model
from ._plan import PathLike, arguments_of, graph_of, plan


def load(
    graph: PathLike,
    weights: Optional[PathLike] = None,
    *,
    folder: Optional[PathLike] = None,
    target: str = "cpu",
    arch: Optional[str] = None,
    check: bool = False,
    specs: Sequence[PathLike] = (),
    kernels: Sequence[PathLike] = (),
    threads: int = 0,
    device: int = 0,
    eager: bool = False,
    synchronous: bool = False,
    verbose: bool = False,
) -> Model:
    """Plans a graph, builds its source and loads it with its weights.

    graph     a graph.yaml
    weights   the folder of its safetensors files, or one of them; without it the folder of the graph
    folder    where the source (`src`) and the build are kept, to be read and edited: edits are merged with what is planned
              anew, and used. Without it, a folder of the user's cache (KGEN_CACHE, else ~/.cache/kgen) named by content
    target, arch, check, specs, kernels   as for kgen.plan
    threads   how many threads stubs may use; 0: as many as OpenMP would
    device    which GPU; eager, synchronous: as kgen_load_options in kgen_runtime.h
    verbose   print what the build prints

    A graph is planned where it, its operators, its kernels, its options or kgen have changed, and built where the source has.
    Raises PlanError, BuildError or WeightsError.
    """
    path = Path(graph)
    content = _content_of(path, arguments_of(target, arch, check, specs, kernels), specs, kernels)
    work = Path(folder) if folder is not None else cache() / f"{path.stem}-{content[:16]}"
    work = work.resolve()
    source = work / "src"
    with writing_to(work):
        work.mkdir(parents=True, exist_ok=True)
        with locked(work):
            stamp = work / "planned"
            if not (source / "plan.yaml").is_file() or not stamp.is_file() or stamp.read_text() != content:
                plan(path, source, target=target, arch=arch, check=check, specs=specs, kernels=kernels)
                stamp.write_text(content)
            library = open_built(source, work / "build", verbose=verbose)
    options: Dict[str, Any] = dict(threads=threads, check=check, device=device, eager=eager, synchronous=synchronous)
    return make_model(library, graph_of(source), source, {**options, "weights_directory": _weights(weights, path.parent)})


def load_built(
    source: PathLike,
    weights: Optional[PathLike] = None,
    *,
    folder: Optional[PathLike] = None,
    threads: int = 0,
    check: bool = False,
    device: int = 0,
    eager: bool = False,
    synchronous: bool = False,
) -> Model:
    """Builds the source that kgen wrote into a folder, as it stands, where it is not built already, and loads it.

    Arguments as for kgen.load and kgen.build; `weights` is by default the folder itself."""
    source_folder = Path(source).resolve()
    library = open_built(source_folder, folder)
    options: Dict[str, Any] = dict(threads=threads, check=check, device=device, eager=eager, synchronous=synchronous)
    options["weights_directory"] = _weights(weights, source_folder)
    return make_model(library, graph_of(source_folder), source_folder, options)


def load_library(
    library: PathLike,
    weights: Optional[PathLike] = None,
    *,
    graph: Optional[str] = None,
    threads: int = 0,
    check: bool = False,
    device: int = 0,
    eager: bool = False,
    synchronous: bool = False,
) -> Model:
    """Loads a shared library that kgen.build made, here or on another machine: no generator and no compiler are needed.

    library   what kgen.build returned: "work/build/block-0123456789abcdef.so"
    graph     its name; without it what the name of the file says

    Further arguments as for kgen.load; `weights` is by default the folder of the library. Raises kgen.Error for a library of
    something else."""
    path = Path(library).resolve()
    name = graph if graph is not None else path.stem.rpartition("-")[0] or path.stem
    options: Dict[str, Any] = dict(threads=threads, check=check, device=device, eager=eager, synchronous=synchronous)
    return make_model(_kgen.Library(str(path), name), name, path.parent, {**options, "weights_directory": _weights(weights, path.parent)})


def cache() -> Path:
    """Where graphs are planned and built for which no folder is named."""
    named = os.environ.get("KGEN_CACHE")
    return Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kgen"


def _weights(weights: Optional[PathLike], default: Path) -> str:
    path = Path(weights) if weights is not None else default
    return os.fspath((path.parent if path.is_file() else path).resolve())


def _content_of(graph: Path, arguments: Sequence[str], specs: Sequence[PathLike], kernels: Sequence[PathLike]) -> str:
    files: List[Path] = [graph, *(Path(spec) for spec in specs)]
    for place in map(Path, kernels):
        files += sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else [place]
    stat = generator().stat()
    return hash_of((file for file in files if file.is_file()), *arguments, f"{stat.st_size}:{stat.st_mtime_ns}")
