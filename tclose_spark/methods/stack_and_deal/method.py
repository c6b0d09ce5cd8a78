"""Stack & Deal's entry in the registry of methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Method, Plan, PlanningInput, PlanReport
from tclose_spark.methods.stack_and_deal.settings import StackAndDeal
from tclose_spark.runfile.attributes import SensitiveAttribute

if TYPE_CHECKING:
    from rich.table import Table

SAMPLE_ROWS = 20_000


def _make_plan(given: PlanningInput) -> Plan:
    from tclose_spark.methods.stack_and_deal.plan import make_plan

    return make_plan(given)


def _read_plan(tree: Mapping[str, Any], attributes: ResolvedAttributes, k: int, settings: StackAndDeal) -> Plan:
    from tclose_spark.methods.stack_and_deal.plan import StackAndDealPlan

    return StackAndDealPlan.from_json(tree, attributes)


def _tables(
    name: str, report: PlanReport, settings: StackAndDeal, sensitive: Mapping[str, SensitiveAttribute]
) -> tuple[list[Table], list[str]]:
    from tclose_spark.methods.stack_and_deal.tables import sizes_table

    table, notes = sizes_table(name, report.details, sensitive)
    return [table], notes


METHOD = Method(
    name="stack_and_deal",
    settings=StackAndDeal,
    supports=lambda settings, sensitive: None,
    sample_rows=lambda settings: SAMPLE_ROWS,
    make_plan=_make_plan,
    read_plan=_read_plan,
    tables=_tables,
)
