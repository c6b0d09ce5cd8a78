"""The plan of t-Mondrian: regions of the whole table, cut on the sample, which tasks cut further.

Where rows are few the whole table is cut as one block, and medians are those of its rows; else the first cuts are at
the medians of the sample.
"""

from __future__ import annotations

from tclose_spark.methods.method import PlanningInput
from tclose_spark.methods.regions.cutting import RegionGrowth
from tclose_spark.methods.regions.plan import RegionPlan
from tclose_spark.methods.regions.planning import plan_regions
from tclose_spark.methods.regions.search import RegionSearch
from tclose_spark.methods.regions.workspace import median_rule

GROWTH = RegionGrowth(median_rule())
"""Each part at the median of its widest quasi-identifier, else of the next one."""
SEARCHES = (RegionSearch(GROWTH),)
ROWS_PER_BLOCK, ROWS_PER_TASK = 400_000, 400_000


def make_plan(
    given: PlanningInput, rows_per_block: int = ROWS_PER_BLOCK, rows_per_task: int = ROWS_PER_TASK
) -> RegionPlan:
    """Plans t-Mondrian. rows_per_block: of most blocks, at most; rows_per_task: about.

    Raises:
        UnreachableError: if even the whole table does not hold what is required.
    """
    return RegionPlan(layout=plan_regions(given, GROWTH, rows_per_block, rows_per_task), searches=SEARCHES)
