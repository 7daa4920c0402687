"""Graphs as PyTorch's operators, and the backend of torch.compile."""

from __future__ import annotations

import shutil
import unittest
from typing import Any

import graphs
import kgen
import kgen.torch
import torch
import torch_models
from torch.export import Dim

GRAYSCALE = """\
graph: grayscale
doc: The brightness of each pixel, as Modular's tutorial of custom operators computes it.
dims: {H: 1..4096, W: 1..4096}
inputs: {image: "u8[H, W, 3]"}
nodes:
- {op: cast, in: image, out: colours, to: f32}
- {op: select, in: colours, out: red, axis: 2, index: 0}
- {op: select, in: colours, out: green, axis: 2, index: 1}
- {op: select, in: colours, out: blue, axis: 2, index: 2}
- {op: mul, in: [red, 0.21], out: red_part}
- {op: mul, in: [green, 0.71], out: green_part}
- {op: mul, in: [blue, 0.07], out: blue_part}
- {op: add, in: [red_part, green_part], out: two}
- {op: add, in: [two, blue_part], out: three}
- {op: minimum, in: [three, 255], out: bright}
- {op: cast, in: bright, out: gray, to: u8}
outputs: [gray]
"""

WINDOW = """\
graph: window
dims:
  N: 1..64
  P: {range: 0..32, from: position}
inputs:
  x: f32[N + 32]
  like: f32[N]
  position: i64[]
nodes:
- {op: slice, in: x, out: part, axis: 0, begin: P, end: P + N}
- {op: mul, in: [part, like], out: y}
- {op: slice, in: x, out: first, axis: 0, begin: 0, end: P}
- {op: neg, in: first, out: z}
outputs: [y, z]
"""

PARTS = """\
graph: parts
dims: {S: 1..100}
inputs: {x: "f32[S]"}
nodes:
- {op: slice, in: x, axis: 0, begin: 0, end: (S + 1) / 2, out: half}
- {op: neg, in: half, out: y}
- {op: iota, count: "S % 8", out: z}
outputs: ["y", z]
"""

AREA = """\
graph: area
dims: {A: {range: 0..9, from: "sizes[0]"}, B: {range: 0..9, from: "sizes[1]"}}
inputs: {sizes: "i64[2]"}
nodes:
- {op: iota, count: A*B, out: n}
outputs: [n]
"""

COUNTED = """\
graph: counted
dims: {A: {range: 0..9, from: count}, B: {range: 0..9, from: count}}
inputs: {count: "i64[]"}
nodes:
- {op: iota, count: A + B, out: n}
outputs: [n]
"""


def grayscale(image: torch.Tensor) -> torch.Tensor:
    red, green, blue = image.to(torch.float32).unbind(-1)
    return torch.clamp(0.21 * red + 0.71 * green + 0.07 * blue, max=255).to(torch.uint8)


