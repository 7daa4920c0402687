"""A consumer of the package, as mypy --strict sees it."""
from __future__ import annotations

from pathlib import Path
from typing import Optional, Tuple

import kgen


def call(x: object) -> object:
    model: kgen.Model = kgen.load("graph.yaml", weights="weights/", folder=Path("work"), target="cpu", threads=2)
    y = model(x, 0)
    model(x, position=1, out=y)
    shape: Tuple[int, ...] = model.state["k_cache"].shape
    names = [one.name for one in model.inputs] + [one.type for one in model.outputs]
    print(shape, names, model.graph, model.source / "plan.yaml", model.dlpack_device[0] == 1)
    with model.profile(trace="trace.json") as profile:
        model(x, 2)
    slowest: float = max(row.mean_us for row in profile)
    print(profile, slowest)
    model.reset_state()
    return y


def build(source: Path) -> Path:
    try:
        planned: kgen.Plan = kgen.plan("graph.yaml", emit=source, arch=None)
        print(planned.summary)
        return kgen.build(planned.folder)
    except kgen.PlanError as error:
        first: kgen.Diagnostic = error.diagnostics[0]
        print(first.file, first.line, first.column)
        raise
    except kgen.BuildError as error:
        tool: Optional[str] = error.tool
        print(tool, error.log)
        raise
    except (kgen.ArgumentError, kgen.WeightsError, kgen.DeviceError, kgen.CheckError) as error:
        print(error.status)
        raise
