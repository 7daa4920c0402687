"""Building: the emitted source as a shared library that Python opens."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Tuple

from . import _kgen
from ._errors import BuildError
from ._files import hash_of, locked, writing_to
from ._home import home
from ._plan import PathLike, graph_of

_project = Path(__file__).with_name("module.cmake.in")

# What CMake says of a package that is not there, and what to install.
_missing_packages: Dict[str, Tuple[str, str]] = {
    "dlpack": ("DLPack's header", "libdlpack-dev"),
    "OpenMP": ("OpenMP of the C++ compiler", "g++"),
    "kgen": ("kgen's CMake package", "kgen, installed by `cmake --install`"),
    "CUDAToolkit": ("CUDA's toolkit", "CUDA 12 or newer"),
    "hip": ("HIP", "ROCm"),
}
_missing_libraries = {"sleef": "libsleef-dev", "gomp": "libgomp1", "omp": "libomp-dev"}


def build(source: PathLike, folder: Optional[PathLike] = None, *, verbose: bool = False) -> Path:
    """Builds the source that kgen wrote into `source`, as it stands, edits too, and returns the shared library.

    folder    where the build is kept; without it `.kgen/python` of the source, which is not planned there
    verbose   print what the build prints

    CXX, CXXFLAGS and CMAKE_ARGS of the environment hold. Nothing is compiled that is built already, and processes that build the
    same folder wait for each other. The library is there until the folder is built anew from other source; kgen.load and
    kgen.load_built open it before anybody else can. Raises BuildError, which names the program or package that is missing, or has
    the compiler's messages.
    """
    with _built(source, folder, verbose) as library:
        return library


def open_built(source: PathLike, folder: Optional[PathLike] = None, *, verbose: bool = False) -> _kgen.Library:
    """Builds as kgen.build does, and opens the library while nobody else can build in its place."""
    with _built(source, folder, verbose) as library:
        return _kgen.Library(str(library), graph_of(Path(source)))


@contextlib.contextmanager
def _built(source: PathLike, folder: Optional[PathLike], verbose: bool) -> Iterator[Path]:
    """The library, while no other process and thread builds in its folder."""
    source_folder = Path(source).resolve()
    graph = graph_of(source_folder)
    build_folder = Path(folder).resolve() if folder is not None else source_folder / ".kgen" / "python"
    for each in (source_folder, build_folder):
        _require_name(each)
    with writing_to(build_folder):
        build_folder.mkdir(parents=True, exist_ok=True)
        with locked(build_folder):
            content = _content_of(source_folder)
            known = _known(build_folder, content)
            if known is None:
                language = _language_of(source_folder)
                _require_tools(language)
                log = _run_cmake(source_folder, build_folder, graph, language)
                if verbose:
                    print(log)
                known = _keep(build_folder, graph, content)
            yield known


def _require_name(folder: Path) -> None:
    """CMake takes these for its own, or writes them into its files as they are."""
    for mark in ';"$\\&|\n':
        if mark in str(folder):
            where = "name another (folder=, or KGEN_CACHE of the environment)"
            raise BuildError(f"CMake builds nothing in a folder with {mark!r} in its name: {str(folder)!r}; {where}")


def _content_of(source: Path) -> str:
    """Changes with every file that is compiled, with the headers of kgen, and with the compiler that is asked for."""
    files = sorted(path for path in source.rglob("*") if path.is_file() and ".kgen" not in path.relative_to(source).parts)
    names = [str(path.relative_to(source)) for path in files]
    runtime = sorted((home() / "lib").glob("**/libkgen_runtime*.a"))
    generator = home() / "bin" / "kgen"  # its date is that of the headers
    stamps = [f"{path}:{path.stat().st_mtime_ns}" for path in [generator, *runtime] if path.is_file()]
    tools = [os.environ.get(name, "") for name in ("CXX", "CXXFLAGS", "CUDACXX", "HIPCXX", "LDFLAGS", "CMAKE_ARGS")]
    return hash_of([*files, _project], str(source), *names, *stamps, *tools)


def _known(folder: Path, content: str) -> Optional[Path]:
    try:
        record = json.loads((folder / "built.json").read_text(encoding="utf-8"))
        library = folder / str(record["library"])
        return library if record["content"] == content and library.is_file() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _language_of(source: Path) -> str:
    text = (source / "CMakeLists.txt").read_text(encoding="utf-8")
    match = re.search(r"^project\(.*LANGUAGES CXX(?: (CUDA|HIP))?\)", text, re.M)
    return match[1] if match and match[1] else ""


def _require_tools(language: str) -> None:
    """Names what is missing before CMake does, in fewer words."""
    needs: List[Tuple[str, List[str], str]] = [("CMake", ["cmake"], "cmake (3.25 or newer)")]
    needs.append(("Ninja or Make", ["ninja", "make"], "ninja-build"))
    own = os.environ.get("CXX", "").split()[:1]
    needs.append(("a C++20 compiler", own or ["c++", "g++", "clang++"], "g++"))
    if language == "CUDA":
        own = os.environ.get("CUDACXX", "").split()[:1]
        needs.append(("CUDA's compiler", own or ["nvcc", "/usr/local/cuda/bin/nvcc"], "CUDA 12 or newer"))
    elif language == "HIP":
        needs.append(("HIP's compiler", ["hipcc", "clang++", "/opt/rocm/bin/hipcc"], "ROCm"))
    for what, programs, remedy in needs:
        if not any(shutil.which(program) for program in programs):
            names = " or ".join(f"'{program}'" for program in programs)
            raise BuildError(f"{what} is missing: there is no {names} in PATH; install {remedy}", tool=programs[0])


def _run_cmake(source: Path, folder: Path, graph: str, language: str) -> str:
    """Configures and builds in the folder. Returns what was printed."""
    project = folder / "project"
    project.mkdir(exist_ok=True)
    text = _project.read_text(encoding="utf-8")
    values = {"GRAPH": graph, "SOURCE": source.as_posix(), "LANGUAGES": f"CXX {language}".rstrip()}
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    _write_if_changed(project / "CMakeLists.txt", text)
    _write_if_changed(project / "exports.map", "{ global: kgen_*; local: *; };\n")
    generator = ["-G", "Ninja"] if shutil.which("ninja") else ["-G", "Unix Makefiles"]
    cuda = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    compiler = [f"-DCMAKE_CUDA_COMPILER={cuda}"] if language == "CUDA" and "CUDACXX" not in os.environ else []
    configure = ["cmake", "-S", str(project), "-B", str(folder / "build"), *generator, *compiler]
    # kgen_DIR too: what a configured folder has of it would be kept, also where that is another kgen than the one that plans.
    configure += ["-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={home()}", f"-Dkgen_DIR={home() / 'lib' / 'cmake' / 'kgen'}"]
    configure += shlex.split(os.environ.get("CMAKE_ARGS", ""))
    log = _run(configure, "configuring")
    return log + _run(["cmake", "--build", str(folder / "build"), "--parallel", str(os.cpu_count() or 1)], "building")


def _run(command: List[str], what: str) -> str:
    result = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace"
    )
    if result.returncode != 0:
        raise _explained(what, result.stdout)
    return result.stdout


def _explained(what: str, log: str) -> BuildError:
    for package, (name, remedy) in _missing_packages.items():
        if re.search(rf"(Could not find a package configuration file provided by \"{package}\"|Could NOT find {package}\b)", log):
            return BuildError(f"{name} is missing; install {remedy}", tool=package, log=log)
    for library, remedy in _missing_libraries.items():
        if re.search(rf"(cannot find -l{library}\b|{library}\.h: No such file)", log):
            return BuildError(f"the library {library} is missing; install {remedy}", tool=library, log=log)
    match = re.search(r"(?:CMAKE_(\w+)_COMPILER|compiler identification is unknown)", log)
    lines = log.splitlines()
    first = next((i for i, line in enumerate(lines) if re.search(r"\berror\b|Error", line)), max(0, len(lines) - 30))
    shown = "\n".join(lines[first : first + 30])
    tool = match[1].lower() + " compiler" if match and match[1] and "No CMAKE_" in log else None
    return BuildError(f"{what} the emitted source failed:\n{shown}", tool=tool, log=log)


def _write_if_changed(path: Path, text: str) -> None:
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _keep(folder: Path, graph: str, content: str) -> Path:
    """The library under a name of its own, so that one that a process has open is never written to."""
    built = folder / "build" / f"{graph}_python.so"
    digest = hashlib.sha256(built.read_bytes()).hexdigest()[:16]
    library = folder / f"{graph}-{digest}.so"
    if not library.is_file():
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(built.read_bytes())
        os.chmod(file.name, 0o755)
        os.replace(file.name, library)
    for old in folder.glob(f"{graph}-*.so"):
        if old != library:
            old.unlink()
    (folder / "built.json").write_text(json.dumps({"content": content, "library": library.name}), encoding="utf-8")
    return library
