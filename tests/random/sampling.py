"""What resizing and reading at positions compute of values that are known within bounds. Positions between elements are worked
out in float64, as kernels do of sizes alone; those of a grid are as near as its dtype tells."""

from typing import Any

import numpy as np

from enclosure import Floats, Value, anything, is_finite, magnitude, mid, radius, widened
from rules import Rule, with_roundings
from selections import certain

SLOPE = -0.75


def hat(distance: np.ndarray) -> np.ndarray:
    return np.maximum(1 - distance, 0)


def cubic(distance: np.ndarray, a: float = SLOPE) -> np.ndarray:
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance < 1, near, np.where(distance < 2, far, 0))


# ---- resizing --------------------------------------------------------------------------------------------------------


def positions(extent: int, size: int, how: str) -> np.ndarray:
    """Of the result's places, among the elements."""
    i = np.arange(size, dtype=np.float64)
    if how == "align_corners":
        return i * (extent - 1) / (size - 1) if size > 1 else np.zeros(size)
    if how == "asymmetric":
        return i * extent / size
    if how == "pytorch_half_pixel" and size <= 1:
        return np.zeros(size)
    middle = (i + 0.5) * extent / size
    return middle if how == "tf_half_pixel_for_nn" else middle - 0.5


def nearest_places(at: np.ndarray, rounding: str) -> np.ndarray:
    return {"floor": np.floor, "ceil": np.ceil, "round_prefer_floor": lambda x: np.ceil(x - 0.5),
            "round_prefer_ceil": lambda x: np.floor(x + 0.5)}[rounding](at)


