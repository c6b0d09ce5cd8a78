"""What each effort does, in work: never in time, so that a run repeats."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tclose_spark.methods.closeness_tree.carve.tree import TreeGrowth
from tclose_spark.methods.closeness_tree.settings import ClosenessTree

GROWTHS = tuple(
    TreeGrowth(beta=beta, price=price)
    for beta, price in (
        (0.2, 8.0),
        (0.4, 4.0),
        (0.2, 2.0),
        (0.2, 4.0),
        (0.4, 8.0),
        (0.4, 2.0),
        (0.0, 8.0),
        (0.1, 4.0),
        (0.6, 2.0),
    )
)
"""Ways to grow a tree, those first that were the best most often. Which one is, is the luck of the first splits: so
several are tried.
"""
PLANNED = 3  # of them are tried on the sample
ROWS_PER_BLOCK = 160_000  # of most blocks, at most


@dataclass(frozen=True, kw_only=True)
class Effort:
    """trees: grown for each block; one: as the plan says.
    heats: how many of the best go on, and for how many rounds of annealing, each after so many `sweeps` (see
        `exchange`); the best of the last heat is kept.

    sample_rows: of the sample that the plan is grown on.
    rows_per_task: about; a task holds whole blocks, so 1 is a task for each.
    """

    trees: int
    sweeps: int
    heats: tuple[tuple[int, int], ...]
    sample_rows: int
    rows_per_task: int


EFFORTS = {
    "fast": Effort(trees=1, sweeps=6, heats=((1, 0),), sample_rows=400_000, rows_per_task=200_000),
    "balanced": Effort(trees=3, sweeps=4, heats=((1, 80),), sample_rows=1_000_000, rows_per_task=80_000),
    "thorough": Effort(
        trees=len(GROWTHS), sweeps=8, heats=((9, 20), (3, 200), (1, 4000)), sample_rows=1_000_000, rows_per_task=1
    ),
}


def effort_of(settings: ClosenessTree) -> Effort:
    """The effort of a run file; a number is sweeps."""
    effort = settings.effort
    return EFFORTS[effort] if isinstance(effort, str) else replace(EFFORTS["fast"], sweeps=effort)
