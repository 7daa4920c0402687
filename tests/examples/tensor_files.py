"""How run_graph takes a tensor: a file with the memory that it spans, and where its elements stand in it."""

from pathlib import Path
from typing import Any

import numpy as np


# Elements of less than a byte, several in one, the first in its lowest bits. NumPy has each in a byte of its own.
PACKED_BITS = {"i4": 4, "u4": 4, "f4e2m1": 4, "i2": 2, "u2": 2}


def pack(dtype: str, array: np.ndarray) -> np.ndarray:
    """The bytes that hold the elements."""
    bits = PACKED_BITS[dtype]
    of_byte = 8 // bits
    codes = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    codes = np.concatenate([codes, np.zeros(-codes.size % of_byte, np.uint8)]).reshape(-1, of_byte)
    return np.bitwise_or.reduce(codes << np.arange(0, 8, bits, dtype=np.uint8), axis=1).astype(np.uint8)


def unpack(dtype: str, element: type, data: np.ndarray, shape: list[int]) -> np.ndarray:
    """The elements that bytes hold, each of NumPy's type `element`."""
    bits = PACKED_BITS[dtype]
    codes = (data[:, None] >> np.arange(0, 8, bits, dtype=np.uint8)) & ((1 << bits) - 1)
    return codes.reshape(-1)[: int(np.prod(shape))].astype(np.uint8).view(element).reshape(shape)


def read_output(dtype: str, element: type, path: Path, shape: list[int]) -> np.ndarray:
    """A dense tensor that run_graph wrote."""
    if dtype in PACKED_BITS:
        return unpack(dtype, element, np.fromfile(path, np.uint8), shape)
    return np.fromfile(path, element).reshape(shape)


def describe_input(dtype: str, array: np.ndarray, path: Path) -> dict[str, Any]:
    """Writes the memory that a (perhaps strided) array of this dtype spans; gives its entry in the manifest."""
    description: dict[str, Any] = {"dtype": dtype, "file": str(path), "shape": list(array.shape)}
    if dtype in PACKED_BITS:
        path.write_bytes(pack(dtype, array).tobytes())
        return description
    if array.flags.c_contiguous:
        path.write_bytes(array.tobytes())
        return description
    size = array.itemsize
    strides = [stride // size for stride in array.strides]
    reach = [(extent - 1) * stride for extent, stride in zip(array.shape, strides)] if array.size else []
    low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
    memory = np.full((high - low + 1 if array.size else 0) * size, 0xFF, np.uint8)  # gaps hold NaN
    target = np.lib.stride_tricks.as_strided(memory[-low * size :].view(array.dtype), array.shape, array.strides)
    target[...] = array
    path.write_bytes(memory.tobytes())
    return description | {"strides": strides, "offset": -low}
