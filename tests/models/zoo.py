"""The models of scripts/models: real widths, random weights, and the fewest layers that tell."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import nn

Inputs = dict[str, torch.Tensor]
Sizes = dict[str, int]


@dataclass
class Case:
    """`sizes`: of each run; the model is exported at the first. `recognised`: how often kgen reads an operator out of what
    the exporter spelt; `launches`: how many kernels a call takes at most."""

    name: str
    make: Callable[[], nn.Module]
    inputs: Callable[[Sizes], Inputs]
    outputs: list[str]
    dims: dict[str, tuple[int, int]] = field(default_factory=dict)
    dynamic: dict[str, dict[int, str]] = field(default_factory=dict)
    sizes: list[Sizes] = field(default_factory=lambda: [{}])
    recognised: dict[str, int] = field(default_factory=dict)
    launches: int = 0
    spelt_out: tuple[str, ...] = ()  # of `recognised`, what the model spells just as kgen would, so that nothing is to be read
    exporters: tuple[str, ...] = ("dynamo", "script", "from_torch")


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(7))


def tokens(vocabulary: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, vocabulary, shape, generator=torch.Generator().manual_seed(7))


class Chosen(nn.Module):
    """A model of a library, called by position; what it returns, chosen."""

    def __init__(self, model: nn.Module, call: Callable[..., object]) -> None:
        super().__init__()
        self.model, self.call = model, call

    def forward(self, *inputs: torch.Tensor):
        return self.call(self.model, *inputs)


def spread(model: nn.Module) -> nn.Module:
    """Random statistics for what training would have filled in, so that none of it is 0 or 1."""
    generator = torch.Generator().manual_seed(3)
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm2d, nn.LayerNorm, nn.GroupNorm)):
            for part, least in ((module.weight, 0.5), (module.bias, -0.5)):
                if part is not None:
                    part.data.uniform_(least, least + 1, generator=generator)
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.uniform_(-0.5, 0.5, generator=generator)
            module.running_var.uniform_(0.5, 1.5, generator=generator)
    return model


# How many kernels a call takes at most, whoever exports it.
LAUNCHES = {"resnet50": 56, "mobilenet_v3": 64, "yolov8": 33, "unet_block": 28, "bert": 27, "minilm": 57, "vit": 20,
            "whisper_encoder": 17, "whisper_decoder": 41, "llama": 36, "qwen2": 36, "mixtral_block": 11,
            "mixtral_batched_mm": 15, "mixtral_grouped_mm": 15}


def all_cases() -> list[Case]:
    import decoders
    import transformers_cases
    import vision

    cases = [*vision.cases(), *transformers_cases.cases(), *decoders.cases()]
    for case in cases:
        case.launches = LAUNCHES[case.name]
    return cases
