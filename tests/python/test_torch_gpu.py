"""CUDA tensors: models on the current stream, graphs as operators, CUDA graphs, and the backend of torch.compile, each compared
with PyTorch's own, in f64 where numbers are rounded. Needs a GPU, and CUDA's compiler."""

from __future__ import annotations

import copy
import threading
import time
import unittest
from typing import Any, Callable, Sequence

import graphs
import kgen
import kgen.torch
import torch
import torch_models
from test_torch_ops import GRAYSCALE, WINDOW, grayscale
from torch import nn
from torch.export import Dim

QUANTISED = """\
graph: quantised
dims: {N: 1..100000}
inputs: {x: "f32[N]", scale: "f32[]", zero: "f32[]"}
nodes:
- {op: mul, in: [x, scale], out: scaled}
- {op: add, in: [scaled, zero], out: moved}
- {op: floor, in: moved, out: floored}
- {op: cast, in: floored, out: whole, to: i32}
- {op: square, in: x, out: squared}
- {op: sub, in: [squared, scaled], out: less}
- {op: cast, in: less, out: cut, to: i32}
outputs: [whole, cut]
"""


def load(text: str, **options: Any) -> kgen.Model:
    return kgen.load(graphs.write(text, graphs.work / text.split()[1]), folder=graphs.work / text.split()[1] / "cuda",
                     **{**kgen.torch.options_for("cuda"), **options})  # fmt: skip


def images() -> list:
    return [torch.randint(0, 256, shape, dtype=torch.uint8, device="cuda") for shape in ((5, 7, 3), (64, 33, 3), (720, 1280, 3))]


@unittest.skipUnless(torch.cuda.is_available(), "there is no GPU")
class OnGpu(unittest.TestCase):
    def setUp(self) -> None:
        torch.manual_seed(0)
        torch._dynamo.reset()
        torch.set_default_device("cuda")
        torch.backends.cudnn.allow_tf32 = False
        self.addCleanup(torch.set_default_device, None)


