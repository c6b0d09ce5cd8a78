"""SABRE's entry in the registry of methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Method, Plan, PlanningInput, PlanReport
from tclose_spark.methods.sabre.settings import Sabre, require_one_attribute
from tclose_spark.runfile.attributes import SensitiveAttribute

if TYPE_CHECKING:
    from rich.table import Table

SAMPLE_ROWS = 40_000  # a block, on which bounds are tried


def _make_plan(given: PlanningInput) -> Plan:
    from tclose_spark.methods.sabre.plan import make_plan

    return make_plan(given)


def _read_plan(tree: Mapping[str, Any], attributes: ResolvedAttributes, k: int, settings: Sabre) -> Plan:
    from tclose_spark.methods.sabre.plan import SabrePlan

    return SabrePlan.from_json(tree, attributes, k)


def _tables(
    name: str, report: PlanReport, settings: Sabre, sensitive: Mapping[str, SensitiveAttribute]
) -> tuple[list[Table], list[str]]:
    return [], [f"{name}: {report.note}"]


METHOD = Method(
    name="sabre",
    settings=Sabre,
    supports=require_one_attribute,
    sample_rows=lambda settings: SAMPLE_ROWS,
    make_plan=_make_plan,
    read_plan=_read_plan,
    tables=_tables,
)
