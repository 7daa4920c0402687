"""Whole models of torchvision, transformers, timm and diffusers, as small as they come, with random weights. They are compared
with PyTorch by interpreted.py, which builds nothing."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from zoo import Case, Chosen, normal, spread as statistics_of, tokens

BATCH = {"dims": {"batch": (1, 16)}, "sizes": [{"batch": 2}, {"batch": 3}]}
TEXT = {"dims": {"batch": (1, 16), "sequence": (2, 64)}, "sizes": [{"batch": 2, "sequence": 7}, {"batch": 3, "sequence": 12}],
        "dynamic": {"ids": {0: "batch", 1: "sequence"}}}


def spread(model: nn.Module) -> nn.Module:
    """Random numbers also for what begins as zero, such as a head, so that all that is behind it counts."""
    generator = torch.Generator().manual_seed(4)
    for one in model.parameters():
        if one.numel() and not one.data.any():
            one.data.normal_(0, 0.1, generator=generator)
    return statistics_of(model)


def of_images(name: str, make: Callable[[], nn.Module], side: int = 64, call: Callable[..., Any] | None = None, **more: Any) -> Case:
    return Case(name, lambda: spread(Chosen(make(), call) if call else make()), lambda s: {"image": normal(s["batch"], 3, side, side)}, [],
                dynamic={"image": {0: "batch"}}, **(BATCH | more))


def torchvision_cases() -> list[Case]:
    import torchvision.models as models
    from torchvision.models import detection, segmentation, video

    def bare(make: Callable[..., nn.Module], **how: Any) -> Callable[[], nn.Module]:
        return lambda: make(weights=None, **how)

    def fixed(case: Case) -> Case:
        case.dims, case.dynamic, case.sizes = {}, {}, case.sizes[:1]
        return case

    scores = {"num_classes": 10}
    swin = models.SwinTransformer
    small_swin = {"patch_size": [4, 4], "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": [4, 4], **scores}
    return [
        of_images("tv_resnet18", bare(models.resnet18, **scores)),
        of_images("tv_resnext", lambda: models.ResNet(models.resnet.Bottleneck, [1, 1, 1, 1], groups=8, width_per_group=4, **scores)),
        of_images("tv_mobilenet_v2", bare(models.mobilenet_v2, width_mult=0.25, **scores), 32),
        of_images("tv_mobilenet_v3", bare(models.mobilenet_v3_small, **scores), 32),
        of_images("tv_efficientnet_b0", bare(models.efficientnet_b0, **scores), 32),
        of_images("tv_regnet", bare(models.regnet_y_400mf, **scores), 32),
        of_images("tv_convnext", lambda: models.ConvNeXt([models.convnext.CNBlockConfig(16, 32, 2), models.convnext.CNBlockConfig(32, None, 1)], **scores)),
        of_images("tv_densenet", lambda: models.DenseNet(8, (2, 2, 2, 2), 16, **scores)),
        of_images("tv_shufflenet", bare(models.shufflenet_v2_x0_5, **scores), 32),
        of_images("tv_squeezenet", bare(models.squeezenet1_1, **scores)),
        of_images("tv_mnasnet", bare(models.mnasnet0_5, **scores), 32),
        of_images("tv_googlenet", lambda: models.GoogLeNet(init_weights=False, aux_logits=False, **scores)),
        of_images("tv_inception", lambda: models.Inception3(init_weights=False, aux_logits=False, **scores), 96),
        of_images("tv_vgg", bare(models.vgg11_bn, **scores), 32),
        of_images("tv_vit", lambda: models.VisionTransformer(64, 16, 2, 4, 32, 64, **scores)),
        of_images("tv_maxvit", lambda: models.MaxVit((64, 64), 16, 2, [16, 32], [1, 1], 8, 0.0, **scores)),
        fixed(of_images("tv_swin", lambda: swin(**small_swin))),
        fixed(of_images("tv_swin_shifted", lambda: swin(**small_swin), 56)),
        fixed(of_images("tv_swin_v2", lambda: swin(**small_swin, block=models.swin_transformer.SwinTransformerBlockV2,
                                                   downsample_layer=models.swin_transformer.PatchMergingV2))),
        of_images("tv_deeplabv3", bare(segmentation.deeplabv3_mobilenet_v3_large, weights_backbone=None, **scores), 48, lambda m, x: m(x)["out"]),
        of_images("tv_lraspp", bare(segmentation.lraspp_mobilenet_v3_large, weights_backbone=None, **scores), 48, lambda m, x: m(x)["out"]),
        of_images("tv_fcn", bare(segmentation.fcn_resnet50, weights_backbone=None, **scores), 48, lambda m, x: m(x)["out"]),
        of_images("tv_fpn", lambda: detection.backbone_utils.resnet_fpn_backbone(backbone_name="resnet18", weights=None), 64,
                  lambda m, x: tuple(m(x).values())),
        of_images("tv_rpn_head", lambda: nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU()), 32,
                  detection_heads(detection)),
        Case("tv_video", lambda: spread(video.r2plus1d_18(weights=None, num_classes=10)), lambda s: {"clip": normal(s["batch"], 3, 4, 32, 32)}, [],
             dynamic={"clip": {0: "batch"}}, **BATCH),
        Case("tv_roi_heads", lambda: detection.faster_rcnn.FastRCNNPredictor(32, 4), lambda s: {"x": normal(s["batch"], 32)}, [],
             dynamic={"x": {0: "batch"}}, **BATCH),
        Case("tv_raft_block", lambda: spread(Chosen(__import__("torchvision").models.optical_flow.raft.ResidualBlock(8, 12, norm_layer=nn.InstanceNorm2d, stride=2),
                                                    lambda m, x: m(x))), lambda s: {"x": normal(s["batch"], 8, 16, 16)}, [],
             dynamic={"x": {0: "batch"}}, **BATCH),
    ]


def detection_heads(detection: Any) -> Callable[..., Any]:
    """Faster R-CNN's region proposal head, and the decoding of its boxes."""
    head = detection.rpn.RPNHead(8, 3).double()
    coder = detection._utils.BoxCoder((1.0, 1.0, 1.0, 1.0))

    def call(stem: nn.Module, image: torch.Tensor) -> Any:
        features = stem(image)
        head.to(features.dtype)
        scores, deltas = head([features])
        flat = deltas[0].flatten(0, 2).reshape(-1, 4)
        side = torch.arange(flat.shape[0], dtype=flat.dtype)
        boxes = torch.stack([side, side, side + 8, side + 16], 1)
        return scores[0].sigmoid(), coder.decode_single(flat, boxes)

    return call


