"""Writes safetensors files: 8 bytes of header length, a JSON header, the tensors' bytes.

https://huggingface.co/docs/safetensors/index#format
"""

import json
from pathlib import Path

import ml_dtypes
import numpy as np

DTYPE_NAMES = {
    np.dtype(np.float64): "F64",
    np.dtype(np.float32): "F32",
    np.dtype(np.float16): "F16",
    np.dtype(ml_dtypes.bfloat16): "BF16",
    np.dtype(np.int64): "I64",
    np.dtype(np.int32): "I32",
}


def name_of(dtype: str) -> str:
    """The format's name of one of kgen's dtypes."""
    floats = {"f8e4m3": "F8_E4M3", "f8e5m2": "F8_E5M2", "f8e4m3fnuz": "F8_E4M3FNUZ", "f8e5m2fnuz": "F8_E5M2FNUZ",
              "f8e8m0": "F8_E8M0"}
    return floats.get(dtype, dtype.upper())


def write(path: Path, tensors: dict[str, np.ndarray], dtypes: dict[str, str] | None = None) -> None:
    """`dtypes`: kgen's, of arrays that hold codes for want of a NumPy type."""
    header, offset = {}, 0
    for name, tensor in tensors.items():
        end = offset + tensor.nbytes
        header[name] = {
            "dtype": name_of(dtypes[name]) if dtypes else DTYPE_NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, end],
        }
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the data starts at a multiple of 8, as the reference implementation's does
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for tensor in tensors.values():
            file.write(np.ascontiguousarray(tensor).tobytes())
