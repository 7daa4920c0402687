"""The rows of the benchmark on a GPU: what each computes, in PyTorch, on which data, which bytes it must move, and how
many operations of tensor cores it takes."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F


@dataclass
class Row:
    title: str
    graph: str  # of tests/bench/gpu or specs/graphs
    make: Callable[[], list[torch.Tensor]]  # fresh random inputs, in the graph's order
    # The results of these inputs, and of the same in float64. Peers are this function, eager and compiled.
    compute: Callable[..., tuple[torch.Tensor, ...]]
    moved: Callable[[list[torch.Tensor], list[torch.Tensor]], int] = lambda inputs, outputs: sum(
        tensor.nbytes for tensor in [*inputs, *outputs]
    )
    operations: int = 0  # multiplications and additions of matrix products
    most: float = 1.05  # times the floor, that kgen may take
    # How large the terms are whose sums the results are, where they cancel: errors are relative to these as well.
    terms: Callable[..., tuple[torch.Tensor, ...]] | None = None
    exact: Callable[..., tuple[torch.Tensor, ...]] | None = None  # the same in float64, where compute does not give that
    error: float = 0  # that results may have, as operands are rounded on their way
    constants: tuple[str, ...] = ()  # the last of the inputs, which are constants of the graph
    given: Callable[[list[torch.Tensor]], list[torch.Tensor]] = lambda inputs: inputs  # what peers get instead of them


def normal(*shape, dtype=torch.bfloat16):
    return torch.randn(shape, dtype=torch.float32, device="cuda").to(dtype)


def matrices(*shape, count=1, vectors=0):
    return lambda: [normal(*shape) for _ in range(count)] + [normal(shape[-1]) for _ in range(vectors)]


def softmax_inputs():
    mask = torch.where(torch.rand(4096, 4096, device="cuda") < 0.3, -torch.inf, 0.0).to(torch.bfloat16)
    mask[:, 0] = 0  # no row is masked whole
    return [normal(4, 4096, 4096) * 20, mask]


def rope_inputs():
    angles = torch.arange(8192, device="cuda")[:, None] * 10000.0 ** (-(torch.arange(128, device="cuda") % 64) / 64)
    tables = [table[:, None, :].to(torch.bfloat16).contiguous() for table in (angles.cos(), angles.sin())]
    return [normal(8192, 32, 128), *tables]


def grayscale(image):
    return (0.21 * image[0] + 0.71 * image[1] + 0.07 * image[2],)


def add_rms_norm(x, residual, weight):
    h = x + residual
    return h, F.rms_norm(h, h.shape[-1:], weight, 1e-6)


def rope(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return (x * cos + torch.cat([-second, first], dim=-1) * sin,)


def rms_norm_quantize(x, weight):
    normed = F.rms_norm(x, x.shape[-1:], weight, 1e-6)
    exact = normed.dtype == torch.float64  # not rounded then: what is on an edge may fall to either side
    wide = normed if exact else normed.float()
    scale = (wide.abs().amax(dim=-1, keepdim=True) * (1 / 448)).clamp_min(1e-12)
    return wide / scale if exact else (wide / scale).to(torch.float8_e4m3fn), scale


def product(title, graph, m, n, k, compute, weights=1, transposed=False, bias=False, residual=False, most=1.05):
    """A row of x [m, k] times `weights` matrices [k, n], or [n, k], and what else its epilogue reads."""

    def make():
        x = normal(m, k) * 0.1
        matrices = [normal(n, k) if transposed else normal(k, n) for _ in range(weights)]
        return [x, *matrices, *([normal(n)] if bias else []), *([normal(m, n)] if residual else [])]

    return Row(title, graph, make, compute, operations=2 * weights * m * n * k, most=most)


def grouped_products(x, matrices, ends):
    """Rows of x times the matrix of their group: by PyTorch's own where that takes them, which are bf16 whose lines begin
    at multiples of 16 bytes; else group by group, for which the host must know where they end."""
    if x.dtype == torch.bfloat16 and x.shape[1] % 8 == 0 and matrices.shape[2] % 8 == 0:
        return torch._grouped_mm(x, matrices, offs=ends)
    y = x.new_empty(x.shape[0], matrices.shape[2])
    for matrix, begin, end in zip(matrices, [0, *ends.on_host], ends.on_host):
        torch.mm(x[begin:end], matrix, out=y[begin:end])
    return y


def mixture(title, graph, tokens, top, experts, n, k, compute, weights=1, most=1.30):
    """A row of `tokens` tokens that go to `top` experts each, drawn evenly, times matrices [k, n] of theirs."""

    def make():
        counts = torch.bincount(torch.rand(tokens, experts, device="cuda").topk(top).indices.flatten(), minlength=experts)
        x = normal(tokens * top, k) * 0.1
        ends = counts.cumsum(0).to(torch.int32)
        ends.on_host = ends.tolist()
        return [x, *(normal(experts, k, n) for _ in range(weights)), ends]

    def moved(inputs, outputs):
        x, *matrices, ends = inputs
        used = int((ends.diff(prepend=ends.new_zeros(1)) > 0).sum())
        return sum(tensor.nbytes for tensor in [x, ends, *outputs]) + used * sum(each[0].nbytes for each in matrices)

    return Row(title, graph, make, compute, moved=moved, operations=2 * weights * tokens * top * n * k, most=most)


def int8_sums(x, w):
    """x times the transposed w, by what PyTorch has for that where it takes them; else floats that hold such integers."""
    if x.dtype == torch.float64 or x.shape[1] % 8 != 0 or w.shape[0] % 8 != 0:
        wide = torch.promote_types(x.dtype, torch.float32)
        return x.to(wide) @ w.to(wide).t()
    rows = x.shape[0]
    return torch._int_mm(x if rows > 16 else F.pad(x, (0, 0, 0, 17 - rows)), w.t())[:rows]


def int8_row_scales(x, w, x_scale, w_scale):
    if x_scale.dtype == torch.float64:
        return (int8_sums(x.double(), w.double()) * x_scale * w_scale,)
    return ((int8_sums(x, w).float() * x_scale * w_scale).to(torch.bfloat16),)


def int8_inputs(m, n, k):
    def make():
        x, w = (torch.randint(-128, 128, shape, device="cuda", dtype=torch.int8) for shape in [(m, k), (n, k)])
        return [x, w, torch.rand(m, 1, device="cuda"), torch.rand(n, device="cuda")]

    return make


def f8_row_scales(x, w, x_scale, w_scale):
    """x times the transposed w, with a scale for each row of either; wider where PyTorch's own does not take them."""
    if x.dtype == torch.float64:
        return (x @ w.t() * x_scale * w_scale,)
    if x.shape[1] % 16 == 0 and w.shape[0] % 16 == 0:
        return (torch._scaled_mm(x, w.t(), scale_a=x_scale, scale_b=w_scale[None], out_dtype=torch.bfloat16),)
    return ((x.bfloat16() @ w.bfloat16().t() * x_scale * w_scale).to(torch.bfloat16),)


