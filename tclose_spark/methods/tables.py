"""Common parts of the tables of all plans."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table

from tclose_spark.runfile.attributes import SensitiveAttribute

MERGED = "Classes that end up with the same labels are published as one."


def with_t(sensitive: Mapping[str, SensitiveAttribute]) -> list[str]:
    """Each sensitive attribute with its t, in words."""
    return [f"{name} ({'no t' if a.t is None else f't = {float(a.t):g}'})" for name, a in sensitive.items()]


def table_of(title: str, *headings: str) -> Table:
    """An empty table with these columns."""
    table = Table(title=title)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table
