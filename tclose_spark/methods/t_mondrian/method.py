"""t-Mondrian, as the registry finds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Method, Plan, PlanningInput, PlanReport
from tclose_spark.methods.t_mondrian.settings import TMondrian
from tclose_spark.runfile.attributes import SensitiveAttribute

if TYPE_CHECKING:
    from rich.table import Table

SAMPLE_ROWS = 400_000


def _make_plan(given: PlanningInput) -> Plan:
    from tclose_spark.methods.t_mondrian.plan import make_plan

    return make_plan(given)


def _read_plan(tree: Mapping[str, Any], attributes: ResolvedAttributes, k: int, settings: TMondrian) -> Plan:
    from tclose_spark.methods.regions.block import RegionDense
    from tclose_spark.methods.regions.plan import RegionPlan
    from tclose_spark.methods.t_mondrian.plan import SEARCHES

    return RegionPlan.from_json(tree, RegionDense(attributes, k), SEARCHES)


def _tables(
    name: str, report: PlanReport, settings: TMondrian, sensitive: Mapping[str, SensitiveAttribute]
) -> tuple[list[Table], list[str]]:
    return [], [f"{name}: {report.note}"]


METHOD = Method(
    name="t_mondrian",
    settings=TMondrian,
    supports=lambda settings, sensitive: None,
    sample_rows=lambda settings: SAMPLE_ROWS,
    make_plan=_make_plan,
    read_plan=_read_plan,
    tables=_tables,
)
