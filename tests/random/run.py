"""Runs graphs that have been compiled, each in a process of its own, and judges their outputs."""

import json
import shutil
import subprocess
import traceback
import sys
from dataclasses import dataclass
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


def types_of_weights(graph: Graph, weights: dict[str, np.ndarray]) -> dict[str, str]:
    calls = sum(node.repeat for node in graph.main.nodes if node.call)
    return {each.key.replace("{index}", str(index)): each.type.dtype for body in graph.bodies
            for each in [*body.constants.values(), *body.states.values()] if each.key for index in range(max(calls, 1))}


@dataclass
class Job:
    """A graph to run, and with what."""

    graph: Graph
    library: Path
    work: Path
    cases: list[Case]
    weights: dict[str, np.ndarray]


def run_jobs(jobs: list[Job], operators: dict[str, Operator], target: Target, check: bool) -> list[Outcome]:
    """In one process, and where that fails each in one of its own."""
    manifests = [write_manifest(job) for job in jobs]
    together = execute(target, manifests, check)
    outcomes = []
    for job, manifest in zip(jobs, manifests):
        failure = together if len(jobs) == 1 or not together.problem else execute(target, [manifest], check)
        try:
            outcome = judge(job, operators)
        except Exception:  # of one graph of many: a finding, about the test
            outcome = Outcome(traceback.format_exc(limit=-3), "no reference")
        if failure.problem:
            outcome.problem, outcome.kind = failure.problem, failure.kind
        outcomes.append(outcome)
    return outcomes


def execute(target: Target, manifests: list[Path], check: bool) -> Outcome:
    command = [target.driver, *map(str, manifests), *(["--check"] if check else ["--passes", "2"])]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=60 + 20 * len(manifests),
                                errors="replace")
    except subprocess.TimeoutExpired as expired:
        return Outcome(f"not finished after {expired.timeout} s", "timeout")
    if result.returncode < 0:
        return Outcome(f"killed by signal {-result.returncode} {result.stderr.strip()}", "crash")
    return Outcome(result.stderr.strip() or "failed without a word", "refused") if result.returncode else Outcome()


def write_manifest(job: Job) -> Path:
    graph, cases, weights, work = job.graph, job.cases, job.weights, job.work
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
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
    path.write_text(json.dumps({"graph": graph.name, "library": str(job.library.resolve()), "weights": str(work),
                                "cases": items}))
    return path


def judge(job: Job, operators: dict[str, Operator]) -> Outcome:
    graph, weights = job.graph, job.weights
    outcome = Outcome()
    dtypes = types_of_weights(graph, weights)
    decoded = {key: number_formats.decode(dtypes[key], value) for key, value in weights.items()}
    for index, case in enumerate(job.cases):
        model = Model(graph, operators, decoded)
        for call, step in enumerate(case.steps):
            values = model.run(step.sizes, {name: number_formats.decode(graph.main.inputs[name].type.dtype, array)
                                            for name, array in step.inputs.items()})
            for name, value in zip(graph.main.outputs, values):
                path = job.work / f"{index}.{call}.{name}.out"
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
