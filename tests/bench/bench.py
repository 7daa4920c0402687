"""Measures kgen itself, and writes RESULTS.md: planning, the size of emitted source, and the time from a graph to a
running program beside torch.compile's. scripts/bench builds what this needs.
"""

import argparse
import datetime
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GRAPHS = ROOT / "specs" / "graphs"
sys.path[:0] = [str(ROOT / "tests" / "examples"), str(ROOT / "tests" / "bench" / "cpu")]

import cases
import numpy as np
import report
import safetensors


@dataclass
class Run:
    seconds: float  # by the clock
    cpu_seconds: float
    memory: float  # the greatest that was resident, MB


def measured(command, **options) -> Run:
    start = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, **options)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        raise SystemExit(f"bench: failed: {' '.join(map(str, command))}")
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def table(header: list[str], rows: list[list]) -> str:
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


# ---- planning --------------------------------------------------------------------------------------------------------

@dataclass
class Family:
    """A deep network of equal blocks, to be made as large as is wished."""

    block: str  # the nodes of block i, from h{i} to h{next}
    inputs: str
    constants: dict[str, str]  # of each block: name and type

    def operators(self) -> int:
        return self.block.count("op:")


PLAIN = Family(
    block="""\
  - {{op: matmul, in: [h{i}, w], out: product{i}}}
  - {{op: add, in: [product{i}, bias], out: shifted{i}}}
  - {{op: relu, in: shifted{i}, out: active{i}}}
  - {{op: add, in: [active{i}, h{i}], out: residual{i}}}
  - {{op: mul, in: [residual{i}, gain], out: h{next}}}
""",
    inputs="  w: f32[256, 256]\n  bias: f32[256]\n  gain: f32[256]\n",
    constants={},
)
TURNS = Family(
    block="""\
  - {{op: matmul, in: [h{i}, w], out: product{i}}}
  - {{op: add, in: [product{i}, bias], out: shifted{i}}}
  - {{op: relu, in: shifted{i}, out: active{i}}}
  - {{op: softmax, in: active{i}, axis: -1, out: soft{i}}}
  - {{op: mul, in: [soft{i}, gain], out: h{next}}}
""",
    inputs=PLAIN.inputs,
    constants={},
)
COMPOSITE = Family(
    block="""\
  - {{op: layer_norm, in: [h{i}, weight{i}, bias{i}], out: normed{i}}}
  - {{op: matmul, in: [normed{i}, up{i}], out: wide{i}}}
  - {{op: add, in: [wide{i}, up_bias{i}], out: shifted{i}}}
  - {{op: gelu, in: shifted{i}, out: active{i}}}
  - {{op: matmul, in: [normed{i}, gate{i}], out: gated{i}}}
  - {{op: mul, in: [active{i}, gated{i}], out: hidden{i}}}
  - {{op: matmul, in: [hidden{i}, down{i}], out: narrow{i}}}
  - {{op: add, in: [narrow{i}, down_bias{i}], out: update{i}}}
  - {{op: add, in: [h{i}, update{i}], out: h{next}}}
""",
    inputs="",
    constants={
        "weight": "f32[256]",
        "bias": "f32[256]",
        "up": "f32[256, 1024]",
        "up_bias": "f32[1024]",
        "gate": "f32[256, 1024]",
        "down": "f32[1024, 256]",
        "down_bias": "f32[256]",
    },
)


