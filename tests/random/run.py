"""Runs graphs that have been compiled, each in a process of its own, and judges their outputs."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import number_formats
from build import Target
from draw_cases import Case
from enclosure import Exact, Value, informative, stored_wrong
from evaluate import Model, at
from graph import Graph
from specs import Operator

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
import safetensors  # noqa: E402
from tensor_files import describe_input  # noqa: E402


@dataclass
class Outcome:
    """`problem`: what is wrong, "" where nothing is; `kind`: in a word."""

    problem: str = ""
    kind: str = ""
    elements: int = 0
    judged: int = 0  # those of which the bounds say something
    expected: list[list[list[Value]]] = field(default_factory=list)  # by case, call and output


def types_of_weights(graph: Graph, weights: dict[str, np.ndarray]) -> dict[str, str]:
    calls = sum(node.repeat for node in graph.main.nodes if node.call)
    return {each.key.replace("{index}", str(index)): each.type.dtype for body in graph.bodies
            for each in body.constants.values() if each.key for index in range(max(calls, 1))}


def run_graph(graph: Graph, operators: dict[str, Operator], cases: list[Case], weights: dict[str, np.ndarray],
              target: Target, library: Path, work: Path, check: bool = False) -> Outcome:
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    manifest = write_manifest(graph, cases, weights, library, work)
    command = [target.driver, str(manifest), *(["--check"] if check else ["--passes", "2"])]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, errors="replace")
    except subprocess.TimeoutExpired:
        return Outcome("not finished after 120 s", "timeout")
    outcome = judge(graph, operators, cases, weights, work)
    if result.returncode:
        said = result.stderr.strip() or f"killed by signal {-result.returncode}"
        return Outcome(said, "crash" if result.returncode < 0 else "refused", expected=outcome.expected)
    return outcome


def write_manifest(graph: Graph, cases: list[Case], weights: dict[str, np.ndarray], library: Path, work: Path) -> Path:
    dtypes = types_of_weights(graph, weights)
    if weights:
        safetensors.write(work / f"{graph.name}.safetensors", weights, {key: dtypes[key] for key in weights})
    main = graph.main
    items = []
    for index, case in enumerate(cases):
        described = []
        for call, step in enumerate(case.steps):
            inputs = [describe_input(main.inputs[name].type.dtype, array, work / f"{index}.{call}.{name}.in")
                      for name, array in step.inputs.items()]
            outputs = [{"dtype": main.types[name].dtype, "file": str(work / f"{index}.{call}.{name}.out"),
                        "shape": list(at(main.types[name], step.sizes))} for name in main.outputs]
            described.append({"inputs": inputs, "outputs": outputs})
        items.append({"label": f"case {index}", "misaligned": case.misaligned, "threads": case.threads,
                      "steps": described})
    path = work / "manifest.json"
    path.write_text(json.dumps({"graph": graph.name, "library": str(library.resolve()), "weights": str(work),
                                "cases": items}))
    return path


def judge(graph: Graph, operators: dict[str, Operator], cases: list[Case], weights: dict[str, np.ndarray],
          work: Path) -> Outcome:
    outcome = Outcome()
    dtypes = types_of_weights(graph, weights)
    decoded = {key: number_formats.decode(dtypes[key], value) for key, value in weights.items()}
    for index, case in enumerate(cases):
        model = Model(graph, operators, decoded)
        outcome.expected.append([])
        for call, step in enumerate(case.steps):
            values = model.run(step.sizes, {name: number_formats.decode(graph.main.inputs[name].type.dtype, array)
                                            for name, array in step.inputs.items()})
            outcome.expected[-1].append(values)
            for name, value in zip(graph.main.outputs, values):
                path = work / f"{index}.{call}.{name}.out"
                if path.exists():
                    judge_output(outcome, f"case {index} {step.sizes}, call {call}: {name}", value, path)
    return outcome


def judge_output(outcome: Outcome, label: str, value: Value, path: Path) -> None:
    stored = np.fromfile(path, number_formats.storage_dtype(value.dtype)).reshape(value.shape)
    found = number_formats.decode(value.dtype, stored)
    wrong = stored_wrong(value, found)
    outcome.elements += value.value.size if isinstance(value, Exact) else value.lo.size
    outcome.judged += int(informative(value).sum())
    if wrong.any() and not outcome.problem:
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        allowed = value.value[place] if isinstance(value, Exact) else (
            f"{value.lo[place]!r} to {value.hi[place]!r}" + (" or nan" if value.nan[place] else ""))
        outcome.kind = "wrong numbers"
        outcome.problem = (f"{label}{list(place)} ({value.dtype}{list(value.shape)}) is {found[place]!r}, expected "
                           f"{allowed}; {int(wrong.sum())} elements are wrong")
