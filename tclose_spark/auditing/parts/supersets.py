"""(n, t)-closeness: t to natural supersets of a class."""

from __future__ import annotations

from dataclasses import replace

from tclose_spark.auditing.parts.audited import AuditedTable
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.checks.supersets import near_supersets
from tclose_spark.errors import ConfigurationError


def check_supersets(question: AuditQuestion, tables: AuditTables) -> None:
    """Raises ConfigurationError if supersets are asked for of another table."""
    if question.n is not None and tables.reference is not None:
        raise ConfigurationError(
            "--n and --reference: natural supersets are parts of the table, and the reference "
            "is another table; give one of the two"
        )


def add_supersets(table: AuditedTable, result: AuditResult) -> AuditResult:
    """The result with (n, t)-closeness, if the question is about it. t-closeness to the whole table
    is only reported then.
    """
    n = table.question.n
    if n is None:
        return result
    near = [one.guarantee for one in near_supersets(table.classes, table.attributes, n)]
    return replace(
        result, guarantees=(*result.guarantees, *near), notes=(*result.notes, *table.untried)
    )
