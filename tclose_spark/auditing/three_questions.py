"""The three questions of WP216, answered by the figures of an audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tclose_spark.auditing.linkage import linkage_text
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.texts import achieved_text, guarantee_name
from tclose_spark.report.three_questions import (
    OTHER_COLUMNS,
    OTHER_MEMBERS,
    OTHER_TABLES,
    Question,
    questions,
)
from tclose_spark.requirements.criterion import OVER_PEOPLE
from tclose_spark.runfile.population import RISKS
from tclose_spark.table.writing import number


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
