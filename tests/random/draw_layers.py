"""Draws recurrent layers, tensors at other sizes or read at positions, rows and boxes."""

from collections.abc import Callable
from typing import Any

from dims import Dim, Shape
from graph import Type
from scope import Scope
from specs import Operator

COORDINATES = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]


def recurrent(gates: int, states: int) -> Callable[[Scope, Operator], None]:
    """Short ones: bounds grow step by step."""

    def draw(scope: Scope, op: Operator) -> None:
        steps, batch, units = Dim.of(scope.integer(1, 5)), scope.extent(), Dim.of(scope.integer(1, 9))
        dtype = scope.dtype(op.types["T"])
        x = scope.need(Type(dtype, (steps, batch, *([Dim.of(gates)] if gates > 1 else []), units)))
        inputs = [x, scope.need(Type(dtype, (*([Dim.of(gates)] if gates > 1 else []), units, units)))]
        if gates == 3:
            inputs.append(scope.need(Type(dtype, (units,))))
        inputs += [scope.need(Type(dtype, (batch, units))) for _ in range(states)]
        if scope.chance(0.5):
            inputs.append(scope.fresh(Type(scope.dtype(op.types["I"]), (batch,)), extent=steps + 1))
            if gates == 4 and scope.chance(0.5):
                inputs.append(scope.need(Type(dtype, (Dim.of(3), units))))
        attributes: dict[str, Any] = {}
        for name in ("activation", "gate_activation", "output_activation"):
            if name in op.attributes and scope.chance(0.3):
                attributes[name] = scope.one_of(["sigmoid", "tanh", "relu"])
        for name in ("reverse", "linear_before_reset", "input_forget"):
            if name in op.attributes and scope.chance(0.5):
                attributes[name] = scope.chance(0.6)
        if scope.chance(0.3):
            attributes["clip"] = 1.5
        results = [Type(dtype, (steps, batch, units)), *[Type(dtype, (batch, units))] * states]
        scope.add_node(op.name, inputs, results, attributes)

    return draw


def linear_attention(scope: Scope, op: Operator) -> None:
    """Few steps: bounds grow step by step."""
    batch, steps, heads, sharing = scope.extent(), *(Dim.of(scope.integer(1, most)) for most in (3, 3, 2))
    keys, values = Dim.of(scope.integer(1, 9)), Dim.of(scope.integer(1, 40))
    dtype = scope.dtype(op.types["T"])
    inputs = [
        scope.need(Type(scope.dtype(op.types[name]), (batch, steps, count, width)))
        for name, count, width in (("Q", heads * sharing, keys), ("K", heads, keys), ("V", heads, values))
    ]
    states = Type(dtype, (batch, heads, keys, values))
    inputs += [scope.need(states), scope.need(Type(dtype, (batch, steps, heads, keys)))]
    if scope.chance(0.5):
        inputs.append(scope.need(Type(dtype, (batch, steps, heads))))
    attributes: dict[str, Any] = {"scale": 0.5} if scope.chance(0.4) else {}
    scope.add_node(op.name, inputs, [Type(dtype, (batch, steps, heads * sharing, values)), states], attributes)


def resize(scope: Scope, op: Operator) -> None:
    rank = scope.integer(1, 4)
    x = scope.need(Type(scope.dtype(op.types["T"]), scope.shape(rank)))
    type_ = scope.type_of(x)
    sizes = [extent if scope.chance(0.4) else scope.extent() + scope.one_of([0, 0, 1, 5]) for extent in type_.shape]
    for extent in type_.shape:
        scope.require(1, extent)
    attributes: dict[str, Any] = {"sizes": sizes, "coordinates": scope.one_of(COORDINATES)}
    if "rounding" in op.attributes and scope.chance(0.6):
        attributes["rounding"] = scope.one_of(op.attributes["rounding"]["allowed"])
    for name in ("antialias", "exclude_outside"):
        if name in op.attributes and scope.chance(0.4):
            attributes[name] = True
    if "coefficient" in op.attributes and scope.chance(0.3):
        attributes["coefficient"] = -0.5
    scope.add_node(op.name, [x], [Type(type_.dtype, tuple(sizes))], attributes)


