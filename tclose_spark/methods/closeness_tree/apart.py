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
from tclose_spark.methods.regions.cutting import Growth
from tclose_spark.methods.regions.plan import RegionPlan
from tclose_spark.methods.regions.planning import plan_regions
from tclose_spark.methods.regions.space import best_way

CUTS = 16  # of numbers, at each part
EAGER, SPARING = (0.0, 0.0), (8.0, 0.2)
"""Ways to grow: (price, beta) of the closeness that is spent: none, and that of the carve tree."""
PILOTS = {"fast": 4, "balanced": 4, "thorough": 3}
AHEAD = {"fast": 0, "balanced": 1, "thorough": 2}
WAYS = {"fast": (EAGER,), "balanced": (EAGER,), "thorough": (EAGER, SPARING)}
ROWS_PER_BLOCK, ROWS_PER_TASK = 100_000, 100_000
SAMPLE_ROWS = 200_000


def make_plan(
    given: PlanningInput, rows_per_block: int = ROWS_PER_BLOCK, rows_per_task: int = ROWS_PER_TASK
) -> RegionPlan:
    """Plans regions that do not overlap. rows_per_block: of most blocks, at most; rows_per_task: about.

    Raises:
        UnreachableError: if even the whole table does not hold what is required.
    """
    growth, ahead = growth_of(given.settings, given.attributes.rows, given.k)
    layout = plan_regions(given, growth, rows_per_block, rows_per_task)
    return RegionPlan(layout=layout, growth=growth, ahead=ahead)


def read_plan(tree: Mapping[str, Any], attributes: ResolvedAttributes, k: int, settings: ClosenessTree) -> RegionPlan:
    """The plan that `RegionPlan.to_json` wrote."""
    growth, ahead = growth_of(settings, attributes.rows, k)
    return RegionPlan.from_json(tree, RegionDense(attributes, k), growth, ahead)


def growth_of(settings: ClosenessTree, rows: int, k: int) -> tuple[Growth, int]:
    """(how a block is cut, how far is looked ahead) with an effort, in a table of so many rows."""
    effort = settings.effort
    pilots, name = (max(effort, 1), "balanced") if isinstance(effort, int) else (PILOTS[effort], effort)
    halvings = max(log2(rows / k), 1.0)
    way = best_way([price for price, _ in WAYS[name]], [beta / halvings for _, beta in WAYS[name]], CUTS)
    return Growth(way, pilots), AHEAD[name]
