"""Times what kgen emits on the CPU beside PyTorch, ONNX Runtime, OpenVINO and MAX, in one run.

    cpu_bench.py --rows | --draw SEED COUNT [--only TEXT,...] [--threads 1,2] [--peers eager,compile,... | none]
                 [--rounds N] [--seconds S] [--jobs N] [--neighbours N] [--around COMMAND] [--write CPU.md] [--plot FOLDER]
    cpu_bench.py --rows | --draw SEED COUNT --pack BUNDLE --kgen PROGRAM

The second form plans the rows for a machine without kgen, where --bundle takes the place of --prefix.

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
import queue
import random
import select
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent import futures
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER / "cpu"))

import draw
import plot
import report
from neighbours import Neighbours
from rows import all_rows

PEERS = ["eager", "compile", "max-autotune", "ort", "openvino", "max"]
COPIES = ["copy", "stream"]
TOLERANCES = {"f64": 1e-9, "f32": 2e-4, "f16": 2e-2, "bf16": 5e-2}  # of kgen's dtypes; others must be exact
A_STEP = 2e-2  # of results of 8 bits that are rounded from floats, which are half of 255 and more in the mean
NOT_THERE = "the bundle was made without it"
PATIENCE = 900  # seconds for a peer to compile a row


# ---- sides -----------------------------------------------------------------------------------------------------------


class Gone(Exception):
    """A worker has ended or said nothing in time."""


class Worker:
    """A process of cpu/worker.py, which is started when it is first asked. `processors`: those that it may use, as many as
    it has threads."""

    def __init__(self, side, processors, work):
        self.side, self.processors, self.work, self.process = side, processors, work, None
        self.threads = len(processors)

    def start(self):
        environment = os.environ | {
            "MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(1 << 26),
            "OMP_NUM_THREADS": str(self.threads), "MKL_NUM_THREADS": str(self.threads), "CUDA_VISIBLE_DEVICES": "",
            "TORCHINDUCTOR_CACHE_DIR": str(self.work / "inductor"), "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        processors = ",".join(map(str, self.processors))
        arguments = [self.side, processors, str(self.work / "rows"), str(self.work / "build")]
        self.log = open(self.work / f"{self.side}.{processors}.log", "ab")
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


def plan(row, graph, emitted, kgen):
    """What kgen says where it cannot plan the row; else nothing."""
    if not graph.exists() or graph.read_text() != row.text():
        graph.write_text(row.text())
    planned = subprocess.run([kgen, "plan", graph, "--emit", emitted, "--quiet"], text=True, stderr=subprocess.PIPE)
    return planned.stderr.strip().splitlines()[0] if planned.returncode != 0 else None


def pack(rows, options):
    """Plans the rows into a bundle, which holds what kgen says of those that it cannot plan as well."""
    emitted = options.pack / "emitted"
    emitted.mkdir(parents=True, exist_ok=True)
    for row in rows:
        said = plan(row, emitted / f"{row.name()}.yaml", emitted / row.name(), options.kgen)
        if said:
            (emitted / f"{row.name()}.error").write_text(said)
        shutil.rmtree(emitted / row.name() / ".kgen", ignore_errors=True)  # kgen's record, for plans to come


def packed(row, bundle):
    """As plan(), of a row in a bundle."""
    emitted = bundle / "emitted" / row.name()
    if emitted.exists():
        return None
    error = emitted.with_suffix(".error")
    return error.read_text() if error.exists() else NOT_THERE


def build(rows, options):
    """Plans and compiles the rows' graphs. What kgen says of those that it cannot plan, by name."""
    graphs, failed = options.work / "graphs", {}
    graphs.mkdir(parents=True, exist_ok=True)
    for old in set(graphs.glob("*.yaml")) - {graphs / f"{row.name()}.yaml" for row in rows}:
        old.unlink()
    for row in rows:
        path = graphs / f"{row.name()}.yaml"
        if options.bundle:
            path.write_text(row.text())
            said = packed(row, options.bundle)
        else:
            said = plan(row, path, options.work / "planned" / path.stem, options.prefix / "bin" / "kgen")
        if said:
            failed[row.name()] = said
            path.unlink()
    log = options.work / "build.log"
    with open(log, "w") as out:
        source = [f"-DBUNDLE={options.bundle}"] if options.bundle else [f"-DCMAKE_PREFIX_PATH={options.prefix}"]
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        configure = ["cmake", "-S", FOLDER / "cpu", "-B", options.work / "build", "-G", "Ninja",
                     "-DCMAKE_BUILD_TYPE=Release", f"-DGRAPHS={graphs}", *source, *launcher]
        if subprocess.run(configure, stdout=out, stderr=out).returncode != 0:
            sys.exit(f"cpu_bench: cmake failed: {log}")
        compiled = subprocess.run([*options.nice, "ninja", "-C", options.work / "build", "-k", "0"], stdout=out, stderr=out)
        if compiled.returncode != 0:
            print(f"cpu_bench: not all rows compile: {log}", flush=True)
    return failed


# ---- rows ------------------------------------------------------------------------------------------------------------


