"""Draws models of one node each, in the form of ONNX's node tests: any version of any operator that drawn_nodes.py and
drawn_networks.py know, of any shape, attributes given or left to their defaults, inputs left out, known or given at run
time, sizes that are symbols, nodes of the model itself, of a branch or of a function. What is expected is what ONNX's
reference evaluator makes; of operators of ONNX Runtime's own, what that makes. Needs the package onnx, or both;
scripts/conformance takes the folder.
  draw_models.py FOLDER [--seed N] [--count N] [--match REGEX] [--onnxruntime]"""

import argparse
import random
import re
import shutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

NEWEST, OLDEST = onnx.defs.onnx_opset_version(), 7


@dataclass
class Input:
    """`known`: it says shapes or the like, so that the importer must know it. `batch`: axis 0 may be a symbol."""

    array: np.ndarray
    known: bool = False
    batch: bool = False
    weight: bool = False  # may be an initializer
    always: bool = False  # a weight in each case


@dataclass
class Node:
    op: str
    inputs: list[Input | None]
    attributes: dict = field(default_factory=dict)
    outputs: int = 1
    unused: tuple[int, ...] = ()  # outputs that are left out
    domain: str = ""


class Chance:
    """What is drawn from."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.numpy = np.random.default_rng(seed)

    def integer(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def one_of(self, items):
        return self.random.choice(list(items))

    def some(self, share: float = 0.5) -> bool:
        return self.random.random() < share

    def shape(self, rank: int, least: int = 1, most: int = 6) -> list[int]:
        return [self.integer(least, most) for _ in range(rank)]

    def axis(self, rank: int) -> int:
        """Counted from either end."""
        return self.integer(-rank, rank - 1)

    def axes(self, rank: int, least: int = 1) -> list[int]:
        chosen = self.random.sample(range(rank), self.integer(min(least, rank), rank))
        return [axis - rank if self.some(0.3) else axis for axis in chosen]

    def reals(self, *shape: int, dtype=np.float32, low: float = -4, high: float = 4) -> np.ndarray:
        """Multiples of 1/8, of which sums are exact."""
        return (self.numpy.integers(int(low * 8), int(high * 8) + 1, shape) / 8).astype(dtype)

    def positive(self, *shape: int, dtype=np.float32) -> np.ndarray:
        return self.reals(*shape, dtype=dtype, low=0.125, high=4)

    def integers(self, *shape: int, dtype=np.int64, low: int = -9, high: int = 9) -> np.ndarray:
        low = max(low, int(np.iinfo(dtype).min)) if dtype != np.bool_ else 0
        return self.numpy.integers(low, high + 1, shape).astype(dtype)

    def given(self, attributes: dict, name: str, value, default, share: float = 0.5):
        """The value, which stands among the attributes but where it is the default and may be left out."""
        chosen = value if self.some(share) else default
        if chosen != default or self.some(0.3):
            attributes[name] = chosen
        return chosen


def symbolic(chance: Chance, node: Node) -> dict[int, list]:
    """The declared shapes of the inputs that have symbols."""
    shapes = {}
    if chance.some(0.4):
        for i, each in enumerate(node.inputs):
            if each is not None and each.batch and each.array.ndim:
                shapes[i] = ["N", *each.array.shape[1:]]
    return shapes


Nodes = tuple[list[onnx.NodeProto], list[onnx.FunctionProto]]


def wrapped(chance: Chance, node: onnx.NodeProto, version: int) -> Nodes:
    """The node as it is, in a branch, or in a function of the model."""
    # ONNX Runtime fails on a function with what it has added to ONNX's own operators.
    takes_functions = version >= 15 and (node.domain != "" or onnx.defs.has(node.op_type))
    form = chance.one_of(["plain"] * 4 + ["branch"] + (["function"] if takes_functions else []))
    if form == "branch":
        infos = [helper.make_value_info(name, onnx.TypeProto()) for name in node.output if name]
        then = helper.make_graph([node], "then", [], infos)
        condition = helper.make_node("Constant", [], ["condition"], value=numpy_helper.from_array(np.array(True)))
        names = [f"outer_{name}" for name in node.output if name]
        branch = helper.make_node("If", ["condition"], names, then_branch=then, else_branch=then)
        kept = [helper.make_node("Identity", [outer], [info.name + "_out"]) for outer, info in zip(names, infos)]
        return [condition, branch, *kept], []
    if form == "function":
        inputs = [name for name in node.input if name]
        outputs = [name for name in node.output if name]
        opsets = [helper.make_opsetid("", version), *([helper.make_opsetid(node.domain, 1)] if node.domain else [])]
        function = helper.make_function("drawn", "Drawn", inputs, outputs, [node], opsets)
        call = helper.make_node("Drawn", inputs, [f"{name}_out" for name in outputs], domain="drawn")
        return [call], [function]
    renamed = onnx.NodeProto()
    renamed.CopyFrom(node)
    del renamed.output[:]
    renamed.output.extend(f"{name}_out" if name else "" for name in node.output)
    return [renamed], []


Given = list[tuple[str, np.ndarray]]


def model_of(chance: Chance, node: Node, version: int) -> tuple[onnx.ModelProto, Given]:
    """With outputs of no type, and what it is given when it runs."""
    names = [f"x{i}" if each is not None else "" for i, each in enumerate(node.inputs)]
    while names and not names[-1]:
        names.pop()
    results = ["" if i in node.unused else f"y{i}" for i in range(node.outputs)]
    nodes, functions = wrapped(chance, helper.make_node(node.op, names, results, domain=node.domain, **node.attributes), version)
    infos, weights, constants, given = [], [], [], []
    shapes = symbolic(chance, node)
    for i, each in enumerate(node.inputs):
        if each is None:
            continue
        tensor = numpy_helper.from_array(each.array, f"x{i}")
        where = chance.one_of(["weight", "constant", "input"]) if each.known else "input"
        if each.weight and (each.always or chance.some()):
            where = "weight"
        if where == "weight":
            weights.append(tensor)
        elif where == "constant":
            constants.append(helper.make_node("Constant", [], [f"x{i}"], value=tensor))
        else:
            infos.append(helper.make_tensor_value_info(f"x{i}", tensor.data_type, shapes.get(i, each.array.shape)))
            given.append((f"x{i}", each.array))
    outputs = [helper.make_value_info(f"{name}_out", onnx.TypeProto()) for name in results if name]
    graph = helper.make_graph([*constants, *nodes], "drawn", infos, outputs, weights)
    domains = [*(["drawn"] if functions else []), *([node.domain] if node.domain else [])]
    opsets = [helper.make_opsetid("", version), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, opset_imports=opsets, functions=functions), given


Evaluator = Callable[[onnx.ModelProto, dict[str, np.ndarray]], list[np.ndarray]]


def by_reference(model: onnx.ModelProto, values: dict[str, np.ndarray]) -> list[np.ndarray]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return ReferenceEvaluator(model).run(None, values)


def write(folder: Path, model: onnx.ModelProto, given: Given, evaluate: Evaluator) -> None:
    """The model beside its inputs, and the outputs that the evaluator makes of them."""
    results = evaluate(model, dict(given))
    expected = [(info.name, np.asarray(each)) for info, each in zip(model.graph.output, results)]
    del model.graph.output[:]
    for name, array in expected:
        code = helper.np_dtype_to_tensor_dtype(array.dtype)
        model.graph.output.append(helper.make_tensor_value_info(name, code, array.shape))
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for kind, tensors in (("input", given), ("output", expected)):
        for i, (name, array) in enumerate(tensors):
            (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(array, name).SerializeToString())


def versions_of(op: str) -> list[int]:
    """The first version of each form of the operator, and the newest one."""
    since = {each.since_version for each in onnx.defs.get_all_schemas_with_history()
             if each.name == op and not each.domain and not each.deprecated}
    return sorted({max(OLDEST, version) for version in since})


def until(op: str, since: int) -> int:
    """The first version that has another form of the operator, or none."""
    later = [each.since_version for each in onnx.defs.get_all_schemas_with_history()
             if each.name == op and not each.domain and each.since_version > since]
    return min([*later, NEWEST + 1])


Drawer = Callable[[Chance, str, int], Node]


def draw_onnx(chance: Chance, match: str, number: int) -> tuple[Node, int]:
    """A node of one of ONNX's operators, and the version of the operator set: each operator once, and then any."""
    import drawn_networks
    import drawn_nodes

    drawers = drawn_nodes.DRAWERS | drawn_networks.DRAWERS
    operators = [op for op in sorted(drawers) if re.search(match, op) and versions_of(op)]
    op = operators[number] if number < len(operators) else chance.one_of(operators)
    since = chance.one_of(versions_of(op))
    version = chance.integer(since, until(op, since) - 1)
    return drawers[op](chance, op, version), version


