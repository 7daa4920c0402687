"""kgen's graphs of a shared library, called through the C ABI on PyTorch's tensors and on its stream."""

import ctypes

import torch

DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f8e4m3": torch.float8_e4m3fn,
    "i32": torch.int32,
    "i8": torch.int8,
    "i64": torch.int64,
    "u8": torch.uint8,
    "bool": torch.bool,
}


class TensorInfo(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_uint32),
        ("dtype_name", ctypes.c_char_p),
        ("rank", ctypes.c_int),
        ("dims", ctypes.POINTER(ctypes.c_char_p)),
        ("strided", ctypes.c_int),
        ("on_host", ctypes.c_int),
    ]


class LoadOptions(ctypes.Structure):
    _fields_ = [("weights_directory", ctypes.c_char_p)] + [
        (name, ctypes.c_int) for name in ("threads", "check", "device", "eager", "synchronous")
    ]


def as_dlpack(tensor):
    """What holds the tensor, and the address of its DLTensor, with which a DLManagedTensor begins."""
    if tensor.dtype.is_floating_point and tensor.dtype.itemsize == 1:
        tensor = tensor.view(torch.uint8)  # kgen takes u8 for 8-bit floats, of which older producers know none
    capsule = torch.utils.dlpack.to_dlpack(tensor)
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return capsule, get_pointer(capsule, b"dltensor")


class Library:
    def __init__(self, path):
        self.path, self.c = path, ctypes.CDLL(str(path))
        self.c.kgen_last_error.restype = ctypes.c_char_p
        self.c.kgen_rows_graph.restype = ctypes.c_void_p
        self.c.kgen_rows_graph.argtypes = [ctypes.c_char_p]
        self.c.kgen_graph_output.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(TensorInfo)]
        self.c.kgen_graph_output_count.argtypes = [ctypes.c_void_p]
        pointer, number = ctypes.c_void_p, ctypes.c_int
        self.c.kgen_model_load.argtypes = [pointer, ctypes.POINTER(LoadOptions), ctypes.POINTER(pointer)]
        self.c.kgen_model_run_on.argtypes = [pointer, pointer, number, pointer, number, pointer]
        self.c.kgen_model_free.argtypes = [ctypes.c_void_p]

    def require(self, status):
        if status != 0:
            raise RuntimeError(self.c.kgen_last_error().decode())

    def graph(self, name):
        """None where the library was built without it."""
        return self.c.kgen_rows_graph(name.encode())


class Model:
    def __init__(self, library, graph, weights=None, eager=0):
        """`weights`: the folder of the graph's safetensors files; without, the working directory."""
        self.library, self.graph = library, graph
        self.handle = ctypes.c_void_p()
        options = LoadOptions(weights_directory=str(weights).encode() if weights else None, eager=eager)
        library.require(library.c.kgen_model_load(graph, ctypes.byref(options), ctypes.byref(self.handle)))

    def output_dtypes(self):
        info = TensorInfo()
        for index in range(self.library.c.kgen_graph_output_count(self.graph)):
            self.library.require(self.library.c.kgen_graph_output(self.graph, index, ctypes.byref(info)))
            yield DTYPES[info.dtype_name.decode()]

    def close(self):
        self.library.c.kgen_model_free(self.handle)
        self.handle = None

    def run(self, inputs, outputs):
        """Queues a call on these tensors in PyTorch's current stream."""
        self.prepared(inputs, outputs)()

    def prepared(self, inputs, outputs):
        """What makes that call."""
        held = [[as_dlpack(tensor) for tensor in tensors] for tensors in (inputs, outputs)]
        arrays = [(ctypes.c_void_p * len(side))(*[pointer for _, pointer in side]) for side in held]
        stream = torch.cuda.current_stream().cuda_stream

        def call(held=held):
            self.library.require(
                self.library.c.kgen_model_run_on(self.handle, arrays[0], len(inputs), arrays[1], len(outputs), stream)
            )

        return call
