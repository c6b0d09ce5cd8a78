"""Opens the tables of an audit, at paths or in memory, with the columns of its question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.engine.protocol import OpenedTable, Session, Table
from tclose_spark.engine.sources import checked, errors_translated, frame_table, read_table
from tclose_spark.engine.tables import rename, schema_of
from tclose_spark.errors import InputError
from tclose_spark.io.input.table_argument import source_of, unread
from tclose_spark.runfile.spec import FRAME, Input
from tclose_spark.table.column_names.names import renamed


@contextmanager
def opened_tables(
    session: Session,
    question: AuditQuestion,
    table: Any,
    reference: Any = None,
    background: Any = None,
    population: Any = None,
    *,
    kind: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Iterator[tuple[Table, Table | None, Table | None, Table | None]]:
    """The table, and the reference, background and population table if given. Read errors are raised as InputError.

    kind: the table's format, if its path does not show it. options: of Spark's reader, for all tables.
    """
    given, sensitive, quasi = options or {}, list(question.sensitive_attributes), list(question.quasi_identifiers)
    others = [
        None if other is None else open_table(session, other, columns, None, given, question.renamed)
        for other, columns in ((reference, sensitive), (background, [*quasi, *question.persons]), (population, quasi))
    ]
    columns = [*question.labels, *sensitive, *question.persons, *question.weights]
    opened = open_table(session, table, columns, kind, given, question.renamed)
    with errors_translated(*[one for one in (opened, *others) if one is not None]):
        reference, background, population = (None if other is None else other.table for other in others)
        yield opened.table, reference, background, population


def open_table(
    session: Session,
    table: Any,
    columns: Sequence[str],
    kind: str | None,
    options: Mapping[str, str],
    new_names: Mapping[str, str] = MappingProxyType({}),
) -> OpenedTable:
    """A table in memory, or at a path with the format `kind` (by default that of the path), checked for damaged text in
    these columns. new_names: of columns that the table has under their old names only.
    """
    if not isinstance(table, str):
        frame = frame_table(session, table)
        names = schema_of(frame).names
        frame = rename(frame, renamed(names, _needed(new_names, names, columns)))
        return OpenedTable(frame, Input(path=FRAME, format="table"), columns)
    source = source_of(table, kind, options)
    try:
        read = read_table(session, source, columns=columns)
        needed = _needed(new_names, schema_of(read).names, columns)
        if needed:
            source = source.model_copy(update={"columns": needed})
            read = read_table(session, source, columns=columns)
    except InputError as error:
        raise unread(error, source) from None
    return checked(OpenedTable(read, source, columns))


def open_source(session: Session, source: Input, columns: Sequence[str]) -> OpenedTable:
    """The table at a source, checked for damaged text in these columns."""
    return checked(OpenedTable(read_table(session, source, columns=columns), source, columns))


def _needed(new_names: Mapping[str, str], there: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """The new names without which a column would be missing."""
    return {old: new for old, new in new_names.items() if new in columns and new not in there and old in there}
