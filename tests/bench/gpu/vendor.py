"""Rows of the benchmark that one call of NVIDIA's libraries computes: CUB's sum, cuDNN's swish."""

import ctypes

import torch


class Cub:
    """Of vendor.cu, built into a shared library."""

    def __init__(self, path):
        self.sum_of = ctypes.CDLL(str(path)).kgen_vendor_sum
        pointer = ctypes.c_void_p
        self.sum_of.argtypes = [pointer, ctypes.POINTER(ctypes.c_size_t), pointer, pointer, ctypes.c_int64, pointer]

    def sum(self, x):
        y, size = torch.empty((), dtype=x.dtype, device=x.device), ctypes.c_size_t()

        def call(workspace):
            stream = torch.cuda.current_stream().cuda_stream
            status = self.sum_of(workspace, ctypes.byref(size), x.data_ptr(), y.data_ptr(), x.numel(), stream)
            if status != 0:
                raise RuntimeError(f"cub::DeviceReduce::Sum: CUDA error {status}")

        call(None)
        call(torch.empty(size.value, dtype=torch.uint8, device=x.device).data_ptr())
        return (y,)


class CudnnSwish:
    """Of matrices of one shape: PyTorch's own copy of cuDNN, through the C API of cudnn_ops.h."""

    nchw, bf16, swish, propagate_nan = 0, 9, 6, 1  # values of its enumerations

    def __init__(self, shape):
        self.c = ctypes.CDLL("libcudnn.so.9")  # PyTorch has loaded it
        self.c.cudnnGetErrorString.restype = ctypes.c_char_p
        self.handle = self.create("cudnnCreate")
        self.activation = self.create("cudnnCreateActivationDescriptor")
        self.call("cudnnSetActivationDescriptor", self.activation, self.swish, self.propagate_nan, ctypes.c_double(1))
        self.call("cudnnSetActivationDescriptorSwishBeta", self.activation, ctypes.c_double(1))
        self.matrix = self.create("cudnnCreateTensorDescriptor")
        self.call("cudnnSetTensor4dDescriptor", self.matrix, self.nchw, self.bf16, 1, 1, *shape)

    def call(self, function, *arguments):
        status = getattr(self.c, function)(*arguments)
        if status != 0:
            raise RuntimeError(f"{function}: {self.c.cudnnGetErrorString(status).decode()}")

    def create(self, function):
        made = ctypes.c_void_p()
        self.call(function, ctypes.byref(made))
        return made

    def __call__(self, x):
        y, one, zero = torch.empty_like(x), ctypes.c_float(1), ctypes.c_float(0)
        self.call("cudnnSetStream", self.handle, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        self.call("cudnnActivationForward", self.handle, self.activation, ctypes.byref(one), self.matrix,
                  ctypes.c_void_p(x.data_ptr()), ctypes.byref(zero), self.matrix, ctypes.c_void_p(y.data_ptr()))
        return (y,)


def function_of(graph, inputs, cub_path):
    """The row's results of such inputs; None where no call computes it. Raises AttributeError, OSError or RuntimeError
    where a library is missing, lacks a function or declines."""
    if graph == "sum_f32":
        return Cub(cub_path).sum
    if graph == "silu_bf16":
        return CudnnSwish(inputs[0].shape)
    return None
