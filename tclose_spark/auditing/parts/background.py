"""What an adversary with a list of people learns: the join, and the minimality attack."""

from __future__ import annotations

from dataclasses import replace

from tclose_spark.auditing.attacks.background import join_background
from tclose_spark.auditing.attacks.minimality_attack import guess_people
from tclose_spark.auditing.parts.part import AuditedTable, AuditPart
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.errors import ConfigurationError

SKIPPED = (
    "the minimality attack is not measured: too many classes, labels that are sets of values, or missing values "
    "that could be any"
)


class Background(AuditPart):
    """The join with the background table, if there is one, and guesses of its people if attacks are measured."""

    def check(self, question: AuditQuestion, tables: AuditTables) -> None:
        if tables.background is not None:
            require_labels(question, "--background")

    def measure(self, table: AuditedTable, result: AuditResult) -> AuditResult:
        question, background = table.question, table.inputs.background
        if background is None:
            return result
        whose = None if question.person is None else table.inputs.table
        joined = join_background(table.classes, background, table.quasi, table.trees, whose)
        if not question.attacks or not table.attributes:
            return replace(result, background=joined)
        guesses = guess_people(
            table.tallies, question.labels, background, table.quasi, table.trees, table.attributes, question.gain
        )
        notes = [SKIPPED] if len(guesses) < len(table.attributes) else []
        return replace(result, background=replace(joined, guesses=guesses), notes=(*result.notes, *notes))


def require_labels(question: AuditQuestion, option: str) -> None:
    """Raises ConfigurationError if the table has aggregates in place of labels, which this option needs."""
    if question.aggregates:
        raise ConfigurationError(
            f"{option}: people are joined by labels that cover their values, but with method.representative the "
            "table has aggregates, which cover nobody; leave it out"
        )
