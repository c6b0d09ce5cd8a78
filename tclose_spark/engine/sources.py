"""The tables that a run or an audit reads, on either engine, and what their errors mean."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from tclose_spark.engine.protocol import Session, Table
from tclose_spark.engine.tables import session_of
from tclose_spark.errors import InputError
from tclose_spark.io.input.states import Commit
from tclose_spark.io.local_session import is_local
from tclose_spark.runfile.spec import Input


def read_table(
    session: Session, source: Input, version: int | None = None, columns: Sequence[str] | None = None
) -> Table:
    """The raw table with its columns under their new names. A CSV file is read as text unless `inferSchema` is set.

    version: of a Delta or Iceberg table (see `commit_of`), to read that state.
    columns: those in use, under their new names; None for all. The text of others may be damaged.

    Raises:
        InputError: if it is missing or cannot be read as its format, or lacks a column that has a new name.
        NeedsSparkError: if only Spark can read it.
    """
    if is_local(session):
        from tclose_spark.engine.local import reading

        return reading.read_table(session, source, version, columns)
    from tclose_spark.io.input import reading as spark_reading

    return spark_reading.read_table(session, source, version)


def commit_of(session: Session, source: Input) -> Commit | None:
    """The commit of a Delta or Iceberg input that is read; None for other inputs."""
    if is_local(session):
        from tclose_spark.engine.local import reading

        return reading.commit_of(source)
    from tclose_spark.io.input import input_state as spark_state

    return spark_state.commit_of(session, source)


def input_state(session: Session, source: Input, commit: Commit | None) -> str | None:
    """A value that changes whenever the input does; None for inputs without one, such as a view."""
    if is_local(session):
        from tclose_spark.engine.local import reading

        return reading.input_state(source, commit)
    from tclose_spark.io.input import input_state as spark_state

    return spark_state.input_state(session, source, commit)


@dataclass(frozen=True)
class OpenedTable:
    """A table that was read from a source, with the columns in use. Spark's errors need a translation; the local engine
    raises InputErrors itself.
    """

    table: Table
    source: Input
    columns: Sequence[str]

    def errors_translated(self) -> AbstractContextManager[None]:
        """Turns errors of tasks that read the table into InputErrors."""
        if is_local(session_of(self.table)):
            return nullcontext()
        from tclose_spark.io.input.spark.damaged_text import translate_read_errors

        return translate_read_errors(self._of_spark())

    def check_text(self) -> None:
        """Raises InputError if a column of text has bytes that are invalid in its encoding, or NUL."""
        if not is_local(session_of(self.table)):
            from tclose_spark.io.input.spark.damaged_text import check_text

            check_text(self._of_spark())

    def malformed_rows(self, malformed: int, rows: int) -> InputError:
        """The error for a CSV file with malformed rows."""
        from tclose_spark.io.input.spark.damaged_text import malformed_rows

        return malformed_rows(self._of_spark(), malformed, rows)

    def _of_spark(self) -> Any:
        from tclose_spark.io.input.spark.damaged_text import SourceTable

        return SourceTable(self.table, self.source, self.columns)
