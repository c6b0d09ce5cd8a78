"""Figures, labels, guarantees and tables of an audit as text, for the terminal and the page.

Figures are never broken. Labels and values are printed as they are, without reading markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from tclose_spark.requirements.criterion import Guarantee, Labels
from tclose_spark.runfile.attributes import Recursive

MOST_LINES = 30  # of values, moves and combinations; --json has all


def number_text(x: Any) -> str:
    """A figure; six significant digits unless it is a whole number."""
    return f"{float(x):.6g}" if isinstance(x, float | Fraction) else str(x)


def share_text(share: Fraction | None) -> str:
    """A share; `?` if it is not known."""
    return "?" if share is None else f"{float(share):.6f}"


def value_text(value: str | None) -> str:
    """A value, or "missing"."""
    return "missing" if value is None else value


def labels_text(labels: Labels) -> str:
    """A class by its labels; several classes by theirs."""
    return ", ".join(f"{name}={_label_text(label)}" for name, label in labels.items())


def _label_text(label: Any) -> str:
    if isinstance(label, list):
        return " or ".join(map(_label_text, label))
    return "missing" if label is None else repr(label)


def cell_text(labels: Labels) -> str:
    """A cell by its class in each release."""
    each = [
        "not in it" if of_class is None else labels_text(of_class) for of_class in labels.values()
    ]
    return "; ".join(f"{release}: {text}" for release, text in zip(labels, each, strict=True))


def guarantee_name(g: Guarantee) -> str:
    """The measure, and its attribute."""
    return f"{g.measure} of {g.attribute}" if g.attribute else g.measure


def required_text(g: Guarantee) -> str:
    """The requirement; empty if there is none."""
    if isinstance(g.required, Recursive):
        return f"({number_text(g.required.c)}, {g.required.l})"
    return "" if g.required is None else number_text(g.required)


def achieved_text(g: Guarantee) -> str:
    """The worst class's figure; for a fraction also its exact form, if that is short."""
    if isinstance(g.achieved, bool):
        return "yes" if g.achieved else "no"
    if (
        isinstance(g.achieved, Fraction)
        and g.achieved.denominator > 1
        and len(str(g.achieved)) <= 15
    ):
        return f"{number_text(g.achieved)} = {g.achieved}"
    return number_text(g.achieved)


def guarantee_lines(
    guarantees: Iterable[Guarantee],
    title: str = "Guarantees (classes and rows: that violate it)",
    counted: tuple[str, str, str] = ("class", "classes", "rows"),
) -> Iterator[Table | Text]:
    """The guarantees, and below them their exact figures and worst classes. counted: what they
    count, and of whom.
    """
    rows: list[list[str | Text]] = []
    below = []
    for g in guarantees:
        holds = Text("measured", "dim")
        violations = ["", ""]
        if g.required is not None:
            holds = Text("yes", "green") if g.holds else Text("NO", "red")
            violations = [f"{g.classes:,}", f"{g.rows:,}"]
        achieved, _, exact = achieved_text(g).partition(" = ")
        rows.append([guarantee_name(g), required_text(g), achieved, holds, *violations])
        exactly = f"exactly {exact}; " if exact else ""
        shown = (
            class_text(g.worst, g.size) if counted[0] == "class" else _cell_text(g.worst, g.size)
        )
        below.append(Text(f"{guarantee_name(g)}: {exactly}worst {counted[0]} {shown}"))
    yield from table_lines(
        title,
        ["guarantee", "required", "achieved", "holds", *counted[1:]],
        rows,
    )
    yield from below


def class_text(labels: Labels, size: int | None) -> str:
    """A class by its labels; if they are left out, by its size."""
    return (
        labels_text(labels)
        if labels or size is None
        else f"of {size:,} record{'s' if size > 1 else ''}"
    )


def _cell_text(labels: Labels, size: int | None) -> str:
    """A cell by its labels and its people."""
    people = "1 person" if size == 1 else f"{size:,} people"
    return f"of {people}, {cell_text(labels)}" if labels else people


def table_lines(
    title: str,
    headings: list[str],
    rows: Iterable[Iterable[str | Text]],
) -> Iterator[Table | Text]:
    """A title, and a table of one column of text, which is wrapped, and columns of figures, which
    are not.
    """
    yield Text(title, "bold")
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(headings[0], overflow="fold")
    for heading in headings[1:]:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*[cell if isinstance(cell, Text) else Text(cell) for cell in row])
    yield table
