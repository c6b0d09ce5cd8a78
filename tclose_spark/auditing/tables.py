"""Opens the tables of an audit, at paths or in memory, with the columns of its question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.engine.protocol import OpenedTable, Session, Table
from tclose_spark.engine.sources import checked, errors_translated, open_table, read_table
from tclose_spark.engine.tables import schema_of
from tclose_spark.runfile.spec import ReleaseSpec


@contextmanager
def opened_tables(
    session: Session,
    question: AuditQuestion,
    table: Any,
    reference: Any = None,
    background: Any = None,
    population: Any = None,
    *,
    earlier: Sequence[Any] = (),
    kind: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Iterator[tuple[AuditQuestion, Table, Table | None, Table | None, Table | None, list[Table]]]:
    """The question, over people if the table has the column of the run file's person; the table; the reference,
    background and population table if given; and the earlier ones. Read errors are raised as InputError.

    kind: the table's format, if its path does not show it. options: of Spark's reader, for all tables.
    """
    given, sensitive = options or {}, list(question.sensitive_attributes)
    reading = (question.renamed, question.missing_values)
    if question.unjudged_person is not None:
        there = open_table(
            session, table, [*question.labels, question.unjudged_person], kind, given, question.renamed
        ).table
        question = question.judging_people(schema_of(there).names)
    known = [*question.quasi_identifiers, *question.persons]
    others = [
        None if other is None else open_table(session, other, columns, None, given, *reading)
        for other, columns in ((reference, sensitive), (background, known), (population, known))
    ]
    columns = [*question.labels, *sensitive, *question.persons, *question.weights]
    opened = open_table(session, table, columns, kind, given, *reading)
    former = [open_table(session, one, columns, None, given, *reading) for one in earlier]
    with errors_translated(*[one for one in (opened, *others, *former) if one is not None]):
        reference, background, population = (None if other is None else other.table for other in others)
        yield question, opened.table, reference, background, population, [one.table for one in former]


def open_source(session: Session, spec: ReleaseSpec, columns: Sequence[str]) -> OpenedTable:
    """The input of a run file, checked for damaged text in these columns."""
    table = read_table(session, spec.input, columns=columns, codes=spec.missing_values)
    return checked(OpenedTable(table, spec.input, columns))
