"""Models as a user brings them: exported by PyTorch and imported, or written by kgen.from_torch; planned, built and run, and
compared with PyTorch in f64. See scripts/models."""

import argparse
import inspect
import json
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import safetensors  # noqa: F401  the package, before the tests' own module of this name can be found
import torch
import yaml

from zoo import Case, all_cases

TESTS = Path(__file__).resolve().parent.parent
sys.path += [str(TESTS / "random"), str(TESTS / "conformance"), str(TESTS / "examples")]
from build import Target, Tools, compile_library  # noqa: E402
from onnx_files import DTYPES, read_model  # noqa: E402
from tensor_files import describe_input, read_output  # noqa: E402

KGEN_NAMES = {np.dtype(element): name for name, element in DTYPES.values()}
# What kgen computes may differ from f64 by so many times what PyTorch's f32 does, and by this much of the greatest number.
WORSE_THAN_TORCH, OF_GREATEST = 8, 4e-6
EXPORTERS = ("dynamo", "script", "from_torch")


@dataclass
class Report:
    case: Case
    exporter: str
    problem: str = ""
    operators: int = 0
    nodes: int = 0
    stubs: int = 0
    launches: int = 0
    functions: int = 0
    recognised: Counter = field(default_factory=Counter)
    error: float = 0
    torch_error: float = 0
    import_seconds: float = 0
    plan_seconds: float = 0
    build_seconds: float = 0
    explain_lines: int = 0


class Failed(Exception):
    pass


def run(stage: str, command: list[str], timeout: float = 900) -> tuple[str, float]:
    """What it prints, and how long it took."""
    begin = time.monotonic()
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=timeout, errors="replace")
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{stage}: not finished after {timeout} s") from error
    if result.returncode:
        raise Failed(f"{stage}: {(result.stderr + result.stdout).strip() or f'exit {result.returncode}'}")
    return result.stdout, time.monotonic() - begin


# ---- exporting -------------------------------------------------------------------------------------------------------


