"""Models of transformers."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from libraries import BATCH, TEXT, by_compile, fixed_batch, fixed_text, of_images, spread
from zoo import Case, Chosen, normal, tokens


def cases() -> list[Case]:
    import transformers as t

    tiny = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "vocab_size": 99,
        "max_position_embeddings": 64,
        "attn_implementation": "sdpa",
    }
    shared = {**tiny, "num_key_value_heads": 2}
    spelt = {**shared, "attn_implementation": "eager"}

    def text(name: str, make: Callable[[], nn.Module], call: Callable[..., Any], **more: Any) -> Case:
        return Case(
            name,
            lambda: spread(Chosen(make(), call)),
            lambda s: {"ids": tokens(99, s["batch"], s["sequence"])},
            [],
            **(TEXT | more),
        )

    def hidden(m: nn.Module, ids: torch.Tensor) -> Any:
        return m(input_ids=ids, use_cache=False).last_hidden_state

    def logits(m: nn.Module, ids: torch.Tensor) -> Any:
        return m(input_ids=ids, use_cache=False).logits

    def encoded(m: nn.Module, ids: torch.Tensor) -> Any:
        return m(input_ids=ids).last_hidden_state

    def masked(m: nn.Module, ids: torch.Tensor) -> Any:
        return m(input_ids=ids, attention_mask=(ids != 0).long()).last_hidden_state

    def seq2seq(m: nn.Module, ids: torch.Tensor) -> Any:
        return m(input_ids=ids, decoder_input_ids=ids[:, :5], use_cache=False).logits

    def causal(name: str, config: Any, **more: Any) -> Case:
        return text(name, lambda: t.AutoModelForCausalLM.from_config(config), logits, **more)

    gpt2 = t.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=99, n_positions=64, attn_implementation="sdpa")
    t5 = t.T5Config(d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, vocab_size=99, decoder_start_token_id=0)
    bart = t.BartConfig(
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        vocab_size=99,
        max_position_embeddings=64,
        attn_implementation="sdpa",
    )
    experts = {**shared, "num_local_experts": 4, "num_experts_per_tok": 2, "experts_implementation": "batched_mm"}
    longer = {"batch": (1, 16), "sequence": (6, 64)}
    clip_text = {k: v for k, v in tiny.items() if k != "attn_implementation"} | {"eos_token_id": 98}
    clip_vision = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "image_size": 32,
        "patch_size": 8,
    }
    pictures = {**clip_vision, "attn_implementation": "sdpa"}

    def audio(name: str, config: Any, **more: Any) -> Case:
        return Case(
            name,
            lambda: spread(Chosen(t.AutoModel.from_config(config), lambda m, x: m(x).last_hidden_state)),
            lambda s: {"sound": normal(s["batch"], 800)},
            [],
            **(BATCH | {"dynamic": {"sound": {0: "batch"}}} | more),
        )

    wav = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 48,
        "conv_dim": (16, 16, 16),
        "conv_stride": (5, 2, 2),
        "conv_kernel": (10, 3, 2),
        "num_conv_pos_embeddings": 16,
        "num_conv_pos_embedding_groups": 4,
        "num_feat_extract_layers": 3,
    }
    return [
        text("bert", lambda: t.BertModel(t.BertConfig(**tiny)), masked),
        text("roberta", lambda: t.RobertaModel(t.RobertaConfig(**tiny)), masked),
        text(
            "distilbert",
            lambda: t.DistilBertModel(t.DistilBertConfig(dim=32, hidden_dim=48, n_layers=2, n_heads=4, vocab_size=99)),
            encoded,
        ),
        text("albert", lambda: t.AlbertModel(t.AlbertConfig(**tiny, embedding_size=16)), masked),
        text("electra", lambda: t.ElectraModel(t.ElectraConfig(**tiny, embedding_size=16)), masked),
        text(
            "deberta_v2",
            lambda: t.DebertaV2Model(
                t.DebertaV2Config(
                    **{k: v for k, v in tiny.items() if k != "attn_implementation"},
                    relative_attention=True,
                    pos_att_type=["p2c", "c2p"],
                    position_buckets=8,
                )
            ),
            encoded,
            **fixed_text(),
        ),
        text(
            "mpnet",
            lambda: t.MPNetModel(t.MPNetConfig(**{k: v for k, v in tiny.items() if k != "attn_implementation"})),
            masked,
        ),
        text(
            "modernbert",
            lambda: t.ModernBertModel(
                t.ModernBertConfig(
                    **tiny,
                    pad_token_id=0,
                    bos_token_id=1,
                    eos_token_id=2,
                    cls_token_id=1,
                    sep_token_id=2,
                    local_attention=4,
                )
            ),
            masked,
        ),
        text(
            "xlnet",
            lambda: t.XLNetModel(t.XLNetConfig(d_model=32, n_layer=2, n_head=4, d_inner=48, vocab_size=99)),
            encoded,
            **by_compile(),
        ),
        causal("gpt2", gpt2),
        causal("gpt_neox", t.GPTNeoXConfig(**tiny)),
        causal(
            "opt",
            t.OPTConfig(
                hidden_size=32,
                ffn_dim=48,
                num_hidden_layers=2,
                num_attention_heads=4,
                vocab_size=99,
                max_position_embeddings=64,
                word_embed_proj_dim=32,
                attn_implementation="sdpa",
            ),
        ),
        causal("bloom", t.BloomConfig(hidden_size=32, n_layer=2, n_head=4, vocab_size=99)),
        causal(
            "falcon",
            t.FalconConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, vocab_size=99, alibi=False),
        ),
        causal("phi", t.PhiConfig(**tiny)),
        causal("phi3", t.Phi3Config(**shared, pad_token_id=0)),
        causal("llama", t.LlamaConfig(**shared)),
        causal(
            "llama_scaled",
            t.LlamaConfig(
                **shared,
                rope_parameters={
                    "rope_type": "llama3",
                    "factor": 8.0,
                    "low_freq_factor": 1.0,
                    "high_freq_factor": 4.0,
                    "original_max_position_embeddings": 32,
                    "rope_theta": 10000.0,
                },
            ),
        ),
        causal("mistral", t.MistralConfig(**shared, sliding_window=4)),
        causal("qwen2", t.Qwen2Config(**shared)),
        causal("qwen3", t.Qwen3Config(**shared, head_dim=8)),
        causal("gemma", t.GemmaConfig(**shared, head_dim=8)),
        causal("gemma2", t.Gemma2Config(**spelt, head_dim=8, sliding_window=4)),
        causal("gemma3", t.Gemma3TextConfig(**shared, head_dim=8, sliding_window=4)),
        causal("cohere", t.CohereConfig(**shared)),
        causal("olmo2", t.Olmo2Config(**shared)),
        causal("stablelm", t.StableLmConfig(**shared)),
        causal("starcoder2", t.Starcoder2Config(**shared)),
        causal("granite", t.GraniteConfig(**shared)),
        causal("mixtral", t.MixtralConfig(**experts)),
        causal(
            "qwen2_moe",
            t.Qwen2MoeConfig(
                **shared,
                num_experts=4,
                num_experts_per_tok=2,
                moe_intermediate_size=24,
                shared_expert_intermediate_size=24,
                experts_implementation="batched_mm",
            ),
        ),
        causal("gpt_oss", t.GptOssConfig(**experts | {"attn_implementation": "eager"}, head_dim=8, sliding_window=4)),
        causal(
            "deepseek_v3",
            t.DeepseekV3Config(
                **{**tiny, "attn_implementation": "eager"},
                num_key_value_heads=4,
                n_routed_experts=4,
                n_shared_experts=1,
                num_experts_per_tok=2,
                moe_intermediate_size=24,
                kv_lora_rank=16,
                q_lora_rank=16,
                qk_rope_head_dim=8,
                qk_nope_head_dim=8,
                v_head_dim=8,
                n_group=2,
                topk_group=1,
                first_k_dense_replace=1,
                experts_implementation="batched_mm",
            ),
        ),
        causal(
            "mamba", t.MambaConfig(hidden_size=32, num_hidden_layers=2, vocab_size=99, state_size=8), **fixed_text()
        ),
        causal(
            "mamba2",
            t.Mamba2Config(
                hidden_size=32,
                num_hidden_layers=2,
                vocab_size=99,
                state_size=8,
                num_heads=8,
                head_dim=8,
                n_groups=2,
                chunk_size=4,
            ),
            **fixed_text(),
        ),
        causal(
            "rwkv",
            t.RwkvConfig(
                hidden_size=32, attention_hidden_size=32, num_hidden_layers=2, vocab_size=99, context_length=64
            ),
            **fixed_text(),
        ),
        causal(
            "recurrent_gemma",
            t.RecurrentGemmaConfig(
                hidden_size=32,
                intermediate_size=48,
                num_hidden_layers=3,
                num_attention_heads=4,
                num_key_value_heads=1,
                head_dim=8,
                lru_width=32,
                vocab_size=99,
                attention_window_size=8,
            ),
            **fixed_text(),
        ),
        text("t5", lambda: t.T5ForConditionalGeneration(t5), seq2seq, dims=longer),
        text("t5_encoder", lambda: t.T5EncoderModel(t5), masked),
        text("bart", lambda: t.BartForConditionalGeneration(bart), seq2seq, dims=longer),
        of_images("vit", lambda: t.ViTModel(t.ViTConfig(**pictures)), 32, lambda m, x: m(x).last_hidden_state),
        of_images("deit", lambda: t.DeiTModel(t.DeiTConfig(**pictures)), 32, lambda m, x: m(x).last_hidden_state),
        of_images(
            "dinov2",
            lambda: t.Dinov2Model(t.Dinov2Config(**{k: v for k, v in pictures.items() if k != "intermediate_size"})),
            32,
            lambda m, x: m(x).last_hidden_state,
        ),
        of_images(
            "beit",
            lambda: t.BeitModel(t.BeitConfig(**{k: v for k, v in pictures.items() if k != "attn_implementation"})),
            32,
            lambda m, x: m(x).last_hidden_state,
        ),
        of_images(
            "hf_swin",
            lambda: t.SwinModel(
                t.SwinConfig(image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4)
            ),
            32,
            lambda m, x: m(x).last_hidden_state,
        ),
        of_images(
            "segformer",
            lambda: t.SegformerForSemanticSegmentation(
                t.SegformerConfig(
                    hidden_sizes=[8, 16, 16, 16],
                    depths=[1, 1, 1, 1],
                    num_attention_heads=[1, 2, 2, 2],
                    decoder_hidden_size=16,
                    num_labels=5,
                )
            ),
            64,
            lambda m, x: m(x).logits,
        ),
        of_images(
            "siglip", lambda: t.SiglipVisionModel(t.SiglipVisionConfig(**pictures)), 32, lambda m, x: m(x).pooler_output
        ),
        of_images(
            "detr",
            lambda: t.DetrForObjectDetection(
                t.DetrConfig(
                    d_model=32,
                    encoder_layers=1,
                    decoder_layers=1,
                    encoder_attention_heads=4,
                    decoder_attention_heads=4,
                    encoder_ffn_dim=48,
                    decoder_ffn_dim=48,
                    num_queries=5,
                    use_pretrained_backbone=False,
                    use_timm_backbone=False,
                    backbone_config=t.ResNetConfig(
                        embedding_size=8, hidden_sizes=[8, 8, 8, 8], depths=[1, 1, 1, 1], out_features=["stage4"]
                    ),
                )
            ),
            64,
            lambda m, x: (lambda o: (o.logits, o.pred_boxes))(m(x)),
        ),
        of_images(
            "depth_anything",
            lambda: t.DPTForDepthEstimation(
                t.DPTConfig(
                    **pictures | {"num_hidden_layers": 4},
                    backbone_out_indices=[0, 1, 2, 3],
                    neck_hidden_sizes=[8, 8, 8, 8],
                    fusion_hidden_size=8,
                    is_hybrid=False,
                )
            ),
            32,
            lambda m, x: m(x).predicted_depth,
        ),
        Case(
            "clip",
            lambda: spread(
                Chosen(
                    t.CLIPModel(t.CLIPConfig(text_config=clip_text, vision_config=clip_vision, projection_dim=16)),
                    lambda m, ids, image: (lambda o: (o.logits_per_image, o.text_embeds))(
                        m(input_ids=ids, pixel_values=image)
                    ),
                )
            ),
            lambda s: {"ids": tokens(99, s["batch"], 7), "image": normal(s["batch"], 3, 32, 32)},
            [],
            dynamic={"ids": {0: "batch"}, "image": {0: "batch"}},
            **BATCH,
        ),
        Case(
            "whisper",
            lambda: spread(
                Chosen(
                    t.WhisperForConditionalGeneration(
                        t.WhisperConfig(
                            d_model=32,
                            encoder_layers=2,
                            decoder_layers=2,
                            encoder_attention_heads=4,
                            decoder_attention_heads=4,
                            encoder_ffn_dim=48,
                            decoder_ffn_dim=48,
                            vocab_size=99,
                            max_source_positions=25,
                            num_mel_bins=8,
                            pad_token_id=0,
                            bos_token_id=1,
                            eos_token_id=2,
                            decoder_start_token_id=1,
                            attn_implementation="sdpa",
                        )
                    ),
                    lambda m, sound, ids: m(input_features=sound, decoder_input_ids=ids, use_cache=False).logits,
                )
            ),
            lambda s: {"sound": normal(s["batch"], 8, 50), "ids": tokens(99, s["batch"], 6)},
            [],
            dynamic={"ids": {0: "batch"}, "sound": {0: "batch"}},
            **BATCH,
        ),
        audio("wav2vec2", t.Wav2Vec2Config(**wav, attn_implementation="sdpa")),
        audio("wav2vec2_stable", t.Wav2Vec2Config(**wav, do_stable_layer_norm=True, feat_extract_norm="layer")),
        audio("conformer", t.Wav2Vec2ConformerConfig(**wav, position_embeddings_type="relative")),
        audio("conformer_rotary", t.Wav2Vec2ConformerConfig(**wav, position_embeddings_type="rotary")),
        audio("hubert", t.HubertConfig(**wav)),
        audio("wavlm", t.WavLMConfig(**wav), **fixed_batch()),
        Case(
            "encodec",
            lambda: spread(
                Chosen(
                    t.EncodecModel(
                        t.EncodecConfig(
                            num_filters=4,
                            hidden_size=8,
                            codebook_size=16,
                            codebook_dim=8,
                            num_lstm_layers=1,
                            upsampling_ratios=[4, 2],
                        )
                    ),
                    lambda m, x: m.decoder(m.encoder(x)),
                )
            ),
            lambda s: {"sound": normal(s["batch"], 1, 64)},
            [],
            dynamic={"sound": {0: "batch"}},
            **BATCH,
            **by_compile(),
        ),
    ]
