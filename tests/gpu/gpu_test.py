"""In a bundle, on a machine with a GPU: runs the emitted examples on it and judges what they give.

- every example against its float64 reference, outputs poisoned first, launched stub by stub, captured and replayed:
  CUDA's sources, and HIP's through HIP's NVIDIA platform;
- the runtime's test, with what the device's tensor cores and copy engine give against the SIMT executor's, bit for bit;
- check mode on stubs that are right and on stubs that are not;
- under compute-sanitizer's tools CUDA's examples, launched stub by stub, and of the runtime's test what replays,
  captures and begins early. Not under them: HIP's sources, check mode, and tests that take times or want errors.

    gpu_test.py --build FOLDER --work FOLDER [--only TEXT] [--no-sanitizer]

A line per run that fails, with the end of what it said, and what tests say that they skip; the exit code says whether
any run failed.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "tests/examples"
sys.path.insert(0, str(EXAMPLES))
import cases  # noqa: E402

TOOLS = ("racecheck", "memcheck", "initcheck", "synccheck")  # the longest first
# Of an example on four streams, 4 of 221 runs under initcheck ended in an illegal access that no tool placed, and that
# no run had without initcheck, with its launches one by one (200), or with none of them early (96).
OPTIONS = {"initcheck": ["--force-blocking-launches"]}
# Bytes of a case's inputs, where not all cases are run. A call of llama_tiny is 418 launches, and racecheck slows each,
# however little it computes: the six calls of the small cases take 97 s.
LARGEST = {("racecheck", "llama_tiny"): 100_000}

# What check mode says of each corrupted stub.
FOUND = {
    "matmul_bias_relu.11": r"KGEN_CHECK_FAILED: stub 'stub_y' differs",
    "softmax.11": r"KGEN_CHECK_FAILED: stub 'stub_probabilities' differs",
    "swish.7": r"KGEN_CHECK_FAILED: stub 'stub_y' differs",
    "llama_block.60": r"KGEN_CHECK_FAILED: stub 'stub_h' differs",
}


@dataclasses.dataclass
class Run:
    name: str
    command: list
    expected: str | None = None  # what it must say; without it, it must succeed


def example(driver, graph, work, *options):
    return [sys.executable, "-B", EXAMPLES / "run_example.py", graph, "--driver", driver, "--work", work, *options]


def with_reference(vendor):
    """Folders of the emitted graphs that have a reference; gpu_bench compares its other rows with PyTorch."""
    return [folder for folder in sorted((ROOT / "emitted" / vendor).glob("*")) if folder.name in cases.EXAMPLES]


def numerics(build, work):
    for vendor in ("cuda", "hip"):
        for folder in with_reference(vendor):
            yield Run(f"{vendor} {folder.name}",
                      example(build / f"run_graph_{vendor}", folder.name, work / vendor / folder.name, "--passes", "3"))
    for folder in sorted((ROOT / "emitted/checked").glob("*")):
        yield Run(f"checked {folder.name}",
                  example(build / "run_graph_checked", folder.name, work / "checked" / folder.name, "--check"))
    for folder in sorted((ROOT / "emitted/corrupted").glob("*")):
        yield Run(f"corrupted {folder.name}",
                  example(build / f"run_graph_corrupted_{folder.name}", folder.name.split(".")[0],
                          work / "corrupted" / folder.name, "--check"), FOUND[folder.name])
    yield Run("runtime", [build / "runtime_test"])
    yield Run("runtime, a kernel that faults",
              [build / "runtime_test", "--no-skip", "--test-case=A kernel that faults*"])


def sanitized(sanitizer, build, work):
    for tool in TOOLS:
        command = [sanitizer, "--tool", tool, "--error-exitcode", "9", "--print-limit", "3", *OPTIONS.get(tool, [])]
        for folder in with_reference("cuda"):
            place = work / tool / folder.name
            largest = LARGEST.get((tool, folder.name))
            options = ["--smaller-than", str(largest)] if largest else []
            yield Run(f"{tool} {folder.name}", example(build / "run_graph_cuda", folder.name, place, *options,
                                                       "--under", " ".join(map(str, command))))
        # Without what takes times, and without errors that are wanted.
        yield Run(f"{tool} runtime", [*command, build / "runtime_test", "--test-case=Replay*,*captures runs*,Early*",
                                      "--subcase-exclude=with branches"])


@dataclasses.dataclass
class Result:
    run: Run
    seconds: float
    wrong: str  # "" where nothing is
    skipped: list  # what tests said of it


def carry_out(run):
    begin = time.monotonic()
    done = subprocess.run([str(part) for part in run.command], capture_output=True, text=True, errors="replace")
    text = done.stdout + done.stderr
    if run.expected:
        good = re.search(run.expected, text) is not None
    else:
        good = done.returncode == 0
    wrong = "" if good else f"exit code {done.returncode}\n" + text[-1500:]
    return Result(run, time.monotonic() - begin, wrong, re.findall("skipped: .*", text))


def carry_out_all(runs, jobs):
    """How many runs failed."""
    results, failures, begin = [], 0, time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(carry_out, run) for run in runs]):
            result = done.result()
            results.append(result)
            for what in result.skipped:
                print(f"{result.run.name}: {what}", flush=True)
            if result.wrong:
                failures += 1
                print(f"FAILED {result.run.name}: {result.wrong}\n", flush=True)
    slowest = sorted(results, key=lambda result: -result.seconds)[:3]
    print(f"{len(results) - failures} of {len(results)} runs passed in {time.monotonic() - begin:.0f} s; the slowest: "
          + ", ".join(f"{result.run.name} {result.seconds:.0f} s" for result in slowest), flush=True)
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="the runs whose name contains this, such as `racecheck softmax`")
    parser.add_argument("--jobs", type=int, default=min(12, os.cpu_count() or 1), help="runs at a time")
    parser.add_argument("--no-sanitizer", action="store_true", help="numerics and the runtime's test alone")
    options = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

    build, work = options.build.resolve(), options.work.resolve()
    failures = 0
    runs = [run for run in numerics(build, work) if options.only in run.name]
    alone = [run for run in runs if run.name.startswith("runtime")]  # it takes times
    for chosen, jobs in ((alone, 1), ([run for run in runs if run not in alone], options.jobs)):
        failures += carry_out_all(chosen, jobs) if chosen else 0
    sanitizer = shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")
    if options.no_sanitizer:
        print("skipped: compute-sanitizer, as was asked")
    elif sanitizer:
        chosen = [run for run in sanitized(sanitizer, build, work) if options.only in run.name]
        failures += carry_out_all(chosen, options.jobs) if chosen else 0
    else:
        print("skipped: there is no compute-sanitizer on the path")
    sys.exit(f"{failures} runs FAILED" if failures else 0)


if __name__ == "__main__":
    main()