class Calls(OnGpu):
    def setUp(self) -> None:
        super().setUp()
        self.model = load(graphs.GATED)

    def test_results_without_copies(self) -> None:
        for rows in (0, 1, 5, 64):
            x, gate = torch.randn(rows, 4), torch.randn(8, rows, 4)[3]
            before = torch.cuda.memory_allocated()
            y, total = self.model(x, gate)
            self.assertLessEqual(torch.cuda.memory_allocated() - before, 2 * 512 * (rows > 0) + 8 * rows * 4)
            product = x.double() * gate.double()
            torch.testing.assert_close(y.double(), torch.cat([product, product]).relu(), rtol=1e-6, atol=1e-6)
            torch.testing.assert_close(total.double(), product.sum(1), rtol=1e-5, atol=1e-5)
            out = (torch.empty(2 * rows, 4), torch.empty(rows))
            self.assertIs(self.model(x, gate.t().contiguous().t(), out=out), out)
            self.assertTrue(torch.equal(out[0], y))
            y.record_stream(torch.cuda.current_stream())

    def test_current_stream(self) -> None:
        """A call waits for what is ahead of it on the stream that is current, and Python does not wait for the call."""
        x = torch.zeros(64, 4)
        self.model(x, x)
        for stream in (torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream(priority=-1)):
            for number in range(1, 6):  # the later ones are a captured graph's
                torch.cuda.synchronize()
                with torch.cuda.stream(stream):
                    torch.cuda._sleep(200_000_000)
                    x.fill_(number)
                    y, total = self.model(x, x)
                    self.assertFalse(stream.query(), "the call waited")
                    after = total * 2
                stream.synchronize()
                self.assertEqual((float(after.min()), float(after.max())), (8 * number**2, 8 * number**2))

    def test_captured(self) -> None:
        x, gate = torch.randn(64, 4), torch.randn(64, 4)
        out = (torch.empty(128, 4), torch.empty(64))
        self.model(x, gate, out=out)
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            made, _ = self.model(x, gate)
            self.model(made[:64], gate, out=out)
        for _ in range(3):
            x.normal_()
            captured.replay()
            torch.testing.assert_close(out[1], ((x * gate).relu() * gate).sum(1), rtol=1e-5, atol=1e-5)

    def test_bad_arguments(self) -> None:
        x = torch.randn(3, 4)
        for bad, text in (
            (x.cpu(), "input 'x': the memory is on .*, expected "),
            (x.double(), "input 'x': the element type is f64, expected f32"),
            (torch.randn(4, 3).t(), "input 'x': the strides are"),
            (x.clone().requires_grad_(), "input 'x' .*requires a gradient"),
            (x.to_sparse(), "input 'x' .*torch.sparse_coo"),
            (x.cpu().numpy(), "input 'x'"),
        ):
            with self.assertRaisesRegex((TypeError, kgen.Error), text):
                self.model(bad, x)
        with self.assertRaisesRegex(kgen.ArgumentError, "output 'y'"):
            self.model(x, x, out=(torch.empty(6, 4, device="cpu"), torch.empty(3)))
        freed = torch.randn(3, 4)
        freed.untyped_storage().resize_(0)
        with self.assertRaisesRegex(kgen.ArgumentError, "input 'gate': the data pointer is null"):
            self.model(x, freed)
        torch.testing.assert_close(self.model(x, x)[1], (x * x).sum(1))

    def test_threads_with_streams(self) -> None:
        wrong: list = []

        def run(rows: int) -> None:
            try:
                with torch.cuda.stream(torch.cuda.Stream()):
                    for _ in range(100):
                        x, gate = torch.randn(rows, 4, device="cuda"), torch.randn(rows, 4, device="cuda")
                        torch.testing.assert_close(self.model(x, gate)[1], (x * gate).sum(1), atol=1e-5, rtol=1e-5)
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=run, args=(rows,)) for rows in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_state(self) -> None:
        folder = graphs.work / "running"
        folder.mkdir(parents=True, exist_ok=True)
        graphs.write_safetensors(folder / "weights.safetensors", "scale", "BF16", b"\x00\x40\x80\xc0", [2])
        model = load(graphs.RUNNING)
        x = torch.tensor([[1, 2], [3, 4]], dtype=torch.bfloat16)
        self.assertEqual(model(x, 0).tolist(), [[-2, 8], [-6, 16]])
        self.assertEqual(model(x[:1], 2).tolist(), [[-2, 8], [-6, 16], [-2, 8]])
        cache = torch.from_dlpack(model.state["cache"])
        self.assertEqual(cache.device.type, "cuda")
        cache[0] = 7
        self.assertEqual(model(x[:1], 1).tolist(), [[-7, -7], [-2, 8]])
        with self.assertRaisesRegex(TypeError, "on a GPU; use torch.from_dlpack"):
            model.state["cache"].numpy()

    def test_other_frameworks(self) -> None:
        x = torch.randn(5, 4)
        out = (torch.empty(10, 4), torch.empty(5))
        expected = (x * x).sum(1)
        try:
            import cupy  # type: ignore[import-not-found]
        except ImportError:
            self.skipTest("no CuPy")
        with cupy.cuda.Stream(null=True):
            self.model(cupy.from_dlpack(x), cupy.from_dlpack(x), out=tuple(cupy.from_dlpack(one) for one in out))
        torch.cuda.synchronize()
        torch.testing.assert_close(out[1], expected)
        with self.assertRaisesRegex(kgen.Error, "memory of the GPU is allocated by PyTorch alone; give the output with out="):
            self.model(cupy.from_dlpack(x), cupy.from_dlpack(x))