def export(case: Case, module: torch.nn.Module, exporter: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    inputs = case.inputs(case.sizes[0])
    if exporter == "from_torch":
        return write_graph(case, module, path)
    how = {"input_names": list(inputs), "output_names": case.outputs, "dynamo": exporter == "dynamo", "verbose": False}
    if exporter == "dynamo":
        how["dynamic_shapes"] = dynamic_shapes(case, module, inputs)
    else:
        how["dynamic_axes"] = {each: axes for each, axes in case.dynamic.items()}
        how["opset_version"] = 17
    try:  # what the exporters say besides, they say into a file
        with open(path.parent / "export.log", "w") as log, redirect_stdout(log), redirect_stderr(log), torch.no_grad():
            torch.onnx.export(module, tuple(inputs.values()), str(path), **how)
    except Exception as error:
        said = [line for line in str(error).splitlines() if line.strip()]
        raise Failed(f"export: {type(error).__name__}: {' ... '.join([*said[:1], *said[-3:]])}") from error


def dynamic_shapes(case: Case, module: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> tuple:
    dims = {name: torch.export.Dim(name, min=low, max=high) for name, (low, high) in case.dims.items()}
    shapes = [{axis: dims[name] for axis, name in case.dynamic.get(each, {}).items()} for each in inputs]
    parameters = inspect.signature(module.forward).parameters.values()
    single = sum(each.kind == each.POSITIONAL_OR_KEYWORD and each.default is each.empty for each in parameters)
    return tuple(shapes if single == len(inputs) else [*shapes[:single], tuple(shapes[single:])])


def write_graph(case: Case, module: torch.nn.Module, path: Path) -> None:
    try:
        import kgen.torch
    except ImportError as error:
        raise Failed(f"export: the package kgen is not built for this Python ({error}): configure with KGEN_WITH_PYTHON") from error
    inputs = case.inputs(case.sizes[0])
    try:
        kgen.torch.from_torch(module, tuple(inputs.values()), path=path, dynamic_shapes=dynamic_shapes(case, module, inputs))
    except Exception as error:
        raise Failed(f"export: {type(error).__name__}: {error}") from error


# ---- importing and planning ------------------------------------------------------------------------------------------


def bring_in(case: Case, kgen: str, model: Path, folder: Path, report: Report) -> dict:
    graph = folder / f"{case.name}.yaml"
    if model != graph:
        ranges = [f"--dim={name}={low}..{high}" for name, (low, high) in case.dims.items()]
        _, report.import_seconds = run("import", [kgen, "import", str(model), "-o", str(graph), "--quiet", "--color", "never", *ranges])
    source = folder / "source"
    shutil.rmtree(source, ignore_errors=True)
    _, report.plan_seconds = run("plan", [kgen, "plan", str(graph), "--emit", str(source), "--quiet", "--color", "never"])
    explained, _ = run("explain", [kgen, "explain", str(graph), "--color", "never"])
    (folder / "explained.txt").write_text(explained)
    report.explain_lines = explained.count("\n")
    whole, _ = run("explain", [kgen, "explain", str(graph), "--all", "--color", "never"])
    read = yaml.safe_load(graph.read_text())
    report.recognised = recognised_in(whole, calls_of(read))
    if report.exporter == "from_torch":
        report.recognised += written_in(read)
    for target in ("cuda", "hip"):
        run(f"plan for {target}", [kgen, "plan", str(graph), "--target", target, "--quiet", "--color", "never"])
    report.stubs = len(list((source / "stubs").glob("*.cpp")))
    report.nodes = len(read["nodes"]) + sum(len(each["nodes"]) for each in read.get("functions", {}).values())
    report.functions = len(read.get("functions", {}))
    return read


def calls_of(graph: dict) -> Counter:
    """How often each function is called."""
    calls = Counter()
    for node in graph["nodes"]:
        if "call" in node:
            calls[node["call"]] += node.get("repeat", 1)
    return calls


def recognised_in(explained: str, calls: Counter) -> Counter:
    """How often operators were read out of what the exporter spelt, those of functions as often as they are called."""
    recognised, times = Counter(), 1
    lines = explained.splitlines()
    for line, behind in zip(lines, [*lines[1:], ""]):
        if line.startswith("function ") and not behind:
            times = calls[line.removeprefix("function ")]
        elif found := re.match(r" +(\w+), recognised in \d+ operators", line):
            recognised[found[1]] += times
    return recognised


def written_in(graph: dict) -> Counter:
    """How often operators stand in the graph, those of functions as often as they are called."""
    written = Counter(node["op"] for node in graph["nodes"] if "op" in node)
    for name, times in calls_of(graph).items():
        for node in graph["functions"][name]["nodes"]:
            written[node.get("op", "")] += times
    return written


# ---- running ---------------------------------------------------------------------------------------------------------


def flat(outputs) -> list[torch.Tensor]:
    if isinstance(outputs, torch.Tensor):
        return [outputs]
    return [each for some in outputs for each in flat(some)]


def in_f64(inputs: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    return [each.double() if each.is_floating_point() else each for each in inputs.values()]


def compare(case: Case, module: torch.nn.Module, graph: dict, folder: Path, library: Path, target: Target, report: Report) -> None:
    kept = list(case.inputs(case.sizes[0]))
    if report.exporter != "from_torch":  # by position; imported ones by name, as exporters drop inputs
        kept = [entry["doc"].removesuffix(" in the model") if isinstance(entry, dict) and "doc" in entry else name
                for name, entry in graph["inputs"].items()]
    given, wanted, cases = [], [], []
    for number, sizes in enumerate(case.sizes):
        inputs = case.inputs(sizes)
        with torch.no_grad():
            results = [each.numpy() for each in flat(module(*inputs.values()))]
        given.append(inputs)
        wanted.append(results)
        arrays = [(KGEN_NAMES[inputs[name].numpy().dtype], inputs[name].numpy()) for name in kept]
        cases.append({"label": f"sizes {sizes}", "misaligned": False, "threads": 2, "steps": [{
            "inputs": [describe_input(dtype, np.ascontiguousarray(array), folder / f"{number}.{i}.in") | {"shape": list(array.shape)}
                       for i, (dtype, array) in enumerate(arrays)],
            "outputs": [{"dtype": KGEN_NAMES[each.dtype], "file": str(folder / f"{number}.{i}.out"), "shape": list(each.shape)}
                        for i, each in enumerate(results)]}]})
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps({"graph": case.name, "library": str(library.resolve()), "weights": str(folder), "cases": cases}))
    run("run", [target.driver, str(manifest)])
    exact = module.double()
    for number, (inputs, results) in enumerate(zip(given, wanted)):
        with torch.no_grad():
            precise = [each.numpy() for each in flat(exact(*in_f64(inputs)))]
        for i, (result, reference) in enumerate(zip(results, precise, strict=True)):
            got = read_output(KGEN_NAMES[result.dtype], result.dtype, folder / f"{number}.{i}.out", list(result.shape))
            judge(f"output {i} of sizes {case.sizes[number]}", got, result, reference, report)
    module.float()


def judge(what: str, got: np.ndarray, torch_f32: np.ndarray, reference: np.ndarray, report: Report) -> None:
    if got.size == 0:
        return
    if not np.isfinite(got).all() and np.isfinite(reference).all():
        raise Failed(f"compare: {what} has {np.count_nonzero(~np.isfinite(got))} numbers that are not finite")
    greatest = max(np.abs(reference).max(), 1e-30)
    ours, theirs = np.abs(got - reference).max() / greatest, np.abs(torch_f32 - reference).max() / greatest
    report.error, report.torch_error = max(report.error, ours), max(report.torch_error, theirs)
    if ours > WORSE_THAN_TORCH * theirs + OF_GREATEST:
        raise Failed(f"compare: {what} differs by {ours:.1e} of its greatest number from f64, and PyTorch's f32 by {theirs:.1e}")


# ---- a model ---------------------------------------------------------------------------------------------------------


def expectations(case: Case, report: Report) -> str:
    """What the plan lacks that a graph by hand would have."""
    missing = [f"{name} is recognised {report.recognised[name]} times, expected {count}"
               for name, count in case.recognised.items() if report.recognised[name] != count
               and not (report.exporter == "from_torch" and name in case.spelt_out)]
    if case.launches and report.launches > case.launches:
        missing.append(f"{report.launches} launches, expected {case.launches} at most")
    return "; ".join(missing)


def try_model(case: Case, exporter: str, tools: Tools, work: Path, reuse: bool) -> Report:
    report = Report(case, exporter)
    folder = work / f"{case.name}.{exporter}"
    model = folder / f"{case.name}.yaml" if exporter == "from_torch" else folder / "onnx" / "model.onnx"
    try:
        torch.manual_seed(1)
        module = case.make().eval()
        if not (reuse and model.exists()):
            begin = time.monotonic()
            export(case, module, exporter, model)
            report.import_seconds = time.monotonic() - begin
        report.operators = 0 if exporter == "from_torch" else read_model(model).nodes
        graph = bring_in(case, tools.kgen, model, folder, report)
        report.launches = launches_of(folder / "source" / "plan.yaml")
        begin = time.monotonic()
        library = folder / f"{case.name}.so"
        problem = compile_library(tools.targets["cpu"], [folder / "source"], library)
        report.build_seconds = time.monotonic() - begin
        if problem:
            raise Failed(f"build: {problem}")
        compare(case, module, graph, folder, library, tools.targets["cpu"], report)
        lacking = expectations(case, report)
        if lacking:
            raise Failed(f"plan: {lacking}")
    except Failed as error:
        report.problem = str(error)
    return report


def launches_of(plan: Path) -> int:
    """How many kernels a call launches, those of functions as often as they are called."""
    read = yaml.safe_load(plan.read_text())

    def count(steps: list[dict]) -> int:
        return sum(1 if "stub" in each else each.get("repeat", 1) * count(read["functions"][each["call"]]["steps"]) for each in steps)

    return count(read["main"]["steps"])


def table(reports: list[Report]) -> str:
    lines = ["| model | exporter | ONNX nodes | kgen nodes | functions | stubs | launches | error | PyTorch's | import s | plan s | build s | explain |",
             "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for each in reports:
        row = [each.case.name, each.exporter, each.operators, each.nodes, each.functions, each.stubs, each.launches, f"{each.error:.1e}",
               f"{each.torch_error:.1e}", f"{each.import_seconds:.2f}", f"{each.plan_seconds:.2f}", f"{each.build_seconds:.0f}",
               each.explain_lines]
        lines.append("| " + " | ".join(str(item) for item in row) + " |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="scripts/models")
    parser.add_argument("names", nargs="*", help="models; without names all of them")
    parser.add_argument("--tools", type=Path, required=True, help="what to plan, compile and run with")
    parser.add_argument("--work", type=Path, required=True, help="a folder to work in")
    parser.add_argument("--exporter", choices=(*EXPORTERS, "all"), default="all", help="PyTorch's newer or older one for ONNX, or kgen.from_torch")
    parser.add_argument("--reuse", action="store_true", help="take models that were exported before")
    parser.add_argument("--list", action="store_true", help="print the models' names")
    options = parser.parse_args()
    cases = {case.name: case for case in all_cases()}
    if options.list:
        print("\n".join(cases))
        return 0
    unknown = [name for name in options.names if name not in cases]
    if unknown:
        print(f"there are no models {', '.join(unknown)}; there are {', '.join(cases)}")
        return 2
    tools = Tools.load(options.tools)
    reports = []
    for name in options.names or cases:
        for exporter in EXPORTERS if options.exporter == "all" else (options.exporter,):
            if exporter not in cases[name].exporters:
                continue
            report = try_model(cases[name], exporter, tools, options.work, options.reuse)
            reports.append(report)
            recognised = ", ".join(f"{op} {count}" for op, count in sorted(report.recognised.items()))
            print(f"{'FAIL' if report.problem else 'ok  '} {name} ({exporter}): {report.problem or recognised}", flush=True)
    print("\n" + table(reports))
    return 1 if any(each.problem for each in reports) else 0


if __name__ == "__main__":
    sys.exit(main())
