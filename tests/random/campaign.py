"""Takes many graphs through planning, compiling and running, and keeps what was found."""

import shutil
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from build import Tools, compile_graphs, compile_library, plan
from draw_cases import draw_cases
from graph import Graph
from reduce import reduced
from run import Outcome, run_graph
from specs import Operator

ARCHITECTURES = {"cuda": ["--target", "cuda", "--arch", "sm_90a"], "hip": ["--target", "hip", "--arch", "gfx942"]}


@dataclass
class Share:
    """Every so many graphs run on this target. "checked" is the CPU in check mode."""

    name: str
    every: int = 1


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
    graphs: dict[int, Graph] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    seed: int = 0
    tries: int = 0

    def run(self, seed: int, graphs: dict[int, Graph], shares: list[Share], plan_only: list[str]) -> None:
        self.seed, self.graphs = seed, graphs
        shutil.rmtree(self.work, ignore_errors=True)
        planned = self.plan_all("cpu", list(graphs), [])
        for target in plan_only:
            self.plan_all(target, list(planned), ARCHITECTURES[target])
        for share in shares:
            chosen = [number for number in planned if number % share.every == 0 or len(graphs) == 1]
            folders = {number: planned[number] for number in chosen}
            if share.name == "checked":
                folders = self.plan_all("checked", chosen, ["--check"])
            self.build_and_run(share.name, folders)

    def found(self, graph: int, target: str, kind: str, text: str) -> None:
        self.findings.append(Finding(graph, target, kind, text))

    def plan_all(self, label: str, numbers: list[int], arguments: list[str]) -> dict[int, Path]:
        def plan_one(number: int) -> str:
            folder = self.work / label / self.graphs[number].name
            return plan(self.tools, self.graphs[number], folder, *arguments)

        with ThreadPoolExecutor(self.jobs) as pool:
            errors = dict(zip(numbers, pool.map(plan_one, numbers)))
        for number, error in errors.items():
            if error:
                self.found(number, label, "not planned", error)
        self.counts[f"planned for {label}"] += len(numbers)
        return {number: self.work / label / self.graphs[number].name for number in numbers if not errors[number]}

    def build_and_run(self, name: str, folders: dict[int, Path]) -> None:
        target = self.tools.targets["cpu" if name == "checked" else name]
        by_name = {self.graphs[number].name: number for number in folders}
        paths = {self.graphs[number].name: folder for number, folder in folders.items()}
        libraries, errors = compile_graphs(target, paths, self.work / "libraries" / name, self.per_unit, self.jobs)
        for graph, error in errors.items():
            self.found(by_name[graph], name, "not compiled", error)
        jobs = [(self.seed, number, self.graphs[number], self.operators, target, libraries[self.graphs[number].name],
                 self.work / "runs" / name / self.graphs[number].name, name == "checked")
                for number in folders if self.graphs[number].name in libraries]
        with ProcessPoolExecutor(self.jobs) as pool:
            for (number, outcome) in pool.map(run_one, jobs, chunksize=4):
                self.counts[f"run on {name}"] += 1
                self.counts["elements"] += outcome.elements
                self.counts["elements judged"] += outcome.judged
                if outcome.problem:
                    self.found(number, name, outcome.kind, outcome.problem)


    def try_alone(self, graph: Graph, number: int, label: str) -> tuple[str, str]:
        """What is wrong with a graph by itself: its kind, "" where nothing is, and the text."""
        folder = self.work / "alone" / graph.name
        shutil.rmtree(folder, ignore_errors=True)
        arguments = ["--check"] if label == "checked" else ARCHITECTURES.get(label, [])
        if error := plan(self.tools, graph, folder, *arguments):
            return "not planned", error
        if label in ARCHITECTURES:
            return "", ""
        target = self.tools.targets["cpu" if label == "checked" else label]
        self.tries += 1  # a library that is loaded is never written again
        library = self.work / "alone" / f"try_{self.tries}.so"
        if error := compile_library(target, [folder], library):
            return "not compiled", error
        cases, weights = draw_cases(np.random.default_rng([self.seed, number, 1]), graph)
        outcome = run_graph(graph, self.operators, cases, weights, target, library, folder / "run", label == "checked")
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


def run_one(job: tuple) -> tuple[int, Outcome]:
    """In a process of its own: NumPy's arrays stay there."""
    seed, number, graph, operators, target, library, work, check = job
    cases, weights = draw_cases(np.random.default_rng([seed, number, 1]), graph)
    outcome = run_graph(graph, operators, cases, weights, target, library, work, check)
    outcome.expected = []
    if not outcome.problem:
        shutil.rmtree(work)
    return number, outcome
