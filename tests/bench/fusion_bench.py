"""Times every example as kgen fuses it, with one kind of fusion switched off at a time, and with none, on the CPU; writes
FUSIONS.md. scripts/bench --fusions builds what this needs.

    fusion_bench.py --prefix FOLDER --work FOLDER [--graphs TEXT,...] [--only build|time] [--rounds N] [--seconds S]
                    [--threads N] [--output FILE]

It may be run for some graphs at a time: the rows of others that FUSIONS.md has stay as they are.

`kgen plan --without RULE` plans each variant; one that comes out as the whole is not built. All variants of a graph are
libraries of one process, and run on the same inputs, those of the largest of the example's cases. A round times each of
them for S seconds, in an order of its own; a figure is the median of the rounds. A rule loses where the graph runs faster
without it in three rounds of four, and by more than 3 % in the median, against two times of the fused graph.
"""

import argparse
import datetime
import os
import platform
import random
import re
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GRAPHS = ROOT / "specs" / "graphs"
sys.path.insert(0, str(ROOT / "tests" / "examples"))

import cases
import numpy as np
import run_example
import safetensors
from kgen_model import Model

LOSES = 0.97  # of the time with the rule, in the median
LOSES_IN = 0.75  # of the rounds
NOISE = "nothing: noise"
AGAIN = "fused again"  # the same library: what the machine's noise makes of nothing


class Variant:
    """One plan of a graph, loaded."""

    def __init__(self, name, library, graph, options, inputs, outputs):
        self.name, self.times = name, []
        try:
            self.model = Model(library, graph, options.work, options.threads, inputs, outputs)
            self.model.run()
        except RuntimeError as error:
            raise SystemExit(f"fusion_bench: {name}: {error}") from error
        begin = time.perf_counter()
        self.model.run()
        self.seconds = time.perf_counter() - begin

    def time(self, seconds):
        count = max(1, round(seconds / max(self.seconds, 1e-7)))
        begin = time.perf_counter()
        for _ in range(count):
            self.model.run()
        self.times.append((time.perf_counter() - begin) / count * 1e6)

    def median(self):
        return statistics.median(self.times)


# ---- variants --------------------------------------------------------------------------------------------------------


def rules(kgen):
    """As `kgen plan --help` lists them."""
    text = subprocess.run([kgen, "plan", "--help"], text=True, stdout=subprocess.PIPE, check=True).stdout
    found = re.search(r"--without[^{]*\{([^}]*)\}", re.sub(r"\s+", " ", text))
    return re.split(r",\s*", found[1])


def sources(folder):
    return sorted(file for file in folder.rglob("*.[ch]pp") if ".kgen" not in file.parts)


def essence(folder):
    """What of the emitted source the compiler makes code of."""
    return {str(file.relative_to(folder)): re.sub(r"//.*", "", file.read_text()) for file in sources(folder)}


def plans(kgen, graph, work):
    """Folders of source by variant: those that are not as the whole is."""
    every = rules(kgen)
    without = {"fused": [], "unfused": every, **{rule: [rule] for rule in every}}
    folders = {}
    for name, off in without.items():
        folder = work / "src" / graph / name
        arguments = [f"--without={rule}" for rule in off]
        subprocess.run([kgen, "plan", GRAPHS / f"{graph}.yaml", "--emit", folder, "--quiet", *arguments], check=True)
        if name == "fused" or essence(folder) != essence(folders["fused"]):
            folders[name] = folder
    return folders


def compile_variant(prefix, folder):
    """The shared library of a variant: all of its source in one piece, and a runtime of its own."""
    whole, library = folder.with_suffix(".cpp"), folder.with_suffix(".so")
    whole.write_text("".join(f'#include "{file}"\n' for file in sources(folder) if file.suffix == ".cpp"))
    runtime = next(prefix.glob("lib*/**/libkgen_runtime.a"))
    subprocess.run(
        ["c++", "-std=c++20", "-O3", "-march=native", "-fopenmp", "-fPIC", "-shared", f"-I{prefix / 'include'}",
         f"-I{folder}", f"-I{folder / 'stubs'}", whole, "-Wl,--whole-archive", runtime, "-Wl,--no-whole-archive",
         "-lsleef", "-Wl,-Bsymbolic", "-o", library],
        check=True,
    )
    return library


# ---- times -----------------------------------------------------------------------------------------------------------


def dtype_of(name):
    return np.dtype(np.uint8) if name == "f8e4m3" else np.dtype(cases.DTYPES[name])


def largest_case(example, rng):
    """Its label, and the inputs of its first call."""
    found = [(label, steps[0]) for label, steps in example.cases(rng)]
    return max(found, key=lambda case: sum(array.nbytes for array in case[1].values()))


def load_variants(graph, libraries, options, rng):
    example = cases.EXAMPLES[graph]
    constants = example.constants(rng) if example.constants else {}
    if constants:
        safetensors.write(options.work / f"{graph}.safetensors", constants)
    label, inputs = largest_case(example, rng)
    expected = run_example.expected_outputs(graph, [inputs], constants)[0]
    outputs = [np.empty(np.shape(each), dtype_of(dtype)) for each, dtype in zip(expected, example.outputs.values())]
    made = [Variant(name, library, graph, options, inputs.values(), [np.copy(each) for each in outputs])
            for name, library in libraries.items()]
    return label, made


