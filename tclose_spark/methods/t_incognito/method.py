"""t-Incognito's entry in the registry of methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Method, Plan, PlanningInput, PlanReport
from tclose_spark.methods.t_incognito.settings import TIncognito
from tclose_spark.runfile.attributes import SensitiveAttribute

if TYPE_CHECKING:
    from rich.table import Table

SAMPLE_ROWS = 1_000  # it plans from counts of the whole table


def _make_plan(given: PlanningInput) -> Plan:
    from tclose_spark.methods.t_incognito.planning import make_plan

    return make_plan(given)


def _read_plan(tree: Mapping[str, Any], attributes: ResolvedAttributes, k: int, settings: TIncognito) -> Plan:
    from tclose_spark.methods.t_incognito.plan import TIncognitoPlan

    return TIncognitoPlan.from_json(tree)


def _tables(
    name: str, report: PlanReport, settings: TIncognito, sensitive: Mapping[str, SensitiveAttribute]
) -> tuple[list[Table], list[str]]:
    from tclose_spark.methods.t_incognito.tables import node_tables

    return node_tables(name, report.details, sensitive)


METHOD = Method(
    name="t_incognito",
    settings=TIncognito,
    supports=lambda settings, sensitive: None,
    sample_rows=lambda settings: SAMPLE_ROWS,
    make_plan=_make_plan,
    read_plan=_read_plan,
    tables=_tables,
)
