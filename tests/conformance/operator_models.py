"""Small models of ONNX's operators on signals and regions of images, of integer convolutions and the like, in the form
of ONNX's node tests. The expected outputs are NumPy's, in float64."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from own_models import node, write
from building_blocks import convolve
from sampling_cases import hat
from signal_cases import max_roi_pool, numbers, parts, roi_align

Random = Callable[..., np.ndarray]


def windows(folder: Path, random: Random) -> None:
    """Sizes that are known, and one that is a dim of the model."""
    x = random(23, 2)
    n = np.arange(23)
    hamming = 25 / 46 - 21 / 46 * np.cos(2 * np.pi * np.arange(10) / 9)
    blackman = 0.42 - 0.5 * np.cos(2 * np.pi * n / 23) + 0.08 * np.cos(4 * np.pi * n / 23)
    write(
        folder,
        [
            node("HannWindow", ["ten"], ["hann"]),
            node("HammingWindow", ["ten"], ["hamming"], periodic=0, output_datatype=11),
            node("Cast", ["hamming"], ["narrow"], to=1),
            node("Shape", ["x"], ["size"], end=1),
            node("Squeeze", ["size"], ["length"]),
            node("BlackmanWindow", ["length"], ["blackman"]),
            node("HannWindow", ["length"], ["symmetric"], periodic=0),
        ],
        {"x": x},
        {"ten": np.array(10, np.int64)},
        {
            "hann": np.sin(np.pi * np.arange(10) / 10) ** 2,
            "narrow": hamming,
            "blackman": blackman,
            "symmetric": np.sin(np.pi * n / 22) ** 2,
        },
        20,
        shapes={"x": ("length", 2)},
    )


def fourier_transforms(folder: Path, random: Random) -> None:
    """Along several axes, cut off and filled up, both ways; a length that only the run knows, and a long one."""
    x, z, long = random(3, 11, 5, 1), random(3, 11, 5, 2), random(2, 3000, 2)
    values = numbers(z.astype(np.float64))
    half = np.fft.rfft(x[..., 0].astype(np.float64), axis=1)
    weights = {
        "one": np.array(1, np.int64),
        "two": np.array(2, np.int64),
        "eight": np.array(8, np.int64),
        "fifteen": np.array(15, np.int64),
        "eleven": np.array(11, np.int64),
        "half": parts(half).astype(np.float32),
    }
    write(
        folder,
        [
            node("DFT", ["x", "", "one"], ["onesided"], onesided=1),
            node("DFT", ["z", "fifteen", "one"], ["filled"]),
            node("DFT", ["z", "eight", "one"], ["cut"], inverse=1),
            node("DFT", ["z"], ["last"]),
            node("DFT", ["half", "eleven", "one"], ["again"], inverse=1, onesided=1),
            node("DFT", ["x", "two", "two"], ["real"], inverse=1),
            node("Cast", ["long"], ["precise"], to=11),
            node("DFT", ["precise", "", "one"], ["spectrum"]),
            node("Cast", ["spectrum"], ["whole"], to=1),
        ],
        {"x": x, "z": z, "long": long},
        weights,
        {
            "onesided": parts(half),
            "filled": parts(np.fft.fft(values, 15, axis=1)),
            "cut": parts(np.fft.ifft(values, 8, axis=1)),
            "last": parts(np.fft.fft(values, axis=2)),
            "again": x.astype(np.float64),
            "real": parts(np.fft.ifft(x[..., 0].astype(np.float64), 2, axis=2)),
            "whole": parts(np.fft.fft(numbers(long.astype(np.float64)), axis=1)),
        },
        20,
        shapes={"x": ("batch", 11, 5, 1), "z": ("batch", 11, "length", 2)},
    )


def short_transforms(folder: Path, random: Random) -> None:
    """With a window and without, of real and of complex signals, of any length; on mel bands."""
    x, z, window = random(2, 73, 1), random(2, 40, 2), random(16)
    frames = [x[:, 5 * i : 5 * i + 16, 0].astype(np.float64) * window for i in range(12)]
    spectrum = np.stack([np.fft.rfft(each, axis=1) for each in frames], axis=1)
    both = np.stack([np.fft.fft(numbers(z[:, 7 * i : 7 * i + 9].astype(np.float64)), axis=1) for i in range(5)], axis=1)
    bands = mel_bands(5, 16, 8000, 100.0, 3500.0)
    scalars = {
        "five": np.array(5, np.int64),
        "seven": np.array(7, np.int64),
        "nine": np.array(9, np.int64),
        "bands": np.array(5, np.int64),
        "length": np.array(16, np.int64),
        "rate": np.array(8000, np.int64),
        "low": np.array(100, np.float32),
        "high": np.array(3500, np.float32),
    }
    write(
        folder,
        [
            node("STFT", ["x", "five", "window"], ["spectrum"]),
            node("STFT", ["z", "seven", "", "nine"], ["both"], onesided=0),
            node("MelWeightMatrix", ["bands", "length", "rate", "low", "high"], ["mel"]),
            node("ReduceSumSquare", ["spectrum", "last"], ["power"], keepdims=0),
            node("MatMul", ["power", "mel"], ["heard"]),
        ],
        {"x": x, "z": z},
        {"window": window, "last": np.array([-1], np.int64), **scalars},
        {"spectrum": parts(spectrum), "both": parts(both), "mel": bands, "heard": np.abs(spectrum) ** 2 @ bands},
        18,
        shapes={"x": ("batch", "samples", 1)},
    )


def mel_bands(count: int, length: int, rate: int, low: float, high: float) -> np.ndarray:
    mel = lambda hertz: 2595 * np.log10(1 + hertz / 700)
    points = mel(low) + np.arange(count + 2) * (mel(high) - mel(low)) / (count + 2)
    ends = np.floor((length + 1) * 700 * (10 ** (points / 2595) - 1) / rate).astype(int)
    bands = np.zeros((length // 2 + 1, count))
    for band, (first, middle, last) in enumerate(zip(ends, ends[1:], ends[2:])):
        for bin in range(first, middle + 1):
            bands[bin, band] = (bin - first) / (middle - first) if middle > first else 1
        for bin in range(middle, last):
            bands[bin, band] = (last - bin) / (last - middle)
    return bands


def regions(folder: Path, random: Random) -> None:
    """Regions in and out of images, averages and maxima, any number of them."""
    rng = np.random.default_rng(5)
    x = random(2, 3, 9, 11)
    corners = (rng.integers(-16, 100, (7, 4)) / 8).astype(np.float32)
    images, wide = rng.integers(0, 2, 7), x.astype(np.float64)
    numbered = np.concatenate([images[:, None], corners * 2], axis=1).astype(np.float32)
    write(
        folder,
        [
            node("RoiAlign", ["x", "corners", "images"], ["a"], output_height=3, output_width=2, spatial_scale=0.75),
            node(
                "RoiAlign",
                ["x", "corners", "images"],
                ["b"],
                output_height=2,
                output_width=4,
                sampling_ratio=3,
                mode="max",
                coordinate_transformation_mode="output_half_pixel",
            ),
            node("MaxRoiPool", ["x", "numbered"], ["c"], pooled_shape=[2, 2], spatial_scale=0.5),
        ],
        {"x": x, "corners": corners, "images": images, "numbered": numbered},
        {},
        {
            "a": roi_align(wide, corners, images, 3, 2, 0.75),
            "b": roi_align(wide, corners, images, 2, 4, count=3, half_pixel=False, greatest=True),
            "c": max_roi_pool(wide, numbered, 2, 0.5),
        },
        22,
        shapes={"corners": ("regions", 4), "images": ("regions",), "numbered": ("regions", 5)},
    )


def deformed(x, w, offset, mask, strides, pads, dilations, group, offset_group):
    """Patches of any number of axes, one element after another."""
    axes, kernel, sizes = x.ndim - 2, w.shape[2:], offset.shape[2:]
    moved = offset.reshape(len(x), offset_group, *kernel, axes, *sizes)
    weights = mask.reshape(len(x), offset_group, *kernel, *sizes)
    y = np.zeros((len(x), len(w), *sizes))
    for image, out, place in np.ndindex(len(x), len(w), int(np.prod(sizes))):
        at = np.unravel_index(place, sizes)
        first = out // (len(w) // group) * w.shape[1]
        for channel in range(w.shape[1]):
            plane = x[image, first + channel].astype(np.float64)
            own = (first + channel) // (x.shape[1] // offset_group)
            for tap in np.ndindex(*kernel):
                part = plane
                for axis in range(axes):
                    position = (
                        at[axis] * strides[axis]
                        - pads[axis]
                        + tap[axis] * dilations[axis]
                        + moved[(image, own, *tap, axis, *at)]
                    )
                    part = np.tensordot(hat(np.arange(x.shape[2 + axis]) - position), part, (0, 0))
                y[(image, out, *at)] += part * w[(out, channel, *tap)] * weights[(image, own, *tap, *at)]
    return y


def deformed_convolutions(folder: Path, random: Random) -> None:
    """Of lines, images and volumes; groups of channels and of offsets, strides, dilations, pads, masks and a bias."""
    x, w, b = random(2, 4, 6, 5), random(6, 2, 2, 3), random(6)
    offset, mask = random(2, 2 * 6 * 2, 4, 3) * 2, random(2, 2 * 6, 4, 3)
    line, taps, shift = random(1, 2, 9), random(3, 2, 3), random(1, 3, 7)
    volume, box, drift = random(1, 1, 3, 4, 3), random(2, 1, 2, 2, 2), random(1, 24, 2, 3, 2)
    write(
        folder,
        [
            node(
                "DeformConv",
                ["x", "w", "offset", "b", "mask"],
                ["y"],
                group=2,
                offset_group=2,
                strides=[2, 1],
                pads=[1, 0, 2, 0],
                dilations=[1, 1],
            ),
            node("DeformConv", ["line", "taps", "shift"], ["of_lines"]),
            node("DeformConv", ["volume", "box", "drift"], ["of_volumes"]),
        ],
        {"x": x, "offset": offset, "mask": mask, "line": line, "shift": shift, "volume": volume, "drift": drift},
        {"w": w, "b": b, "taps": taps, "box": box},
        {
            "y": deformed(x, w, offset, mask, (2, 1), (1, 0), (1, 1), 2, 2) + b[:, None, None],
            "of_lines": deformed(line, taps, shift, np.ones((1, 3, 7)), (1,), (0,), (1,), 1, 1),
            "of_volumes": deformed(volume, box, drift, np.ones((1, 8, 2, 3, 2)), (1,) * 3, (0,) * 3, (1,) * 3, 1, 1),
        },
        22,
        shapes={"x": ("batch", 4, 6, 5), "offset": ("batch", 24, 4, 3), "mask": ("batch", 12, 4, 3)},
    )


def integer_convolutions(folder: Path, random: Random) -> None:
    """Zero points of images and filters, groups, any number of images; sums beyond floats of 32 bits; requantised."""
    rng = np.random.default_rng(6)
    x, w = rng.integers(0, 256, (2, 300, 5, 6)).astype(np.uint8), rng.integers(-128, 128, (4, 300, 3, 3)).astype(
        np.int8
    )
    few, line, own = (
        rng.integers(-128, 128, (4, 3, 2, 2)).astype(np.int8),
        x[:, :6, 0],
        rng.integers(0, 256, (4, 3, 2)).astype(np.uint8),
    )
    x_zero, w_zero, own_zero = (
        np.array(130, np.uint8),
        rng.integers(-128, 128, 4).astype(np.int8),
        np.array(7, np.uint8),
    )
    bias, x_scale, w_scale = (
        rng.integers(-(10**5), 10**5, 4).astype(np.int32),
        np.array(0.02, np.float32),
        (rng.random(4) / 2**11).astype(np.float32),
    )
    y_scale, y_zero = np.array(0.7, np.float32), np.array(120, np.uint8)

    def sums(x, w, w_zero, pads=0, group=1):
        wide = (w.astype(np.int64) - np.reshape(w_zero, (-1, 1, 1, 1))).transpose(2, 3, 1, 0)
        return convolve(
            (x.astype(np.int64) - 130).transpose(0, 2, 3, 1), wide, pads=(pads,) * 4, group=group
        ).transpose(0, 3, 1, 2)

    whole = sums(x, w, w_zero, 1)
    steps = (
        (whole + bias[:, None, None])
        * (np.float64(x_scale) * w_scale.astype(np.float64))[:, None, None]
        / np.float64(y_scale)
    )
    y = np.clip(np.rint(steps) + 120, 0, 255).astype(np.uint8)
    write(
        folder,
        [
            node("ConvInteger", ["x", "w", "x_zero", "w_zero"], ["sums"], pads=[1, 1, 1, 1]),
            node("Slice", ["x", "none", "six", "one"], ["part"]),
            node("ConvInteger", ["part", "few", "x_zero"], ["grouped"], group=2),
            node("ConvInteger", ["line", "own", "x_zero", "own_zero"], ["of_lines"], group=2),
            node(
                "QLinearConv",
                ["x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "bias"],
                ["y"],
                pads=[1, 1, 1, 1],
            ),
        ],
        {"x": x, "line": line},
        {
            "w": w,
            "few": few,
            "own": own,
            "x_zero": x_zero,
            "w_zero": w_zero,
            "own_zero": own_zero,
            "bias": bias,
            "x_scale": x_scale,
            "w_scale": w_scale,
            "y_scale": y_scale,
            "y_zero": y_zero,
            "none": np.array([0], np.int64),
            "six": np.array([6], np.int64),
            "one": np.array([1], np.int64),
        },
        {
            "sums": whole.astype(np.int32),
            "grouped": sums(x[:, :6], few, 0, group=2).astype(np.int32),
            "of_lines": sums(line[:, :, None], own[:, :, None], 7, group=2)[:, :, 0].astype(np.int32),
            "y": y,
        },
        18,
        shapes={"x": ("batch", 300, "rows", 6)},
    )


def turned_sequences(folder: Path, random: Random) -> None:
    """Lengths of sequences, along either axis, and what a maximum came from."""
    x, lengths, few = random(5, 4, 3), np.array([5, 0, 3, 1], np.int64), np.array([4, 0, 3, 1, 2], np.int64)
    by_time, by_batch = x.copy(), x.copy()
    for b, length in enumerate(lengths):
        by_time[:length, b] = x[:length, b][::-1]
    for b, length in enumerate(few):
        by_batch[b, :length] = x[b, :length][::-1]
    pooled = np.array([[[[4.0, 7.0], [9.0, 2.0]]]], np.float32)
    indices = np.array([[[[0, 3], [9, 14]]]], np.int64)
    back = np.zeros(16)
    back[indices.reshape(-1)] = pooled.reshape(-1)
    wide = np.zeros((1, 1, 5, 6))
    wide[:, :, :4, :4] = back.reshape(4, 4)
    write(
        folder,
        [
            node("ReverseSequence", ["x", "lengths"], ["by_time"]),
            node("ReverseSequence", ["x", "few"], ["by_batch"], batch_axis=0, time_axis=1),
            node("MaxUnpool", ["pooled", "indices"], ["back"], kernel_shape=[2, 2], strides=[2, 2]),
            node("MaxUnpool", ["pooled", "indices", "size"], ["wide"], kernel_shape=[2, 2], strides=[2, 2]),
        ],
        {"x": x, "lengths": lengths, "few": few, "pooled": pooled, "indices": indices},
        {"size": np.array([1, 1, 5, 6], np.int64)},
        {"by_time": by_time, "by_batch": by_batch, "back": back.reshape(1, 1, 4, 4), "wide": wide},
        22,
        shapes={"x": ("steps", 4, 3), "few": ("steps",)},
    )


def determinants(folder: Path, random: Random) -> None:
    """Of matrices of any size, and of one alone; products with transposed volumes."""
    x, one, volume, w = random(2, 3, 7, 7), random(4, 4), random(1, 4, 2, 3, 2), random(4, 2, 2, 1, 3)
    whole = np.zeros((1, 4, 2 * 1 + 2, 3 * 2 - 1 + 0, 2 + 2))
    for tap in np.ndindex(2, 1, 3):
        for group in range(2):
            part = np.einsum(
                "ncdhw,co->nodhw",
                volume[:, 2 * group : 2 * group + 2].astype(np.float64),
                w[2 * group : 2 * group + 2, :, *tap],
            )
            whole[:, 2 * group : 2 * group + 2, tap[0] : tap[0] + 3 : 2, ::2, tap[2] : tap[2] + 2] += part
    write(
        folder,
        [
            node("Det", ["x"], ["y"]),
            node("Det", ["one"], ["z"]),
            node("ConvTranspose", ["volume", "w"], ["spread"], group=2, strides=[2, 2, 1], pads=[1, 0, 0, 0, 0, 1]),
        ],
        {"x": x, "one": one, "volume": volume},
        {"w": w},
        {
            "y": np.linalg.det(x.astype(np.float64)),
            "z": np.linalg.det(one.astype(np.float64)),
            "spread": whole[:, :, 1:, :, :-1],
        },
        22,
        shapes={"x": ("batch", 3, "size", "size")},
    )


def sizes_of_the_run(folder: Path, random: Random) -> None:
    """What needs the places of axes that only the run knows; images put together of many taps; grids that are large."""
    x, picked = random(3, 5, 4), np.array([[[0, 1], [4, -1]], [[2, 0], [1, 3]], [[3, 3], [-5, 2]]], np.int64)
    scores, square = random(3, 5), random(5, 5)
    written = np.array([[4, 1], [0, -1], [-2, 2]], np.int64)
    updates, blocks, theta = random(3), random(2, 3 * 20, 9), random(1, 2, 3)
    into = x[0].copy()
    for (row, column), update in zip(written, updates):
        into[row, column] = update
    folded = np.zeros((2, 3, 5 + 19, 4))
    for tap, place in np.ndindex(20, 3):
        for side in range(1, 3):  # the first one stands in the pads
            folded[:, :, 2 * place + tap, 2 * side - 1] += blocks.reshape(2, 3, 20, 3, 3)[:, :, tap, place, side]
    at = (2 * np.arange(5000) + 1) / 5000 - 1
    across = (2 * np.arange(2) + 1) / 2 - 1
    grid = (
        theta[0, :, 0].astype(np.float64) * across[None, :, None] + theta[0, :, 1] * at[:, None, None] + theta[0, :, 2]
    )
    write(
        folder,
        [
            node("GatherND", ["x", "picked"], ["found"], batch_dims=1),
            node("Hardmax", ["scores"], ["hard"]),
            node("Trilu", ["square", "shift"], ["upper"]),
            node("EyeLike", ["square"], ["eye"], k=-1),
            node("Slice", ["x", "zero", "one"], ["first"]),
            node("Squeeze", ["first", "zero"], ["into"]),
            node("ScatterND", ["into", "written", "updates"], ["written_into"]),
            node("Col2Im", ["blocks", "image", "block"], ["folded"], pads=[0, 1, 0, 0], strides=[2, 2]),
            node("AffineGrid", ["theta", "size"], ["grid"]),
        ],
        {
            "x": x,
            "picked": picked,
            "scores": scores,
            "square": square,
            "written": written,
            "updates": updates,
            "blocks": blocks,
            "theta": theta,
        },
        {
            "shift": np.array(1, np.int64),
            "zero": np.array([0], np.int64),
            "one": np.array([1], np.int64),
            "image": np.array([24, 4], np.int64),
            "block": np.array([20, 1], np.int64),
            "size": np.array([1, 1, 5000, 2], np.int64),
        },
        {
            "found": np.stack([x[i][tuple(picked[i].T)] for i in range(3)]),
            "hard": np.eye(5)[scores.argmax(axis=1)],
            "upper": np.triu(square, 1),
            "eye": np.eye(5, k=-1),
            "written_into": into,
            "folded": folded,
            "grid": grid[None],
        },
        22,
        shapes={
            "x": ("batch", "rows", 4),
            "picked": ("batch", 2, 2),
            "scores": ("batch", "rows"),
            "square": ("rows", "rows"),
        },
    )


def recurred(q: np.ndarray, k: np.ndarray, v: np.ndarray, state: np.ndarray, kept: np.ndarray, rate: np.ndarray | None):
    """Linear attention, step by step: [batch, steps, heads, width] each, and the states after the last step."""
    y, sharing = np.zeros((*q.shape[:3], v.shape[3])), q.shape[2] // k.shape[2]
    for t in range(q.shape[1]):
        state = state * kept[:, t, :, :, None]
        said = np.einsum("bhd,bhde->bhe", k[:, t], state)
        added = v[:, t] if rate is None else rate[:, t, :, None] * (v[:, t] - said)
        state = state + k[:, t, :, :, None] * added[:, :, None, :]
        y[:, t] = np.einsum("bhd,bhde->bhe", q[:, t], np.repeat(state, sharing, axis=1)) / np.sqrt(q.shape[3])
    return y.reshape(*q.shape[:2], -1), state


def linear_attentions(folder: Path, random: Random) -> None:
    """Of any number of steps; decay by key and by head, with the delta rule and without, from a state and from none."""
    q, k, v, first = random(2, 9, 4 * 6), random(2, 9, 2 * 6) / 3, random(2, 9, 2 * 5), random(2, 2, 6, 5)
    by_key, by_head, rate = -np.abs(random(2, 9, 2 * 6)), -np.abs(random(2, 9, 2)), np.abs(random(2, 9, 1)) / 3
    wide = lambda x, width: x.astype(np.float64).reshape(2, 9, -1, width)
    queries, keys, values = wide(q, 6), wide(k, 6), wide(v, 5)
    kept = np.exp(wide(by_key, 6))
    widened = np.exp(by_head.astype(np.float64))[..., None].repeat(6, axis=3)
    rates, zeros = rate.astype(np.float64).repeat(2, axis=2), np.zeros((2, 2, 6, 5))
    heads = {"q_num_heads": 4, "kv_num_heads": 2}
    plain, plain_state = recurred(queries, keys, values, first, np.ones_like(kept), None)
    gated, gated_state = recurred(queries, keys, values, zeros, widened, None)
    corrected, corrected_state = recurred(queries, keys, values, first, kept, rates)
    write(
        folder,
        [
            node("LinearAttention", ["q", "k", "v", "first"], ["a", "as"], update_rule="linear", **heads),
            node("LinearAttention", ["q", "k", "v", "", "by_head"], ["b", "bs"], update_rule="gated", **heads),
            node("LinearAttention", ["q", "k", "v", "first", "by_key", "rate"], ["c", "cs"], **heads),
        ],
        {"q": q, "k": k, "v": v, "first": first, "by_key": by_key, "by_head": by_head, "rate": rate},
        {},
        {"a": plain, "as": plain_state, "b": gated, "bs": gated_state, "c": corrected, "cs": corrected_state},
        27,
        shapes={name: ("batch", "steps", width) for name, width in
                (("q", 24), ("k", 12), ("v", 10), ("by_key", 12), ("by_head", 2), ("rate", 1))}
        | {"first": ("batch", 2, 6, 5)},
    )


def groups_of_version_18(folder: Path, random: Random) -> None:
    """Of which scales and biases are those of groups."""
    x, scale, bias = random(2, 6, 3, 4), random(3), random(3)
    groups = x.astype(np.float64).reshape(2, 3, -1)
    apart = (groups - groups.mean(axis=2, keepdims=True)) / np.sqrt(groups.var(axis=2, keepdims=True) + 1e-5)
    y = (apart * scale[:, None] + bias[:, None]).reshape(x.shape)
    write(
        folder,
        [node("GroupNormalization", ["x", "scale", "bias"], ["y"], num_groups=3)],
        {"x": x},
        {"scale": scale, "bias": bias},
        {"y": y},
        18,
        shapes={"x": ("batch", 6, 3, 4)},
    )


def written_caches(folder: Path, random: Random) -> None:
    """New lines in caches of any length, one of which runs over the end."""
    cache, lines, places = random(2, 3, 7, 4), random(2, 3, 2, 4), np.array([5, 1], np.int64)
    behind, circular = cache.copy(), cache.copy()
    for batch, first in enumerate(places):
        behind[batch, :, first : first + 2] = lines[batch]
        circular[batch, :, (first + 1) % 7] = lines[batch, :, 0]
        circular[batch, :, (first + 2) % 7] = lines[batch, :, 1]
    write(
        folder,
        [
            node("TensorScatter", ["cache", "lines", "places"], ["behind"]),
            node("Add", ["places", "one"], ["later"]),
            node("TensorScatter", ["cache", "lines", "later"], ["circular"], mode="circular"),
        ],
        {"cache": cache, "lines": lines, "places": places},
        {"one": np.array(1, np.int64)},
        {"behind": behind, "circular": circular},
        24,
        shapes={"cache": ("batch", 3, "length", 4), "lines": ("batch", 3, "new", 4), "places": ("batch",)},
    )


def make(folder: Path) -> None:
    rng = np.random.default_rng(9)
    for case in (
        windows,
        fourier_transforms,
        short_transforms,
        regions,
        deformed_convolutions,
        integer_convolutions,
        turned_sequences,
        determinants,
        sizes_of_the_run,
        linear_attentions,
        groups_of_version_18,
        written_caches,
    ):
        case(folder / case.__name__, lambda *shape: rng.standard_normal(shape).astype(np.float32))
