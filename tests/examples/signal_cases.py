"""Fourier transforms, determinants and regions of images: what their graphs are given, and what they compute, in
NumPy."""

import numpy as np

from building_blocks import convolve
from inputs import bf16, normal
from sampling_cases import hat


def signal_inputs(rng, b, n):
    return {
        "waves": normal(rng, b, n, 1),
        "complex": normal(rng, 2, b, n, 2, dtype=np.float64),
        "frames": normal(rng, b, 24, 2, dtype=bf16),
        "sound": normal(rng, b, 90, 1),
        "window": normal(rng, 20),
        # One element of each column is much greater than the others, so that roundings do not choose another one.
        "squares": np.asfortranarray(
            normal(rng, b, n, n) + 4 * np.sqrt(np.float32(n)) * np.eye(n, dtype=np.float32)[rng.permutation(n)]
        ),
        "wide": normal(rng, b, 3, 3, dtype=np.float64),
    }


def numbers(parts):
    return parts[..., 0] + 1j * parts[..., 1]


def parts(values):
    return np.stack([values.real, values.imag], axis=-1)


def factors(matrix):
    """Elimination that takes the greatest element of each column, the upper one of several."""
    a, pivots = matrix.copy(), []
    for k in range(len(a)):
        pivot = k + int(np.argmax(np.abs(a[k:, k])))
        pivots.append(pivot)
        a[[k, pivot]] = a[[pivot, k]]
        if a[k, k] != 0:
            a[k + 1 :, k] /= a[k, k]
            a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a, np.array(pivots, np.int64)


def signals(waves, complex, frames, sound, window, squares, wide):
    size = waves.shape[1]
    halved = np.fft.rfft(waves[..., 0], axis=1) / 2
    moments = np.stack([np.fft.rfft(sound[:, 7 * i : 7 * i + 20, 0] * window, axis=1) for i in range(11)], axis=1)
    each = [factors(matrix) for matrix in squares]
    return [
        parts(halved),
        parts(np.fft.ifft(numbers(complex), size + 7, axis=2)),
        parts(np.fft.ifft(numbers(frames), axis=1)),
        parts(moments),
        np.linalg.det(squares[:, :2, :2]),
        np.tanh(np.linalg.det(np.exp(wide))),
        np.array([a for a, _ in each]).reshape(squares.shape),
        np.array([p for _, p in each], np.int64).reshape(squares.shape[:2]),
    ]


# ---- regions of images -----------------------------------------------------------------------------------------------


def region_inputs(rng, n, h, c, r):
    corners = rng.integers(-8, 8 * (h + 4), (r, 4)).astype(np.float32) / 8
    return {
        "x": normal(rng, n, c, h, 9),
        "narrow": normal(rng, n, h, 9, c, dtype=bf16).transpose(0, 3, 1, 2),
        "corners": corners,
        "images": rng.integers(0, n, r),
        "numbered": np.concatenate([rng.integers(0, n, (r, 1)), 4 * corners], axis=1).astype(np.float32),
        "grid": rng.uniform(-2, h + 2, (n, 4, 5, 2)).astype(np.float32),
        "bytes": rng.integers(0, 256, (n, h, 9, 3), dtype=np.uint8),
        "filters": rng.integers(-128, 128, (3, 3, 3, 6), dtype=np.int8),
        "zero": rng.integers(0, 256, 1, dtype=np.uint8),
    }


def neighbours(position, extent):
    """The elements of an axis around a sample, and what they weigh; none where it lies far outside."""
    if not -1 <= position <= extent:
        return []
    at = np.clip(position, 0, extent - 1)
    below = int(at)
    return [(below, 1 - (at - below)), (min(below + 1, extent - 1), at - below)]


def samples(low, high, bins, count, half_pixel):
    """For each bin of an axis, its positions."""
    shift = 0.5 if half_pixel else 0
    extent = high - low if half_pixel else max(high - low, 1)
    size = extent / bins
    many = count or max(int(np.ceil(size)), 0)
    return [low - shift + (i + (np.arange(many) + 0.5) / max(many, 1)) * size for i in range(bins)]


def roi_align(x, corners, images, height, width, scale=1.0, count=0, half_pixel=True, greatest=False):
    out = np.zeros((len(corners), x.shape[1], height, width))
    for region, (left, top, right, bottom) in enumerate(corners * scale):
        image = x[images[region]]
        for i, rows in enumerate(samples(top, bottom, height, count, half_pixel)):
            for j, columns in enumerate(samples(left, right, width, count, half_pixel)):
                found = [
                    [
                        wide * high * image[:, row, column]
                        for row, high in neighbours(y, x.shape[2])
                        for column, wide in neighbours(z, x.shape[3])
                    ]
                    or [np.zeros(len(image))]
                    for y in rows
                    for z in columns
                ]
                if found:
                    out[region, :, i, j] = (
                        np.max([np.max(each, axis=0) for each in found], axis=0)
                        if greatest
                        else np.mean([np.sum(each, axis=0) for each in found], axis=0)
                    )
    return out


def max_roi_pool(x, numbered, bins, scale):
    out = np.zeros((len(numbered), x.shape[1], bins, bins))
    for region, (image, *corners) in enumerate(numbered):
        left, top, right, bottom = (
            int(np.sign(each) * np.floor(np.abs(each) + 0.5)) for each in np.array(corners) * scale
        )
        reach = []
        for first, last, extent in ((top, bottom, x.shape[2]), (left, right, x.shape[3])):
            size = max(last - first + 1, 1)
            reach.append(
                [
                    (
                        np.clip(first + i * size // bins, 0, extent),
                        np.clip(first - (-(i + 1) * size // bins), 0, extent),
                    )
                    for i in range(bins)
                ]
            )
        for i, (low, high) in enumerate(reach[0]):
            for j, (begin, end) in enumerate(reach[1]):
                if low < high and begin < end:
                    out[region, :, i, j] = x[int(image), :, low:high, begin:end].max(axis=(1, 2))
    return out


def image_regions(x, narrow, corners, images, numbered, grid, bytes, filters, zero):
    height, width = x.shape[2:]
    sampled = np.zeros((*x.shape[:2], 4, 5))
    for image, at in enumerate(grid):
        rows = hat(np.arange(height) - at[..., 1, None])
        columns = hat(np.arange(width) - at[..., 0, None])
        sampled[image] = np.einsum("ijh,ijw,chw->cij", rows, columns, x[image])
    levels, taps = bytes.astype(np.int64), filters.astype(np.int64)
    steps = levels - zero
    ones = (1, 1)
    return [
        np.maximum(roi_align(x, corners, images, 2, 3, 0.5), 0),
        roi_align(narrow, corners, images, 3, 2, count=2, half_pixel=False, greatest=True),
        2 * max_roi_pool(x, numbered, 2, 0.25),
        sampled,
        convolve(steps, taps, ones, (1, 1, 1, 1), ones, 1).astype(np.int32),
        convolve(steps, taps, (2, 1), (2, 2, 2, 2), (2, 2), 1),
        convolve(levels, taps[:, :, :1, :3], ones, (1, 1, 1, 1), ones, 3).astype(np.int32),
    ]
