"""Networks of convolutions."""

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from zoo import Case, normal, spread

BATCH = {"dims": {"batch": (1, 16)}, "sizes": [{"batch": 2}, {"batch": 1}]}


def conv(inputs: int, outputs: int, kernel: int = 1, stride: int = 1) -> nn.Module:
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs), nn.SiLU())


class Bottleneck(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = conv(width, width, 3), conv(width, width, 3)

    def forward(self, x):
        return x + self.second(self.first(x))


class C2f(nn.Module):
    """YOLOv8's block of bottlenecks, whose results are all kept."""

    def __init__(self, inputs: int, outputs: int, count: int) -> None:
        super().__init__()
        self.half = outputs // 2
        self.enter, self.leave = conv(inputs, outputs), conv((2 + count) * self.half, outputs)
        self.blocks = nn.ModuleList(Bottleneck(self.half) for _ in range(count))

    def forward(self, x):
        parts = list(self.enter(x).chunk(2, 1))
        for block in self.blocks:
            parts.append(block(parts[-1]))
        return self.leave(torch.cat(parts, 1))


class SPPF(nn.Module):
    """YOLOv8's pooling at several sizes."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.enter, self.leave = conv(inputs, inputs // 2), conv(inputs * 2, outputs)
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        parts = [self.enter(x)]
        for _ in range(3):
            parts.append(self.pool(parts[-1]))
        return self.leave(torch.cat(parts, 1))


class Yolo(nn.Module):
    """The blocks of YOLOv8n once each: down, C2f, SPPF, up and concat, and the head with its distribution of distances."""

    def __init__(self, classes: int = 80, bins: int = 16) -> None:
        super().__init__()
        self.bins = bins
        self.stem = nn.Sequential(conv(3, 16, 3, 2), conv(16, 32, 3, 2), C2f(32, 32, 1))
        self.down = nn.Sequential(conv(32, 64, 3, 2), C2f(64, 64, 2))
        self.deep = nn.Sequential(conv(64, 128, 3, 2), SPPF(128, 128))
        self.join = C2f(128 + 64, 64, 1)
        self.boxes = nn.Sequential(conv(64, 64, 3), conv(64, 64, 3), nn.Conv2d(64, 4 * bins, 1))
        self.kinds = nn.Sequential(conv(64, 80, 3), conv(80, 80, 3), nn.Conv2d(80, classes, 1))

    def forward(self, image):
        wide = self.down(self.stem(image))
        up = F.interpolate(self.deep(wide), scale_factor=2.0, mode="nearest")
        x = self.join(torch.cat([up, wide], 1))
        boxes, kinds = self.boxes(x).flatten(2), self.kinds(x).flatten(2)
        weights = boxes.view(boxes.shape[0], 4, self.bins, -1).softmax(2)
        distances = (weights * torch.arange(self.bins, dtype=weights.dtype)[:, None]).sum(2)
        low, high = distances.chunk(2, 1)
        return torch.cat([(high - low) / 2, low + high, kinds.sigmoid()], 1)


class ResnetBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, time: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(32, inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.time = nn.Linear(time, outputs)
        self.norm2, self.conv2 = nn.GroupNorm(32, outputs), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.short = nn.Conv2d(inputs, outputs, 1)

    def forward(self, x, time):
        h = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(time))[:, :, None, None]
        return self.short(x) + self.conv2(F.silu(self.norm2(h)))


class CrossAttention(nn.Module):
    def __init__(self, width: int, context: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (nn.Linear(each, width, bias=False) for each in (width, context, context))
        self.out = nn.Linear(width, width)

    def forward(self, x, context):
        q, k, v = (layer(each).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for layer, each in ((self.q, x), (self.k, context), (self.v, context)))
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class UnetBlock(nn.Module):
    """A down block of Stable Diffusion's UNet: a residual block, a transformer with cross attention, a convolution."""

    def __init__(self, inputs: int = 320, width: int = 640, context: int = 768, heads: int = 8) -> None:
        super().__init__()
        self.residual = ResnetBlock(inputs, width, 1280)
        self.norm, self.enter, self.leave = nn.GroupNorm(32, width, eps=1e-6), nn.Conv2d(width, width, 1), nn.Conv2d(width, width, 1)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.own, self.cross = CrossAttention(width, width, heads), CrossAttention(width, context, heads)
        self.wide, self.narrow = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)
        self.down = nn.Conv2d(width, width, 3, 2, 1)

    def forward(self, x, time, context):
        x = self.residual(x, time)
        batch, width, height, length = x.shape
        h = self.enter(self.norm(x)).flatten(2).transpose(1, 2)
        normed = self.norm1(h)
        h = h + self.own(normed, normed)
        h = h + self.cross(self.norm2(h), context)
        value, gate = self.wide(self.norm3(h)).chunk(2, -1)
        h = h + self.narrow(value * F.gelu(gate))
        return self.down(x + self.leave(h.transpose(1, 2).reshape(batch, width, height, length)))


def image(batch: int, side: int):
    return {"image": normal(batch, 3, side, side)}


def cases() -> list[Case]:
    batched = {"dynamic": {"image": {0: "batch"}}, "outputs": ["scores"]} | BATCH
    return [
        Case("resnet50", lambda: spread(torchvision.models.resnet50()), lambda s: image(s["batch"], 96), **batched),
        Case("mobilenet_v3", lambda: spread(torchvision.models.mobilenet_v3_small()), lambda s: image(s["batch"], 96), **batched),
        Case("yolov8", lambda: spread(Yolo()), lambda s: image(s["batch"], 64), **batched),
        Case("unet_block", lambda: spread(UnetBlock()),
             lambda s: {"x": normal(s["batch"], 320, 16, 16), "time": normal(s["batch"], 1280), "context": normal(s["batch"], 77, 768)},
             ["y"], dynamic={"x": {0: "batch"}, "time": {0: "batch"}, "context": {0: "batch"}}, **BATCH),
    ]