class Operators(OnGpu):
    ops: Any

    @classmethod
    def setUpClass(cls) -> None:
        source = graphs.work / "ops_cuda"
        target = {key: value for key, value in kgen.torch.options_for("cuda").items() if key != "device"}
        for text in (GRAYSCALE, WINDOW, graphs.GATED):
            name = text.split()[1]
            kgen.plan(graphs.write(text, source), emit=source / "src" / name, **target)
        cls.ops = kgen.torch.CustomOpLibrary(source / "src", namespace="kgen_gpu")

    def test_operators(self) -> None:
        """The grayscale example in eager, compiled whole, captured, exported, and by opcheck: the same bytes everywhere."""
        compiled = torch.compile(lambda image: self.ops.grayscale(image) + 1, fullgraph=True)
        fast = torch.compile(lambda image: self.ops.grayscale(image) + 1, fullgraph=True, mode="reduce-overhead")
        for image in images():
            expected = grayscale(image)
            self.assertTrue(torch.equal(self.ops.grayscale(image), expected))
            out = torch.empty(image.shape[:2], dtype=torch.uint8)
            self.ops.grayscale_out(image, out)
            self.assertTrue(torch.equal(out, expected))
            self.assertTrue(torch.equal(compiled(image), expected + 1))
            for _ in range(3):
                self.assertTrue(torch.equal(fast(image), expected + 1))
        image, x = images()[0], torch.randn(3, 4)
        for operator, given in (
            (self.ops.grayscale, (image,)),
            (self.ops.grayscale_out, (image, torch.empty(5, 7, dtype=torch.uint8))),
            (self.ops.gated, (x, x.t().contiguous().t())),
            (self.ops.window, (torch.randn(40), torch.randn(8), 5)),
        ):
            torch.library.opcheck(operator.default, given)
        with self.assertRaisesRegex(kgen.ArgumentError, "input 'image'"):
            self.ops.grayscale(image.cpu())

        class Module(nn.Module):
            def forward(self, image: torch.Tensor) -> torch.Tensor:
                return torch.ops.kgen_gpu.grayscale(image)

        shapes = {"image": {0: Dim("H", max=4096), 1: Dim("W", max=4096)}}
        program = torch.export.export(Module(), (image,), dynamic_shapes=shapes)
        image = images()[1]
        self.assertTrue(torch.equal(program.module()(image), grayscale(image)))

    def test_graph_op(self) -> None:
        operator = kgen.torch.graph_op(
            example_inputs=(images()[0],), folder=graphs.work / "graph_op_cuda", name="gray_on_gpu", namespace="kgen_gpu",
            dynamic_shapes={"image": {0: Dim("H", max=4096), 1: Dim("W", max=4096)}},
        )(grayscale)  # fmt: skip
        compiled = torch.compile(lambda image: operator(image), fullgraph=True, dynamic=True)
        for image in images():
            self.assertTrue(torch.equal(operator(image), grayscale(image)))
            self.assertTrue(torch.equal(compiled(image), grayscale(image)))

    def test_integers_that_floats_become(self) -> None:
        """Sums of products are rounded as PyTorch rounds them, one operator after the other."""
        model = load(QUANTISED)
        x = torch.cat([torch.arange(-20000, 20000) / 7, torch.randn(50000) * 100])
        for scale, zero in ((7.0, 0.0), (0.1, 0.3), (3.0, -1 / 3)):
            scales, zeros = torch.tensor(scale), torch.tensor(zero)
            whole, cut = model(x, scales, zeros)
            scaled = x * scales
            self.assertEqual(int((whole != (scaled + zeros).floor().int()).sum()), 0)
            self.assertEqual(int((cut != (x.square() - scaled).int()).sum()), 0)


