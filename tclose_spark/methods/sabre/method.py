"""SABRE's entry in the registry of methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Method, Plan, PlanningInput
from tclose_spark.methods.sabre.settings import Sabre, require_one_attribute

SAMPLE_ROWS = 40_000  # a block, on which bounds are tried


def _make_plan(given: PlanningInput) -> Plan:
    from tclose_spark.methods.sabre.plan import make_plan

    return make_plan(given)


def _read_plan(
    tree: Mapping[str, Any], attributes: ResolvedAttributes, k: int, settings: Sabre
) -> Plan:
    from tclose_spark.methods.sabre.plan import SabrePlan

    return SabrePlan.from_json(tree, attributes, k)


METHOD = Method(
    name="sabre",
    settings=Sabre,
    supports=require_one_attribute,
    sample_rows=lambda settings, rows: SAMPLE_ROWS,
    make_plan=_make_plan,
    read_plan=_read_plan,
)
