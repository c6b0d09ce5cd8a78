"""Fragmentation's entry in the registry of methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.fragmentation.settings import Fragmentation, require_bounds
from tclose_spark.methods.method import Method, Plan, PlanningInput, PlanReport
from tclose_spark.runfile.attributes import SensitiveAttribute

if TYPE_CHECKING:
    from rich.table import Table

SAMPLE_ROWS = 20_000


def _make_plan(given: PlanningInput) -> Plan:
    from tclose_spark.methods.fragmentation.plan import plan_fragmentation

    return plan_fragmentation(given)


def _read_plan(
    tree: Mapping[str, object],
    attributes: ResolvedAttributes,
    k: int,
    settings: Fragmentation,
) -> Plan:
    from tclose_spark.methods.fragmentation.plan import FragmentationPlan

    return FragmentationPlan.from_json(tree, attributes)


def _tables(
    name: str,
    report: PlanReport,
    settings: Fragmentation,
    sensitive: Mapping[str, SensitiveAttribute],
) -> tuple[list[Table], list[str]]:
    from tclose_spark.methods.fragmentation.tables import candidates_table, fragments_table

    table, notes = candidates_table(name, report.details, settings, sensitive)
    return [table, fragments_table(report.details, sensitive)], notes


METHOD = Method(
    name="fragmentation",
    settings=Fragmentation,
    supports=require_bounds,
    sample_rows=lambda settings, rows: SAMPLE_ROWS,
    make_plan=_make_plan,
    read_plan=_read_plan,
    tables=_tables,
)