def tolerated(row, sides_own):
    least = A_STEP if row.quantises() else TOLERANCES.get(row.main_dtype(), 1e-4)
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
    processors = next(iter(workers.values())).processors
    with Hold(options.around if options.rounds else None), Neighbours(options.neighbours, processors):
        for _ in range(options.rounds):
            for side in random.sample(list(timed), len(timed)):
                answer = ask_all(workers, [side], reasons, do="time", seconds=options.seconds, patience=120)
                timed[side] += [one["us"] for one in answer.values()]
            for side in set(timed) & set(reasons):
                del timed[side]


def time_row(row, workers, failed, turn, options):
    """What was measured, as report.py takes it. `turn`: a lock; whoever has it takes times."""
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
    with turn:
        time_rounds(timed, workers, reasons, options)
    ask_all(workers, [side for side in prepared if workers[side].process], {}, do="drop")
    for file in folder.glob("expected_*.npy"):
        file.unlink()
    return {
        "title": row.title, "group": row.group, "kind": row.kind(), "dtype": row.main_dtype(), "plot": row.plot,
        "threads": workers["kgen"].threads, "us": {side: times for side, times in timed.items() if times},
        "errors": errors, "reasons": reasons, "graph": row.text(), **referred}


def measure(waiting, processors, failed, turn, done, options):
    """Measures the rows that `waiting` still has, one after the other, on these processors."""
    workers = {side: Worker(side, processors, options.work) for side in {"kgen", "eager", *COPIES, *options.peers}}
    try:
        while True:
            index, row = waiting.get_nowait()
            done(index, time_row(row, workers, failed, turn, options))
    except queue.Empty:
        pass
    finally:
        for worker in workers.values():
            worker.end()


def time_all(rows, failed, options):
    measured, processors, turn, saying = {}, sorted(os.sched_getaffinity(0)), threading.Lock(), threading.Lock()

    def in_order():
        return [one for _, one in sorted(measured.items())]

    for threads in options.threads:
        def done(index, one):
            with saying:
                measured[options.threads.index(threads), index] = one
                print(report.line(one), flush=True)
                (options.work / "results.json").write_text(json.dumps(in_order()))

        waiting = queue.SimpleQueue()
        for item in enumerate(rows):
            waiting.put(item)
        count = max(1, min(options.jobs, len(processors) // threads))
        with futures.ThreadPoolExecutor(count) as pool:
            for each in [pool.submit(measure, waiting, processors[i * threads:(i + 1) * threads], failed, turn, done, options)
                         for i in range(count)]:
                each.result()
    return in_order()


def chosen_rows(options):
    rows = list(draw.drawn(*options.draw)) if options.draw else all_rows()
    chosen = [row for row in rows if any(text in f"{row.group}: {row.title}" for text in options.only.split(","))]
    if not chosen:
        sys.exit(f"cpu_bench: no row has one of these in its name: {options.only}")
    return chosen


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, help="where kgen is installed")
    parser.add_argument("--bundle", type=Path, help="a bundle, where it is not: with rows that are planned, and the runtime")
    parser.add_argument("--pack", type=Path, metavar="BUNDLE", help="only plan the rows, into the bundle, with --kgen")
    parser.add_argument("--kgen", type=Path, metavar="PROGRAM")
    parser.add_argument("--work", type=Path, help="a folder for what is emitted, compiled and cached")
    parser.add_argument("--rows", action="store_true", help="the rows of cpu/rows.yaml: what is done without --draw")
    parser.add_argument("--draw", nargs=2, type=int, metavar=("SEED", "COUNT"), help="so many rows of random graphs instead")
    parser.add_argument("--only", default="", help="those in whose group or name one of these texts is")
    parser.add_argument("--peers", default=",".join(PEERS), help="or none")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.04, help="for which a round times a side")
    parser.add_argument("--jobs", type=int, default=1, help="so many rows are prepared at a time, each on processors of its "
                        "own, where there are as many; times are taken one after the other")
    parser.add_argument("--neighbours", type=int, default=0, help="so many processes that add up in a loop on each row's "
                        "processors, while it is timed")
    parser.add_argument("--around", help="a command that holds other work off: `COMMAND cat` is run around each row's times")
    parser.add_argument("--nice", type=shlex.split, default=[], help="a command in front of the compiler's")
    parser.add_argument("--again", type=Path, metavar="results.json",
                        help="time nothing: tables and plots of an earlier run, which left this in its work folder")
    parser.add_argument("--write", type=Path, help="a Markdown file for the table and how it was made")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="where to write time over size as SVG, for rows that grow")
    options = parser.parse_args()
    if options.pack:
        return options
    if not options.work or bool(options.prefix) == bool(options.bundle):
        parser.error("it takes --work, and either --prefix or --bundle")
    options.prefix, options.bundle = (path and path.resolve() for path in (options.prefix, options.bundle))
    options.work = options.work.resolve()
    options.work = options.work / "drawn" if options.draw else options.work
    options.peers = [] if options.peers == "none" else options.peers.split(",")
    unknown = set(options.peers) - set(PEERS)
    if unknown:
        parser.error(f"no peer is {', '.join(sorted(unknown))}: {', '.join(PEERS)}")
    options.threads = [int(count) for count in options.threads.split(",")]
    return options


def main():
    options = parse()
    if options.pack:
        return pack(chosen_rows(options), options)
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
        report.write(options.write, report.page(text, sys.argv[1:], options, measured))
    if options.plot:
        plot.write(measured, options.plot)
    return 1 if any("failed" in one or "kgen" in one["reasons"] for one in measured) else 0


if __name__ == "__main__":
    sys.exit(main())
