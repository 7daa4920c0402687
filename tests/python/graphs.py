"""Small graphs that the tests of the package build, and where."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import kgen

work = Path(os.environ.get("KGEN_TEST_WORK") or tempfile.mkdtemp(prefix="kgen_python_"))

GATED = """\
graph: gated
dims: {M: 0..64}
inputs:
  x: f32[M, 4]
  gate: {type: "f32[M, 4]", strided: true}
nodes:
- {op: mul, in: [x, gate], out: product}
- {op: concat, in: [product, product], axis: 0, out: twice}
- {op: relu, in: twice, out: y}
- {op: sum, in: product, axes: [1], out: total}
outputs: [y, total]
"""

RUNNING = """\
graph: running
dims:
  N: 1..8
  P: {range: 0..8, from: position}
inputs:
  x: bf16[N, 2]
  position: i64[]
constants:
  scale: {type: "bf16[2]", file: weights.safetensors, key: scale}
state:
  cache: {type: "bf16[16, 2]", next: updated}
nodes:
- {op: mul, in: [x, scale], out: scaled}
- {op: index_update, in: [cache, scaled], out: updated, axis: 0, begin: P}
- {op: slice, in: updated, out: used, axis: 0, begin: 0, end: P + N}
- {op: neg, in: used, out: y}
outputs: [y]
"""

SHAPED = """\
graph: shaped
dims:
  A: {from: "sizes[0]"}
  B: {range: 0..8, from: "sizes[1]"}
inputs:
  x: f32[2, 6]
  sizes: i64[2]
nodes:
- {op: reshape, in: x, shape: [A, -1], out: part}
- {op: neg, in: part, out: y}
- {op: iota, count: B, out: places}
outputs: [y, places]
"""

SCALED = """\
graph: scaled
inputs: {x: "f32[3]", single: "f32[]", wide: "f64[]"}
nodes:
- {op: mul, in: [x, single], out: product}
- {op: cast, in: wide, out: narrow, to: f32}
- {op: add, in: [product, narrow], out: y}
outputs: ["y"]
"""

NAMED_OUT = """\
graph: named_out
inputs: {x: "f32[3]", out: "f32[3]"}
nodes:
- {op: sub, in: [x, out], out: y}
outputs: ["y"]
"""

BROKEN = """\
graph: broken
inputs: {x: "f32[4]"}
nodes:
- {op: rleu, in: x, out: y}
outputs: [y]
"""


def write(text: str, folder: Path) -> Path:
    """The graph as a file named after itself."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (text.split()[1] + ".yaml")
    path.write_text(text)
    return path


def load(text: str, **options: Any) -> kgen.Model:
    """The graph, built once for all tests."""
    folder = work / text.split()[1]
    return kgen.load(write(text, folder), folder=folder, **options)


def write_safetensors(path: Path, name: str, dtype: str, data: bytes, shape: list) -> None:
    header = ('{"%s":{"dtype":"%s","shape":%s,"data_offsets":[0,%d]}}' % (name, dtype, shape, len(data))).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)
