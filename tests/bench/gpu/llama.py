"""A Llama of a given size: its graph, its random weights, and what PyTorch makes of them."""

import json
import pathlib
import re
import struct
from dataclasses import dataclass, replace

ROOT = pathlib.Path(__file__).resolve().parents[3]


@dataclass
class Size:
    """Layers, and the dims of specs/graphs/llama_tiny.yaml by its letters."""

    layers: int
    D: int  # width of the model
    H: int  # heads of queries
    G: int  # heads of keys and values
    E: int  # width of a head
    F: int  # width of the MLP
    V: int  # words
    T: int  # slots of the cache
    B: int = 4  # most sequences
    S: int = 2048  # most new tokens of each


LLAMA_3_8B = Size(layers=32, D=4096, H=32, G=8, E=128, F=14336, V=128256, T=8192)
# What one CUDA graph decodes at every position: the same, of so many sequences (80 GB do not hold the caches of 64
# beside the weights), and a small one to compare every step of.
REPLAYED_8B = {sequences: replace(LLAMA_3_8B, B=sequences) for sequences in (16, 64)}
REPLAYED_SMALL = Size(layers=4, D=512, H=8, G=2, E=64, F=1408, V=2048, T=256, B=64, S=64)


GROUP = 128  # weights of 4 bits along the depth that have one scale


def with_stored_weights(text, stored):
    """The graph's text with its products' weights of that type: bf16, or dequantised in front of each product from f8e4m3
    or int4, which have scales and lie in lines along the depth."""
    if stored == "bf16":
        return text
    names, indents = [], {}

    def constant(match):
        indent, name, depth, columns, file = match.groups()[:5]
        key = match[6] or match[7]
        names.append(name)
        codes, scale = ((f"f8e4m3[{columns}, {depth}]", f"bf16[{columns}, 1]") if stored == "f8e4m3" else
                        (f"i4[{columns}, {depth}/{GROUP}, {GROUP}]", f"bf16[{columns}, {depth}/{GROUP}, 1]"))
        return (f'{indent}{name}_codes: {{type: "{codes}", file: {file}, key: "{key}"}}\n'
                f'{indent}{name}_scale: {{type: "{scale}", file: {file}, key: "{key}.scale"}}')

    def product(match):
        indent, _, name, _ = match.groups()
        depth, columns = sizes[name]
        lines = [f"{{op: dequantize_linear, in: [{name}_codes, {name}_scale], out: {name}_numbers}}"]
        if stored == "int4":
            lines.append(f"{{op: reshape, in: {name}_numbers, out: {name}_lines, shape: [{columns}, {depth}]}}")
        last = f"{name}_lines" if stored == "int4" else f"{name}_numbers"
        lines.append(f"{{op: transpose, in: {last}, out: {name}, perm: [1, 0]}}")
        return "".join(f"{indent}- {line}\n" for line in lines) + match.group(0)

    pattern = r'^( +)(w\w+|lm_head): \{type: "bf16\[([^,\]]+), ([^\]]+)\]", file: ([^,]+), key: (?:"([^"]+)"|(\w+))\}'
    sizes = {match[2]: (match[3], match[4]) for match in re.finditer(pattern, text, re.M)}
    text = re.sub(pattern, constant, text, flags=re.M)
    text, found = re.subn(r"^( +)- \{op: matmul, in: \[(\w+), (\w+)\], out: (\w+)\}$", product, text, flags=re.M)
    assert found == len(names) == 8, (found, names)
    return text


def stored_weight(weight, stored):
    """(codes, scale) of a weight [depth, columns], in lines along the depth, and the weight that they stand for."""
    import torch

    lines = weight.t().float()
    if stored == "f8e4m3":
        scale = (lines.abs().amax(1, keepdim=True) / 448).to(torch.bfloat16)
        codes = (lines / scale.float()).to(torch.float8_e4m3fn)
        return codes, scale, codes.float().mul_(scale.float()).t()
    groups = lines.unflatten(1, (-1, GROUP))
    scale = (groups.abs().amax(2, keepdim=True) / 7).to(torch.bfloat16)
    codes = (groups / scale.float()).round_().clamp_(-8, 7)
    exact = (codes * scale.float()).flatten(1).t()
    pairs = codes.to(torch.int8).flatten(1).unflatten(1, (-1, 2)) & 15
    return (pairs[..., 0] | pairs[..., 1] << 4).view(torch.uint8), scale, exact


