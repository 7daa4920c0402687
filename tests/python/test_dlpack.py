"""Tensors of a producer written by hand, field by field as DLPack has them: what is good is computed, all else is refused by name."""

from __future__ import annotations

import ctypes
import unittest
from typing import Any, Optional, Tuple

import graphs
import kgen
import numpy


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("index", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


Numbers = ctypes.POINTER(ctypes.c_int64)


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32), ("dtype", DataType), ("shape", Numbers),
                ("strides", Numbers), ("byte_offset", ctypes.c_uint64)]  # fmt: skip


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]  # fmt: skip


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

FLOAT = 2
READ_ONLY, COPIED = 1, 2


def numbers(values: Optional[Tuple[int, ...]]) -> Any:
    return None if values is None else ctypes.cast((ctypes.c_int64 * len(values))(*values), Numbers)


class Own:
    """f32[3, 4] of 0 to 11, but for the fields that are named."""

    def __init__(self, *, name: str = "dltensor", version: Optional[int] = None, flags: int = 0, device: Any = (1, 0),
                 shape: Optional[Tuple[int, ...]] = (3, 4), strides: Optional[Tuple[int, ...]] = None, **fields: Any) -> None:  # fmt: skip
        self.array = numpy.arange(24, dtype="f4")
        self.device = device
        self.name = (name if version is None else name + "_versioned").encode()
        place = Device(*device) if [type(one) for one in device] == [int, int] else Device(1, 0)
        tensor = Tensor(self.array.ctypes.data, place, 2, DataType(FLOAT, 32, 1), numbers(shape), numbers(strides), 0)
        for field, value in fields.items():
            setattr(tensor, field, value)
        self.managed = Managed(tensor, None, None) if version is None else Versioned(version, 0, None, None, flags, tensor)

    def __dlpack__(self, **_: Any) -> Any:
        return new_capsule(ctypes.addressof(self.managed), self.name, None)

    def __dlpack_device__(self) -> Any:
        return self.device


GOOD = [
    {},
    {"strides": (4, 1)},
    {"version": 1},
    {"version": 1, "flags": READ_ONLY | COPIED},
]

BAD = [
    ({"version": 2}, "DLPack of version 2"),
    ({"version": 2, "shape": None}, "DLPack of version 2"),
    ({"name": "used_dltensor"}, "__dlpack__ gave no capsule of a tensor"),
    ({"ndim": -1}, "__dlpack__ gave a tensor of the rank -1"),
    ({"ndim": 1 << 30}, "__dlpack__ gave a tensor of the rank 1073741824"),
    ({"ndim": 1}, "the rank is 1, expected 2"),
    ({"shape": None}, "__dlpack__ gave a tensor without a shape"),
    ({"shape": (-3, 4)}, "axis 0 has the negative extent -3"),
    ({"shape": (1 << 62, 4)}, "do not fit into 63 bits"),
    ({"dtype": DataType(FLOAT, 32, 4)}, "f32 with 4 lanes, expected f32"),
    ({"dtype": DataType(77, 32, 1)}, "DLPack code 77 of 32 bits, expected f32"),
    ({"dtype": DataType(FLOAT, 7, 1)}, "DLPack code 2 of 7 bits, expected f32"),
    ({"dtype": DataType(FLOAT, 64, 1)}, "f64, expected f32"),
    ({"data": None}, "the data pointer is null, expected 48 bytes"),
    ({"byte_offset": 2}, "the data is not aligned to the 4 bytes of f32"),
    ({"strides": (1 << 61, 1)}, "spans more than 60 bits of memory"),
    ({"device": (2, 0)}, "the memory is on cuda:0, expected cpu"),
    ({"device": (999, -7)}, "DLPack device type 999 number -7, expected cpu"),
    ({"device": "cpu"}, "__dlpack_device__ gave no pair of numbers"),
    ({"device": (1,)}, "__dlpack_device__ gave no pair of numbers"),
    ({"device": ("cpu", 0)}, "__dlpack_device__ gave no pair of numbers"),
]


class Capsules(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.model = graphs.load(graphs.GATED)
        cls.x = numpy.arange(12, dtype="f4").reshape(3, 4)

    def test_good(self) -> None:
        for fields in GOOD:
            for given in ((Own(**fields), self.x), (self.x, Own(**fields))):
                with self.subTest(fields=fields):
                    numpy.testing.assert_array_equal(self.model(*given)[1], (self.x * self.x).sum(1))
        moved = Own(byte_offset=4)
        numpy.testing.assert_array_equal(self.model(moved, numpy.ones((3, 4), "f4"))[1], (self.x + 1).sum(1))
        still = self.model(self.x, Own(strides=(0, 0), byte_offset=8))
        numpy.testing.assert_array_equal(still[1], (self.x * 2).sum(1))

    def test_bad(self) -> None:
        for fields, text in BAD:
            for name, given in (("x", lambda: (Own(**fields), self.x)), ("gate", lambda: (self.x, Own(**fields)))):
                with self.subTest(fields=fields, argument=name):
                    with self.assertRaisesRegex((TypeError, kgen.ArgumentError), f"^input '{name}'.*({text})"):
                        self.model(*given())
        with self.assertRaisesRegex(kgen.ArgumentError, "^dim M is 1099511627776 .axis 0 of input 'x'., expected 0..64$"):
            self.model(Own(shape=(1 << 40, 4)), self.x)
        for fields, text in (({"version": 1, "flags": READ_ONLY}, "read-only"), ({"version": 1, "flags": COPIED}, "was copied on its way")):
            with self.assertRaisesRegex(TypeError, f"^output 'y'.*{text}"):
                self.model(self.x, self.x, out=(Own(shape=(6, 4), **fields), numpy.empty(3, "f4")))

    def test_outputs_that_overlap(self) -> None:
        memory = numpy.zeros(27, "f4")
        with self.assertRaisesRegex(kgen.ArgumentError, "^output 'y' overlaps output 'total' in memory$"):
            self.model(self.x, self.x, out=(memory[:24].reshape(6, 4), memory[20:23]))
        self.assertFalse(memory.any())
        result = Own(shape=(6, 4))
        self.model(self.x, self.x, out=(result, memory[:3]))
        numpy.testing.assert_array_equal(result.array[:12].reshape(3, 4), self.x * self.x)


if __name__ == "__main__":
    unittest.main()
