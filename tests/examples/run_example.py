"""Runs one example graph on fresh random inputs and compares its outputs with reference.py.

    run_example.py GRAPH --driver build/.../run_graph --work FOLDER [--check] [--passes N] [--case LABEL]
                   [--profile RUNS] [--under "compute-sanitizer --tool memcheck" --smaller-than BYTES]

The inputs vary from run to run; the seed is printed, and KGEN_SEED repeats it.
"""

import argparse
import inspect
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

import reference
import sampling_cases
import safetensors
from cases import DTYPES, EXAMPLES, TOLERANCES, Case, Example
from tensor_files import describe_input

DTYPE_NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}


def as_float64(array):
    array = np.asarray(array)
    return array if array.dtype.kind in "biu" else array.astype(np.float64)


def expected_outputs(name: str, steps, constants) -> list[list[np.ndarray]]:
    """What each call of a case should give."""
    compute = getattr(reference, name, None) or getattr(sampling_cases, name)
    extra = {}
    if "constants" in inspect.signature(compute).parameters:
        extra["constants"] = {key: as_float64(value) for key, value in constants.items()}
    if "state" in inspect.signature(compute).parameters:
        extra["state"] = {}
    with np.errstate(all="ignore"):
        return [compute(**{key: as_float64(value) for key, value in step.items()}, **extra) for step in steps]


def bytes_of(case: Case) -> int:
    return sum(array.nbytes for step in case[1] for array in step.values())


def has_elements(case: Case) -> bool:
    """True where a call has no empty input; of others the program may have nothing to launch."""
    return any(all(array.size for array in step.values()) for step in case[1])


def small_ones(cases: list[Case], limit: float) -> list[Case]:
    """Those with at most `limit` bytes of inputs; where all of these are empty, the smallest that is not as well."""
    small = [case for case in cases if bytes_of(case) <= limit]
    return small if any(map(has_elements, small)) else sorted(filter(has_elements, cases), key=bytes_of)[:1] + small


def write_manifest(name: str, example: Example, cases: list[Case], expected, work: Path) -> Path:
    items = []
    for index, (label, steps) in enumerate(cases):
        described = []
        for call, (step, results) in enumerate(zip(steps, expected[index])):
            prefix = f"{index}.{call}"
            inputs = [describe_input(DTYPE_NAMES[array.dtype], array, work / f"{prefix}.{key}.in")
                      for key, array in step.items()]
            outputs = [
                {"dtype": dtype, "file": str(work / f"{prefix}.{key}.out"), "shape": list(np.shape(result))}
                for (key, dtype), result in zip(example.outputs.items(), results, strict=True)
            ]
            described.append({"inputs": inputs, "outputs": outputs})
        items.append({"label": label, "misaligned": index % 2 == 1, "steps": described})
    path = work / "manifest.json"
    path.write_text(json.dumps({"graph": name, "weights": str(work), "cases": items}, indent=1))
    return path


def perturbed(arrays: dict[str, np.ndarray], tolerance: float, rng) -> dict[str, np.ndarray]:
    """The arrays with each real number multiplied by something between 1 - tolerance and 1 + tolerance."""
    return {
        key: array if array.dtype.kind in "biu" else array * (1 + rng.uniform(-tolerance, tolerance, array.shape))
        for key, array in ((key, as_float64(array)) for key, array in arrays.items())
    }


def conditioning(name: str, steps, constants, call: int, output: int, tolerance: float) -> np.ndarray:
    """How far each element of an output moves where the inputs move by the tolerance: the greatest of eight samples.

    An element whose terms cancel cannot be nearer to the exact value than its inputs are to theirs
    (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 1.6).
    """
    rng = np.random.default_rng(0)
    exact = as_float64(expected_outputs(name, steps, constants)[call][output])
    moved = np.zeros(exact.shape)
    for _ in range(8):
        inputs = [perturbed(step, tolerance, rng) for step in steps]
        sample = expected_outputs(name, inputs, perturbed(constants, tolerance, rng))[call][output]
        with np.errstate(invalid="ignore"):
            moved = np.fmax(moved, np.abs(as_float64(sample) - exact))
    return moved


