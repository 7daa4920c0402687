"""Random rows: graphs, shapes and types that users might write, each from a seed, so that whoever finds a slow one can name
it. A drawn graph is a chain: something to begin with (matrices, of floats, of bytes or with weights of few bits, images,
attention, or memory alone), with operators in front of it and behind it, and now and then a reduction, a norm, an order of
axes or a concat."""

import math
import random

from rows import Row

UNARY = ["relu", "silu", "gelu", "gelu_tanh", "tanh", "sigmoid", "exp", "abs", "neg", "sqrt_abs", "mish", "leaky_relu"]


class Drawing:
    """A graph that grows, node by node. `shape` and `value` are those of its last value."""

    def __init__(self, rng, dtype):
        self.rng, self.dtype, self.said = rng, dtype, []
        self.graph = {"inputs": {}, "constants": {}, "nodes": []}
        self.value, self.shape = None, None

    def typed(self, shape):
        return f"{self.dtype}[{', '.join(map(str, shape))}]"

    def operand(self, shape, constant=False, scale=1.0):
        return self.value_of("constants" if constant else "inputs", self.typed(shape), scale=scale)

    def value_of(self, kind, type, **told):
        name = f"{kind[0]}{len(self.graph[kind])}"
        self.graph[kind][name] = {"type": type} | told
        return name

    def begin(self, shape):
        self.shape = list(shape)
        self.value = self.operand(shape)
        return self.value

    def node(self, op, operands, extents=None, **attributes):
        name = f"v{len(self.graph['nodes'])}"
        node = {"op": op, "in": operands, "out": name} | attributes
        for nodes in ("nodes", "peers"):
            if nodes in self.graph:
                self.graph[nodes].append(node)
        self.value, self.shape = name, list(self.shape if extents is None else extents)
        return name

    def weight(self, shape, scale):
        return self.operand(shape, constant=self.rng.random() < 0.6, scale=scale)

    # ---- what a graph is made of

    def unary(self):
        op = self.rng.choice(UNARY)
        if op == "sqrt_abs":
            self.node("abs", self.value)
            self.node("sqrt", self.value)
        elif op == "exp":  # of what it cannot make infinite
            self.node("tanh", self.value)
            self.node("exp", self.value)
        else:
            self.node(op, self.value)

    def binary(self):
        """With a tensor as large, one number for each column or for each row, or a number."""
        op, rank = self.rng.choice(["add", "mul", "sub", "maximum"]), len(self.shape)
        shape = self.rng.choice([self.shape, self.shape[-1:], [*self.shape[:-1], 1], None])
        if shape is None and op != "maximum":
            self.node(op, [self.value, round(self.rng.uniform(0.5, 2), 2)])
        else:
            shape = shape or self.shape
            self.node(op, [self.value, self.operand(shape, constant=len(shape) < rank and self.rng.random() < 0.5)])

    def elementwise(self, most):
        for _ in range(self.rng.randint(0, most)):
            self.rng.choice([self.unary, self.binary])()

    def norm(self):
        width, kind = self.shape[-1], self.rng.choice(["layer_norm", "rms_norm", "softmax"])
        self.said.append(kind)
        if kind == "softmax":
            self.node("softmax", self.value, axis=-1)
        else:
            count = 2 if kind == "layer_norm" else 1
            operands = [self.operand([width], constant=self.rng.random() < 0.5) for _ in range(count)]
            self.node(kind, [self.value, *operands], epsilon=1e-5)

    def reduce(self):
        op, axis = self.rng.choice(["sum", "mean", "max"]), self.rng.randrange(len(self.shape))
        self.said.append(f"{op} over axis {axis}")
        shape = [extent for index, extent in enumerate(self.shape) if index != axis]
        self.node(op, self.value, shape, axes=[axis])

    def permute(self):
        perm = list(range(len(self.shape)))
        while perm == sorted(perm):
            self.rng.shuffle(perm)
        self.said.append(f"axes {perm}")
        self.node("transpose", self.value, [self.shape[axis] for axis in perm], perm=perm)

    def concat(self):
        axis = self.rng.randrange(len(self.shape))
        other = list(self.shape)
        other[axis] = max(1, other[axis] // self.rng.choice([1, 2, 3]))
        self.said.append(f"concat along {axis}")
        joined = list(self.shape)
        joined[axis] += other[axis]
        self.node("concat", [self.value, self.operand(other)], joined, axis=axis)

    def matmul(self, columns):
        depth = self.shape[-1]
        self.said.append(f"matmul to {columns}")
        self.node("matmul", [self.value, self.weight([depth, columns], depth**-0.5)], [*self.shape[:-1], columns])

    def bytes_by_bytes(self, m, n, k):
        """u8 or i8 with a scale and something that stands for 0, times i8 with a scale for each column, as f32."""
        self.dtype, zero = self.rng.choice([("u8", 128), ("u8", 117), ("i8", 0)])
        self.said.append(f"by i8, to {n}")
        x = self.begin([m, k])
        least = 0.008 * k**-0.5  # so that results are about 1; weights have 7 bits, as in rows.yaml
        x_scale, x_zero, w, w_scale = (self.value_of("constants", type, **told) for type, told in [
            ("f32[]", {"between": [0.02, 0.02]}), (f"{self.dtype}[]", {"between": [zero, zero]}), (f"i8[{k}, {n}]", {"below": 64}),
            (f"f32[{n}]", {"between": [least, 3 * least]})])
        self.node("broadcast_to", x_zero, shape=[m, 1])
        self.node("integer_matmul", [x, w, self.value], [m, n])
        sums = self.node("cast", self.value, to="f32")
        self.node("mul", [x_scale, w_scale])
        scale = self.value
        self.node("mul", [sums, scale])
        self.graph["peers"] = [{"op": "quantized_matmul", "in": [x, x_scale, x_zero, w, w_scale], "out": self.value}]
        self.dtype = "f32"  # of what follows

    def quantize(self):
        self.said.append("to u8")
        told = [("f32[]", {"between": [0.04, 0.04]}), ("u8[]", {"between": [128, 128]})]
        self.node("quantize_linear", [self.value, *(self.value_of("constants", type, **each) for type, each in told)])

    def stored_matmul(self, n):
        """By weights of 4 bits with a scale for each group of a column, or of 8 with one for each column."""
        k, group = self.shape[-1], self.rng.choice([32, 64, 128, None])
        group = group if group and k % group == 0 else k
        stored = "i8" if group == k else "i4"
        self.said.append(f"matmul to {n} by {stored}" + (f", groups of {group}" if group < k else ""))
        x, shape, least = self.value, self.shape, (0.006 if stored == "i8" else 0.1) * k**-0.5
        q = self.value_of("constants", f"{stored}[{k // group}, {group}, {n}]")
        scale = self.value_of("constants", f"{self.dtype}[{k // group}, 1, {n}]", between=[least, 3 * least])
        self.node("dequantize_linear", [q, scale])
        w = self.node("reshape", self.value, shape=[k, n])
        self.node("matmul", [x, w], [*shape[:-1], n])


def extent(rng, least, most):
    """Spread over the magnitudes; a multiple of something, or odd."""
    size = math.exp(rng.uniform(math.log(least), math.log(most)))
    unit = rng.choice([1, 1, 8, 16, 64])
    return max(least, min(most, round(size / unit) * unit))


def memory_bound(drawing):
    rng = drawing.rng
    rank, total = rng.choice([2, 2, 3, 4]), math.exp(rng.uniform(math.log(2e3), math.log(3e7)))
    width = extent(rng, 8, 8192)
    shape = [extent(rng, 2, 64) for _ in range(rank - 2)] + [width]
    drawing.begin([max(1, round(total / math.prod(shape))), *shape])
    drawing.elementwise(3)
    middle = rng.choice([None, drawing.norm, drawing.norm, drawing.reduce, drawing.permute, drawing.concat])
    if middle:
        middle()
    drawing.elementwise(3)
    if rng.random() < 0.25:
        rng.choice([drawing.permute, drawing.reduce] if len(drawing.shape) > 1 else [drawing.unary])()


def product_sizes(rng):
    while True:
        m, n, k = rng.choice([1, 4, 16, *(extent(rng, 2, 2048) for _ in range(3))]), extent(rng, 16, 4096), extent(rng, 16, 4096)
        if m * n * k < 4e9:
            return m, n, k


def product(drawing):
    rng = drawing.rng
    m, n, k = product_sizes(rng)
    drawing.begin([m, k])
    if rng.random() < 0.3:
        drawing.norm()
    else:
        drawing.elementwise(1)
    drawing.matmul(n)
    drawing.elementwise(3)
    if rng.random() < 0.2 and m * n * n < 4e9:
        drawing.matmul(extent(rng, 16, n))
        drawing.elementwise(2)


def byte_product(drawing):
    drawing.bytes_by_bytes(*product_sizes(drawing.rng))
    drawing.elementwise(3)
    if drawing.rng.random() < 0.5:
        drawing.quantize()


def stored_product(drawing):
    rng = drawing.rng
    m, n, k = product_sizes(rng)
    k = k // 128 * 128 if k >= 128 and rng.random() < 0.8 else k
    drawing.begin([m, k])
    if rng.random() < 0.3:
        drawing.norm()
    drawing.stored_matmul(n)
    drawing.elementwise(3)


def convolution(drawing):
    rng = drawing.rng
    height, channels, filters = extent(rng, 7, 112), rng.choice([3, 16, 32, 64, 128, 256]), rng.choice([16, 32, 64, 128, 256])
    kernel, stride = rng.choice([1, 3, 3, 5]), rng.choice([1, 1, 2])
    group = channels if rng.random() < 0.25 else 1
    filters = channels if group > 1 else filters
    if height * height * channels // group * filters * kernel**2 > 2e9:
        height = 14
    pad = kernel // 2
    out = (height + 2 * pad - kernel) // stride + 1
    drawing.begin([rng.choice([1, 1, 4]), height, height, channels])
    weight = drawing.weight([kernel, kernel, channels // group, filters], 0.1)
    drawing.said.append(f"conv {kernel}x{kernel}" + (" depthwise" if group > 1 else ""))
    drawing.node("conv2d", [drawing.value, weight], [drawing.shape[0], out, out, filters], pads=[pad] * 4,
                 strides=[stride, stride], group=group)
    drawing.elementwise(3)


def attention(drawing):
    rng = drawing.rng
    batch, heads, width = rng.choice([1, 1, 4]), rng.choice([4, 8, 12]), rng.choice([32, 64, 64, 128])
    keys = extent(rng, 16, 1024)
    queries = rng.choice([1, keys, extent(rng, 1, keys)])
    drawing.begin([batch, queries, heads, width])
    if rng.random() < 0.5:
        drawing.elementwise(1)
    key, value = (drawing.operand([batch, keys, heads, width]) for _ in range(2))
    drawing.said.append("attention")
    drawing.node("attention", [drawing.value, key, value])
    drawing.elementwise(2)


KINDS = [memory_bound, memory_bound, memory_bound, product, product, byte_product, stored_product, convolution, attention]
FLOATS = {attention: ["f32"], byte_product: ["f32"], stored_product: ["f32"] * 4 + ["bf16"]}  # where not all are drawn


def drawn(seed, count):
    """So many rows; row i of a seed is the same however many are drawn."""
    for index in range(count):
        rng = random.Random(f"{seed}.{index}")
        kind = rng.choice(KINDS)
        drawing = Drawing(rng, rng.choice(FLOATS.get(kind, ["f32"] * 8 + ["bf16", "f64"])))
        while not drawing.graph["nodes"]:
            kind(drawing)
        drawing.graph["outputs"] = [drawing.value]
        graph = {key: value for key, value in drawing.graph.items() if value}
        first = Row("", graph).inputs["i0"]
        shape = "x".join(map(str, first.shape))
        title = f"{seed}.{index} {first.dtype} {shape} {', '.join(drawing.said) or 'elementwise'}"
        yield Row(title, graph, group=kind.__name__)
