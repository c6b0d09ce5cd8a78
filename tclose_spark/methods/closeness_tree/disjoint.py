"""`overlap: none`: the closeness tree without carving and without exchange, over regions that do not overlap.

What is left of the tree is its score, the width gained for the bits and the closeness that are spent, at every cut and
every node of a hierarchy whose labels do not meet (see `methods.regions`); in place of the rest, splits are tried to
the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log2
from typing import Any

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.closeness_tree.settings import ClosenessTree
from tclose_spark.methods.method import PlanningInput
from tclose_spark.methods.regions.block import RegionDense
from tclose_spark.methods.regions.cutting import RegionGrowth
from tclose_spark.methods.regions.plan import RegionPlan
from tclose_spark.methods.regions.planning import plan_regions
from tclose_spark.methods.regions.search import RegionSearch
from tclose_spark.methods.regions.space import best_way, median_way

CUTS = 16  # of numbers, at each part
EAGER, SPARING = (0.0, 0.0), (8.0, 0.2)
"""Ways to grow: (price, beta) of the closeness that is spent: none, and that of the carve tree."""
PILOTS = 4
MEDIANS = RegionSearch(RegionGrowth(median_way()))
ROWS_PER_BLOCK, ROWS_PER_TASK = 100_000, 100_000
SAMPLE_ROWS = 200_000


def make_plan(
    given: PlanningInput, rows_per_block: int = ROWS_PER_BLOCK, rows_per_task: int = ROWS_PER_TASK
) -> RegionPlan:
    """Plans regions that do not overlap. rows_per_block: of most blocks, at most; rows_per_task: about.

    Raises:
        UnreachableError: if even the whole table does not hold what is required.
    """
    searches = searches_of(given.settings, given.attributes.rows, given.k)
    layout = plan_regions(given, searches[0].growth, rows_per_block, rows_per_task)
    return RegionPlan(layout=layout, searches=searches)


def read_plan(tree: Mapping[str, Any], attributes: ResolvedAttributes, k: int, settings: ClosenessTree) -> RegionPlan:
    """The plan that `RegionPlan.to_json` wrote."""
    return RegionPlan.from_json(tree, RegionDense(attributes, k), searches_of(settings, attributes.rows, k))


def searches_of(settings: ClosenessTree, rows: int, k: int) -> tuple[RegionSearch, ...]:
    """How the blocks of a table of so many rows are cut with an effort; at medians, too, which costs little, so that a
    block never loses more than by t-Mondrian.
    """
    effort, halvings = settings.effort, max(log2(rows / k), 1.0)

    def growth(pilots: int, *ways: tuple[float, float]) -> RegionGrowth:
        return RegionGrowth(best_way([price for price, _ in ways], [beta / halvings for _, beta in ways], CUTS), pilots)

    if isinstance(effort, int):
        return (RegionSearch(growth(max(effort, 1), EAGER), 1), MEDIANS)
    if effort == "thorough":
        return (RegionSearch(growth(PILOTS, EAGER), 1), RegionSearch(growth(PILOTS - 1, EAGER, SPARING), 2), MEDIANS)
    return (RegionSearch(growth(PILOTS, EAGER), 0 if effort == "fast" else 1), MEDIANS)
