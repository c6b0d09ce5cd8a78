"""What an adversary with a list of people learns: the join, and the minimality attack."""

from __future__ import annotations

from dataclasses import replace

from tclose_spark.auditing.attacks.background import BackgroundJoin, join_background
from tclose_spark.auditing.attacks.minimality_attack import guess_people
from tclose_spark.auditing.parts.audited import AuditedTable
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.errors import ConfigurationError

SKIPPED = (
    "the minimality attack is not measured: too many classes, labels that are sets of values, or "
    "missing values that could be any"
)


def check_background(question: AuditQuestion, tables: AuditTables) -> None:
    """Raises ConfigurationError if people cannot be joined by labels."""
    if tables.background is not None:
        require_labels(question, "--background")


def add_background(table: AuditedTable, result: AuditResult) -> AuditResult:
    """The result with the join with the background table, if there is one, and guesses of its
    people if attacks are measured.
    """
    question, background = table.question, table.inputs.background
    if background is None:
        return result
    whose = table.inputs.table if question.persons else None
    joined = join_background(table.classes, background, table.quasi, table.trees, whose)
    result = replace(result, notes=(*result.notes, *_notes(joined)))
    if not question.attacks or not table.attributes:
        return replace(result, background=joined)
    guesses = guess_people(table.labelled, background, table.trees, table.attributes, question.gain)
    notes = [SKIPPED] if len(guesses) < len(table.attributes) else []
    return replace(
        result, background=replace(joined, guesses=guesses), notes=(*result.notes, *notes)
    )


def _notes(joined: BackgroundJoin) -> list[str]:
    """What a list of people that does not fit the table means for the figures."""
    if not joined.candidates:
        return [
            "no row of the background table fits any class; check that it writes values as the "
            "table does"
        ]
    if joined.risks.unmatched:
        return [
            f"{joined.risks.unmatched:,} classes have more records than rows of the background "
            "table that fit them, so it does not list everyone"
        ]
    return []


def require_labels(question: AuditQuestion, option: str) -> None:
    """Raises ConfigurationError if the table has aggregates in place of labels, which this option
    needs.
    """
    if question.aggregates:
        raise ConfigurationError(
            f"{option}: people are joined by labels that cover their values, but with "
            "method.representative the table has aggregates, which cover nobody; leave it out"
        )
