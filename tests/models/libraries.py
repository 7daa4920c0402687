"""What the models of library_vision.py and library_transformers.py have in common: whole models of libraries, as small as they
come, with random weights, which interpreted.py compares with PyTorch without building anything."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from zoo import Case, Chosen, normal
from zoo import spread as statistics_of

BATCH = {"dims": {"batch": (1, 16)}, "sizes": [{"batch": 2}, {"batch": 3}]}
TEXT = {
    "dims": {"batch": (1, 16), "sequence": (2, 64)},
    "sizes": [{"batch": 2, "sequence": 7}, {"batch": 3, "sequence": 12}],
    "dynamic": {"ids": {0: "batch", 1: "sequence"}},
}


def spread(model: nn.Module) -> nn.Module:
    """Random numbers also for what begins as zero, such as a head, so that all that is behind it counts."""
    generator = torch.Generator().manual_seed(4)
    for one in model.parameters():
        if one.numel() and not one.data.any():
            one.data.normal_(0, 0.1, generator=generator)
    return statistics_of(model)


def of_images(
    name: str, make: Callable[[], nn.Module], side: int = 64, call: Callable[..., Any] | None = None, **more: Any
) -> Case:
    return Case(
        name,
        lambda: spread(Chosen(make(), call) if call else make()),
        lambda s: {"image": normal(s["batch"], 3, side, side)},
        [],
        dynamic={"image": {0: "batch"}},
        **(BATCH | more),
    )


def by_compile() -> dict[str, Any]:
    """Of models that torch.export does not take in this form, or not with symbolic sizes."""
    return {"exporters": ("compile",)}


def fixed_text() -> dict[str, Any]:
    return {"dims": {}, "dynamic": {}, "sizes": [{"batch": 2, "sequence": 7}]}


def fixed_batch() -> dict[str, Any]:
    return {"dims": {}, "dynamic": {}, "sizes": [{"batch": 2}]}


def all_cases() -> list[Case]:
    import library_transformers
    import library_vision

    return [*library_vision.cases(), *library_transformers.cases()]
