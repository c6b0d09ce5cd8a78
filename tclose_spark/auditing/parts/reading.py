"""How labels and values of the table are read, in notes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tclose_spark.auditing.inputs import mixed_missing_notes
from tclose_spark.auditing.parts.part import AuditedTable, AuditPart
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.checks.warnings import padded_order
from tclose_spark.engine.tables import schema_of
from tclose_spark.runfile.release_form import COUNT
from tclose_spark.runfile.text import count_spellings


class Reading(AuditPart):
    """Notes on bounds, labels, missing values, spellings, and orders."""

    counts_rows = False
    """Whether the table has a column that says how many rows a row stands for, as the tables of an
    anatomy.
    """

    def check(self, question: AuditQuestion, tables: AuditTables) -> None:
        self.counts_rows = COUNT in schema_of(tables.table).names

    def measure(self, table: AuditedTable, result: AuditResult) -> AuditResult:
        notes = [
            *table.inputs.notes,
            *mixed_missing_notes(table.inputs.table, table.question),
            *table.label_notes,
        ]
        return replace(
            result,
            notes=(
                *notes,
                *_value_notes(table),
                *_missing_notes(table.question),
                *self._rows(table),
            ),
            understated=tuple(
                q.name for q in table.quasi if q.covers and (q.loss.unknown or q.loss.understated)
            ),
        )

    def _rows(self, table: AuditedTable) -> list[str]:
        if not self.counts_rows or COUNT in (
            *table.question.labels,
            *table.question.sensitive_attributes,
        ):
            return []
        return [
            f"the column {COUNT} is not read: each row of the table is one row, also if it stands "
            "for several"
        ]


def _value_notes(table: AuditedTable) -> Iterator[str]:
    """A note on each sensitive attribute that has a value in several spellings, or unused values in
    its order.
    """
    for a, values in zip(table.attributes, table.counts, strict=True):
        many = count_spellings(values)
        if many:
            yield (
                f"{a.name}: {many} of its values differ from another only by case, spaces, width "
                "or Unicode form; they count as different values in l and in every distance"
            )
    for a, values in zip(table.attributes, table.counts, strict=True):
        yield from padded_order(a, values)


def _missing_notes(question: AuditQuestion) -> list[str]:
    """What is measured if missing quasi-identifiers could be any value."""
    if not any(q.missing == "any" for q in question.quasi_identifiers.values()):
        return []
    if question.persons:
        return [
            "missing: any is in the joins with lists of people only; k, l and t are of classes "
            "with equal labels"
        ]
    return [
        "missing: any is in k and in the joins with lists of people; l and t are of classes with "
        "equal labels"
    ]
