"""The class table as a file."""

from __future__ import annotations

from tclose_spark.auditing.parts.audited import AuditedTable
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.engine.tables import write_delta
from tclose_spark.errors import InputError
from tclose_spark.io.storage.folders import private


def check_class_file(question: AuditQuestion, tables: AuditTables) -> None:
    """Raises InputError if a Delta table cannot hold the class table that the question asks for."""
    if question.classes_output is None:
        return
    for column in (*question.labels, *question.sensitive_attributes):
        if set(column) & set(" ,;{}()\n\t="):
            raise InputError(
                f"--classes-output: a Delta table cannot hold the column name {column!r}; "
                "rename it (no blanks or , ; { } ( ) =)"
            )


def write_class_file(table: AuditedTable, result: AuditResult) -> AuditResult:
    """The same result. Writes the class table as Delta, if the question names a path."""
    path = table.question.classes_output
    if path is not None:
        with private(path):
            write_delta(table.classes, path)
    return result
