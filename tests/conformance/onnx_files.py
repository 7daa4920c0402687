"""What the runner reads of ONNX's files: tensors, and the names of a model's inputs, outputs and operators. The few fields
are taken from the wire, so that no package of ONNX's is needed. https://protobuf.dev/programming-guides/encoding"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
from tensor_files import PACKED_BITS, unpack  # noqa: E402

# By TensorProto.DataType: kgen's name and the element's type in NumPy. What is missing here, kgen has not either.
DTYPES = {
    1: ("f32", np.float32), 2: ("u8", np.uint8), 3: ("i8", np.int8), 4: ("u16", np.uint16), 5: ("i16", np.int16),
    6: ("i32", np.int32), 7: ("i64", np.int64), 9: ("bool", np.bool_), 10: ("f16", np.float16),
    11: ("f64", np.float64), 12: ("u32", np.uint32), 13: ("u64", np.uint64), 16: ("bf16", ml_dtypes.bfloat16),
    17: ("f8e4m3", ml_dtypes.float8_e4m3fn), 18: ("f8e4m3fnuz", ml_dtypes.float8_e4m3fnuz),
    19: ("f8e5m2", ml_dtypes.float8_e5m2), 20: ("f8e5m2fnuz", ml_dtypes.float8_e5m2fnuz), 21: ("u4", ml_dtypes.uint4),
    22: ("i4", ml_dtypes.int4), 23: ("f4e2m1", ml_dtypes.float4_e2m1fn), 24: ("f8e8m0", ml_dtypes.float8_e8m0fnu),
    25: ("u2", ml_dtypes.uint2), 26: ("i2", ml_dtypes.int2),
}


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message: their numbers, and what they hold."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = {1: 8, 5: 4}[wire]
            value, at = data[at:at + size], at + size
        yield number, value


def signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def packed(value: int | bytes) -> list[int]:
    """Whole numbers, one or many in one field."""
    if isinstance(value, int):
        return [signed(value)]
    numbers, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        numbers.append(signed(number))
    return numbers


@dataclass
class Tensor:
    dtype: str  # kgen's
    array: np.ndarray


def read_tensor(data: bytes) -> Tensor:
    """A TensorProto. LookupError where kgen has no such type, or it is no tensor."""
    dims: list[int] = []
    code, raw = 0, None
    reals, whole = b"", []
    for number, value in fields(data):
        if number == 1:
            dims += packed(value)
        elif number == 2:
            code = value
        elif number in (4, 10):
            reals += value
        elif number in (5, 7, 11):
            whole += packed(value)
        elif number == 9:
            raw = value
    if code not in DTYPES:
        raise LookupError(f"tensors of ONNX's type {code}")
    name, element = DTYPES[code]
    if name in PACKED_BITS and raw is not None:
        array = unpack(name, element, np.frombuffer(raw, np.uint8), dims)
    elif raw is not None:
        array = np.frombuffer(raw, element)
    elif name in PACKED_BITS:
        array = unpack(name, element, np.array(whole, np.uint8), dims)
    elif code in (1, 11):
        array = np.frombuffer(reals, element)
    elif code in (10, 16, 17, 18, 19, 20, 24):  # the bits
        array = np.array(whole, np.uint16 if code in (10, 16) else np.uint8).view(element)
    else:
        array = np.array(whole, object).astype(element)
    return Tensor(name, array.reshape(dims).copy())


@dataclass
class Model:
    inputs: list[str]  # but for those that are weights
    places: list[int]  # of these among all inputs
    outputs: list[str]
    operators: list[str]
    nodes: int = 0


def read_model(path: Path) -> Model:
    graph = next(value for number, value in fields(path.read_bytes()) if number == 7)
    inputs, outputs, weights, operators, nodes = [], [], set(), set(), 0
    for number, value in fields(graph):
        if number == 1:
            nodes += 1
            operators.add(next((text.decode() for field, text in fields(value) if field == 4), "?"))
        elif number in (11, 12):
            name = next((text.decode() for field, text in fields(value) if field == 1), "")
            (inputs if number == 11 else outputs).append(name)
        elif number == 5:
            weights.add(next((text.decode() for field, text in fields(value) if field == 8), ""))
    places = [i for i, name in enumerate(inputs) if name not in weights]
    return Model([inputs[i] for i in places], places, outputs, sorted(operators), nodes)