def transformers_cases() -> list[Case]:
    import transformers as t

    tiny = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 99,
            "max_position_embeddings": 64, "attn_implementation": "sdpa"}
    shared = {**tiny, "num_key_value_heads": 2}
    spelt = {**shared, "attn_implementation": "eager"}

    def text(name: str, make: Callable[[], nn.Module], call: Callable[..., Any], **more: Any) -> Case:
        return Case(name, lambda: spread(Chosen(make(), call)), lambda s: {"ids": tokens(99, s["batch"], s["sequence"])}, [], **(TEXT | more))

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

    without_heads = {k: v for k, v in tiny.items() if k not in ("intermediate_size", "max_position_embeddings")}
    gpt2 = t.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=99, n_positions=64, attn_implementation="sdpa")
    t5 = t.T5Config(d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, vocab_size=99, decoder_start_token_id=0)
    bart = t.BartConfig(d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                        encoder_ffn_dim=48, decoder_ffn_dim=48, vocab_size=99, max_position_embeddings=64, attn_implementation="sdpa")
    experts = {**shared, "num_local_experts": 4, "num_experts_per_tok": 2, "experts_implementation": "batched_mm"}
    clip_text = {k: v for k, v in tiny.items() if k != "attn_implementation"} | {"eos_token_id": 98}
    clip_vision = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 32, "patch_size": 8}
    pictures = {**clip_vision, "attn_implementation": "sdpa"}

    def audio(name: str, config: Any, **more: Any) -> Case:
        return Case(name, lambda: spread(Chosen(t.AutoModel.from_config(config), lambda m, x: m(x).last_hidden_state)),
                    lambda s: {"sound": normal(s["batch"], 800)}, [], **(BATCH | {"dynamic": {"sound": {0: "batch"}}} | more))

    wav = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "conv_dim": (16, 16, 16),
           "conv_stride": (5, 2, 2), "conv_kernel": (10, 3, 2), "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4,
           "num_feat_extract_layers": 3}
    return [
        text("bert", lambda: t.BertModel(t.BertConfig(**tiny)), masked),
        text("roberta", lambda: t.RobertaModel(t.RobertaConfig(**tiny)), masked),
        text("distilbert", lambda: t.DistilBertModel(t.DistilBertConfig(dim=32, hidden_dim=48, n_layers=2, n_heads=4, vocab_size=99)), encoded),
        text("albert", lambda: t.AlbertModel(t.AlbertConfig(**tiny, embedding_size=16)), masked),
        text("electra", lambda: t.ElectraModel(t.ElectraConfig(**tiny, embedding_size=16)), masked),
        text("deberta_v2", lambda: t.DebertaV2Model(t.DebertaV2Config(**{k: v for k, v in tiny.items() if k != "attn_implementation"}, relative_attention=True,
                                                                   pos_att_type=["p2c", "c2p"], position_buckets=8)), encoded, **fixed_text()),
        text("mpnet", lambda: t.MPNetModel(t.MPNetConfig(**{k: v for k, v in tiny.items() if k != "attn_implementation"})), masked),
        text("modernbert", lambda: t.ModernBertModel(t.ModernBertConfig(**tiny, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2,
                                                                     local_attention=4)), masked),
        text("xlnet", lambda: t.XLNetModel(t.XLNetConfig(d_model=32, n_layer=2, n_head=4, d_inner=48, vocab_size=99)), encoded),
        causal("gpt2", gpt2),
        causal("gpt_neox", t.GPTNeoXConfig(**tiny)),
        causal("opt", t.OPTConfig(hidden_size=32, ffn_dim=48, num_hidden_layers=2, num_attention_heads=4, vocab_size=99, max_position_embeddings=64,
                                  word_embed_proj_dim=32, attn_implementation="sdpa")),
        causal("bloom", t.BloomConfig(hidden_size=32, n_layer=2, n_head=4, vocab_size=99)),
        causal("falcon", t.FalconConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, vocab_size=99, alibi=False)),
        causal("phi", t.PhiConfig(**tiny)),
        causal("phi3", t.Phi3Config(**shared, pad_token_id=0)),
        causal("llama", t.LlamaConfig(**shared)),
        causal("llama_scaled", t.LlamaConfig(**shared, rope_parameters={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                                                       "original_max_position_embeddings": 32, "rope_theta": 10000.0})),
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
        causal("qwen2_moe", t.Qwen2MoeConfig(**shared, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=24, shared_expert_intermediate_size=24,
                                             experts_implementation="batched_mm")),
        causal("gpt_oss", t.GptOssConfig(**experts | {"attn_implementation": "eager"}, head_dim=8, sliding_window=4)),
        causal("deepseek_v3", t.DeepseekV3Config(**{**tiny, "attn_implementation": "eager"}, num_key_value_heads=4, n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2,
                                                 moe_intermediate_size=24, kv_lora_rank=16, q_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8,
                                                 v_head_dim=8, n_group=2, topk_group=1, first_k_dense_replace=1, experts_implementation="batched_mm")),
        causal("mamba", t.MambaConfig(hidden_size=32, num_hidden_layers=2, vocab_size=99, state_size=8), **fixed_text()),
        causal("mamba2", t.Mamba2Config(hidden_size=32, num_hidden_layers=2, vocab_size=99, state_size=8, num_heads=8, head_dim=8, n_groups=2, chunk_size=4), **fixed_text()),
        causal("rwkv", t.RwkvConfig(hidden_size=32, attention_hidden_size=32, num_hidden_layers=2, vocab_size=99, context_length=64), **fixed_text()),
        causal("recurrent_gemma", t.RecurrentGemmaConfig(hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=1,
                                                         head_dim=8, lru_width=32, vocab_size=99, attention_window_size=8), **fixed_text()),
        text("t5", lambda: t.T5ForConditionalGeneration(t5), seq2seq),
        text("t5_encoder", lambda: t.T5EncoderModel(t5), masked),
        text("bart", lambda: t.BartForConditionalGeneration(bart), seq2seq),
        of_images("vit", lambda: t.ViTModel(t.ViTConfig(**pictures)), 32, lambda m, x: m(x).last_hidden_state),
        of_images("deit", lambda: t.DeiTModel(t.DeiTConfig(**pictures)), 32, lambda m, x: m(x).last_hidden_state),
        of_images("dinov2", lambda: t.Dinov2Model(t.Dinov2Config(**{k: v for k, v in pictures.items() if k != "intermediate_size"})), 32, lambda m, x: m(x).last_hidden_state),
        of_images("beit", lambda: t.BeitModel(t.BeitConfig(**{k: v for k, v in pictures.items() if k != "attn_implementation"})), 32, lambda m, x: m(x).last_hidden_state),
        of_images("hf_swin", lambda: t.SwinModel(t.SwinConfig(image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4)), 32,
                  lambda m, x: m(x).last_hidden_state),
        of_images("segformer", lambda: t.SegformerForSemanticSegmentation(t.SegformerConfig(hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 2],
                                                                                           decoder_hidden_size=16, num_labels=5)), 64, lambda m, x: m(x).logits),
        of_images("siglip", lambda: t.SiglipVisionModel(t.SiglipVisionConfig(**pictures)), 32, lambda m, x: m(x).pooler_output),
        of_images("detr", lambda: t.DetrForObjectDetection(t.DetrConfig(d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4,
                                                                        encoder_ffn_dim=48, decoder_ffn_dim=48, num_queries=5, use_pretrained_backbone=False,
                                                                        use_timm_backbone=False, backbone_config=t.ResNetConfig(
                                                                            embedding_size=8, hidden_sizes=[8, 8, 8, 8], depths=[1, 1, 1, 1], out_features=["stage4"]))), 64,
                  lambda m, x: (lambda o: (o.logits, o.pred_boxes))(m(x))),
        of_images("depth_anything", lambda: t.DPTForDepthEstimation(t.DPTConfig(**pictures | {"num_hidden_layers": 4}, backbone_out_indices=[1, 2, 3, 4], neck_hidden_sizes=[8, 8, 8, 8],
                                                                               fusion_hidden_size=8, is_hybrid=False)), 32, lambda m, x: m(x).predicted_depth),
        Case("clip", lambda: spread(Chosen(t.CLIPModel(t.CLIPConfig(text_config=clip_text, vision_config=clip_vision, projection_dim=16)),
                                           lambda m, ids, image: (lambda o: (o.logits_per_image, o.text_embeds))(m(input_ids=ids, pixel_values=image)))),
             lambda s: {"ids": tokens(99, s["batch"], 7), "image": normal(s["batch"], 3, 32, 32)}, [],
             dynamic={"ids": {0: "batch"}, "image": {0: "batch"}}, **BATCH),
        Case("whisper", lambda: spread(Chosen(t.WhisperForConditionalGeneration(t.WhisperConfig(
            d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, vocab_size=99,
            max_source_positions=25, num_mel_bins=8, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, attn_implementation="sdpa")),
            lambda m, sound, ids: m(input_features=sound, decoder_input_ids=ids, use_cache=False).logits)),
            lambda s: {"sound": normal(s["batch"], 8, 50), "ids": tokens(99, s["batch"], 6)}, [],
            dynamic={"ids": {0: "batch"}, "sound": {0: "batch"}}, **BATCH),
        audio("wav2vec2", t.Wav2Vec2Config(**wav, attn_implementation="sdpa")),
        audio("wav2vec2_stable", t.Wav2Vec2Config(**wav, do_stable_layer_norm=True, feat_extract_norm="layer")),
        audio("conformer", t.Wav2Vec2ConformerConfig(**wav, position_embeddings_type="relative")),
        audio("conformer_rotary", t.Wav2Vec2ConformerConfig(**wav, position_embeddings_type="rotary")),
        audio("hubert", t.HubertConfig(**wav)),
        audio("wavlm", t.WavLMConfig(**wav), **fixed_batch()),
        Case("vits_flow", lambda: spread(Chosen(t.EncodecModel(t.EncodecConfig(num_filters=4, hidden_size=8, codebook_size=16, codebook_dim=8, num_lstm_layers=1,
                                                                               upsampling_ratios=[4, 2])), lambda m, x: m.decoder(m.encoder(x)))),
             lambda s: {"sound": normal(s["batch"], 1, 64)}, [], dynamic={"sound": {0: "batch"}}, **BATCH),
    ]


