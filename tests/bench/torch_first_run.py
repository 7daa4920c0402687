"""The same graphs by torch.compile: prints, as JSON, the seconds to import torch and those from there to a result.

    torch_first_run.py GRAPH [--edited]        --edited adds one operator, as someone who tries something out would
"""

import json
import sys
import time

start = time.perf_counter()

import torch
import torch.nn.functional as F

imported = time.perf_counter()
graph, edited = sys.argv[1], "--edited" in sys.argv


def matmul_bias_relu(A, B, bias):
    return F.relu(A @ B + bias) * (2 if edited else 1)


def layer_norm_gelu(x, weight, bias):
    return F.gelu(F.layer_norm(x, (768,), weight, bias, 1e-5)) * (2 if edited else 1)


def rotate(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return x * cos[:, None] + torch.cat([-second, first], dim=-1) * sin[:, None]


def llama_block(x, position, w, k_cache, v_cache):
    batch, tokens, _ = x.shape
    end = position + tokens
    n = F.rms_norm(x, (512,), w["attention_norm"], 1e-5)
    q, k, v = ((n @ w[name]).view(batch, tokens, -1, 64) for name in ("wq", "wk", "wv"))
    cos, sin = w["cos"][position:end], w["sin"][position:end]
    k_cache[:batch, position:end] = rotate(k, cos, sin)
    v_cache[:batch, position:end] = v
    q, keys, values = (
        t.transpose(1, 2) for t in (rotate(q, cos, sin), k_cache[:batch, :end], v_cache[:batch, :end])
    )
    mask = torch.ones(tokens, end, dtype=torch.bool).tril(end - tokens)
    attended = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask, enable_gqa=True)
    h = x + attended.transpose(1, 2).reshape(batch, tokens, -1) @ w["wo"]
    n = F.rms_norm(h, (512,), w["mlp_norm"], 1e-5)
    return (h + (F.silu(n @ w["w_gate"]) * (n @ w["w_up"])) @ w["w_down"]) * (2 if edited else 1)


def arguments():
    if graph == "matmul_bias_relu":
        return torch.randn(64, 512), torch.randn(512, 512), torch.randn(512)
    if graph == "layer_norm_gelu":
        return torch.randn(64, 768), torch.randn(768), torch.randn(768)
    shapes = {"attention_norm": (512,), "mlp_norm": (512,), "wq": (512, 512), "wk": (512, 256), "wv": (512, 256)}
    shapes |= {"wo": (512, 512), "w_gate": (512, 1376), "w_up": (512, 1376), "w_down": (1376, 512)}
    shapes |= {"cos": (1024, 64), "sin": (1024, 64)}
    weights = {name: torch.randn(shape) / 20 for name, shape in shapes.items()}
    return torch.randn(1, 64, 512), 0, weights, torch.zeros(8, 1024, 4, 64), torch.zeros(8, 1024, 4, 64)


with torch.no_grad():
    float(torch.compile(globals()[graph])(*arguments()).flatten()[-1])
print(json.dumps({"import": imported - start, "result": time.perf_counter() - imported, "version": torch.__version__}))
