"""A Llama of a given size: its graph, its random weights, and what PyTorch makes of them."""

import json
import pathlib
import re
import struct
from dataclasses import dataclass

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


def graph_text(size, name="llama"):
    """specs/graphs/llama_tiny.yaml at this size, in bf16."""
    text = (ROOT / "specs/graphs/llama_tiny.yaml").read_text().replace("llama_tiny", name).replace("f32[", "bf16[")
    sizes = {letter: str(getattr(size, letter)) for letter in "DHGEFVT"}
    sizes |= {"B": f"1..{size.B}", "S": f"1..{size.S}", "P": f"{{range: 0..{size.T - 1}, from: position}}"}
    for dim, extent in sizes.items():
        text, found = re.subn(rf"^(  {dim}: ).*$", rf"\g<1>{extent}", text, flags=re.M)
        assert found == 1, dim
    text, found = re.subn(r"repeat: \d+", f"repeat: {size.layers}", text)
    assert found == 1
    return text


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
    return weights


def write_safetensors(weights, path):
    import torch

    header, begin = {}, 0
    for name, weight in weights.items():
        header[name] = {"dtype": "BF16", "shape": list(weight.shape), "data_offsets": [begin, begin + weight.nbytes]}
        begin += weight.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for weight in weights.values():
            file.write(weight.view(torch.uint8).cpu().numpy().data)


class Reference:
    """The same in PyTorch, with a cache of its own, in one type for all but the weights."""

    def __init__(self, size, weights, dtype, slots=None):
        import torch

        shape = (1, slots or size.T, size.G, size.E)
        self.size, self.weights, self.dtype = size, weights, dtype
        self.cache = [[torch.zeros(shape, device="cuda", dtype=dtype) for _ in range(2)] for _ in range(size.layers)]

    def weight(self, name):
        return self.weights[name].to(self.dtype)

    def heads(self, x, weight):
        return (x @ weight).unflatten(-1, (-1, self.size.E))

    def layer(self, number, h, turn, position):
        import torch
        import torch.nn.functional as F

        keys, values = self.cache[number]
        own = {name: self.weight(f"layers.{number}.{name}") for name in
               ("attention_norm", "mlp_norm", "wq", "wk", "wv", "wo", "w_gate", "w_up", "w_down")}
        end = position + h.shape[1]
        x = F.rms_norm(h, h.shape[-1:], own["attention_norm"], 1e-5)
        q = turn(self.heads(x, own["wq"]))
        keys[:, position:end] = turn(self.heads(x, own["wk"]))
        values[:, position:end] = self.heads(x, own["wv"])
        seen = [part[:, :end].transpose(1, 2) for part in (keys, values)]
        mask = None
        if h.shape[1] > 1 and position > 0:
            mask = torch.ones(h.shape[1], end, device="cuda", dtype=torch.bool).tril(position)
        attended = F.scaled_dot_product_attention(q.transpose(1, 2), *seen, attn_mask=mask, enable_gqa=True,
                                                  is_causal=h.shape[1] > 1 and position == 0)
        h = h + attended.transpose(1, 2).flatten(2) @ own["wo"]
        x = F.rms_norm(h, h.shape[-1:], own["mlp_norm"], 1e-5)
        return h + (F.silu(x @ own["w_gate"]) * (x @ own["w_up"])) @ own["w_down"]

    def __call__(self, x, position):
        import torch
        import torch.nn.functional as F

        h = x.to(self.dtype)
        cos, sin = (self.weight(name)[position:position + h.shape[1], None] for name in ("cos", "sin"))

        def turn(heads):
            first, second = heads.chunk(2, -1)
            return heads * cos + torch.cat([-second, first], -1) * sin

        for number in range(self.size.layers):
            h = self.layer(number, h, turn, position)
        return F.rms_norm(h, h.shape[-1:], self.weight("final_norm"), 1e-5) @ self.weight("lm_head")


def main():
    """Writes the graph for scripts/gpu_bundle, which has no PyTorch."""
    import sys

    pathlib.Path(sys.argv[1]).write_text(graph_text(LLAMA_3_8B))


if __name__ == "__main__":
    main()
