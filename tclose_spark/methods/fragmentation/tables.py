"""The tables that `tclose plan` prints for fragmentation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from tclose_spark.methods.fragmentation.settings import Fragmentation
from tclose_spark.methods.tables import MERGED, table_of, with_t
from tclose_spark.runfile.attributes import SensitiveAttribute


def candidates_table(
    name: str, plan: Mapping[str, Any], settings: Fragmentation, sensitive: Mapping[str, SensitiveAttribute]
) -> tuple[Table, list[str]]:
    """The fragmentations that were tried: their aggregate bounds, their class sizes, and their losses."""
    title = f"{name}: fragmentations, their aggregate bounds, and the classes dealt from them"
    table = table_of(
        title, "fragments", *with_t(sensitive), "class size", "classes", "rests on", "loss (NCP) on the sample", ""
    )
    chosen = next(c for c in plan["candidates"] if c["chosen"])
    for c in plan["candidates"]:
        rests = "measured distances" if c["measured"] else "bounds"
        cells = [
            f"{c['fragments']:,}",
            *(f"{b:.4f}" for b in c["bounds"]),
            f"{c['class_size']:,}",
            f"{c['classes']:,}",
            rests,
        ]
        beside = "to compare: sizing: measured" if c["measured"] and not chosen["measured"] else ""
        table.add_row(*cells, f"{c['loss_on_sample']:.3f}", "<- chosen" if c["chosen"] else beside)
    if chosen["measured"]:
        notes = [
            "The class size was measured on the sample; classes of the table that break a t are joined, and the "
            "verification decides."
        ]
        if chosen["fragments"] == 1:
            notes.append(
                "One fragment: classes are made by quasi-identifiers alone, and are large enough to be near the table."
            )
        return table, [*notes, MERGED]
    smallest = min(c["smallest"] for c in plan["candidates"] if not c["measured"])
    notes = [f"The smallest k that this t allows, of these fragmentations: {smallest:,} (by the bounds)."]
    if chosen["classes"] == 1:
        better = (
            "proportional sizing makes smaller classes"
            if settings.sizing == "gcd"
            else "a larger t makes smaller classes"
        )
        notes.append(f"One class of all rows is dealt; {better}.")
    return table, [*notes, MERGED]


def fragments_table(plan: Mapping[str, Any], sensitive: Mapping[str, SensitiveAttribute]) -> Table:
    """The largest fragments of the chosen fragmentation, whose rows may replace each other. It shows no raw value."""
    shown, every = plan["largest_fragments"], plan["fragments"]
    title = (
        "The fragments chosen" if len(shown) == every else f"The largest {len(shown)} of the {every:,} fragments chosen"
    )
    table = table_of(title, "rows", *[f"{name} (places in its domain)" for name in sensitive])
    for fragment in shown:
        table.add_row(f"{fragment['rows']:,}", *fragment["values"])
    return table
