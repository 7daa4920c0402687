"""Graphs that are drawn and planned here, to be compiled and run on a machine without kgen."""

import pickle
import shutil
from pathlib import Path

from campaign import Campaign, Share
from graph import Graph
from specs import Operator

LEFT_OUT = [".kgen", "plan.yaml", "CMakeLists.txt"]  # for plans to come, and for people


def save(campaign: Campaign, shares: list[Share], folder: Path) -> None:
    """`campaign` has the graphs; its work folder becomes the bundle's."""
    for share in shares:
        share.runs = False
    campaign.run(shares)
    for path in campaign.work.glob("*/*"):
        if path.is_dir():
            for name in LEFT_OUT:
                each = path / name
                shutil.rmtree(each) if each.is_dir() else each.unlink(missing_ok=True)
        else:
            path.unlink()
    with open(folder / "graphs.pickle", "wb") as file:
        pickle.dump((campaign.seed, campaign.graphs, campaign.operators), file)


def load(folder: Path) -> tuple[int, dict[int, Graph], dict[str, Operator]]:
    with open(folder / "graphs.pickle", "rb") as file:
        return pickle.load(file)
