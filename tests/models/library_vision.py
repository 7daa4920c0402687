"""Models of torchvision, timm and diffusers."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from libraries import BATCH, of_images, spread
from zoo import Case, Chosen, normal, tokens


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
    small_swin = {
        "patch_size": [4, 4],
        "embed_dim": 16,
        "depths": [2, 2],
        "num_heads": [2, 4],
        "window_size": [4, 4],
        **scores,
    }
    return [
        of_images("tv_resnet18", bare(models.resnet18, **scores)),
        of_images(
            "tv_resnext",
            lambda: models.ResNet(models.resnet.Bottleneck, [1, 1, 1, 1], groups=8, width_per_group=4, **scores),
        ),
        of_images("tv_mobilenet_v2", bare(models.mobilenet_v2, width_mult=0.25, **scores), 32),
        of_images("tv_mobilenet_v3", bare(models.mobilenet_v3_small, **scores), 32),
        of_images("tv_efficientnet_b0", bare(models.efficientnet_b0, **scores), 32),
        of_images("tv_regnet", bare(models.regnet_y_400mf, **scores), 32),
        of_images(
            "tv_convnext",
            lambda: models.ConvNeXt(
                [models.convnext.CNBlockConfig(16, 32, 2), models.convnext.CNBlockConfig(32, None, 1)], **scores
            ),
        ),
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
        fixed(
            of_images(
                "tv_swin_v2",
                lambda: swin(
                    **small_swin,
                    block=models.swin_transformer.SwinTransformerBlockV2,
                    downsample_layer=models.swin_transformer.PatchMergingV2,
                ),
            )
        ),
        of_images(
            "tv_deeplabv3",
            bare(segmentation.deeplabv3_mobilenet_v3_large, weights_backbone=None, **scores),
            48,
            lambda m, x: m(x)["out"],
        ),
        of_images(
            "tv_lraspp",
            bare(segmentation.lraspp_mobilenet_v3_large, weights_backbone=None, **scores),
            48,
            lambda m, x: m(x)["out"],
        ),
        of_images(
            "tv_fcn", bare(segmentation.fcn_resnet50, weights_backbone=None, **scores), 48, lambda m, x: m(x)["out"]
        ),
        of_images(
            "tv_fpn",
            lambda: detection.backbone_utils.resnet_fpn_backbone(backbone_name="resnet18", weights=None),
            64,
            lambda m, x: tuple(m(x).values()),
        ),
        of_images(
            "tv_rpn_head", lambda: nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU()), 32, detection_heads(detection)
        ),
        Case(
            "tv_video",
            lambda: spread(video.r2plus1d_18(weights=None, num_classes=10)),
            lambda s: {"clip": normal(s["batch"], 3, 4, 32, 32)},
            [],
            dynamic={"clip": {0: "batch"}},
            **BATCH,
        ),
        Case(
            "tv_roi_heads",
            lambda: detection.faster_rcnn.FastRCNNPredictor(32, 4),
            lambda s: {"x": normal(s["batch"], 32)},
            [],
            dynamic={"x": {0: "batch"}},
            **BATCH,
        ),
        Case(
            "tv_raft_block",
            lambda: spread(
                models.optical_flow.raft.ResidualBlock(8, 12, norm_layer=nn.InstanceNorm2d, stride=2)
            ),
            lambda s: {"x": normal(s["batch"], 8, 16, 16)},
            [],
            dynamic={"x": {0: "batch"}},
            **BATCH,
        ),
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


def timm_cases() -> list[Case]:
    import timm
    from timm import layers

    def model(name: str, side: int = 32, **how: Any) -> Case:
        return of_images(f"timm_{name}", lambda: timm.create_model(name, num_classes=10, **how), side)

    def block(name: str, make: Callable[[], nn.Module], *shape: int) -> Case:
        return Case(
            f"timm_{name}",
            lambda: spread(make()),
            lambda s: {"x": normal(s["batch"], *shape)},
            [],
            dynamic={"x": {0: "batch"}},
            **BATCH,
        )

    return [
        model("mixer_s32_224", img_size=32),
        model("test_resnet", 64),
        model("test_vit", 160),
        model("test_convnext", 64),
        model("test_efficientnet", 64),
        model("test_byobnet", 64),
        model("test_nfnet", 64),
        model("test_mambaout", 64),
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
    unet = {
        "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
        "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"),
        **blocks,
        "cross_attention_dim": 12,
        "attention_head_dim": 4,
        "sample_size": 16,
    }

    def images(
        name: str,
        make: Callable[[], nn.Module],
        call: Callable[..., Any],
        inputs: Callable[[int], dict[str, torch.Tensor]],
    ) -> Case:
        return Case(
            f"diffusers_{name}",
            lambda: spread(Chosen(make(), call)),
            lambda s: inputs(s["batch"]),
            [],
            dynamic={key: {0: "batch"} for key in inputs(1)},
            **BATCH,
        )

    def noised(b: int) -> dict[str, torch.Tensor]:
        return {"x": normal(b, 4, 16, 16), "time": tokens(1000, b), "context": normal(b, 5, 12)}

    vae = {
        "down_block_types": ("DownEncoderBlock2D",) * 2,
        "up_block_types": ("UpDecoderBlock2D",) * 2,
        "latent_channels": 4,
        **blocks,
    }
    return [
        images(
            "unet",
            lambda: d.UNet2DConditionModel(**unet),
            lambda m, x, time, context: m(x, time, context).sample,
            noised,
        ),
        images(
            "unet_2d",
            lambda: d.UNet2DModel(
                down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                up_block_types=("AttnUpBlock2D", "UpBlock2D"),
                in_channels=4,
                out_channels=4,
                attention_head_dim=4,
                **blocks,
            ),
            lambda m, x, time: m(x, time).sample,
            lambda b: {"x": normal(b, 4, 16, 16), "time": tokens(1000, b)},
        ),
        images(
            "vae_encoder",
            lambda: d.AutoencoderKL(**vae),
            lambda m, x: m.encode(x).latent_dist.mean,
            lambda b: {"x": normal(b, 3, 16, 16)},
        ),
        images(
            "vae_decoder",
            lambda: d.AutoencoderKL(**vae),
            lambda m, x: m.decode(x).sample,
            lambda b: {"x": normal(b, 4, 8, 8)},
        ),
        images(
            "dit",
            lambda: d.DiTTransformer2DModel(
                num_attention_heads=2,
                attention_head_dim=8,
                in_channels=4,
                num_layers=2,
                sample_size=8,
                patch_size=2,
                norm_num_groups=4,
            ),
            lambda m, x, time, labels: m(x, timestep=time, class_labels=labels).sample,
            lambda b: {"x": normal(b, 4, 8, 8), "time": tokens(1000, b), "labels": tokens(10, b)},
        ),
        images(
            "sd3",
            lambda: d.SD3Transformer2DModel(
                sample_size=8,
                patch_size=2,
                in_channels=4,
                num_layers=2,
                attention_head_dim=8,
                num_attention_heads=2,
                joint_attention_dim=12,
                caption_projection_dim=16,
                pooled_projection_dim=10,
                out_channels=4,
                pos_embed_max_size=8,
            ),
            lambda m, x, time, context, pooled: m(x, context, pooled, time).sample,
            lambda b: {
                "x": normal(b, 4, 8, 8),
                "time": tokens(1000, b),
                "context": normal(b, 5, 12),
                "pooled": normal(b, 10),
            },
        ),
    ]


def cases() -> list[Case]:
    return [*torchvision_cases(), *timm_cases(), *diffusers_cases()]
