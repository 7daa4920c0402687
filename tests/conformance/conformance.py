"""Runs tests in the form of ONNX's own node tests, model.onnx beside test_data_set_N/{input,output}_M.pb: imports, plans,
compiles (many graphs in one translation unit), runs each in a process of its own, and compares. See scripts/conformance."""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tarfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import yaml

import operator_models
import own_models
import runtime_models
import type_models
from onnx_files import Model, read_model, read_tensor

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "random"))
from build import Target, Tools, compile_graphs  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
from tensor_files import describe_input, read_output  # noqa: E402

STAGES = ("import", "plan", "build", "run", "compare")
# ONNX's own rule: |got - expected| <= absolute + relative * |expected|, and NaN equals NaN.
ABSOLUTE, RELATIVE = 1e-7, 1e-3


@dataclass
class Test:
    name: str
    folder: Path
    operators: list[str] = field(default_factory=list)
    model: Model | None = None
    stage: str = ""  # at which it failed; "": it passes
    problem: str = ""

    def fail(self, stage: str, problem: str) -> None:
        self.stage, self.problem = stage, problem.strip()


def tests_in(folder: Path, work: Path) -> list[Test]:
    if folder.is_file():
        unpacked = work / "unpacked"
        if not unpacked.exists():
            with tarfile.open(folder) as archive:
                archive.extractall(unpacked, filter="data")
        folder = unpacked
    models = sorted(folder.rglob("model.onnx"))
    return [Test(path.parent.name, path.parent) for path in models]


def run(command: list[str], timeout: float) -> tuple[int, str]:
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=timeout, errors="replace")
    except subprocess.TimeoutExpired:
        return -1, f"not finished after {timeout} s"
    said = (result.stderr + result.stdout).strip()
    if result.returncode < 0:
        said = f"killed by signal {-result.returncode} {said}"
    return result.returncode, said


# ---- importing and planning ------------------------------------------------------------------------------------------


def data_sets(test: Test) -> list[Path]:
    return sorted(test.folder.glob("test_data_set_*"))


def plan(test: Test, kgen: str, work: Path, planned_for: str = "cpu", bind: bool = True) -> None:
    folder = work / test.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    graph = folder / f"{test.name}.yaml"
    try:
        test.model = read_model(test.folder / "model.onnx")
    except Exception as error:  # a model that is damaged is the importer's to refuse
        test.fail("import", f"no model: {error}")
        return
    test.operators = test.model.operators
    sets = data_sets(test)
    # Where there are several, what says sizes may be another in each.
    example = ["--example", str(sets[0])] if len(sets) == 1 and bind else []
    model = str(test.folder / "model.onnx")
    status, said = run([kgen, "import", model, "-o", str(graph), "--quiet", "--color", "never", *example], 60)
    if status:
        test.fail("import", said.replace(model, "model.onnx") or f"exit {status}")
        return
    status, said = run([kgen, "plan", str(graph), "--emit", str(folder / "source" / test.name), "--quiet", "--color", "never",
                        "--target", planned_for], 120)
    if status:
        test.fail("plan", said.replace(str(graph), graph.name) or f"exit {status}")


# ---- running ---------------------------------------------------------------------------------------------------------


def execute(test: Test, library: Path, target: Target, work: Path, timeout: float) -> None:
    folder = work / test.name
    text = (folder / f"{test.name}.yaml").read_text()
    graph, counts = yaml.safe_load(text), counts_of(text)
    kept = list(graph.get("inputs", {}).values())
    known = [entry["doc"].removesuffix(" in the model") if isinstance(entry, dict) and "doc" in entry else name
             for name, entry in graph.get("inputs", {}).items()]
    assert test.model
    cases, expected = [], []
    for number, data in enumerate(data_sets(test)):
        try:
            inputs = [read_tensor((data / f"input_{test.model.places[test.model.inputs.index(name)]}.pb").read_bytes())
                      for name in known]
            outputs = [read_tensor((data / f"output_{i}.pb").read_bytes()) for i in range(len(test.model.outputs))]
        except (LookupError, OSError, ValueError) as error:
            test.fail("run", f"its data cannot be read: {error}")
            return
        described = [describe_input(each.dtype, np.ascontiguousarray(each.array), folder / f"{number}.{i}.in")
                     | {"shape": list(each.array.shape)} for i, each in enumerate(inputs)]
        wanted = [{"dtype": each.dtype, "file": str(folder / f"{number}.{i}.out"), "shape": list(each.array.shape)}
                  for i, each in enumerate(outputs)]
        for place, (_, count) in sorted(counts.items(), key=lambda each: each[1][1]):
            del wanted[place]["shape"]
            wanted.append({"dtype": "i64", "file": str(folder / f"{number}.{count}.out"), "shape": []})
        cases.append({"label": data.name, "misaligned": False, "threads": 1,
                      "steps": [{"inputs": described, "outputs": wanted}]})
        expected.append(outputs)
    if not cases or len(kept) != len(known):
        test.fail("run", "it has no data")
        return
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps({"graph": test.name, "library": str(library.resolve()), "weights": str(folder),
                                    "cases": cases}))
    status, said = run([target.driver, str(manifest)], timeout)
    if status:
        test.fail("run", said or f"exit {status}")
        return
    for number, outputs in enumerate(expected):
        for i, each in enumerate(outputs):
            file = folder / f"{number}.{i}.out"
            shape = json.loads(Path(f"{file}.shape").read_text()) if i in counts else list(each.array.shape)
            got = read_output(each.dtype, each.array.dtype, file, shape)
            if i in counts:
                axis, place = counts[i]
                count = int(read_output("i64", np.dtype(np.int64), folder / f"{number}.{place}.out", []))
                got = got.take(range(count), axis)
            problem = difference(got, each.array)
            if problem:
                test.fail("compare", f"output {i}: {problem}")
                return


