"""Tensors that are resized or read at positions, and recurrent layers: what their graphs are given, and what these
compute, in NumPy and float64."""

import numpy as np

from inputs import bf16, normal, with_specials


def resampling_inputs(rng, n, h, c):
    return {
        "x": normal(rng, n, c, h, 9), "last": normal(rng, n, h, 9, c, dtype=bf16),
        "bytes": rng.integers(0, 256, (n, h, 9, c), dtype=np.uint8), "bias": with_specials(normal(rng, 9), rng),
        "fixed": normal(rng, 1, 5, 7),
        "grid": (2.4 * rng.random((n, 4, 5, 2)) - 1.2).astype(np.float32),
    }  # fmt: skip


def recurrent_inputs(rng, s, b):
    return {
        "x": normal(rng, s, b, 6), "weights": normal(rng, 52, 6) / 2, "bias": normal(rng, 52), "r": normal(rng, 4, 13, 13) / 4,
        "h": normal(rng, b, 13), "c": normal(rng, b, 13), "lengths": rng.integers(0, s + 2, b), "candidate_bias": normal(rng, 13),
        "peepholes": normal(rng, 3, 13),
    }  # fmt: skip


# ---- sampling: a matrix [size, extent] for each axis -----------------------------------------------------------------


def hat(distance):
    return np.maximum(1 - np.abs(distance), 0)


def keys(distance, a=-0.75):
    d = np.abs(distance)
    near, far = (a + 2) * d**3 - (a + 3) * d**2 + 1, a * (d**3 - 5 * d**2 + 8 * d - 4)
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def weights_at(positions, extent, weight, width=1.0, beyond=None):
    """Row i: what each element weighs at positions[i]; those beyond the ends count as `beyond` says, else as at the ends."""
    taps = np.arange(-40, extent + 40)
    share = weight((taps - positions[:, None]) / width)
    share /= share.sum(axis=1, keepdims=True)
    stands_for = np.clip(taps, 0, extent - 1) if beyond is None else beyond(taps)
    return np.stack([share[:, stands_for == element].sum(axis=1) for element in range(extent)], axis=1)


def resized(x, axis, size, weight, positions=None, width=1.0):
    extent = x.shape[axis]
    if positions is None:
        positions = (np.arange(size) + 0.5) * extent / size - 0.5
    matrix = weights_at(positions, extent, weight, width)
    return np.moveaxis(np.tensordot(matrix, x, axes=(1, axis)), 0, axis)


def at_positions(x, grid, weight, align, beyond):
    n, c, h, w = x.shape
    out = np.zeros((n, c, *grid.shape[1:3]))
    for image in range(n):
        places = []
        for number, extent in ((grid[image, ..., 1], h), (grid[image, ..., 0], w)):
            position = (number + 1) / 2 * (extent - 1) if align else ((number + 1) * extent - 1) / 2
            if align:  # the mirror's ends are the elements'
                turned = np.abs(np.mod(position + max(extent - 1, 1), 2 * max(extent - 1, 1)) - max(extent - 1, 1))
                position = turned if extent > 1 else np.zeros_like(position)
            places.append(weights_at(position.reshape(-1), extent, weight, beyond=lambda taps, extent=extent: beyond(taps, extent)))
        out[image] = np.einsum("ph,pw,chw->cp", places[0], places[1], x[image]).reshape(c, *grid.shape[1:3])
    return out


def mirrored(taps, extent):
    if extent == 1:
        return np.zeros_like(taps)
    period = 2 * (extent - 1)
    turned = np.mod(taps, period)
    return np.where(turned < extent, turned, period - turned)


def resampling(x, last, bytes, bias, fixed, grid):
    height, width = x.shape[2], x.shape[3]
    corners = np.arange(4) * 8 / 3
    rows = np.arange(height + 3) * (height - 1) / (height + 2)
    picked = np.clip(np.ceil((np.arange(3) + 0.5) / 0.4 - 1), 0, 8).astype(int)
    return [
        np.maximum(np.repeat(np.repeat(x + bias, 2, axis=2), 2, axis=3), 0),
        2 * resized(resized(x, 2, 2 * height, hat), 3, 14, hat),
        resized(resized(last, 1, height + 3, hat, rows), 2, 4, hat, corners),
        resized(x, 3, 20, keys), resized(x, 3, 4, hat, width=width / 4), bytes[:, :, picked],
        3 * resized(resized(fixed[0], 0, 6, hat), 1, 11, hat),
        np.tanh(at_positions(np.exp(x), grid, hat, False, lambda taps, extent: np.where((taps >= 0) & (taps < extent), taps, -1))),
        at_positions(x, grid, keys, True, mirrored),
    ]  # fmt: skip


# ---- recurrent layers ------------------------------------------------------------------------------------------------


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def walk(steps, states, lengths, reverse, cell):
    """Sequence by sequence. cell(t, b, states) gives the states after a step, of which the first is written."""
    count, sequences, units = steps
    y, last = np.zeros((count, sequences, units)), [state.copy() for state in states]
    for b in range(sequences):
        length = min(count, count if lengths is None else int(lengths[b]))
        now = [state[b] for state in states]
        for t in reversed(range(length)) if reverse else range(length):
            now = cell(t, b, now)
            y[t, b] = now[0]
        for state, each in zip(last, now, strict=True):
            state[b] = each
    return [y, *last]


def lstm(gates, r, h, c, lengths=None, peepholes=None, reverse=False, clip=np.inf):
    p = np.zeros((3, h.shape[1])) if peepholes is None else peepholes

    def cell(t, b, now):
        before, content = now
        i, o, f, n = gates[t, b] + before @ r
        bound = lambda x: np.clip(x, -clip, clip)
        after = sigmoid(bound(f + p[2] * content)) * content + sigmoid(bound(i + p[0] * content)) * np.tanh(bound(n))
        return [sigmoid(bound(o + p[1] * after)) * np.tanh(after), after]

    return walk((*gates.shape[:2], h.shape[1]), [h, c], lengths, reverse, cell)


def gru(gates, r, bias, h, lengths=None, linear=False):
    def cell(t, b, now):
        (before,) = now
        z, reset = (sigmoid(gates[t, b, i] + before @ r[i]) for i in range(2))
        recurrent = reset * (before @ r[2] + bias) if linear else (reset * before) @ r[2] + bias
        return [(1 - z) * np.tanh(gates[t, b, 2] + recurrent) + z * before]

    return walk((*gates.shape[:2], h.shape[1]), [h], lengths, False, cell)


def recurrent(x, weights, bias, r, h, c, lengths, candidate_bias, peepholes):
    gates = (x @ weights.T + bias).reshape(*x.shape[:2], 4, 13)
    return [
        *lstm(gates, r, h, c), *lstm(gates, r, h, c, lengths, peepholes, True, 1.5),
        *gru(gates[:, :, 1:] / 2, r[1:], candidate_bias, h), *gru(gates[:, :, 1:], r[1:], candidate_bias, h, lengths, True),
        *walk((*x.shape[:2], 13), [h], None, False, lambda t, b, now: [np.maximum(gates[t, b, 0] + now[0] @ r[0], 0)]),
    ]  # fmt: skip
