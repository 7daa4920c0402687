"""The operators as specs/ops/*.yaml gives them: what draw.py draws from, so that a new operator is drawn too."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import number_formats


@dataclass
class Operand:
    """`pattern`: its axes, "..." among them, or None where it broadcasts."""

    name: str
    type: str
    pattern: list[str] | None = None
    optional: bool = False
    variadic: bool = False
    line: str = ""


@dataclass
class Operator:
    name: str
    kind: str
    form: str  # of a view
    types: dict[str, list[str]]
    operands: list[Operand]
    results: list[Operand]
    attributes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def dtypes_of(self, type_name: str) -> list[str]:
        """Those that a type variable, or a dtype by its name, stands for."""
        return self.types.get(type_name, [type_name])


def operand_of(name: str, entry: Any) -> Operand:
    if isinstance(entry, str):
        entry = {"type": entry}
    pattern = entry.get("shape")
    axes = None if pattern is None else [axis.strip() for axis in pattern.strip("[]").split(",") if axis.strip()]
    return Operand(name, entry["type"], axes, entry.get("optional", False), entry.get("variadic", False),
                   entry.get("line", ""))


# Whose references know no integers: own_models.py and operator_models.py of tests/conformance have these.
FLOATS_ALONE = {"matmul", "conv1d", "conv2d", "conv3d", "conv1d_ncl", "conv2d_nchw", "conv3d_ncdhw"}


# What expansions and spellings make: graphs have the operators of which these are parts, or that spell them.
WITHIN_OTHERS = {"pack_filter_bytes", "packed_integer_conv2d", "quantized_matmul", "quantized_linear",
                 "quantized_conv2d_nchw"}


def operator_of(entry: dict[str, Any]) -> Operator:
    types = {name: number_formats.dtypes_of_class(one) if isinstance(one, str) else [each for each in one if each in number_formats.ALL]
             for name, one in entry.get("types", {}).items()}
    if entry["op"] in FLOATS_ALONE:
        types["T"] = [each for each in types["T"] if each in number_formats.dtypes_of_class("float")]
    return Operator(
        name=entry["op"],
        kind=entry["kind"],
        form=entry.get("view", {}).get("form", ""),
        types=types,
        operands=[operand_of(name, each) for name, each in entry.get("operands", {}).items()],
        results=[operand_of(name, each) for name, each in entry["results"].items()],
        attributes=entry.get("attributes", {}),
    )


def load(folder: Path) -> dict[str, Operator]:
    """All but what is made when a model is loaded, or stands within others."""
    import yaml  # only here: a bundle's graphs have been drawn

    entries = [entry for path in sorted(folder.glob("*.yaml")) for entry in yaml.safe_load(path.read_text())["ops"]]
    within = {node["op"] for entry in entries for form in entry.get("prepared", []) for node in form["nodes"]}
    made = {entry["op"] for entry in entries if entry["op"] in within and entry["kind"] == "structured"}
    return {entry["op"]: operator_of(entry) for entry in entries if entry["op"] not in made | WITHIN_OTHERS}
