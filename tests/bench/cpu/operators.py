"""What kgen's operators are in PyTorch and in MAX: expressions over the operands {0}, {1}, ... ({every}: a list of them) and
the attributes by name. A graph of these is a function there, whose text torch_source() and max_source() give. Only what
rows use is here; an operator that MAX's part lacks is a row that MAX has no time for."""

from dataclasses import dataclass, field


@dataclass
class Form:
    torch: str
    max: str | None = None
    defaults: dict = field(default_factory=dict)  # of attributes


def same(name):
    return Form(f"torch.{name}({{0}})", f"ops.{name}({{0}})")


def infix(symbol):
    return Form(f"{{0}} {symbol} {{1}}", f"{{0}} {symbol} {{1}}")


def reduction(torch, max):
    return Form(f"torch.{torch}({{0}}, dim={{axes}}, keepdim={{keepdims}})",
                f"reduced(ops.{max}, {{0}}, {{axes}}, {{keepdims}})", {"axes": [], "keepdims": False})


def pooling(torch, max, more=""):
    """Channels last. PyTorch's pads are as many on either side."""
    return Form(
        f"F.{torch}({{0}}.permute(0, 3, 1, 2), {{window}}, {{strides}}, {{pads}}[:2]{more}).permute(0, 2, 3, 1)",
        f"ops.{max}({{0}}, {{window}}, tuple({{strides}}), padding=tuple({{pads}}[:2]))",
        {"strides": [1, 1], "pads": [0, 0, 0, 0]})


def conv2d():
    """Channels last, filters [KH, KW, G, O]: PyTorch's views of them have its own order."""
    axes = "{0}.permute(0, 3, 1, 2), {1}.permute(3, 2, 0, 1)"
    return Form(
        f"F.conv2d({axes}, None, {{strides}}, {{pads}}[:2], {{dilations}}, {{group}}).permute(0, 2, 3, 1)",
        "ops.conv2d({0}, {1}, tuple({strides}), tuple({dilations}), tuple({pads}[i] for i in (0, 2, 1, 3)), {group})",
        {"strides": [1, 1], "pads": [0, 0, 0, 0], "dilations": [1, 1], "group": 1})


def attention():
    """Heads behind the positions, as kgen has them."""
    heads = ", ".join(f"{{{i}}}.transpose(1, 2)" for i in range(3))
    return Form(f"F.scaled_dot_product_attention({heads}, is_causal={{causal}}, scale={{scale}}, enable_gqa={{shared}})"
                ".transpose(1, 2)",
                "attention({0}, {1}, {2}, {scale}, {causal})", {"causal": False, "scale": None, "shared": False})


