"""Files that several processes read and write at once."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import tempfile
import threading
from pathlib import Path
from typing import IO, Iterable, Iterator

from ._errors import BuildError

_read_only = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One process and thread at a time in the folder. In one that is read-only nothing changes, and nobody waits."""
    with contextlib.ExitStack() as held:
        try:
            file = held.enter_context(open(folder / "lock", "w", encoding="utf-8"))
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in _read_only:
                raise
        yield


@contextlib.contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Says of a folder that cannot be written to what to do."""
    try:
        yield
    except OSError as error:
        if error.errno not in (*_read_only, errno.ENOSPC, errno.ENOTDIR, errno.EEXIST):
            raise
        what = f"nothing can be written to {folder}: {error.strerror}"
        raise BuildError(f"{what}; name another folder (folder=, or KGEN_CACHE of the environment)") from error


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to be written, which takes the place of the one at `path` when it is whole: whoever has that one open, or mapped as
    models have their weights, keeps it."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        with open(aside, "wb") as file:
            yield file
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


@contextlib.contextmanager
def scratch_folder(folder: Path) -> Iterator[Path]:
    """A folder within this one, for a while."""
    with tempfile.TemporaryDirectory(prefix=".own-", dir=folder) as name:
        yield Path(name)


def hash_of(paths: Iterable[Path], *words: str) -> str:
    """Of the files' names and contents, and the words."""
    digest = hashlib.sha256()
    for word in words:
        digest.update(word.encode() + b"\0")
    for path in paths:
        digest.update(str(path.name).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
