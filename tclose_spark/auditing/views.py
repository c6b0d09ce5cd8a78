"""Audits and explanations as tables for the terminal, readable from 80 columns, and as pages: one
self-contained HTML file each, in the design of the reports.

An audit's page answers the three questions of WP216 by its figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from rich.table import Table
from rich.text import Text

from tclose_spark.auditing.attacks.intersection_attack import Intersection
from tclose_spark.auditing.linkage import linkage_text
from tclose_spark.auditing.parts.attacks import attack_lines, background_lines
from tclose_spark.auditing.parts.population import (
    individual_texts,
    population_text,
    presence_text,
    risk_lines,
    uniques_text,
)
from tclose_spark.auditing.parts.rare_cells import cell_lines, uniques_lines
from tclose_spark.auditing.parts.several_releases import releases_lines, together_lines, values_left
from tclose_spark.auditing.result import AuditResult, ClassExplanation
from tclose_spark.auditing.texts import (
    MOST_LINES,
    achieved_text,
    cell_text,
    guarantee_lines,
    guarantee_name,
    labels_text,
    number_text,
    required_text,
    table_lines,
    value_text,
)
from tclose_spark.checks.classes.cells import CellFigures
from tclose_spark.checks.labels.wildcards import MEASURE
from tclose_spark.measures.distances.bins import group_values
from tclose_spark.measures.distances.transport import Move
from tclose_spark.report.page import render
from tclose_spark.report.plots import lines
from tclose_spark.report.three_questions import (
    OTHER_COLUMNS,
    OTHER_MEMBERS,
    OTHER_TABLES,
    Question,
    questions,
)
from tclose_spark.requirements.criterion import OVER_PEOPLE, Guarantee
from tclose_spark.runfile.privacy import RISKS
from tclose_spark.table.writing import number

VERDICTS = {
    "holds": "all requirements hold",
    "violated": "NOT all requirements hold",
    "measured": "nothing is required",
}


def audit_lines(audit: AuditResult, name: str) -> Iterator[Table | Text]:
    """The verdict, the guarantees, the attacks, the utility, and notes."""
    figures = audit.figures
    whose = f" of {sum(audit.people.values()):,} people" if audit.people else ""
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
        f"{figures.largest:,}), discernibility {figures.discernibility:,}",
    )
    for note in audit.notes:
        yield Text(f"note: {note}")
    yield Text(
        "note: k, l and t do not protect membership in the table; --background TABLE measures it",
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
        f"{number_text(explanation.emd)} = {explanation.emd}{required}",
    )
    rows = []
    for i in _shown_values(explanation):
        p = part[i] / size
        q = whole[i] / n
        rows.append(
            [value_text(a.values[i]), f"{part[i]:,}", f"{p:.4f}", f"{q:.4f}", f"{p - q:+.4f}"],
        )
    yield from table_lines(
        f"Distribution of {a.name} (shares)",
        ["value", "records", "class", "table", "difference"],
        rows,
    )
    if len(whole) > MOST_LINES:
        yield Text(
            f"({len(whole) - MOST_LINES:,} values with smaller differences are left out; --json "
            "has all)",
        )
    shown, rest = shown_moves(explanation)
    title = "Transport plan: how the class's distribution becomes the table's"
    yield from table_lines(
        title,
        ["move", "mass", "distance", "cost"],
        [_move(explanation, move) for move in shown],
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
        sorted(range(len(whole)), key=lambda i: -abs(part[i] / size - whole[i] / n))[:MOST_LINES],
    )


def _move(explanation: ClassExplanation, move: Move) -> list[str]:
    ends = [value_text(explanation.attribute.values[code]) for code in (move.source, move.target)]
    return [
        " -> ".join(ends),
        *(number_text(x) for x in (move.mass, Fraction(move.distance), move.cost)),
    ]


def audit_page(audit: AuditResult, name: str = "table") -> str:
    """The page of an audit: verdict, guarantees with their worst classes, attacks, utility, notes.

    It shows labels of classes and sensitive values; that of `audit.without_labels()` does not.
    """
    estimated = None if audit.risks is None else audit.risks.uniques
    return render(
        "audit.html.j2",
        name=name,
        verdict=audit.verdict,
        said=VERDICTS[audit.verdict],
        strict_k=strict_k(audit),
        guarantees=[_shown(g) for g in audit.guarantees],
        audit=audit,
        together=audit.together,
        together_said=[] if audit.together is None else [*together_lines(audit.together)],
        together_guarantees=[]
        if audit.together is None
        else [_shown(g, cell_text(g.worst)) for g in audit.together.guarantees],
        of_cells=isinstance(audit.together, CellFigures),
        left=values_left(audit.together) if isinstance(audit.together, Intersection) else [],
        figures=audit.figures,
        joined=audit.background,
        uniques=audit.special_uniques,
        cells=audit.cells,
        linkage=None if audit.linkage is None else linkage_text(audit.linkage),
        questions=questions_of(audit),
        risks=audit.risks,
        population=None if audit.risks is None else population_text(audit.risks),
        population_uniques=None if estimated is None else uniques_text(estimated),
        individual=[] if audit.risks is None else individual_texts(audit.risks),
        presence=None
        if audit.risks is None or audit.risks.presence is None
        else presence_text(audit.risks.presence),
    )


def _shown(g: Guarantee, cell: str = "") -> tuple[str, str, str, Guarantee, str]:
    """A guarantee as texts, and its worst cell if it is of cells."""
    return guarantee_name(g), required_text(g), achieved_text(g), g, cell


def explanation_page(explanation: ClassExplanation, name: str = "table") -> str:
    """The page of an explained class: both distributions side by side, the distance, and the
    transport plan.
    """
    a = explanation.attribute
    part = explanation.part
    whole = explanation.whole
    size = int(part.sum())
    rows = int(whole.sum())
    groups = group_values(a.values, part, whole, a.distance.features.cumulative, a.hierarchy)
    shown, left_out = shown_moves(explanation)
    return render(
        "explanation.html.j2",
        name=name,
        explanation=explanation,
        attribute=a.name,
        distance=a.settings.distance,
        emd=number_text(explanation.emd),
        asked=None if a.settings.t is None else number_text(a.settings.t),
        holds=explanation.holds,
        size=size,
        rows=rows,
        distribution=lines(
            [group.name for group in groups],
            [
                ("class", [group.part / size for group in groups]),
                ("table", [group.whole / rows for group in groups]),
            ],
            description=f"Shares of the values of {a.name} in the class and in the table; figures are "
            "below",
            across="share of the records",
        ),
        groups=groups,
        moved=float(sum(move.mass for move in explanation.plan.moves)),
        moves=[(a.values[move.source], a.values[move.target], move) for move in shown],
        left_out=len(left_out),
    )


def questions_of(audit: AuditResult) -> list[Question]:
    """The questions about an audited table. What was not asked for is named by its option."""
    rare = {"--special-uniques": audit.special_uniques, "--cells": audit.cells}
    linked: dict[str, object] = {
        "--raw": audit.linkage,
        "--background": audit.background,
        "--population": audit.risks,
        "--earlier": audit.together,
    }
    values = {
        "--sensitive": audit.question.sensitive_attributes or None,
        "attacks": audit.attacks or None,
    }
    return questions(
        (_singling_out(audit), _unmeasured(OTHER_COLUMNS, rare)),
        (_linkability(audit), _unmeasured(OTHER_TABLES, linked)),
        (_inference(audit), _unmeasured(OTHER_MEMBERS, values)),
    )


def _unmeasured(always: str, by_option: Mapping[str, object]) -> Iterator[str]:
    yield always
    yield from (option for option, found in by_option.items() if found is None)


def _singling_out(audit: AuditResult) -> Iterator[str]:
    yield f"the smallest class has {number(audit.figures.smallest)} rows"
    if (people := audit.figures.of(f"k-anonymity{OVER_PEOPLE}")) is not None:
        yield f"no class has fewer than {number(people.achieved)} people"
    if (found := audit.special_uniques) is not None:
        yield f"{number(found.unique)} rows are unique by at most {found.searched} quasi-identifiers"
    if (cells := audit.cells) is not None:
        yield (
            f"{number(cells.rare_rows)} rows are in a rare cell of at most {len(cells.below)} "
            "quasi-identifiers"
        )


def _linkability(audit: AuditResult) -> Iterator[str]:
    chance, mean = audit.figures.chance
    yield (
        f"the chance to pick a person's row in its class is {number(chance)} at most, "
        f"{number(mean)} on average"
    )
    if audit.linkage is not None:
        yield f"linkage with the raw table: {linkage_text(audit.linkage)}"
    if (joined := audit.background) is not None and joined.risks.marketer is not None:
        yield (
            f"with the background table, {number(float(joined.risks.marketer))} of records are "
            "named correctly"
        )
    for kind, risk in audit.risks.risks.items() if audit.risks is not None else ():
        yield f"{RISKS[kind]}: {number(float(risk.maximum))} at most"
    for g in audit.together.guarantees if audit.together is not None else ():
        yield f"several releases together, {guarantee_name(g)}: {achieved_text(g)}"


def _inference(audit: AuditResult) -> Iterator[str]:
    yield from (f"{guarantee_name(g)}: {achieved_text(g)}" for g in audit.guarantees if g.attribute)
    yield from (
        f"{e.attack}, {e.attribute}: exposes {number(e.people)} rows" for e in audit.attacks
    )