def graph_text(size, name="llama", replayed=False, stored="bf16"):
    """specs/graphs/llama_tiny.yaml at this size, in bf16; `replayed`: llama_decode.yaml, whose positions the device has;
    `stored`: the weights of its products."""
    example = "llama_decode" if replayed else "llama_tiny"
    text = (ROOT / f"specs/graphs/{example}.yaml").read_text().replace(f"graph: {example}", f"graph: {name}")
    text = text.replace(f"{example}.safetensors", "llama.safetensors").replace("f32[", "bf16[")
    sizes = {letter: str(getattr(size, letter)) for letter in "DHGEFVT"}
    sizes |= {"B": f"1..{size.B}", "S": f"1..{size.S}"}
    if not replayed:
        sizes["P"] = f"{{range: 0..{size.T - 1}, from: position}}"
    for dim, extent in sizes.items():
        text, found = re.subn(rf"^(  {dim}: ).*$", rf"\g<1>{extent}", text, flags=re.M)
        assert found == 1, dim
    text, found = re.subn(r"repeat: \d+", f"repeat: {size.layers}", text)
    assert found == 1
    return with_stored_weights(text, stored)


STORED = ("bf16", "f8e4m3", "int4")


def graph_name(stored):
    return "llama" if stored == "bf16" else f"llama_{stored}"


def replayed_name(stored, sequences):
    return f"{graph_name(stored)}_replayed_{sequences}"


class Weights(dict):
    """Tensors by the graph's keys, as files have them, and what those of few bits stand for, in f32."""

    def __init__(self, tensors=(), exact=()):
        super().__init__(tensors)
        self.exact = dict(exact)

    def stored_as(self, stored):
        if stored == "bf16":
            return self
        tensors, exact = dict(self), {}
        for key, weight in self.items():
            if weight.dim() == 2 and key not in ("cos", "sin"):
                tensors[key], tensors[key + ".scale"], exact[key] = stored_weight(weight, stored)
        return Weights(tensors, exact)

    def number(self, key, dtype):
        return self.exact.get(key, self.get(key)).to(dtype)


