"""Opens the tables of an audit, at paths or in memory, with the columns of its question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.engine.protocol import Session, Table
from tclose_spark.engine.sources import OpenedTable
from tclose_spark.engine.tables import map_batches, schema_of
from tclose_spark.errors import InputError
from tclose_spark.io.input.arrow_frames import is_spark
from tclose_spark.io.input.table_argument import source_of, unread
from tclose_spark.io.local_session import is_local
from tclose_spark.runfile.spec import FRAME, Input
from tclose_spark.table.column_names.names import renamed


@contextmanager
def opened_tables(
    session: Session,
    question: AuditQuestion,
    table: Any,
    reference: Any = None,
    background: Any = None,
    *,
    kind: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Iterator[tuple[Table, Table | None, Table | None]]:
    """The table, and the reference and background table if given. Read errors are raised as InputError.

    kind: the table's format, if its path does not show it. options: of Spark's reader, for all tables.
    """
    given, sensitive = options or {}, list(question.sensitive_attributes)
    others = [
        None if other is None else open_table(session, other, columns, None, given, question.renamed)
        for other, columns in ((reference, sensitive), (background, list(question.quasi_identifiers)))
    ]
    opened = open_table(session, table, [*question.labels, *sensitive], kind, given, question.renamed)
    with errors_translated(session, *[one for one in (opened, *others) if one is not None]):
        reference, background = (None if other is None else other.table for other in others)
        yield opened.table, reference, background


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
        return OpenedTable(_frame(session, table, columns, new_names), Input(path=FRAME, format="table"), columns)
    source = source_of(table, kind, options)
    try:
        read = _read(session, source, columns)
        needed = _needed(new_names, schema_of(read).names, columns)
        if needed:
            source = source.model_copy(update={"columns": needed})
            read = _read(session, source, columns)
    except InputError as error:
        raise unread(error, source) from None
    return _checked(session, OpenedTable(read, source, columns))


def open_source(session: Session, source: Input, columns: Sequence[str]) -> OpenedTable:
    """The table at a source, checked for damaged text in these columns."""
    return _checked(session, OpenedTable(_read(session, source, columns), source, columns))


def _checked(session: Session, opened: OpenedTable) -> OpenedTable:
    """The table, checked here on Spark. The local engine checks it when it reads it."""
    if is_local(session):
        return opened
    from tclose_spark.io.input.spark.damaged_text import SourceTable, checked

    with errors_translated(session, opened):
        return replace(opened, table=checked(SourceTable(**vars(opened))))


def errors_translated(session: Session, *tables: OpenedTable) -> AbstractContextManager[None]:
    """Turns errors of tasks that read these tables into InputErrors."""
    if is_local(session):
        return nullcontext()
    from tclose_spark.io.input.spark.damaged_text import SourceTable, translate_read_errors

    return translate_read_errors(*[SourceTable(**vars(opened)) for opened in tables])


def _read(session: Session, source: Input, columns: Sequence[str]) -> Table:
    if is_local(session):
        from tclose_spark.engine.local import reading

        return reading.read_table(session, source, columns=columns)
    from tclose_spark.io.input.reading import read_table

    return read_table(session, source)


def _frame(session: Session, table: Any, columns: Sequence[str], new_names: Mapping[str, str]) -> Table:
    """A table in memory."""
    if not is_local(session):
        from tclose_spark.io.input.frames import as_dataframe

        frame = as_dataframe(session, table)
        return frame.toDF(*renamed(frame.columns, _needed(new_names, frame.columns, columns)))
    from tclose_spark.engine.local.reading import NeedsSparkError, frame_table

    if is_spark(table):
        raise NeedsSparkError("a table is a DataFrame of Spark")
    made = frame_table(session, table)
    names = renamed(made.columns, _needed(new_names, made.columns, columns))
    schema = pa.schema([field.with_name(name) for field, name in zip(made.schema, names, strict=True)])

    def rename(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (batch.rename_columns(names) for batch in batches)

    return map_batches(made, rename, schema)


def _needed(new_names: Mapping[str, str], there: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """The new names without which a column would be missing."""
    return {old: new for old, new in new_names.items() if new in columns and new not in there and old in there}