def counts_of(graph: str) -> dict[int, tuple[int, int]]:
    """Of outputs that have room for more than they hold: along which axis, and which output says how much of it counts."""
    names = list(yaml.safe_load(graph)["outputs"])
    found = re.findall(r"^  (\S+): .*along axis (\d+) only the first (\S+) count$", graph, re.MULTILINE)
    return {names.index(yaml.safe_load(name)): (int(axis), names.index(yaml.safe_load(count))) for name, axis, count in found}


def difference(got: np.ndarray, expected: np.ndarray) -> str:
    if got.shape != expected.shape:
        return f"its shape is {list(got.shape)}, expected {list(expected.shape)}"
    exact = got == expected
    with np.errstate(invalid="ignore"):
        x, y = got.astype(np.float64), expected.astype(np.float64)
        near = np.abs(x - y) <= ABSOLUTE + RELATIVE * np.abs(y)
    wrong = ~(exact | near | (np.isnan(x) & np.isnan(y)))
    if not wrong.any():
        return ""
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"element {list(place)} is {got[place]!r}, expected {expected[place]!r}; {int(wrong.sum())} of {wrong.size} are wrong"


# ---- reporting -------------------------------------------------------------------------------------------------------


def summary(problem: str) -> str:
    """The first line that says what is wrong."""
    for line in problem.splitlines():
        found = re.search(r"error: (.*)", line)
        if found:
            return found.group(1)
    return problem.splitlines()[0] if problem else ""


def report(tests: list[Test], verbose: bool) -> None:
    failed = [test for test in tests if test.stage]
    for test in failed:
        print(f"FAIL {test.name} ({test.stage}): {test.problem if verbose else summary(test.problem)[:180]}")
    totals, passes = Counter(), Counter()
    stages: dict[str, Counter] = defaultdict(Counter)
    for test in tests:
        for operator in test.operators:
            totals[operator] += 1
            passes[operator] += not test.stage
            if test.stage:
                stages[operator][test.stage] += 1
    print(f"\n{'operator':<28} {'pass':>5} {'of':>5}  failures")
    for operator in sorted(totals):
        print(f"{operator:<28} {passes[operator]:>5} {totals[operator]:>5}  "
              + ", ".join(f"{stage} {stages[operator][stage]}" for stage in STAGES if stages[operator][stage]))
    by_stage = Counter(test.stage for test in failed)
    print(f"\n{len(tests) - len(failed)} of {len(tests)} pass; "
          + ", ".join(f"{stage}: {by_stage[stage]} fail" for stage in STAGES if by_stage[stage]))


# ---- GPUs, which are compiled for and not run ------------------------------------------------------------------------

REPOSITORY = Path(__file__).resolve().parent.parent.parent
ARCHITECTURES = {"cuda": "sm_90a", "hip": "gfx942"}


def quick_target(target: str, work: Path) -> Target:
    """How device code is compiled of many graphs at once. The compiler optimises little: nobody asks what kernels take."""
    includes = [f"-I{REPOSITORY / 'templates'}", f"-I{REPOSITORY / 'runtime/include'}"]
    if target == "cuda":
        nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        return Target(target, [nvcc, "-cubin", "-std=c++20", "-w", "-arch=sm_90a", "-Ofc=max", "--expt-relaxed-constexpr",
                               *includes], [], "", ".cu")
    sys.path.insert(0, str(REPOSITORY / "tests" / "gpu"))
    import compile_stubs

    scratch = work / "device_libraries_of"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    compiler = compile_stubs.Hip(argparse.Namespace(arch=ARCHITECTURES[target], rocm_path="/usr",
                                                    llvm_config="llvm-config-19"), scratch)
    return Target(target, [*map(str, compiler.command(compiler.libraries)), "-w", "-O1", *includes], [], "", ".hip")


def compile_for_gpu(test: Test, target: str, kgen: str, work: Path) -> None:
    """All stubs and the wrapper, warnings being errors, no kernel spilling."""
    script = REPOSITORY / "tests" / "gpu" / "compile_stubs.py"
    status, said = run([sys.executable, "-B", str(script), "--target", target, "--arch", ARCHITECTURES[target], "--kgen", kgen,
                        "--source", str(REPOSITORY), str(work / test.name / f"{test.name}.yaml")], 900)
    if status:
        test.fail("build", said or f"exit {status}")


