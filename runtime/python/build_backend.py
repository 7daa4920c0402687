"""What pip builds the package by: scikit-build-core, which knows nothing above this folder, and a source distribution that holds
the CMake project, two folders up, as it lies in the repository."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, Optional

from scikit_build_core import build as _scikit
from scikit_build_core.build import *  # noqa: F403

_here = Path(__file__).resolve().parent
_project = _here.parent.parent

# What a wheel is built from, of the project.
_parts = ("CMakeLists.txt", "LICENSE", "README.md", "generator", "runtime", "specs", "templates")

# pyproject.toml as it says where things are, from this folder and from the root of the archive.
_moved = {
    'backend-path = ["."]': 'backend-path = ["runtime/python"]',
    'readme = "README.md"': 'readme = "runtime/python/README.md"',
    'cmake.source-dir = "../.."': 'cmake.source-dir = "."',
    'wheel.packages = ["kgen"]': 'wheel.packages = ["runtime/python/kgen"]',
    'build-dir = "../../build': 'build-dir = "build',
}


def build_sdist(sdist_directory: str, config_settings: Optional[Dict[str, Any]] = None) -> str:
    """kgen-VERSION.tar.gz, the same for the same sources."""
    metadata = _metadata(config_settings)
    found = re.search(r"^Version: (\S+)$", metadata, re.MULTILINE)
    assert found, metadata
    name = f"kgen-{found[1]}"
    with open(Path(sdist_directory) / f"{name}.tar.gz", "wb") as file:
        with gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") as zipped:
            with tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive:
                _add(archive, f"{name}/PKG-INFO", metadata.encode())
                _add(archive, f"{name}/pyproject.toml", _moved_pyproject().encode())
                for path in _sources():
                    executable = bool(path.stat().st_mode & 0o100)
                    _add(archive, f"{name}/{path.relative_to(_project).as_posix()}", path.read_bytes(), executable)
    return f"{name}.tar.gz"


def _metadata(config_settings: Optional[Dict[str, Any]]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        name = _scikit.prepare_metadata_for_build_wheel(folder, config_settings)
        return (Path(folder) / name / "METADATA").read_text(encoding="utf-8")


def _moved_pyproject() -> str:
    text = (_here / "pyproject.toml").read_text(encoding="utf-8")
    for here, there in _moved.items():
        if here not in text:
            raise RuntimeError(f"pyproject.toml says nothing like '{here}', which the source distribution moves")
        text = text.replace(here, there)
    return text


def _sources() -> Iterator[Path]:
    for part in _parts:
        top = _project / part
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            inner = path.relative_to(_project).parts
            if path.is_file() and not any(each.startswith(".") or each in ("__pycache__", "build", "dist") for each in inner):
                yield path


def _add(archive: tarfile.TarFile, name: str, content: bytes, executable: bool = False) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    entry.mode = 0o755 if executable else 0o644
    archive.addfile(entry, io.BytesIO(content))
