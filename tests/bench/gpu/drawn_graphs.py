"""Matrix products of random layouts and types, with up to four operators before and behind them, as graphs:

    drawn_graphs.py FOLDER SEED [COUNT]     writes those of a seed, which scripts/gpu_bundle plans

Extents are dims, so that many rows share a graph: nvcc takes most of a minute for each. Only weights of 4 bits are constants,
which have their shape here. What PyTorch computes is text as well, of the same nodes (cpu/operators.py)."""

import argparse
import json
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "cpu"))
from operators import expression

COUNT = 16  # graphs of a seed
MOST = 4  # operators beside the product, but for what reads operands as wider ones and rounds the result
UNARY = ["relu", "silu", "gelu", "gelu_tanh", "tanh", "sigmoid", "abs"]
LEFT = {"M": "1..65536", "N": "1..65536", "K": "1..65536"}


@dataclass
class Graph:
    name: str
    form: str  # of the product
    dtype: str  # that it is worked out in, and the result's: bf16 or f16
    dims: dict[str, str] = field(default_factory=lambda: dict(LEFT))
    # dtype; extents, of which each is a dim or a number; what numbers there are: normal ones times that, or "positive"
    inputs: dict[str, tuple] = field(default_factory=dict)
    constants: dict[str, tuple] = field(default_factory=dict)
    nodes: list[dict] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)  # of PyTorch
    said: list[str] = field(default_factory=list)
    behind: str = "f32"  # the type of what follows the product
    rounded: bool = False  # an operand, ahead of the product
    value: str = ""

    def add(self, op, operands, torch=None, **attributes):
        """`torch`: what PyTorch has instead of the node; nothing where it is empty."""
        node = {"op": op, "in": operands, "out": f"v{len(self.nodes)}"} | attributes
        self.nodes.append(node)
        if torch is None:
            torch = f"cast({operands}, {node['to']!r})" if op == "cast" else expression(node, "torch")
        if torch:
            self.lines.append(f"{node['out']} = {torch}")
        self.value = node["out"]
        return self.value

    def operand(self, dtype, shape, numbers=1.0, constant=False):
        held = self.constants if constant else self.inputs
        name = f"{'c' if constant else 'i'}{len(held)}"
        held[name] = (dtype, shape, numbers)
        return name

    def operands(self):
        return self.inputs | self.constants

    def text(self):
        """As kgen reads it."""
        def typed(name):
            dtype, shape, _ = self.operands()[name]
            return f"{dtype}[{', '.join(map(str, shape))}]"

        lines = [f"graph: {self.name}", f"dims: {{{', '.join(f'{name}: {span}' for name, span in self.dims.items())}}}",
                 "inputs:", *(f'  {name}: "{typed(name)}"' for name in self.inputs)]
        if self.constants:
            lines += ["constants:", *(f'  {name}: {{type: "{typed(name)}", file: weights.safetensors, key: {name}}}'
                                      for name in self.constants)]
        lines += ["nodes:", *(f"  - {json.dumps(node)}" for node in self.nodes), f"outputs: [{self.value}]"]
        return "\n".join(lines) + "\n"

    def source(self):
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"def compute({', '.join(self.operands())}):\n{body}    return ({self.value},)\n"


# ---- forms of products -----------------------------------------------------------------------------------------------


def left_of(graph, draw, most):
    """The left operand, behind up to `most` operators."""
    turned = draw.random() < 0.2
    stored = draw.choice([graph.dtype] * 3 + ["f32", "i8"])
    x = graph.operand(stored, ["K", "M"] if turned else ["M", "K"], 0.1)
    if turned:
        x = graph.add("transpose", x, perm=[1, 0])
        graph.said.append("x [K, M]")
    if stored != graph.dtype:
        x = graph.add("cast", x, to=graph.dtype)
        graph.said.append(f"x {stored}")
    for _ in range(draw.choice([0, 0, 0, 1, 1, 2]) if most else 0):
        op = draw.choice(["rms_norm", "mul", draw.choice(UNARY)])
        graph.said.append(f"{op} of x")
        if op == "rms_norm":
            x = graph.add(op, [x, graph.operand(graph.dtype, ["K"])], epsilon=1e-6)
        elif op == "mul":
            x = graph.add(op, [x, graph.operand(graph.dtype, draw.choice([["K"], ["M", 1]]))])
        else:
            x = graph.add(op, x)
        graph.rounded = True
    return x


def floats(graph, draw):
    """Of bf16 or f16; the left operand may be stored as f32 or i8, weights as f8, with a scale for each column."""
    graph.behind = graph.dtype
    x = left_of(graph, draw, 2)
    if draw.random() < 0.15:
        q, scale = graph.operand("f8e4m3", ["N", "K"]), graph.operand(graph.dtype, ["N", 1], 0.1)
        w = graph.add("mul", [graph.add("cast", q, to=graph.dtype), scale])
        w = graph.add("transpose", w, perm=[1, 0])
        graph.said.append("w f8e4m3 [N, K]")
        graph.rounded = True
    elif draw.random() < 0.5:
        w = graph.add("transpose", graph.operand(graph.dtype, ["N", "K"], 0.1), perm=[1, 0])
        graph.said.append("w [N, K]")
    else:
        w = graph.operand(graph.dtype, ["K", "N"], 0.1)
    graph.add("matmul", [x, w])


