"""Stack & Deal's section of the run file, its table for `tclose plan`, and its entry in the
registry of methods.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Method, Plan, PlanningInput, PlanReport
from tclose_spark.methods.tables import MERGE_NOTE, empty_table, headings_with_t
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.registry import MethodSettings

if TYPE_CHECKING:
    from rich.table import Table


class StackAndDeal(MethodSettings):
    """Stack & Deal (Gowda 2023, ch. 3 and 5)."""

    makes_l: ClassVar[tuple[str, ...]] = ("distinct", "entropy", "recursive", "frequency")
    makes: ClassVar[tuple[str, ...]] = ("beta", "t: 0")
    name: Literal["stack_and_deal"] = "stack_and_deal"
    """The method."""
    stack_order: Literal["value", "frequency", "best"] | None = None
    """The order of the stack: by value, by frequency (the paper's), or the best of a portfolio. By
    default: value for an ordered attribute, frequency for another, best for several.
    """
    deal: Literal["local", "round_robin", "layered"] = "local"
    """local: near people come into the same class. layered: classes are as near to the bound as any
    of their size.
    round_robin: as in the paper.
    """
    class_size: Literal["auto", "k"] = "auto"
    """auto: the smallest size from k rows on that reaches every t. k: k rows, as in the paper."""


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
            str(size["size"]),
            f"{size['classes']:,}",
            *pairs,
            holds,
            size["order"] or "-",
        )
    notes = [
        f"Information loss (NCP) when the sample is dealt: {plan['loss_on_sample']:.3f}",
        MERGE_NOTE,
    ]
    if any(not size["emd"] for size in plan["sizes"]):
        notes.insert(0, "-: not dealt, since no even classes of this size can meet the required t.")
    return [table], notes


def _make_plan(given: PlanningInput) -> Plan:
    from tclose_spark.methods.stack_and_deal.plan import plan_stack_and_deal

    return plan_stack_and_deal(given)


def _read_plan(
    tree: Mapping[str, object],
    attributes: ResolvedAttributes,
    k: int,
    settings: StackAndDeal,
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
