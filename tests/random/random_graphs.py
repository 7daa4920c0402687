"""Draws graphs, plans, compiles and runs them, and compares what they compute with NumPy in float64.

    random_graphs.py --tools FILE --work FOLDER [--seed N] [--count N | --graph K]
                     [--targets cpu,checked:8,simt_32:10] [--plan-only cuda,hip] [--jobs N] [--reduce N]
    random_graphs.py --tools FILE --bundle FOLDER --count N --targets cpu,cuda
    random_graphs.py --tools FILE --work FOLDER --from-bundle FOLDER --targets cuda

The seed is drawn anew in each run, and printed; KGEN_SEED or --seed repeats it, and --graph K one graph of it. Of
graphs that fail a few are reduced, and printed as YAML. --bundle plans them for another machine, and --from-bundle runs them
there, without kgen.
"""

import argparse
import math
import os
import sys
import time
from pathlib import Path

import bundle
import composites
import draw
import specs
from build import Tools
from campaign import Campaign, Share
from graph import Graph
from report import print_report
from specs import Operator


def shares_of(text: str, runs: bool) -> list[Share]:
    """"cpu,checked:8": all graphs, and every eighth."""
    entries = [entry.partition(":") for entry in text.split(",") if entry]
    return [Share(name, int(every or 1), runs) for name, _, every in entries]


def draw_graphs(operators: dict[str, Operator], seed: int, options: argparse.Namespace) -> dict[int, Graph]:
    if options.graph is not None:
        return {options.graph: draw.draw(operators, seed, options.graph)}
    return {number: draw.draw(operators, seed, number) for number in range(options.count)}


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True, type=Path, help="tools.json, which the build writes")
    parser.add_argument("--specs", type=Path, default=Path(__file__).resolve().parent.parent.parent / "specs" / "ops")
    parser.add_argument("--work", type=Path, help="a folder for all that is made; it is emptied")
    parser.add_argument("--bundle", type=Path, help="only plan, and leave in this folder what --from-bundle needs")
    parser.add_argument("--from-bundle", type=Path)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--graph", type=int, help="only this one")
    parser.add_argument("--targets", default="cpu", help="such as cpu,checked:6,simt_32:12: every so many graphs")
    parser.add_argument("--plan-only", default="", help="such as cuda,hip")
    parser.add_argument("--per-unit", type=int, default=20, help="graphs of one translation unit")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin nothing after so many")
    parser.add_argument("--reduce", type=int, default=4, metavar="N", help="print so many failing graphs, reduced")
    parser.add_argument("--tries", type=int, default=25, help="of reducing one graph")
    return parser.parse_args()


def main() -> int:
    options = parsed()
    deadline = time.monotonic() + 60 * options.minutes
    tools = Tools.load(options.tools)
    shares = shares_of(options.targets, True) + shares_of(options.plan_only, False)
    if options.from_bundle:
        seed, graphs, operators = bundle.load(options.from_bundle)
        numbers = sorted(graphs)[: options.count] if options.graph is None else [options.graph]
        graphs = {number: graphs[number] for number in numbers}
        campaign = Campaign(operators, tools, options.work, options.per_unit, options.jobs, seed, graphs,
                            options.from_bundle / "emitted", deadline=deadline)
        campaign.run(shares)
        return print_report(campaign, options.reduce, 0)
    seed = options.seed
    if seed is None:
        seed = int(os.environ.get("KGEN_SEED") or int.from_bytes(os.urandom(3), "little"))
    print(f"random: seed {seed} (KGEN_SEED={seed} repeats it)", flush=True)
    operators = specs.load(options.specs)
    for name in sorted(set(operators) - set(composites.OPERATORS)):
        print(f"FAILED: operator {name} has no reference here: write one in tests/random/references.py")
        return 1
    work = options.bundle / "emitted" if options.bundle else options.work
    campaign = Campaign(operators, tools, work, options.per_unit, options.jobs, seed,
                        draw_graphs(operators, seed, options), deadline=deadline)
    if options.bundle:
        bundle.save(campaign, shares, options.bundle)
        return print_report(campaign, options.reduce, 0)
    campaign.run(shares)
    return print_report(campaign, options.reduce, options.tries)


if __name__ == "__main__":
    sys.exit(main())
