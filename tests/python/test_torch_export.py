"""kgen.from_torch, compared with PyTorch itself."""

from __future__ import annotations

import copy
import unittest
from typing import Any, Callable, List, Sequence

import graphs
import kgen
import kgen.torch
import torch
import torch_models
from torch import nn
from torch.export import Dim


class Functions(nn.Module):
    """Each of the functions, of the same inputs."""

    def __init__(self, functions: Sequence[Callable[..., Any]]) -> None:
        super().__init__()
        self.functions = list(functions)

    def forward(self, x: torch.Tensor, y: torch.Tensor, i: torch.Tensor, m: torch.Tensor) -> List[torch.Tensor]:
        results: List[torch.Tensor] = []
        for function in self.functions:
            result = function(x, y, i, m)
            results += result if isinstance(result, (tuple, list)) else [result]
        return results


# x and y are f32[4, 6], i is i64[4, 6] of 0 to 3, m is bool[4, 6].
ELEMENTWISE: List[Callable[..., Any]] = [
    *(lambda x, y, i, m, f=f: f(x) for f in (
        torch.abs, torch.acos, torch.asin, torch.atan, torch.asinh, torch.atanh, torch.ceil, torch.cos, torch.cosh,
        torch.erf, torch.exp, torch.exp2, torch.expm1, torch.floor, torch.log1p, torch.neg, torch.reciprocal, torch.relu,
        torch.round, torch.sigmoid, torch.sign, torch.sin, torch.sinh, torch.square, torch.tan, torch.tanh, torch.trunc,
        torch.nn.functional.silu, torch.nn.functional.mish, torch.nn.functional.gelu, torch.nn.functional.elu,
        torch.nn.functional.hardswish, torch.nn.functional.softplus, torch.nn.functional.logsigmoid,
        torch.nn.functional.leaky_relu, torch.nn.functional.selu, torch.nn.functional.softsign)),
    *(lambda x, y, i, m, f=f: f(x, y) for f in (
        torch.add, torch.sub, torch.mul, torch.div, torch.atan2, torch.maximum, torch.minimum, torch.fmod, torch.remainder,
        torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge)),
    *(lambda x, y, i, m, f=f: f(i, 2) for f in (torch.add, torch.mul, torch.div, torch.eq, torch.remainder, torch.pow)),
    lambda x, y, i, m: (x + i, x * m, i + m, ~m, m & (x > 0), m | (y > 0), m ^ (x > y), i & 1, i | 4, i << 1),
    lambda x, y, i, m: (x ** 2, x ** 3, (x.abs() + 1) ** 0.5, (x.abs() + 1) ** -0.5, 2 ** x, (x.abs() + 1) ** y),
    lambda x, y, i, m: (x.clamp(-0.5, 0.5), x.clamp(min=0.1), torch.clamp(x, y - 1, y + 1), i.clamp(max=2)),
    lambda x, y, i, m: (torch.where(m, x, y), torch.where(m, x, 0.0), x.masked_fill(m, -1.0), torch.add(x, y, alpha=3)),
    lambda x, y, i, m: (x.to(torch.float64), x.to(torch.bfloat16) * 2, i.float(), x.int(), x.bool(), 1 - x, 1 / (x + 9)),
    lambda x, y, i, m: (torch.nn.functional.gelu(x, approximate="tanh"), torch.div(x, y, rounding_mode="floor")),
]  # fmt: skip

