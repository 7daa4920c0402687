"""Graphs of cuDNN's operations on matrices, through the C API of cudnn_graph.h.

What is made here lives as long as the process.
"""

import ctypes
import functools
from dataclasses import dataclass

import torch

# Types of attributes (cudnnBackendAttributeType_t), and an element of each in C.
HANDLE, DATA_TYPE, BOOLEAN, INT64 = (0, ctypes.c_void_p), (1, ctypes.c_int), (2, ctypes.c_bool), (3, ctypes.c_int64)
VOID_PTR, HEUR_MODE, POINTWISE_MODE = (6, ctypes.c_void_p), (8, ctypes.c_int), (14, ctypes.c_int)
DESCRIPTOR, NORM_MODE, NORM_FWD_PHASE = (15, ctypes.c_void_p), (27, ctypes.c_int), (28, ctypes.c_int)

# Descriptors (cudnnBackendDescriptorType_t) and their attributes (cudnnBackendAttributeName_t), named as there.
KINDS = {
    "pointwise": (0, {"mode": (0, POINTWISE_MODE), "math_prec": (1, DATA_TYPE)}),
    "enginecfg": (3, {}),
    "engineheur": (4, {"mode": (200, HEUR_MODE), "operation_graph": (201, DESCRIPTOR), "results": (202, DESCRIPTOR)}),
    "execution_plan": (
        5,
        {"handle": (400, HANDLE), "engine_config": (401, DESCRIPTOR), "workspace_size": (402, INT64)},
    ),
    "operation_pointwise": (
        13,
        {
            "pw_descriptor": (750, DESCRIPTOR),
            "xdesc": (751, DESCRIPTOR),
            "bdesc": (752, DESCRIPTOR),
            "ydesc": (753, DESCRIPTOR),
        },
    ),
    "operationgraph": (15, {"handle": (800, HANDLE), "ops": (801, DESCRIPTOR)}),
    "variant_pack": (
        16,
        {"unique_ids": (1000, INT64), "data_pointers": (1001, VOID_PTR), "workspace": (1003, VOID_PTR)},
    ),
    "tensor": (
        17,
        {
            "byte_alignment": (900, INT64),
            "data_type": (901, DATA_TYPE),
            "dimensions": (902, INT64),
            "strides": (903, INT64),
            "unique_id": (906, INT64),
            "is_virtual": (907, BOOLEAN),
            "is_by_value": (908, BOOLEAN),
        },
    ),
    "operation_norm_forward": (
        29,
        {
            "mode": (2000, NORM_MODE),
            "phase": (2001, NORM_FWD_PHASE),
            "xdesc": (2002, DESCRIPTOR),
            "scale_desc": (2005, DESCRIPTOR),
            "bias_desc": (2006, DESCRIPTOR),
            "epsilon_desc": (2007, DESCRIPTOR),
            "ydesc": (2013, DESCRIPTOR),
        },
    ),
}

FLOAT = 0
DATA_TYPES = {torch.float32: FLOAT, torch.bfloat16: 9}
FUNCTIONS = {"add": 0, "mul": 1, "gelu": 104, "swish": 106}
NORMS = {"layer_norm": 0, "rms_norm": 4}
INFERENCE = 0  # phase of a norm whose statistics are no results
HEUR_MODE_A, HEUR_MODE_FALLBACK = 3, 2
MOST_ENGINES = 8
TIMED_CALLS = 5  # of each engine, from which the fastest is chosen


@functools.cache
def library():
    cudnn = ctypes.CDLL("libcudnn.so.9")  # PyTorch has loaded it
    cudnn.cudnnGetErrorString.restype = ctypes.c_char_p
    return cudnn


def call(function, *arguments):
    status = getattr(library(), function)(*arguments)
    if status != 0:
        message = ctypes.create_string_buffer(1024)
        library().cudnnGetLastErrorString(message, ctypes.c_size_t(len(message)))
        raise RuntimeError(f"{function}: {library().cudnnGetErrorString(status).decode()}: {message.value.decode()}")


def pointer(value):
    return ctypes.c_void_p(value)


def created(function, *arguments):
    result = ctypes.c_void_p()
    call(function, *arguments, ctypes.byref(result))
    return result.value


@functools.cache
def handle():
    return created("cudnnCreate")


def descriptor(kind, **attributes):
    """A finished descriptor of one of KINDS. Each attribute is a value or a list of values; None leaves it unset."""
    number, known = KINDS[kind]
    result = created("cudnnBackendCreateDescriptor", number)
    for name, value in attributes.items():
        if value is not None:
            attribute, (type_number, element) = known[name]
            values = value if isinstance(value, list) else [value]
            array, count = (element * len(values))(*values), ctypes.c_int64(len(values))
            call("cudnnBackendSetAttribute", pointer(result), attribute, type_number, count, array)
    call("cudnnBackendFinalize", pointer(result))
    return result


def values_of(of, kind, name, places=(0,)):
    """The values of the attribute `name` of the descriptor `of`, as many as there are places at most. Where values are
    descriptors, cuDNN makes none: the places are such, created by the caller, and it fills those."""
    attribute, (type_number, element) = KINDS[kind][1][name]
    array, count = (element * len(places))(*places), ctypes.c_int64()
    call("cudnnBackendGetAttribute", pointer(of), attribute, type_number, ctypes.c_int64(len(places)),
         ctypes.byref(count), array)
    return array[: count.value]


