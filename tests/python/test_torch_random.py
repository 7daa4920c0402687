"""Random stacks of PyTorch's common layers, from kgen.torch, compared with PyTorch in f64."""

from __future__ import annotations

import os
import random
import unittest
from typing import Any, Callable, Dict, List, Tuple

import graphs
import kgen
import kgen.torch
import torch
from torch import nn
from torch.export import Dim

SEED = int(os.environ.get("KGEN_RANDOM_SEED", "1"))
GRAPHS = int(os.environ.get("KGEN_RANDOM_GRAPHS", "3"))
STACKS = 8  # in each graph

Shape = Tuple[int, ...]
Layer = Callable[[random.Random, Shape], nn.Module]

ANYWHERE: List[Layer] = [
    *(lambda draw, shape, kind=kind: kind() for kind in (
        nn.ReLU, nn.GELU, nn.SiLU, nn.Tanh, nn.Sigmoid, nn.Softplus, nn.ELU, nn.SELU, nn.CELU, nn.Hardswish, nn.Hardsigmoid,
        nn.Hardtanh, nn.LeakyReLU, nn.Mish, nn.LogSigmoid, nn.Softsign, nn.Tanhshrink, nn.ReLU6, nn.Identity, nn.Dropout)),
    lambda draw, shape: nn.Softplus(draw.choice([0.5, 2.0]), draw.choice([1.0, 20.0])),
    lambda draw, shape: nn.Hardshrink(draw.choice([0.2, 0.5])),
    lambda draw, shape: nn.Softshrink(draw.choice([0.2, 0.5])),
    lambda draw, shape: nn.Threshold(0.1, draw.choice([-3.0, 20.0])),
    lambda draw, shape: nn.RReLU(),
    lambda draw, shape: nn.PReLU(draw.choice([1, shape[1]])),
    lambda draw, shape: nn.Softmax(draw.randrange(-len(shape), len(shape))),
    lambda draw, shape: nn.LogSoftmax(draw.randrange(-len(shape), len(shape))),
    lambda draw, shape: nn.Softmin(draw.randrange(len(shape))),
    lambda draw, shape: nn.LayerNorm(shape[-draw.choice([1, 2]) :], elementwise_affine=draw.random() < 0.7),
    lambda draw, shape: nn.RMSNorm(shape[-1], eps=draw.choice([None, 1e-5])),
    lambda draw, shape: nn.Linear(shape[-1], draw.choice([1, 3, 8, 17]), bias=draw.random() < 0.7),
    lambda draw, shape: nn.GroupNorm(draw.choice([d for d in range(1, shape[1] + 1) if shape[1] % d == 0]), shape[1], affine=draw.random() < 0.7),
    lambda draw, shape: nn.Flatten(draw.choice([0, 1]), draw.choice([-1, 1, 2])),
]  # fmt: skip