def f8_product(title, m, n, k):
    def make():
        x, w = (normal(*shape, dtype=torch.float8_e4m3fn) for shape in [(m, k), (n, k)])
        return [x, w, torch.rand(m, 1, device="cuda"), torch.rand(n, device="cuda")]

    # Of sums the tensor cores keep 14 bits for 256 of the depth. The floor is bf16's: at most half of it.
    return Row(title, "matmul_f8_row_scales", make, f8_row_scales, operations=2 * m * n * k, most=0.55, error=1e-2)


def f8_block_scales(x, w, x_scale, w_scale):
    """x times the transposed w, with a scale for each 128 of a row of x, and for each 128 x 128 of w."""
    if x.dtype == torch.float64:
        right = w * w_scale.repeat_interleave(128, 0).repeat_interleave(128, 1)
        return ((x * x_scale.repeat_interleave(128, 1)) @ right.t(),)
    of_rows = x_scale.t().contiguous().t()  # as cuBLASLt takes them; kgen takes any order
    return (torch._scaled_mm(x, w.t(), scale_a=of_rows, scale_b=w_scale.t(), out_dtype=torch.bfloat16),)


def f8_block_product(m, n, k):
    def make():
        x, w = (normal(*shape, dtype=torch.float8_e4m3fn) for shape in [(m, k), (n, k)])
        return [x, w, torch.rand(m, k // 128, device="cuda"), torch.rand(n // 128, k // 128, device="cuda")]

    title = f"matmul f8e4m3, scales of 128-blocks {m}x{n}x{k}"
    return Row(title, "matmul_f8_block_scales", make, f8_block_scales, operations=2 * m * n * k, most=0.8, error=1e-2)


# ---- weights of 4 bits: two to a byte, the first in the lower half, with a scale for each 128 of the depth


def int4_product(x, q, scale):
    """`q`, `scale`: codes [N, K / 2] and scales [N, K / 128, 1], or what tiled() makes of them."""
    if q.dtype == torch.int32:
        return torch._weight_int4pack_mm(x, q, 128, scale)
    numbers = torch.stack([q & 15, q >> 4], -1).view(*scale.shape[:2], 128)
    return x @ (((numbers ^ 8).to(torch.int8) - 8).to(x.dtype) * scale.to(x.dtype)).view(len(q), -1).t()


def tiled(inputs):
    """As PyTorch's own kernel has them, where it takes them and rows are few."""
    x, q, scale, *more = inputs
    if len(x) > 16 or q.shape[1] % 64 != 0 or len(q) % 8 != 0:
        return inputs
    codes = torch._convert_weight_to_int4pack((q << 4 | q >> 4) ^ 0x88, 8)
    pairs = torch.cat([scale, torch.zeros_like(scale)], -1).transpose(0, 1).contiguous()
    return [x, codes, pairs, *more]


def int4_weights(n, k):
    return [torch.randint(256, (n, k // 2), device="cuda", dtype=torch.uint8),
            torch.rand(n, k // 128, 1, device="cuda").bfloat16() * 0.1]


def int4_row(m, n, k):
    return Row(f"int4 weights, groups of 128 {m}x{n}x{k}", "matmul_int4_bf16", lambda: [normal(m, k), *int4_weights(n, k)],
               lambda x, q, scale: (int4_product(x, q, scale),), operations=2 * m * n * k, most=1.30, error=1e-2,
               constants=("q", "scale"), given=tiled)


def residual_and_factor(x, w, residual):
    h = x @ w + residual
    return (h, h.square().mean(-1, keepdim=True).add(1e-6).rsqrt())


# What may follow a product: the graph, and what product() is told of it.
EPILOGUES = [
    ("matmul_bf16", {"compute": lambda x, w: (x @ w,)}),
    ("matmul_transposed_bf16", {"compute": lambda x, w: (x @ w.t(),), "transposed": True}),
    ("matmul_bias_relu_bf16", {"compute": lambda x, w, bias: (F.relu(x @ w + bias),), "bias": True}),
    ("matmul_bias_gelu_residual_bf16",
     {"compute": lambda x, w, bias, residual: (F.gelu(x @ w + bias) + residual,), "bias": True, "residual": True}),
    ("matmul_swiglu_bf16", {"compute": lambda x, w1, w3: (F.silu(x @ w1) * (x @ w3),), "weights": 2}),
]


def attend(causal):
    def compute(q, k, v):
        heads = (x.transpose(1, 2) for x in (q, k, v))
        y = F.scaled_dot_product_attention(*heads, is_causal=causal, scale=0.1,
                                           enable_gqa=q.shape[2] != k.shape[2])
        return (y.transpose(1, 2),)

    return compute


def attention(title, batch, queries, heads, width, keys, key_heads, causal, most=1.30):
    """Heads of `queries` queries over `keys` keys, each head of which serves heads / key_heads."""
    pairs = sum(min(keys, keys - queries + s + 1) for s in range(queries)) if causal else queries * keys

    def make():
        shapes = [(batch, queries, heads, width), *[(batch, keys, key_heads, width)] * 2]
        return [normal(*shape) for shape in shapes]

    compute = attend(causal)
    return Row(title, "attention_causal_bf16" if causal else "attention_bf16", make, compute,
               operations=4 * batch * heads * pairs * width, most=most,
               terms=lambda q, k, v: compute(q, k, v.abs()))


def draw_attentions(seed, count):
    """Rows of random heads, lengths and widths: of prompts, of single queries over a cache, and between."""
    draw = random.Random(seed)

    def extent(least, most):
        return round(math.exp(draw.uniform(math.log(least), math.log(most))))

    for _ in range(count):
        key_heads, group = draw.choice([1, 4, 8, 16]), draw.choice([1, 1, 2, 4, 7])
        batch, width, keys = draw.choice([1, 1, 2, 8, 32]), draw.choice([64, 64, 80, 96, 128, 128, 256]), extent(16, 8192)
        causal = draw.random() < 0.5
        # PyTorch's causal aligns the first query with the first key, kgen's the last with the last.
        queries = keys if causal else draw.choice([1, keys, extent(1, 2048)])
        if batch * key_heads * group * queries * keys > 2**32:
            batch = 1
        if key_heads * group * queries * keys > 2**32:
            key_heads = 1
        title = f"attention {batch}x{key_heads * group}x{queries}x{width}, {keys} keys of {key_heads} heads"
        yield attention(title + (", causal" if causal else ""), batch, queries, key_heads * group, width, keys, key_heads,
                        causal)


@dataclass
class Convolution:
    """A graph of tests/bench/gpu: its name between "convolution_" and "_bf16", and what it has fixed."""

    name: str
    taps: int
    stride: int = 1
    dilation: int = 1
    group: int = 1

    def row(self, batch, height, width, channels, filters, most=1.30):
        """Of `channels` to `filters` in all groups; images [N, H, W, C], filters [O, KH, KW, C / group]."""
        reach = self.dilation * (self.taps - 1)
        pad, parts = reach // 2, self.name.split("_")
        rows, columns = ((extent + 2 * pad - reach - 1) // self.stride + 1 for extent in (height, width))
        depth = self.taps**2 * channels // self.group

        def make():
            weights = normal(filters, self.taps, self.taps, channels // self.group) * depth**-0.5
            more = [normal(filters)] if "bias" in parts else []
            more += [normal(batch, rows, columns, filters)] if "residual" in parts else []
            return [normal(batch, height, width, channels), weights, *more]

        def convolve(x, weights):  # whose memory is PyTorch's of channels_last
            y = F.conv2d(x.permute(0, 3, 1, 2), weights.permute(0, 3, 1, 2), None, self.stride, pad, self.dilation, self.group)
            return y.permute(0, 2, 3, 1)

        def compute(x, weights, *more):
            y = sum(more, convolve(x, weights))
            return (F.relu(y) if "relu" in parts else y,)

        title = f"convolution {batch}x{height}x{width}x{channels} to {filters}, {self.name.replace('_', ' ')}"
        return Row(title, f"convolution_{self.name}_bf16", make, compute, most=most,
                   operations=2 * batch * rows * columns * filters * depth,
                   terms=lambda x, weights, *more: (convolve(x.abs(), weights.abs()),))


CONVOLUTIONS = {
    form.name: form
    for form in [
        Convolution("3x3_bias_relu", 3),
        Convolution("3x3_stride_bias_relu", 3, stride=2),
        Convolution("3x3_dilated_bias_relu", 3, dilation=2),
        Convolution("1x1_bias_relu", 1),
        Convolution("1x1_bias_residual_relu", 1),
        Convolution("1x1_stride_bias", 1, stride=2),
        Convolution("7x7_stride_bias_relu", 7, stride=2),
        Convolution("3x3_groups_bias_relu", 3, group=4),
        Convolution("3x3_groups32_bias_relu", 3, group=32),
        Convolution("3x3_depthwise_bias_relu", 3, group=256),
    ]
}


def resnet50(batch):
    """Its distinct convolutions, each with its epilogue."""
    yield CONVOLUTIONS["7x7_stride_bias_relu"].row(batch, 224, 224, 3, 64)
    size, channels = 56, 64
    for width in (64, 128, 256, 512):
        first = "3x3_bias_relu" if width == 64 else "3x3_stride_bias_relu"
        skip = "1x1_bias_relu" if width == 64 else "1x1_stride_bias"
        yield CONVOLUTIONS["1x1_bias_relu"].row(batch, size, size, channels, width)
        yield CONVOLUTIONS[first].row(batch, size, size, width, width)
        yield CONVOLUTIONS[skip].row(batch, size, size, channels, 4 * width)
        size = size if width == 64 else size // 2
        channels = 4 * width
        yield CONVOLUTIONS["1x1_bias_residual_relu"].row(batch, size, size, width, channels)
        yield CONVOLUTIONS["1x1_bias_relu"].row(batch, size, size, channels, width)
        if width > 64:
            yield CONVOLUTIONS["3x3_bias_relu"].row(batch, size, size, width, width)


def draw_convolutions(seed, count):
    """Rows of random forms, images and channels."""
    draw = random.Random(seed)

    def extent(least, most, unit=1):
        size = round(math.exp(draw.uniform(math.log(least), math.log(most))))
        return max(least, round(size / unit) * unit)

    for _ in range(count):
        form = draw.choice(list(CONVOLUTIONS.values()))
        unit = form.group * draw.choice([8, 8, 32, 64])
        channels, filters = (max(unit, extent(16, 1024, unit)) for _ in range(2))
        if form.group == 256:
            channels = filters = 256
        elif form.group == 32:
            channels = filters = 32 * draw.choice([4, 8, 16, 24, 32])
        elif form.taps == 7:
            channels = draw.choice([3, 3, 4, 8, 16])
        height, width = extent(7, 224), extent(7, 224)
        most = 2**28 // (height * width * max(channels, filters))
        yield form.row(max(1, min(draw.choice([1, 8, 32, 64]), most)), height, width, channels, filters)


def products(sizes):
    for size in sizes:
        for graph, told in EPILOGUES[:2]:
            title = f"matmul {size}^3" + (", weights [N, K]" if "transposed" in told else "")
            yield product(title, graph, size, size, size, **told)


ROWS = [
    Row("grayscale f32 16000x16000", "grayscale", lambda: [torch.rand(3, 16000, 16000, device="cuda")], grayscale),
    Row("silu 8192x8192", "silu_bf16", matrices(8192, 8192), lambda x: (F.silu(x),)),
    Row(
        "bias + gelu + residual 16384x4096",
        "bias_gelu_residual_bf16",
        lambda: [normal(16384, 4096), normal(4096), normal(16384, 4096)],
        lambda x, bias, residual: (F.gelu(x + bias) + residual,),
    ),
    Row(
        "rms_norm 16384x4096",
        "rms_norm_bf16",
        matrices(16384, 4096, vectors=1),
        lambda x, weight: (F.rms_norm(x, x.shape[-1:], weight, 1e-6),),
    ),
    Row("add + rms_norm, two outputs", "add_rms_norm_bf16", matrices(16384, 4096, count=2, vectors=1), add_rms_norm),
    Row("swiglu 16384x14336", "swiglu_bf16", matrices(16384, 14336, count=2), lambda gate, up: (F.silu(gate) * up,)),
    Row("sum of 2^28 f32", "sum_f32", lambda: [torch.rand(2**28, device="cuda")], lambda x: (x.sum(),)),
    Row(
        "layer_norm + gelu 16384x4096",
        "layer_norm_gelu_bf16",
        matrices(16384, 4096, vectors=2),
        lambda x, weight, bias: (F.gelu(F.layer_norm(x, x.shape[-1:], weight, bias, 1e-5)),),
        most=1.10,
    ),
    Row(
        "softmax, scale and mask 4x4096x4096",
        "softmax_bf16",
        softmax_inputs,
        lambda scores, mask: (F.softmax(scores * 0.125 + mask, dim=-1),),
        most=1.10,
    ),
    Row("rope 8192x32x128", "rope_bf16", rope_inputs, rope, most=1.10),
    Row(
        "rms_norm + f8e4m3 row quantisation",
        "rms_norm_quantize_bf16",
        matrices(16384, 4096, vectors=1),
        rms_norm_quantize,
        most=1.10,
    ),
    Row(
        "transpose + bias + relu 8192x8192",
        "transpose_bias_relu_bf16",
        matrices(8192, 8192, vectors=1),
        lambda x, bias: (F.relu(x.t() + bias).contiguous(),),
        most=1.10,
    ),
    Row(
        "cross entropy 8192x32768",
        "cross_entropy_bf16",
        lambda: [normal(8192, 32768) * 3, torch.randint(0, 32768, (8192,), device="cuda")],
        lambda logits, targets: (F.cross_entropy(logits, targets, reduction="none"),),
        most=1.10,
    ),
    *products([2048, 4096, 8192]),
    product("matmul + bias + relu 8192^3", EPILOGUES[2][0], 8192, 8192, 8192, **EPILOGUES[2][1]),
    product("matmul + bias + gelu + residual 8192x4096x4096", EPILOGUES[3][0], 8192, 4096, 4096, **EPILOGUES[3][1]),
    product("silu(x W1) * (x W3) 8192x14336x4096", EPILOGUES[4][0], 8192, 14336, 4096, **EPILOGUES[4][1]),
    Row("rms_norm, then matmul 8192x6144x4096", "rms_norm_matmul_bf16",
        lambda: [normal(8192, 4096), normal(4096), normal(4096, 6144) * 0.1],
        lambda x, weight, w: (F.rms_norm(x, x.shape[-1:], weight, 1e-6) @ w,), operations=2 * 8192 * 6144 * 4096,
        error=1e-2),
    *(product(f"x W + residual, its rows' rms {m}x{n}x{k}", "matmul_residual_statistics_bf16", m, n, k, residual_and_factor,
              residual=True)
      for m, n, k in [(8192, 8192, 512), (8192, 4096, 4096), (1000, 4096, 4096)]),
    f8_product("matmul f8e4m3, row scales 8192^3", 8192, 8192, 8192),
    *(f8_block_product(*sizes)
      for sizes in [(8192, 8192, 8192), (4096, 4096, 4096), (4096, 7168, 2048), (256, 4096, 7168), (64, 4096, 7168)]),
    *(product(f"silu(x W) {rows}x14336x4096", "matmul_silu_bf16", rows, 14336, 4096, lambda x, w: (F.silu(x @ w),))
      for rows in (1, 16)),
    *(int4_row(rows, 14336, 4096) for rows in (1, 16)),
    mixture("grouped matmul, 64 experts, 4096 tokens, top 8, 2048x1408", "grouped_matmul_bf16", 4096, 8, 64, 1408, 2048,
            lambda x, w, ends: (grouped_products(x, w, ends),)),
    mixture("grouped matmul, 64 experts, 16 tokens, top 8, 2048x1408", "grouped_matmul_bf16", 16, 8, 64, 1408, 2048,
            lambda x, w, ends: (grouped_products(x, w, ends),)),
    mixture("grouped silu(x W1) * (x W3), 64 experts, 4096 tokens, top 8, 2048x1408", "grouped_swiglu_bf16", 4096, 8, 64, 1408,
            2048, lambda x, w1, w3, ends: (F.silu(grouped_products(x, w1, ends)) * grouped_products(x, w3, ends),), weights=2),
    # The floor is bf16's: at most half of it.
    Row("matmul i8, row scales 8192^3", "matmul_i8_row_scales", int8_inputs(8192, 8192, 8192), int8_row_scales,
        operations=2 * 8192**3, most=0.55),
    attention("attention causal 4x32x4096x128", 4, 4096, 32, 128, 4096, 32, True),
    attention("attention 4x32x4096x128", 4, 4096, 32, 128, 4096, 32, False),
    attention("attention causal 2048, 32 of 8 heads", 1, 2048, 32, 128, 2048, 8, True),
    attention("attention causal 4x16x2048x64", 4, 2048, 16, 64, 2048, 16, True),
    attention("attention decode over 8192 keys, 32 of 8 heads", 1, 1, 32, 128, 8192, 8, False),
    attention("attention decode over 8192 keys, batch 64", 64, 1, 32, 128, 8192, 8, False),
    CONVOLUTIONS["3x3_bias_relu"].row(64, 56, 56, 256, 256, most=1.15),
    CONVOLUTIONS["3x3_groups_bias_relu"].row(32, 56, 56, 256, 256),
    CONVOLUTIONS["3x3_groups32_bias_relu"].row(32, 28, 28, 256, 256),
    CONVOLUTIONS["3x3_depthwise_bias_relu"].row(64, 56, 56, 256, 256),
    *resnet50(64),
]
