"""Where kgen itself is: the generator, and the CMake package that emitted source is built with."""

from __future__ import annotations

import os
import shutil
import sys
from functools import lru_cache
from pathlib import Path

from ._errors import BuildError


@lru_cache(maxsize=None)
def _home_of(named: str) -> Path:
    """The folder that holds lib/cmake/kgen, and bin/kgen where graphs are planned: `named` if it is not empty, that of the
    wheel, or where the kgen in PATH is installed."""
    candidates = [Path(named)] if named else [Path(__file__).parent / "home"]
    found = shutil.which("kgen")
    if found and not named:
        candidates.append(Path(found).resolve().parent.parent)
    for candidate in candidates:
        if (candidate / "lib" / "cmake" / "kgen").is_dir():
            return candidate
    looked = ", ".join(str(candidate) for candidate in candidates)
    raise BuildError(
        f"there is no kgen (looked for lib/cmake/kgen in {looked}): install the package whole, or set KGEN_HOME to where "
        "`cmake --install` put kgen",
        tool="kgen",
    )


def home() -> Path:
    """Where kgen is installed; KGEN_HOME names another place. Raises BuildError where there is none."""
    return _home_of(os.environ.get("KGEN_HOME", ""))


def generator() -> Path:
    """The program kgen. Raises BuildError where the installation is without it."""
    program = home() / "bin" / "kgen"
    if not program.is_file():
        raise BuildError(
            f"there is no generator here (looked for {program}): kgen.load_built and kgen.load_library take what was planned or "
            "built elsewhere",
            tool="kgen",
        )
    return program


def main() -> None:
    """The program `kgen` of the wheel: the generator itself."""
    program = str(generator())
    os.execv(program, [program, *sys.argv[1:]])
