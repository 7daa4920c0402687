"""Decoders with a cache: Llama, Qwen2, and a block of Mixtral."""

import torch
import torch.nn.functional as F
import transformers
from torch import nn
from transformers.cache_utils import DynamicCache
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock

from zoo import Case, normal, spread, tokens


class WithCache(nn.Module):
    """A decoder given the keys and values of the tokens before, which it gives back with those of the new ones."""

    def __init__(self, model: nn.Module, layers: int) -> None:
        super().__init__()
        self.model, self.layers = model, layers

    def forward(self, ids, *past):
        cache = DynamicCache()
        for layer in range(self.layers):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        result = self.model(input_ids=ids, past_key_values=cache, use_cache=True)
        return (result.logits, *(each for layer in range(self.layers) for each in
                                 (result.past_key_values.layers[layer].keys, result.past_key_values.layers[layer].values)))


def decoder(name: str, make, layers: int, heads: int, width: int, vocabulary: int) -> Case:
    pasts = [f"past_{what}_{layer}" for layer in range(layers) for what in ("key", "value")]
    presents = [each.replace("past", "present") for each in pasts]

    def inputs(sizes):
        return {"ids": tokens(vocabulary, sizes["batch"], sizes["sequence"])} | {
            each: normal(sizes["batch"], heads, sizes["past"], width) for each in pasts}

    return Case(name, lambda: spread(WithCache(make(), layers)), inputs, ["logits", *presents],
                dims={"batch": (1, 8), "sequence": (1, 128), "past": (1, 1024)},
                dynamic={"ids": {0: "batch", 1: "sequence"}} | {each: {0: "batch", 2: "past"} for each in pasts},
                sizes=[{"batch": 2, "sequence": 5, "past": 11}, {"batch": 1, "sequence": 1, "past": 16}],
                recognised={"attention": layers, "silu": layers})


def llama() -> nn.Module:
    config = transformers.LlamaConfig(hidden_size=2048, intermediate_size=5632, num_hidden_layers=2, num_attention_heads=32,
                                      num_key_value_heads=4, vocab_size=2000, tie_word_embeddings=True, attn_implementation="sdpa")
    return transformers.LlamaForCausalLM(config)


def qwen2() -> nn.Module:
    config = transformers.Qwen2Config(hidden_size=896, intermediate_size=4864, num_hidden_layers=2, num_attention_heads=14,
                                      num_key_value_heads=2, vocab_size=2000, tie_word_embeddings=True, attn_implementation="sdpa")
    return transformers.Qwen2ForCausalLM(config)


class RMSNorm(nn.Module):
    """As Mixtral's own code writes it: the older exporter knows no operator for it."""

    def __init__(self, width: int, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(width)), epsilon

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon))


class MixtralBlock(nn.Module):
    """Mixtral's mixture of experts behind its norm: two of eight experts for each token. Every expert is computed and
    weighted, as exporters want it: which one a token takes is known at run time alone."""

    def __init__(self, width: int = 1024, inner: int = 3584, experts: int = 8, chosen: int = 2) -> None:
        super().__init__()
        self.chosen = chosen
        self.norm = RMSNorm(width)
        self.gate = nn.Linear(width, experts, bias=False)
        self.w1, self.w3 = (nn.Parameter(torch.randn(experts, inner, width) * width**-0.5) for _ in range(2))
        self.w2 = nn.Parameter(torch.randn(experts, width, inner) * inner**-0.5)

    def forward(self, x):
        normed = self.norm(x)
        probabilities = self.gate(normed).softmax(-1)
        weights, which = probabilities.topk(self.chosen, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        shares = torch.zeros_like(probabilities).scatter(-1, which, weights)
        flat = normed.flatten(0, 1)
        grown = F.silu(flat @ self.w1.transpose(1, 2)) * (flat @ self.w3.transpose(1, 2))
        results = grown @ self.w2.transpose(1, 2)  # [experts, tokens, width]
        return x + (results * shares.flatten(0, 1).t()[:, :, None]).sum(0).view_as(x)


class MixtralExperts(MixtralSparseMoeBlock):
    """In f64 each row with the matrix of its expert: PyTorch has no grouped products of that."""

    def double(self):
        self.experts.config._experts_implementation = "batched_mm"
        return super().double()


def mixtral_experts(how: str) -> nn.Module:
    """transformers' own: `batched_mm`, each row with the matrix of its expert, or `grouped_mm`, rows sorted by experts. Its
    loop over experts has a number of steps that only a run knows: no exporter takes it."""
    config = transformers.MixtralConfig(hidden_size=1024, intermediate_size=3584, num_local_experts=8, num_experts_per_tok=2)
    config._experts_implementation = how
    block = MixtralExperts(config)
    generator = torch.Generator().manual_seed(5)
    for each in block.parameters():
        each.data.normal_(0, each.shape[-1]**-0.5, generator=generator)
    return block


def experts_case(how: str, exporters: tuple[str, ...]) -> Case:
    return Case(f"mixtral_{how}", lambda: mixtral_experts(how), lambda s: {"hidden_states": normal(s["batch"], s["sequence"], 1024)},
                ["y"], dims={"batch": (1, 8), "sequence": (1, 128)}, dynamic={"hidden_states": {0: "batch", 1: "sequence"}},
                sizes=[{"batch": 2, "sequence": 5}, {"batch": 1, "sequence": 3}],
                recognised={"expert_linear": 2} if how == "batched_mm" else {"grouped_matmul": 2}, exporters=exporters)


def cases() -> list[Case]:
    return [
        decoder("llama", llama, 2, 4, 64, 2000),
        decoder("qwen2", qwen2, 2, 2, 64, 2000),
        Case("mixtral_block", MixtralBlock, lambda s: {"x": normal(s["batch"], s["sequence"], 1024)}, ["y"],
             dims={"batch": (1, 8), "sequence": (1, 128)}, dynamic={"x": {0: "batch", 1: "sequence"}},
             sizes=[{"batch": 2, "sequence": 5}, {"batch": 1, "sequence": 3}], recognised={"rms_norm": 1, "silu": 1},
             spelt_out=("rms_norm",)),
        experts_case("batched_mm", ("dynamo", "from_torch")),
        experts_case("grouped_mm", ("from_torch",)),
    ]