REST: List[Callable[..., Any]] = [
    lambda x, y, i, m: (x.sum(), x.sum(0), x.mean(-1, keepdim=True), x.amax(1), x.amin((0, 1)), x.prod(1), i.sum(), m.any(1)),
    lambda x, y, i, m: (m.all(), x.argmax(), x.argmax(1), x.argmin(0), *x.max(1), *x.min(0, keepdim=True), x.max(), m.sum(1)),
    lambda x, y, i, m: (x.var(1), x.var(1, correction=0), x.std(0), torch.logsumexp(x, 1), x.softmax(0), x.log_softmax(1)),
    lambda x, y, i, m: (x.cumsum(1), i.cumsum(0), x.tril(), x.triu(1), *x.topk(2), *x.sort(1), torch.linalg.vector_norm(x, dim=1)),
    lambda x, y, i, m: (x.t(), x.reshape(3, 8), x[1:3, ::2], x[:, -1], x[-2:], x.flip(1), x.roll(2, 1), x.repeat(2, 1)),
    lambda x, y, i, m: (torch.cat([x, y], 1), torch.stack([x, y], 1), *x.split(4, 1), *x.chunk(2), *x.unbind(0), x[None, :, None]),
    lambda x, y, i, m: (x.expand(2, 4, 6), x.permute(1, 0).contiguous(), x.unsqueeze(1).squeeze(1), x.narrow(1, 1, 3)),
    lambda x, y, i, m: (x.gather(0, i), x[i[0, :4]], x.index_select(1, i[0]), torch.nn.functional.embedding(i, x)),
    lambda x, y, i, m: (x.scatter(0, i[:1], y[:1]), torch.nn.functional.one_hot(i, 4), x[:, i[0, :2]]),
    lambda x, y, i, m: (x @ y.t(), x @ y[0], x[0] @ y[0], torch.nn.functional.linear(x[0], y), torch.addmm(x[:, :4], x, y.t())),
    lambda x, y, i, m: (torch.nn.functional.pad(x, (1, 2)), torch.nn.functional.pad(x, (-1, 0, 0, 2), value=3.0)),
    lambda x, y, i, m: (torch.zeros(2, 3) + x[0, 0], torch.full((2,), 3), torch.arange(5), torch.ones_like(i), x.new_zeros(2)),
    lambda x, y, i, m: (torch.nn.functional.layer_norm(x, (4, 6)), torch.nn.functional.group_norm(x, 2), torch.nn.functional.rms_norm(x, (6,))),
    lambda x, y, i, m: (torch.nn.functional.avg_pool2d(x[None], 2, 1, 1), torch.nn.functional.max_pool1d(x, 2)),
    lambda x, y, i, m: (torch.nn.functional.conv1d(x[None], y[:, :4, None]), torch.einsum("ab,cb->ca", x, y)),
]  # fmt: skip


def inputs() -> tuple:
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.rand(4, 6, generator=generator) * 1.8 - 0.9 for _ in range(2))
    return x, y, torch.randint(0, 4, (4, 6), generator=generator), torch.rand(4, 6, generator=generator) > 0.5


