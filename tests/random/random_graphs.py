"""Draws graphs, plans, compiles and runs them, and compares what they compute with NumPy in float64.

    random_graphs.py --tools FILE --work FOLDER [--seed N] [--count N | --graph K]
                     [--targets cpu,checked,simt_32] [--plan-only cuda,hip] [--jobs N] [--reduce N]

The seed is drawn anew in each run, and printed; --seed N --graph K repeats one graph. A graph that fails is reduced, and
printed as YAML.
"""

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

import draw
import specs
from build import Tools
from campaign import Campaign, Share
from known_defects import known_defect
from report import print_report


def shares(options: argparse.Namespace, count: int) -> list[Share]:
    """Which graphs go to which target: "cpu" all, "checked:8" every eighth."""
    result = []
    for entry in options.targets.split(","):
        name, _, every = entry.partition(":")
        result.append(Share(name, int(every or 1)))
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True, type=Path, help="tools.json, which the build writes")
    parser.add_argument("--specs", type=Path, default=Path(__file__).resolve().parent.parent.parent / "specs" / "ops")
    parser.add_argument("--work", required=True, type=Path)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--graph", type=int, help="only this one")
    parser.add_argument("--targets", default="cpu", help="such as cpu,checked:6,simt_32:12: every so many graphs")
    parser.add_argument("--plan-only", default="", help="such as cuda,hip")
    parser.add_argument("--per-unit", type=int, default=20, help="graphs of one translation unit")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--reduce", type=int, default=4, metavar="N", help="print so many failing graphs, reduced")
    parser.add_argument("--tries", type=int, default=25, help="of reducing one graph")
    options = parser.parse_args()

    seed = options.seed
    if seed is None:
        seed = int(os.environ.get("KGEN_SEED") or int.from_bytes(os.urandom(3), "little"))
    print(f"random: seed {seed} (KGEN_SEED={seed} repeats it)", flush=True)
    operators = specs.load(options.specs)
    numbers = [options.graph] if options.graph is not None else range(options.count)
    graphs = {number: draw.draw(operators, seed, number) for number in numbers}
    left_out = Counter(filter(None, (known_defect(graph) for graph in graphs.values())))
    if options.graph is None:
        graphs = {number: graph for number, graph in graphs.items() if not known_defect(graph)}
    for defect, count in left_out.items():
        print(f"left out: {count} with {defect}")
    campaign = Campaign(operators, Tools.load(options.tools), options.work, options.per_unit, options.jobs)
    plan_only = [each for each in options.plan_only.split(",") if each]
    campaign.run(seed, graphs, shares(options, len(graphs)), plan_only)
    return print_report(campaign, options.reduce, options.tries)


if __name__ == "__main__":
    sys.exit(main())
