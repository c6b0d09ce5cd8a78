"""Results in a notebook: a whole HTML page in an iframe, so that its style stays inside."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

HEIGHT = 640  # pixels
WIDTH = 160  # columns of text without a terminal

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 1rem; max-width: 76rem; }
h1 { font-size: 1.25rem; } caption { text-align: left; font-weight: 600; padding: .6rem 0 .3rem; }
table { border-collapse: collapse; margin: .6rem 0; font-size: .9em; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #8886; text-align: left; vertical-align: top; }
td.right, th.right { text-align: right; font-variant-numeric: tabular-nums; } div { overflow-x: auto; }
"""


def in_frame(page: str, title: str, height: int = HEIGHT) -> str:
    """A page as an iframe that holds all of it and fetches nothing.

    >>> in_frame("<p>a & b</p>", "Note").count("&lt;p&gt;a &amp; b&lt;/p&gt;")
    1
    """
    return (
        f'<iframe title="{escape(title)}" sandbox="allow-scripts" srcdoc="{escape(page)}" '
        f'style="width: 100%; height: {height}px; border: 1px solid #8886"></iframe>'
    )


def printed(lines: Iterable[RenderableType]) -> str:
    """What a terminal prints, as text without colors."""
    console = Console(
        width=WIDTH,
        highlight=False,
        emoji=False,
        color_system=None,
        force_jupyter=False,
    )
    with console.capture() as captured:
        for line in lines:
            console.print(line, markup=False, soft_wrap=not isinstance(line, Table))
    return captured.get().rstrip()


def page_of(title: str, lines: Iterable[Table | Text | str]) -> str:
    """Terminal output as a page: tables, and a paragraph for each line."""
    body = "\n".join(
        _table(line) if isinstance(line, Table) else f"<p>{escape(str(line))}</p>" for line in lines
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head>\n<body><h1>{escape(title)}</h1>\n{body}\n</body></html>\n"
    )


def _table(table: Table) -> str:
    columns = [list(column.cells) for column in table.columns]
    sides = [' class="right"' if column.justify == "right" else "" for column in table.columns]
    head = "".join(
        f'<th scope="col"{side}>{escape(str(column.header))}</th>'
        for column, side in zip(table.columns, sides, strict=True)
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{side}>{escape(str(cell))}</td>" for cell, side in zip(row, sides, strict=True)
        )
        + "</tr>"
        for row in zip(*columns, strict=True)
    )
    title = f"<caption>{escape(str(table.title))}</caption>" if table.title else ""
    return f"<div><table>{title}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
