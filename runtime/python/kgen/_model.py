"""Loaded models."""

from __future__ import annotations

import contextlib
import ctypes
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from . import _kgen


class State:
    """A buffer that a model keeps between calls, as memory that you may read and write between them. It has `__dlpack__`,
    so `torch.from_dlpack(state)` takes it without a copy, and it keeps the model alive."""

    def __init__(self, model: "Model", name: str) -> None:
        self._model = model
        self.name = name

    @property
    def shape(self) -> Tuple[int, ...]:
        """Symbolic dims at their greatest."""
        return tuple(self._model._state_shape(self.name))

    @property
    def dtype(self) -> str:
        """NumPy's or ml_dtypes' name of it."""
        return str(self._model._state_dtype(self.name))

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        return self._model._state_capsule(self.name)

    def __dlpack_device__(self) -> Tuple[int, int]:
        kind, index = self._model.dlpack_device
        return (kind, index)

    def numpy(self) -> Any:
        """The memory itself as a NumPy array; of a model on the CPU."""
        import numpy

        return self.__array__(numpy.dtype(self._numpy_type()), copy=False)

    def _numpy_type(self) -> Any:
        import numpy

        if hasattr(numpy, self.dtype):
            return self.dtype
        import ml_dtypes

        return getattr(ml_dtypes, self.dtype)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        import numpy

        if self.__dlpack_device__()[0] != 1:
            raise TypeError(f"state '{self.name}' is on a GPU; use torch.from_dlpack")
        own = numpy.dtype(self._numpy_type())
        address, size = self._model._state_memory(self.name)
        if size == 0:
            return numpy.empty(self.shape, own)
        memory = (ctypes.c_char * size).from_address(address)
        memory._model = self._model  # type: ignore[attr-defined]  # which the memory is a part of
        array: Any = numpy.frombuffer(memoryview(memory), dtype=own).reshape(self.shape)
        if copy or (dtype is not None and numpy.dtype(dtype) != own):
            return array.astype(dtype or own)
        return array

    def __repr__(self) -> str:
        return f"{self.name}: {self.dtype}{list(self.shape)}"


class _States(Mapping[str, State]):
    """The states of a model by name."""

    def __init__(self, model: "Model") -> None:
        self._model = model

    def __getitem__(self, name: str) -> State:
        if name not in self._model._state_names():
            raise KeyError(f"there is no state '{name}'; there are: {', '.join(self) or 'none'}")
        return State(self._model, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._model._state_names())

    def __len__(self) -> int:
        return len(self._model._state_names())

    def __repr__(self) -> str:
        return "{" + ", ".join(repr(state) for state in self.values()) + "}"


@dataclass(frozen=True)
class ProfileRow:
    """What one stub took."""

    name: str
    count: int
    total_ns: int

    @property
    def mean_us(self) -> float:
        """Microseconds of one launch."""
        return self.total_ns / self.count / 1000 if self.count else 0.0


@dataclass
class Profile:
    """The times of stubs, by total time, greatest first; whole runs stand under the name of the graph. Prints as a table."""

    graph: str
    rows: List[ProfileRow] = field(default_factory=list)

    def __iter__(self) -> Iterator[ProfileRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        whole = max((row.total_ns for row in self.rows if row.name == self.graph), default=0)
        width = max([len(row.name) for row in self.rows] + [4])
        lines = [f"{'name':<{width}} {'count':>8} {'total ms':>10} {'mean us':>10} {'share':>6}"]
        for row in self.rows:
            share = f"{100 * row.total_ns / whole:.0f}%" if whole else ""
            lines.append(
                f"{row.name:<{width}} {row.count:>8} {row.total_ns / 1e6:>10.3f} {row.mean_us:>10.2f} {share:>6}"
            )
        return "\n".join(lines)


class Model(_kgen.Model):
    """A graph with its weights, state and memory, to be called: `y = model(x)`, `model(x=x)`, `model(x, out=y)`.

    Inputs are NumPy arrays, PyTorch tensors or whatever has `__dlpack__`, taken without copies; numbers stand for scalars (on a
    GPU for those that sizes are read from).
    Outputs are new tensors of the framework of the first one, or those in `out` (one, or a tuple), which is then returned.
    On a GPU a call runs on PyTorch's current stream, and does not wait. Calls of one model follow each other, whichever
    threads they come from.

    Raises TypeError for what is no tensor, and ArgumentError for one of the wrong dtype, device, shape or strides; both
    name the argument.
    """

    graph: str = ""
    source: Path

    @property
    def state(self) -> Mapping[str, State]:
        """What the model keeps between calls: `model.state["k_cache"].numpy()`."""
        return _States(self)

    @contextlib.contextmanager
    def profile(self, trace: Optional[str] = None) -> Iterator[Profile]:
        """Times the stubs of the calls within: `with model.profile() as profile: ...; print(profile)`. `trace` names a
        file for the timeline, as Chrome and Perfetto read it."""
        result = Profile(self.graph)
        self._profile_start()
        try:
            yield result
        finally:
            self._profile_stop(trace or "")
            result.rows = [ProfileRow(*row) for row in self._profile()]

    def __repr__(self) -> str:
        inputs = ", ".join(repr(one) for one in self.inputs)
        outputs = ", ".join(repr(one) for one in self.outputs)
        return f"<kgen model {self.graph}({inputs}) -> {outputs}>"


def make_model(library: _kgen.Library, graph: str, source: Path, options: Dict[str, Any]) -> Model:
    """A model whose class is named after the graph and documents it, so that help(model) says its inputs."""
    kind = type(graph, (Model,), {"__module__": "kgen", "graph": graph, "source": source})
    model: Model = kind(library=library, **options)
    kind.__doc__ = _describe(model)
    return model


def _describe(model: Model) -> str:
    lines = [f"The graph {model.graph}, in {model.source}.", ""]
    names = ", ".join(one.name for one in model.inputs)
    lines += [f"    {', '.join(one.name for one in model.outputs)} = model({names})", "", "Inputs:"]
    for one in model.inputs:
        notes = [note for note, holds in (("any strides", one.strided), ("on the host", one.on_host)) if holds]
        lines.append(f"    {one!r}" + (f" ({', '.join(notes)})" if notes else ""))
    lines.append("Outputs:")
    lines += [f"    {one!r}" for one in model.outputs]
    if model.state:
        lines.append("State, kept between calls:")
        lines += [f"    {state!r}" for state in model.state.values()]
    header = model.source / f"{model.graph}.hpp"
    dims = _dims_of(header) if header.is_file() else []
    if dims:
        lines.append("Dims:")
        lines += [f"    {dim}" for dim in dims]
    return "\n".join(lines) + "\n\n" + (Model.__doc__ or "")


def _dims_of(header: Path) -> List[str]:
    """The ranges of dims, as the comment of the emitted header says them."""
    dims: List[str] = []
    is_open = False
    for line in header.read_text(encoding="utf-8", errors="replace").splitlines():
        if not line.startswith("//"):
            is_open = False
        elif line.startswith("//   dims"):
            is_open = True
        if is_open:
            dims.append(line[2:].replace("dims", "", 1).strip() if not dims else line[2:].strip())
    return dims
