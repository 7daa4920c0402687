"""What recurrent layers, random numbers and the choice of boxes compute of values that are known within
bounds."""

from typing import Any

import numpy as np

import references
from enclosure import Exact, Floats, Value, anything, exactly, is_finite
from references import ADD, MUL, SIGMOID, SUB, number, one
from rules import Rule, bilinear, widened, with_roundings
from selections import certain, known, unique_rows

TANH, RELU, CLAMP = (references.OPERATORS[name] for name in ("tanh", "relu", "clamp"))

# ---- recurrent layers ------------------------------------------------------------------------------------------------

ACTIVATIONS = {"sigmoid": SIGMOID, "tanh": TANH, "relu": RELU}
Cell = Any  # cell(what the inputs give the gates [gates, H], states [H] each) -> the states after a step


def walk(x: Floats, states: list[Floats], lengths: list[Value], reverse: bool, cell: Cell) -> list[Value]:
    """x: [S, B, gates, H]."""
    steps, sequences, _, units = x.shape
    y = [np.zeros((steps, sequences, units), part.dtype) for part in x.parts()]
    last = [state.map(np.copy) for state in states]
    for b in range(sequences):
        length = int(np.clip(lengths[0].value[b], 0, steps)) if lengths else steps
        now = [state.map(lambda part: part[b]) for state in states]  # noqa: B023
        for t in reversed(range(length)) if reverse else range(length):
            now = cell(x.map(lambda part: part[t, b]), now)  # noqa: B023
            for whole, part in zip(y, now[0].parts()):
                whole[t, b] = part
        for state, each in zip(last, now):
            for whole, part in zip(state.parts(), each.parts()):
                whole[b] = part
    return [Floats(x.dtype, *y), *last]


def recurrent(make_cell: Any, gates: int, states: int) -> Rule:
    def rule(operands: list[Value], at: dict[str, Any]) -> list[Value]:
        x, r, *others = operands
        bias = [others.pop(0)] if gates == 3 else []
        begins, others = others[:states], others[states:]
        lengths, others = [each for each in others if isinstance(each, Exact)], [each for each in others if isinstance(each, Floats)]
        wide = x if gates > 1 else x.map(lambda part: part[:, :, None])
        if not all(is_finite(each).all() for each in (x, r, *begins, *bias, *others)) or any(each.unknown.any() for each in lengths):
            shape = (*x.shape[:2], x.shape[-1])
            return [anything(x.dtype, shape), *(anything(x.dtype, shape[1:]) for _ in range(states))]
        return walk(wide, begins, lengths, at["reverse"], make_cell(r, bias + others, at))

    return rule


def gate(of: Floats, number_: int) -> Floats:
    return of.map(lambda part: part[number_])


def through(h: Floats, r: Floats) -> Floats:
    """h r, with some roundings more: kernels sum in orders of their own."""
    return bilinear(lambda a, b, _: a @ b, h, r, {})


def bounded(x: Floats, at: dict[str, Any]) -> Floats:
    return one(CLAMP, x, minimum=-at["clip"], maximum=at["clip"]) if at["clip"] > 0 else x


def activated(name: str, x: Floats, at: dict[str, Any]) -> Floats:
    return one(ACTIVATIONS[at[name]], bounded(x, at))


def rnn_cell(r: Floats, more: list[Floats], at: dict[str, Any]) -> Cell:
    return lambda x, now: [activated("activation", one(ADD, gate(x, 0), through(now[0], r)), at)]


def gru_cell(r: Floats, more: list[Floats], at: dict[str, Any]) -> Cell:
    (bias,) = more

    def cell(x: Floats, now: list[Floats]) -> list[Floats]:
        (h,) = now
        z, reset = (activated("gate_activation", one(ADD, gate(x, i), through(h, gate(r, i))), at) for i in range(2))
        if at["linear_before_reset"]:
            recurrent_part = one(MUL, reset, one(ADD, through(h, gate(r, 2)), bias))
        else:
            recurrent_part = one(ADD, through(one(MUL, reset, h), gate(r, 2)), bias)
        n = activated("activation", one(ADD, gate(x, 2), recurrent_part), at)
        return [one(ADD, one(MUL, one(SUB, number(h, 1.0), z), n), one(MUL, z, h))]

    return cell