def build_all(planned: list[Test], target: Target, options: argparse.Namespace, pool: ThreadPoolExecutor) -> dict[str, Path]:
    """The library of each test; tests that the compiler does not take fail."""
    groups = [planned[i:i + options.per_unit] for i in range(0, len(planned), options.per_unit)]

    def build(numbered: tuple[int, list[Test]]) -> dict[str, Path]:
        number, group = numbered
        folders = {test.name: options.work / test.name / "source" / test.name for test in group}
        libraries, errors = compile_graphs(target, folders, options.work / "build" / f"unit_{number}.so")
        for test in group:
            if test.name in errors:
                test.fail("build", errors[test.name])
        return libraries

    return {name: path for some in pool.map(build, enumerate(groups)) for name, path in some.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="scripts/conformance")
    parser.add_argument("folder", type=Path, help="tests, or a .tar.gz of them")
    parser.add_argument("--tools", type=Path, required=True, help="what to plan, compile and run with")
    parser.add_argument("--work", type=Path, required=True, help="a folder to work in")
    parser.add_argument("--only", type=Path, help="a file with the names of the tests to run")
    parser.add_argument("--require-all", action="store_true", help="fail where a test does")
    parser.add_argument("--make", type=Path, help="write the suite's own models into this folder first")
    parser.add_argument("--draw", type=int, metavar="COUNT", help="draw so many models into this folder first, as draw_models.py says")
    parser.add_argument("--seed", type=int, default=1, help="what they are drawn from")
    parser.add_argument("--onnxruntime", action="store_true", help="draw operators of ONNX Runtime's own, which it computes")
    parser.add_argument("--draw-with", default=sys.executable, metavar="PYTHON", help="one that has the package onnx")
    parser.add_argument("--unbound", action="store_true", help="bind no input to its value in a test: those that say sizes are dims")
    parser.add_argument("--match", default="", help="a regular expression that the names match")
    parser.add_argument("--until", choices=("plan", "run"), default="run")
    parser.add_argument("--target", default="cpu", choices=("cpu", "executor", *ARCHITECTURES),
                        help="what to compile for and run on; sources of CUDA and HIP are compiled, and not run")
    parser.add_argument("--quick", action="store_true", help="compile a GPU's code of many graphs at once, optimised little, and "
                        "without ceilings for what kernels take")
    parser.add_argument("--per-unit", type=int, default=24, help="graphs in one translation unit")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=20, help="of one run, in seconds")
    parser.add_argument("--passes", type=Path, help="a file to write the names of those that pass to")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.make:
        own_models.make(options.make)
        type_models.make(options.make)
        operator_models.make(options.make)
        runtime_models.make(options.make)
    if options.draw:
        drawing = [options.draw_with, "-B", str(Path(__file__).with_name("draw_models.py")), str(options.folder),
                   "--seed", str(options.seed), "--count", str(options.draw)]
        own = ["--onnxruntime"] if options.onnxruntime else []
        subprocess.run([*drawing, "--match", options.match, *own], check=True)
    tools = Tools.load(options.tools)
    on_gpu = options.target in ARCHITECTURES
    # The executor runs a GPU's kernels on the CPU, from the sources of the CPU.
    target = tools.targets["simt_32" if options.target == "executor" else "cpu"]
    tests = [test for test in tests_in(options.folder, options.work) if re.search(options.match, test.name)]
    if options.only:
        wanted = options.only.read_text().split()
        missing = set(wanted) - {test.name for test in tests}
        tests = [test for test in tests if test.name in set(wanted)]
        if missing:
            print(f"there are no tests {', '.join(sorted(missing))}")
            return 1
    if not tests:
        print(f"there are no tests in {options.folder}")
        return 1
    with ThreadPoolExecutor(options.jobs) as pool:
        planned_for = options.target if on_gpu else "cpu"
        list(pool.map(lambda test: plan(test, tools.kgen, options.work, planned_for, not options.unbound), tests))
        planned = [test for test in tests if not test.stage]
        if options.until == "run" and on_gpu and options.quick:
            build_all(planned, quick_target(options.target, options.work), options, pool)
        elif options.until == "run" and on_gpu:
            list(pool.map(lambda test: compile_for_gpu(test, options.target, tools.kgen, options.work), planned))
        elif options.until == "run":
            libraries = build_all(planned, target, options, pool)
            built = [test for test in planned if not test.stage]
            list(pool.map(lambda test: execute(test, libraries[test.name], target, options.work, options.timeout), built))
    report(tests, options.verbose)
    if options.passes:
        options.passes.write_text("".join(f"{test.name}\n" for test in tests if not test.stage))
    return 1 if options.require_all and any(test.stage for test in tests) else 0


if __name__ == "__main__":
    sys.exit(main())
