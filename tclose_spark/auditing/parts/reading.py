"""How the table is read, in notes: its labels and values, and whom its rows are about, by columns
that group them like persons or households.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tclose_spark.auditing.inputs import mixed_missing_notes
from tclose_spark.auditing.parts.audited import AuditedTable
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import AuditResult
from tclose_spark.checks.warnings import padded_order
from tclose_spark.engine.sampling import sample_table
from tclose_spark.engine.tables import schema_of
from tclose_spark.runfile.release_form import COUNT
from tclose_spark.runfile.text import count_spellings
from tclose_spark.table.column_names.hints import hint_of
from tclose_spark.table.columns.spark_types import readable
from tclose_spark.table.entities.finding import Subjects, find_subjects
from tclose_spark.table.entities.wording import Remedies, SubjectsWords

OPTIONS = Remedies(person="--person", alone="this note does not matter", household="--household")


def add_reading(table: AuditedTable, result: AuditResult) -> AuditResult:
    """The result with notes on bounds, labels, missing values, spellings, and orders."""
    notes = [
        *table.inputs.notes,
        *mixed_missing_notes(table.inputs.table, table.question),
        *table.label_notes,
        *_value_notes(table),
        *_missing_notes(table.question),
        *_count_notes(table),
    ]
    understated = [
        q.name for q in table.quasi if q.covers and (q.loss.unknown or q.loss.understated)
    ]
    return replace(result, notes=tuple(notes), understated=tuple(understated))


def _count_notes(table: AuditedTable) -> list[str]:
    """A note if a column says how many rows a row stands for, as in the tables of an anatomy."""
    read = (*table.question.labels, *table.question.sensitive_attributes)
    if COUNT in read or COUNT not in schema_of(table.inputs.opened).names:
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


def add_subjects(table: AuditedTable, result: AuditResult) -> AuditResult:
    """The result with notes on whom rows are about, over all columns of the table, unless people
    are counted.
    """
    question = table.question
    opened = table.inputs.opened
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
