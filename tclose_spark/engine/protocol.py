"""The operations that an engine offers on tables of Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

import pyarrow as pa

from tclose_spark.engine.local.table import LocalTable
from tclose_spark.io.input.states import Commit
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.storage.folders import Folder
from tclose_spark.runfile.columns import ByColumn
from tclose_spark.runfile.spec import Input
from tclose_spark.table.arrays import Mapper as Mapper

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Table: TypeAlias = "DataFrame | LocalTable"
"""A table of an engine. Lazy: it is computed when it is collected, written or kept."""

Session: TypeAlias = "SparkSession | LocalSession"

Own = Any
"""A table or a session of one engine, which has to be that of the function that takes it."""

How = Literal["sum", "min", "max"]
"""How the values of a column are combined; missing values count for nothing."""

Value = TypeVar("Value")


class TaskSum(Protocol[Value]):
    """A sum that tasks add to and the caller reads after the write; a repeated task counts once."""

    @property
    def counts(self) -> bool:
        """Whether this session counts. Sessions without a Spark context of their own (Spark
        Connect) do not.
        """
        ...

    def add(self, part: Value) -> None:
        """In a task: adds a part."""
        ...

    @property
    def value(self) -> Value | None:
        """The sum; None if this session does not count."""
        ...


@dataclass(frozen=True)
class OpenedTable:
    """A table that was read from a source, with the columns in use."""

    table: Table
    source: Input
    columns: Sequence[str]


class Inputs(Protocol):
    """See the functions of the same names in `sources`."""

    def read_table(
        self,
        session: Own,
        source: Input,
        version: int | None,
        columns: Sequence[str] | None,
    ) -> Table: ...

    def frame_table(self, session: Own, table: Any) -> Table: ...

    def viewed(self, session: Own, table: Any, name: str) -> AbstractContextManager[None]: ...

    def require_paths(self, places: Mapping[str, Any]) -> None: ...

    def commit_of(self, session: Own, source: Input) -> Commit | None: ...

    def input_state(self, session: Own, source: Input, commit: Commit | None) -> str | None: ...

    def errors_translated(self, *tables: OpenedTable) -> AbstractContextManager[None]: ...

    def checked(self, opened: OpenedTable) -> OpenedTable: ...

    def check_text(self, opened: OpenedTable) -> None: ...

    def check_rows(self, opened: OpenedTable, malformed: int, rows: int) -> None: ...


class Engine(Protocol):
    """See the functions of the same names in `tables`."""

    in_process: bool

    def session_of(self, table: Own) -> Session: ...

    def schema_of(self, table: Own) -> pa.Schema: ...

    def of_arrow(self, session: Own, table: pa.Table) -> Table: ...

    def rename(self, table: Own, names: Sequence[str]) -> Table: ...

    def select(self, table: Own, names: Sequence[str]) -> Table: ...

    def read_as_missing(self, table: Own, codes: ByColumn) -> Table: ...

    def union(self, tables: Sequence[Own]) -> Table: ...

    def map_batches(
        self,
        table: Own,
        mapper: Mapper,
        schema: pa.Schema,
        may_be_coded: bool = False,
    ) -> Table: ...

    def send_to_tasks(self, table: Own, mapper: Mapper, schema: pa.Schema, tasks: int) -> Table: ...

    def gather(self, table: Own, keys: Sequence[str]) -> Table: ...

    def combine(self, table: Own, keys: Sequence[str], values: Mapping[str, How]) -> Table: ...

    def observe(
        self,
        table: Own,
        values: Mapping[str, How],
    ) -> tuple[Table, Callable[[], Mapping[str, Any]]]: ...

    def lost_executors(self, session: Own) -> frozenset[str]: ...

    def collect(self, table: Own, most: int | None = None) -> pa.Table: ...

    def keep(self, table: Own) -> AbstractContextManager[Table]: ...

    def sized_shuffles(self, session: Own, rows: int) -> AbstractContextManager[None]: ...

    def task_sum(
        self,
        session: Own,
        empty: Callable[[], Value],
        merge: Callable[[Value, Value], Value],
    ) -> TaskSum[Value]: ...

    def write_rows(self, table: Own, path: str) -> None: ...

    def read_rows(self, session: Own, path: str, schema: pa.Schema) -> Table: ...

    def read_delta(self, session: Own, path: str, version: int | None) -> Table: ...

    def write_delta(self, table: Own, path: str) -> None: ...

    def write_and_read(self, table: Own, path: str) -> Table: ...

    def read_files(
        self,
        session: Own,
        folder: str,
        kinds: Iterable[pa.DataType],
    ) -> Table | None: ...

    def write_tables(
        self,
        files: Own,
        schemas: Mapping[str, pa.Schema],
        folder: Folder,
        trusts_text_writer: bool,
    ) -> None: ...
