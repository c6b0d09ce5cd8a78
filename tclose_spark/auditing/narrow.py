"""An audit and an explanation for a terminal of 80 columns: figures are never broken, and what is long stands in lines
of its own below them.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from tclose_spark.auditing.audit import Audit
from tclose_spark.auditing.explain import Explanation
from tclose_spark.auditing.texts import (
    achieved_text,
    asked_text,
    number_text,
    shown_moves,
    shown_values,
    value_text,
    worst_text,
)


def narrow_table(title: str, first: str, *figures: str) -> Table:
    """A table of a column of text, which is wrapped, and columns of figures, which are not."""
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(first, overflow="fold")
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def narrow_guarantees(audit: Audit) -> Iterator[Table | Text]:
    """The guarantees, and below them their exact figures and worst classes."""
    figures = ("asked", "achieved", "holds", "classes", "rows")
    table = narrow_table("Guarantees (classes and rows: that break it)", "guarantee", *figures)
    below = []
    for g in audit.guarantees:
        told, name = g.required is None, f"{g.measure} of {g.attribute}" if g.attribute else g.measure
        holds = Text("told", "dim") if told else Text("yes", "green") if g.holds else Text("NO", "red")
        broken = ("", "") if told else (f"{g.classes:,}", f"{g.rows:,}")
        achieved, _, exact = achieved_text(g).partition(" = ")
        table.add_row(Text(name), "" if told else asked_text(g), achieved, holds, *broken)
        exactly = f"exactly {exact}; " if exact else ""
        below.append(Text(f"{name}: {exactly}worst class {worst_text(g.worst, g.size)}"))
    yield table
    yield from below


def narrow_attacks(audit: Audit) -> Iterator[Table | Text]:
    """The attacks, and below them what they take and their worst classes."""
    title = "Attacks (belief: without and with the table's class)"
    table, below = narrow_table(title, "attack", "classes", "rows", "belief"), []
    for e in audit.exposures:
        name = f"{e.attack}, {e.attribute}"
        table.add_row(Text(name), f"{e.classes:,}", f"{e.people:,}", f"{e.before:.3f} -> {e.after:.3f}")
        worst = (
            f"mean over rows, knowing {e.about}"
            if e.worst is None
            else f"worst {value_text(e.about)} in {worst_text(e.worst, e.size)}"
            if e.worst
            else f"worst class {worst_text({}, e.size)}"
        )
        below.append(Text(f"{name}: {e.criterion}; {worst}"))
    yield table
    yield from below


def narrow_explanation(explanation: Explanation) -> Iterator[Table]:
    """Both distributions, and the plan."""
    a, part, whole = explanation.attribute, explanation.part, explanation.whole
    n, size = int(whole.sum()), int(part.sum())
    table = narrow_table(f"Distribution of {a.name} (shares)", "value", "records", "class", "table", "difference")
    for i in shown_values(explanation):
        p, q = part[i] / size, whole[i] / n
        table.add_row(Text(value_text(a.values[i])), f"{part[i]:,}", f"{p:.4f}", f"{q:.4f}", f"{p - q:+.4f}")
    yield table
    title = "Transport plan: how the class's distribution becomes the table's"
    moves = narrow_table(title, "move", "mass", "distance", "cost")
    for move in shown_moves(explanation)[0]:
        ends = f"{value_text(a.values[move.source])} -> {value_text(a.values[move.target])}"
        moves.add_row(Text(ends), *(number_text(x) for x in (move.mass, Fraction(move.distance), move.cost)))
    yield moves