class Backend(OnGpu):
    def compare(self, name: str, module: Any, examples: Sequence[tuple], tolerance: float, parts: int = 1, **options: Any) -> Any:
        """With eager, and both with f64: no further from it than eager is, but for what `tolerance` allows."""
        torch.manual_seed(1)
        exact: Callable[..., Any] = copy.deepcopy(module).double() if isinstance(module, nn.Module) else module
        compiled = torch.compile(module, backend="kgen", options={"folder": graphs.work / "backend_cuda" / name, **options})
        with torch.no_grad():
            for example in examples:
                for _ in range(3):  # the third time by a captured graph
                    found = compiled(*example)
                expected, right = module(*example), exact(*(as_double(one) for one in example))
                triples = zip(*(one if isinstance(one, tuple) else (one,) for one in (found, expected, right)))
                for one, other, double in triples:
                    self.assertEqual((one.dtype, one.shape, one.stride(), one.device), (other.dtype, other.shape, other.stride(), other.device))
                    limit = 2 * float((other.double() - double).abs().max()) + tolerance * float(double.abs().max())
                    self.assertLessEqual(float((one.double() - double).abs().max()), limit, name)
        report = kgen.torch.reports[-1]
        self.assertEqual((len(report.planned), report.left), (parts, []), str(report))
        return compiled

    def test_mlp(self) -> None:
        self.compare("mlp", torch_models.Mlp().eval(), [(torch.randn(rows, 24),) for rows in (3, 5, 9)], 1e-6)

    def test_frozen(self) -> None:
        module = torch_models.Mlp().eval()
        compiled = self.compare("frozen", module, [(torch.randn(5, 24),)], 1e-6, freezing=True)
        x = torch.randn(5, 24)
        with torch.no_grad():
            module.layers[0].weight.mul_(0.5)
            torch.testing.assert_close(compiled(x), module(x), rtol=1e-5, atol=1e-5)

    def test_bf16_llama(self) -> None:
        module = torch_models.LlamaBlock(256, 4, 2).eval().to(torch.bfloat16)
        self.compare("llama", module, [(torch.randn(2, 32, 256, dtype=torch.bfloat16),)], 0.01)

    def test_bert(self) -> None:
        example = (torch.randint(0, 50, (2, 7)), (torch.arange(7).expand(2, -1) < 6).long())
        self.compare("bert", torch_models.Bert().eval(), [example], 1e-5)

    def test_convolutions(self) -> None:
        self.compare("resnet", torch_models.ResNetBlock().eval(), [(torch.randn(2, 3, 32, 32),)], 1e-5)

    def test_bytes(self) -> None:
        compiled = torch.compile(grayscale, backend="kgen", options={"folder": graphs.work / "backend_cuda" / "gray"}, dynamic=True)
        for image in images():
            self.assertTrue(torch.equal(compiled(image), grayscale(image)))
        self.assertEqual(kgen.torch.reports[-1].left, [])

    def test_devices(self) -> None:
        """What is on the host stays with PyTorch, and so does what goes there."""

        def function(x: torch.Tensor, host: torch.Tensor) -> tuple:
            y = torch.relu(x) * 2
            return y + 1, (y.sum(0).cpu() + host).exp(), x * host.to(x.device)

        compiled = torch.compile(function, backend="kgen", options={"folder": graphs.work / "backend_cuda" / "devices"})
        x, host = torch.randn(3, 4), torch.randn(4, device="cpu")
        for one, other in zip(compiled(x, host), function(x, host)):
            self.assertEqual(one.device, other.device)
            torch.testing.assert_close(one, other)
        report = kgen.torch.reports[-1]
        self.assertGreaterEqual(len(report.planned), 1)
        self.assertRegex("\n".join(report.left), "a tensor on cpu, the others on cuda:0: .*test_torch_gpu.py")

    def test_numbers_of_the_host(self) -> None:
        """A float that torch.compile made a tensor of the host, and tensors of one number there, are numbers of the graph."""

        def function(x: torch.Tensor, host: torch.Tensor, *, scale: float) -> tuple:
            y = torch.relu(x * scale + host) / (host + 1)
            return y, y.sum(0) - host * scale

        compiled = torch.compile(function, backend="kgen", options={"folder": graphs.work / "backend_cuda" / "numbers"}, dynamic=True)
        x = torch.randn(5, 7)
        for scale, number in ((0.5, 1.0), (0.25, 2.5), (-3.0, 4.0)):
            host = torch.tensor(number, device="cpu")
            torch.testing.assert_close(compiled(x, host, scale=scale), function(x, host, scale=scale), rtol=1e-5, atol=1e-5)
        self.assertEqual(kgen.torch.reports[-1].left, [])
        out = compiled(x, host, scale=2.0)
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            out = compiled(x, host, scale=2.0)
        x.normal_()
        captured.replay()
        torch.testing.assert_close(out, function(x, host, scale=2.0), rtol=1e-5, atol=1e-5)
        y = torch.compile(lambda x, host: (x * 2, host * 2 + x.dtype.itemsize), backend="kgen")(x, host)[1]
        self.assertEqual((y.device.type, float(y)), ("cpu", 12.0))

    def test_inputs_that_change_and_views_of_them(self) -> None:
        """As on the CPU: what is written in place, what is returned as it came, views, nested results, strides, no elements."""

        def function(x: torch.Tensor, *, y: torch.Tensor, scale: float = 0.5) -> dict:
            x.mul_(2)
            return {"sum": (x + y * scale).relu(), "view": x.t(), "same": y, "nested": [x.sum(0), (y.t() @ x,)]}

        compiled = torch.compile(function, backend="kgen", options={"folder": graphs.work / "backend_cuda" / "views"}, dynamic=True)
        for x, y in (
            (torch.randn(5, 7), torch.randn(5, 7)),
            (torch.randn(7, 4).t(), torch.randn(4, 14)[:, ::2]),
            (torch.randn(0, 7), torch.randn(0, 7)),
        ):
            own = x.clone(memory_format=torch.preserve_format)
            found, expected = compiled(x, y=y), function(own, y=y)
            torch.testing.assert_close(x, own)
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
            self.assertIs(found["same"], y)
            self.assertEqual((found["view"].data_ptr(), found["view"].stride()), (x.data_ptr(), expected["view"].stride()))
        self.assertEqual(kgen.torch.reports[-1].left, [])

    def test_on_streams_and_captured(self) -> None:
        compiled = torch.compile(lambda x: (x * 2 + 1).relu().sum(1), backend="kgen", options={"folder": graphs.work / "backend_cuda" / "stream"})
        x = torch.randn(64, 8)
        compiled(x)
        with torch.cuda.stream(torch.cuda.Stream()) as _:
            torch.cuda._sleep(100_000_000)
            x.fill_(3)
            y = compiled(x)
        torch.cuda.synchronize()
        self.assertEqual(y.tolist(), [56.0] * 64)
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            y = compiled(x)
        x.fill_(1)
        captured.replay()
        self.assertEqual(y.tolist(), [24.0] * 64)


