"""The backend of torch.compile beside eager, where results, inputs and the module's buffers share memory, change, and come in all
forms: numbers, strides, which tensors share memory, and that nothing was left to PyTorch."""

from __future__ import annotations

import copy
import unittest
from dataclasses import dataclass
from typing import Any, Callable, Sequence, Tuple

import graphs
import kgen
import kgen.torch
import torch
from torch import nn
from torch.utils import _pytree as pytree

NAN, INF = float("nan"), float("inf")


@dataclass
class Pair:
    sum: torch.Tensor
    rest: Any


def tensors_of(tree: Any) -> list:
    return [each for each in pytree.tree_leaves(tree) if isinstance(each, torch.Tensor)]


def sharing(tensors: Sequence[torch.Tensor]) -> list:
    """Which of them share memory, and where each begins in it."""
    first: dict = {}
    places = []
    for i, one in enumerate(tensors):
        if one.numel():
            places.append((i, first.setdefault(one.untyped_storage().data_ptr(), i), one.storage_offset()))
    return places


class Hostile(unittest.TestCase):
    def setUp(self) -> None:
        torch._dynamo.reset()
        torch.manual_seed(0)

    def compare(self, name: str, function: Callable[..., Any], calls: Sequence[Tuple[tuple, dict]], **options: Any) -> None:
        """Of each call: the results, what became of the arguments, of the module's state, and who shares memory with whom."""
        mine = copy.deepcopy(function)
        compiled = torch.compile(mine, backend="kgen", options={"folder": graphs.work / "hostile" / name}, **options)
        before = len(kgen.torch.reports)
        for number, given in enumerate(calls):
            own = copy.deepcopy(given)  # which keeps what shares memory
            with self.subTest(call=number), torch.no_grad():
                found, expected = compiled(*given[0], **given[1]), function(*own[0], **own[1])
                states = [dict(each.state_dict()) if isinstance(each, nn.Module) else {} for each in (mine, function)]
                ours, theirs = tensors_of((found, given, states[0])), tensors_of((expected, own, states[1]))
                torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5, equal_nan=True)
                laid = [[one.stride() for one in each if one.numel()] for each in (ours, theirs)]
                self.assertEqual(laid[0], laid[1])
                self.assertEqual(sharing(tensors_of((found, given))), sharing(tensors_of((expected, own))))
                self.assertEqual(pytree.tree_structure(found), pytree.tree_structure(expected))
        self.assertEqual([line for report in kgen.torch.reports[before:] for line in report.left], [])

    def test_views_that_are_returned(self) -> None:
        """Of inputs and of results, with steps, of several axes, of none, and one that the graph reads as well."""

        def function(x: torch.Tensor) -> tuple:
            y = x * 2
            first, last = y.split(3, 1)
            return (y, first, last.t(), y[:, ::2], y[1], y.diagonal(), x[:, 1::2], x.unfold(1, 2, 2), x, x[1:], first + 1, y.expand(2, 4, 6),
                    y[None, ..., 0], y.detach())  # fmt: skip

        self.compare("views", function, [((torch.randn(4, 6),), {}), ((torch.randn(6, 4).t(),), {})], dynamic=False)

    def test_views_of_any_size(self) -> None:
        def function(x: torch.Tensor) -> tuple:
            y = x * 2
            return (x[1:, ::2], x.t()[1:3], y[1:, ::2], y.expand(2, *y.shape), x.expand(3, *x.shape), y.t().unsqueeze(1),
                    y.flatten()[2:])  # fmt: skip

        calls: list = [((torch.randn(*shape),), {}) for shape in ((4, 6), (5, 7), (8, 6), (2, 2), (0, 6))]
        self.compare("views_of_any_size", function, calls, dynamic=True)

    def test_arguments_that_change(self) -> None:
        """In place, through views, by `out=`, in lists and by name; results that are nested, or no tensors."""

        def function(x: torch.Tensor, *, more: list, out: torch.Tensor, scale: float = 2.0) -> dict:
            x.mul_(scale)
            x.t()[0] = 1
            more[0].masked_fill_(x > 0, 3)
            more[1].view(-1)[1:3].zero_()
            torch.add(x, more[0], out=out)
            return {"pair": Pair(x + more[1], (out.sum(), None, 3)), "list": [more[0], {"text": "t"}], "rows": x.shape[0]}

        calls: list = [
            ((one(),), {"more": [one(), torch.randn(5, 7)], "out": torch.empty(5, 7)})
            for one in (lambda: torch.randn(5, 7), lambda: torch.randn(7, 5).t(), lambda: torch.randn(5, 14)[:, ::2])
        ]
        torch.utils._pytree.register_dataclass(Pair)
        self.compare("arguments", function, calls)

    def test_state_that_changes(self) -> None:
        """Buffers, running statistics in training, tied weights."""

        class Module(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("total", torch.zeros(4))
                self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
                self.norms = nn.Sequential(nn.BatchNorm1d(4, momentum=0.3), nn.BatchNorm1d(4, affine=False))
                self.embedding = nn.Embedding(9, 4)
                self.head = nn.Linear(4, 9, bias=False)
                self.head.weight = self.embedding.weight

            def forward(self, x: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
                self.total.add_(x.sum(0))
                self.calls += 1
                return self.head(self.norms(x) + self.embedding(words)) * self.total.sum() + self.calls

        self.compare("state", Module(), [((torch.randn(5, 4), torch.randint(0, 9, (5,))), {}) for _ in range(3)])

    def test_layers_that_eager_computes_in_one(self) -> None:
        class Module(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                named: Any = {"batch_first": True}
                kinds = ({"activation": "relu"}, {"activation": "gelu", "norm_first": True})
                self.layers = nn.ModuleList([nn.TransformerEncoderLayer(8, 2, 16, **named, **each) for each in kinds])
                self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

            def forward(self, x: torch.Tensor, hidden: torch.Tensor) -> tuple:
                y = self.layers[0](x, src_key_padding_mask=hidden)
                causal = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
                y = self.layers[1](y, src_mask=causal)
                each = self.attention(y, y, y, average_attn_weights=False)
                return y, *self.attention(y, y, y), *each, self.attention(y, y, y, need_weights=False)[0]

        hidden = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
        self.compare("layers", Module().eval(), [((torch.randn(2, 5, 8), hidden), {})])

    def test_autocast(self) -> None:
        """In bf16: by default only what products multiply is rounded, so that results are nearer to exact ones than eager's; with
        match_unfused they are eager's, whose products with a bias round once."""
        module = nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, 64)).eval()
        x, exact = torch.randn(32, 64), copy.deepcopy(module).double()
        with torch.no_grad():
            with torch.autocast("cpu", dtype=torch.bfloat16):
                eager = module(x).double()
            right = exact(x.double())
            for layer in (exact[0], exact[2]):
                layer.weight.data = layer.weight.bfloat16().double()
                layer.bias.data = layer.bias.bfloat16().double()
            between = nn.functional.gelu(exact[0](x.bfloat16().double())).bfloat16().double()
            rounded = exact[2](between).bfloat16().double()
            for numerics, expected in {"fast": rounded, "match_unfused": eager}.items():
                torch._dynamo.reset()
                options = {"folder": graphs.work / "hostile" / "autocast", "numerics": numerics}
                compiled = torch.compile(module, backend="kgen", options=options)
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    found = compiled(x).double()
                # Sums in another order may round to the next number, rarely.
                self.assertGreaterEqual(float((found == expected).double().mean()), 0.97, numerics)
                self.assertLessEqual(float((found - expected).abs().max()), 2.0**-7 * float(expected.abs().max()), numerics)
                self.assertLessEqual(float((found - right).abs().mean()), 1.02 * float((eager - right).abs().mean()), numerics)

    def test_signs_and_products(self) -> None:
        x = torch.tensor([1, -2, 0, -0.0, NAN, INF, -INF, 3])
        y = torch.tensor([-1, -0.0, 0, NAN, 2, -3, NAN, INF])

        class Module(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.bilinear = nn.Bilinear(3, 2, 4)

            def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple:
                known = y.nan_to_num(4)
                return (x.sign(), torch.sgn(y), torch.copysign(x, known), torch.signbit(known), torch.fmax(x, y), torch.fmin(x, y), x / 0,
                        torch.dist(x[:3], y[:3]), x.put(torch.tensor([1, -1]), torch.tensor([9.0, 8.0])), torch.fmax(known.int(), known.int() * 2),
                        self.bilinear(known[:6].view(2, 3), known[:4].view(2, 2)), torch.copysign(known.int(), known))  # fmt: skip

        self.compare("signs", Module(), [((x, y), {})])


class NotStrided(unittest.TestCase):
    """Tensors whose elements are no single block of memory: what is wrong with which, and what to pass instead."""

    def given(self) -> list:
        ones, rows = torch.ones(3, 4), [torch.ones(3), torch.ones(4)]
        padded, dense, plain = "pass torch.nested.to_padded_tensor(x, 0.0)", "pass x.to_dense()", "pass x.int_repr(), or x.dequantize()"
        return [
            (torch.nested.nested_tensor(rows), "nested", padded),
            (torch.nested.nested_tensor(rows, layout=torch.jagged), "nested", padded),
            (ones.to_sparse(), "the layout is torch.sparse_coo, expected torch.strided", dense),
            (ones.to_sparse_csr(), "the layout is torch.sparse_csr, expected torch.strided", dense),
            (torch.quantize_per_tensor(ones, 0.1, 0, torch.quint8), "quantized by PyTorch", plain),
        ]

    def refuse(self, raised: type, call: Callable[[], Any], *texts: str) -> None:
        with self.assertRaises(raised) as caught:
            call()
        for text in texts:
            self.assertIn(text, str(caught.exception))

    def test_arguments(self) -> None:
        model, ones = graphs.load(graphs.GATED), torch.ones(3, 4)
        for tensor, what, remedy in self.given():
            with self.subTest(what):
                self.refuse(TypeError, lambda: model(tensor, ones), "input 'x' (f32[M, 4])", what, remedy)
        self.refuse(TypeError, lambda: model(ones.to("meta"), ones), "input 'x'", "on the device 'meta', which has no memory")
        complex_ones = torch.ones(3, 4, dtype=torch.complex64)
        self.refuse(kgen.ArgumentError, lambda: model(complex_ones, ones), "input 'x': the element type is complex64, expected f32")

    def test_from_torch(self) -> None:
        path = graphs.work / "not_strided" / "graph.yaml"
        for tensor, what, remedy in self.given():
            with self.subTest(what):
                self.refuse(kgen.torch.ExportError, lambda: kgen.from_torch(nn.ReLU(), (tensor,), path=path), "example input 0", what, remedy)
        scaled = nn.Module()
        scaled.register_buffer("scale", torch.ones(3, 4).to_sparse())
        self.refuse(kgen.torch.ExportError, lambda: kgen.from_torch(scaled, (), path=path), "'scale': the layout is torch.sparse_coo")
        self.assertFalse(path.exists())


if __name__ == "__main__":
    unittest.main()
