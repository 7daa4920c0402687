"""Times whole models beside PyTorch, ONNX Runtime and OpenVINO, in one run: exported to ONNX by PyTorch, imported, planned and
built by kgen.

    model_bench.py [--only TEXT,...] [--types f32,bf16,i8] [--threads 2] [--peers eager,compile,ort,openvino | none]
                   [--rounds N] [--seconds S] [--neighbours N] [--around COMMAND] [--write MODELS.md]

As cpu_bench.py, whose workers these are: one process for each side and model, results compared with float64 first, rounds
interleaved. Beside the latency it says how far results are off, the most memory that a side's process had, the seconds from
nothing (a process, packages, the model's file; kgen: import, plan, build, load) to the first result, and the size of what is
shipped: the model as it is read, and the libraries that read it.

bf16: weights, inputs and results, in the ONNX file as well; OpenVINO reads the same numbers as f32 and is told to compute in
bf16. i8: products of bytes, as ONNX Runtime's quantiser writes them (cpu/quantized.py). What a side does not have, it says.
"""

import argparse
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import time
from importlib import util
from pathlib import Path

import cpu_bench
import report
from models import MODELS

PEERS = ["eager", "compile", "ort", "openvino"]
PACKAGES = {"eager": "torch", "compile": "torch", "ort": "onnxruntime", "openvino": "openvino"}
# Relative to a result + the root mean square of all, at most, through many layers. bf16 has 8 bits, of which each layer rounds
# some away. Of i8 the ONNX file says what is right; a number that rounds to another step of 8 bits moves all that follows, so
# it may be off by as much as quantising itself, where that is more.
TOLERANCES = {"f32": 1e-3, "bf16": 0.1, "i8": 0.1}
TORCHAO = "PyTorch's quantisation is another package's, torchao"
LACKING = {"i8": {"eager": TORCHAO, "compile": TORCHAO}}


