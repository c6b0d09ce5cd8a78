"""An audit and an explanation as tables that a person can read. Labels and values are shown as they are: no markup is
read.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from rich.table import Table
from rich.text import Text

from tclose_spark.auditing.attacks.background import BackgroundJoin
from tclose_spark.auditing.audit import Audit
from tclose_spark.auditing.explain import Explanation
from tclose_spark.auditing.narrow import narrow_attacks, narrow_explanation, narrow_guarantees
from tclose_spark.auditing.texts import (
    MOST_LINES,
    VERDICTS,
    achieved_text,
    asked_text,
    labels_text,
    number_text,
    shown_moves,
    shown_values,
    value_text,
    worst_text,
)

UNBROKEN = {"figure"}
RIGHT = {
    "asked",
    "achieved",
    "classes",
    "rows",
    "people",
    "belief",
    "mass",
    "cost",
    "share of class",
    "share of table",
    "difference",
}


def audit_lines(audit: Audit, name: str, narrow: bool = False) -> Iterator[Table | Text]:
    """The verdict, the guarantees, the attacks, what the table is worth, and notes. narrow: for less than NARROW
    columns.
    """
    figures = audit.figures
    yield Text(f"{name}: {figures.rows:,} rows in {figures.classes:,} classes; {VERDICTS[audit.verdict]}")
    yield from narrow_guarantees(audit) if narrow else [_guarantees(audit)]
    if audit.exposures:
        yield from narrow_attacks(audit) if narrow else [_attacks(audit)]
    if audit.background is not None:
        yield from _background(audit.background)
    losses = ", ".join(f"{column} {loss:.4f}" for column, loss in figures.losses.items())
    known = f"{figures.ncp:.4f} ({losses})" if losses else "unknown, of aggregates"
    yield Text(f"Utility: information loss (NCP) {known}")
    sizes = (
        f"average class size {figures.rows / figures.classes:,.1f} (from {figures.smallest:,} to {figures.largest:,})"
    )
    yield Text(f"  {sizes}, discernibility {figures.discernibility:,}")
    for note in audit.notes:
        yield Text(f"note: {note}")
    yield Text(
        "note: k, l and t do not protect that somebody is in the table at all; --background TABLE tells who can be "
        "seen to be"
    )


def _table(title: str, *headings: str) -> Table:
    table = Table(title=Text(title), title_justify="left", title_style="bold")
    for heading in headings:
        table.add_column(
            heading, justify="right" if heading in RIGHT else "left", overflow="fold", no_wrap=heading in UNBROKEN
        )
    return table


def _add(table: Table, *cells: str | Text) -> None:
    table.add_row(*[cell if isinstance(cell, Text) else Text(cell) for cell in cells])


def _guarantees(audit: Audit) -> Table:
    title = "Guarantees (classes and rows: that break it)"
    table = _table(title, "guarantee", "attribute", "asked", "achieved", "holds", "classes", "rows", "worst class")
    for g in audit.guarantees:
        told = g.required is None
        holds = Text("told", "dim") if told else Text("yes", "green") if g.holds else Text("NO", "red")
        asked = "" if told else asked_text(g)
        broken = ("", "") if told else (f"{g.classes:,}", f"{g.rows:,}")
        _add(table, g.measure, g.attribute or "", asked, achieved_text(g), holds, *broken, worst_text(g.worst, g.size))
    return table


def _attacks(audit: Audit) -> Table:
    title = "Attacks (belief: without and with the table's class)"
    table = _table(title, "attack", "what it takes", "classes", "rows", "belief", "about", "worst class")
    for e in audit.exposures:
        about = f"(mean over rows, knowing {e.about})" if e.worst is None else value_text(e.about) if e.worst else ""
        belief = f"{e.before:.3f} -> {e.after:.3f}"
        _add(
            table,
            e.attack,
            e.criterion,
            f"{e.classes:,}",
            f"{e.people:,}",
            belief,
            about,
            worst_text(e.worst or {}, e.size),
        )
    return table


def _background(joined: BackgroundJoin) -> Iterator[Table | Text]:
    risks = joined.risks
    table = _table(
        f"Join with the background table, by {', '.join(joined.joined)}", "attacker", "figure", "what it says"
    )
    mean = f"{float(risks.prosecutor_mean):.6f}"
    for attacker, figure, meaning in (
        (
            "prosecutor",
            f"{float(risks.prosecutor):.6f}",
            f"worst chance to pick the record of somebody known to be in the table (mean {mean})",
        ),
        ("journalist", f"{float(risks.journalist):.6f}", "worst chance to name the person of a record"),
        ("marketer", f"{float(risks.marketer):.6f}", "expected share of records whose person is named right"),
        (
            "membership",
            f"{joined.members:,}",
            f"of {joined.people:,} rows of the background table are of people who can be seen to be in the table, if "
            "all its people are among them",
        ),
        ("", f"{joined.people - joined.candidates:,}", "can be seen not to be in it: they fit no class"),
    ):
        _add(table, attacker, figure, meaning)
    for g in joined.guesses:
        sentence = (
            "rows of the background table fit none of the narrow classes of their value, which hold as much of some "
            f"{g.attribute} as any class does: it is guessed"
        )
        if g.people:
            sentence += f"; their classes say it for {g.said:.3f}, the guess expects at least {g.at_least:.3f}"
        _add(
            table,
            "outsider",
            f"{g.people:,}",
            sentence + ("" if g.right is None else f", and is right for {g.right:.3f}"),
        )
    yield table
    if not joined.candidates:
        yield Text(
            "note: no row of the background table fits any class; are its values written as in the published one?"
        )
    elif risks.unmatched:
        yield Text(
            f"note: {risks.unmatched:,} classes have more records than the background table has that fit them: people "
            "of the table are not in the background table"
        )


def explanation_lines(explanation: Explanation, narrow: bool = False) -> Iterator[Table | Text]:
    """Both distributions side by side, the distance, and the plan behind it. narrow: for less than NARROW columns."""
    a, part, whole = explanation.attribute, explanation.part, explanation.whole
    n, size = int(whole.sum()), int(part.sum())
    asked = (
        ""
        if a.settings.t is None
        else f", asked {number_text(a.settings.t)}: {'holds' if explanation.emd <= a.settings.t else 'does NOT hold'}"
    )
    yield Text(f"Class {labels_text(explanation.labels)}: {size:,} records, compared with {n:,}")
    yield Text(
        f"Earth mover's distance of {a.name} ({a.settings.distance}): {number_text(explanation.emd)} = "
        f"{explanation.emd}{asked}"
    )
    distribution, moves = (
        narrow_explanation(explanation) if narrow else (_distribution(explanation), _moves(explanation))
    )
    yield distribution
    if len(whole) > MOST_LINES:
        yield Text(f"({len(whole) - MOST_LINES:,} values with smaller differences are left out; --json has all)")
    yield moves
    _, rest = shown_moves(explanation)
    cost = number_text(sum((move.cost for move in rest), Fraction(0)))
    left_out = f" ({len(rest):,} cheaper moves, which cost {cost}, are left out; --json has all)" if rest else ""
    yield Text(f"The costs add up to {number_text(explanation.plan.cost)}.{left_out}")


def _distribution(explanation: Explanation) -> Table:
    a, part, whole = explanation.attribute, explanation.part, explanation.whole
    n, size = int(whole.sum()), int(part.sum())
    table = _table(f"Distribution of {a.name}", "value", "class", "share of class", "share of table", "difference")
    for i in shown_values(explanation):
        p, q = part[i] / size, whole[i] / n
        _add(table, value_text(a.values[i]), f"{part[i]:,}", f"{p:.4f}", f"{q:.4f}", f"{p - q:+.4f}")
    return table


def _moves(explanation: Explanation) -> Table:
    values, title = explanation.attribute.values, "Transport plan: how the class's distribution becomes the table's"
    moves = _table(title, "move", "mass", "from", "to", "distance", "cost")
    for number, move in enumerate(shown_moves(explanation)[0], start=1):
        ends = (value_text(values[move.source]), value_text(values[move.target]))
        _add(moves, str(number), number_text(move.mass), *ends, number_text(move.distance), number_text(move.cost))
    return moves
