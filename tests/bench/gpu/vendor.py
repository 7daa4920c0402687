"""Rows of the benchmark for which a call of NVIDIA's libraries is known here: CUB's sum, graphs of cuDNN.

For softmax with a mask, rope, quantisation by rows and cross entropy nothing was tried."""

import ctypes

import torch
from cudnn_graph import Graph


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


def grayscale(graph, red, green, blue):
    parts = [graph.pointwise("mul", x, graph.scalar(w)) for x, w in ((red, 0.21), (green, 0.71), (blue, 0.07))]
    return (graph.pointwise("add", graph.pointwise("add", parts[0], parts[1]), parts[2], dtype=red.dtype),)


def silu(graph, x):
    return (graph.pointwise("swish", x, dtype=x.dtype),)


def bias_gelu_residual(graph, x, bias, residual):
    active = graph.pointwise("gelu", graph.pointwise("add", x, bias))
    return (graph.pointwise("add", active, residual, dtype=x.dtype),)


def rms_norm(graph, x, weight):
    return (graph.norm("rms_norm", x, weight, epsilon=1e-6, dtype=x.dtype),)


def add_rms_norm(graph, x, residual, weight):
    h = graph.pointwise("add", x, residual, dtype=x.dtype)
    return h, graph.norm("rms_norm", h, weight, epsilon=1e-6, dtype=x.dtype)


def swiglu(graph, gate, up):
    return (graph.pointwise("mul", graph.pointwise("swish", gate), up, dtype=gate.dtype),)


def layer_norm_gelu(graph, x, weight, bias):
    normed = graph.norm("layer_norm", x, weight, bias, epsilon=1e-5)
    return (graph.pointwise("gelu", normed, dtype=x.dtype),)


CUDNN = {
    "silu_bf16": silu,
    "bias_gelu_residual_bf16": bias_gelu_residual,
    "rms_norm_bf16": rms_norm,
    "add_rms_norm_bf16": add_rms_norm,
    "swiglu_bf16": swiglu,
    "layer_norm_gelu_bf16": layer_norm_gelu,
}


def function_of(row, inputs, cub_path):
    """A function from such inputs to the row's results; None where no call is known here. Raises AttributeError,
    OSError or RuntimeError where a library is missing, lacks a function or declines."""
    if row == "sum_f32":
        return Cub(cub_path).sum
    if row == "grayscale":
        graph = Graph(grayscale, *inputs[0])
        return lambda image: graph(*image)
    return Graph(CUDNN[row], *inputs) if row in CUDNN else None
