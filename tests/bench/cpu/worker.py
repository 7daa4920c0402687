"""A process that holds one side of the benchmark: worker.py SIDE PROCESSORS FOLDER LIBRARIES. It reads a request as JSON on a
line of its input and answers on a line of its output.

    {"do": "reference", "row": ..., "onnx": true}   PyTorch alone: writes the row's results in float64, and its ONNX form;
                                                    of a quantised one what that means, and how far it is from float64
    {"do": "prepare", "row": ...}                   makes the side, runs it, and says how far its results are off, how many
                                                    seconds the first took, and the most memory of the process so far, MB
    {"do": "time", "seconds": 0.05}                 says how many microseconds a call takes
    {"do": "drop"}                                  lets go of the row

Instead of a row it takes a model: {"model": title, "dtype": ..., "name": of its graph, "graphs": the folder of that}.
"""

import contextlib
import ctypes
import gc
import json
import os
import resource
import sys
import time
import traceback
from pathlib import Path

import numpy as np
from rows import Row
from sides import SIDES, Job, export_onnx, time_for, warm_up


def largest_error(found, expected):
    """Relative to |expected| + its root mean square; infinite where one of the two is not finite and differs."""
    if found.shape != expected.shape:
        raise RuntimeError(f"its result is {list(found.shape)}, and should be {list(expected.shape)}")
    worst, flat, others = 0.0, expected.reshape(-1), found.reshape(-1)
    mean = float(np.sqrt(np.mean(np.square(flat, dtype=np.float64)))) if flat.size else 0.0
    for begin in range(0, flat.size, 1 << 22):
        one, other = flat[begin:begin + (1 << 22)].astype(np.float64), others[begin:begin + (1 << 22)].astype(np.float64)
        with np.errstate(all="ignore"):
            error = np.where(one == other, 0, np.abs(one - other) / (np.abs(one) + mean))
        worst = max(worst, float(np.nan_to_num(error, nan=np.inf).max()))
    return worst


def first_lines(error):
    lines = [line for line in str(error).strip().splitlines() if line.strip()] or [repr(error)]
    return f"{type(error).__name__}: {lines[0]}"[:300]


class Worker:
    def __init__(self, side, threads, folder, libraries):
        self.make, self.threads, self.folder, self.libraries = SIDES[side], threads, Path(folder), libraries
        self.side = None

    def job(self, request):
        if "model" in request:
            from models import ModelJob  # whose packages rows do without

            name = request["name"]
            return ModelJob(request["model"], request["dtype"], name, request["graphs"], self.folder / name, self.libraries,
                            self.threads)
        row = Row(**request["row"])
        return Job(row, self.folder / row.name(), self.libraries, self.threads)

    def reference(self, request):
        job = self.job(request)
        side = self.make(job)
        results, dtypes, operations = side.reference()
        side.close()
        moved = job.moved([(result.size, dtype) for result, dtype in zip(results, dtypes)])
        (job.folder / "results.json").write_text(
            json.dumps([[list(result.shape), dtype] for result, dtype in zip(results, dtypes)]))
        (job.folder / "moved.json").write_text(json.dumps(moved))
        if request["onnx"]:
            try:
                export_onnx(job)
            except Exception as error:  # whatever the exporter raises is the reason
                (job.folder / "row.onnx.error").write_text("no ONNX: " + first_lines(error))
        meant = job.meaning(results)
        for index, result in enumerate(meant):
            np.save(job.folder / f"expected_{index}.npy", result)
        inherent = 0 if meant is results else max(largest_error(one, other) for one, other in zip(meant, results))
        return {"moved": moved, "operations": operations, "inherent": inherent}

    def prepare(self, request):
        begin = time.perf_counter()
        job = self.job(request)
        self.side = self.make(job)
        self.side.run()
        first = time.perf_counter() - begin
        warm_up(self.side)
        name_process("kgen_bench")
        found = self.side.outputs()
        if found is None:
            return {"errors": [], "first": first}
        expected = [np.load(job.folder / f"expected_{index}.npy", mmap_mode="r") for index in range(len(found))]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return {"errors": [largest_error(one, other) for one, other in zip(found, expected)], "first": first, "peak": peak}

    def time(self, request):
        return {"us": time_for(self.side, request["seconds"])}

    def drop(self, _request):
        if self.side:
            self.side.close()
        self.side = None
        name_process("python")
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # which else keeps its pages, as the bench asks it to
        return {}


def name_process(name):
    """What ps says of it, from when it is ready: whatever holds other work off can tell."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)  # PR_SET_NAME


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    side, processors, folder, libraries = sys.argv[1:]
    processors = [int(processor) for processor in processors.split(",")]
    os.sched_setaffinity(0, processors)
    worker = Worker(side, len(processors), folder, libraries)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request["do"])(request)
        except Exception as error:  # a side that cannot do a row says why
            traceback.print_exc()
            answer = {"failed": first_lines(error)}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
