"""The sides of the benchmark: what computes a row, ready to be timed. Each lives in a worker process of its own."""

import ctypes
import json
import statistics
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from operators import max_source, torch_source
from rows import DTYPES

warnings.filterwarnings("ignore")


class Job:
    """A row, or what else is computed, and where what belongs to it lies."""

    def __init__(self, row, folder, libraries, threads):
        self.row, self.folder, self.libraries, self.threads = row, Path(folder), Path(libraries), threads
        self.name, self.dtype, self.input_names = row.name(), row.main_dtype(), list(row.inputs)
        data = row.data()
        self.inputs = [data[name] for name in row.inputs]
        self.constants = {name: data[name] for name in row.constants}

    def weights_directory(self):
        """Where kgen finds the constants: they are written there."""
        import safetensors  # of tests/examples

        narrow = self.narrow()
        arrays = {name: packed(array) if name in narrow else array for name, array in self.constants.items()}
        dtypes = {name: "u8" if name in narrow else value.dtype for name, value in self.row.constants.items()}
        if arrays:
            safetensors.write(self.folder / "weights.safetensors", arrays, dtypes)
        return self.folder

    def narrow(self):
        """The dtypes of constants that have 4 bits, by name."""
        return {name: value.dtype for name, value in self.row.constants.items() if value.dtype in ("i4", "u4")}

    def kgen_inputs(self):
        return self.inputs

    def export(self, path):
        write_onnx(self.module(), self.inputs, self.input_names, path)
        if self.narrow():
            store_narrow(path, self.narrow())

    def meaning(self, results):
        """What the sides are held against: of `results`, which are PyTorch's in float64."""
        return results

    def hinted(self):
        """Of what OpenVINO gets: the ONNX file, its inputs, and in what it has to compute, where that is said."""
        return "row.onnx", self.inputs, "f32" if self.dtype == "f32" else None  # else it may compute in bf16

    def moved(self, results):
        """Bytes that must move: all that it reads and writes, once, if the row says nothing else. `results`: (count, dtype)."""
        written = sum(count * np.dtype(DTYPES[dtype]).itemsize for count, dtype in results)
        read = sum(value.bytes() for value in [*self.row.inputs.values(), *self.row.constants.values()])
        return self.row.moved or int(read + written)

    def module(self):
        """The row as a module of PyTorch, whose parameters are the constants."""
        import torch

        namespace = torch_namespace()
        file = self.folder / "in_pytorch.py"  # in a file, which PyTorch's tools look into
        file.write_text(torch_source(self.row.graph))
        exec(compile(file.read_text(), str(file), "exec"), namespace)
        compute, constants = namespace["compute"], self.constants

        class Module(torch.nn.Module):
            def __init__(self):
                super().__init__()
                for name, array in constants.items():
                    self.register_parameter(name, torch.nn.Parameter(as_torch(array), requires_grad=False))
                self.names = list(constants)

            def forward(self, *inputs):
                return compute(*inputs, *(getattr(self, name) for name in self.names))

        return Module().eval()


# ---- kgen ------------------------------------------------------------------------------------------------------------


def packed(array):
    """Numbers of 4 bits, two to a byte, the first in the lower half."""
    flat = np.append(array.reshape(-1).view(np.uint8) & 15, np.zeros(array.size % 2, np.uint8))
    return flat[::2] | flat[1::2] << 4


class Kgen:
    def __init__(self, job):
        tests = Path(__file__).resolve().parents[2]
        sys.path[:0] = [str(tests / "bench"), str(tests / "examples")]  # here alone: others have a safetensors of their own
        from kgen_model import Model

        library = job.libraries / f"lib{job.name}.so"
        if not library.exists():
            raise RuntimeError("its source does not compile")
        # Shapes are the reference's: kgen holds them against its own.
        results = json.loads((job.folder / "results.json").read_text())
        outputs = [np.empty(shape, DTYPES[dtype]) for shape, dtype in results]
        for output in outputs:
            output.reshape(-1).view(np.uint8).fill(255)
        self.model = Model(library, job.name, job.weights_directory(), job.threads, job.kgen_inputs(), outputs)
        self.run = self.model.run

    def outputs(self):
        return self.model.outputs.arrays

    def close(self):
        self.model.free()