def compare(actual: np.ndarray, expected: np.ndarray, tolerance: float | None, moved=None) -> tuple[float, str]:
    """The greatest error relative to |expected| + its root mean square, and what is wrong, "" where nothing is.

    Without a tolerance the arrays must be equal. With `moved`, of conditioning(), errors up to it are none.
    """
    actual, expected = as_float64(actual).reshape(-1), as_float64(expected).reshape(-1)
    if tolerance is None:  # NumPy compares i64 with u64 as float64
        if actual.dtype.kind != expected.dtype.kind:
            actual, expected = actual.astype(object), expected.astype(object)
        wrong = np.flatnonzero(actual != expected)
        return 0.0, f"[{wrong[0]}] is {actual[wrong[0]]}, expected {expected[wrong[0]]}" if wrong.size else ""
    finite = np.isfinite(expected)
    same = np.where(np.isnan(expected), np.isnan(actual), actual == expected)
    wrong = np.flatnonzero(~finite & ~same)
    if wrong.size:
        return np.inf, f"[{wrong[0]}] is {actual[wrong[0]]}, expected {expected[wrong[0]]}"
    actual, expected = actual[finite], expected[finite]
    if not expected.size:
        return 0.0, ""
    error = np.abs(actual - expected)
    if moved is not None:
        error = np.where(error <= moved.reshape(-1)[finite], 0, error)
    scale = np.abs(expected) + np.sqrt(np.mean(expected**2))
    relative = np.where(error == 0, 0, error / np.maximum(scale, np.finfo(np.float64).tiny))
    worst = int(np.argmax(np.where(np.isnan(relative), np.inf, relative)))
    if relative[worst] <= tolerance:
        return float(relative[worst]), ""
    return float(relative[worst]), (
        f"[{np.flatnonzero(finite)[worst]}] is {actual[worst]}, expected {expected[worst]}: "
        f"an error of {relative[worst]:.2e}, allowed {tolerance:.0e}"
    )


def judge(name: str, cases: list[Case], constants, expected, work: Path) -> int:
    """Prints each case's greatest error; returns how many outputs are wrong."""
    example = EXAMPLES[name]
    failures = 0
    for index, (label, steps) in enumerate(cases):
        greatest = 0.0
        for call in range(len(steps)):
            for output, (key, dtype) in enumerate(example.outputs.items()):
                actual = np.fromfile(work / f"{index}.{call}.{key}.out", DTYPES[dtype])
                result, tolerance = expected[index][call][output], (TOLERANCES | example.tolerance).get(dtype)
                error, complaint = compare(actual, result, tolerance)
                if complaint and tolerance is not None and np.isfinite(error):  # what follows takes its time
                    moved = conditioning(name, steps, constants, call, output, tolerance)
                    error, complaint = compare(actual, result, tolerance, moved)
                greatest = max(greatest, error)
                if complaint:
                    failures += 1
                    print(f"FAILED {label}, call {call}: {key}{complaint}")
        print(f"{label}: greatest error {greatest:.1e}")
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", choices=EXAMPLES, metavar="GRAPH")
    parser.add_argument("--driver", required=True, type=Path, help="the program that is linked with the graph")
    parser.add_argument("--work", required=True, type=Path, help="a folder for inputs and outputs; it is emptied")
    parser.add_argument("--check", action="store_true", help="run every stub beside its unfused reference")
    parser.add_argument("--passes", type=int, default=1, help="run each case so often, and judge the last")
    parser.add_argument("--profile", type=int, default=0, metavar="RUNS", help="time this many more runs of each call")
    parser.add_argument("--case", help="only the case of this label")
    parser.add_argument("--smaller-than", type=float, default=float("inf"), metavar="BYTES",
                        help="only the cases with no more bytes of inputs, and at least one that is not empty")
    parser.add_argument("--under", default="", metavar="COMMAND", help="what the program is run under")
    options = parser.parse_args()

    seed = int(os.environ.get("KGEN_SEED") or int.from_bytes(os.urandom(4), "little"))
    print(f"{options.graph}: seed {seed} (KGEN_SEED={seed} repeats it)", flush=True)
    rng = np.random.default_rng(seed)
    example = EXAMPLES[options.graph]
    shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True)
    constants = example.constants(rng) if example.constants else {}
    if constants:
        safetensors.write(options.work / f"{options.graph}.safetensors", constants)
    cases = [case for case in example.cases(rng) if options.case in (None, case[0])]
    cases = small_ones(cases, options.smaller_than)
    if not cases or not (options.case or any(map(has_elements, cases))):
        print(f"FAILED {options.graph}: there is nothing to compute in the cases that were asked for")
        return 1
    expected = [expected_outputs(options.graph, steps, constants) for _, steps in cases]
    manifest = write_manifest(options.graph, example, cases, expected, options.work)

    command = [*shlex.split(options.under), str(options.driver), str(manifest)]
    command += ["--check"] if options.check else []
    command += ["--passes", str(options.passes)] if options.passes > 1 else []
    command += ["--profile", str(options.profile)] if options.profile else []
    if subprocess.run(command).returncode != 0:
        print(f"FAILED {options.graph}: the program did not finish")
        return 1
    return 1 if judge(options.graph, cases, constants, expected, options.work) else 0


if __name__ == "__main__":
    sys.exit(main())