class Operators(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        source = graphs.work / "ops"
        for text in (GRAYSCALE, WINDOW, graphs.GATED, graphs.SHAPED, PARTS, AREA, COUNTED):
            name = text.split()[1]
            kgen.plan(graphs.write(text, source), emit=source / "src" / name)
        cls.ops = kgen.torch.CustomOpLibrary(source / "src", namespace="kgen_test")

    def images(self) -> list:
        return [torch.randint(0, 256, shape, dtype=torch.uint8) for shape in ((5, 7, 3), (16, 9, 3), (32, 32, 3))]

    def test_eager_and_compiled(self) -> None:
        compiled = torch.compile(lambda image: self.ops.grayscale(image) + 1, fullgraph=True, backend="aot_eager", dynamic=True)
        for image in self.images():
            self.assertTrue(torch.equal(self.ops.grayscale(image), grayscale(image)))
            self.assertTrue(torch.equal(compiled(image), grayscale(image) + 1))
            out = torch.empty(image.shape[:2], dtype=torch.uint8)
            self.ops.grayscale_out(image, out)
            self.assertTrue(torch.equal(out, grayscale(image)))

    def test_inductor(self) -> None:
        def work(image: torch.Tensor) -> torch.Tensor:
            out = torch.empty(image.shape[:2], dtype=torch.uint8)
            self.ops.grayscale_out(image, out)
            return out.float() * 2

        image = self.images()[0]
        compiled = torch.compile(work, fullgraph=True)
        self.assertTrue(torch.equal(compiled(image), grayscale(image).float() * 2))

    def test_opcheck(self) -> None:
        image = self.images()[0]
        x = torch.randn(3, 4)
        torch.library.opcheck(self.ops.grayscale.default, (image,))
        torch.library.opcheck(self.ops.grayscale_out.default, (image, torch.empty(5, 7, dtype=torch.uint8)))
        torch.library.opcheck(self.ops.gated.default, (x, x.t().contiguous().t()))
        torch.library.opcheck(self.ops.window.default, (torch.randn(40), torch.randn(8), 5))

    def test_sizes_that_are_read(self) -> None:
        x, like = torch.randn(40), torch.randn(8)
        y, z = self.ops.window(x, like, 5)
        self.assertTrue(torch.equal(y, x[5:13] * like))
        self.assertTrue(torch.equal(z, -x[:5]))

    def test_sizes_of_other_forms(self) -> None:
        """What a division leaves, elements of a tensor, which only the run knows, and a number that is all there is."""
        sizes, x = torch.tensor([3, 2]), torch.randn(2, 6)
        for operator, given, expected in (
            (self.ops.parts, (torch.ones(21),), (-torch.ones(11), torch.arange(5))),
            (self.ops.shaped, (x, sizes), (-x.view(3, 4), torch.arange(2))),
            (self.ops.area, (sizes,), torch.arange(6)),
            (self.ops.counted, (4,), torch.arange(8)),
        ):
            with self.subTest(operator=str(operator)):
                torch._dynamo.reset()
                torch.testing.assert_close(operator(*given), expected)
                torch.library.opcheck(operator.default, given)
                compiled = torch.compile(lambda *all: operator(*all), fullgraph=True, backend="aot_eager", dynamic=True)
                torch.testing.assert_close(compiled(*given), expected)

    def test_export(self) -> None:
        class Module(torch.nn.Module):
            def forward(self, image: torch.Tensor) -> torch.Tensor:
                return torch.ops.kgen_test.grayscale(image)

        shapes = {"image": {0: Dim("H", max=4096), 1: Dim("W", max=4096)}}
        program = torch.export.export(Module(), (self.images()[0],), dynamic_shapes=shapes)
        image = self.images()[2]
        self.assertTrue(torch.equal(program.module()(image), grayscale(image)))

    def test_bad_arguments(self) -> None:
        with self.assertRaisesRegex(kgen.ArgumentError, "input 'image': the element type is f32, expected u8"):
            self.ops.grayscale(torch.zeros(2, 2, 3))
        with self.assertRaisesRegex(kgen.ArgumentError, "input 'image': the strides are"):
            self.ops.grayscale(self.images()[0].transpose(0, 1))
        with self.assertRaisesRegex(AttributeError, "there is no operator 'gray'; there are: area, area_out, counted"):
            self.ops.gray
        source = graphs.work / "state_op"
        data = bytes(4)
        graphs.write_safetensors(graphs.work / "weights.safetensors", "scale", "BF16", data, [2])
        kgen.plan(graphs.write(graphs.RUNNING, source), emit=source / "src")
        with self.assertRaisesRegex(kgen.Error, "graph 'running' has state"):
            kgen.torch.CustomOpLibrary(source / "src", weights=graphs.work)

    def test_tensors_of_pytorch(self) -> None:
        class Refusing(torch.Tensor):
            @classmethod
            def __torch_function__(cls, *_: Any, **__: Any) -> Any:
                raise RuntimeError("no functions")

        model = graphs.load(graphs.GATED)
        x = torch.randn(3, 4)
        y, total = model(x, x)
        self.assertIs(type(y), torch.Tensor)
        torch.testing.assert_close(total, (x * x).sum(1))
        for bad, text in (
            (x.clone().requires_grad_(), "input 'x' .*requires a gradient"),
            (x.to("meta"), "input 'x'"),
            (x.to_sparse(), r"^input 'x' \(f32\[M, 4\]\): the layout is torch.sparse_coo, expected torch.strided; pass x.to_dense\(\)$"),
            (x.to_sparse_csr(), "the layout is torch.sparse_csr"),
            (x.to_mkldnn(), "the layout is torch._mkldnn"),
            (torch.nn.Parameter(x), "input 'x' .*requires a gradient"),
            (x.t(), "input 'x': axis 0 is 4|input 'x': the strides|input 'x': axis 1 is 3"),
            (x.half(), "input 'x': the element type is f16, expected f32"),
            (x.as_subclass(Refusing), r"^input 'x' \(f32\[M, 4\]\): no functions$"),
            (torch.nn.parameter.UninitializedBuffer(), r"^input 'x' \(f32\[M, 4\]\): .*uninitialized"),
            (x.to(torch.complex64), "input 'x'"),
            (torch.view_as_complex(torch.randn(3, 4, 2)).conj().imag, "input 'x' .*negated"),
        ):
            with self.assertRaisesRegex((TypeError, kgen.ArgumentError), text):
                model(bad, x)
        with torch.no_grad():
            model(x.clone().requires_grad_(), x)
        freed = torch.randn(3, 4)
        freed.untyped_storage().resize_(0)
        with self.assertRaisesRegex(kgen.ArgumentError, "input 'gate': the data pointer is null"):
            model(x, freed)

    def test_other_modes_of_pytorch(self) -> None:
        """Neither autocast nor inference mode changes what is computed; what traces tensors without memory is refused."""
        model = graphs.load(graphs.GATED)
        x = torch.randn(3, 4)
        expected = (x * x).sum(1)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            for total in (model(x, x)[1], self.ops.gated(x, x)[1]):
                self.assertEqual(total.dtype, torch.float32)
                torch.testing.assert_close(total, expected)
            compiled = torch.compile(lambda x: self.ops.gated(x, x)[1], fullgraph=True, backend="aot_eager")
            torch.testing.assert_close(compiled(x), expected)
        with torch.inference_mode():
            inside = x.clone()
            torch.testing.assert_close(model(inside, inside)[1], expected)
        torch.testing.assert_close(model(inside, x)[1], expected)
        with self.assertRaisesRegex(TypeError, "^input 'x'"):
            torch.vmap(lambda row: model(row, x)[1])(torch.randn(2, 3, 4))
        with self.assertRaisesRegex(TypeError, "^input 'x' .*requires a gradient"):
            torch.func.grad(lambda one: model(one, x)[1].sum())(x)
        with torch._subclasses.FakeTensorMode():
            fake = torch.empty(3, 4)
        with self.assertRaisesRegex((TypeError, kgen.ArgumentError), "^input 'x'"):
            model(fake, x)

    def test_graph_op(self) -> None:
        folder = graphs.work / "graph_op"
        make = kgen.torch.graph_op(
            example_inputs=(self.images()[0],), folder=folder, dynamic_shapes={"image": {0: Dim("H"), 1: Dim("W")}},
            name="gray_function",
        )  # fmt: skip
        operator = make(grayscale)
        compiled = torch.compile(lambda image: operator(image), fullgraph=True, backend="aot_eager", dynamic=True)
        for image in self.images():
            self.assertTrue(torch.equal(operator(image), grayscale(image)))
            self.assertTrue(torch.equal(compiled(image), grayscale(image)))


class Backend(unittest.TestCase):
    def setUp(self) -> None:
        torch._dynamo.reset()

    def compile(self, function: object, name: str, **named: object) -> object:
        return torch.compile(function, backend="kgen", options={"folder": graphs.work / "backend" / name}, **named)

    def test_model(self) -> None:
        module = torch_models.Mlp().eval()
        compiled = self.compile(module, "mlp")
        with torch.no_grad():
            for rows in (3, 5, 9):
                x = torch.randn(rows, 24)
                torch.testing.assert_close(compiled(x), module(x), rtol=1e-5, atol=1e-5)
        report = kgen.torch.reports[-1]
        self.assertEqual(report.left, [])
        self.assertEqual(len(report.planned), 1)

    def test_what_is_left(self) -> None:
        def function(x: torch.Tensor) -> torch.Tensor:
            y = torch.relu(x) * 2
            y = torch.linalg.qr(y)[0]
            return torch.exp(y) + 1

        compiled = self.compile(function, "left")
        x = torch.randn(4, 4)
        torch.testing.assert_close(compiled(x), function(x))
        report = kgen.torch.reports[-1]
        self.assertEqual(len(report.planned), 2)
        self.assertRegex("\n".join(report.left), r"linalg_qr\.default: graphs decompose no matrices and solve no systems of equations; [^:]*: .*test_torch_ops\.py:\d+: y = torch\.linalg\.qr")

    def test_results_lie_as_in_eager(self) -> None:
        """What reads memory by strides, inside the graph or behind it, reads the same numbers."""

        def function(x: torch.Tensor, image: torch.Tensor, filters: torch.Tensor) -> tuple:
            turned, pixels = x.t() + 1, torch.relu(torch.nn.functional.conv2d(image, filters))
            inside = torch.as_strided(torch.exp(x.t()), (2, 2), (1, 2))
            gaps = torch.as_strided(torch.sin(x)[:, ::2], (2,), (1,))
            return turned, turned.t().view(-1), pixels, pixels.permute(0, 2, 3, 1), inside, gaps

        tensors = [torch.randn(2, 3, 5, 5), torch.randn(4, 3, 2, 2)]
        last = [one.to(memory_format=torch.channels_last) for one in tensors]
        compiled = self.compile(function, "strides")
        for images in (tensors, last):
            x = torch.randn(3, 4)
            found, expected = compiled(x, *images), function(x, *images)
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
            self.assertEqual([one.stride() for one in found], [one.stride() for one in expected])
        self.assertRegex("\n".join(kgen.torch.reports[-1].left), r"exp\.default: as_strided reads its memory: .*inside = ")

    def test_sizes_beyond_those_of_the_model(self) -> None:
        compiled = self.compile(lambda x: x + 1, "large", dynamic=True)
        for size in (5, 7, (1 << 20) + 1):
            x = torch.randn(size)
            self.assertTrue(torch.equal(compiled(x), x + 1))
        self.assertRegex(kgen.torch.reports[-1].left[-1], r"calls of .*: dim D0 is 1048577 .*expected 2\.\.1048576")

    def test_constants_and_layouts(self) -> None:
        """Tables that kgen makes while PyTorch traces without memory, and as_strided that only says how a result lies."""
        compiled = self.compile(torch_models.Pooled().eval(), "pooled")
        image = torch.randn(2, 3, 10, 10).to(memory_format=torch.channels_last)
        with torch.no_grad():
            torch.testing.assert_close(compiled(image), torch_models.Pooled()(image), rtol=1e-5, atol=1e-5)
        self.assertEqual([len(kgen.torch.reports[-1].planned), kgen.torch.reports[-1].left], [1, []])

    def test_sizes_that_are_numbers(self) -> None:
        """A size that no tensor has by itself: an argument, or what a branch ahead computed."""

        def function(x: torch.Tensor, count: int) -> tuple:
            joined = torch.cat([x, x])
            torch._dynamo.graph_break()
            return joined[count:] * 2, joined[: joined.shape[0] // 2] + 1, torch.arange(count) + 1, x.new_ones(count, 2) * x[:1]

        before = len(kgen.torch.reports)
        compiled = self.compile(function, "numbers", dynamic=True)
        for rows, count in ((4, 3), (5, 2), (7, 6)):
            x = torch.randn(rows, 2)
            torch.testing.assert_close(compiled(x, count), function(x, count))
        self.assertEqual([line for report in kgen.torch.reports[before:] for line in report.left], [])

    def test_what_the_planner_refuses(self) -> None:
        """One operator stays with PyTorch, those around it do not."""

        def function(x: torch.Tensor) -> torch.Tensor:
            return torch.exp((torch.relu(x) @ x).sum(1)) + 1

        compiled = self.compile(function, "refused")
        x = torch.randint(0, 5, (4, 4), dtype=torch.int16)
        torch.testing.assert_close(compiled(x), function(x))
        report = kgen.torch.reports[-1]
        self.assertEqual(len(report.planned), 2)
        self.assertRegex("\n".join(report.left), r"^mm\.default: .*matmul.*test_torch_ops\.py:\d+: return torch\.exp")

    def test_without_inputs(self) -> None:
        compiled = self.compile(lambda: torch.arange(5) * 2, "no_inputs")
        self.assertTrue(torch.equal(compiled(), torch.arange(5) * 2))

    def test_what_comes_with_it(self) -> None:
        """Inputs that are changed, results that share memory, dicts, numbers, state and branches."""
        counted = torch.nn.Module()
        counted.register_buffer("count", torch.zeros(()))

        def changing(x: torch.Tensor, named: dict, number: int) -> tuple:
            x.add_(1)
            counted.count += 1
            y = torch.relu(x) * number
            if number > 2:
                y = y @ named["w"]
            return y, y.view(-1), x.t(), {"sum": y.sum() + counted.count}

        compiled = self.compile(changing, "changing")
        for number in (2, 3, 4, 5):
            x, w = torch.randn(3, 4), torch.randn(4, 4)
            one, other = x.clone(), x.clone()
            before = counted.count.clone()
            found = compiled(one, {"w": w}, number)
            counted.count.copy_(before)
            torch.testing.assert_close(found, changing(other, {"w": w}, number))
            torch.testing.assert_close(one, other)

    def test_edits(self) -> None:
        folder = graphs.work / "backend" / "edits"
        shutil.rmtree(folder, ignore_errors=True)

        def function(x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x)

        x = torch.tensor([-1.0, 2.0])
        self.assertEqual(self.compile(function, "edits")(x).tolist(), [0, 2])
        stub = next(folder.glob("*/src/stubs/*.cpp"))
        stub.write_text(stub.read_text().replace("(at)))", "(at)) + kgen::Vec<float, W>(1))"))
        torch._dynamo.reset()
        self.assertEqual(self.compile(function, "edits")(x).tolist(), [1, 3])

    def test_gradients(self) -> None:
        module = torch.nn.Linear(3, 2)
        compiled = self.compile(module, "gradients")
        compiled(torch.randn(4, 3)).sum().backward()
        self.assertIsNotNone(module.weight.grad)
        self.assertIn("gradients are needed", kgen.torch.reports[-1].left[0])


if __name__ == "__main__":
    unittest.main()
