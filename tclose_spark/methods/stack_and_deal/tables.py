"""The table that `tclose plan` prints for Stack & Deal."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from rich.table import Table

from tclose_spark.methods.tables import MERGED, table_of, with_t
from tclose_spark.runfile.attributes import SensitiveAttribute


def sizes_table(
    name: str, plan: Mapping[str, Any], sensitive: Mapping[str, SensitiveAttribute]
) -> tuple[Table, list[str]]:
    """The distance that each class size achieves, and the lower bound of even partitions of this size."""
    headings = [heading for attribute in with_t(sensitive) for heading in (attribute, "bound")]
    title = (
        f"{name}: class sizes, the exact largest distance of a class from the table, and what no even classes can beat"
    )
    table = table_of(title, "class size", "classes", *headings, "reached", "stack")
    for size in plan["sizes"]:
        emd = [f"{float(Fraction(x)):.6f}" for x in size["emd"]] or ["-"] * len(sensitive)
        bounds = [f"{float(Fraction(x)):.6f}" for x in size["bounds"]]
        chosen = "  <- chosen" if size["classes"] == plan["classes"] else ""
        pairs = [cell for pair in zip(emd, bounds, strict=True) for cell in pair]
        table.add_row(
            str(size["size"]),
            f"{size['classes']:,}",
            *pairs,
            ("yes" if size["holds"] else "no") + chosen,
            size["order"] or "-",
        )
    notes = (
        ["-: not dealt, since no even classes of this size can meet the required t."]
        if any(not size["emd"] for size in plan["sizes"])
        else []
    )
    return table, [*notes, f"Information loss (NCP) when the sample is dealt: {plan['loss_on_sample']:.3f}", MERGED]
