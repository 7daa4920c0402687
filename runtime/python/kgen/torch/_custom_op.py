"""Graphs as PyTorch's operators."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple

import torch

from .._errors import Error
from .._load import load_built
from .._model import Model, _dims_of
from .._plan import PathLike
from ._devices import options_for
from ._export import from_torch
from ._graph import dtype_names

_dtypes = {name: dtype for dtype, name in dtype_names.items()}


class CustomOpLibrary:
    """Every graph in a folder of emitted source as an operator of PyTorch, in two forms:

        ops = kgen.torch.CustomOpLibrary("src/")
        y = ops.graph(x)                    # torch.ops.kgen.graph(x): a new tensor
        ops.graph_out(x, y)                 # torch.ops.kgen.graph_out(x, y): into a tensor that you have

    They have fake kernels, for symbolic shapes too, so torch.compile(fullgraph=True) and torch.export take them. Inputs that
    sizes are read from (`P: {from: position}`) are integers. There are no gradients, and a graph with state is refused: what
    PyTorch may drop or repeat must not change anything. Call such a graph by kgen.load.

    source      a folder that kgen wrote, or one of several
    weights     where the weights of each graph are: a folder; by default that of the source
    namespace   of the operators in torch.ops

    Further arguments are those of kgen.load_built. Raises BuildError where the source does not build.
    """

    def __init__(self, source: PathLike, weights: Optional[PathLike] = None, *, namespace: str = "kgen", **options: Any) -> None:
        folder = Path(source).resolve()
        folders = [folder] if (folder / "plan.yaml").is_file() else sorted(path.parent for path in folder.glob("*/plan.yaml"))
        if not folders:
            raise Error(f"{folder}: there is no plan.yaml in it or in its folders; write the source with kgen.plan")
        self._operators: Dict[str, Callable[..., Any]] = {}
        for one in folders:
            self._add(load_built(one, weights, **options), namespace)

    def _add(self, model: Model, namespace: str) -> None:
        if model.state:
            raise Error(f"graph '{model.graph}' has state ({', '.join(model.state)}), which an operator cannot have; use kgen.load")
        shapes = _Shapes(model)
        parameters = [f"{'SymInt' if one.name in shapes.sizes else 'Tensor'} {one.name}" for one in model.inputs]
        count = len(model.outputs)
        result = "Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})"

        has_tensors = len(shapes.sizes) < len(model.inputs)

        def new(*inputs: Any) -> Any:
            if has_tensors:
                return model(*inputs)
            return model(*inputs, out=shapes(*inputs))  # nothing says whose tensors

        def into(*tensors: Any) -> None:
            model(*tensors[: len(tensors) - count], out=tensors[len(tensors) - count :])

        def check(*tensors: Any) -> None:
            shapes.of_inputs(tensors[: len(tensors) - count])

        outputs = [f"Tensor(a{i}!) {one.name}" for i, one in enumerate(model.outputs)]
        self._define(namespace, model.graph, f"({', '.join(parameters)}) -> {result}", (), new, shapes)
        names = tuple(one.name for one in model.outputs)
        self._define(namespace, model.graph + "_out", f"({', '.join(parameters + outputs)}) -> ()", names, into, check)

    def _define(self, namespace: str, name: str, schema: str, mutated: Tuple[str, ...], run: Any, fake: Any) -> None:
        operator = torch.library.custom_op(f"{namespace}::{name}", run, mutates_args=mutated, schema=schema)
        operator.register_fake(fake)
        self._operators[name] = getattr(getattr(torch.ops, namespace), name)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operators: Dict[str, Callable[..., Any]] = self.__dict__.get("_operators", {})
        if name not in operators:
            raise AttributeError(f"there is no operator '{name}'; there are: {', '.join(operators)}")
        return operators[name]

    def __dir__(self) -> List[str]:
        return sorted(self._operators)


@dataclass
class _Dim:
    """What the comment of an emitted header says of a dim: "P: 0..32, the value of position"."""

    low: int
    high: int
    source: str = ""
    """The input that it is the value of, or of one of whose elements: "sizes[0]"."""


class _Shapes:
    """The shapes of a graph's outputs, from those of its inputs, numbers or symbols."""

    def __init__(self, model: Model) -> None:
        self._model = model
        kind, index = model.dlpack_device
        self._device = torch.device("cpu") if kind == 1 else torch.device("cuda", index)
        header = model.source / f"{model.graph}.hpp"
        self._dims: Dict[str, _Dim] = {}
        for line in _dims_of(header) if header.is_file() else []:
            match = re.match(r"(\w+): (\d+)(?:\.\.(\d+))?(?:, the value of ([\w\[\]]+))?", line)
            if match:
                self._dims[match[1]] = _Dim(int(match[2]), int(match[3] or match[2]), match[4] or "")
        self.sizes = {dim.source for dim in self._dims.values() if dim.source.isidentifier()}
        """The inputs that are one size each."""

    def of_inputs(self, inputs: Sequence[Any]) -> Dict[str, Any]:
        """The dims that they say. Raises TypeError for a tensor of another dtype or rank."""
        dims: Dict[str, Any] = {}
        others: List[Tuple[str, Any, str]] = []
        for parameter, value in zip(self._model.inputs, inputs):
            if parameter.name in self.sizes:
                dims.update((name, value) for name, dim in self._dims.items() if dim.source == parameter.name)
                continue
            if value.dtype != _dtypes[parameter.dtype] or value.dim() != len(parameter.dims):
                raise TypeError(f"input '{parameter.name}': it is {value.dtype} of {value.dim()} axes, expected {parameter.type}")
            for text, extent in zip(parameter.dims, value.shape):
                if text.isidentifier():
                    dims.setdefault(text, extent)
                elif text.isdigit():
                    torch._check(extent == int(text), lambda: f"input '{parameter.name}': an axis is not {text}")
                else:
                    others.append((text, extent, parameter.name))
        while any([_solve(text, extent, name, dims) for text, extent, name in others]):
            pass
        return dims

    def __call__(self, *inputs: Any) -> Any:
        """Outputs without memory."""
        dims = self.of_inputs(inputs)
        unknown: Dict[str, Any] = {}
        results = []
        for parameter in self._model.outputs:
            shape = [self._extent(text, dims, unknown) for text in parameter.dims]
            results.append(torch.empty(shape, dtype=_dtypes[parameter.dtype], device=self._device))
        return results[0] if len(results) == 1 else tuple(results)

    def _extent(self, text: str, dims: Dict[str, Any], unknown: Dict[str, Any]) -> Any:
        """Of an output. What follows from elements of a tensor, only the run knows: the same for the same text."""
        if dims.keys() >= _names_in(text):
            return _value(text, dims)
        if text not in unknown:
            dim = self._dims.get(text)
            limits = {"min": dim.low, "max": dim.high} if dim else {}
            unknown[text] = torch.library.get_ctx().new_dynamic_size(**limits)
        return unknown[text]


