"""`overlap: none`: the closeness tree over disjoint regions, without carving and without exchange.

Splits are scored as in the tree, by the width gained for the bits and the closeness ratio that are spent. They are made
at cuts and hierarchy nodes whose labels do not meet (see `methods.regions`). Instead of carving and exchange, the best
splits are tried to the end.
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
from tclose_spark.methods.regions.workspace import best_rule, median_rule

CUTS = 16  # of a numeric quasi-identifier, in each part
EAGER, SPARING = (0.0, 0.0), (8.0, 0.2)
"""Scorings of splits, as (price, beta) of the closeness ratio that is spent: none, and those of the carve tree."""
PILOTS = 4
MEDIANS = RegionSearch(RegionGrowth(median_rule()))
ROWS_PER_BLOCK, ROWS_PER_TASK = 100_000, 100_000
SAMPLE_ROWS = 200_000


def make_plan(
    given: PlanningInput, rows_per_block: int = ROWS_PER_BLOCK, rows_per_task: int = ROWS_PER_TASK
) -> RegionPlan:
    """Plans disjoint regions. rows_per_block: the most rows of most blocks; rows_per_task: about.

    Raises:
        UnreachableError: if even the whole table does not meet the requirement.
    """
    searches = searches_of(given.settings, given.attributes.rows, given.k)
    layout = plan_regions(given, searches[0].growth, rows_per_block, rows_per_task)
    return RegionPlan(layout=layout, searches=searches)


def read_plan(tree: Mapping[str, Any], attributes: ResolvedAttributes, k: int, settings: ClosenessTree) -> RegionPlan:
    """The plan that `RegionPlan.to_json` wrote."""
    return RegionPlan.from_json(tree, RegionDense(attributes, k), searches_of(settings, attributes.rows, k))


def searches_of(settings: ClosenessTree, rows: int, k: int) -> tuple[RegionSearch, ...]:
    """How the blocks of a table of so many rows are cut with an effort. Cutting at medians is always tried, too, at
    little cost, so a block never loses more than with t-Mondrian.
    """
    effort, halvings = settings.effort, max(log2(rows / k), 1.0)

    def growth(pilots: int, *scorings: tuple[float, float]) -> RegionGrowth:
        prices, betas = zip(*scorings, strict=True)
        return RegionGrowth(best_rule(prices, [beta / halvings for beta in betas], CUTS), pilots)

    if isinstance(effort, int):
        return (RegionSearch(growth(max(effort, 1), EAGER), 1), MEDIANS)
    if effort == "thorough":
        return (RegionSearch(growth(PILOTS, EAGER), 1), RegionSearch(growth(PILOTS - 1, EAGER, SPARING), 2), MEDIANS)
    return (RegionSearch(growth(PILOTS, EAGER), 0 if effort == "fast" else 1), MEDIANS)
