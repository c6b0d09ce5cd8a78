"""Reading inputs in this process, as `io.input.reading` reads them on Spark, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from tclose_spark.engine.local import delta_files, parquet_files
from tclose_spark.engine.local.counting import Counting, Counts, text_of, watched
from tclose_spark.engine.local.csv_files import open_csv
from tclose_spark.engine.local.table import LocalTable, frame_table
from tclose_spark.engine.local.table import NeedsSparkError as NeedsSparkError
from tclose_spark.engine.protocol import OpenedTable
from tclose_spark.io.input import problems
from tclose_spark.io.input.office_files import READERS, read_file
from tclose_spark.io.input.states import PATTERN, Commit, state_of_files, walked
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.storage.folders import local_path, place_of
from tclose_spark.io.storage.stores import Place, is_on_store, sorted_places
from tclose_spark.io.tables.delta_log import LOGS
from tclose_spark.runfile.loading import URI
from tclose_spark.runfile.spec import Input
from tclose_spark.table.column_names.names import renamed

HIDDEN = ("_", ".")  # first characters of names that Spark passes over


class LocalInputs:
    """The inputs of `engine.sources` in this process."""

    def read_table(
        self,
        session: LocalSession,
        source: Input,
        version: int | None = None,
        columns: Sequence[str] | None = None,
    ) -> LocalTable:
        """The raw table with its columns under their new names. A CSV file is read as text unless
        `inferSchema` is set.

        The partition that ends last raises InputError if rows are malformed, or if text of a column
        in use is not UTF-8 or holds NUL. A partition raises NeedsSparkError if only Spark can read
        its rows.

        version: of a Delta table (see `commit_of`), to read that state.
        columns: those in use, under their new names; None for all.

        Raises:
            InputError: if it is missing or cannot be read as its format, or lacks a column that has
                a new name.
            NeedsSparkError: if only Spark can read it.
        """
        schema, parts, parts_of = _read(session, source, version)
        names = renamed(schema.names, source.columns)
        by_name = dict(zip(names, schema.names, strict=True))
        texts = {
            by_name[name]: name
            for name in (names if columns is None else columns)
            if name in by_name
        }

        def table_of(
            held: pa.Schema,
            parts: Sequence[Counting],
            names: Sequence[str],
        ) -> LocalTable:
            kept = {name: new for name, new in texts.items() if new in names}
            table = LocalTable(session, held, watched(parts, source, kept))
            return table.renamed(names) if source.columns else table

        whole = table_of(schema, parts, names)
        if parts_of is None:
            return whole

        def reopened(chosen: Sequence[str], may_be_coded: bool) -> LocalTable:
            held = pa.schema([schema.field(by_name[name]) for name in chosen])
            return replace(table_of(held, parts_of(held, may_be_coded), chosen), reopened=reopened)

        return replace(whole, reopened=reopened)

    def frame_table(self, session: LocalSession, table: Any) -> LocalTable:
        """See `engine.sources`."""
        return frame_table(session, table)

    @contextmanager
    def viewed(self, session: LocalSession, table: Any, name: str) -> Iterator[None]:
        """See `engine.sources`."""
        session.views[name] = frame_table(session, table)
        try:
            yield
        finally:
            del session.views[name]

    def require_paths(self, places: Mapping[str, Any]) -> None:
        """See `engine.sources`."""
        for what, path in places.items():
            if isinstance(path, str) and URI.match(path) and not is_on_store(path):
                raise NeedsSparkError(f"the URI of {what}")

    def errors_translated(self, *tables: OpenedTable) -> AbstractContextManager[None]:
        """Errors are InputErrors already, as are those that the next methods raise on Spark."""
        return nullcontext()

    def checked(self, opened: OpenedTable) -> OpenedTable:
        """See `errors_translated`."""
        return opened

    def check_text(self, opened: OpenedTable) -> None:
        """See `errors_translated`."""

    def check_rows(self, opened: OpenedTable, malformed: int, rows: int) -> None:
        """See `errors_translated`."""

    def commit_of(self, session: LocalSession, source: Input) -> Commit | None:
        """The commit of a Delta input that is read; None for other inputs."""
        return (
            delta_files.commit_of_table(place_of_input(source), source)
            if source.format == "delta"
            else None
        )

    def input_state(
        self,
        session: LocalSession,
        source: Input,
        commit: Commit | None,
    ) -> str | None:
        """A value that changes whenever the input does; None for inputs without one, such as a
        table in memory.
        """
        if commit is not None:
            return commit.state
        if source.format in ("delta", "table"):
            return None
        try:
            return state_of_files(walked(place_of_input(source)))
        except OSError:
            return None


LOCAL_INPUTS = LocalInputs()


def _read(
    session: LocalSession,
    source: Input,
    version: int | None,
) -> tuple[pa.Schema, Sequence[Counting], Callable[[pa.Schema, bool], Sequence[Counting]] | None]:
    """(columns, partitions, what makes the partitions of some columns: see `partitions_of`) of the
    input. The last is None where all columns are read together.
    """
    if source.format == "table":
        if source.path not in session.views:
            raise NeedsSparkError(f"input.path: {source.path} is a table of a catalog")
        found = session.views[source.path]
        return *_held(found if isinstance(found, LocalTable) else frame_table(session, found)), None
    path = place_of_input(source)
    if not path.exists():
        raise problems.missing(source)
    if source.format in READERS:
        return *_held(frame_table(session, read_file(path, source))), None
    if source.format == "csv":
        return *open_csv(_files(path, source), source), None
    schema, files = open_files(path, source, version)
    parts_of = partial(parquet_files.partitions_of, files)
    return schema, parts_of(schema), parts_of


def _held(table: LocalTable) -> tuple[pa.Schema, list[Counting]]:
    """(columns, partitions) of a table in memory."""
    return table.schema, [partial(_frame_rows, part) for part in table.partitions]


def open_files(
    path: Place,
    source: Input,
    version: int | None,
    most: int | None = None,
) -> tuple[pa.Schema, list[parquet_files.ParquetFile]]:
    """(columns, files) of an input of Parquet or Delta at a place.

    Raises:
        InputError: if it cannot be read as its format.
        NeedsSparkError: if only Spark can read it, or it has more than `most` files.
    """
    if source.format == "delta":
        return delta_files.open_delta(path, source, version, most)
    return parquet_files.read_parquet(_files(path, source), source, most)


def _frame_rows(part: Any, counts: Counts) -> Iterator[pa.RecordBatch]:
    """The batches of a table in memory."""
    for batch in part():
        columns = [
            text_of(column.cast(pa.binary()), field.name, counts)
            if field.type == pa.string()
            else column
            for field, column in zip(batch.schema, batch.columns, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def place_of_input(source: Input) -> Place:
    """The file or folder of an input.

    Raises:
        NeedsSparkError: if only Spark reaches it.
    """
    reached = is_on_store(source.path) or local_path(source.path) is not None
    if (
        not reached
        or PATTERN & set(source.path)
        or (source.path.startswith("file:") and "%" in source.path)
    ):
        raise NeedsSparkError(f"input.path: {source.path} is behind a URI, or a pattern of names")
    return place_of(source.path)


def _files(path: Place, source: Input) -> list[Place]:
    """The files of an input of CSV or Parquet.

    Raises:
        InputError: if there is none, or it is a Delta table.
        NeedsSparkError: if it has folders, or is a part of a Delta table.
    """
    if (path / LOGS).is_dir():
        raise problems.is_delta(source)
    if delta_files.is_in_delta(path):
        raise NeedsSparkError(f"input.path: {source.path} is a part of a Delta table")
    found = [
        file
        for file in (sorted_places(path.iterdir()) if path.is_dir() else [path])
        if not _is_hidden(file.name)
    ]
    if any(file.is_dir() for file in found):
        raise NeedsSparkError(f"input.path: {source.path} has folders in it")
    if not found:
        raise problems.not_of_format(source, "UNABLE_TO_INFER_SCHEMA")
    return found


def _is_hidden(name: str) -> bool:
    return (
        (name.startswith(HIDDEN) and "=" not in name)
        or name.startswith(".")
        or name.endswith("._COPYING_")
    )