class Copy:
    """Moves as many bytes as the row has to, half of them read, half written."""

    streaming = 0

    def __init__(self, job):
        library = ctypes.CDLL(str(job.libraries / "libfloor.so"))
        half = max(64, json.loads((job.folder / "moved.json").read_text()) // 2)
        self.source, self.target = np.ones(half + 64, np.uint8), np.zeros(half + 64, np.uint8)
        begins = [array.ctypes.data + -array.ctypes.data % 64 for array in (self.target, self.source)]

        def on(threads):
            arguments = (*map(ctypes.c_void_p, begins), ctypes.c_size_t(half), threads, self.streaming)
            return lambda: library.floor_copy(*arguments)

        # Few bytes are moved faster by one thread.
        self.run = on(job.threads)
        alone = on(1)
        warm_up(self)
        if min(seconds_of(alone) for _ in range(9)) < min(seconds_of(self.run) for _ in range(9)):
            self.run = alone

    def outputs(self):
        return None

    def close(self):
        pass


class Stream(Copy):
    """The same past the cache."""

    streaming = 1


# ---- PyTorch ---------------------------------------------------------------------------------------------------------


def torch_namespace():
    import torch
    import torch.nn.functional as F

    names = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32",
             "i16": "int16", "i8": "int8", "u8": "uint8", "bool": "bool", "i4": "int8", "u4": "uint8"}
    return {"torch": torch, "F": F, "dtypes": {short: getattr(torch, name) for short, name in names.items()},
            "quantized_matmul": quantized_matmul, "quantize_linear": quantize_linear}


def dequantized(x, scale, *more):
    """As ONNX's operator, in an export."""
    import torch

    axis = {"axis": x.dim() - 1} if scale.dim() else {}
    return torch.onnx.ops.symbolic("DequantizeLinear", (x, scale, *more), axis, dtype=torch.float32, shape=x.shape, version=21)


def quantized_matmul(x, x_scale, x_zero, w, w_scale):
    """The product of what bytes stand for: x has one scale and what stands for 0, w a scale for each column."""
    import torch

    if torch.compiler.is_exporting():
        return dequantized(x, x_scale, x_zero) @ dequantized(w, w_scale)
    sums = torch._int_mm(x, w) - x_zero.int() * w.sum(0, dtype=torch.int32)
    return sums.to(x_scale.dtype) * (x_scale * w_scale)


def quantize_linear(x, scale, zero):
    import torch

    if torch.compiler.is_exporting():
        return torch.onnx.ops.symbolic("QuantizeLinear", (x, scale, zero), dtype=zero.dtype, shape=x.shape, version=21)
    return (torch.round(x / scale) + zero).clamp(*((0, 255) if zero.dtype == torch.uint8 else (-128, 127))).to(zero.dtype)


def as_torch(array):
    import torch

    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def as_numpy(tensor):
    import torch

    if tensor.dtype == torch.bfloat16:
        return tensor.contiguous().view(torch.uint16).numpy().view(DTYPES["bf16"])
    return tensor.contiguous().numpy()


class Eager:
    def __init__(self, job):
        import torch

        torch.set_num_threads(job.threads)
        self.job = job
        self.inputs = [as_torch(array) for array in job.inputs]
        self.compute = self.prepare(job.module())
        self.no_grad = torch.inference_mode()
        self.no_grad.__enter__()
        self.last = None

    def prepare(self, module):
        return module

    def run(self):
        self.last = None  # whose memory the next results then have
        self.last = self.compute(*self.inputs)

    def outputs(self):
        return [as_numpy(tensor) for tensor in self.last]

    def close(self):
        self.no_grad.__exit__(None, None, None)

    def reference(self):
        """The results in float64, the dtypes that they have, and how many operations of matrix products they take."""
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel
        from torch.utils.flop_counter import FlopCounterMode

        def exact(tensor):
            return tensor.double() if tensor.is_floating_point() else tensor

        module = self.job.module()
        def of_bytes(a, b, out_shape=None):
            return 2 * a[0] * a[1] * b[1]

        counter = FlopCounterMode(display=False, custom_mapping={torch.ops.aten._int_mm: of_bytes})
        with sdpa_kernel(SDPBackend.MATH), counter:  # which counts no fused attention
            dtypes = [tensor.dtype for tensor in module(*self.inputs)]
        results = [as_numpy(tensor) for tensor in module.double()(*map(exact, self.inputs))]
        short = {torch_dtype: name for name, torch_dtype in reversed(torch_namespace()["dtypes"].items())}
        return results, [short[dtype] for dtype in dtypes], counter.get_total_flops()


