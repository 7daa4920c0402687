"""Models as people write them in PyTorch, small."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.Dropout(0.1), nn.Linear(48, 7))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x).softmax(-1)


class Pooled(nn.Module):
    """To a number of pixels that does not divide the image, and of that to one."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.adaptive_avg_pool2d(F.adaptive_avg_pool2d(F.relu(x), 7), 1).flatten(1)


class BertLayer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.dense = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.norm2 = nn.LayerNorm(width)

    def forward(self, h: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        batch, length, width = h.shape
        q, k, v = (
            part(h).view(batch, length, self.heads, -1).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        scores = q @ k.transpose(-1, -2) / (width / self.heads) ** 0.5 + mask
        attended = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width)
        h = self.norm(h + self.dense(attended))
        return self.norm2(h + self.down(F.gelu(self.up(h))))


class Bert(nn.Module):
    def __init__(self, width: int = 32, heads: int = 4, words: int = 50) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.positions = nn.Embedding(64, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(BertLayer(width, heads) for _ in range(2))
        self.pooler = nn.Linear(width, width)

    def forward(self, ids: torch.Tensor, seen: torch.Tensor) -> tuple:
        h = self.norm(self.words(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device)))
        mask = (1.0 - seen[:, None, None, :].to(h.dtype)) * torch.finfo(h.dtype).min
        for layer in self.layers:
            h = layer(h, mask)
        return h, torch.tanh(self.pooler(h[:, 0]))


class LlamaBlock(nn.Module):
    def __init__(self, width: int = 32, heads: int = 4, groups: int = 2) -> None:
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.norm, self.norm2 = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.wq = nn.Linear(width, width, bias=False)
        self.wk, self.wv = (nn.Linear(width, groups * self.size, bias=False) for _ in range(2))
        self.wo = nn.Linear(width, width, bias=False)
        self.gate, self.up = (nn.Linear(width, 3 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * width, width, bias=False)
        angles = torch.outer(torch.arange(64.0), 10000.0 ** (-torch.arange(0, self.size, 2) / self.size))
        self.register_buffer("cos", torch.cat([angles, angles], -1).cos())
        self.register_buffer("sin", torch.cat([angles, angles], -1).sin())

    def rotate(self, x: torch.Tensor) -> torch.Tensor:
        first, second = x.chunk(2, dim=-1)
        turned = torch.cat([-second, first], dim=-1)
        length = x.shape[2]
        return x * self.cos[:length] + turned * self.sin[:length]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        h = self.norm(x)
        q = self.wq(h).view(batch, length, self.heads, self.size).transpose(1, 2)
        k, v = (w(h).view(batch, length, self.groups, self.size).transpose(1, 2) for w in (self.wk, self.wv))
        attended = F.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, is_causal=True, enable_gqa=True)
        x = x + self.wo(attended.transpose(1, 2).reshape(batch, length, width))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


def conv(inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    layer = nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False)
    norm = nn.BatchNorm2d(outputs)
    norm.running_mean.uniform_(-0.5, 0.5)
    norm.running_var.uniform_(0.5, 2)
    return nn.Sequential(layer, norm)


class ResNetBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(conv(3, 8, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.conv1, self.conv2 = conv(8, 16, 3, 2), conv(16, 16, 3)
        self.down = conv(8, 16, 1, 2)
        self.classes = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        x = F.relu(self.conv2(F.relu(self.conv1(x))) + self.down(x))
        return self.classes(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


class MobileNetBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.expand, self.depth = conv(8, 24, 1), conv(24, 24, 3, groups=24)
        self.squeeze, self.excite = nn.Conv2d(24, 6, 1), nn.Conv2d(6, 24, 1)
        self.project = conv(24, 8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = F.relu6(self.depth(F.hardswish(self.expand(x))))
        h = h * F.hardsigmoid(self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(h, 1)))))
        return x + self.project(h)


class VisionTransformer(nn.Module):
    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, 17, width))
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, 0.0, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.classes = nn.Linear(width, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.patches(x).flatten(2).transpose(1, 2)
        h = torch.cat([self.token.expand(h.shape[0], -1, -1), h], dim=1) + self.positions
        return self.classes(self.encoder(h)[:, 0])


class CachedLayer(nn.Module):
    """Attention over the keys and values of all tokens so far, which it keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(8)
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(8, 8, bias=False) for _ in range(4))
        self.register_buffer("k_cache", torch.zeros(2, 16, 8))
        self.register_buffer("v_cache", torch.zeros(2, 16, 8))

    def forward(self, x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        h = self.norm(x)
        self.k_cache[:, at] = self.wk(h)
        self.v_cache.index_copy_(1, at, self.wv(h))
        scores = self.wq(h) @ self.k_cache.transpose(1, 2)
        scores = scores.masked_fill(torch.arange(16)[None, :] > at[:, None], float("-inf"))
        return x + self.wo(scores.softmax(-1) @ self.v_cache)


class CachedDecoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(8, 8)
        self.layers = nn.ModuleList(CachedLayer() for _ in range(4))
        self.norm = nn.RMSNorm(8)

    def forward(self, x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x, at)
        return self.norm(x)


class Decoder(nn.Module):
    """A cache that it writes at a place it is told, and a count."""

    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(8, 8)
        self.register_buffer("cache", torch.zeros(2, 16, 8))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> tuple:
        self.cache[:, : x.shape[1]] = self.proj(x)
        self.count += 1
        return self.cache.sum(1) + x.mean(1), self.count.clone()
