"""Times the benchmark's rows as kgen fuses them, with one kind of fusion switched off at a time, and with none, on a GPU.

    gpu_fusion_bench.py [--rows TEXT,...] [--rounds N] [--write FUSIONS_GPU.md] [--dry-run]

Each variant that scripts/gpu_bundle planned (`kgen plan --without RULE`, where that is not as the whole is) is a library of
its own; all of a row are timed interleaved, as gpu_bench.py does. A rule loses where a row is faster without it in three
rounds of four, and by more than 3 % in the median. --dry-run says what would be timed, and needs neither GPU nor PyTorch.
"""

import argparse
import datetime
import pathlib
import random
import re
import statistics
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
sys.path.insert(0, str(FOLDER / "gpu"))
LOSES, LOSES_IN = 0.97, 0.75


def variants_of(emitted):
    """By rule ("unfused": all of them): the graphs that are planned otherwise without it."""
    found = {}
    for folder in sorted(emitted.glob("fusions/*/*")):
        found.setdefault(folder.parent.name, []).append(folder.name)
    return found


def time_row(row, libraries, variants, rounds):
    """Microseconds of each round, by variant."""
    import torch
    from gpu_bench import ROUNDS_BETWEEN, SETS, Expected, double, kgen_side, loaded_models

    sets = [row.make() for _ in range(SETS)]
    exact = double(sets[0])
    expected = Expected(row.compute(*exact), row.terms(*exact) if row.terms else None)
    moved = row.moved(sets[0], row.compute(*sets[0]))
    torch.cuda.empty_cache()
    count = SETS * max(1, round(1500 / max(moved / 4.2e6, row.operations / 7e8) / SETS))
    pool = torch.cuda.graph_pool_handle()
    names = ["fused", *[rule for rule, graphs in variants.items() if row.graph in graphs]]
    sides = {}
    for name in names:
        models = loaded_models(libraries[name], row, sets)
        sides[name] = kgen_side(models, row, sets, expected, count, pool, 0 if name == "fused" else ROUNDS_BETWEEN)
    for timed in (False, True):
        for _ in range(rounds if timed else 3):
            for side in random.sample(list(sides.values()), len(sides)):
                side.time()
        if not timed:
            for side in sides.values():
                side.times.clear()
    return {name: side.times for name, side in sides.items()}


def loses(fused, other):
    faster = sum(b < a for a, b in zip(fused, other, strict=True)) / len(fused)
    return statistics.median(other) < LOSES * statistics.median(fused) and faster >= LOSES_IN


def table(timed):
    """Rules that lose come first."""
    rows = []
    for title, times in timed.items():
        fused = statistics.median(times["fused"])
        for name in times:
            if name == "fused":
                continue
            other, lost = statistics.median(times[name]), loses(times["fused"], times[name])
            what = "all rules" if name == "unfused" else name
            mark = " **loses**" if lost else ""
            rows.append((not lost, other / fused,
                         f"| {title} | {what} | {fused:.1f} | {other:.1f} | {other / fused:.2f}{mark} |"))
    header = "| row | without | fused, us | without it, us | ratio |\n| --- | --- | ---: | ---: | ---: |\n"
    return header + "\n".join(line for *_, line in sorted(rows)) + "\n"


def page(timed, left_out, rounds):
    import torch

    return f"""\
# Fused and unfused, rule by rule, on a GPU

Written by `scripts/gpu_bench --fusions --rounds {rounds}` on {datetime.date.today()}: {torch.cuda.get_device_name()}, CUDA
{torch.version.cuda}, kgen {(ROOT / "bundle.txt").read_text().strip()}.

Each row as it is, and without one kind of fusion (`kgen plan --without RULE`), interleaved as in GPU.md: medians of {rounds}
rounds. The ratio is what a rule is worth: above 1 it wins. What does not change a plan is left out.

{table(timed)}
{"".join(f"- {line}" + chr(10) for line in left_out)}"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("--rows", default="", help="those whose graph contains one of these texts")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--write", type=pathlib.Path, help="a Markdown file for the table and how it was made")
    parser.add_argument("--dry-run", action="store_true", help="say what would be timed")
    options = parser.parse_args()
    variants = variants_of(ROOT / "emitted")
    chosen = re.compile("|".join(map(re.escape, options.rows.split(","))))
    if options.dry_run:
        for rule, graphs in variants.items():
            print(f"{rule}: {', '.join(graph for graph in graphs if chosen.search(graph))}")
        return 0

    import gpu_bench
    from kgen_library import Library
    from rows import ROWS

    libraries = {"fused": Library(options.build / "libkgen_rows.so")}
    libraries |= {rule: Library(options.build / f"libkgen_rows_{rule}.so") for rule in variants}
    timed, left_out = {}, []
    for row in ROWS:
        if not chosen.search(row.graph) or not any(row.graph in graphs for graphs in variants.values()):
            continue
        try:
            timed[row.title] = time_row(row, libraries, variants, options.rounds)
        except RuntimeError as error:
            gpu_bench.require_device(error)
            left_out.append(f"{row.title}: FAILED: {gpu_bench.first_line(error)}")
            print(left_out[-1], flush=True)
            continue
        print(row.title, {name: round(statistics.median(us), 1) for name, us in timed[row.title].items()}, flush=True)
    print(table(timed))
    if options.write:
        options.write.write_text(page(timed, left_out, options.rounds))
    return 1 if left_out else 0


if __name__ == "__main__":
    sys.exit(main())
