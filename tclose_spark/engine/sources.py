"""The tables that a run or an audit reads, on either engine, and what their errors mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any, NamedTuple

from tclose_spark.engine.protocol import Inputs, OpenedTable, Session, Table
from tclose_spark.engine.tables import read_as_missing, rename, schema_of, session_of
from tclose_spark.errors import InputError
from tclose_spark.io.input.csv_options import numerals_of
from tclose_spark.io.input.files import source_of, unread
from tclose_spark.io.input.problems import note
from tclose_spark.io.input.sniffing import completed
from tclose_spark.io.input.states import Commit
from tclose_spark.io.local_session import is_local
from tclose_spark.runfile.columns import ByColumn
from tclose_spark.runfile.spec import FRAME, Input
from tclose_spark.table.column_names.names import renamed

NO_CODES: ByColumn = MappingProxyType({})


class RunColumns(NamedTuple):
    """What a run file changes about the columns of its input.

    new_names: of columns, by their old ones. codes: see `read_table`.
    """

    new_names: Mapping[str, str] = MappingProxyType({})
    codes: ByColumn = NO_CODES


UNCHANGED = RunColumns()


def _inputs(session: Session) -> Inputs:
    """Those of the session's engine."""
    if is_local(session):
        from tclose_spark.engine.local.reading import LOCAL_INPUTS

        return LOCAL_INPUTS
    from tclose_spark.engine.spark.reading import SPARK_INPUTS

    return SPARK_INPUTS


def read_table(
    session: Session,
    source: Input,
    version: int | None = None,
    columns: Sequence[str] | None = None,
    codes: ByColumn = NO_CODES,
) -> Table:
    """The raw table with its columns under their new names. A CSV file is read as text unless
    `inferSchema` is set; options that are left open are those of `io.input.sniffing.completed`.

    version: of a Delta or Iceberg table (see `commit_of`), to read that state.
    columns: those in use, under their new names; None for all. The text of others may be damaged.
    codes: by column, under its new name, the values that are read as missing.

    Raises:
        InputError: if it is missing or cannot be read as its format, or lacks a column that has a
            new name.
        NeedsSparkError: if only Spark can read it.
    """
    source = completed(source, columns or ())
    table = _inputs(session).read_table(session, source, version, columns)
    names = list(schema_of(table).names)
    unnamed = [
        name for place, name in enumerate(names) if source.format == "csv" and name == f"_{place}"
    ]
    if unnamed:
        note(f"{source.path} has columns without a name, which are called {', '.join(unnamed)}")
    return read_as_missing(table, _as_read(codes, source))


def frame_table(session: Session, table: Any) -> Table:
    """A table in memory as one of the session.

    Raises:
        InputError: naming a column that occurs twice, or whose values fit no column type.
        NeedsSparkError: if only Spark can read it.
    """
    return _inputs(session).frame_table(session, table)


def viewed(session: Session, table: Any, name: str) -> AbstractContextManager[None]:
    """Makes a table in memory a view of this name during the body."""
    return _inputs(session).viewed(session, table, name)


def require_paths(session: Session, places: Mapping[str, Any]) -> None:
    """Raises NeedsSparkError if one of these places is a URI that the session does not reach.
    places: by name.
    """
    _inputs(session).require_paths(places)


def commit_of(session: Session, source: Input) -> Commit | None:
    """The commit of a Delta or Iceberg input that is read; None for other inputs."""
    return _inputs(session).commit_of(session, source)


def input_state(session: Session, source: Input, commit: Commit | None) -> str | None:
    """A value that changes whenever the input does; None for inputs without one, such as a view."""
    return _inputs(session).input_state(session, source, commit)


def errors_translated(*tables: OpenedTable) -> AbstractContextManager[None]:
    """Turns errors of tasks that read these tables into InputErrors. tables: of one session, at
    least one.
    """
    return _inputs_of(tables[0]).errors_translated(*tables)


def checked(opened: OpenedTable) -> OpenedTable:
    """The table without a mark of malformed rows. At most one pass over it.

    Raises:
        InputError: if rows are malformed, or text is not in its encoding. The local engine does so
            when it reads them.
    """
    return _inputs_of(opened).checked(opened)


def check_text(opened: OpenedTable) -> None:
    """Raises InputError if a column of text has bytes that are invalid in its encoding, or NUL. The
    local engine does so when it reads them.
    """
    _inputs_of(opened).check_text(opened)


def check_rows(opened: OpenedTable, malformed: int, rows: int) -> None:
    """Raises InputError if `malformed` of the `rows` of a CSV file are marked so. The local engine
    marks none: it raises the error when it reads them.
    """
    _inputs_of(opened).check_rows(opened, malformed, rows)


def open_table(
    session: Session,
    table: Any,
    columns: Sequence[str],
    kind: str | None,
    options: Mapping[str, str],
    changed: RunColumns = UNCHANGED,
) -> OpenedTable:
    """A table in memory, or at a path with the format `kind` (by default that of the path), checked
    for damaged text in these columns. changed: as in the run's input; a new name is of a column
    that the table has under its old name only.
    """
    new_names, codes = changed
    if not isinstance(table, str):
        frame = frame_table(session, table)
        names = schema_of(frame).names
        frame = rename(frame, renamed(names, _needed(new_names, names, columns)))
        return OpenedTable(
            read_as_missing(frame, codes),
            Input(path=FRAME, format="table"),
            columns,
        )
    source = completed(source_of(table, kind, options), columns, may_leave_out=True)
    try:
        read = read_table(session, source, columns=columns)
        needed = _needed(new_names, schema_of(read).names, columns)
        if needed:
            source = source.model_copy(update={"columns": needed})
            read = read_table(session, source, columns=columns)
    except InputError as error:
        raise unread(error, source) from None
    return checked(OpenedTable(read_as_missing(read, _as_read(codes, source)), source, columns))


def _as_read(codes: ByColumn, source: Input) -> ByColumn:
    """The codes as the values of a source are read: texts with marks of thousands are numbers
    without them.
    """
    numerals = numerals_of(source) if source.format == "csv" else None
    if numerals is None:
        return codes
    return {name: [numerals.read(code) for code in of_column] for name, of_column in codes.items()}


def _needed(
    new_names: Mapping[str, str],
    there: Sequence[str],
    columns: Sequence[str],
) -> dict[str, str]:
    """The new names without which a column would be missing."""
    return {
        old: new
        for old, new in new_names.items()
        if new in columns and new not in there and old in there
    }


def _inputs_of(opened: OpenedTable) -> Inputs:
    return _inputs(session_of(opened.table))
