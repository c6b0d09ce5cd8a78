"""(n, t)-closeness: t to natural supersets of a class."""

from __future__ import annotations

from dataclasses import replace

from tclose_spark.auditing.parts.part import AuditedTable, AuditPart, TalliedTable
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.checks.supersets import find_supersets, near_supersets
from tclose_spark.engine.protocol import Table
from tclose_spark.errors import ConfigurationError


class SupersetSearch(AuditPart):
    """With n, (n, t)-closeness is required, and t-closeness to the whole table only reported."""

    notes: tuple[str, ...] = ()
    """On supersets that were not tried."""

    def check(self, question: AuditQuestion, tables: AuditTables) -> None:
        if question.n is not None and tables.reference is not None:
            raise ConfigurationError(
                "--n and --reference: natural supersets are parts of the table, and the reference "
                "is another table; give one of the two"
            )

    def extended(self, classes: Table, table: TalliedTable) -> Table | None:
        question = table.question
        if question.n is None:
            return None
        found, notes = find_supersets(
            classes, table.tallies, table.quasi, table.attributes, question.n, question.supersets
        )
        self.notes = tuple(notes)
        return found

    def measure(self, table: AuditedTable, result: AuditResult) -> AuditResult:
        if table.question.n is None:
            return result
        near = [
            each.guarantee
            for each in near_supersets(table.classes, table.attributes, table.question.n)
        ]
        return replace(
            result, guarantees=(*result.guarantees, *near), notes=(*result.notes, *self.notes)
        )
