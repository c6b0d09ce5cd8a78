"""The plan of t-Mondrian: blocks of the table are cut on a sample, and tasks divide them further.

A small table is one block, cut at the medians of its rows. Otherwise the first cuts are at the
medians of the sample.
"""

from __future__ import annotations

from tclose_spark.methods.method import PlanningInput
from tclose_spark.methods.regions.cutting import AT_MEDIANS
from tclose_spark.methods.regions.plan import RegionPlan
from tclose_spark.methods.regions.planning import plan_regions

ROWS_PER_BLOCK = 400_000
ROWS_PER_TASK = 400_000


def make_plan(
    given: PlanningInput, rows_per_block: int = ROWS_PER_BLOCK, rows_per_task: int = ROWS_PER_TASK
) -> RegionPlan:
    """Plans t-Mondrian. rows_per_block: the most rows of most blocks; rows_per_task: about.

    Raises:
        UnreachableError: if even the whole table does not meet the requirement.
    """
    return RegionPlan(
        layout=plan_regions(given, AT_MEDIANS, rows_per_block, rows_per_task), growths=(AT_MEDIANS,)
    )