def resize_nearest(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    """Unknown at positions that are near to the middle between two elements, where they should be on it or not."""
    (x,) = operands
    if 0 in x.shape:
        return [anything(x.dtype, tuple(at["sizes"]))]
    unknown = np.zeros(at["sizes"], bool)
    for axis, (extent, size) in enumerate(zip(x.shape, at["sizes"])):
        place = positions(extent, size, at["coordinates"])
        before, chosen, behind = (nearest_places(place + step, at["rounding"]).clip(0, extent - 1).astype(np.int64)
                                  for step in (-1e-9, 0, 1e-9))
        doubtful = (before != behind) & (place * 2 != np.rint(place * 2))
        x = x.map(lambda part: np.take(part, chosen, axis))  # noqa: B023
        unknown |= np.moveaxis(np.broadcast_to(doubtful, np.moveaxis(unknown, axis, -1).shape), -1, axis)
    wide = anything(x.dtype, x.shape)
    return [type(x)(x.dtype, *(np.where(unknown, loose, part) for loose, part in zip(wide.parts(), x.parts())))]


def matrix(extent: int, size: int, weight: Any, at: dict[str, Any]) -> np.ndarray:
    """[size, extent]: what each element weighs for each place."""
    if not size:
        return np.zeros((0, extent))
    place = positions(extent, size, at["coordinates"])
    width = max(extent / size, 1.0) if at["antialias"] else 1.0
    taps = np.arange(-2 * extent - 8, 3 * extent + 8)
    share = weight(np.abs(taps - place[:, None]) / width)
    inside = (taps >= 0) & (taps < extent)
    if at["exclude_outside"]:
        share = np.where(inside, share, 0)
    share = share / share.sum(axis=1, keepdims=True)
    stands_for = np.clip(taps, 0, extent - 1)
    return np.stack([share[:, stands_for == element].sum(axis=1) for element in range(extent)], axis=1)


def resized(weight: Any) -> Rule:
    def rule(operands: list[Value], at: dict[str, Any]) -> list[Value]:
        (x,) = operands
        if not is_finite(x).all() or 0 in x.shape:
            return [anything(x.dtype, tuple(at["sizes"]))]
        middle, reach, size, taps = mid(x), radius(x), magnitude(x), 1
        slack = 64 * (2.0**-53 if x.dtype == "f64" else 2.0**-24)  # of a weight
        for axis, (extent, wanted) in enumerate(zip(x.shape, at["sizes"])):
            if extent == wanted and at["coordinates"] != "tf_half_pixel_for_nn":
                continue
            one = matrix(extent, wanted, lambda distance: weight(distance, at), at)
            apply = lambda part, m=one, axis=axis: np.moveaxis(np.tensordot(m, part, axes=(1, axis)), 0, axis)  # noqa: E731
            spread = lambda part, m=np.abs(one), axis=axis: np.moveaxis(np.tensordot(m, part, axes=(1, axis)), 0, axis)  # noqa: E731
            most = size.max(axis=axis, keepdims=True) * slack
            middle, reach, size, taps = apply(middle), spread(reach) + most, spread(size), taps + extent
        return [with_sums(x.dtype, middle, reach, size, taps)]

    return rule


def with_sums(dtype: str, middle: np.ndarray, reach: np.ndarray, size: np.ndarray, taps: float) -> Floats:
    """Sums of so many terms, whose magnitudes sum up to `size`."""
    value = widened(Floats(dtype, middle, middle, np.zeros(middle.shape, bool)), reach)
    unit = 2.0**-53 if dtype == "f64" else 2.0**-24
    return with_roundings(widened(value, (8 + 4 * taps) * unit * size), 2)


# ---- positions of a grid ---------------------------------------------------------------------------------------------


def mirrored(place: np.ndarray, low: float, high: float) -> np.ndarray:
    reach = high - low
    if reach <= 0:
        return np.full(place.shape, low)
    beyond = np.mod(place - low, 2 * reach)
    return low + np.where(beyond > reach, 2 * reach - beyond, beyond)


def grid_sample(operands: list[Value], at: dict[str, Any]) -> list[Value]:
    x, grid = operands
    axes = len(x.shape) - 2
    shape = (*x.shape[:2], *grid.shape[1:-1])
    if not certain(grid).all() or not is_finite(grid).all() or not is_finite(x).all() or 0 in x.shape or np.abs(grid.lo).max(initial=0) > 100:
        return [anything(x.dtype, shape)]
    unit = 2.0**-53 if grid.dtype == "f64" else 2.0**-24
    weights, unknown, error = [], np.zeros(grid.shape[:-1], bool), np.zeros(grid.shape[:-1])
    for axis in range(axes):
        extent, number = x.shape[2 + axis], grid.lo[..., axes - 1 - axis]
        low, high = (0.0, extent - 1.0) if at["align_corners"] else (-0.5, extent - 0.5)
        place = (number + 1) / 2 * (extent - 1) if at["align_corners"] else ((number + 1) * extent - 1) / 2
        place = number if at["unit"] == "elements" else place
        off = 16 * unit * (np.abs(place) + extent + 1)
        if at["mode"] == "nearest":
            unknown |= np.abs(place - np.floor(place) - 0.5) <= off
            place = np.rint(place)
        if at["padding"] == "border":
            place = np.where(place < low, 0, np.where(place > high, extent - 1, place))
        elif at["padding"] == "reflection":
            place = mirrored(place, low, high)
            if at["mode"] == "nearest":
                unknown |= np.abs(place - np.floor(place) - 0.5) <= off
        error = error + off
        taps = np.arange(-8, extent + 8)
        place = np.clip(place, -5, extent + 5)
        distance = np.abs(taps - place[..., None])
        share = cubic(distance) if at["mode"] == "cubic" else hat(distance)
        if at["padding"] == "zeros":
            stands_for = np.where((taps >= 0) & (taps < extent), taps, -1)
        elif at["padding"] == "border":
            stands_for = np.clip(taps, 0, extent - 1)
        else:
            stands_for = np.clip(mirrored(taps.astype(float), low, high).astype(np.int64), 0, extent - 1)
        weights.append(np.stack([share[..., stands_for == element].sum(axis=-1) for element in range(extent)], axis=-1))
    letters = "hwd"[:axes]
    places = "ijk"[:axes]
    equation = ",".join(f"n{places}{each}" for each in letters) + f",nc{letters}->nc{places}"
    apply = lambda part, ws: np.einsum(equation, *ws, part)  # noqa: E731
    sizes = [np.abs(each) for each in weights]
    greatest = magnitude(x).max(initial=0)
    middle, reach, size = apply(mid(x), weights), apply(radius(x), sizes), apply(magnitude(x), sizes)
    slack = (8.0**axes * greatest * error)[:, None] if at["mode"] != "nearest" else 0
    value = with_sums(x.dtype, middle, reach + slack, size, 4**axes)
    wide = anything(x.dtype, value.shape)
    return [Floats(x.dtype, *(np.where(unknown[:, None], loose, part) for loose, part in zip(wide.parts(), value.parts())))]


OPERATORS: dict[str, Rule] = {
    "resize_nearest": resize_nearest,
    "resize_linear": resized(lambda distance, at: hat(distance)),
    "resize_cubic": resized(lambda distance, at: cubic(distance, at["coefficient"])),
    "grid_sample2d": grid_sample,
    "grid_sample3d": grid_sample,
}