OPERATORS = {
    **{name: same(name) for name in ("exp", "sqrt", "rsqrt", "tanh", "erf", "sin", "cos", "abs", "floor", "sigmoid", "relu",
                                     "log", "log1p", "round")},
    **{name: Form(f"torch.{name}({{0}})") for name in ("expm1", "log2", "exp2", "square", "ceil", "reciprocal", "isnan")},
    **dict(zip(("add", "sub", "mul", "div", "greater", "less", "bitwise_and", "bitwise_xor", "shift_right"),
               map(infix, ("+", "-", "*", "/", ">", "<", "&", "^", ">>")))),
    "neg": Form("-{0}", "-{0}"),
    "pow": Form("{0} ** {1}", "ops.pow({0}, {1})"),
    "maximum": Form("torch.maximum({0}, {1})", "ops.max({0}, {1})"),
    "minimum": Form("torch.minimum({0}, {1})", "ops.min({0}, {1})"),
    "clamp": Form("torch.clamp({0}, {minimum}, {maximum})"),
    "where": Form("torch.where({0}, {1}, {2})", "ops.where({0}, {1}, {2})"),
    "cast": Form("{0}.to({to:dtype})", "ops.cast({0}, {to:dtype})"),
    "silu": Form("F.silu({0})", "ops.silu({0})"),
    "gelu": Form("F.gelu({0})", "ops.gelu({0})"),
    "gelu_tanh": Form("F.gelu({0}, approximate='tanh')", "ops.gelu({0}, 'tanh')"),
    "mish": Form("F.mish({0})"),
    "hard_swish": Form("F.hardswish({0})"),
    "softplus": Form("F.softplus({0})"),
    "leaky_relu": Form("F.leaky_relu({0}, {alpha})", defaults={"alpha": 0.01}),
    "elu": Form("F.elu({0}, {alpha})", defaults={"alpha": 1.0}),
    "swiglu": Form("F.silu({0}) * {1}", "ops.silu({0}) * {1}"),
    "softmax": Form("F.softmax({0}, dim={axis})", "ops.softmax({0}, {axis})", {"axis": -1}),
    "log_softmax": Form("F.log_softmax({0}, dim={axis})", "ops.logsoftmax({0}, {axis})", {"axis": -1}),
    "layer_norm": Form("F.layer_norm({0}, {0}.shape[-1:], {1}, {2}, {epsilon})",
                       "ops.layer_norm({0}, {1}, {2}, {epsilon})", {"epsilon": 1e-5}),
    "rms_norm": Form("F.rms_norm({0}, {0}.shape[-1:], {1}, {epsilon})", "ops.rms_norm({0}, {1}, {epsilon})",
                     {"epsilon": 1e-6}),
    "cross_entropy": Form("F.cross_entropy({0}, {1}, reduction='none')"),
    "rope": Form("({0} * {1} + torch.cat([-{0}[..., {0}.shape[-1] // 2:], {0}[..., :{0}.shape[-1] // 2]], -1) * {2})",
                 "rope({0}, {1}, {2})"),
    "sum": reduction("sum", "sum"),
    "mean": reduction("mean", "mean"),
    "max": reduction("amax", "max"),
    "min": reduction("amin", "min"),
    "argmax": Form("torch.argmax({0}, dim={axes}[0])", "ops.squeeze(ops.argmax({0}, {axes}[0]), {axes}[0])"),
    "variance": Form("torch.var({0}, dim={axes}, correction=0)"),
    "transpose": Form("{0}.permute({perm})", "ops.permute({0}, {perm})"),
    "reshape": Form("{0}.reshape({shape})", "ops.reshape({0}, {shape})"),
    "broadcast_to": Form("{0}.expand({shape})", "ops.broadcast_to({0}, {shape})"),
    "unsqueeze": Form("{0}.unsqueeze({axis})", "ops.unsqueeze({0}, {axis})"),
    "squeeze": Form("{0}.squeeze({axis})", "ops.squeeze({0}, {axis})"),
    "select": Form("{0}.select({axis}, {index})", "ops.squeeze(part({0}, {axis}, {index}, {index} + 1), {axis})"),
    "slice": Form("{0}[(slice(None),) * {axis} + (slice({begin}, {end}),)]", "part({0}, {axis}, {begin}, {end})",
                  {"begin": 0}),
    "flip": Form("{0}.flip({axis})"),
    "concat": Form("torch.cat({every}, {axis})", "ops.concat({every}, {axis})"),
    "gather": Form("torch.take_along_dim({0}, {1}, {axis})", defaults={"axis": 0}),
    "embedding": Form("F.embedding({0}, {1})", "ops.gather({1}, {0}, 0)"),
    "cumsum": Form("torch.cumsum({0}, {axis})", "ops.cumsum({0}, {axis})", {"axis": -1}),
    "sort": Form("torch.sort({0}, dim={axis}).values", defaults={"axis": -1}),
    "matmul": Form("{0} @ {1}", "ops.matmul({0}, {1})"),
    "linear": Form("F.linear({every})"),
    "quantized_matmul": Form("quantized_matmul({0}, {1}, {2}, {3}, {4})"),  # peers': kgen's is integer_matmul, and what scales
    "quantize_linear": Form("quantize_linear({0}, {1}, {2})"),
    "dequantize_linear": Form("{0}.to({1}.dtype) * {1}", "ops.cast({0}, {1}.dtype) * {1}"),
    "attention": attention(),
    "conv2d": conv2d(),
    "max_pool2d": pooling("max_pool2d", "max_pool2d"),
    "average_pool2d": pooling("avg_pool2d", "avg_pool2d", ", count_include_pad=False"),
}


class Unwritable(Exception):
    """An operator that the table has nothing for."""


class Dtype(str):
    """A dtype's name, which {to:dtype} writes as an expression."""

    def __format__(self, how):
        return f"dtypes[{str(self)!r}]" if how == "dtype" else str(self)


def listed(value):
    return value if isinstance(value, list) else [value]


def expression(node, column):
    form = OPERATORS.get(node["op"])
    template = form and getattr(form, column)
    if not template:
        raise Unwritable(f"no {node['op']}")
    operands = [str(operand) for operand in listed(node["in"])]
    attributes = {key: value for key, value in node.items() if key not in ("op", "in", "out")}
    if "to" in attributes:
        attributes["to"] = Dtype(attributes["to"])
    return template.format(*operands, every=f"[{', '.join(operands)}]", **(form.defaults | attributes))


def source(graph, column, result):
    """A function `compute` of inputs, then constants; `result` is what becomes of each output."""
    names = [*graph["inputs"], *graph.get("constants", {})]
    lines = [f"    {listed(node['out'])[0]} = {expression(node, column)}" for node in graph.get("peers", graph["nodes"])]
    results = ", ".join(result.format(output) for output in graph["outputs"])
    return f"def compute({', '.join(names)}):\n" + "\n".join(lines) + f"\n    return ({results},)\n"


def torch_source(graph):
    """Outputs are dense, as kgen's are."""
    return source(graph, "torch", "{}.contiguous()")


def max_source(graph):
    return source(graph, "max", "{}")