class Compile(Eager):
    mode = "default"

    def prepare(self, module):
        import torch

        torch._dynamo.reset()
        torch._dynamo.config.recompile_limit = 1000
        torch._inductor.config.freezing = bool(self.job.constants)  # else they are not packed
        return torch.compile(module, mode=self.mode, dynamic=False, fullgraph=True)


class MaxAutotune(Compile):
    mode = "max-autotune-no-cudagraphs"


def write_onnx(module, inputs, names, path):
    import torch

    torch.onnx.export(module, tuple(map(as_torch, inputs)), str(path), dynamo=True, input_names=names, verbose=False,
                      opset_version=21, optimize=True, external_data=False)


def export_onnx(job):
    """PyTorch's ONNX of the row, which is made once."""
    path = job.folder / "row.onnx"
    if not path.exists():
        part = path.with_suffix(".part")
        job.export(part)
        part.rename(path)


def store_narrow(path, dtypes):
    """Constants of 4 bits, which PyTorch has as i8, stored as what they are. `dtypes`: kgen's, by name."""
    import onnx

    model = onnx.load(path)
    for tensor in model.graph.initializer:
        if tensor.name in dtypes:
            bits = packed(onnx.numpy_helper.to_array(tensor)).tobytes()
            kind = onnx.TensorProto.INT4 if dtypes[tensor.name] == "i4" else onnx.TensorProto.UINT4
            tensor.CopyFrom(onnx.helper.make_tensor(tensor.name, kind, tensor.dims, bits, raw=True))
    onnx.save(model, path)


# ---- ONNX Runtime, OpenVINO ------------------------------------------------------------------------------------------


def onnx_file(job, name="row.onnx"):
    path = job.folder / name
    if not path.exists():
        raise RuntimeError((job.folder / "row.onnx.error").read_text())
    return str(path)


class OnnxRuntime:
    def __init__(self, job):
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = job.threads, 1
        options.log_severity_level = 4
        self.session = ort.InferenceSession(onnx_file(job), options, providers=["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        self.held = []
        for given, array in zip(self.session.get_inputs(), job.inputs):
            if array.dtype.name == "bfloat16":
                value = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(np.uint16), 16)
            else:
                value = ort.OrtValue.ortvalue_from_numpy(array)
            self.held.append(value)
            self.binding.bind_ortvalue_input(given.name, value)
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name, "cpu")
        self.session.run_with_iobinding(self.binding)
        results = self.binding.get_outputs()  # from here on written in place
        for output, value in zip(self.session.get_outputs(), results):
            self.binding.bind_ortvalue_output(output.name, value)
        self.results = results
        self.run = lambda: self.session.run_with_iobinding(self.binding)

    def outputs(self):
        return [value.numpy().view(DTYPES["bf16"]) if value.element_type() == 16 else value.numpy()
                for value in self.results]

    def close(self):
        pass