class Exports(unittest.TestCase):
    def compare(self, name: str, module: nn.Module, examples: Sequence[tuple], dynamic: Any = None, tolerance: float = 2e-5) -> kgen.torch.Exported:  # fmt: skip
        torch.manual_seed(1)
        module = module.eval()
        folder = graphs.work / "torch" / name
        exported = kgen.from_torch(module, examples[0], path=folder / f"{name}.yaml", dynamic_shapes=dynamic)
        model = exported.load(folder=folder)
        for example in examples:
            with torch.no_grad():
                expected = module(*example)
            found = model(*example)
            pairs = list(zip(*(one if isinstance(one, (tuple, list)) else [one] for one in (found, expected))))
            self.assertEqual(len(pairs), len(exported.outputs))
            for number, (one, other) in enumerate(pairs):
                with self.subTest(name=name, output=number):
                    torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance, equal_nan=True)
        return exported

    def test_elementwise(self) -> None:
        self.compare("elementwise", Functions(ELEMENTWISE), [inputs()])

    def test_other_operators(self) -> None:
        self.compare("operators", Functions(REST), [inputs()])

    def test_mlp(self) -> None:
        exported = self.compare(
            "mlp", torch_models.Mlp(), [(torch.randn(n, 24),) for n in (3, 1, 8)], {"x": {0: Dim("B", max=8)}}
        )
        text = exported.graph.read_text()
        self.assertIn("B: 0..8", text)
        self.assertIn('layers_0_weight: {type: "f32[48, 24]", file: mlp.safetensors, key: "layers.0.weight"}', text)
        self.assertIn("out: layers_0}", text)

    def test_bert(self) -> None:
        def example(batch: int, length: int) -> tuple:
            return torch.randint(0, 50, (batch, length)), (torch.arange(length).expand(batch, -1) < length - 1).long()

        length = Dim("L", min=2, max=64)
        dims = {"ids": {0: Dim("B", max=4), 1: length}, "seen": {0: Dim("B", max=4), 1: length}}
        exported = self.compare("bert", torch_models.Bert(), [example(2, 7), example(1, 13)], dims)
        text = exported.graph.read_text()
        self.assertIn('key: "layers.{index}.norm2.weight"', text)
        self.assertIn("- {call: layers, in: [norm, mul], out: layers_1_norm2, repeat: 2}", text)

    def test_llama(self) -> None:
        dims = {"x": {0: Dim("B", max=4), 1: Dim("L", min=2, max=64)}}
        self.compare("llama", torch_models.LlamaBlock(), [(torch.randn(2, 5, 32),), (torch.randn(1, 9, 32),)], dims)

    def test_attention_in_other_forms(self) -> None:
        """Values of another width than keys, masks that broadcast, f64, which is spelt, few keys for many queries."""

        class Forms(nn.Module):
            def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> tuple:
                attend = nn.functional.scaled_dot_product_attention
                wide = [each.double() for each in (q, k, v)]
                return (
                    attend(q, k, v, attn_mask=mask), attend(q, k, v[..., :3], is_causal=True), attend(q, k, torch.cat([v, v], -1), scale=0.5),
                    attend(q, k[:, :2], v[:, :2], enable_gqa=True), attend(q[:, :, 2:], k, v, is_causal=True), attend(q[0], k[0], v[0]),
                    attend(*wide), attend(*wide, attn_mask=mask, scale=0.3), attend(*wide, is_causal=True),
                    attend(wide[0], wide[1][:, :2], wide[2][:, :2], attn_mask=mask, enable_gqa=True),
                )  # fmt: skip

        examples = []
        for batch, length in ((2, 5), (3, 4)):
            seen = torch.rand(batch, 1, length, length) > 0.4
            seen[0, 0, 1] = False  # sees nothing
            examples.append((*(torch.randn(batch, 4, length, 8) for _ in range(3)), seen))
        dims = {0: Dim("B", max=4), 2: Dim("L", min=4, max=9)}
        self.compare("attention_forms", Forms(), examples, {**dict.fromkeys("qkv", dims), "mask": {**dims, 3: dims[2]}})

    def test_sizes_that_are_multiples(self) -> None:
        class Halves(nn.Module):
            def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
                halves = nn.functional.interpolate(x[:, :, ::2, ::4], scale_factor=2)
                return x.reshape(2, 3, -1, 4, x.shape[3]).sum(3) + halves[:, :, ::4, :1] + y[1:].sum()

        height, width, more = Dim("h", max=20), Dim("w", max=20), Dim("n", max=20)
        shapes = {"x": {2: 4 * height, 3: 8 * width}, "y": {0: more + 1}}
        examples = [(torch.randn(2, 3, 4 * h, 8 * w), torch.randn(h + 1)) for h, w in ((2, 3), (5, 2))]
        text = self.compare("multiples", Halves(), examples, shapes).graph.read_text()
        self.assertRegex(text, r"x: .?f32\[2, 3, 4\*h, 8\*w\]")

    def test_numbers_as_arguments(self) -> None:
        class Window(nn.Module):
            def forward(self, x: torch.Tensor, at: int, factor: float) -> torch.Tensor:
                return x[at:] * factor + at

        folder = graphs.work / "torch" / "arguments"
        shapes = {"x": {0: Dim("N", min=8, max=64)}, "at": Dim.DYNAMIC, "factor": None}
        exported = kgen.from_torch(Window(), (torch.randn(12, 3), 4, 2.0), path=folder / "arguments.yaml", dynamic_shapes=shapes)
        self.assertRegex(exported.graph.read_text(), r"(?s)range: \d+\.\.\d+, from: at\}.*at: .?i64\[\]")
        model = exported.load(folder=folder)
        for rows, at in ((12, 4), (20, 7)):
            x = torch.randn(rows, 3)
            torch.testing.assert_close(model(x, at), Window()(x, at, 2.0))

    def test_sizes_as_numbers(self) -> None:
        class Positions(nn.Module):
            def forward(self, x: torch.Tensor, past: torch.Tensor) -> tuple:
                at = torch.arange(x.shape[1]) + past.shape[1]
                return x * (at < 2 * x.shape[1]), at, x + x.shape[1], x.var(1), x.repeat(past.shape[1], 1), x.roll(1, 1)

        dims = {"x": {1: Dim("L", min=2, max=64)}, "past": {1: Dim("P", min=2, max=64)}}
        examples = [(torch.randn(2, length), torch.zeros(1, past)) for length, past in ((5, 3), (7, 9))]
        self.compare("positions", Positions(), examples, dims)

    def test_adaptive_pooling_of_symbolic_axes(self) -> None:
        class Pooled(nn.Module):
            def forward(self, x: torch.Tensor) -> tuple:
                F = nn.functional
                halved = F.relu(x)[:, :, ::2]
                return (
                    F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (3, 2)), F.adaptive_max_pool2d(x, 4),
                    F.adaptive_avg_pool2d(x, (None, 3)), F.adaptive_avg_pool2d(halved, (2, 5)), F.adaptive_max_pool1d(x[0], 1),
                    F.adaptive_avg_pool2d(torch.cat([x, x], 2), (x.shape[2], 4)), F.adaptive_avg_pool3d(x, (2, 3, 8)),
                )  # fmt: skip

        examples = [(torch.randn(2, 3, height, 8),) for height in (7, 12, 5, 31)]
        dims = {"x": {2: Dim("H", min=4, max=40)}}
        text = self.compare("pooled", Pooled(), examples, dims, tolerance=1e-5).graph.read_text()
        self.assertIn("begin: H/3, end: (2*H + 2)/3", text)

        class Square(nn.Module):
            def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
                return nn.functional.adaptive_avg_pool2d(x, (2, y.shape[0]))

        shapes = {"x": {3: Dim("H", min=4, max=40)}, "y": {0: Dim("W", min=2, max=4)}}
        with self.assertRaisesRegex(kgen.torch.ExportError, r"(?s)of the size H to W, .*adaptive_avg_pool2d\(x, \(2, y.shape\[0\]\)\)"):
            kgen.from_torch(Square(), (torch.randn(2, 3, 4, 8), torch.randn(3)), path=graphs.work / "square.yaml", dynamic_shapes=shapes)

    def test_complex_numbers(self) -> None:
        """Graphs have none: each is two values, also one that is a parameter, and what is complex is no input and no output."""

        class Numbers(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.weight = nn.Parameter(torch.randn(4, 6, dtype=torch.complex64))
                angles = torch.outer(torch.arange(4.0), torch.arange(6.0))
                self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles), persistent=False)

            def forward(self, x: torch.Tensor, y: torch.Tensor) -> List[torch.Tensor]:
                fft, z, w = torch.fft, torch.complex(x, y), torch.polar(y.abs() + 0.5, x)
                written = torch.zeros(4, 6, dtype=torch.complex64)
                written[:2, 1:4] = z[2:, :3] * self.turns[:2, :3]
                numbers = [
                    z * self.weight + w, z - 2 * w, z * 3j + 1, z / w, w / 2, 1 / w, z.conj() * self.turns, -z, z.exp(), z @ w.t(), z + x,
                    (z + 1).sum(0), torch.cat([z, w]), torch.stack([z, z.conj()]), z.reshape(-1)[2:], z.mean(1), written,
                    fft.ifft(z, dim=0), fft.fft(x, 5), fft.ifft2(z, norm="forward"), fft.fftshift(fft.fft(x)), z.to(torch.complex128),
                    torch.einsum("ab,cb->ac", z, self.weight),
                ]  # fmt: skip
                return [torch.view_as_real(each) for each in numbers] + [
                    z.abs(), z.angle(), z.real, z.conj().imag, fft.irfft(z, 7), fft.irfft(z), fft.rfft(x).abs(),
                    fft.irfft2(fft.rfft2(x, norm="ortho") * self.turns[:, :4], s=x.shape, norm="ortho"),
                ]  # fmt: skip

        exported = self.compare("complex_numbers", Numbers(), [tuple(torch.randn(4, 6) for _ in range(2))])
        self.assertIn('weight_imag: {type: "f32[4, 6]", file: complex_numbers.safetensors, key: "weight.imag"}', exported.graph.read_text())

        class Outside(nn.Module):
            def forward(self, z: torch.Tensor, x: torch.Tensor) -> tuple:
                return z * 2, torch.fft.rfft(x), torch.linalg.det(z)

        with self.assertRaises(kgen.torch.ExportError) as caught:
            kgen.from_torch(Outside(), (torch.randn(3, 3, dtype=torch.complex64), torch.randn(3)), path=graphs.work / "outside.yaml")
        for text in ("input 'z': torch.complex64 is no dtype of graphs; pass it as torch.view_as_real has it",
                     "result 1 of the module is complex, as no output of a graph is; return torch.view_as_real(it)",
                     "_linalg_det.default: kgen has no such operator of complex numbers\n    "):  # fmt: skip
            self.assertIn(text, str(caught.exception))

    def test_spectrogram(self) -> None:
        class LogMel(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("window", torch.hann_window(20))
                self.register_buffer("bands", torch.rand(5, 11))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                spectrum = torch.stft(x, 20, 8, window=self.window, return_complex=True)
                return torch.clamp(self.bands @ spectrum[..., :-1].abs() ** 2, min=1e-10).log10()

        self.compare("spectrogram", LogMel(), [(torch.randn(n, 100),) for n in (2, 3)], {"x": {0: Dim("B", max=8)}}, tolerance=1e-4)

    def test_resnet(self) -> None:
        self.compare("resnet", torch_models.ResNetBlock(), [(torch.randn(2, 3, 33, 33),)], tolerance=1e-4)

    def test_mobilenet(self) -> None:
        examples = [(torch.randn(n, 8, 9, 9),) for n in (2, 3)]
        self.compare("mobilenet", torch_models.MobileNetBlock(), examples, {"x": {0: Dim("N", max=4)}}, tolerance=1e-4)

    def test_vision_transformer(self) -> None:
        self.compare("vit", torch_models.VisionTransformer(), [(torch.randn(2, 3, 32, 32),)], tolerance=1e-4)

    def test_state(self) -> None:
        module = torch_models.Decoder().eval()
        folder = graphs.work / "torch" / "decoder"
        exported = kgen.from_torch(module, (torch.randn(2, 3, 8),), path=folder / "decoder.yaml")
        model = exported.load(folder=folder)
        with torch.no_grad():
            for _ in range(3):
                x = torch.randn(2, 3, 8)
                for found, expected in zip(model(x), module(x)):
                    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(torch.from_dlpack(model.state["cache"]), module.cache, rtol=1e-5, atol=1e-5)
        self.assertEqual(model.state["count"].numpy(), 3)

    def test_layers_with_caches(self) -> None:
        module = torch_models.CachedDecoder().eval()
        folder = graphs.work / "torch" / "caches"
        exported = kgen.from_torch(module, (torch.randn(2, 3, 8), torch.arange(3)), path=folder / "caches.yaml")
        text = exported.graph.read_text()
        self.assertIn("- {call: layers, in: [embed, at], out: layers_3, repeat: 4}", text)
        self.assertIn('k_cache: {type: "f32[2, 16, 8]", next: index_put}', text)
        self.assertEqual(text.count("op: scatter"), 2)
        model = exported.load(folder=folder)
        with torch.no_grad():
            for step in range(3):
                x, at = torch.randn(2, 3, 8), torch.arange(3) + 3 * step
                torch.testing.assert_close(model(x, at), module(x, at), rtol=1e-5, atol=1e-5)
        caches = [name for name in model.state if name.startswith("layers.k_cache[")]
        self.assertEqual(len(caches), 4)
        for name, layer in zip(caches, module.layers):
            torch.testing.assert_close(torch.from_dlpack(model.state[name]), layer.k_cache, rtol=1e-5, atol=1e-5)

    def test_layers_that_begin_later(self) -> None:
        class Stack(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.blocks = nn.ModuleList(torch_models.BertLayer(16, 2) for _ in range(4))
                self.blocks[0].down = nn.Identity()
                self.blocks[0].up = nn.Linear(16, 16)

            def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
                for block in self.blocks:
                    x = block(x, mask)
                return x

        exported = self.compare("later", Stack(), [(torch.randn(2, 5, 16), torch.randn(2, 1, 1, 5))])
        self.assertIn('key: "blocks.{index+1}.norm.weight"', exported.graph.read_text())

    def test_what_a_reader_sees(self) -> None:
        """Heads that are shared are not repeated, what changes nothing is not written, and norms are called as in the module."""

        class Shared(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.norm = nn.BatchNorm1d(4)

            def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> tuple:
                batch, groups, length, width = k.shape
                keys, values = (one[:, :, None].expand(batch, groups, 2, length, width).reshape(batch, 2 * groups, length, width) for one in (k, v))
                attended = nn.functional.scaled_dot_product_attention(q, keys, values).transpose(1, 2)
                rows, columns = torch.arange(batch)[:, None] + 0, torch.arange(length)[None, :]
                return attended.transpose(1, 2) * 1.0, torch.relu(self.norm(q[:, :, 0])), attended[rows, columns]

        examples = [(torch.randn(b, 4, n, 8), torch.randn(b, 2, n, 8), torch.randn(b, 2, n, 8)) for b, n in ((2, 5), (3, 4))]
        dims = {0: Dim("B", max=4), 2: Dim("L", min=2, max=9)}
        text = self.compare("shared", Shared(), examples, {"q": dims, "k": dims, "v": dims}).graph.read_text()
        self.assertNotIn("broadcast_to, in: unsqueeze", text)
        self.assertNotIn("[B, 2, 2, L, 8]", text)
        self.assertIn("out: norm,", text)
        for useless in (", 1]", ", 0]", "op: less"):
            self.assertNotIn(useless + ", out" if useless[0] == "," else useless, text)

    def test_all_that_is_unknown_is_listed(self) -> None:
        class Strange(nn.Module):
            def forward(self, x: torch.Tensor) -> tuple:
                first = torch.special.bessel_j0(x)
                return first, torch.linalg.qr(x)[0], x[x > 0]

        with self.assertRaises(kgen.torch.ExportError) as caught:
            kgen.from_torch(Strange(), (torch.randn(4, 4),), path=graphs.work / "strange.yaml")
        text = str(caught.exception)
        for operator, line in (("special_bessel_j0", "torch.special.bessel_j0(x)"), ("linalg_qr", "torch.linalg.qr(x)"), ("index.Tensor", "x[x > 0]")):
            self.assertRegex(text, rf"(?s){operator}[^\n]*\n    [^\n]*test_torch_export\.py:\d+: [^\n]*")
            self.assertIn(line, text)

    def test_reasons_say_what_to_do(self) -> None:
        class Inverse(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return torch.linalg.inv(x) + torch.linalg.solve(x, x)

        class Rows(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                x[torch.where(x[:, 0] > 0)[0]] += 1
                return x

        class Picked(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x[x > 0]

        class Cache(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("keys", torch.zeros(8, 4))

            def forward(self, x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
                self.keys[at : at + 1] = x[:1]
                return self.keys

        x = torch.eye(4)
        for module, given, reasons in (
            (Inverse(), (x,), ["linalg_inv_ex.default: graphs decompose no matrices and solve no systems of equations; compute it outside"]),
            (Rows(), (x,), ["nonzero.default: the size of its result follows from data; compute all elements, and choose with torch.where"]),
            (Picked(), (x,), [r"index.Tensor: a mask as index, .*; keep all elements: torch.where\(mask, x, 0\)"]),
            (Cache(), (x, torch.tensor(3)), ["numbers that only a run knows; .* with an index: cache\\[:, position\\] = x"]),
        ):
            with self.subTest(type(module).__name__), self.assertRaises(kgen.torch.ExportError) as caught:
                kgen.from_torch(module, given, path=graphs.work / "reasons.yaml")
            for reason in reasons:
                self.assertRegex(str(caught.exception), rf"{reason}[^\n]*\n    [^\n]*test_torch_export\.py:\d+: ")
            self.assertNotRegex(str(caught.exception), "TOKEN|with_effects|None")

    def test_graphs_within_the_graph(self) -> None:
        class Choice(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return torch.cond(x.sum() > 0, lambda each: each * 2, lambda each: each - 1, (x,))

        with self.assertRaisesRegex(kgen.torch.ExportError, r"cond: graphs have no graph within the graph, as torch\.cond"):
            kgen.from_torch(Choice(), (torch.randn(3),), path=graphs.work / "choice.yaml")

    def test_names_of_other_letters(self) -> None:
        module = nn.ModuleDict({"größe": nn.Linear(3, 2), "大": nn.Linear(2, 2)})
        module.forward = lambda x: module["大"](module["größe"](x))  # type: ignore[method-assign]
        exported = kgen.from_torch(module, (torch.randn(4, 3),), path=graphs.work / "letters.yaml")
        text = exported.graph.read_text()
        self.assertRegex(text, r'gr_e_weight: \{type: "f32\[2, 3\]", file: letters.safetensors, key: "(größe|gr\\u00f6\\u00dfe)\.weight"\}')

    def test_where_it_is_written(self) -> None:
        folder = graphs.work / "written" / "below"
        exported = kgen.from_torch(nn.Linear(3, 2), (torch.randn(4, 3),), path=folder / "line.yml", name="my line")
        self.assertEqual(sorted(path.name for path in folder.iterdir()), ["line.yml", "my_line.safetensors"])
        self.assertIn("graph: my_line", exported.graph.read_text())
        with self.assertRaisesRegex(ValueError, r"path: '.*line' is no name of a graph; write '.*line\.yaml'"):
            kgen.from_torch(nn.Linear(3, 2), (torch.randn(4, 3),), path=folder / "line")

    def test_arguments_that_are_wrong(self) -> None:
        module, x, path = nn.Linear(3, 2), torch.randn(4, 3), graphs.work / "arguments.yaml"
        for given, text in (
            ((module, x), r"^example_inputs: it is a Tensor, expected a tuple of what the module is called with; pass \(x,\) for one tensor x$"),
            ((module, {"input": x}), "^example_inputs: it is a dict, expected a tuple .*; pass it as kwargs=$"),
            ((torch.relu, (x,)), "^module: it is a builtin_function_or_method, expected .*; kgen.torch.graph_op takes functions$"),
            (("module.pt", (x,)), "^module: it is a str, expected a torch.nn.Module or an ExportedProgram$"),
        ):
            with self.assertRaisesRegex(TypeError, text):
                kgen.from_torch(*given, path=path)

    def test_results_that_are_none(self) -> None:
        """What a module was not asked for is no output; a number is none either, and is refused."""

        class Several(nn.Module):
            def forward(self, x: torch.Tensor, last: Any = None) -> dict:
                return {"first": x + 1, "past": None, "rest": [2 * x, None], "last": last}

        folder, x = graphs.work / "torch" / "several", torch.randn(3)
        exported = kgen.from_torch(Several(), (x,), path=folder / "several.yaml")
        torch.testing.assert_close(exported.load(folder=folder)(x), (x + 1, 2 * x))
        with self.assertRaisesRegex(kgen.torch.ExportError, "result 4 of the module is no tensor"):
            kgen.from_torch(Several(), (x, 7), path=folder / "number.yaml")

    def test_numbers_that_python_reads(self) -> None:
        """Of a tensor they are computed with; where Python goes on by them, that is said with the line."""

        class Scaled(nn.Module):
            def forward(self, x: torch.Tensor, i: torch.Tensor) -> tuple:
                return x / x.abs().max().item(), x + i.sum().item(), i * i[0].item()

        self.compare("scaled", Scaled(), [(torch.randn(3, 4), torch.arange(n, n + 5)) for n in (0, 2)])

        class Cut(nn.Module):
            def forward(self, x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
                count = i[0].item()
                torch._check(count >= 0)
                torch._check(count < 3)
                return x.new_ones(count, 4) * 2

        with self.assertRaisesRegex(kgen.torch.ExportError, r"the size u0 .*follows from data"):
            kgen.from_torch(Cut(), (torch.randn(3, 4), torch.arange(5)), path=graphs.work / "cut.yaml")

        class Branch(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                if x.sum() > 0:
                    return 2 * x
                return x - 1

        with self.assertRaisesRegex(kgen.torch.ExportError, r"only a run knows; .*\n    .*test_torch_export\.py:\d+: if x\.sum\(\) > 0"):
            kgen.from_torch(Branch(), (torch.randn(3),), path=graphs.work / "branch.yaml")

    def test_the_module_is_as_it_was(self) -> None:
        """Exported in inference; what trains trains on, and what does not does not."""
        module = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.9), nn.BatchNorm1d(3))
        module[2].eval()
        before = [each.training for each in module.modules()]
        exported = kgen.from_torch(module, (torch.randn(4, 3),), path=graphs.work / "training.yaml")
        self.assertEqual([each.training for each in module.modules()], before)
        self.assertNotIn("dropout", exported.graph.read_text())

    def test_state_that_does_not_begin_as_zero(self) -> None:
        """One number, numbers in the file, a type of few bits, and none; a reset brings them back."""

        class Running(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("count", torch.ones((), dtype=torch.int64))
                self.register_buffer("mean", torch.randn(2, 5))
                self.register_buffer("low", torch.full((3,), -0.0, dtype=torch.bfloat16))
                self.register_buffer("seen", torch.tensor([True, False]))

            def forward(self, x: torch.Tensor) -> tuple:
                self.count += 2
                self.mean.mul_(0.5).add_(x)
                self.low.copy_(-self.low)
                self.seen.logical_xor_(x[:, 0] > 0)
                return self.mean * self.count, 1 / self.low.float(), self.seen.clone()

        module = Running().eval()
        folder = graphs.work / "torch" / "running"
        exported = kgen.from_torch(module, (torch.randn(2, 5),), path=folder / "running.yaml")
        text = exported.graph.read_text()
        self.assertRegex(text, r"count: \{type: \"i64\[\]\", next: \w+, values: 1\}")
        self.assertRegex(text, r"mean: \{type: \"f32\[2, 5\]\", next: \w+, file: running.safetensors, key: \"?mean\"?\}")
        self.assertRegex(text, r"low: \{type: \"bf16\[3\]\", next: \w+, values: -0.0\}")
        model = exported.load(folder=folder)
        for _ in range(2):
            reference = copy.deepcopy(module)
            with torch.no_grad():
                for _ in range(3):
                    x = torch.randn(2, 5)
                    for found, expected in zip(model(x), reference(x)):
                        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
            for name, buffer in reference.named_buffers():
                torch.testing.assert_close(torch.from_dlpack(model.state[name]), buffer, rtol=1e-5, atol=1e-5)
            model.reset_state()
            for name, buffer in module.named_buffers():
                self.assertTrue(torch.equal(torch.from_dlpack(model.state[name]), buffer), name)

    def test_layers_with_state_of_their_own(self) -> None:
        module = torch_models.CachedDecoder().eval()
        for layer in module.layers:
            nn.init.normal_(layer.k_cache)
            nn.init.ones_(layer.v_cache)
        folder = graphs.work / "torch" / "begun"
        exported = kgen.from_torch(module, (torch.randn(2, 3, 8), torch.arange(3)), path=folder / "begun.yaml")
        text = exported.graph.read_text()
        self.assertIn("repeat: 4}", text)
        self.assertIn('file: begun.safetensors, key: "layers.{index}.k_cache"}', text)
        self.assertRegex(text, r"v_cache: \{.*, values: 1\}")
        model = exported.load(folder=folder)
        with torch.no_grad():
            for step in range(2):
                x, at = torch.randn(2, 3, 8), torch.arange(3) + 3 * step
                torch.testing.assert_close(model(x, at), module(x, at), rtol=1e-5, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