def run(command, log):
    """Seconds that it took. RuntimeError: the first line of what it says."""
    begin = time.perf_counter()
    result = subprocess.run(list(map(str, command)), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    log.write_text(result.stdout)
    if result.returncode != 0:
        wrong = [line for line in result.stdout.splitlines() if "error" in line.lower()] or ["failed"]
        raise RuntimeError(f"{Path(command[0]).name} {command[1]}: {wrong[0]}"[:300])
    return time.perf_counter() - begin


def build(name, onnx, options):
    """The model's shared library; seconds of import, plan and build."""
    graph, source = options.graphs / f"{name}.yaml", options.work / "sources"
    kgen = options.prefix / "bin" / "kgen"
    source.mkdir(exist_ok=True)
    imported = run([kgen, "import", onnx, "-o", graph, "--quiet", "--color", "never"], options.work / f"{name}.import.log")
    try:
        planned = run([kgen, "plan", graph, "--emit", source / name, "--quiet", "--color", "never"],
                      options.work / f"{name}.plan.log")
    except RuntimeError:
        graph.unlink()  # with which no other model would be built
        raise
    folder = options.work / "build"
    run(["cmake", "-S", cpu_bench.FOLDER / "cpu", "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
         f"-DCMAKE_PREFIX_PATH={options.prefix}", f"-DGRAPHS={options.graphs}", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"],
        options.work / f"{name}.cmake.log")
    built = run([*options.nice, "ninja", "-C", folder, name, "floor"], options.work / f"{name}.build.log")
    return {"import": imported, "plan": planned, "build": built}


def megabytes(paths):
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def shipped(side, name, dtype, folder, options):
    """MB of the model as it is read, and of the libraries that read it."""
    if side == "kgen":
        return megabytes(options.graphs.glob(f"{name}*.safetensors")), megabytes([options.work / "build" / f"lib{name}.so"])
    package = Path(util.find_spec(PACKAGES[side]).origin).parent
    file = "wide.onnx" if (side, dtype) == ("openvino", "bf16") else "row.onnx"
    return megabytes([folder / file]), megabytes(package.rglob("*.so*"))


def time_model(model, dtype, options):
    """What was measured, as report.py takes rows, with more beside it."""
    title = model if dtype == "f32" else f"{model}, {dtype}"
    name = re.sub(r"\W+", "_", title).strip("_").lower()
    folder, reasons = options.work / "rows" / name, dict(LACKING.get(dtype, {}))
    folder.mkdir(parents=True, exist_ok=True)
    processors = sorted(os.sched_getaffinity(0))[:options.threads]
    workers = {side: cpu_bench.Worker(side, processors, options.work) for side in ["kgen", "eager", *options.peers]}
    asked = {"model": model, "dtype": dtype, "name": name, "graphs": str(options.graphs)}
    try:
        referred = cpu_bench.ask_all(workers, ["eager"], reasons, do="reference", onnx=True, **asked).get("eager")
        if not referred:
            return {"title": title, "failed": f"no reference: {reasons['eager']}"}
        workers["eager"].end()  # whose memory the reference was in
        made = {}
        try:
            error = folder / "row.onnx.error"
            if error.exists():
                raise RuntimeError(error.read_text())
            made = build(name, folder / "row.onnx", options)
        except RuntimeError as error:
            reasons["kgen"] = str(error)
        sides = [side for side in ["kgen", *options.peers] if side not in reasons]
        prepared = cpu_bench.ask_all(workers, sides, reasons, do="prepare", **asked)
        errors = {side: max(answer["errors"]) for side, answer in prepared.items()}
        for side, error in errors.items():
            if not error <= max(TOLERANCES[dtype], referred["inherent"]):
                reasons[side] = f"wrong by {error:.1e}"
        timed = {side: [] for side in prepared if side not in reasons}
        cpu_bench.time_rounds(timed, workers, reasons, options)
    finally:
        for worker in workers.values():
            worker.end()
    return {"title": title, "group": "", "kind": "matrix", "dtype": dtype, "threads": options.threads, "plot": None,
            "us": {side: times for side, times in timed.items() if times}, "errors": errors, "reasons": reasons, "graph": "",
            "first": {side: answer["first"] for side, answer in prepared.items()}, "made": made,
            "peak": {side: answer["peak"] for side, answer in prepared.items()},
            "shipped": {side: shipped(side, name, dtype, folder, options) for side in prepared}, **referred}


def details(measured):
    """A line for each model and side."""
    lines = [["model", "side", "ms", "least", "error", "peak memory, MB", "first result, s", "shipped: model, MB", "libraries, MB"]]
    lines.append(["---", "---"] + ["---:"] * 7)
    for one in measured:
        for side, us in report.medians(one).items():
            first = one["first"][side] + (sum(one["made"].values()) if side == "kgen" else 0)
            model, libraries = one["shipped"][side]
            lines.append([one["title"], side, f"{us / 1e3:.2f}", f"{min(one['us'][side]) / 1e3:.2f}", f"{one['errors'][side]:.0e}",
                          f"{one['peak'][side]:.0f}", f"{first:.1f}", f"{model:.1f}", f"{libraries:.1f}"])
    table = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    inherent = [f"{one['title']} {one['inherent']:.0e}" for one in measured if one["inherent"]]
    return table + (f"\n\nQuantising itself is off by, from float64: {', '.join(inherent)}." if inherent else "")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", required=True, type=Path, help="where kgen is installed")
    parser.add_argument("--work", required=True, type=Path, help="a folder for what is exported, compiled and cached")
    parser.add_argument("--only", default="", help="those in whose name one of these texts is")
    parser.add_argument("--types", default=",".join(TOLERANCES), help="of the models' numbers")
    parser.add_argument("--peers", default=",".join(PEERS), help="or none")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.1, help="for which a round times a side")
    parser.add_argument("--neighbours", type=int, default=0, help="so many processes that add up in a loop on the same "
                        "processors, while a model is timed")
    parser.add_argument("--around", help="a command that holds other work off: `COMMAND cat` is run around each model's times")
    parser.add_argument("--nice", type=shlex.split, default=[], help="a command in front of the compiler's")
    parser.add_argument("--write", type=Path, help="a Markdown file for the tables and how they were made")
    options = parser.parse_args()
    options.prefix, options.work = options.prefix.resolve(), options.work.resolve() / "models"
    options.graphs = options.work / "graphs"
    options.graphs.mkdir(parents=True, exist_ok=True)
    options.peers = [] if options.peers == "none" else options.peers.split(",")
    options.types = options.types.split(",")
    unknown = set(options.types) - set(TOLERANCES)
    if unknown:
        parser.error(f"no type is {', '.join(sorted(unknown))}: {', '.join(TOLERANCES)}")
    return options


def main():
    options = parse()
    measured = []
    for model, dtype in itertools.product(MODELS, options.types):
        if any(text in model for text in options.only.split(",")):
            measured.append(time_model(model, dtype, options))
            print(report.line(measured[-1]), flush=True)
            (options.work / "results.json").write_text(json.dumps(measured))
    told = [one for one in measured if "failed" not in one]
    text = report.tables(measured, options.peers) + "\n## Sides\n\n" + details(told) + "\n"
    print(f"\n{text}")
    if options.write:
        options.write.write_text(report.page(text, ["--models", *sys.argv[1:]], options, told, "Whole models on the CPU, beside their runtimes"))
    return 1 if any("failed" in one or "kgen" in one["reasons"] for one in measured) else 0


if __name__ == "__main__":
    sys.exit(main())
