"""The exact method's entry in the registry of methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.exact.settings import Exact
from tclose_spark.methods.method import Method, Plan, PlanningInput

SAMPLE_ROWS = 1_000  # it plans from counts of the whole table


def _make_plan(given: PlanningInput) -> Plan:
    from tclose_spark.methods.exact.plan import make_plan

    return make_plan(given)


def _read_plan(
    tree: Mapping[str, Any], attributes: ResolvedAttributes, k: int, settings: Exact
) -> Plan:
    from tclose_spark.methods.exact.plan import ExactPlan

    return ExactPlan.from_json(tree)


METHOD = Method(
    name="exact",
    settings=Exact,
    sample_rows=lambda settings, rows: SAMPLE_ROWS,
    make_plan=_make_plan,
    read_plan=_read_plan,
)
