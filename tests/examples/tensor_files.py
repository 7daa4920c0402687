"""How run_graph takes a tensor: a file with the memory that it spans, and where its elements stand in it."""

from pathlib import Path
from typing import Any

import numpy as np


def describe_input(dtype: str, array: np.ndarray, path: Path) -> dict[str, Any]:
    """Writes the memory that a (perhaps strided) array of this dtype spans; gives its entry in the manifest."""
    description: dict[str, Any] = {"dtype": dtype, "file": str(path), "shape": list(array.shape)}
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