@dataclass
class Matrix:
    descriptor: int
    number: int
    shape: tuple[int, int]  # a vector is a matrix of one row
    dtype: torch.dtype | None  # None for what has no place in memory


class Graph:
    """Of operations in f32. `describe(graph, *matrices)` adds them, and returns a tuple of those that are results.

    Takes contiguous tensors like `tensors`; returns a tuple of them. Of the engines that cuDNN names, MOST_ENGINES at
    most, it keeps the fastest by one timing. Raises RuntimeError where cuDNN declines."""

    def __init__(self, describe, *tensors):
        self.count, self.operations, self.scalars = 0, [], {}
        self.inputs = [self.input(tensor) for tensor in tensors]
        self.results = describe(self, *self.inputs)
        plans = plans_of(descriptor("operationgraph", handle=handle(), ops=self.operations))
        self.plan = min(plans, key=lambda plan: self.time(plan, tensors))

    def matrix(self, shape, dtype, by_value=False):
        self.count += 1
        rows, columns = shape
        described = descriptor(
            "tensor",
            byte_alignment=16,
            data_type=DATA_TYPES[dtype] if dtype else FLOAT,
            dimensions=[rows, columns, 1, 1],  # images of one pixel, its channels side by side: no other layout that
            strides=[columns, 1, columns, columns],  # was tried suits both pointwise operations and norms
            unique_id=self.count,
            is_virtual=dtype is None,
            is_by_value=by_value,
        )
        return Matrix(described, self.count, shape, dtype)

    def input(self, tensor):
        return self.matrix(tuple(tensor.shape) if tensor.dim() == 2 else (1, len(tensor)), tensor.dtype)

    def scalar(self, value):
        result = self.matrix((1, 1), torch.float32, by_value=True)
        self.scalars[result.number] = ctypes.c_float(value)
        return result

    def pointwise(self, function, x, other=None, dtype=None):
        """One of FUNCTIONS. `dtype`: of a result in memory."""
        y = self.matrix(x.shape, dtype)
        operation = descriptor(
            "operation_pointwise",
            pw_descriptor=descriptor("pointwise", mode=FUNCTIONS[function], math_prec=FLOAT),
            xdesc=x.descriptor,
            bdesc=other and other.descriptor,
            ydesc=y.descriptor,
        )
        self.operations.append(operation)
        return y

    def norm(self, name, x, weight, bias=None, *, epsilon, dtype=None):
        """One of NORMS, row by row. `dtype`: of a result in memory."""
        y = self.matrix(x.shape, dtype)
        operation = descriptor(
            "operation_norm_forward",
            mode=NORMS[name],
            phase=INFERENCE,
            xdesc=x.descriptor,
            scale_desc=weight.descriptor,
            bias_desc=bias and bias.descriptor,
            epsilon_desc=self.scalar(epsilon).descriptor,
            ydesc=y.descriptor,
        )
        self.operations.append(operation)
        return y

    def __call__(self, *tensors):
        return self.run(self.plan, tensors)

    def run(self, plan, tensors):
        results = tuple(torch.empty(matrix.shape, dtype=matrix.dtype, device="cuda") for matrix in self.results)
        (size,) = values_of(plan, "execution_plan", "workspace_size")
        workspace = torch.empty(size, dtype=torch.uint8, device="cuda")
        matrices = zip([*self.inputs, *self.results], [*tensors, *results], strict=True)
        memory = {matrix.number: tensor.data_ptr() for matrix, tensor in matrices}
        memory |= {number: ctypes.addressof(value) for number, value in self.scalars.items()}
        arguments = descriptor(
            "variant_pack",
            unique_ids=list(memory),
            data_pointers=list(memory.values()),
            workspace=workspace.data_ptr(),
        )
        call("cudnnSetStream", pointer(handle()), pointer(torch.cuda.current_stream().cuda_stream))
        call("cudnnBackendExecute", pointer(handle()), pointer(plan), pointer(arguments))
        return results

    def time(self, plan, tensors):
        """Milliseconds of TIMED_CALLS; infinite where the plan cannot be run."""
        graph = torch.cuda.CUDAGraph()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        try:
            self.run(plan, tensors)
            with torch.cuda.graph(graph):
                for _ in range(TIMED_CALLS):
                    self.run(plan, tensors)
        except RuntimeError:
            torch.cuda.synchronize()  # raises where the device is of no use any more
            return float("inf")
        graph.replay()
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)


def plans_of(graph):
    """A plan for each of the engines that cuDNN's heuristics name for the graph, the likely fastest first; where it can
    plan with none of those, for each of its fallback's. Raises what cuDNN said last where it can plan with none."""
    declined = RuntimeError("cuDNN has no engine for it")
    for mode in (HEUR_MODE_A, HEUR_MODE_FALLBACK):
        plans = []
        try:
            choice = descriptor("engineheur", mode=mode, operation_graph=graph)
            places = [created("cudnnBackendCreateDescriptor", KINDS["enginecfg"][0]) for _ in range(MOST_ENGINES)]
            engines = values_of(choice, "engineheur", "results", places)
        except RuntimeError as error:
            declined, engines = error, []
        for engine in engines:
            try:
                plans.append(descriptor("execution_plan", handle=handle(), engine_config=engine))
            except RuntimeError as error:
                declined = error
        if plans:
            return plans
    raise declined