class OpenVino:
    def __init__(self, job):
        import openvino as ov

        core = ov.Core()
        settings = {"INFERENCE_NUM_THREADS": job.threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
        file, inputs, hint = job.hinted()
        if hint:
            settings["INFERENCE_PRECISION_HINT"] = hint
        compiled = core.compile_model(onnx_file(job, file), "CPU", settings)
        taken = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
        if hint and taken != hint:
            raise RuntimeError(f"asked for {hint}, it computes in {taken} on this processor")
        self.request = compiled.create_infer_request()
        for index, array in enumerate(inputs):
            if array.dtype.name == "bfloat16":
                tensor = ov.Tensor(array.view(np.uint16), ov.Shape(array.shape), ov.Type.bf16)
            else:
                tensor = ov.Tensor(array, shared_memory=True)
            self.request.set_input_tensor(index, tensor)
        self.count = len(compiled.outputs)
        self.run = self.request.infer

    def outputs(self):
        tensors = [self.request.get_output_tensor(index) for index in range(self.count)]
        return [tensor.data.view(DTYPES["bf16"]) if tensor.element_type.get_type_name() == "bf16" else tensor.data
                for tensor in tensors]

    def close(self):
        pass


# ---- MAX -------------------------------------------------------------------------------------------------------------


def max_namespace():
    from max.dtype import DType
    from max.graph import ops

    names = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32",
             "i16": "int16", "i8": "int8", "u8": "uint8", "bool": "bool"}

    def reduced(reduce, x, axes, keepdims):
        axes = sorted(axis % x.rank for axis in axes) or list(range(x.rank))
        if len(axes) == x.rank and x.rank > 1:
            x, axes, rank = ops.reshape(x, [-1]), [0], x.rank
            return ops.reshape(reduce(x, 0), [1] * rank if keepdims else [])
        for axis in axes:
            x = reduce(x, axis)
        if not keepdims:
            for axis in reversed(axes):
                x = ops.squeeze(x, axis)
        return x

    def part(x, axis, begin, end):
        return x[(slice(None),) * (axis % x.rank) + (slice(begin, end),)]

    def rope(x, cos, sin):
        half = int(x.shape[-1]) // 2
        return x * cos + ops.concat([-part(x, -1, half, 2 * half), part(x, -1, 0, half)], -1) * sin

    def attention(q, k, v, scale, causal):
        if causal or q.shape[2] != k.shape[2]:
            raise NotImplementedError("no attention that is causal or shares heads")
        q, v = (ops.permute(each, [0, 2, 1, 3]) for each in (q, v))
        scores = ops.matmul(q, ops.permute(k, [0, 2, 3, 1])) * (scale or int(q.shape[-1]) ** -0.5)
        return ops.permute(ops.matmul(ops.softmax(scores), v), [0, 2, 1, 3])

    return {"ops": ops, "dtypes": {short: getattr(DType, name) for short, name in names.items()}, "reduced": reduced,
            "part": part, "rope": rope, "attention": attention}


class Max:
    """Its runtime has as many threads as the process has processors."""

    session = None

    def __init__(self, job):
        from max import driver, engine
        from max.graph import DeviceRef, Graph, TensorType, ops

        namespace = max_namespace()
        exec(max_source(job.row.graph), namespace)
        types = [TensorType(namespace["dtypes"][value.dtype], value.shape, DeviceRef.CPU())
                 for value in job.row.inputs.values()]
        with Graph(job.row.name(), input_types=types) as graph:
            constants = [ops.constant(array, namespace["dtypes"][job.row.constants[name].dtype], DeviceRef.CPU())
                         for name, array in job.constants.items()]
            graph.output(*namespace["compute"](*(value.tensor for value in graph.inputs), *constants))
        if not Max.session:
            Max.session = engine.InferenceSession(devices=[driver.CPU()])
        self.model = Max.session.load(graph)
        self.inputs = [self.buffer(driver, namespace, array) for array in job.inputs]
        self.last = None

    @staticmethod
    def buffer(driver, namespace, array):
        if array.dtype.name == "bfloat16":
            return driver.Buffer.from_numpy(array.view(np.uint16)).view(namespace["dtypes"]["bf16"])
        return driver.Buffer.from_numpy(array)

    def run(self):
        self.last = None
        self.last = self.model.execute(*self.inputs)

    def outputs(self):
        from max.dtype import DType

        return [buffer.view(DType.uint16).to_numpy().view(DTYPES["bf16"]) if buffer.dtype == DType.bfloat16
                else buffer.to_numpy() for buffer in self.last]

    def close(self):
        self.model = self.last = None


SIDES = {
    "kgen": Kgen,
    "copy": Copy,
    "stream": Stream,
    "eager": Eager,
    "compile": Compile,
    "max-autotune": MaxAutotune,
    "ort": OnnxRuntime,
    "openvino": OpenVino,
    "max": Max,
}


def warm_up(side):
    """Until its allocator has its pages, and its threads run."""
    begin = time.perf_counter()
    for _ in range(20):
        side.run()
        if time.perf_counter() - begin > 0.5:
            break


def seconds_of(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def time_for(side, seconds):
    """Microseconds of a call, the mean over so many seconds, behind one that is not counted."""
    count = max(1, round(seconds / max(seconds_of(side.run), 1e-7)))
    if count > 8:  # the first call was perhaps a cold one
        count = max(1, round(seconds / max(statistics.median(seconds_of(side.run) for _ in range(5)), 1e-7)))
    begin = time.perf_counter()
    for _ in range(count):
        side.run()
    return (time.perf_counter() - begin) / count * 1e6

