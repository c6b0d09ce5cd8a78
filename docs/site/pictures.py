"""Draws the pictures of the pages that are computed: `python docs/site/pictures.py` writes them to docs/pictures."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from tclose_spark.measures.distances.ground_distances import OrderedDistance
from tclose_spark.measures.distances.transport import transport_plan

PICTURES = Path(__file__).resolve().parent.parent / "pictures"
CLASS, TABLE, ARROW, INK = "#3949ab", "#c5cae9", "#d84315", "#333333"


def earth_movers_distance(path: Path) -> None:
    """The heaps of a class, those of the table, and the cheapest way from one to the other (docs/concepts.md)."""
    table, held = np.full(6, 2), np.array([2, 2, 0, 0, 0, 0])
    plan = transport_plan(OrderedDistance(table), held)
    figure, (above, below) = plt.subplots(2, 1, figsize=(6.4, 4.2), sharex=True, gridspec_kw={"height_ratios": [3, 2]})
    pay = np.arange(1, 7)
    above.bar(pay, held / held.sum(), width=0.6, color=CLASS, label="class of four people")
    above.bar(pay, table / table.sum(), width=0.6, color="none", edgecolor=INK, linestyle=":", label="table of twelve")
    for move in plan.moves:
        start, end = move.source + 1, move.target + 1
        arrow = {
            "arrowstyle": "-|>",
            "color": ARROW,
            "connectionstyle": "arc3,rad=-0.35",
            "linewidth": 12 * float(move.mass),
        }
        above.annotate("", (end, 1 / 6), (start, 0.42), arrowprops=arrow)
    above.set_ylim(0, 0.66)
    above.set_ylabel("share of people")
    above.legend(frameon=False, loc="upper right")
    reached = np.cumsum(held / held.sum()) - np.cumsum(table / table.sum())
    below.bar(pay[:-1] + 0.5, reached[:-1], width=0.95, color=TABLE, edgecolor=INK, linewidth=0.6)
    for place, mass in zip(pay[:-1] + 0.5, reached[:-1], strict=True):
        below.text(place, mass / 2, f"{round(6 * mass)}/6", ha="center", va="center", color=INK)
    below.set_ylabel("mass that\npasses")
    below.set_xlabel(f"pay\nearth mover's distance = (2 + 4 + 3 + 2 + 1) / 6 / 5 steps = {plan.cost}")
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    plt.rcParams.update({"svg.hashsalt": "tclose", "svg.fonttype": "none", "font.size": 10})
    PICTURES.mkdir(exist_ok=True)
    earth_movers_distance(PICTURES / "emd.svg")