_functions: Dict[str, Any] = {"min": torch.sym_min, "max": torch.sym_max}


def _names_in(text: str) -> Set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text)) - _functions.keys()


def _value(text: str, dims: Mapping[str, Any]) -> Any:
    return eval(text.replace("/", "//"), {"__builtins__": {}, **_functions}, dims)


def _solve(text: str, extent: Any, name: str, dims: Dict[str, Any]) -> bool:
    """Adds the only dim of an input's extent that is not known, where the extent is a multiple of it, or more by what is known."""
    unknown = _names_in(text) - dims.keys()
    if len(unknown) != 1 or re.search(r"[/%]|\w\(", text):
        return False
    (dim,) = unknown
    rest, once, twice = (_value(text, {**dims, dim: number}) for number in range(3))
    step = once - rest
    if not isinstance(step, int) or step <= 0 or twice - once != step:
        return False
    dims[dim] = (extent - rest) // step
    torch._check(dims[dim] * step + rest == extent, lambda: f"input '{name}': an axis is not {text}")
    return True


def graph_op(
    *,
    example_inputs: Sequence[Any],
    folder: PathLike,
    dynamic_shapes: Any = None,
    numerics: str = "fast",
    namespace: str = "kgen",
    name: Optional[str] = None,
    **options: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes one operator of a whole function of tensors, in the form of CustomOpLibrary's:

        @kgen.torch.graph_op(example_inputs=(torch.empty(4, 3),), folder="work/", dynamic_shapes={"image": {0: Dim("N")}})
        def grayscale(image): ...

    The graph, its source and the build are in `folder`, to be read and edited; `numerics` as for from_torch. Options are those of
    kgen.load, whose target is by default that of the example inputs. Raises ExportError for operators that kgen lacks.
    """

    def make(function: Callable[..., Any]) -> Callable[..., Any]:
        graph = name or function.__name__
        work = Path(folder)
        path = work / f"{graph}.yaml"
        exported = from_torch(_Function(function), example_inputs, path=path, dynamic_shapes=dynamic_shapes, numerics=numerics)
        device = next((one.device for one in example_inputs if isinstance(one, torch.Tensor)), "cpu")
        found = {} if "target" in options else options_for(device)
        model = exported.load(folder=work, **{**found, **options})
        library = CustomOpLibrary.__new__(CustomOpLibrary)
        library._operators = {}
        library._add(model, namespace)
        return library._operators[model.graph]

    return make


class _Function(torch.nn.Module):
    """A function as torch.export wants it, with the names of its parameters."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.forward = function
