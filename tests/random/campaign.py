"""Takes many graphs through planning, compiling and running, and keeps what was found."""

import math
import shutil
import time
import traceback
from collections import Counter
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from build import Target, Tools, compile_graphs, compile_library, needs_cpu, plan
from draw_cases import draw_cases
from graph import Graph
from number_formats import FLOATS
from reduce import reduced
from run import Job, Outcome, run_jobs
from specs import Operator

# How what runs on a target is planned. The executor's sources are the CPU's.
PLANS = {"cpu": [], "checked": ["--check"], "cuda": ["--target", "cuda", "--arch", "sm_90a"],
         "hip": ["--target", "hip", "--arch", "gfx942"]}


@dataclass
class Share:
    """Every so many graphs run on this target, or are only planned for it. "checked" is the CPU in check mode."""

    name: str
    every: int = 1
    runs: bool = True


@dataclass
class Finding:
    graph: int
    target: str
    kind: str
    text: str


@dataclass
class Campaign:
    operators: dict[str, Operator]
    tools: Tools
    work: Path
    per_unit: int
    jobs: int
    seed: int
    graphs: dict[int, Graph]
    planned: Path | None = None  # where a bundle's graphs have been planned
    errors: dict[tuple[str, int], str] = field(default_factory=dict)  # of planning, by label and graph
    findings: list[Finding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    tries: int = 0
    deadline: float = math.inf  # of time.monotonic(); what is being compiled then is still run

    def run(self, shares: list[Share]) -> None:
        shutil.rmtree(self.work, ignore_errors=True)
        for share in shares:
            numbers = [number for number in self.graphs if number % share.every == 0 or len(self.graphs) == 1]
            if share.name == "checked":
                numbers = [number for number in numbers if not saturates(self.graphs[number])]
            folders = self.plan_all(plan_of(share.name), numbers)
            if share.name.startswith("simt"):
                target = self.tools.targets[share.name]
                folders = {number: folder for number, folder in folders.items() if not needs_cpu(target, folder)}
            if share.runs:
                self.build_and_run(share.name, folders)

    def found(self, graph: int, target: str, kind: str, text: str) -> None:
        self.findings.append(Finding(graph, target, kind, text))
        print(f"found: graph {graph} on {target}: {kind}", flush=True)  # a long run may be stopped before its report

    def plan_all(self, label: str, numbers: list[int]) -> dict[int, Path]:
        """The folders of those that kgen plans. Each is planned once for all who ask."""
        root = self.planned or self.work
        folders = {number: root / label / self.graphs[number].name for number in numbers}
        if self.planned:
            return {number: folder for number, folder in folders.items() if folder.exists()}
        missing = [number for number in numbers if (label, number) not in self.errors]
        with ThreadPoolExecutor(self.jobs) as pool:
            errors = pool.map(lambda n: plan(self.tools, self.graphs[n], folders[n], *PLANS[label]), missing)
            self.errors.update(zip(((label, number) for number in missing), errors))
        for number in missing:
            if error := self.errors[label, number]:
                self.found(number, label, "not planned", error)
        self.counts[f"planned for {label}"] += len(missing)
        return {number: folder for number, folder in folders.items() if not self.errors[label, number]}

    def build_and_run(self, name: str, folders: dict[int, Path]) -> None:
        """Units of graphs, each run as soon as it is compiled; those that there is no time for are counted."""
        target = self.tools.targets["cpu" if name == "checked" else name]
        numbers = list(folders)
        units = [numbers[start: start + self.per_unit] for start in range(0, len(numbers), self.per_unit)]
        with ProcessPoolExecutor(self.jobs) as processes, ThreadPoolExecutor(self.jobs) as threads:
            run = lambda unit: self.run_unit(name, target, {n: folders[n] for n in unit}, processes)  # noqa: E731
            for _ in threads.map(run, units):
                pass

    def run_unit(self, name: str, target: Target, folders: dict[int, Path], processes: Executor) -> None:
        if time.monotonic() > self.deadline:
            self.counts[f"left out for want of time on {name}"] += len(folders)
            return
        by_name = {self.graphs[number].name: number for number in folders}
        paths = {self.graphs[number].name: folder for number, folder in folders.items()}
        library = self.work / "libraries" / name / f"from_{min(folders)}.so"
        libraries, errors = compile_graphs(target, paths, library)
        for graph, error in errors.items():
            self.found(by_name[graph], name, "not compiled", error)
        jobs = [(by_name[graph], self.job(by_name[graph], self.graphs[by_name[graph]], path,
                                          self.work / "runs" / name / graph)) for graph, path in libraries.items()]
        for number, outcome in processes.submit(run_chunk, jobs, self.operators, target, name == "checked").result():
            self.count(name, number, outcome)
        for path in set(libraries.values()):
            path.unlink()

    def count(self, name: str, number: int, outcome: Outcome) -> None:
        self.counts[f"run on {name}"] += 1
        self.counts["elements"] += outcome.elements
        self.counts["elements judged"] += outcome.judged
        if outcome.problem:
            self.found(number, name, outcome.kind, outcome.problem)

    def job(self, number: int, graph: Graph, library: Path, work: Path) -> "DrawnJob":
        return DrawnJob([self.seed, number, 1], graph, library, work)

    def try_alone(self, graph: Graph, number: int, label: str) -> tuple[str, str]:
        """What is wrong with a graph by itself: its kind, "" where nothing is, and the text."""
        folder = self.work / "alone" / graph.name
        shutil.rmtree(folder, ignore_errors=True)
        if error := plan(self.tools, graph, folder, *PLANS[plan_of(label)]):
            return "not planned", error
        target = self.tools.targets.get("cpu" if label == "checked" else label)
        if target is None:
            return "", ""
        self.tries += 1  # a library that is loaded is never written again
        library = self.work / "alone" / f"try_{self.tries}.so"
        if error := compile_library(target, [folder], library):
            return "not compiled", error
        job = self.job(number, graph, library, folder / "run").drawn()
        (outcome,) = run_jobs([job], self.operators, target, label == "checked")
        return outcome.kind, outcome.problem

    def reduce(self, finding: Finding, most_tries: int) -> tuple[Graph, str]:
        """The smallest graph that fails as this one does, and what is wrong with it."""
        text = finding.text

        def fails(graph: Graph) -> bool:
            nonlocal text
            kind, problem = self.try_alone(graph, finding.graph, finding.target)
            if kind == finding.kind:
                text = problem
            return kind == finding.kind

        return reduced(self.graphs[finding.graph], fails, most_tries), text


def saturates(graph: Graph) -> bool:
    """Whether values may be cut off at the end of a narrow dtype. Check mode's reference cuts them off behind each operator,
    a stub only where it writes them: what both make of them may differ by any amount."""
    dtypes = {type_.dtype for body in graph.bodies for type_ in body.types.values()}
    return any(FLOATS[dtype].saturates for dtype in dtypes if dtype in FLOATS)


def plan_of(target: str) -> str:
    return target if target in PLANS else "cpu"


@dataclass
class DrawnJob:
    """A job whose inputs are drawn where it runs."""

    seed: list[int]
    graph: Graph
    library: Path
    work: Path

    def drawn(self) -> Job:
        cases, weights = draw_cases(np.random.default_rng(self.seed), self.graph)
        return Job(self.graph, self.library, self.work, cases, weights)


def run_chunk(chunk: list[tuple[int, DrawnJob]], operators: dict[str, Operator], target: Target,
              check: bool) -> list[tuple[int, Outcome]]:
    """In a process of its own: NumPy's arrays stay there."""
    jobs, outcomes = {}, {}
    for number, job in chunk:
        try:
            jobs[number] = job.drawn()
        except Exception:  # of one graph of many: a finding, about the test
            outcomes[number] = Outcome(traceback.format_exc(limit=-3), "no inputs")
    if jobs:
        outcomes |= zip(jobs, run_jobs(list(jobs.values()), operators, target, check))
    for number, job in jobs.items():
        if not outcomes[number].problem:
            shutil.rmtree(job.work)
    return list(outcomes.items())