def grid_sample(axes: int) -> Callable[[Scope, Operator], None]:
    def draw(scope: Scope, op: Operator) -> None:
        x = scope.need(Type(scope.dtype(op.types["T"]), (scope.extent(), Dim.of(scope.integer(1, 3)), *scope.shape(axes))))
        type_ = scope.type_of(x)
        places = scope.shape(axes)
        grid = scope.fresh(Type(scope.dtype(op.types["P"]), (type_.shape[0], *places, Dim.of(axes))))
        attributes: dict[str, Any] = {name: scope.one_of(op.attributes[name]["allowed"]) for name in ("mode", "padding")}
        attributes["align_corners"] = scope.chance(0.5)
        if scope.chance(0.3):
            attributes["unit"] = "elements"
        scope.add_node(op.name, [x, grid], [Type(type_.dtype, (*type_.shape[:2], *places))], attributes)

    return draw


def random_numbers(scope: Scope, op: Operator) -> None:
    x = scope.pick_or_make(op.types["T"], [0, 1, 2, 3])
    inputs = [x, scope.need(Type("i64", ()))] if scope.chance(0.4) else [x]
    attributes = {"seed": scope.integer(-2**40, 2**40)} if scope.chance(0.8) else {}
    scope.add_node(op.name, inputs, [scope.type_of(x)], attributes)


# ---- rows and boxes --------------------------------------------------------------------------------------------------


def length_of(scope: Scope, op: Operator) -> None:
    x = scope.pick_or_make(op.types["T"], [1])
    scope.add_node(op.name, [x], [Type("i64", ())])


def rows(scope: Scope, op: Operator) -> None:
    x = scope.need(Type(scope.dtype(op.types["T"]), (scope.extent(), Dim.of(scope.integer(1, 3)))))
    shape = scope.type_of(x).shape
    line = Type("i64", shape[:1])
    results = {"argsort_rows": [line], "run_starts": [Type("bool", shape[:1])],
               "sorted_unique_rows": [scope.type_of(x), line, line, line, Type("i64", ())]}
    scope.add_node(op.name, [x], results[op.name])


def counted_lines(scope: Scope, op: Operator) -> None:
    """Of places that are in x, some or all of them."""
    x = scope.pick_or_make(op.types["T"], [1, 2, 3])
    type_ = scope.type_of(x)
    axis = scope.integer(0, len(type_.shape) - 1)
    count, fewer = type_.shape[axis], scope.integer(0, 1)
    scope.require(fewer, count)
    (places,) = scope.add_node("iota", [], [Type("i64", (count,))], {"count": count})
    (number,) = scope.add_node("dim_value", [], [Type("i64", ())], {"dim": count - fewer})
    scope.add_node(op.name, [x, places, number], [type_], {"axis": axis})


def boxes(scope: Scope, op: Operator) -> None:
    batches, classes, count = Dim.of(scope.integer(1, 2)), Dim.of(scope.integer(1, 3)), scope.extent()
    dtype, most = scope.dtype(op.types["T"]), scope.integer(0, 5)
    corners = scope.fresh(Type(dtype, (batches, count, Dim.of(4))))
    scores = scope.fresh(Type(dtype, (batches, classes, count)))
    attributes: dict[str, Any] = {"most": Dim.of(most), "iou_threshold": scope.one_of([0.1, 0.37, 0.61]),
                                  "center_point_box": scope.chance(0.3)}
    if scope.chance(0.5):
        attributes["score_threshold"] = 0.25
    if op.name == "non_max_suppression":
        size: Shape = (batches * classes * most, Dim.of(3))
        scope.add_node(op.name, [corners, scores], [Type("i64", size), Type("i64", ())], attributes)
        return
    order_type = Type("i64", (batches, classes, count))
    (order,) = scope.add_node("argsort", [scores], [order_type], {"axis": -1, "descending": True})
    scope.add_node(op.name, [corners, scores, order], [Type("i64", (batches, classes, Dim.of(most)))], attributes)


HINTS: dict[str, Callable[[Scope, Operator], None]] = {
    "rnn": recurrent(1, 1),
    "gru": recurrent(3, 1),
    "lstm": recurrent(4, 2),
    "linear_attention": linear_attention,
    "resize_nearest": resize,
    "resize_linear": resize,
    "resize_cubic": resize,
    "grid_sample2d": grid_sample(2),
    "grid_sample3d": grid_sample(3),
    "random_uniform": random_numbers,
    "random_normal": random_numbers,
    "length_of": length_of,
    "argsort_rows": rows,
    "run_starts": rows,
    "sorted_unique_rows": rows,
    "counted_lines": counted_lines,
    "greedy_suppression": boxes,
    "non_max_suppression": boxes,
}
