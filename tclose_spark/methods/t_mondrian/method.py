"""t-Mondrian's entry in the registry of methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Method, Plan, PlanningInput
from tclose_spark.methods.t_mondrian.settings import TMondrian

SAMPLE_ROWS = 400_000


def _make_plan(given: PlanningInput) -> Plan:
    from tclose_spark.methods.t_mondrian.plan import make_plan

    return make_plan(given)


def _read_plan(
    tree: Mapping[str, Any], attributes: ResolvedAttributes, k: int, settings: TMondrian
) -> Plan:
    from tclose_spark.methods.regions.block import RegionDense
    from tclose_spark.methods.regions.cutting import AT_MEDIANS
    from tclose_spark.methods.regions.plan import RegionPlan

    return RegionPlan.from_json(tree, RegionDense(attributes, k), (AT_MEDIANS,))


METHOD = Method(
    name="t_mondrian",
    settings=TMondrian,
    sample_rows=lambda settings, rows: SAMPLE_ROWS,
    make_plan=_make_plan,
    read_plan=_read_plan,
)
