"""`overlap: none`: the closeness tree over disjoint regions, without carving and without exchange.

Splits are scored by the width gained for each bit. They are made at cuts and hierarchy nodes whose
labels do not meet (see `methods.regions`). Instead of carving and exchange, the best splits are
tried to the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.closeness_tree.settings import ClosenessTree
from tclose_spark.methods.method import PlanningInput
from tclose_spark.methods.regions.block import RegionDense
from tclose_spark.methods.regions.cutting import AT_MEDIANS, RegionGrowth
from tclose_spark.methods.regions.plan import RegionPlan
from tclose_spark.methods.regions.planning import plan_regions
from tclose_spark.methods.regions.workspace import split_rule

FAST = RegionGrowth(split_rule(cuts=16, tries=16, each=4), budget=60)
GROWTHS = (
    FAST,
    RegionGrowth(split_rule(cuts=32, tries=24, each=6), budget=200),
    RegionGrowth(split_rule(cuts=64, tries=32, each=8), budget=1000),
)
"""How blocks are cut with `fast`; what `balanced` tries besides; what `thorough` tries besides
both.
"""
OF_PLAN = replace(FAST, budget=20)
ROWS_PER_BLOCK = 100_000
ROWS_PER_TASK = 100_000
SAMPLE_ROWS = 200_000


def plan_disjoint(
    given: PlanningInput,
    rows_per_block: int = ROWS_PER_BLOCK,
    rows_per_task: int = ROWS_PER_TASK,
) -> RegionPlan:
    """Plans disjoint regions. rows_per_block: the most rows of most blocks; rows_per_task: about.

    Raises:
        UnreachableError: if even the whole table does not meet the requirement.
    """
    layout = plan_regions(given, OF_PLAN, rows_per_block, rows_per_task)
    return RegionPlan(layout=layout, growths=growths_of(given.settings))


def read_disjoint_plan(
    tree: Mapping[str, object],
    attributes: ResolvedAttributes,
    k: int,
    settings: ClosenessTree,
) -> RegionPlan:
    """The plan that `RegionPlan.to_json` wrote."""
    return RegionPlan.from_json(tree, RegionDense(attributes, k), growths_of(settings))


def growths_of(settings: ClosenessTree) -> tuple[RegionGrowth, ...]:
    """How blocks are cut with an effort; the result that loses least is taken. `balanced` and
    `thorough` also try the efforts below them, so a block never loses more with them than with
    these. A number N is one search, and may lose more than a smaller one. Cutting at medians is
    always tried, too, at little cost, so a block never loses more than with t-Mondrian.
    """
    effort = settings.effort
    if isinstance(effort, int):
        return replace(FAST, budget=effort), AT_MEDIANS
    return *GROWTHS[: ("fast", "balanced", "thorough").index(effort) + 1], AT_MEDIANS
