"""Audits and explanations as pages: one self-contained HTML file each, in the design of the
reports.

An audit's page answers the three questions of WP216 by its figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tclose_spark.auditing.attacks.intersection_attack import Intersection
from tclose_spark.auditing.linkage import linkage_text
from tclose_spark.auditing.parts.population import (
    individual_texts,
    population_text,
    presence_text,
    uniques_text,
)
from tclose_spark.auditing.parts.several_releases import together_lines, values_left
from tclose_spark.auditing.result import AuditResult, ClassExplanation
from tclose_spark.auditing.texts import (
    achieved_text,
    cell_text,
    guarantee_name,
    number_text,
    required_text,
)
from tclose_spark.auditing.views import VERDICTS, shown_moves, strict_k
from tclose_spark.checks.classes.cells import CellFigures
from tclose_spark.measures.distances.bins import group_values
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
