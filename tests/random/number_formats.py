"""kgen's dtypes: which there are, how they round, and how their elements stand in memory. NumPy alone; what it has no
type for (bf16, f8) is rounded and decoded here."""

from dataclasses import dataclass

import numpy as np

INTEGERS = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
            "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64}


@dataclass(frozen=True)
class Format:
    """A binary floating-point format. It overflows to infinity, or saturates at its greatest value."""

    bytes: int
    mantissa_bits: int
    least_exponent: int  # of a normal number
    greatest: float
    saturates: bool = False
    one_zero: bool = False  # there is no -0, and its code is the only NaN

    @property
    def epsilon(self) -> float:
        """The distance from 1 to the next number."""
        return 2.0**-self.mantissa_bits

    @property
    def least_step(self) -> float:
        """The distance of subnormal numbers."""
        return 2.0 ** (self.least_exponent - self.mantissa_bits)


FLOATS = {
    "f64": Format(8, 52, -1022, float(np.finfo(np.float64).max)),
    "f32": Format(4, 23, -126, float(np.finfo(np.float32).max)),
    "f16": Format(2, 10, -14, 65504.0),
    "bf16": Format(2, 7, -126, float.fromhex("0x1.fep127")),
    "f8e4m3": Format(1, 3, -6, 448.0, saturates=True),
    "f8e5m2": Format(1, 2, -14, 57344.0, saturates=True),
    "f8e4m3fnuz": Format(1, 3, -7, 240.0, saturates=True, one_zero=True),
    "f8e5m2fnuz": Format(1, 2, -15, 57344.0, saturates=True, one_zero=True),
}
ALL = [*FLOATS, *INTEGERS, "bool"]


def dtypes_of_class(name: str) -> list[str]:
    return {
        "any": ALL,
        "number": [*FLOATS, *INTEGERS],
        "float": list(FLOATS),
        "integer": list(INTEGERS),
        "signed": [*FLOATS, *(each for each in INTEGERS if each[0] == "i")],
    }.get(name, [name])


def compute_dtype(dtype: str) -> str:
    """What arithmetic on a float is done in."""
    return "f64" if dtype == "f64" else "f32"


def round_to(dtype: str, x: np.ndarray, saturates: bool = True) -> np.ndarray:
    """float64 values, each rounded to the nearest of the float dtype, halves to even. Where it saturates: unless told not to."""
    form = FLOATS[dtype]
    x = np.asarray(x, np.float64)
    if dtype == "f64":
        return x
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(np.where(np.isfinite(x), x, 1.0))
        step = np.ldexp(1.0, np.maximum(exponent - 1, form.least_exponent) - form.mantissa_bits)
        rounded = np.where(np.isfinite(x), np.rint(x / step) * step, x)
        overflow = np.abs(rounded) > form.greatest
        limit = form.greatest if form.saturates and saturates else np.inf
        rounded = np.where(overflow, np.copysign(limit, rounded), rounded)
        return np.where(rounded == 0, 0.0, rounded) if form.one_zero else rounded


def storage_dtype(dtype: str) -> type:
    """NumPy's type of the same width in memory: of what it has no type for, the codes'."""
    native = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bool": np.bool_, **INTEGERS}
    return native.get(dtype) or {1: np.uint8, 2: np.uint16}[FLOATS[dtype].bytes]


def all_f8(dtype: str) -> np.ndarray:
    """What each of the 256 codes stands for."""
    form = FLOATS[dtype]
    codes = np.arange(256)
    magnitude = codes & 127
    exponent, mantissa = magnitude >> form.mantissa_bits, magnitude & ((1 << form.mantissa_bits) - 1)
    normal = np.ldexp(1 + mantissa * form.epsilon, exponent - 1 + form.least_exponent)
    value = np.where(exponent == 0, mantissa * form.least_step, normal)
    if form.one_zero:
        return np.where(codes == 128, np.nan, np.where(codes & 128, -value, value))
    if dtype == "f8e4m3":
        value = np.where(magnitude == 127, np.nan, value)
    else:
        value = np.where(exponent == 31, np.where(mantissa == 0, np.inf, np.nan), value)
    return np.where(codes & 128, -value, value)


def decode(dtype: str, stored: np.ndarray) -> np.ndarray:
    """Floats as float64; integers and booleans as they are."""
    if dtype == "bf16":
        return (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype.startswith("f8"):
        return all_f8(dtype)[stored]
    return stored.astype(np.float64) if dtype in FLOATS else stored


def encode(dtype: str, values: np.ndarray) -> np.ndarray:
    """The elements in memory of values that the dtype holds exactly (or NaN)."""
    if dtype == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if dtype.startswith("f8"):
        table = all_f8(dtype)
        order = np.argsort(np.where(np.isnan(table), np.inf, table), kind="stable")
        nearest = order[np.clip(np.searchsorted(table[order], values), 0, 255)]
        not_a_number = int(np.flatnonzero(np.isnan(table))[0])
        signed_zero = np.where(np.signbit(values) & (not FLOATS[dtype].one_zero), 128, 0)
        codes = np.where(values == 0, signed_zero, nearest)
        return np.where(np.isnan(values), not_a_number, codes).astype(np.uint8)
    return values.astype(storage_dtype(dtype))