def loses(variants, name):
    """Whether the graph is faster so, beyond noise: than as it is, and than as it is once more."""

    def is_slower(fused, other):
        faster = sum(b < a for a, b in zip(fused.times, other.times)) / len(fused.times)
        return other.median() < LOSES * fused.median() and faster >= LOSES_IN

    return all(is_slower(variants[fused], variants[name]) for fused in ("fused", AGAIN))


def build_graph(graph, options):
    shutil.rmtree(options.work / "src" / graph, ignore_errors=True)
    for folder in plans(options.prefix / "bin" / "kgen", graph, options.work).values():
        compile_variant(options.prefix, folder)


def time_graph(graph, options):
    libraries = {file.stem: file for file in (options.work / "src" / graph).glob("*.so")}
    if "fused" not in libraries:
        raise SystemExit(f"fusion_bench: {graph} is not built: leave `--only time` out, or run `--only build` first")
    libraries[AGAIN] = libraries["fused"]
    label, variants = load_variants(graph, libraries, options, np.random.default_rng(0))
    for _ in range(options.rounds):
        for variant in random.sample(variants, len(variants)):
            variant.time(options.seconds)
    by_name = {variant.name: variant for variant in variants}
    print(graph, {name: round(one.median(), 1) for name, one in by_name.items()}, flush=True)
    return label, by_name


# ---- the page --------------------------------------------------------------------------------------------------------

ROWS = "| graph | case | without | fused, us | without it, us | ratio |\n| --- | --- | --- | ---: | ---: | ---: |\n"
RUNS = "| graph | timed on | rounds | load | compiler |\n| --- | --- | ---: | ---: | --- |\n"
LOST = " **loses**"


def rows_of(graph, label, variants):
    """A row for each variant of a graph, as its cells."""
    fused = variants["fused"]
    rows = []
    for name, other in variants.items():
        if name == "fused":
            continue
        lost = name != AGAIN and loses(variants, name)
        what = {"unfused": "all rules", AGAIN: NOISE}.get(name, name)
        ratio = f"{other.median() / fused.median():.2f}{LOST if lost else ''}"
        rows.append([graph, label, what, f"{fused.median():.1f}", f"{other.median():.1f}", ratio])
    return rows


def kept_cells(text, header, replaced):
    """The rows of a page's table whose first cells name graphs that are not timed anew."""
    table = text.partition(header)[2].split("\n\n")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return [row for row in cells if len(row) == header.count("|", 0, header.index("\n")) - 1 and row[0] not in replaced]


def table(header, rows):
    return header + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def by_ratio(row):
    """What loses comes first."""
    return not row[-1].endswith(LOST), float(row[-1].removesuffix(LOST))


def page(rows, runs, every):
    """Of all graphs that were timed, in this run or before."""
    processor = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    met = {row[2] for row in rows}
    unmet = [rule for rule in every if rule not in met]
    text = f"""\
# Fused and unfused, rule by rule, on the CPU

Written by `scripts/bench --fusions`: {processor[0] if processor else platform.machine()}, {os.cpu_count()} threads.

Each example as it is, and without one kind of fusion (`kgen plan --without RULE`), interleaved in one process on the inputs
of its largest case: medians of rounds. The ratio is what a rule is worth: above 1 it wins. A rule loses where the graph is
faster without it in three rounds of four, and by more than 3 % in the median; those come first. Against noise each graph
is timed once more as it is, and a rule must lose to both. What does not change a plan is left out. A matrix product of an
example may be most of its time, whatever fuses with it.

{table(ROWS, sorted(rows, key=by_ratio))}
"""
    if unmet:
        text += f"None of these is planned otherwise without: {', '.join(unmet)}.\n\n"
    return text + "Graphs may be timed in several runs (`--graphs`); each keeps its own:\n\n" + table(RUNS, sorted(runs))


def write_page(timed, every, options):
    compiler = subprocess.run(["c++", "--version"], text=True, stdout=subprocess.PIPE).stdout.splitlines()[0]
    old = options.output.read_text() if options.output.exists() else ""
    run = [str(datetime.date.today()), str(options.rounds), f"{os.getloadavg()[0]:.1f}", compiler]
    rows = kept_cells(old, ROWS, timed) + [row for graph, found in timed.items() for row in rows_of(graph, *found)]
    runs = kept_cells(old, RUNS, timed) + [[graph, *run] for graph in timed]
    options.output.write_text(page(rows, runs, every))
    print(f"wrote {options.output}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", required=True, type=Path, help="where kgen is installed")
    parser.add_argument("--work", required=True, type=Path, help="a folder for what is emitted and compiled")
    parser.add_argument("--graphs", default="", help="those whose name contains one of these texts")
    parser.add_argument("--only", choices=("build", "time"), help="build the variants, or time those that are built")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.05, help="for which a round times a variant")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "FUSIONS.md")
    options = parser.parse_args()
    options.prefix, options.work = options.prefix.resolve(), options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    graphs = [path.stem for path in sorted(GRAPHS.glob("*.yaml"))]
    chosen = [graph for graph in graphs if any(text in graph for text in options.graphs.split(","))]
    if not chosen:
        raise SystemExit(f"fusion_bench: no graph is called {options.graphs}; there are {', '.join(graphs)}")
    if options.only != "time":
        for graph in chosen:
            build_graph(graph, options)
    if options.only != "build":
        timed = {graph: time_graph(graph, options) for graph in chosen}
        write_page(timed, rules(options.prefix / "bin" / "kgen"), options)


if __name__ == "__main__":
    main()
