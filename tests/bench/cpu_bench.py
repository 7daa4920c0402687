"""Times what kgen emits on the CPU beside PyTorch, ONNX Runtime, OpenVINO and MAX, in one run.

    cpu_bench.py --rows | --draw SEED COUNT [--only TEXT,...] [--threads 1,2] [--peers eager,compile,... | none]
                 [--rounds N] [--seconds S] [--around COMMAND] [--write CPU.md] [--plot FOLDER]

The rows are those of cpu/rows.yaml: graphs, of which PyTorch's function follows, and of that its ONNX form. Each side is a
process of its own, with as many processors as threads, and an allocator that keeps its pages. Before a row is timed the
results of all sides are compared with float64: a row of which kgen's are wrong fails, and the exit code says so; a peer
that is wrong, or cannot do the row, is left out and named with its reason. A round times each side for S seconds, in an
order of its own; figures are medians of the rounds. The floor of a row is the greater of two times: in which a copy, timed
in the same rounds, would move the bytes that the row must move; and in which the fastest matrix product of the same run,
of any side and of that dtype, would do as many operations.
"""

import argparse
import contextlib
import json
import os
import random
import select
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER / "cpu"))

import draw
import plot
import report
from rows import all_rows

PEERS = ["eager", "compile", "max-autotune", "ort", "openvino", "max"]
COPIES = ["copy", "stream"]
TOLERANCES = {"f64": 1e-9, "f32": 2e-4, "f16": 2e-2, "bf16": 5e-2}  # of kgen's dtypes; others must be exact
PATIENCE = 900  # seconds for a peer to compile a row


# ---- sides -----------------------------------------------------------------------------------------------------------


class Gone(Exception):
    """A worker has ended or said nothing in time."""


class Worker:
    """A process of cpu/worker.py, which is started when it is first asked."""

    def __init__(self, side, threads, work):
        self.side, self.threads, self.work, self.process = side, threads, work, None

    def start(self):
        environment = os.environ | {
            "MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(1 << 26),
            "OMP_NUM_THREADS": str(self.threads), "MKL_NUM_THREADS": str(self.threads), "CUDA_VISIBLE_DEVICES": "",
            "TORCHINDUCTOR_CACHE_DIR": str(self.work / "inductor"), "PYTHONDONTWRITEBYTECODE": "1",
        }
        arguments = [self.side, str(self.threads), str(self.work / "rows"), str(self.work / "build")]
        self.log = open(self.work / f"{self.side}.{self.threads}.log", "ab")
        self.process = subprocess.Popen(
            [sys.executable, str(FOLDER / "cpu" / "worker.py"), *arguments], env=environment, text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, start_new_session=True)

    def ask(self, patience=PATIENCE, **request):
        """Its answer. Gone where there is none."""
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            ready, _, _ = select.select([self.process.stdout], [], [], patience)
            line = self.process.stdout.readline() if ready else ""
        except BrokenPipeError:
            ready, line = True, ""
        if not line:
            self.end()
            raise Gone("it crashed" if ready else f"it took more than {patience} s")
        return json.loads(line)

    @contextlib.contextmanager
    def awake(self):
        """Stopped but for this: threads that have nothing to do may spin, at the cost of other sides."""
        self.signal(signal.SIGCONT)
        try:
            yield
        finally:
            self.signal(signal.SIGSTOP)

    def signal(self, number):
        if self.process:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)

    def end(self):
        if self.process:
            self.signal(signal.SIGKILL)
            self.process.wait()
            self.process = None
            self.log.close()


# ---- what kgen emits -------------------------------------------------------------------------------------------------


