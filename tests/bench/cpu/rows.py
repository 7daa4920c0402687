"""Rows of the benchmark: what rows.yaml says, and the data on which they are computed."""

import dataclasses
import hashlib
import json
import math
import re
import string
from pathlib import Path

import ml_dtypes
import numpy as np
import yaml
from operators import listed

DTYPES = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i64": np.int64, "i32": np.int32,
    "i16": np.int16, "i8": np.int8, "u8": np.uint8, "bool": np.bool_, "i4": np.int8, "u4": np.uint8,
}
FOLDER = Path(__file__).resolve().parent
BLOCK = (1 << 20) + 7  # numbers that are drawn; more than these are repeated


@dataclasses.dataclass
class Value:
    """An input or a constant."""

    dtype: str
    shape: list[int]
    below: int | None = None  # integers: from 0 (or, with a sign, -below) to below - 1
    scale: float = 1.0  # of normal numbers
    between: list | None = None  # ends, of numbers that are spread evenly

    @staticmethod
    def parse(said):
        said = said if isinstance(said, dict) else {"type": said}
        dtype, shape = re.fullmatch(r"(\w+)\[(.*)\]", said["type"]).groups()
        extents = [eval(extent, {"__builtins__": {}}) for extent in shape.split(",") if extent.strip()]
        return Value(dtype, extents, said.get("below"), said.get("scale", 1.0), said.get("between"))

    def type(self):
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"

    def bytes(self):
        return math.prod(self.shape) * (0.5 if self.dtype in ("i4", "u4") else np.dtype(DTYPES[self.dtype]).itemsize)

    def draw(self, seed):
        """Numbers of that type; those of 4 bits are a byte each here."""
        rng, count = np.random.default_rng(seed), math.prod(self.shape)
        few = min(count, BLOCK)
        if self.between:
            block = rng.uniform(*self.between, few)
        elif self.dtype == "bool":
            block = rng.random(few) < 0.5
        elif self.dtype[0] in "iu":
            most = self.below or {"i4": 8, "u4": 16, "i8": 128, "u8": 256}.get(self.dtype, 1000)
            least = -most if self.dtype in ("i4", "i8") else 0
            block = rng.integers(least, most, few)
        else:
            block = rng.standard_normal(few, dtype=np.float32) * np.float32(self.scale)
        return np.resize(block.astype(DTYPES[self.dtype]), self.shape)


@dataclasses.dataclass
class Row:
    title: str
    # inputs, constants, nodes, outputs: as in a graph file, but for what Value has more. `peers`: nodes of the same meaning, where
    # peers spell it in another way.
    graph: dict
    group: str = ""
    plot: list | None = None  # the name of what grows along the rows of this series, and how large it is
    moved: int | None = None  # bytes, where they are not those of all inputs, constants and outputs

    def __post_init__(self):
        self.inputs, self.constants = (
            {name: Value.parse(said) for name, said in self.graph.get(kind, {}).items()} for kind in ("inputs", "constants"))

    def name(self):
        """That of its graph: of the same text, the same."""
        digest = hashlib.sha1(json.dumps(self.graph, sort_keys=True).encode()).hexdigest()[:6]
        begin = "drawn " if self.title[0].isdigit() else ""
        return re.sub(r"\W+", "_", f"{begin}{self.title} {digest}").strip("_").lower()

    def described(self):
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def data(self):
        """Arrays by name, the same in every process."""
        values = self.inputs | self.constants
        seed = int(hashlib.sha1(self.title.encode()).hexdigest()[:8], 16)
        return {name: value.draw([seed, index]) for index, (name, value) in enumerate(values.items())}

    def text(self):
        """The graph as kgen reads it."""
        lines = [f"graph: {self.name()}", "inputs:"]
        lines += [f'  "{name}": "{value.type()}"' for name, value in self.inputs.items()]
        if self.constants:
            lines.append("constants:")
            lines += [f'  "{name}": {{type: "{value.type()}", file: weights.safetensors, key: "{name}"}}'
                      for name, value in self.constants.items()]
        lines.append("nodes:")
        for node in self.graph["nodes"]:
            own = {key: value for key, value in node.items() if key != "shared"}  # kgen sees that from the shapes
            lines.append("  - " + json.dumps(own))
        return "\n".join(lines) + f"\noutputs: {json.dumps(self.graph['outputs'])}\n"

    def kind(self):
        """memory, or matrix where it multiplies matrices."""
        matrix = {"matmul", "linear", "attention", "conv2d", "integer_matmul"}
        return "matrix" if any(node["op"] in matrix for node in self.graph["nodes"]) else "memory"

    def quantises(self):
        """Results are steps, to the next of which a number on an edge may be rounded."""
        return any(node["op"] == "quantize_linear" for node in self.graph["nodes"])

    def main_dtype(self):
        """Of the numbers that it works on: at whose rate operations count."""
        floats = [value.dtype for value in self.inputs.values() if value.dtype in ("f64", "f32", "f16", "bf16")]
        return floats[0] if floats else next(iter(self.inputs.values())).dtype


def expanded(entry):
    """The rows of an entry: one for each of its `each`, whose names stand behind $ in the entry."""
    pattern = string.Template(json.dumps({key: value for key, value in entry.items() if key != "each"}))
    for each in entry.get("each", [{}]):
        one = json.loads(pattern.substitute({key: str(value) for key, value in each.items()}))
        for node in one["nodes"] + one.get("peers", []):
            node |= {key: numbers(value) for key, value in node.items() if key not in ("op", "out")}
        graph = {key: one[key] for key in ("inputs", "constants", "nodes", "peers", "outputs") if key in one}
        graph["outputs"] = listed(graph["outputs"])
        moved = one.get("moved")
        plot = [one["plot"], each[one["plot"]]] if "plot" in one else None
        yield Row(one["row"], graph, one.get("group", ""), plot, moved and int(eval(str(moved), {"__builtins__": {}})))


def numbers(value):
    """What was substituted, as a number again; also where it is arithmetic."""
    if isinstance(value, list):
        return [numbers(each) for each in value]
    if isinstance(value, str) and re.fullmatch(r"[-(\d][-+*/() .\d]*", value):
        return eval(value, {"__builtins__": {}})
    return value


def all_rows():
    with open(FOLDER / "rows.yaml") as file:
        entries = yaml.safe_load(file)
    return [row for entry in entries for row in expanded(entry)]
