"""t-Mondrian: strict multidimensional recoding (Mondrian; LeFevre, DeWitt and Ramakrishnan 2006)
with t-closeness as a condition of every part. The generalization property (Li, Li and
Venkatasubramanian 2007, section 4) allows it. With (n, t)-closeness it is (n, t)-Mondrian (Li, Li
and Venkatasubramanian 2010; Weber, 2.3.2).

A small table is one block, cut at the medians of its rows. Otherwise the first cuts are at the
medians of a sample, and tasks divide the blocks further.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Method, Plan, PlanningInput
from tclose_spark.runfile.registry import MethodSettings

if TYPE_CHECKING:
    from tclose_spark.methods.regions.plan import RegionPlan

SAMPLE_ROWS = 400_000
ROWS_PER_BLOCK = 400_000
ROWS_PER_TASK = 400_000


class TMondrian(MethodSettings):
    """Split at the median of the widest quasi-identifier, as long as all sides meet the
    requirements. It has no settings.
    """

    makes_l: ClassVar[tuple[str, ...]] = ("distinct", "frequency")
    makes: ClassVar[tuple[str, ...]] = ("beta", "t: 0")
    counts_people: ClassVar[bool] = True
    disjoint: ClassVar[bool] = True
    cuts_at_medians: ClassVar[bool] = True
    name: Literal["t_mondrian"] = "t_mondrian"
    """The method."""


def plan_t_mondrian(
    given: PlanningInput,
    rows_per_block: int = ROWS_PER_BLOCK,
    rows_per_task: int = ROWS_PER_TASK,
) -> RegionPlan:
    """Plans t-Mondrian. rows_per_block: the most rows of most blocks; rows_per_task: about.

    Raises:
        UnreachableError: if even the whole table does not meet the requirement.
    """
    from tclose_spark.methods.regions.cutting import AT_MEDIANS
    from tclose_spark.methods.regions.plan import RegionPlan
    from tclose_spark.methods.regions.planning import plan_regions

    return RegionPlan(
        layout=plan_regions(given, AT_MEDIANS, rows_per_block, rows_per_task),
        growths=(AT_MEDIANS,),
    )


def _read_plan(
    tree: Mapping[str, object],
    attributes: ResolvedAttributes,
    k: int,
    settings: TMondrian,
) -> Plan:
    from tclose_spark.methods.regions.block import RegionDense
    from tclose_spark.methods.regions.cutting import AT_MEDIANS
    from tclose_spark.methods.regions.plan import RegionPlan

    return RegionPlan.from_json(tree, RegionDense(attributes, k), (AT_MEDIANS,))


METHOD = Method(
    name="t_mondrian",
    settings=TMondrian,
    sample_rows=lambda settings, rows: SAMPLE_ROWS,
    make_plan=plan_t_mondrian,
    read_plan=_read_plan,
)
