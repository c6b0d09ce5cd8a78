"""An audit and an explanation as tables that a person can read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from rich.table import Table

from tclose_spark.audit.audit import Audit
from tclose_spark.audit.background import BackgroundJoin
from tclose_spark.audit.explain import Explanation
from tclose_spark.checks.figures import Guarantee
from tclose_spark.spec import Recursive

MOST_LINES = 30  # of values and of moves; --json has them all


def audit_lines(audit: Audit, name: str) -> Iterator[Table | str]:
    """The verdict, the guarantees, the attacks, what the table is worth, and notes."""
    figures = audit.figures
    verdict = {
        "holds": "everything that was asked holds",
        "violated": "NOT everything that was asked holds",
        "measured": "nothing was asked",
    }
    yield f"{name}: {figures.rows:,} rows in {figures.classes:,} classes; {verdict[audit.verdict]}"
    yield _guarantees(audit)
    if audit.exposures:
        yield _attacks(audit)
    if audit.background is not None:
        yield from _background(audit.background)
    losses = ", ".join(f"{column} {loss:.4f}" for column, loss in figures.losses.items())
    yield f"Utility: information loss (NCP) {figures.ncp:.4f} ({losses})"
    sizes = f"average class size {figures.rows / figures.classes:,.1f} (from {figures.smallest:,} to {figures.largest:,})"
    yield f"  {sizes}, discernibility {figures.discernibility:,}"
    for note in audit.notes:
        yield f"note: {note}"
    yield "note: that somebody is in the table at all is not protected by k, l or t; --background TABLE tells who can be seen to be"


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for heading in headings:
        table.add_column(
            heading, justify="right" if heading in ("asked", "achieved", "classes", "rows", "people", "belief") else "left", overflow="fold"
        )
    return table


def _guarantees(audit: Audit) -> Table:
    table = _table(
        "Guarantees (classes and rows: that break it)",
        "guarantee",
        "attribute",
        "asked",
        "achieved",
        "holds",
        "classes",
        "rows",
        "worst class",
    )
    for g in audit.guarantees:
        told = g.asked is None
        holds = "[dim]told[/dim]" if told else "[green]yes[/green]" if g.holds else "[red]NO[/red]"
        asked = "" if told else _number(g.asked) if not isinstance(g.asked, Recursive) else f"({_number(g.asked.c)}, {g.asked.l})"
        broken = ("", "") if told else (f"{g.classes:,}", f"{g.rows:,}")
        table.add_row(g.measure, _safe(g.attribute or ""), asked, _achieved(g), holds, *broken, _labels(g.worst))
    return table


def _achieved(g: Guarantee) -> str:
    if isinstance(g.achieved, Fraction) and g.achieved.denominator > 1 and len(str(g.achieved)) <= 15:
        return f"{_number(g.achieved)} = {g.achieved}"
    return _number(g.achieved)


def _attacks(audit: Audit) -> Table:
    table = _table(
        "Attacks (belief: without and with the table's class)",
        "attack",
        "what it takes",
        "classes",
        "people",
        "belief",
        "about",
        "worst class",
    )
    for e in audit.exposures:
        about = f"(mean over people, knowing {e.about})" if e.worst is None else "missing" if e.about is None else e.about
        worst = "" if e.worst is None else _labels(e.worst)
        table.add_row(
            e.attack, _safe(e.criterion), f"{e.classes:,}", f"{e.people:,}", f"{e.before:.3f} -> {e.after:.3f}", _safe(about), worst
        )
    return table


def _background(found: BackgroundJoin) -> Iterator[Table | str]:
    risks = found.risks
    table = _table(f"Join with the background table, by {', '.join(found.joined)}", "attacker", "figure", "what it says")
    table.add_row(
        "prosecutor",
        f"{float(risks.prosecutor):.6f}",
        f"worst chance to pick the record of somebody known to be in the table (mean {float(risks.prosecutor_mean):.6f})",
    )
    table.add_row("journalist", f"{float(risks.journalist):.6f}", "worst chance to name the person of a record")
    table.add_row("marketer", f"{float(risks.marketer):.6f}", "expected share of records whose person is named right")
    table.add_row(
        "membership", f"{found.members:,}", f"of {found.people:,} people can be seen to be in the table, if all its people are among them"
    )
    table.add_row("", f"{found.people - found.candidates:,}", "can be seen not to be in it: they fit no class")
    yield table
    if risks.unmatched:
        yield f"note: {risks.unmatched:,} classes have more records than people who fit them: the background table lacks people of the table"


def explanation_lines(explanation: Explanation) -> Iterator[Table | str]:
    """Both distributions side by side, the distance, and the plan behind it."""
    a, part, whole = explanation.attribute, explanation.part, explanation.whole
    n, size = int(whole.sum()), int(part.sum())
    asked = "" if a.asked.t is None else f", asked {_number(a.asked.t)}: {'holds' if explanation.emd <= a.asked.t else 'does NOT hold'}"
    yield f"Class {_labels(explanation.labels)}: {size:,} of {n:,} records"
    yield f"Earth mover's distance of {_safe(a.name)} ({a.asked.distance}): {_number(explanation.emd)} = {explanation.emd}{asked}"
    table = _table(f"Distribution of {_safe(a.name)}", "value", "class", "share of class", "share of table", "difference")
    shown = sorted(range(len(whole)), key=lambda i: -abs(part[i] / size - whole[i] / n))[:MOST_LINES]
    for i in sorted(shown):
        p, q = part[i] / size, whole[i] / n
        table.add_row(_value(a.values[i]), f"{part[i]:,}", f"{p:.4f}", f"{q:.4f}", f"{p - q:+.4f}")
    yield table
    if len(whole) > MOST_LINES:
        yield f"({len(whole) - MOST_LINES:,} values with smaller differences are left out; --json has all)"
    moves = _table("Transport plan: how the class's distribution becomes the table's", "move", "mass", "from", "to", "distance", "cost")
    plan = (
        sorted(explanation.plan.moves, key=lambda move: -move.cost) if len(explanation.plan.moves) > MOST_LINES else explanation.plan.moves
    )
    for number, move in enumerate(plan[:MOST_LINES], start=1):
        moves.add_row(
            str(number),
            _number(move.mass),
            _value(a.values[move.source]),
            _value(a.values[move.target]),
            _number(move.distance),
            _number(move.cost),
        )
    yield moves
    rest = plan[MOST_LINES:]
    left_out = (
        f" ({len(rest):,} cheaper moves that cost {_number(sum((m.cost for m in rest), Fraction(0)))} are left out; --json has all)"
        if rest
        else ""
    )
    yield f"The costs add up to {_number(explanation.plan.cost)}.{left_out}"


def _number(x: Any) -> str:
    return f"{float(x):.6g}" if isinstance(x, float | Fraction) else str(x)


def _value(value: str | None) -> str:
    return "missing" if value is None else _safe(value)


def _labels(labels: Mapping[str, Any]) -> str:
    return _safe(", ".join(f"{name}={'missing' if label is None else label!r}" for name, label in labels.items()))


def _safe(text: str) -> str:
    """Text in which brackets are no markup."""
    return text.replace("[", "\\[")
