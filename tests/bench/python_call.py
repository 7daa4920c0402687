"""What a call from Python costs over the same call of the C ABI, for NumPy and, where it is there, PyTorch.

python_call.py WORK_FOLDER     prints the table of tests/bench/PYTHON.md
"""

from __future__ import annotations

import sys
import timeit
from pathlib import Path
from typing import Any, Callable, List

import kgen
import numpy

CALLS = 20000
ROUNDS = 15


def graph_of(inputs: int, outputs: int) -> str:
    """Adds up so many inputs of four elements, for each output: nearly all of its time is the call."""
    lines = [f"graph: {name_of(inputs, outputs)}", "inputs:", *(f"  x{i}: f32[4]" for i in range(inputs)), "nodes:"]
    totals = []
    for k in range(outputs):
        total = "x0"
        for i in range(1, inputs):
            lines.append(f"- {{op: {'sub' if k else 'add'}, in: [{total}, x{i}], out: total{k}_{i}}}")
            total = f"total{k}_{i}"
        if inputs == 1:
            lines.append(f"- {{op: relu, in: x0, out: total{k}_0}}")
            total = f"total{k}_0"
        totals.append(total)
    return "\n".join([*lines, f"outputs: [{', '.join(totals)}]", ""])


def name_of(inputs: int, outputs: int) -> str:
    return f"sums_{outputs}_of_{inputs}"


def best_us(call: Callable[[], Any]) -> float:
    return min(timeit.repeat(call, number=CALLS, repeat=ROUNDS)) / CALLS * 1e6


def rows(work: Path, inputs: int, outputs: int) -> List[str]:
    work.mkdir(parents=True, exist_ok=True)
    path = work / f"{name_of(inputs, outputs)}.yaml"
    path.write_text(graph_of(inputs, outputs))
    model = kgen.load(path, folder=work / path.stem, threads=1)
    arrays = [numpy.ones(4, numpy.float32) for _ in range(inputs)]
    out = tuple(numpy.empty(4, numpy.float32) for _ in range(outputs))
    interface = min(model._time_interface(arrays, out, CALLS) for _ in range(ROUNDS)) / 1000
    kinds = [("NumPy", arrays, out)]
    try:
        import torch

        kinds.append(("PyTorch", [torch.from_numpy(array) for array in arrays], tuple(torch.from_numpy(array) for array in out)))
    except ImportError:
        pass
    lines = []
    for name, tensors, result in kinds:
        new = best_us(lambda: model(*tensors))
        given = best_us(lambda: model(*tensors, out=result))
        lines.append(
            f"| {name} | {inputs} | {outputs} | {interface:.2f} | {new:.2f} | {new - interface:.2f} | {given:.2f} | {given - interface:.2f} |"
        )
    return lines


def main() -> None:
    work = Path(sys.argv[1])
    print("| tensors | inputs | outputs | C ABI, us | new output, us | over the C ABI | `out=`, us | over the C ABI |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for inputs, outputs in ((1, 1), (3, 1), (8, 1), (2, 2)):
        print("\n".join(rows(work, inputs, outputs)))


if __name__ == "__main__":
    main()