def fixed_text() -> dict[str, Any]:
    return {"dims": {}, "dynamic": {}, "sizes": [{"batch": 2, "sequence": 7}]}


def fixed_batch() -> dict[str, Any]:
    return {"dims": {}, "dynamic": {}, "sizes": [{"batch": 2}]}


def timm_cases() -> list[Case]:
    import timm
    from timm import layers

    def model(name: str, side: int = 32, **how: Any) -> Case:
        return of_images(f"timm_{name}", lambda: timm.create_model(name, num_classes=10, **how), side)

    def block(name: str, make: Callable[[], nn.Module], *shape: int) -> Case:
        return Case(f"timm_{name}", lambda: spread(make()), lambda s: {"x": normal(s["batch"], *shape)}, [], dynamic={"x": {0: "batch"}}, **BATCH)

    return [
        model("mixer_s32_224", img_size=32),
        model("test_resnet", 64), model("test_vit", 160), model("test_convnext", 64), model("test_efficientnet", 64), model("test_byobnet", 64),
        model("test_nfnet", 64), model("test_mambaout", 64),
        block("squeeze_excite", lambda: layers.SqueezeExcite(16), 16, 9, 9),
        block("eca", lambda: layers.EcaModule(16), 16, 9, 9),
        block("attention_pool", lambda: layers.AttentionPoolLatent(16, num_heads=4), 9, 16),
        block("swiglu", lambda: layers.SwiGLU(16, 32), 5, 16),
        block("blur_pool", lambda: layers.BlurPool2d(8), 8, 9, 9),
        block("split_attention", lambda: layers.SplitAttn(16, 16), 16, 8, 8),
    ]


