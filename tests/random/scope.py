"""Where a body is drawn: its values, and what a node that is drawn may take as operands."""

from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np

import number_formats
from dims import Dim, Shape, count_of
from graph import Body, Constant, Graph, Input, Node, Requirement, State, Type
from specs import Operator

MOST_ELEMENTS = 60_000  # of one value, at the greatest sizes
EXTENTS = [1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 33]
DTYPE_WEIGHTS = {"f32": 12, "f64": 2, "f16": 3, "bf16": 4, "f8e4m3": 1, "f8e5m2": 1, "f8e4m3fnuz": 1, "f8e5m2fnuz": 1, "i8": 1, "i16": 1, "i32": 2,
                 "i64": 1, "u8": 1, "u16": 1, "u32": 1, "u64": 1, "bool": 2}


class NotPossible(Exception):
    """This node cannot be drawn here; another may."""


def broadcast(a: Shape, b: Shape) -> Shape | None:
    rank = max(len(a), len(b))
    result = []
    for x, y in zip((Dim.of(1),) * (rank - len(a)) + a, (Dim.of(1),) * (rank - len(b)) + b):
        if x != y and x != 1 and y != 1:
            return None
        result.append(x if y == 1 else y)
    return tuple(result)


@dataclass
class Scope:
    rng: np.random.Generator
    graph: Graph
    body: Body
    operators: dict[str, Operator]
    names: set[str]  # of the whole graph
    values: list[str] = field(default_factory=list)  # what a node may read

    # ---- chance

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def one_of(self, items) -> Any:
        items = list(items)
        if not items:
            raise NotPossible
        return items[int(self.rng.integers(len(items)))]

    def integer(self, low: int, high: int) -> int:
        """From low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def dtype(self, allowed: list[str]) -> str:
        weights = np.array([DTYPE_WEIGHTS[each] for each in allowed], float)
        return allowed[int(self.rng.choice(len(allowed), p=weights / weights.sum()))]

    # ---- sizes

    def extent(self) -> Dim:
        if self.graph.symbols and self.chance(0.5):
            symbol = Dim.symbol(self.one_of(name for name, each in self.graph.symbols.items() if not each.source))
            return symbol * self.integer(2, 4) + self.integer(0, 3) if self.chance(0.1) else symbol
        return Dim.of(self.one_of(EXTENTS))

    def shape(self, rank: int) -> Shape:
        for _ in range(20):
            shape = tuple(self.extent() for _ in range(rank))
            if self.most(count_of(shape)) <= MOST_ELEMENTS:
                return shape
        raise NotPossible

    def most(self, size: Dim) -> int:
        return size.at({name: each.high for name, each in self.graph.symbols.items()})

    def least(self, size: Dim) -> int:
        """A lower bound: every symbol at its least where it adds, at its greatest where it subtracts."""
        total = 0
        for factors, count in size.terms.items():
            for name in factors:
                count *= self.graph.symbols[name].low if count > 0 else self.graph.symbols[name].high
            total += count
        return total

    def require(self, least: Dim | int, most: Dim | int) -> None:
        """That least <= most: a condition on the sizes, unless it always holds."""
        least, most = Dim.of(least), Dim.of(most)
        if self.least(most - least) >= 0:
            return
        if self.most(most - least) < 0 or (most - least).constant is not None:
            raise NotPossible
        self.body.requirements.append(Requirement(least, most))

    # ---- values

    def type_of(self, name: str) -> Type:
        return self.body.types[name]

    def new_name(self, prefix: str) -> str:
        number = len(self.names)
        while (name := f"{prefix}{number}") in self.names:
            number += 1
        self.names.add(name)
        return name

    def pick(self, dtypes: list[str], fits: Callable[[Shape], bool] = lambda shape: True) -> str:
        """A value that there is; later ones rather."""
        found = [name for name in self.values if self.type_of(name).dtype in dtypes and fits(self.type_of(name).shape)]
        if not found:
            raise NotPossible
        weights = 1.25 ** np.arange(len(found))
        return found[int(self.rng.choice(len(found), p=weights / weights.sum()))]

    def pick_or_make(self, dtypes: list[str], ranks: list[int]) -> str:
        try:
            if self.chance(0.9):
                return self.pick(dtypes, lambda shape: len(shape) in ranks)
        except NotPossible:
            pass
        if self.chance(0.4):  # what is there, but of another dtype
            try:
                other = self.pick(number_formats.ALL, lambda shape: len(shape) in ranks)
                return self.converted(other, self.dtype(dtypes))
            except NotPossible:
                pass
        return self.fresh(Type(self.dtype(dtypes), self.shape(self.one_of(ranks))))

    def need(self, wanted: Type) -> str:
        """A value of exactly this type."""
        exact = [name for name in self.values if self.type_of(name) == wanted]
        if exact and self.chance(0.7):
            return self.one_of(exact)
        others = [name for name in self.values if self.type_of(name).shape == wanted.shape]
        if others and self.chance(0.2):
            return self.converted(self.one_of(others), wanted.dtype)
        return self.fresh(wanted)

    def converted(self, name: str, dtype: str) -> str:
        source = self.type_of(name)
        if source.dtype == dtype:
            return name
        if source.dtype in number_formats.FLOATS and dtype in number_formats.INTEGERS and self.chance(0.9):
            low = 0.0 if dtype[0] == "u" else -100.0
            name = self.add_node("clamp", [name], [source], {"minimum": low, "maximum": 100.0})[0]
        return self.add_node("cast", [name], [Type(dtype, source.shape)], {"to": dtype})[0]

    def fresh(self, wanted: Type, extent: Dim | None = None) -> str:
        """A new input, or a constant; for indices `extent` is the size that they count in."""
        if self.most(count_of(wanted.shape)) > MOST_ELEMENTS:
            raise NotPossible
        count = count_of(wanted.shape).constant
        if extent is None and count is not None and self.chance(0.25 if count <= 64 else 0.1):
            return self.fresh_constant(wanted, count)
        name = self.new_name("x")
        self.body.inputs[name] = Input(wanted, strided=self.chance(0.25), extent_of=extent)
        return self.made(name, wanted)

    def fresh_constant(self, wanted: Type, count: int) -> str:
        name = self.new_name("c")
        self.body.constants[name] = constant = Constant(wanted)
        self.give(constant, name, count)
        return self.made(name, wanted)

    def give(self, constant: Constant, name: str, count: int) -> None:
        """Elements."""
        if count > 12 or self.chance(0.3):
            of_each_call = self.body is not self.graph.main and self.chance(0.8)
            constant.key = name + (".{index}" if of_each_call else "")
        elif count == 0:
            raise NotPossible
        else:
            values = [self.element(constant.type.dtype) for _ in range(1 if self.chance(0.3) else count)]
            constant.values = values[0] if len(values) == 1 else values

    def element(self, dtype: str) -> Any:
        """A number that the dtype holds exactly."""
        if dtype == "bool":
            return self.chance(0.5)
        if dtype in number_formats.FLOATS:
            return self.one_of([-2.0, -1.5, -1.0, -0.5, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0])
        return self.integer(0 if dtype[0] == "u" else -5, 7)

    def made(self, name: str, type_: Type) -> str:
        self.body.types[name] = type_
        self.values.append(name)
        return name

    def add_node(self, op: str, inputs: list[Any], results: list[Type], attributes: dict[str, Any] | None = None,
                 **more: Any) -> list[str]:
        for each in results:
            if self.most(count_of(each.shape)) > MOST_ELEMENTS:
                raise NotPossible
        names = [self.new_name("v") for _ in results]
        self.body.nodes.append(Node(op, inputs, names, attributes or {}, **more))
        return [self.made(name, each) for name, each in zip(names, results)]

    def add_state(self, type_: Type) -> str:
        name = self.new_name("s")
        self.body.states[name] = state = State(type_)
        count = count_of(type_.shape).constant
        if count and self.chance(0.4):
            self.give(state, name, count)
        elif count is None and self.chance(0.4):
            state.values = self.element(type_.dtype)
        self.body.types[name] = type_
        return name

    def checkpoint(self) -> Callable[[], None]:
        """Undoes what is drawn from here on."""
        body, kept = self.body, (len(self.body.nodes), len(self.body.requirements), len(self.values))
        sections = [body.inputs, body.constants, body.states, body.types]
        copies = [dict(each) for each in sections]

        def undo() -> None:
            del body.nodes[kept[0]:], body.requirements[kept[1]:], self.values[kept[2]:]
            for section, copy in zip(sections, copies):
                section.clear()
                section.update(copy)

        return undo
