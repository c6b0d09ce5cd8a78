"""Whom the rows of the audited table are about: columns that group them like persons or households,
in notes.
"""

from __future__ import annotations

from dataclasses import replace

from tclose_spark.auditing.parts.audited import AuditedTable
from tclose_spark.auditing.result import AuditResult
from tclose_spark.engine.sampling import sample_table
from tclose_spark.engine.tables import schema_of
from tclose_spark.table.column_names.hints import hint_of
from tclose_spark.table.columns.spark_types import readable
from tclose_spark.table.entities.finding import Subjects, find_subjects
from tclose_spark.table.entities.wording import Remedies, SubjectsWords

OPTIONS = Remedies(person="--person", alone="this note does not matter", household="--household")


def add_subjects(table: AuditedTable, result: AuditResult) -> AuditResult:
    """The result with notes on whom rows are about, over all columns of the table, unless people
    are counted.
    """
    question, opened = table.question, table.inputs.opened
    if question.persons or question.rows_are_persons:
        return result
    names = readable(schema_of(opened))
    sample = sample_table(opened, names, table.inputs.rows)
    found = find_subjects(sample, names, list(map(hint_of, names)))
    subjects = _beside({*question.labels, *question.quasi_identifiers}, found)
    notes = SubjectsWords(remedies=OPTIONS).notes(subjects, bool(question.households))
    return replace(result, notes=(*notes, *result.notes))


def _beside(labels: set[str], found: Subjects) -> Subjects:
    """Those that other columns than these show: labels of a class determine one another, and
    recur.
    """
    entities = tuple(one for one in found.entities if not labels & {*one.columns})
    unnamed = found.unnamed
    if unnamed is not None and labels & {*unnamed.columns}:
        unnamed = None
    return Subjects(entities=entities, unnamed=unnamed)
