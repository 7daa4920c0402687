"""What a value may be, however the program rounds on its way: an interval for each element, worked out in float64.

An operator computes in f32 (f64 for f64) with an error that references.py states, and a fused chain may or may not
round in between to the narrower dtypes of its values. Both bounds of an interval follow all that; a result outside is wrong.
Integers and booleans are exact, or unknown where they follow from a float too near to an edge (a comparison, a floor).
"""

from dataclasses import dataclass

import numpy as np

import number_formats
from number_formats import FLOATS


@dataclass
class Floats:
    """lo <= value <= hi, or NaN where `nan`; lo and hi are NaN where the value certainly is."""

    dtype: str
    lo: np.ndarray
    hi: np.ndarray
    nan: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.lo.shape

    @property
    def exact(self) -> np.ndarray:
        return (self.lo == self.hi) & ~self.nan

    def parts(self) -> list[np.ndarray]:
        return [self.lo, self.hi, self.nan]

    def map(self, rearrange) -> "Floats":
        """The same elements elsewhere."""
        return Floats(self.dtype, *map(rearrange, self.parts()))


@dataclass
class Exact:
    """Integers and booleans: `value` in their own dtype, where not `unknown`."""

    dtype: str
    value: np.ndarray
    unknown: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    def parts(self) -> list[np.ndarray]:
        return [self.value, self.unknown]

    def map(self, rearrange) -> "Exact":
        return Exact(self.dtype, *map(rearrange, self.parts()))


Value = Floats | Exact


def exactly(dtype: str, values: np.ndarray) -> Value:
    """Known elements; floats must be what the dtype can hold."""
    if dtype not in FLOATS:
        native = np.asarray(values).astype(number_formats.storage_dtype(dtype))
        return Exact(dtype, native, np.zeros(native.shape, bool))
    values = np.asarray(values, np.float64)
    return Floats(dtype, values, values, np.isnan(values))


def anything(dtype: str, shape: tuple[int, ...]) -> Value:
    if dtype in FLOATS:
        return Floats(dtype, np.full(shape, -np.inf), np.full(shape, np.inf), np.ones(shape, bool))
    return Exact(dtype, np.zeros(shape, number_formats.storage_dtype(dtype)), np.ones(shape, bool))


def within(dtype: str, lo: np.ndarray, hi: np.ndarray, nan: np.ndarray | bool = False) -> Floats:
    """From bounds that are NaN where the value is, or may be, NaN: where only one is, nothing is known of the other."""
    none = np.isnan(lo) & np.isnan(hi)
    one = np.isnan(lo) ^ np.isnan(hi)
    lo, hi = np.where(one, -np.inf, lo), np.where(one, np.inf, hi)
    return Floats(dtype, lo, hi, np.broadcast_to(nan | none | one, lo.shape))


def widened(value: Floats, error: np.ndarray | float) -> Floats:
    """With bounds this far out. Infinite bounds stay where they are, unless the error is infinite."""
    error = np.where(np.isnan(error), np.inf, error)
    lo = np.where(np.isinf(value.lo) & np.isfinite(error), value.lo, value.lo - error)
    hi = np.where(np.isinf(value.hi) & np.isfinite(error), value.hi, value.hi + error)
    return within(value.dtype, lo, hi, value.nan)


def rounded(value: Floats, dtype: str, surely: bool) -> Floats:
    """Stored as the dtype. Where a fusion may leave this rounding out, what it was before is possible too."""
    lo, hi = number_formats.round_to(dtype, value.lo), number_formats.round_to(dtype, value.hi)
    if not surely:
        lo, hi = np.fmin(lo, value.lo), np.fmax(hi, value.hi)
    return Floats(dtype, lo, hi, value.nan)


def mid(value: Floats) -> np.ndarray:
    """A value that is possible; exact where the value is."""
    return np.where(value.lo == value.hi, value.lo, value.lo + (value.hi - value.lo) / 2)


def radius(value: Floats) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.where(value.lo == value.hi, 0.0, (value.hi - value.lo) / 2)


def magnitude(value: Floats) -> np.ndarray:
    return np.fmax(np.abs(value.lo), np.abs(value.hi))


def is_finite(value: Floats) -> np.ndarray:
    return np.isfinite(value.lo) & np.isfinite(value.hi) & ~value.nan


def contains(value: Floats, number: float) -> np.ndarray:
    return (value.lo <= number) & (number <= value.hi)


def stored_wrong(value: Value, stored: np.ndarray) -> np.ndarray:
    """Where elements of memory (float64 for floats) are not what the value may be, once it is rounded to its dtype."""
    if isinstance(value, Exact):
        return (stored != value.value) & ~value.unknown
    value = rounded(value, value.dtype, surely=True)
    is_nan = np.isnan(stored)
    return np.where(is_nan, ~value.nan, ~((value.lo <= stored) & (stored <= value.hi)))


def informative(value: Value) -> np.ndarray:
    """Where the bounds say something: within a tenth of each other, or a known integer, infinity or NaN."""
    if isinstance(value, Exact):
        return ~value.unknown
    slack = 2 * radius(value)
    steps = 0.1 + 2 * FLOATS[value.dtype].epsilon
    certainly_nan = np.isnan(value.lo)
    return certainly_nan | ~value.nan & (slack <= steps * magnitude(value) + FLOATS[value.dtype].least_step)