def lstm_cell(r: Floats, more: list[Floats], at: dict[str, Any]) -> Cell:
    peepholes = more[0] if more else None

    def cell(x: Floats, now: list[Floats]) -> list[Floats]:
        h, c = now
        sums = [one(ADD, gate(x, i), through(h, gate(r, i))) for i in range(4)]
        peep = lambda sum_, i, content: sum_ if peepholes is None else one(ADD, sum_, one(MUL, gate(peepholes, i), content))  # noqa: E731
        i = activated("gate_activation", peep(sums[0], 0, c), at)
        f = one(SUB, number(h, 1.0), i) if at["input_forget"] else activated("gate_activation", peep(sums[2], 2, c), at)
        content = one(ADD, one(MUL, f, c), one(MUL, i, activated("activation", sums[3], at)))
        o = activated("gate_activation", peep(sums[1], 1, content), at)
        return [one(MUL, o, one(ACTIVATIONS[at["output_activation"]], content)), content]

    return cell


def linear_attention(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    q, k, v, state, decay, *rate = operands
    sharing = q.shape[2] // max(k.shape[2], 1)
    y_shape = (*q.shape[:3], v.shape[3])
    if not all(is_finite(each).all() for each in operands):
        return [anything(state.dtype, y_shape), anything(state.dtype, state.shape)]
    q, k, v = (Floats(state.dtype, *each.parts()) for each in (q, k, v))
    y = [np.zeros(y_shape, part.dtype) for part in state.parts()]
    for t in range(q.shape[1]):
        here = lambda x: x.map(lambda part: part[:, t])  # noqa: B023, E731
        rows = lambda x: here(x).map(lambda part: part[..., None])  # noqa: B023, E731
        state = one(MUL, rows(decay), state)
        added = here(v)
        if rate:
            said = bilinear(lambda a, b, _: np.einsum("bhd,bhde->bhe", a, b), here(k), state, {})
            added = one(MUL, rows(rate[0]), one(SUB, added, said))
        state = one(ADD, state, one(MUL, rows(k), added.map(lambda part: part[:, :, None])))
        states = state.map(lambda part: np.repeat(part, sharing, axis=1))
        sums = bilinear(lambda a, b, _: np.einsum("bgd,bgde->bge", a, b), here(q), states, {})
        for whole, part in zip(y, one(MUL, sums, number(state, at["scale"])).parts()):
            whole[:, t] = part
    return [Floats(state.dtype, *y), state]


# ---- chance ----------------------------------------------------------------------------------------------------------


def random_numbers(of: Any, roundings: float) -> Rule:
    def rule(operands: list[Value], at: dict[str, Any]) -> list[Value]:
        x, *draw = operands
        if draw and draw[0].unknown.any():
            return [anything(x.dtype, x.shape)]
        words = references.building_blocks.philox(x.shape, int(draw[0].value) if draw else 0, at["seed"])
        numbers = exactly(x.dtype, np.asarray(of(words, 53 if x.dtype == "f64" else 24)))
        # Near to its zeros the cosine is as far off as its angle.
        return [with_roundings(widened(numbers, roundings * 2.0 ** (-50 if x.dtype == "f64" else -21)), 0) if roundings else numbers]

    return rule


# ---- rows and boxes --------------------------------------------------------------------------------------------------


def length_of(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    return [known(np.asarray(operands[0].shape[0]))]


def counted_lines(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    x, places, count = operands
    axis = at["axis"] % len(x.shape)
    shape = tuple(places.shape[0] if i == axis else extent for i, extent in enumerate(x.shape))
    if places.unknown.any() or count.unknown.any():
        return [anything(x.dtype, shape)]
    chosen = places.value[: int(count.value)]
    pads = [(0, places.shape[0] - len(chosen)) if i == axis else (0, 0) for i in range(len(shape))]
    return [x.map(lambda part: np.pad(np.take(part, chosen, axis), pads))]


def argsort_rows(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    (x,) = operands
    rows = x.value if isinstance(x, Exact) else x.lo
    order = np.lexsort(tuple(rows[:, column] for column in reversed(range(rows.shape[1]))))
    return [known(order, bool(certain(x).all()))]


def run_starts(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    (x,) = operands
    rows, sure = x.value if isinstance(x, Exact) else x.lo, certain(x).all(axis=1)
    differs = (rows[1:] != rows[:-1]) & ~((rows[1:] != rows[1:]) & (rows[:-1] != rows[:-1]))
    first = np.ones(min(len(rows), 1), bool)
    doubtful = np.concatenate([~first, ~(sure[1:] & sure[:-1])])
    return [Exact("bool", np.concatenate([first, differs.any(axis=1)]), doubtful)]


def sorted_unique_rows(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    return unique_rows(operands, {"sorted": True})


def rectangles(boxes: np.ndarray, center: bool) -> tuple[np.ndarray, np.ndarray]:
    a, b = (boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2) if center else (boxes[:, :2], boxes[:, 2:])
    return np.minimum(a, b), np.maximum(a, b)


def overlaps(boxes: np.ndarray, center: bool) -> np.ndarray:
    """Of each pair of boxes their intersection over their union, 0 where there is none."""
    low, high = rectangles(boxes, center)
    common = np.prod(np.maximum(np.minimum(high[:, None], high) - np.maximum(low[:, None], low), 0), axis=-1)
    area = np.prod(high - low, axis=-1)
    together = area[:, None] + area - common
    return np.where(together > 0, common / np.where(together > 0, together, 1), 0)


def kept_boxes(boxes: Floats, scores: Floats, at: dict[str, Any]) -> tuple[np.ndarray, bool]:
    """[B, C, most], -1 behind the last, and whether that is certain."""
    batches, classes, _ = scores.shape
    kept, is_known = np.full((batches, classes, at["most"]), -1, np.int64), True
    is_known = bool(certain(boxes).all() and certain(scores).all() and is_finite(boxes).all())
    for b in range(batches if is_known else 0):
        share = overlaps(boxes.lo[b], at["center_point_box"])
        is_known &= not (np.abs(share - at["iou_threshold"]) < 1e-4).any() or at["iou_threshold"] == 0
        is_known &= not ((share > 0) & (share < 1e-4)).any() and np.abs(boxes.lo[b]).max(initial=0) < 1e6
        for c in range(classes):
            line = scores.lo[b, c]
            order = np.argsort(np.where(np.isnan(line), -np.inf, -line), kind="stable")
            stay: list[int] = []
            for candidate in order:
                if line[candidate] > at["score_threshold"] and len(stay) < at["most"] and not (share[candidate, stay] > at["iou_threshold"]).any():
                    stay.append(int(candidate))
            kept[b, c, : len(stay)] = stay
    return kept, is_known


def greedy_suppression(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    boxes, scores, order = operands
    kept, is_known = kept_boxes(boxes, scores, at)
    return [known(kept, is_known and not order.unknown.any())]


def non_max_suppression(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    kept, is_known = kept_boxes(*operands, at)
    places = np.argwhere(kept >= 0)
    rows = np.concatenate([places[:, :2], kept[kept >= 0][:, None]], axis=1)
    padded = np.pad(rows, [(0, kept.size - len(rows)), (0, 0)])
    return [known(padded, is_known), known(np.asarray(len(rows)), is_known)]


# ---- convolutions, channels first ------------------------------------------------------------------------------------


def channels_first(name: str, axes: int) -> Rule:
    last, first = [0, *range(2, axes + 2), 1], [0, axes + 1, *range(1, axes + 1)]

    def rule(operands: list[Value], at: dict[str, Any]) -> list[Value]:
        image = operands[0].map(lambda part: part.transpose(last))
        taps = operands[1].map(lambda part: part.transpose([*range(2, axes + 2), 1, 0]))
        product = one(references.OPERATORS[name], image, taps, **at)
        result = one(ADD, product, operands[2]) if len(operands) > 2 else product
        return [result.map(lambda part: part.transpose(first))]

    return rule


OPERATORS: dict[str, Rule] = {
    "rnn": recurrent(rnn_cell, 1, 1),
    "gru": recurrent(gru_cell, 3, 1),
    "lstm": recurrent(lstm_cell, 4, 2),
    "linear_attention": linear_attention,
    "random_uniform": random_numbers(references.building_blocks.uniform_of, 0),
    "random_normal": random_numbers(references.building_blocks.normal_of, 8),
    "length_of": length_of,
    "counted_lines": counted_lines,
    "argsort_rows": argsort_rows,
    "run_starts": run_starts,
    "sorted_unique_rows": sorted_unique_rows,
    "greedy_suppression": greedy_suppression,
    "non_max_suppression": non_max_suppression,
    "conv1d_ncl": channels_first("conv1d", 1),
    "conv2d_nchw": channels_first("conv2d", 2),
    "conv3d_ncdhw": channels_first("conv3d", 3),
}