# By the number of axes, with those that are anywhere.
LAYERS: Dict[int, List[Layer]] = {
    3: [
        lambda draw, shape: nn.BatchNorm1d(shape[1], affine=draw.random() < 0.7),
        lambda draw, shape: nn.InstanceNorm1d(shape[1], affine=draw.random() < 0.5),
        lambda draw, shape: nn.Conv1d(shape[1], 2 * shape[1], draw.choice([1, 2, 3]), draw.choice([1, 2]), draw.choice([1, 2]),
                                      draw.choice([1, 2]), draw.choice([1, shape[1]])),
        lambda draw, shape: nn.ConvTranspose1d(shape[1], 3, 3, draw.choice([1, 2]), 1),
        lambda draw, shape: nn.MaxPool1d(2, draw.choice([1, 2]), draw.choice([0, 1]), ceil_mode=draw.random() < 0.5),
        lambda draw, shape: nn.AvgPool1d(3, draw.choice([1, 2]), draw.choice([0, 1]), count_include_pad=draw.random() < 0.5),
        lambda draw, shape: nn.AdaptiveAvgPool1d(draw.choice([1, 3, 4])),
        lambda draw, shape: nn.AdaptiveMaxPool1d(draw.choice([1, 2])),
        lambda draw, shape: nn.Upsample(scale_factor=draw.choice([2, 1.5]), mode=draw.choice(["nearest", "linear"])),
        lambda draw, shape: nn.ConstantPad1d((1, draw.choice([0, 2])), 0.5),
        lambda draw, shape: nn.ReflectionPad1d(1),
        lambda draw, shape: nn.CircularPad1d(1),
        lambda draw, shape: nn.LPPool1d(2, 2),
    ],
    4: [
        lambda draw, shape: nn.BatchNorm2d(shape[1], affine=draw.random() < 0.7),
        lambda draw, shape: nn.InstanceNorm2d(shape[1], affine=draw.random() < 0.5),
        lambda draw, shape: nn.Conv2d(shape[1], 2 * shape[1], draw.choice([1, 3, (1, 3), (3, 2)]), draw.choice([1, 2, (2, 1)]), draw.choice([1, (2, 1)]),
                                      draw.choice([1, 2]), draw.choice([1, shape[1]]), bias=draw.random() < 0.5, padding_mode=draw.choice(["zeros", "zeros", "reflect", "circular", "replicate"])),
        lambda draw, shape: nn.ConvTranspose2d(shape[1], 4, 3, draw.choice([1, 2]), draw.choice([0, 1]), bias=draw.random() < 0.5),
        lambda draw, shape: nn.MaxPool2d(draw.choice([2, (3, 2)]), draw.choice([1, 2]), draw.choice([0, 1]), ceil_mode=draw.random() < 0.5),
        lambda draw, shape: nn.AvgPool2d(2, draw.choice([1, 2]), draw.choice([0, 1]), draw.random() < 0.5, draw.random() < 0.5, draw.choice([None, 3])),
        lambda draw, shape: nn.AdaptiveAvgPool2d(draw.choice([1, 2, (3, None), 5])),
        lambda draw, shape: nn.AdaptiveMaxPool2d(draw.choice([1, 2, (3, 4)])),
        lambda draw, shape: nn.Upsample(scale_factor=draw.choice([2, 1.5]), mode=draw.choice(["nearest", "bilinear", "bicubic"])),
        lambda draw, shape: nn.Upsample(size=(draw.choice([3, 7]), 5), mode="bilinear", align_corners=True),
        lambda draw, shape: nn.ZeroPad2d((draw.choice([0, 1]), 2, -1, 1)),
        lambda draw, shape: nn.ReplicationPad2d((1, 0, 2, 1)),
        lambda draw, shape: nn.Dropout2d(0.3),
        lambda draw, shape: nn.Softmax2d(),
        lambda draw, shape: nn.ChannelShuffle(draw.choice([d for d in range(1, shape[1] + 1) if shape[1] % d == 0])),
        lambda draw, shape: nn.PixelShuffle(2),
        lambda draw, shape: nn.PixelUnshuffle(draw.choice([1, 2])),
        lambda draw, shape: nn.LocalResponseNorm(draw.choice([2, 3])),
        lambda draw, shape: nn.Unfold(2),
        lambda draw, shape: nn.LPPool2d(2, 2),
    ],
}  # fmt: skip


def draw_stack(draw: random.Random, shape: Shape) -> nn.Module:
    """Layers that fit behind each other, found by trying."""
    layers: List[nn.Module] = []
    x = torch.zeros(shape)
    while len(layers) < draw.choice([2, 3, 4, 5]):
        if x.dim() < 2:
            break
        try:
            layer = draw.choice(ANYWHERE + 2 * LAYERS.get(x.dim(), []))(draw, tuple(x.shape)).eval()
            with torch.no_grad():
                y = layer(x)
        except (RuntimeError, ValueError, IndexError):
            continue
        if 0 < y.numel() <= 20000:
            layers.append(layer)
            x = y
    for layer in layers:
        for name, buffer in layer.named_buffers():
            if buffer.is_floating_point():
                buffer.uniform_(0.5, 1.5)
    return nn.Sequential(*layers)