def as_double(one: Any) -> Any:
    return one.double() if isinstance(one, torch.Tensor) and one.is_floating_point() else one


class Times(OnGpu):
    def test_grayscale(self) -> None:
        """Printed, as Modular's tutorial has it: eager, compiled, and by kgen in three ways. No time is asked for, but what is timed
        is the same image: eager's bytes, of which torch.compile may round some to the next."""
        model = load(GRAYSCALE)
        image = torch.randint(0, 256, (2160, 3840, 3), dtype=torch.uint8)
        out = torch.empty(image.shape[:2], dtype=torch.uint8)
        compiled = torch.compile(grayscale)
        backend = torch.compile(grayscale, backend="kgen", options={"folder": graphs.work / "backend_cuda" / "gray_large"})
        ways: dict[str, Callable[..., Any]] = {
            "eager": grayscale, "torch.compile": compiled, "backend kgen": backend, "kgen.load": model,
            "kgen.load, out=": lambda image: model(image, out=out),
        }  # fmt: skip
        expected = grayscale(image)
        for name, function in ways.items():
            found = function(image)
            self.assertEqual((found.dtype, found.shape, found.device), (expected.dtype, expected.shape, expected.device), name)
            self.assertLessEqual(int((found.int() - expected.int()).abs().max()), int(name == "torch.compile"), name)
        self.assertEqual((len(kgen.torch.reports[-1].planned), kgen.torch.reports[-1].left), (1, []))
        times = {name: best_time(function, image) for name, function in ways.items()}
        for name, microseconds in times.items():
            print(f"grayscale 2160 x 3840, {name}: {microseconds:.1f} us", flush=True)
        self.assertEqual(list(times), list(ways))
        self.assertTrue(all(0 < each < 1e6 for each in times.values()), times)


def best_time(function: Callable[..., Any], *arguments: Any) -> float:
    """Microseconds of a call while calls follow each other, the best of 5 rounds of 100."""
    rounds = []
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(100):
            function(*arguments)
        torch.cuda.synchronize()
        rounds.append((time.perf_counter() - begin) / 100 * 1e6)
    return min(rounds)


if __name__ == "__main__":
    unittest.main()
