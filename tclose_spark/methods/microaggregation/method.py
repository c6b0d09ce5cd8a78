"""Microaggregation's entry in the registry of methods."""

from __future__ import annotations

from collections.abc import Mapping

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Method, Plan, PlanningInput
from tclose_spark.methods.microaggregation.settings import Microaggregation, require_algorithm

SAMPLE_ROWS = 40_000  # a block, on which class sizes are tried


def _make_plan(given: PlanningInput) -> Plan:
    from tclose_spark.methods.microaggregation.plan import plan_microaggregation

    return plan_microaggregation(given)


def _read_plan(
    tree: Mapping[str, object],
    attributes: ResolvedAttributes,
    k: int,
    settings: Microaggregation,
) -> Plan:
    from tclose_spark.methods.microaggregation.plan import MicroaggregationPlan

    return MicroaggregationPlan.from_json(tree, attributes, k, settings)


METHOD = Method(
    name="microaggregation",
    settings=Microaggregation,
    supports=require_algorithm,
    sample_rows=lambda settings, rows: SAMPLE_ROWS,
    make_plan=_make_plan,
    read_plan=_read_plan,
)