def build(rows, options):
    """Plans and compiles the rows' graphs. What kgen says of those that it cannot plan, by name."""
    graphs, failed = options.work / "graphs", {}
    graphs.mkdir(parents=True, exist_ok=True)
    for old in set(graphs.glob("*.yaml")) - {graphs / f"{row.name()}.yaml" for row in rows}:
        old.unlink()
    for row in rows:
        path = graphs / f"{row.name()}.yaml"
        if not path.exists() or path.read_text() != row.text():
            path.write_text(row.text())
        planned = subprocess.run([options.prefix / "bin" / "kgen", "plan", path, "--emit", options.work / "planned" / path.stem,
                                  "--quiet"], text=True, stderr=subprocess.PIPE)
        if planned.returncode != 0:
            failed[row.name()] = planned.stderr.strip().splitlines()[0]
            path.unlink()
    log = options.work / "build.log"
    with open(log, "w") as out:
        configure = ["cmake", "-S", FOLDER / "cpu", "-B", options.work / "build", "-G", "Ninja",
                     "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={options.prefix}", f"-DGRAPHS={graphs}",
                     "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
        if subprocess.run(configure, stdout=out, stderr=out).returncode != 0:
            sys.exit(f"cpu_bench: cmake failed: {log}")
        compiled = subprocess.run([*options.nice, "ninja", "-C", options.work / "build", "-k", "0"], stdout=out, stderr=out)
        if compiled.returncode != 0:
            print(f"cpu_bench: not all rows compile: {log}", flush=True)
    return failed


# ---- rows ------------------------------------------------------------------------------------------------------------


def tolerated(row, sides_own):
    least = TOLERANCES.get(row.main_dtype(), 1e-4)
    return least if sides_own else max(least, 1e-2)  # a peer may round in between


class Hold:
    """`COMMAND cat`, which holds other work off until it ends: options.around."""

    def __init__(self, command):
        self.process = None
        if command:
            self.process = subprocess.Popen([*shlex.split(command), "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.process.stdin.write(b"\n")
            self.process.stdin.flush()
            self.process.stdout.readline()  # it runs
            time.sleep(0.5)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.stdin.close()
            self.process.wait()


def ask_all(workers, names, reasons, **request):
    """Answers by side. Those without one go to `reasons`."""
    answers = {}
    for name in names:
        try:
            with workers[name].awake():
                answer = workers[name].ask(**request)
        except Gone as gone:
            answer = {"failed": str(gone)}
        if "failed" in answer:
            reasons[name] = answer["failed"]
        else:
            answers[name] = answer
    return answers


def time_rounds(timed, workers, reasons, options):
    """Appends to the microseconds of each side. One that fails goes to `reasons`."""
    with Hold(options.around if options.rounds else None):
        for _ in range(options.rounds):
            for side in random.sample(list(timed), len(timed)):
                answer = ask_all(workers, [side], reasons, do="time", seconds=options.seconds, patience=120)
                timed[side] += [one["us"] for one in answer.values()]
            for side in set(timed) & set(reasons):
                del timed[side]


def time_row(row, workers, failed, options):
    """What was measured, as report.py takes it."""
    folder = options.work / "rows" / row.name()
    folder.mkdir(parents=True, exist_ok=True)
    described, reasons = row.described(), {}
    needs_onnx = bool({"ort", "openvino"} & set(options.peers))
    referred = ask_all(workers, ["eager"], reasons, do="reference", row=described, onnx=needs_onnx).get("eager")
    if not referred:
        return {"title": row.title, "failed": f"no reference: {reasons['eager']}"}
    if row.name() in failed:
        reasons["kgen"] = failed[row.name()]
    sides = [side for side in ["kgen", *COPIES, *options.peers] if side not in reasons]
    prepared = ask_all(workers, sides, reasons, do="prepare", row=described)
    errors = {side: max(answer["errors"], default=0) for side, answer in prepared.items()}
    for side, error in errors.items():
        if not error <= tolerated(row, side == "kgen"):
            reasons[side] = f"wrong by {error:.1e}"
    timed = {side: [] for side in prepared if side not in reasons}
    time_rounds(timed, workers, reasons, options)
    ask_all(workers, [side for side in prepared if workers[side].process], {}, do="drop")
    for file in folder.glob("expected_*.npy"):
        file.unlink()
    return {
        "title": row.title, "group": row.group, "kind": row.kind(), "dtype": row.main_dtype(), "plot": row.plot,
        "threads": workers["kgen"].threads, "us": {side: times for side, times in timed.items() if times},
        "errors": errors, "reasons": reasons, "graph": row.text(), **referred}


def time_all(rows, failed, options):
    measured = []
    for threads in options.threads:
        workers = {side: Worker(side, threads, options.work) for side in {"kgen", "eager", *COPIES, *options.peers}}
        try:
            for row in rows:
                one = time_row(row, workers, failed, options)
                measured.append(one)
                print(report.line(one), flush=True)
                (options.work / "results.json").write_text(json.dumps(measured))
        finally:
            for worker in workers.values():
                worker.end()
    return measured


def chosen_rows(options):
    rows = list(draw.drawn(*options.draw)) if options.draw else all_rows()
    chosen = [row for row in rows if any(text in f"{row.group}: {row.title}" for text in options.only.split(","))]
    if not chosen:
        sys.exit(f"cpu_bench: no row has one of these in its name: {options.only}")
    return chosen


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", required=True, type=Path, help="where kgen is installed")
    parser.add_argument("--work", required=True, type=Path, help="a folder for what is emitted, compiled and cached")
    parser.add_argument("--rows", action="store_true", help="the rows of cpu/rows.yaml: what is done without --draw")
    parser.add_argument("--draw", nargs=2, type=int, metavar=("SEED", "COUNT"), help="so many rows of random graphs instead")
    parser.add_argument("--only", default="", help="those in whose group or name one of these texts is")
    parser.add_argument("--peers", default=",".join(PEERS), help="or none")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.04, help="for which a round times a side")
    parser.add_argument("--around", help="a command that holds other work off: `COMMAND cat` is run around each row's times")
    parser.add_argument("--nice", type=shlex.split, default=[], help="a command in front of the compiler's")
    parser.add_argument("--again", type=Path, metavar="results.json",
                        help="time nothing: tables and plots of an earlier run, which left this in its work folder")
    parser.add_argument("--write", type=Path, help="a Markdown file for the table and how it was made")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="where to write time over size as SVG, for rows that grow")
    options = parser.parse_args()
    options.prefix, options.work = options.prefix.resolve(), options.work.resolve()
    options.work = options.work / "drawn" if options.draw else options.work
    options.peers = [] if options.peers == "none" else options.peers.split(",")
    unknown = set(options.peers) - set(PEERS)
    if unknown:
        parser.error(f"no peer is {', '.join(sorted(unknown))}: {', '.join(PEERS)}")
    options.threads = [int(count) for count in options.threads.split(",")]
    return options


def main():
    options = parse()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.again:
        measured = json.loads(options.again.read_text())
    else:
        rows = chosen_rows(options)
        measured = time_all(rows, build(rows, options), options)
    text = report.tables(measured, options.peers)
    print(f"\n{text}")
    if options.draw:
        print(report.losses(measured, options.peers))
    if options.write:
        options.write.write_text(report.page(text, sys.argv[1:], options, measured))
    if options.plot:
        plot.write(measured, options.plot)
    return 1 if any("failed" in one or "kgen" in one["reasons"] for one in measured) else 0


if __name__ == "__main__":
    sys.exit(main())
