"""The operations on tables that stages, checks and audits use, on either engine.

A table is a DataFrame of Spark or a `LocalTable`; its own engine carries the operation out. All
work on rows is done by pure functions of Arrow batches (`Mapper`), which are the same on both.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import reduce
from typing import Any

import pyarrow as pa

from tclose_spark.engine.local.table import LocalTable
from tclose_spark.engine.local.tables import LocalEngine
from tclose_spark.engine.protocol import Engine, How, Mapper, Session, Table, TaskSum, Value
from tclose_spark.errors import TcloseError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.storage.folders import Folder
from tclose_spark.runfile.columns import ByColumn

TRIES = 3  # of work that loses executors
MOST_JOINING = 64  # tasks that join what others found, before the caller does
_LOCAL = LocalEngine()
_PARTS = pa.schema([("part", pa.binary())])


class MixedTasksError(Exception):
    """A partition has rows of several tasks, so this Spark partitions differently."""


def engine_of(held: Session | Table) -> Engine:
    """The engine of a session or a table."""
    if isinstance(held, LocalSession | LocalTable):
        return _LOCAL
    from tclose_spark.engine.spark.tables import SPARK

    return SPARK


def session_of(table: Table) -> Session:
    """The session that a table belongs to."""
    return engine_of(table).session_of(table)


def schema_of(table: Table) -> pa.Schema:
    """The columns of a table as Arrow types, with the metadata of its fields (see
    `io.tables.columns`). A type that no release has is null, with its name in the metadata
    (`type_name`).
    """
    return engine_of(table).schema_of(table)


def of_arrow(session: Session, table: pa.Table) -> Table:
    """A small Arrow table as a table of the session."""
    return engine_of(session).of_arrow(session, table)


def select(table: Table, names: Sequence[str]) -> Table:
    """The columns of exactly these names, in this order. Others are not read."""
    return engine_of(table).select(table, names)


def rename(table: Table, names: Sequence[str]) -> Table:
    """The table with its columns under these names."""
    return engine_of(table).rename(table, names)


def read_as_missing(table: Table, codes: ByColumn) -> Table:
    """The table with these codes of its columns as missing values. codes: by column; of other
    columns, none counts.
    """
    return engine_of(table).read_as_missing(table, codes) if codes else table


def union(tables: Sequence[Table]) -> Table:
    """The rows of all tables, which have the same columns of the same types. There is at least one
    table.
    """
    return engine_of(tables[0]).union(tables)


def map_batches(
    table: Table,
    mapper: Mapper,
    schema: pa.Schema,
    may_be_coded: bool = False,
) -> Table:
    """The rows that a mapper makes of each partition. may_be_coded: whether the mapper also takes
    text as dictionaries, which some inputs have.
    """
    return engine_of(table).map_batches(table, mapper, schema, may_be_coded)


def send_to_tasks(table: Table, mapper: Mapper, schema: pa.Schema, tasks: int) -> Table:
    """`map_batches`, in `tasks` partitions: each row goes to the partition whose number is its
    first column, an int32. Other numbers count modulo `tasks`. No partition is joined or split.
    """
    return engine_of(table).send_to_tasks(table, mapper, schema, tasks)


def joining_tasks(values: int, a_task: int) -> int:
    """The number of tasks that join values found by other tasks, `a_task` each, before the caller
    receives them. Few, because a task that joins little costs more than it saves.

    >>> joining_tasks(1, 100), joining_tasks(250, 100), joining_tasks(10**9, 100)
    (1, 3, 64)
    """
    return min(MOST_JOINING, max(1, -(-values // a_task)))


def the_task(numbers: pa.Array | pa.ChunkedArray) -> int:
    """The one number of all rows of a partition of `send_to_tasks`.

    Raises:
        MixedTasksError: if they have several.
    """
    (number, *others) = numbers.unique().to_pylist()
    if others:
        raise MixedTasksError
    return int(number)


def gather(table: Table, keys: Sequence[str]) -> Table:
    """The rows with equal keys in one partition, one after another."""
    return engine_of(table).gather(table, keys)


def combine(table: Table, keys: Sequence[str], values: Mapping[str, How]) -> Table:
    """One row for each tuple of keys (NULL equals NULL), with the values of its rows combined: the
    keys, then these columns.
    """
    return engine_of(table).combine(table, keys, values)


def observe(
    table: Table,
    values: Mapping[str, How],
) -> tuple[Table, Callable[[], Mapping[str, Any]]]:
    """(the table, a function that returns these columns combined over all rows once the table was
    computed). A task that fails and is tried again counts once. If the table is shuffled later, and
    an executor is lost, the rows that Spark computes again count twice: see `again_if_disturbed`.
    """
    return engine_of(table).observe(table, values)


def again_if_disturbed(
    session: Session,
    work: Callable[[], Value],
    is_sound: Callable[[Value], bool],
    counts: Callable[[Value], Any],
) -> Value:
    """The result of work. If an executor was lost meanwhile, rows may have been counted twice (see
    `observe`). Unless the result is sound, the work is then done again, until it loses no executor
    or its counts are those of an earlier time.

    Raises:
        TcloseError: if that takes more than TRIES times.
    """
    engine = engine_of(session)
    before = list[Any]()
    for _ in range(TRIES):
        lost = engine.lost_executors(session)
        result = work()
        if is_sound(result) or engine.lost_executors(session) <= lost or counts(result) in before:
            return result
        before.append(counts(result))
    raise TcloseError(
        f"executors were lost {TRIES} times, and counts of rows differ each time; run the command "
        "again",
    )


def collect(table: Table, most: int | None = None) -> pa.Table:
    """The rows in memory; only `most` of them if that is given."""
    return engine_of(table).collect(table, most)


def merged(
    table: Table,
    part: Callable[[pa.RecordBatch], Value],
    merge: Callable[[Value, Value], Value],
) -> Value:
    """The parts of a table with rows, which are those of its batches. Each task merges its own, and
    the caller those of all tasks.
    """

    def of_task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = [part(batch) for batch in batches if batch.num_rows]
        if parts:
            sent = pa.array([pickle.dumps(reduce(merge, parts))], pa.binary())
            yield pa.RecordBatch.from_arrays([sent], schema=_PARTS)

    sent = collect(map_batches(table, of_task, _PARTS))["part"].to_pylist()
    parts: Iterable[Value] = map(pickle.loads, sent)
    return reduce(merge, parts)


def belongs_here(table: Table, rows: int, most: int) -> bool:
    """Whether this process should hold a table with so many rows: it has at most `most`, or its
    engine holds tables in this process anyway.
    """
    return rows <= most or engine_of(table).in_process


def keep(table: Table) -> AbstractContextManager[Table]:
    """A table that the body reads more than once, computed once."""
    return engine_of(table).keep(table)


def sized_shuffles(session: Session, rows: int) -> AbstractContextManager[None]:
    """Inside the body, shuffles have as many tasks as suit a table of so many rows."""
    return engine_of(session).sized_shuffles(session, rows)


def task_sum(
    session: Session,
    empty: Callable[[], Value],
    merge: Callable[[Value, Value], Value],
) -> TaskSum[Value]:
    """A sum over tasks. merge: returns its first argument, changed to include the second."""
    return engine_of(session).task_sum(session, empty, merge)


def write_rows(table: Table, path: str) -> None:
    """Writes a table as Parquet files, whose values may be batches of rows."""
    engine_of(table).write_rows(table, path)


def read_rows(session: Session, path: str, schema: pa.Schema) -> Table:
    """The table of these columns that `write_rows` wrote."""
    return engine_of(session).read_rows(session, path, schema)


def read_delta(session: Session, path: str, version: int | None = None) -> Table:
    """The Delta table at a path, at a version (None: the last)."""
    return engine_of(session).read_delta(session, path, version)


def write_delta(table: Table, path: str) -> None:
    """Writes a Delta table with its rows and nothing else: no statistics in its log, no change
    feed, no column comments.

    Raises:
        ConfigurationError: if there is a table at the path already.
    """
    engine_of(table).write_delta(table, path)


def write_and_read(table: Table, path: str) -> Table:
    """A table that is written to a path as Delta and then read from there."""
    return engine_of(table).write_and_read(table, path)


def write_tables(
    files: Table,
    schemas: Mapping[str, pa.Schema],
    folder: Folder,
    trusts_text_writer: bool = True,
) -> None:
    """Writes the tables that these files form as Delta tables into a folder, replacing tables of
    the same names. Their logs contain no statistics and no commit information.

    files: TABLE and FILE (see `table.columns.parquet`), and columns that are ignored; evaluated
        once.
    trusts_text_writer: false to let Delta write the rows on Spark.

    Raises:
        ChangedFileError: if Spark's text writer changed the first file. No table is written then.
    """
    engine_of(files).write_tables(files, schemas, folder, trusts_text_writer)


def read_files(session: Session, folder: str, kinds: Iterable[pa.DataType]) -> Table | None:
    """The Parquet files in a folder: `path` and `content`; None if tasks have to read the table
    instead: values of these types may be other text there, or this session may not open files
    (shared platforms refuse files beside a Delta log).
    """
    return engine_of(session).read_files(session, folder, kinds)


@contextmanager
def errors_of_tasks(*kinds: type[Exception]) -> Iterator[None]:
    """Raises errors of these kinds that tasks raised as such, with their message. Spark has them as
    text.
    """
    try:
        yield
    except kinds:
        raise
    except Exception as error:
        if type(error).__module__.startswith(("pyspark", "py4j")):
            for kind in kinds:
                found = re.search(rf"\b{kind.__name__}: (.+)", str(error)) or re.search(
                    rf"^[\w.]*\b{kind.__name__}()$",
                    str(error),
                    re.MULTILINE,
                )
                if found:
                    raise kind(found[1]) from None
        raise
