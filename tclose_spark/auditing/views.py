"""Audits and explanations as tables for the terminal, readable from 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from rich.table import Table
from rich.text import Text

from tclose_spark.auditing.linkage import linkage_text
from tclose_spark.auditing.parts.attacks import attack_lines, background_lines
from tclose_spark.auditing.parts.population import risk_lines
from tclose_spark.auditing.parts.rare_cells import cell_lines, uniques_lines
from tclose_spark.auditing.parts.several_releases import releases_lines
from tclose_spark.auditing.result import AuditResult, ClassExplanation
from tclose_spark.auditing.texts import (
    MOST_LINES,
    achieved_text,
    guarantee_lines,
    labels_text,
    number_text,
    table_lines,
    value_text,
)
from tclose_spark.checks.labels.wildcards import MEASURE
from tclose_spark.measures.distances.transport import Move

VERDICTS = {
    "holds": "all requirements hold",
    "violated": "NOT all requirements hold",
    "measured": "nothing is required",
}


def audit_lines(audit: AuditResult, name: str) -> Iterator[Table | Text]:
    """The verdict, the guarantees, the attacks, the utility, and notes."""
    figures = audit.figures
    whose = "" if audit.people is None else f" of {sum(audit.people.values()):,} people"
    rows = f"{figures.rows:,} rows{whose} in {figures.classes:,} classes{strict_k(audit)}"
    yield Text(f"{name}: {rows}; {VERDICTS[audit.verdict]}")
    yield from guarantee_lines(audit.guarantees)
    if audit.attacks:
        yield from attack_lines(audit.attacks)
    if audit.background is not None:
        yield from background_lines(audit.background)
    if audit.special_uniques is not None:
        yield from uniques_lines(audit.special_uniques)
    if audit.cells is not None:
        yield from cell_lines(audit.cells)
    if audit.linkage is not None:
        yield Text(f"Linkage with the raw table: {linkage_text(audit.linkage)}")
    if audit.risks is not None:
        yield from risk_lines(audit.risks)
    if audit.together is not None:
        yield from releases_lines(audit.together)
    yield Text(f"Utility: information loss (NCP) {loss_text(audit)}")
    yield Text(
        f"  average class size {figures.rows / figures.classes:,.1f} (from {figures.smallest:,} to "
        f"{figures.largest:,}), discernibility {figures.discernibility:,}"
    )
    for note in audit.notes:
        yield Text(f"note: {note}")
    yield Text(
        "note: k, l and t do not protect membership in the table; --background TABLE measures it"
    )


def loss_text(audit: AuditResult) -> str:
    """The information loss of the table and of each quasi-identifier; `?` where it is unknown."""
    if not (audit.figures.losses or audit.understated):
        return "unknown, aggregates are published"
    losses = {**dict.fromkeys(audit.understated), **audit.figures.losses}
    each = ", ".join(f"{q} {'?' if loss is None else f'{loss:.4f}'}" for q, loss in losses.items())
    mean = (
        "?" if audit.ncp is None else f"{'at least ' if audit.understated else ''}{audit.ncp:.4f}"
    )
    return f"{mean} ({each})"


def explanation_lines(explanation: ClassExplanation) -> Iterator[Table | Text]:
    """Both distributions side by side, the distance, and the transport plan."""
    a = explanation.attribute
    part = explanation.part
    whole = explanation.whole
    n = int(whole.sum())
    size = int(part.sum())
    t = explanation.attribute.settings.t
    required = (
        ""
        if t is None
        else f", required {number_text(t)}: {'holds' if explanation.holds else 'does NOT hold'}"
    )
    yield Text(f"Class {labels_text(explanation.labels)}: {size:,} records, compared with {n:,}")
    yield Text(
        f"Earth mover's distance of {a.name} ({a.settings.distance}): "
        f"{number_text(explanation.emd)} = {explanation.emd}{required}"
    )
    rows = []
    for i in _shown_values(explanation):
        p = part[i] / size
        q = whole[i] / n
        rows.append(
            [value_text(a.values[i]), f"{part[i]:,}", f"{p:.4f}", f"{q:.4f}", f"{p - q:+.4f}"]
        )
    yield from table_lines(
        f"Distribution of {a.name} (shares)",
        ["value", "records", "class", "table", "difference"],
        rows,
    )
    if len(whole) > MOST_LINES:
        yield Text(
            f"({len(whole) - MOST_LINES:,} values with smaller differences are left out; --json "
            "has all)"
        )
    shown, rest = shown_moves(explanation)
    title = "Transport plan: how the class's distribution becomes the table's"
    yield from table_lines(
        title, ["move", "mass", "distance", "cost"], [_move(explanation, move) for move in shown]
    )
    cost = number_text(sum((move.cost for move in rest), Fraction(0)))
    left_out = (
        f" ({len(rest):,} cheaper moves, which cost {cost}, are left out; --json has all)"
        if rest
        else ""
    )
    yield Text(f"The costs add up to {number_text(explanation.plan.cost)}.{left_out}")


def strict_k(audit: AuditResult) -> str:
    """Both k for the headline, if the verdict is on one with missing values as any value."""
    found = {g.measure: achieved_text(g) for g in audit.guarantees}
    if MEASURE not in found:
        return ""
    return f", k {found[MEASURE]} if a missing value may be any, strictly {found['k-anonymity']}"


def shown_moves(explanation: ClassExplanation) -> tuple[list[Move], list[Move]]:
    """(the moves to show, those left out): if there are more than MOST_LINES, the most
    expensive.
    """
    moves = list(explanation.plan.moves)
    if len(moves) > MOST_LINES:
        moves.sort(key=lambda move: -move.cost)
    return moves[:MOST_LINES], moves[MOST_LINES:]


def _shown_values(explanation: ClassExplanation) -> list[int]:
    """The codes of the values to show, in order: if there are more than MOST_LINES, those whose
    shares differ most.
    """
    part = explanation.part
    whole = explanation.whole
    n = int(whole.sum())
    size = int(part.sum())
    return sorted(
        sorted(range(len(whole)), key=lambda i: -abs(part[i] / size - whole[i] / n))[:MOST_LINES]
    )


def _move(explanation: ClassExplanation, move: Move) -> list[str]:
    ends = [value_text(explanation.attribute.values[code]) for code in (move.source, move.target)]
    return [
        " -> ".join(ends),
        *(number_text(x) for x in (move.mass, Fraction(move.distance), move.cost)),
    ]
