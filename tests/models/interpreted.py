"""Library models (libraries.py) through kgen.from_torch, through torch.compile(backend="kgen"), and through both of PyTorch's ONNX
exporters and kgen import: what they write is computed by interpreter.py, from the operators' definitions, and compared with PyTorch in f64. Each graph is planned too. Nothing is built, so
that a hundred models take minutes; prints a line for each. Run by scripts/models --interpreted."""

import argparse
import copy
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

import libraries
from interpreter import Interpreted
from models import dynamic_shapes, export, flat
from zoo import Case, Inputs

import kgen  # noqa: E402
import kgen.torch  # noqa: E402
from kgen._home import generator  # noqa: E402
from kgen.torch import _backend  # noqa: E402

WAYS = ("from_torch", "compile", "dynamo", "script")
# In f64, but for what models compute in f32 by themselves, such as the angles of rotary embeddings.
TOLERANCE = 2e-6
# In types of fewer bits the error may be so many times PyTorch's own, and this much of the greatest number.
WORSE_THAN_TORCH, OF_GREATEST = 3, 1e-2
DTYPES = {"f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16}


@dataclass
class Tried:
    case: str
    way: str
    problem: str = ""
    error: float = 0.0
    parts: int = 0
    left: int = 0
    seconds: float = 0.0
    reasons: tuple[str, ...] = ()
    plan_seconds: float = 0.0


def of_dtype(inputs: Inputs, dtype: torch.dtype) -> list[torch.Tensor]:
    return [each.to(dtype) if each.is_floating_point() else each for each in inputs.values()]


def planned(path: Path, tried: Tried) -> None:
    begin = time.monotonic()
    kgen.plan(path, path.parent / "src")
    tried.plan_seconds += time.monotonic() - begin


def error_of(found: Any, expected: Any) -> float:
    """The greatest of all results, relative to the greatest number of each."""
    worst = 0.0
    for one, other in zip(flat(found), flat(expected), strict=True):
        if one.shape != other.shape:
            raise AssertionError(f"{list(one.shape)} instead of {list(other.shape)}")
        if not other.numel():
            continue
        one, other = one.double(), other.double()
        if not torch.equal(one.isnan(), other.isnan()):
            raise AssertionError("NaN where there is none, or none where there is")
        finite = other.isfinite()
        if not torch.equal(one[~finite].nan_to_num(5), other[~finite].nan_to_num(5)):
            raise AssertionError("infinities differ")
        if finite.any():
            worst = max(worst, ((one - other)[finite].abs().max() / other[finite].abs().max().clamp(min=1e-30)).item())
    return worst


def exported(
    case: Case, module: torch.nn.Module, examples: list[torch.Tensor], work: Path, tried: Tried
) -> Callable[..., Any]:
    path = work / f"{case.name}.yaml"
    shapes = dynamic_shapes(case, module, case.inputs(case.sizes[0])) if case.dynamic else None
    kgen.from_torch(module, tuple(examples), path=path, dynamic_shapes=shapes)
    planned(path, tried)
    tried.parts = 1
    return Interpreted(path)


def imported(exporter: str) -> Callable[..., Callable[..., Any]]:
    """By way of an ONNX model that the exporter writes."""

    def bring_in(
        case: Case, module: torch.nn.Module, examples: list[torch.Tensor], work: Path, tried: Tried
    ) -> Callable[..., Any]:
        model, path = work / "model.onnx", work / f"{case.name}.yaml"
        in_dtype = replace(case, inputs=lambda sizes: dict(zip(case.inputs(sizes), examples)))
        export(in_dtype, module, exporter, model)
        ranges = [f"--dim={name}={low}..{high}" for name, (low, high) in case.dims.items()]
        command = [generator(), "import", model, "-o", path, "--quiet", "--color", "never", *ranges]
        said = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if said.returncode:
            raise AssertionError(said.stderr or f"kgen import: exit {said.returncode}")
        planned(path, tried)
        tried.parts = 1
        model = Interpreted(path)
        # The exporter leaves out inputs that nothing reads.
        places = [list(case.inputs(case.sizes[0])).index(name) for name in model.input_names]
        return lambda *inputs: model(*(inputs[place] for place in places))

    return bring_in


def compiled(
    case: Case, module: torch.nn.Module, examples: list[torch.Tensor], work: Path, tried: Tried
) -> Callable[..., Any]:
    def load(graph: Path, **_: Any) -> Interpreted:
        planned(graph, tried)
        return Interpreted(graph)

    _backend.load = load
    torch._dynamo.reset()
    kgen.torch.reports.clear()
    model = torch.compile(module, backend="kgen", options={"folder": work})

    def call(*inputs: torch.Tensor) -> Any:
        for name, tensor in zip(case.inputs(case.sizes[0]), inputs):
            for axis in case.dynamic.get(name, {}):
                torch._dynamo.mark_dynamic(tensor, axis)
        result = model(*inputs)
        tried.parts = sum(len(each.planned) for each in kgen.torch.reports)
        tried.reasons = tuple(line for each in kgen.torch.reports for line in each.left)
        tried.left = len(tried.reasons)
        return result

    return call


def try_case(case: Case, way: str, dtype: torch.dtype, work: Path) -> Tried:
    tried = Tried(case.name, way)
    begin = time.monotonic()
    try:
        torch.manual_seed(1)
        module = case.make().eval().to(dtype)
        with torch.no_grad():
            runs = [of_dtype(case.inputs(sizes), dtype) for sizes in case.sizes]
            own = [module(*inputs) for inputs in runs]
            exact = (
                own
                if dtype == torch.float64
                else [
                    copy.deepcopy(module).double()(
                        *(each.double() if each.is_floating_point() else each for each in inputs)
                    )
                    for inputs in runs
                ]
            )
            bring_in = {"from_torch": exported, "compile": compiled}.get(way) or imported(way)
            call = bring_in(case, module, runs[0], work / way / case.name, tried)
            for inputs, torchs, expected, sizes in zip(runs, own, exact, case.sizes):
                found = call(*inputs)
                if [each.dtype for each in flat(found)] != [each.dtype for each in flat(torchs)]:
                    raise AssertionError(
                        f"{[each.dtype for each in flat(found)]} instead of {[each.dtype for each in flat(torchs)]}"
                    )
                error, torch_error = error_of(found, expected), error_of(torchs, expected)
                tried.error = max(tried.error, error)
                if error > (TOLERANCE if dtype == torch.float64 else WORSE_THAN_TORCH * torch_error + OF_GREATEST):
                    raise AssertionError(f"differs by {error:.1e} at {sizes}, PyTorch by {torch_error:.1e}")
    except Exception as error:  # told of each model, and the next is tried
        tried.problem = f"{type(error).__name__}: {error}"
        trace = work / way / case.name / "problem.txt"
        trace.parent.mkdir(parents=True, exist_ok=True)
        trace.write_text(traceback.format_exc())
    tried.seconds = time.monotonic() - begin
    return tried


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", help="models, or the beginnings of their names with * behind; without names all of them"
    )
    parser.add_argument("--way", choices=WAYS)
    parser.add_argument("--dtype", choices=DTYPES, default="f64")
    parser.add_argument("--work", type=Path, default=None, help="a folder to work in")
    parser.add_argument("--list", action="store_true", help="print the models' names")
    options = parser.parse_args()
    work = options.work or Path(tempfile.mkdtemp(prefix="kgen_models_"))
    cases = libraries.all_cases()
    if options.list:
        print("\n".join(case.name for case in cases))
        return 0
    failed = 0
    for case in cases:
        if options.names and not any(
            case.name == name or name.endswith("*") and case.name.startswith(name[:-1]) for name in options.names
        ):
            continue
        for way in [options.way] if options.way else WAYS:
            if "compile" in case.exporters and way not in case.exporters:
                continue
            tried = try_case(case, way, DTYPES[options.dtype], work)
            failed += bool(tried.problem)
            for reason in tried.reasons:
                print("    left:", reason)
            print(
                f"{'FAIL' if tried.problem else 'ok  '} {tried.case} ({way}): error {tried.error:.1e}, {tried.parts} parts, {tried.left} left, "
                f"{tried.seconds:.1f} s ({tried.plan_seconds:.1f} planning) {tried.problem[:1500]}",
                flush=True,
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
