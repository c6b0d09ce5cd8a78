"""Common parts of the tables that `tclose plan` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tclose_spark.runfile.attributes import SensitiveAttribute

if TYPE_CHECKING:
    from rich.table import Table

MERGE_NOTE = "Classes that end up with the same labels are published as one."


def headings_with_t(sensitive: Mapping[str, SensitiveAttribute]) -> list[str]:
    """Each sensitive attribute's name and t."""
    return [
        f"{name} ({'no t' if a.t is None else f't = {float(a.t):g}'})"
        for name, a in sensitive.items()
    ]


def empty_table(title: str, *headings: str) -> Table:
    """A table with these columns, aligned to the right."""
    from rich.table import Table

    table = Table(title=title)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table
