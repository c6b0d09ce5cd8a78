"""Stack & Deal's entry in the registry of methods."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Method, Plan, PlanningInput, PlanReport
from tclose_spark.methods.stack_and_deal.settings import StackAndDeal
from tclose_spark.methods.tables import MERGE_NOTE, empty_table, headings_with_t
from tclose_spark.runfile.attributes import SensitiveAttribute

if TYPE_CHECKING:
    from rich.table import Table

SAMPLE_ROWS = 20_000


def sizes_table(
    name: str,
    report: PlanReport,
    settings: StackAndDeal,
    sensitive: Mapping[str, SensitiveAttribute],
) -> tuple[list[Table], list[str]]:
    """The distance that each class size achieves, and the lower bound of even partitions of this
    size.
    """
    plan = report.details
    headings = [x for heading in headings_with_t(sensitive) for x in (heading, "bound")]
    title = (
        f"{name}: class sizes, the exact largest distance of a class from the table, and the bound "
        "of even classes"
    )
    table = empty_table(title, "class size", "classes", *headings, "holds", "stack")
    for size in plan["sizes"]:
        emd = [f"{float(Fraction(x)):.6f}" for x in size["emd"]] or ["-"] * len(sensitive)
        bounds = [f"{float(Fraction(x)):.6f}" for x in size["bounds"]]
        pairs = [cell for pair in zip(emd, bounds, strict=True) for cell in pair]
        holds = ("yes" if size["holds"] else "no") + (
            "  <- chosen" if size["classes"] == plan["classes"] else ""
        )
        table.add_row(
            str(size["size"]), f"{size['classes']:,}", *pairs, holds, size["order"] or "-"
        )
    notes = [
        f"Information loss (NCP) when the sample is dealt: {plan['loss_on_sample']:.3f}",
        MERGE_NOTE,
    ]
    if any(not size["emd"] for size in plan["sizes"]):
        notes.insert(0, "-: not dealt, since no even classes of this size can meet the required t.")
    return [table], notes


def _make_plan(given: PlanningInput) -> Plan:
    from tclose_spark.methods.stack_and_deal.plan import make_plan

    return make_plan(given)


def _read_plan(
    tree: Mapping[str, Any], attributes: ResolvedAttributes, k: int, settings: StackAndDeal
) -> Plan:
    from tclose_spark.methods.stack_and_deal.plan import StackAndDealPlan

    return StackAndDealPlan.from_json(tree, attributes)


METHOD = Method(
    name="stack_and_deal",
    settings=StackAndDeal,
    sample_rows=lambda settings, rows: SAMPLE_ROWS,
    make_plan=_make_plan,
    read_plan=_read_plan,
    tables=sizes_table,
)
