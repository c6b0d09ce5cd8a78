"""An audit and an explanation as tables that a person can read. Labels and values are shown as they are: no markup is
read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from rich.table import Table
from rich.text import Text

from tclose_spark.audit.audit import Audit
from tclose_spark.audit.background import BackgroundJoin
from tclose_spark.audit.explain import Explanation
from tclose_spark.checks.figures import Guarantee
from tclose_spark.runfile.attributes import Recursive

MOST_LINES = 30  # of values and of moves; --json has them all
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
VERDICTS = {
    "holds": "everything that was asked holds",
    "violated": "NOT everything that was asked holds",
    "measured": "nothing was asked",
}


def audit_lines(audit: Audit, name: str) -> Iterator[Table | Text]:
    """The verdict, the guarantees, the attacks, what the table is worth, and notes."""
    figures = audit.figures
    yield Text(f"{name}: {figures.rows:,} rows in {figures.classes:,} classes; {VERDICTS[audit.verdict]}")
    yield _guarantees(audit)
    if audit.exposures:
        yield _attacks(audit)
    if audit.background is not None:
        yield from _background(audit.background)
    losses = ", ".join(f"{column} {loss:.4f}" for column, loss in figures.losses.items())
    yield Text(f"Utility: information loss (NCP) {figures.ncp:.4f} ({losses})")
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
        table.add_column(heading, justify="right" if heading in RIGHT else "left", overflow="fold")
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
        _add(table, g.measure, g.attribute or "", asked, achieved_text(g), holds, *broken, _worst(g.worst, g.size))
    return table


def asked_text(g: Guarantee) -> str:
    """What is required of classes."""
    if isinstance(g.required, Recursive):
        return f"({number_text(g.required.c)}, {g.required.l})"
    return number_text(g.required)


def achieved_text(g: Guarantee) -> str:
    """What the worst class has; beside a fraction its exact form, where that is short."""
    if isinstance(g.achieved, bool):
        return "yes" if g.achieved else "no"
    if isinstance(g.achieved, Fraction) and g.achieved.denominator > 1 and len(str(g.achieved)) <= 15:
        return f"{number_text(g.achieved)} = {g.achieved}"
    return number_text(g.achieved)


def _attacks(audit: Audit) -> Table:
    title = "Attacks (belief: without and with the table's class)"
    table = _table(title, "attack", "what it takes", "classes", "people", "belief", "about", "worst class")
    for e in audit.exposures:
        about = f"(mean over people, knowing {e.about})" if e.worst is None else _value(e.about) if e.worst else ""
        belief = f"{e.before:.3f} -> {e.after:.3f}"
        _add(
            table,
            e.attack,
            e.criterion,
            f"{e.classes:,}",
            f"{e.people:,}",
            belief,
            about,
            _worst(e.worst or {}, e.size),
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
            f"of {joined.people:,} people can be seen to be in the table, if all its people are among them",
        ),
        ("", f"{joined.people - joined.candidates:,}", "can be seen not to be in it: they fit no class"),
    ):
        _add(table, attacker, figure, meaning)
    for g in joined.guesses:
        sentence = (
            f"people fit none of the narrow classes of their value, which hold as much of some {g.attribute} as any "
            "class does: it is guessed"
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
            "note: nobody of the background table fits any class; are its values written as in the published one?"
        )
    elif risks.unmatched:
        yield Text(
            f"note: {risks.unmatched:,} classes have more records than people who fit them: people of the table are "
            "not in the background table"
        )


def explanation_lines(explanation: Explanation) -> Iterator[Table | Text]:
    """Both distributions side by side, the distance, and the plan behind it."""
    a, part, whole = explanation.attribute, explanation.part, explanation.whole
    n, size = int(whole.sum()), int(part.sum())
    asked = (
        ""
        if a.settings.t is None
        else f", asked {number_text(a.settings.t)}: {'holds' if explanation.emd <= a.settings.t else 'does NOT hold'}"
    )
    yield Text(f"Class {_labels(explanation.labels)}: {size:,} records, compared with {n:,}")
    yield Text(
        f"Earth mover's distance of {a.name} ({a.settings.distance}): {number_text(explanation.emd)} = "
        f"{explanation.emd}{asked}"
    )
    table = _table(f"Distribution of {a.name}", "value", "class", "share of class", "share of table", "difference")
    shown = sorted(range(len(whole)), key=lambda i: -abs(part[i] / size - whole[i] / n))[:MOST_LINES]
    for i in sorted(shown):
        p, q = part[i] / size, whole[i] / n
        _add(table, _value(a.values[i]), f"{part[i]:,}", f"{p:.4f}", f"{q:.4f}", f"{p - q:+.4f}")
    yield table
    if len(whole) > MOST_LINES:
        yield Text(f"({len(whole) - MOST_LINES:,} values with smaller differences are left out; --json has all)")
    moves = _table(
        "Transport plan: how the class's distribution becomes the table's",
        "move",
        "mass",
        "from",
        "to",
        "distance",
        "cost",
    )
    plan = list(explanation.plan.moves)
    if len(plan) > MOST_LINES:
        plan.sort(key=lambda move: -move.cost)
    for number, move in enumerate(plan[:MOST_LINES], start=1):
        ends = (_value(a.values[move.source]), _value(a.values[move.target]))
        _add(moves, str(number), number_text(move.mass), *ends, number_text(move.distance), number_text(move.cost))
    yield moves
    rest = plan[MOST_LINES:]
    cost = number_text(sum((move.cost for move in rest), Fraction(0)))
    left_out = f" ({len(rest):,} cheaper moves, which cost {cost}, are left out; --json has all)" if rest else ""
    yield Text(f"The costs add up to {number_text(explanation.plan.cost)}.{left_out}")


def number_text(x: Any) -> str:
    """A figure, rounded to six digits where it is no whole number."""
    return f"{float(x):.6g}" if isinstance(x, float | Fraction) else str(x)


def _value(value: str | None) -> str:
    return "missing" if value is None else value


def _worst(labels: Mapping[str, Any], size: int | None) -> str:
    """A class by its labels; where they are left out, by its size."""
    return _labels(labels) if labels or size is None else f"{size:,} records"


def _labels(labels: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={'missing' if label is None else repr(label)}" for name, label in labels.items())
