"""Graphs that kgen emitted, in shared libraries, loaded and run through the C ABI on NumPy's arrays."""

import ctypes
import os

import numpy as np

DL_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
DL_BY_NAME = {"bfloat16": 4, "float8_e4m3fn": 1}  # kgen takes u8 for 8-bit floats


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class LoadOptions(ctypes.Structure):
    _fields_ = [("weights_directory", ctypes.c_char_p)] + [
        (name, ctypes.c_int) for name in ("threads", "check", "device", "eager", "synchronous")
    ]


class Tensors:
    """Arrays as the C ABI takes them."""

    def __init__(self, arrays):
        self.arrays = [np.ascontiguousarray(array).reshape(np.shape(array)) for array in arrays]
        self.held = [self.describe(array) for array in self.arrays]
        self.pointers = (ctypes.c_void_p * len(self.held))(*[ctypes.addressof(each) for each in self.held])

    @staticmethod
    def describe(array):
        strides = [stride // array.itemsize for stride in array.strides]
        many = ctypes.c_int64 * array.ndim
        code = DL_BY_NAME.get(array.dtype.name)
        return DLTensor(array.ctypes.data, 1, 0, array.ndim, DL_CODES[array.dtype.kind] if code is None else code,
                        array.itemsize * 8, 1, many(*array.shape), many(*strides), 0)


class Model:
    """The graph of a shared library, loaded, with inputs and with outputs of its own. RuntimeError: what kgen says."""

    def __init__(self, library, graph, weights_directory, threads, inputs, outputs):
        self.c = ctypes.CDLL(str(library), mode=os.RTLD_LOCAL | os.RTLD_NOW)
        self.c.kgen_last_error.restype = ctypes.c_char_p
        function = getattr(self.c, f"kgen_graph_{graph}")
        function.restype = ctypes.c_void_p
        pointer, number = ctypes.c_void_p, ctypes.c_int
        self.c.kgen_model_load.argtypes = [pointer, ctypes.POINTER(LoadOptions), ctypes.POINTER(pointer)]
        self.c.kgen_model_run.argtypes = [pointer, pointer, number, pointer, number]
        self.c.kgen_model_free.argtypes = [pointer]
        self.handle = pointer()
        load = LoadOptions(weights_directory=str(weights_directory).encode(), threads=threads)
        self.require(self.c.kgen_model_load(function(), ctypes.byref(load), ctypes.byref(self.handle)))
        self.inputs, self.outputs = Tensors(inputs), Tensors(outputs)
        self.arguments = (self.handle, self.inputs.pointers, len(self.inputs.held), self.outputs.pointers,
                          len(self.outputs.held))

    def require(self, status):
        if status != 0:
            raise RuntimeError(self.c.kgen_last_error().decode())

    def run(self):
        self.require(self.c.kgen_model_run(*self.arguments))

    def free(self):
        self.c.kgen_model_free(self.handle)