def random_weights(size, seed=0):
    """By the graph's keys."""
    import torch

    torch.manual_seed(seed)

    def normal(*shape):
        return (torch.randn(*shape, device="cuda") * shape[0] ** -0.5).to(torch.bfloat16)

    def gain():
        return (1 + 0.1 * torch.randn(size.D, device="cuda")).to(torch.bfloat16)

    place = torch.arange(size.E, device="cuda") % (size.E // 2)
    angles = torch.arange(size.T, device="cuda")[:, None] * 500000.0 ** (-place / (size.E // 2))
    weights = {"final_norm": gain(), "lm_head": normal(size.D, size.V),
               "cos": angles.cos().to(torch.bfloat16), "sin": angles.sin().to(torch.bfloat16)}
    for layer in range(size.layers):
        own = {"attention_norm": gain(), "mlp_norm": gain(), "wq": normal(size.D, size.H * size.E),
               "wk": normal(size.D, size.G * size.E), "wv": normal(size.D, size.G * size.E),
               "wo": normal(size.H * size.E, size.D), "w_gate": normal(size.D, size.F),
               "w_up": normal(size.D, size.F), "w_down": normal(size.F, size.D)}
        weights |= {f"layers.{layer}.{name}": weight for name, weight in own.items()}
    return Weights(weights)


def write_safetensors(weights, path):
    import torch

    header, begin = {}, 0
    for name, weight in weights.items():
        dtype = {torch.bfloat16: "BF16", torch.float8_e4m3fn: "F8_E4M3", torch.uint8: "U8"}[weight.dtype]
        header[name] = {"dtype": dtype, "shape": list(weight.shape), "data_offsets": [begin, begin + weight.nbytes]}
        begin += weight.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for weight in weights.values():
            file.write(weight.contiguous().view(torch.uint8).cpu().numpy().data)


class Reference:
    """The same in PyTorch, with a cache of its own, in one type for all but the weights."""

    def __init__(self, size, weights, dtype, slots=None, batch=1):
        import torch

        shape = (batch, slots or size.T, size.G, size.E)
        self.size, self.weights, self.dtype, self.rounded = size, weights, dtype, {}
        self.cache = [[torch.zeros(shape, device="cuda", dtype=dtype) for _ in range(2)] for _ in range(size.layers)]

    def weight(self, name):
        import torch

        if self.weights.exact and self.dtype != torch.float32 and name not in self.rounded:
            self.rounded[name] = self.weights.number(name, self.dtype)
        return self.rounded[name] if name in self.rounded else self.weights.number(name, self.dtype)

    def heads(self, x, weight):
        return (x @ weight).unflatten(-1, (-1, self.size.E))

    def angles(self, table, position, tokens):
        return self.weight(table)[position:position + tokens, None]

    def attend(self, q, k, v, cache, position):
        """Of tokens that follow each other from `position` on, those of all sequences."""
        import torch
        import torch.nn.functional as F

        end = position + q.shape[1]
        for part, new in zip(cache, (k, v)):
            part[:, position:end] = new
        seen = [part[:, :end].transpose(1, 2) for part in cache]
        mask = None
        if q.shape[1] > 1 and position > 0:
            mask = torch.ones(q.shape[1], end, device="cuda", dtype=torch.bool).tril(position)
        return F.scaled_dot_product_attention(q.transpose(1, 2), *seen, attn_mask=mask, enable_gqa=True,
                                              is_causal=q.shape[1] > 1 and position == 0)

    def layer(self, number, h, turn, position):
        import torch.nn.functional as F

        own = {name: self.weight(f"layers.{number}.{name}") for name in
               ("attention_norm", "mlp_norm", "wq", "wk", "wv", "wo", "w_gate", "w_up", "w_down")}
        x = F.rms_norm(h, h.shape[-1:], own["attention_norm"], 1e-5)
        q, k, v = (self.heads(x, own[name]) for name in ("wq", "wk", "wv"))
        attended = self.attend(turn(q), turn(k), v, self.cache[number], position)
        h = h + attended.transpose(1, 2).flatten(2) @ own["wo"]
        x = F.rms_norm(h, h.shape[-1:], own["mlp_norm"], 1e-5)
        return h + (F.silu(x @ own["w_gate"]) * (x @ own["w_up"])) @ own["w_down"]

    def __call__(self, x, position):
        import torch
        import torch.nn.functional as F

        h = x.to(self.dtype)
        cos, sin = (self.angles(name, position, h.shape[1]) for name in ("cos", "sin"))

        def turn(heads):
            first, second = heads.chunk(2, -1)
            return heads * cos + torch.cat([-second, first], -1) * sin

        for number in range(self.size.layers):
            h = self.layer(number, h, turn, position)
        return F.rms_norm(h, h.shape[-1:], self.weight("final_norm"), 1e-5) @ self.weight("lm_head")


class ReferenceAtPositions(Reference):
    """The same of tokens [B, S] at positions of their own; those at -1 are none, and what comes of them means nothing."""

    def angles(self, table, positions, tokens):
        return self.weight(table)[positions][:, :, None]

    def attend(self, q, k, v, cache, positions):
        import torch
        import torch.nn.functional as F

        sequences, columns = (positions >= 0).nonzero(as_tuple=True)
        for part, new in zip(cache, (k, v)):
            part[sequences, positions[sequences, columns]] = new[sequences, columns]
        slots = torch.arange(cache[0].shape[1], device="cuda")
        mask = slots <= positions.clamp(min=0)[:, None, :, None]  # [B, 1, S, slots]
        return F.scaled_dot_product_attention(q.transpose(1, 2), *(part.transpose(1, 2) for part in cache),
                                              attn_mask=mask, enable_gqa=True)


def graphs():
    """What scripts/gpu_bundle plans: (library, name of the graph, its text)."""
    for stored in STORED:
        library = graph_name(stored)
        yield library, library, graph_text(LLAMA_3_8B, library, stored=stored)
        for sequences, size in REPLAYED_8B.items():
            name = replayed_name(stored, sequences)
            yield library, name, graph_text(size, name, True, stored)
    yield graph_name("bf16"), "llama_small", graph_text(REPLAYED_SMALL, "llama_small", True)


def main():
    """llama.py FOLDER: writes the graphs as LIBRARY/NAME.yaml, for scripts/gpu_bundle, which has no PyTorch."""
    import sys

    for library, name, text in graphs():
        folder = pathlib.Path(sys.argv[1], library)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.yaml").write_text(text)


if __name__ == "__main__":
    main()
