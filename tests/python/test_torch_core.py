"""Every core operator of ATen: written and compared with PyTorch, or refused with its reason."""

from __future__ import annotations

import unittest
from typing import Any, Callable, Dict, List, Set
from unittest import mock

import graphs
import kgen
import kgen.torch
import torch
from kgen.torch._aten_indexing import REFUSED
from kgen.torch._convert import Converter, name_of
from torch import nn
from torch.export import Dim

aten = torch.ops.aten

# What PyTorch has sizes from, which are attributes of graphs rather than operators.
SIZES = {"sym_size.int", "sym_numel.default", "sym_is_contiguous.default"}


def core_operators() -> Set[str]:
    """As PyTorch tags them. Exported graphs have none that write into a given tensor."""
    names = set()
    for full in torch._C._dispatch_get_all_op_names():
        library, _, name = full.partition("::")
        if library == "aten":
            base, _, overload = name.partition(".")
            operator = getattr(getattr(aten, base), overload or "default")
            if torch.Tag.core in operator.tags and not operator._schema.is_mutable:
                names.add(f"{base}.{overload or 'default'}")
    return names


# x and y are f32[4, 6] between -0.9 and 0.9, i is i64[4, 6] of 0 to 3, m is bool[4, 6], image is f32[2, 4, 6, 6].
CALLS: List[Callable[..., Any]] = [
    *(lambda x, y, i, m, image, f=f: f(x) for f in (
        aten.abs, aten.acos, aten.asin, aten.asinh, aten.atan, aten.atanh, aten.ceil, aten.cos, aten.cosh, aten.erf, aten.exp,
        aten.expm1, aten.floor, aten.log1p, aten.neg, aten.reciprocal, aten.relu, aten.round, aten.sigmoid, aten.sign, aten.sin,
        aten.sinh, aten.tan, aten.tanh, aten.trunc, aten.isinf, aten.isnan, aten.alias, aten.clone, aten.gelu, aten.elu,
        aten.hardtanh, aten.leaky_relu, aten.sum, aten.mean, aten.amax, aten.amin, aten.prod, aten.any, aten.argmax, aten.argmin)),
    lambda x, y, i, m, image: [f(x.abs() + 0.5) for f in (aten.log, aten.log10, aten.log2, aten.rsqrt, aten.sqrt)] + [aten.acosh(x + 2)],
    *(lambda x, y, i, m, image, f=f: f(x, y) for f in (
        aten.add, aten.sub, aten.mul, aten.div, aten.atan2, aten.maximum, aten.minimum, aten.fmod, aten.remainder, aten.eq,
        aten.ne, aten.lt, aten.le, aten.gt, aten.ge)),
    *(lambda x, y, i, m, image, f=f: f(x, 0.5) for f in (
        aten.add.Scalar, aten.sub.Scalar, aten.mul.Scalar, aten.div.Scalar, aten.fmod.Scalar, aten.remainder.Scalar,
        aten.eq.Scalar, aten.ne.Scalar, aten.lt.Scalar, aten.le.Scalar, aten.gt.Scalar, aten.ge.Scalar)),
    lambda x, y, i, m, image: [f(i, i + 1) for f in (aten.bitwise_and, aten.bitwise_or, aten.bitwise_xor)] + [
        aten.bitwise_and.Scalar(i, 2), aten.bitwise_or.Scalar(i, 2), aten.bitwise_xor.Scalar(i, 2), aten.bitwise_not(i),
        aten.logical_and(m, x > 0), aten.logical_or(m, x > 0), aten.logical_xor(m, x > 0), aten.logical_not(m),
        aten.bitwise_left_shift.Tensor(i, i), aten.bitwise_right_shift.Tensor(i, i)],
    lambda x, y, i, m, image: [
        aten.pow.Tensor_Scalar(x, 2), aten.pow.Tensor_Tensor(x.abs(), y), aten.pow.Scalar(2, x), aten.clamp(x, -0.5, 0.5),
        aten.clamp.Tensor(x, y - 1, y), aten.where.self(m, x, y), aten.div.Tensor_mode(x, y, rounding_mode="floor"),
        aten.div.Scalar_mode(x, 0.3, rounding_mode="trunc"), aten._to_copy(x, dtype=torch.float64), aten.sub.Tensor(x, y, alpha=2),
        aten.elu(x, 0.5, 1.5, 2.0), nn.functional.softplus(x, 2.0, 1.0), aten.rsub.Scalar(x, 2, 3), nn.functional.celu(x, 0.7)],
    lambda x, y, i, m, image: [
        aten._softmax(x, 1, False), aten._log_softmax(x, 1, False), aten.sum.dim_IntList(x, [0]), aten.mean.dim(x, [1]),
        aten.prod.dim_int(x, 1), aten.any.dim(m, 1), aten.any.dims(m, [0, 1]), aten.var.correction(x, [1], correction=2),
        aten.var.dim(x, [0]), *aten.max.dim(x, 1), *aten.min.dim(x, 0), aten.cumsum(x, 1), *aten.topk(x, 2), *aten.sort(x, 1),
        *aten.sort.stable(x, stable=True, dim=0, descending=True)],
    lambda x, y, i, m, image: [
        aten.mm(x, y.t()), aten.bmm(x[None], y.t()[None]), aten.addmm(x[:, :4], x, y.t(), beta=0.5, alpha=2), aten._cdist_forward(x, y, 2.0, None),
        aten._cdist_forward(x, y, 1.0, None), aten._cdist_forward(x, y, float("inf"), None), aten._cdist_forward(x, y, 3.0, None),
        aten._pdist_forward(x, 2.0)],
    lambda x, y, i, m, image: [
        aten.view(x, [2, 12]), aten.permute(x, [1, 0]), aten.expand(x[:1], [3, 6]), aten.squeeze.dim(x[:, :1], 1), aten.squeeze.dims(x[None, :, :1], [0, 2]),
        aten.unsqueeze(x, 1), aten.slice.Tensor(x, 1, 1, 5, 2), aten.select.int(x, 0, 2), aten.cat([x, y], 1), aten.flip(x, [0, 1]),
        aten.repeat(x, [2, 1]), *aten.split_with_sizes(x, [2, 4], 1), aten.diagonal(x).clone(), aten.diagonal(image, 1, 2, 3).clone(),
        aten.diagonal(x, -1).clone(), aten.constant_pad_nd(x, [1, 2], 3.0), torch.roll(x, 5), aten.copy(x, y[0])],
    lambda x, y, i, m, image: [
        aten.select_scatter(x, y[0], 0, 1), aten.slice_scatter(x, y[:2], 0, 1, 3), aten.gather(x, 0, i), aten.index_select(x, 1, i[0]),
        aten.index.Tensor(x, [i[0], i[1]]), aten.index.Tensor(x, [i[:, :1] - 4, i[:1] - 1]), aten.index.Tensor(image, [None, i, i]),
        aten.index.Tensor(image, [i[0] % 2, None, i[1]]), aten.index.Tensor(image, [None, None, i[0]]),
        aten.index_put(x, [i[0], torch.arange(6)], y[0, :6]), aten.index_put(x, [i[:, 0]], y, True), aten.index_put(x, [m], torch.tensor(2.0)),
        aten.index_put(image, [None, i[0], i[1]], y[0], True), aten.embedding(x, i)],
    lambda x, y, i, m, image: [
        aten.histc(i[0].float(), 4, 0, 3), aten.histc(x, 5, -0.5, 0.5), aten._grouped_mm(
            torch.cat([x, y[:, :2]], 1), image.reshape(2, 8, 18)[:, :, :4].contiguous(), torch.tensor([1, 4], dtype=torch.int32))],
    lambda x, y, i, m, image: [
        aten.scatter.src(x, 0, torch.arange(6)[None] % 4, y[:1]), aten.scatter.value(x, 0, i, 7.0), aten.scatter_add(x, 0, i, y),
        aten.masked_scatter(x, m, y), *(
            aten.scatter_reduce.two(x, 0, i, y, how, include_self=own)
            for how in ("sum", "prod", "amax", "amin", "mean") for own in (True, False))],
    lambda x, y, i, m, image: [
        aten._embedding_bag(x, i[0], torch.tensor([0, 2, 2, 5]), False, mode)[0] for mode in (0, 1, 2)] + [
        aten._embedding_bag(x, i[0], torch.tensor([0, 4]), False, 0, False, y[0])[0]],
    lambda x, y, i, m, image: [
        aten.arange.start_step(1, 9, 2), aten.full([2, 3], 1.5), aten.full_like(x, 2.0), aten.empty.memory_format([2]) * 0 == 0,
        aten.empty_strided([2], [1]) * 0 == 0, aten.fill.Scalar(x, 3.0), aten.scalar_tensor(4.0), torch.arange(0.5, 3, 0.5)],
    lambda x, y, i, m, image: [
        aten.native_layer_norm(x, [6], y[0], y[1], 1e-5)[0], aten.native_group_norm(image, y[0, :4], None, 2, 4, 36, 2, 1e-5)[0],
        aten._native_batch_norm_legit_no_training(image, y[0, :4], y[1, :4], x[0, :4], x[1, :4].abs() + 1, 0.1, 1e-5)[0],
        aten._native_batch_norm_legit.no_stats(image, y[0, :4], y[1, :4], True, 0.1, 1e-5)[0], nn.functional.instance_norm(image),
        aten.native_dropout(x, 0.5, False)[0], nn.functional.rms_norm(image, (6, 6))],
    lambda x, y, i, m, image: [
        aten.convolution(image, x[:, :4, None, None], None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
        nn.functional.conv2d(image[0], y[:, :4, None, None].expand(4, 4, 3, 2)), nn.functional.conv3d(image[None, None, 0], image[:, None, :2, :3, :3]),
        nn.functional.conv_transpose1d(image[:, :, 0], image[:, :, 0, :3].transpose(0, 1), stride=2, padding=1, output_padding=1),
        nn.functional.conv_transpose2d(image, image[:, :, :3, :2].repeat(2, 1, 1, 1), y[0].repeat(2)[:8], (2, 3), (1, 0), (1, 2), 2, (2, 1)),
        nn.functional.conv_transpose3d(image[None, :], image[:, :, :2, :2, None], padding=(2, 0, 0)), aten.col2im(image.reshape(2, 16, 9), [6, 6], [2, 2], [1, 1], [0, 0], [2, 2])],
    lambda x, y, i, m, image: [
        aten.avg_pool1d(x, [2]), aten.avg_pool2d(image, [3, 3], [2, 2], [1, 1], True), aten.avg_pool2d(image, [2], [2], [0], False, True, 3),
        aten.avg_pool3d(image, [2, 2, 2]), *aten.max_pool2d_with_indices(image, [3, 3], [2, 2], [1, 1]), *aten.max_pool3d_with_indices(image, [2, 2, 2]),
        aten._adaptive_avg_pool2d(image, [4, 5]), aten._adaptive_avg_pool3d(image, [2, 3, 4]), aten.adaptive_avg_pool1d(x, [4]),
        nn.functional.adaptive_max_pool2d(image, 3)],
    lambda x, y, i, m, image: [
        aten.reflection_pad1d(x, [2, 1]), aten.reflection_pad2d(image, [1, 2, 0, 1]), aten.reflection_pad3d(image, [1, 2, 0, 1, 1, 1]),
        aten.replication_pad2d(image, [1, 2, 0, 1]), aten.replication_pad3d(image, [1, 2, 0, 1, 1, 1])],
    lambda x, y, i, m, image: [
        *(aten.grid_sampler_2d(image, 1.2 * image[..., :2], a, b, c) for a in (0, 1, 2) for b in (0, 1, 2) for c in (False, True) if a != 1 and (a, b) != (2, 1)),
        aten.upsample_nearest2d.vec(image, [9, 4], None), aten.upsample_nearest2d.vec(image, None, [1.7, 0.6]),
        *(aten.upsample_bilinear2d.vec(image, [9, 4], corners, None) for corners in (False, True)), aten.upsample_bilinear2d.vec(image, None, False, [1.7, 0.6]),
        aten.upsample_bicubic2d.vec(image, [9, 4], False, None), nn.functional.interpolate(image, (3, 4), mode="bilinear", antialias=True),
        nn.functional.interpolate(image, (8, 7), mode="nearest-exact"), nn.functional.interpolate(x[None], 9, mode="linear")],
    lambda x, y, i, m, image: [
        nn.functional.scaled_dot_product_attention(image[0], image[1], image[0] + 1),
        nn.functional.scaled_dot_product_attention(image[:, :, :4], image, image, is_causal=True),
        nn.functional.scaled_dot_product_attention(x, y, x, attn_mask=m @ m.t() > 0 if False else m[:, :4] | torch.eye(4, dtype=torch.bool)),
        aten._scaled_dot_product_flash_attention_for_cpu(image, image, image, 0.0, True, scale=0.3)[0]],
    lambda x, y, i, m, image: [
        torch.view_as_real(aten._fft_r2c(x, [1], 0, True)), aten._fft_c2r(aten._fft_r2c(x, [0, 1], 1, True), [0, 1], 2, 6),
        aten.as_strided(x, [3, 2, 2], [5, 1, 0], 2), aten.as_strided(x.t() * 2, [4], [5]), x.unfold(1, 3, 2), x.unfold(0, 2, 2)],
]  # fmt: skip


class Module(nn.Module):
    def __init__(self, calls: List[Callable[..., Any]]) -> None:
        super().__init__()
        self.calls = calls

    def forward(self, x: torch.Tensor, y: torch.Tensor, i: torch.Tensor, m: torch.Tensor, image: torch.Tensor) -> List[torch.Tensor]:
        results: List[torch.Tensor] = []
        for call in self.calls:
            result = call(x, y, i, m, image)
            results += result if isinstance(result, (tuple, list)) else [result]
        return results


def inputs() -> tuple:
    generator = torch.Generator().manual_seed(3)
    x, y = (torch.rand(4, 6, generator=generator) * 1.8 - 0.9 for _ in range(2))
    i, m = torch.randint(0, 4, (4, 6), generator=generator), torch.rand(4, 6, generator=generator) > 0.5
    return x, y, i, m, torch.rand(2, 4, 6, 6, generator=generator) * 1.8 - 0.9


class Core(unittest.TestCase):
    def test_all_are_written_or_refused(self) -> None:
        seen: Set[str] = set()
        convert = Converter._converted

        def noting(self: Converter, node: torch.fx.Node) -> Any:
            seen.add(name_of(node.target))
            return convert(self, node)

        parts = [CALLS[part::4] for part in range(4)]
        with mock.patch.object(Converter, "_converted", noting):
            exported = [kgen.from_torch(Module(part), inputs(), path=graphs.work / f"core_{k}" / f"core_{k}.yaml") for k, part in enumerate(parts)]
        refused = {name for name in core_operators() if name in REFUSED or name.split(".")[0] in REFUSED}
        decomposed = {"col2im.default"}
        self.assertEqual(sorted(core_operators() - seen - refused - SIZES - decomposed), [])
        for part, graph in zip(parts, exported):
            found = list(graph.load(folder=graph.graph.parent)(*inputs()))
            for number, call in enumerate(part):
                expected = call(*inputs())
                expected = expected if isinstance(expected, (tuple, list)) else [expected]
                for place, other in enumerate(expected):
                    with self.subTest(graph=graph.graph.stem, call=number, result=place):
                        torch.testing.assert_close(found.pop(0), other, rtol=3e-5, atol=3e-5, equal_nan=True)

    def test_arguments_that_rules_might_pass_over(self) -> None:
        F = nn.functional
        calls: List[Callable[..., Any]] = [
            lambda x, y, i, m, image: [torch.round(10 * x, decimals=1), torch.round(1000 * x, decimals=-2), torch.round(x, decimals=0)],
            lambda x, y, i, m, image: [F.dropout(x, training=False), F.dropout(x, 0.0), F.alpha_dropout(x), F.dropout2d(image, training=False)],
            lambda x, y, i, m, image: [F.group_norm(image, 2), F.group_norm(image, 2, y[0, :4]), F.group_norm(image, 2, None, y[0, :4], 0.1)],
            lambda x, y, i, m, image: [torch.bucketize(x, y[0].sort()[0]), torch.searchsorted(x.sort(1)[0], y, right=True), *x.kthvalue(2, 0)],
            lambda x, y, i, m, image: [F.embedding_bag(i, x, mode=how, padding_idx=1) for how in ("sum", "mean", "max")],
            lambda x, y, i, m, image: [torch.addmv(x[:, 0], x, y[0], alpha=2), torch.isnan(i), torch.isfinite(i)],
        ]
        folder = graphs.work / "core_arguments"
        exported = kgen.from_torch(Module(calls), inputs(), path=folder / "core_arguments.yaml")
        for found, expected in zip(exported.load(folder=folder)(*inputs()), Module(calls)(*inputs())):
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)

    def test_sizes_as_numbers(self) -> None:
        module = Module([lambda x, y, i, m, image: [torch.full((2, x.shape[0]), x.shape[0]), torch.full_like(x, y.shape[1])]])
        shapes = {"x": {0: Dim("N", max=9)}, "y": {1: Dim("M", max=9)}, "i": None, "m": None, "image": None}
        folder = graphs.work / "core_sizes"
        model = kgen.from_torch(module, inputs(), path=folder / "core_sizes.yaml", dynamic_shapes=shapes).load(folder=folder)
        x, y, *rest = inputs()
        given = x[:3], y[:, :5].contiguous(), *rest
        for found, expected in zip(model(*given), module(*given)):
            torch.testing.assert_close(found, expected)

    def test_what_is_refused_says_why(self) -> None:
        class Random(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x + torch.rand_like(x) + torch.randn(4)

        with self.assertRaises(kgen.torch.ExportError) as caught:
            kgen.from_torch(Random(), (torch.zeros(4),), path=graphs.work / "random.yaml")
        self.assertRegex(str(caught.exception), r"randn?\.default: graphs have no random numbers; make them outside.*\n    .*test_torch_core\.py:\d+: return x")

        class Dropping(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return nn.functional.dropout(x) + nn.functional.dropout2d(x[None, :, None], 0.2)[0, :, 0]

        with self.assertRaises(kgen.torch.ExportError) as caught:
            kgen.from_torch(Dropping().eval(), (torch.zeros(4, 3),), path=graphs.work / "dropping.yaml")
        self.assertRegex(str(caught.exception), r"dropout\.default: dropout that drops: .*; call module.eval\(\).*\n    .*test_torch_core\.py:\d+: return nn")
        known: Dict[str, str] = {name: reason for name, reason in REFUSED.items() if not reason}
        self.assertEqual(known, {})


if __name__ == "__main__":
    unittest.main()