def draw_onnxruntime(chance: Chance, match: str, number: int) -> tuple[Node, int]:
    """The same of ONNX Runtime's operators, which have one version, beside any of ONNX's that it can have."""
    import drawn_onnxruntime as own

    operators = [op for op in sorted(own.DRAWERS) if re.search(match, op)]
    op = operators[number] if number < len(operators) else chance.one_of(operators)
    version = chance.integer(15, 21)
    node = own.DRAWERS[op](chance, op, version)
    node.domain = "" if op in own.OF_ONNX else own.DOMAIN
    return node, version


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--match", default="", help="a regular expression that the operators' names match")
    parser.add_argument("--onnxruntime", action="store_true", help="operators of ONNX Runtime's own, computed by it")
    options = parser.parse_args()
    draw, evaluate = draw_onnx, by_reference
    if options.onnxruntime:
        from drawn_onnxruntime import evaluate

        draw = draw_onnxruntime
    shutil.rmtree(options.folder, ignore_errors=True)
    refused: dict[str, str] = {}
    for number in range(options.count):
        chance = Chance(options.seed * 1_000_003 + number)
        node, version = draw(chance, options.match, number)
        folder = options.folder / f"drawn_{options.seed}_{number}_{node.op}_{version}"
        try:
            write(folder, *model_of(chance, node, version), evaluate)
        except Exception as error:  # evaluators have limits, and bugs, of their own
            shutil.rmtree(folder, ignore_errors=True)
            refused[f"{node.op} {version}"] = f"{type(error).__name__}: {error}".splitlines()[0]
    for name, why in sorted(refused.items()):
        print(f"not evaluated: {name}: {why[:140]}")
    print(f"{len(list(options.folder.iterdir()))} models in {options.folder}")


if __name__ == "__main__":
    main()