def diffusers_cases() -> list[Case]:
    import diffusers as d

    blocks = {"block_out_channels": (8, 16), "norm_num_groups": 4, "layers_per_block": 1}
    unet = {"down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"), "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"), **blocks,
            "cross_attention_dim": 12, "attention_head_dim": 4, "sample_size": 16}

    def images(name: str, make: Callable[[], nn.Module], call: Callable[..., Any], inputs: Callable[[int], dict[str, torch.Tensor]]) -> Case:
        return Case(f"diffusers_{name}", lambda: spread(Chosen(make(), call)), lambda s: inputs(s["batch"]), [],
                    dynamic={key: {0: "batch"} for key in inputs(1)}, **BATCH)

    def noised(b: int) -> dict[str, torch.Tensor]:
        return {"x": normal(b, 4, 16, 16), "time": tokens(1000, b), "context": normal(b, 5, 12)}

    vae = {"down_block_types": ("DownEncoderBlock2D",) * 2, "up_block_types": ("UpDecoderBlock2D",) * 2, "latent_channels": 4, **blocks}
    return [
        images("unet", lambda: d.UNet2DConditionModel(**unet), lambda m, x, time, context: m(x, time, context).sample, noised),
        images("unet_2d", lambda: d.UNet2DModel(down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"), in_channels=4,
                                                out_channels=4, attention_head_dim=4, **blocks),
               lambda m, x, time: m(x, time).sample, lambda b: {"x": normal(b, 4, 16, 16), "time": tokens(1000, b)}),
        images("vae_encoder", lambda: d.AutoencoderKL(**vae), lambda m, x: m.encode(x).latent_dist.mean, lambda b: {"x": normal(b, 3, 16, 16)}),
        images("vae_decoder", lambda: d.AutoencoderKL(**vae), lambda m, x: m.decode(x).sample, lambda b: {"x": normal(b, 4, 8, 8)}),
        images("dit", lambda: d.DiTTransformer2DModel(num_attention_heads=2, attention_head_dim=8, in_channels=4, num_layers=2, sample_size=8, patch_size=2, norm_num_groups=4),
               lambda m, x, time, labels: m(x, timestep=time, class_labels=labels).sample,
               lambda b: {"x": normal(b, 4, 8, 8), "time": tokens(1000, b), "labels": tokens(10, b)}),
        images("sd3", lambda: d.SD3Transformer2DModel(sample_size=8, patch_size=2, in_channels=4, num_layers=2, attention_head_dim=8, num_attention_heads=2,
                                                      joint_attention_dim=12, caption_projection_dim=16, pooled_projection_dim=10, out_channels=4, pos_embed_max_size=8),
               lambda m, x, time, context, pooled: m(x, context, pooled, time).sample,
               lambda b: {"x": normal(b, 4, 8, 8), "time": tokens(1000, b), "context": normal(b, 5, 12), "pooled": normal(b, 10)}),
    ]


def all_cases() -> list[Case]:
    return [*torchvision_cases(), *transformers_cases(), *timm_cases(), *diffusers_cases()]