def scaled(graph, inputs, wide, torch):
    """Of 8 bits with a scale for each row of either operand, whose sums are of the type `wide`."""
    x, w, x_scale, w_scale = inputs
    left = graph.add("cast", x, "", to=wide)
    right = graph.add("cast", graph.add("transpose", w, "", perm=[1, 0]), "", to=wide)
    sums = graph.add("matmul", [left, right], "")
    sums = sums if wide == "f32" else graph.add("cast", sums, "", to="f32")
    graph.add("mul", [graph.add("mul", [sums, x_scale], ""), w_scale], f"{torch}({', '.join(inputs)})[0]")
    graph.rounded = True  # by PyTorch, to bf16 before what follows


def f8_rows(graph, draw):
    types = [("f8e4m3", ["M", "K"]), ("f8e4m3", ["N", "K"]), ("f32", ["M", 1], "positive"), ("f32", ["N"], "positive")]
    scaled(graph, [graph.operand(*each) for each in types], "f32", "f8_row_scales")


def i8_rows(graph, draw):
    types = [("i8", ["M", "K"]), ("i8", ["N", "K"]), ("f32", ["M", 1], "positive"), ("f32", ["N"], "positive")]
    scaled(graph, [graph.operand(*each) for each in types], "i32", "int8_row_scales")


def f8_blocks(graph, draw):
    """With a scale for each 128 of a row of x, and for each 128 x 128 of w."""
    graph.dims = {"M": "1..65536", "G": "1..512", "H": "1..512"}
    inputs = [graph.operand(*each) for each in [("f8e4m3", ["M", "128*G"]), ("f8e4m3", ["128*H", "128*G"]),
                                                ("f32", ["M", "G"], "positive"), ("f32", ["H", "G"], "positive")]]
    x, w, x_scale, w_scale = inputs
    left = graph.add("dequantize_blocks", [x, x_scale], "")
    right = graph.add("transpose", graph.add("dequantize_blocks", [w, w_scale], "", rows=128), "", perm=[1, 0])
    graph.add("matmul", [left, right], f"f8_block_scales({', '.join(inputs)})[0]")
    graph.rounded = True


def int4(graph, draw):
    """By weights [N, K] of 4 bits with a scale for each 128 of the depth, mostly for few rows."""
    graph.behind = graph.dtype = "bf16"  # as PyTorch's own
    columns, blocks = 8 * draw.randint(32, 2048), draw.randint(4, 112)
    graph.dims = {"M": draw.choice(["1..16", "1..64", "1..65536"])}
    x = graph.operand("bf16", ["M", 128 * blocks], 0.1)
    q = graph.operand("i4", [columns, blocks, 128], constant=True)
    scale = graph.operand("bf16", [columns, blocks, 1], "positive", constant=True)
    lines = graph.add("reshape", graph.add("dequantize_linear", [q, scale], ""), "", shape=[columns, 128 * blocks])
    graph.add("matmul", [x, graph.add("transpose", lines, "", perm=[1, 0])], f"int4_product({x}, {q}, {scale})")
    graph.rounded = True


FORMS = {"floats": floats, "f8_rows": f8_rows, "i8_rows": i8_rows, "f8_blocks": f8_blocks, "int4": int4}
LIKELY = ["floats"] * 5 + ["f8_rows", "f8_blocks", "int4", "i8_rows"]


# ---- what follows ----------------------------------------------------------------------------------------------------


def epilogue(graph, draw, count):
    columns = {"f8_blocks": "128*H", "int4": None}.get(graph.form, "N") or graph.constants["c0"][1][0]
    for _ in range(count):
        op = draw.choice(["add", "mul", "number", *["unary"] * 3])
        if op == "unary":
            op = draw.choice(UNARY)
            graph.add(op, graph.value)
        elif op == "number":
            op = "mul"
            graph.add(op, [graph.value, round(draw.uniform(0.25, 2), 2)])
        else:
            value, shape = graph.value, draw.choice([[columns], [columns], ["M", 1], ["M", columns], ["M", columns]])
            other = graph.operand(graph.dtype, shape)
            if graph.behind != graph.dtype:
                other = graph.add("cast", other, to=graph.behind)
            graph.add(op, [value, other])
            op += {1: " row", 2: " column" if shape[-1] == 1 else " matrix"}[len(shape)]
        graph.said.append(op)
    if graph.behind != graph.dtype:
        graph.add("cast", graph.value, to=graph.dtype)


def drawn_graphs(seed, count=COUNT):
    """Graph i of a seed is the same however many are drawn."""
    for index in range(count):
        draw = random.Random(f"{seed}.{index}")
        form = draw.choice(LIKELY)
        dtype = draw.choice(["bf16", "bf16", "f16"]) if form == "floats" else "bf16"
        graph = Graph(f"drawn_{seed}_{index}_{form}", form, dtype)
        FORMS[form](graph, draw)
        before = sum(said.endswith(" of x") for said in graph.said)
        epilogue(graph, draw, draw.randint(0, MOST - before))
        yield graph


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int, nargs="?", default=COUNT)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for graph in drawn_graphs(options.seed, options.count):
        (options.folder / f"{graph.name}.yaml").write_text(graph.text())


if __name__ == "__main__":
    main()