class Stacks(nn.Module):
    def __init__(self, stacks: List[nn.Module]) -> None:
        super().__init__()
        self.stacks = nn.ModuleList(stacks)

    def forward(self, line: torch.Tensor, image: torch.Tensor) -> List[torch.Tensor]:
        return [stack((line, image)[i % 2]) for i, stack in enumerate(self.stacks)]


SHAPES: List[Shape] = [(2, 4, 9), (2, 4, 9, 6)]
DYNAMIC = {0: Dim("B", min=2, max=8), 2: Dim("W", min=5, max=40)}


def takes_any_size(stack: nn.Module, x: torch.Tensor) -> bool:
    """Whether PyTorch can export it so, and kgen has a form of its sizes."""
    try:
        program = torch.export.export(stack, (x,), dynamic_shapes=(DYNAMIC,), strict=False)
        kgen.from_torch(program, path=graphs.work / "trial" / "trial.yaml")
    except Exception as problem:
        refused = isinstance(problem, kgen.torch.ExportError)
        assert not refused or "symbolic" in str(problem) or "has no form" in str(problem), problem
        return False
    return True


class Random(unittest.TestCase):
    def compare(self, number: int, model: kgen.Model, module: Stacks, inputs: Tuple[torch.Tensor, ...]) -> None:
        found: Any = model(*inputs)
        with torch.no_grad():
            plain = module.float()(*inputs)
            exact = module.double()(*(one.double() for one in inputs))
        for i, (one, f32, f64) in enumerate(zip(found, plain, exact)):
            with self.subTest(seed=number, stack=str(module.stacks[i]), inputs=[one.shape for one in inputs]):
                self.assertEqual((one.dtype, one.shape), (f32.dtype, f32.shape))
                greatest = max(1.0, float(f64.abs().max()))
                allowed = 1e-5 * greatest + 8 * float((f32.double() - f64).abs().max())
                self.assertLessEqual(float((one.double() - f64).abs().max()), allowed)

    def test_stacks(self) -> None:
        for number in range(SEED, SEED + GRAPHS):
            draw = random.Random(number)
            torch.manual_seed(number)
            module = Stacks([draw_stack(draw, SHAPES[i % 2]) for i in range(STACKS)]).eval()
            inputs = tuple(torch.rand(shape) * 4 - 2 for shape in SHAPES)
            folder = graphs.work / f"random_{number}"
            model = kgen.from_torch(module, inputs, path=folder / f"random_{number}.yaml").load(folder=folder)
            self.compare(number, model, module, inputs)

    def test_stacks_of_any_size(self) -> None:
        number = SEED + 1000
        draw = random.Random(number)
        torch.manual_seed(number)
        inputs = tuple(torch.rand(shape) * 4 - 2 for shape in SHAPES)
        stacks: List[nn.Module] = []
        while len(stacks) < STACKS:
            side = len(stacks) % 2
            stack = draw_stack(draw, SHAPES[side]).eval()
            if takes_any_size(stack, inputs[side]):
                stacks.append(stack)
        module = Stacks(stacks).eval()
        folder = graphs.work / f"random_{number}"
        exported = kgen.from_torch(module, inputs, path=folder / f"random_{number}.yaml", dynamic_shapes=(DYNAMIC, DYNAMIC))
        model = exported.load(folder=folder)
        for batch, width in ((2, 9), (3, 7), (8, 12), (2, 31)):
            line, image = torch.rand(batch, 4, width) * 4 - 2, torch.rand(batch, 4, width, 6) * 4 - 2
            self.compare(number, model, module, (line, image))


if __name__ == "__main__":
    unittest.main()