def write_large_graph(family: Family, operators: int, path: Path) -> int:
    """Without functions: every block has names of its own. Returns how many operators it has."""
    blocks = -(-operators // family.operators())
    with open(path, "w") as file:
        file.write(f"graph: large\ndims: {{M: 1..4096}}\ninputs:\n  h0: f32[M, 256]\n{family.inputs}")
        if family.constants:
            file.write("constants:\n")
        for i in range(blocks):
            for name, type in family.constants.items():
                file.write(f'  {name}{i}: {{type: "{type}", file: large.safetensors, key: "{i}.{name}"}}\n')
        file.write("nodes:\n")
        for i in range(blocks):
            file.write(family.block.format(i=i, next=i + 1))
        file.write(f"outputs: [h{blocks}]\n")
    return blocks * family.operators()


def planning(family: Family, kgen: Path, work: Path) -> str:
    rows = []
    for size in (1_000, 10_000, 100_000):
        graph, emitted = work / "large.yaml", work / "large"
        nodes = write_large_graph(family, size, graph)
        runs = []
        for _ in range(5):
            shutil.rmtree(emitted, ignore_errors=True)
            runs.append(measured([kgen, "plan", graph, "--emit", emitted, "--quiet"]))
        seconds = statistics.median(run.seconds for run in runs)
        cpu_seconds = statistics.median(run.cpu_seconds for run in runs)
        memory = max(run.memory for run in runs)
        written = sum(file.stat().st_size for file in emitted_files(emitted))
        rows.append(
            [
                f"{nodes:,}",
                f"{graph.stat().st_size / 1e6:.1f}",
                f"{written / 1e6:.1f}",
                f"{seconds:.3f}",
                f"{cpu_seconds:.3f}",
                f"{cpu_seconds / nodes * 1e6:.1f}",
                f"{memory:.0f}",
            ]
        )
        print(f"planned {nodes:,} nodes in {seconds:.3f} s, {memory:.0f} MB", flush=True)
    header = ["operators", "graph, MB", "written, MB", "seconds", "CPU seconds", "CPU us an operator"]
    return table([*header, "peak memory, MB"], rows)


# ---- starting --------------------------------------------------------------------------------------------------------


def starting(prefix: Path, work: Path) -> str:
    kgen, include = prefix / "bin" / "kgen", prefix / "include"
    library = sorted([*include.glob("kgen/*.hpp"), *include.glob("kgen/ops/*.hpp")])
    changed = work / "changed"
    shutil.rmtree(changed, ignore_errors=True)
    shutil.copytree(prefix / "share" / "kgen", changed)
    shutil.copytree(include / "kgen", changed / "templates" / "kgen", dirs_exist_ok=True)
    with open(changed / "templates" / "kgen" / "matmul.hpp", "a") as header:
        header.write("// changed\n")
    plan = [kgen, "plan", GRAPHS / "matmul_bias_relu.yaml", "--quiet"]
    commands = {
        "a plan, the kernels unchanged": (plan, {}),
        "a plan, a kernel's header changed": (plan, {"KGEN_SHARE": str(changed)}),
        f"introspection of the whole library, {len(library)} headers": ([kgen, "introspect", *library], {}),
    }
    rows = []
    for name, (command, environment) in commands.items():
        runs = [measured(command, env={**os.environ, **environment}) for _ in range(11)]
        milliseconds = 1e3 * statistics.median(run.seconds for run in runs)
        cpu_milliseconds = 1e3 * statistics.median(run.cpu_seconds for run in runs)
        rows.append([name, f"{milliseconds:.0f}", f"{cpu_milliseconds:.0f}", f"{max(run.memory for run in runs):.0f}"])
        print(f"{name}: {milliseconds:.0f} ms", flush=True)
    return table(["run", "ms", "CPU ms", "peak memory, MB"], rows)


# ---- the size of what is emitted -------------------------------------------------------------------------------------


def code_lines(files) -> int:
    return sum(1 for file in files for line in file.read_text().splitlines() if line.strip())


def emitted_files(folder: Path) -> list[Path]:
    """What kgen wrote there, but for its own record."""
    return sorted(file for file in folder.rglob("*") if file.is_file() and ".kgen" not in file.parts)


def emitted_sizes(kgen: Path, work: Path) -> str:
    rows = []
    for graph in sorted(GRAPHS.glob("*.yaml")):
        emitted = work / "emitted" / graph.stem
        measured([kgen, "plan", graph, "--emit", emitted, "--quiet"])
        sources = [file for file in emitted_files(emitted) if file.suffix in (".cpp", ".hpp")]
        stubs = [file for file in sources if file.suffix == ".cpp" and file.stem.startswith("stub_")]
        operators = len(re.findall(r"^ *- \{op:", graph.read_text(), re.MULTILINE))
        lines = code_lines(stubs)
        rows.append(
            [
                graph.stem,
                operators,
                len(stubs),
                f"{operators / max(len(stubs), 1):.1f}",
                lines,
                f"{lines / operators:.1f}",
                code_lines(sources) - lines,
            ]
        )
    header = ["graph", "operators written", "stubs", "operators per stub", "lines of stubs", "lines per operator"]
    return table([*header, "lines of wrapper and headers"], rows)


# ---- from a graph to a running program -------------------------------------------------------------------------------

FIRST_RUNS = {
    "matmul_bias_relu": ["f32:64x512", "f32:512x512", "f32:512", "f32:64x512"],
    "layer_norm_gelu": ["f32:64x768", "f32:768", "f32:768", "f32:64x768"],
    "llama_block": ["f32:1x64x512", "i64:", "f32:1x64x512"],
}


def edit_a_stub(project: Path) -> None:
    """Changes one operator in the source, as someone who tries something out would."""
    for stub in emitted_files(project):
        if not (stub.name.startswith("stub_") and stub.suffix == ".cpp"):
            continue
        text = stub.read_text()
        if "kgen::Add" in text:
            stub.write_text(text.replace("kgen::Add", "kgen::Sub", 1))
            return
    raise SystemExit(f"bench: found no stub to edit in {project}")


def time_kgen(graph: str, prefix: Path, work: Path) -> tuple[float, float]:
    """Seconds from the graph to its result: cold, and after editing one stub."""
    build = work / "project" / graph
    environment = os.environ | {"CCACHE_DISABLE": "1"}
    constants = cases.EXAMPLES[graph].constants
    if constants:
        safetensors.write(work / f"{graph}.safetensors", constants(np.random.default_rng(0)))

    def configure():
        source = Path(__file__).parent / "project"
        options = [f"-DCMAKE_PREFIX_PATH={prefix}", f"-DGRAPH={GRAPHS / graph}.yaml", "-DCMAKE_BUILD_TYPE=Release"]
        return measured(["cmake", "-S", source, "-B", build, "-G", "Ninja", *options], env=environment).seconds

    def build_and_run():
        seconds = measured(["cmake", "--build", build], env=environment).seconds
        return seconds + measured([build / "first_run", work, *FIRST_RUNS[graph]]).seconds

    shutil.rmtree(build, ignore_errors=True)
    cold = configure() + build_and_run()
    edit_a_stub(build)
    return cold, build_and_run()


def time_torch(graph: str, python: Path, work: Path) -> tuple[dict, dict]:
    cache = work / "inductor" / graph
    shutil.rmtree(cache, ignore_errors=True)
    environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(cache)}

    def run(*arguments):
        script = Path(__file__).parent / "torch_first_run.py"
        text = subprocess.run(
            [python, script, graph, *arguments], env=environment, check=True, text=True, stdout=subprocess.PIPE
        ).stdout
        return json.loads(text.splitlines()[-1])

    return run(), run("--edited")


def first_runs(prefix: Path, python: Path | None, work: Path) -> str:
    rows, version = [], ""
    for graph in FIRST_RUNS:
        cold, edited = time_kgen(graph, prefix, work)
        row = [graph, f"{cold:.1f}", f"{edited:.1f}"]
        if python:
            torch_cold, torch_edited = time_torch(graph, python, work)
            version = torch_cold["version"]
            row += [f"{run['import'] + run['result']:.1f} ({run['result']:.1f})" for run in (torch_cold, torch_edited)]
        rows.append(row)
        print("first run:", *row, flush=True)
    header = ["graph", "kgen, cold", "kgen, edited"]
    if python:
        header += [f"torch.compile {version}, cold", "torch.compile, edited"]
    return table(header, rows)


# ---- the report ------------------------------------------------------------------------------------------------------


def processor() -> str:
    names = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} threads"


def compiler() -> str:
    return subprocess.run(["c++", "--version"], text=True, stdout=subprocess.PIPE).stdout.splitlines()[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", required=True, type=Path, help="where kgen is installed")
    parser.add_argument("--work", required=True, type=Path, help="a folder for what the measurements write")
    parser.add_argument("--torch-python", type=Path, help="a Python that has torch; without it torch is left out")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "RESULTS.md")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    kgen = options.prefix / "bin" / "kgen"

    text = f"""\
# kgen, measured

Written by `scripts/bench` on {datetime.date.today()}: {processor()}; {compiler()}; Python {platform.python_version()}.

## Planning
`kgen plan`, whole process, reading and writing included; the median of 5 runs into an empty folder. Deep networks,
written out block by block.

Plain operators (matmul, bias, relu, residual, gain: a block is 5 operators), whose weights all blocks share:

{planning(PLAIN, kgen, options.work)}
In turns a matmul, bias, relu, softmax and gain, so that kernels and rows alternate (9 operators a block once softmax is
expanded):

{planning(TURNS, kgen, options.work)}
Composites, and weights of each block's own (layer_norm, three matmuls, bias, gelu, gate, residual: 9 operators, which are
21 once the composites are expanded, and 7 constants):

{planning(COMPOSITE, kgen, options.work)}
## Starting
Whole processes, medians of 11. The kernels' signatures come with kgen and are used while no header differs from what they
were read from; else the headers are read anew, with Clang.

{starting(options.prefix, options.work)}
## Emitted source
Operators as written in the graph, composites counted once. Lines that are not blank; a stub's comments count.

{emitted_sizes(kgen, options.work)}
## From a graph to a running program
Seconds until the first result, without a compiler cache. kgen: plan, configure, compile, link, load, run; the edit
changes one operator of one stub. torch.compile: a fresh process with an empty cache of its own, in brackets without the
time of importing torch; the edit adds one operator, and keeps the cache.

{first_runs(options.prefix.resolve(), options.torch_python, options.work.resolve())}"""
    options.output.write_text(text + report.section_of(options.output))
    print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
