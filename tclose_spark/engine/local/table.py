"""The table of the local engine. A table in memory has the columns and types that Spark gives
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from tclose_spark.engine.local.files import Partition
from tclose_spark.errors import ConfigurationError
from tclose_spark.io.input.arrow_frames import as_arrow, is_spark, readable
from tclose_spark.io.local_session import LocalSession
from tclose_spark.table.columns.spark_types import (
    NAMES,
    UNREADABLE,
    is_unsupported,
    type_name,
    unsupported_field,
)


@dataclass(frozen=True)
class LocalTable:
    """A lazy table of this process.

    reopened: `reopened(names, may_be_coded)` is the table with these columns alone; the others are
        not read from its files.
    may_be_coded: see `ParquetFile.batches`. None where all columns are read together.
    """

    session: LocalSession
    schema: pa.Schema
    partitions: tuple[Partition, ...]
    reopened: Callable[[Sequence[str], bool], LocalTable] | None = None

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        names: list[str] = self.schema.names
        return names

    @staticmethod
    def of(session: LocalSession, table: pa.Table, rows: int = 1 << 16) -> LocalTable:
        """A table in memory, in batches of at most so many rows."""
        batches = table.to_batches(max_chunksize=rows)
        return LocalTable(session, table.schema, (lambda: batches,))

    def renamed(self, names: Sequence[str]) -> LocalTable:
        """The table with its columns under these names."""

        def rename(part: Partition) -> Iterator[pa.RecordBatch]:
            return (batch.rename_columns(names) for batch in part())

        schema = pa.schema(
            [field.with_name(name) for field, name in zip(self.schema, names, strict=True)],
        )
        return LocalTable(
            self.session,
            schema,
            tuple(partial(rename, part) for part in self.partitions),
        )

    def compute(self) -> list[list[pa.RecordBatch]]:
        """The batches of each partition."""
        if len(self.partitions) < 2:
            return [list(part()) for part in self.partitions]
        with ThreadPoolExecutor(self.session.threads) as pool:
            return list(pool.map(lambda part: list(part()), self.partitions))

    def collect(self) -> pa.Table:
        """The rows in memory."""
        batches = [batch for part in self.compute() for batch in part]
        return pa.Table.from_batches(batches, None if batches else self.schema)


BATCH = 1 << 16  # rows


def frame_table(session: LocalSession, table: Any) -> LocalTable:
    """A table in memory with the columns and types that Spark gives it.

    Raises:
        InputError: naming a column that occurs twice, or whose values fit no column type.
        NeedsSparkError: if it is a DataFrame of Spark, or a column has a type that Spark may have.
    """
    if is_spark(table):
        raise NeedsSparkError("a table is a DataFrame of Spark")
    given = as_arrow(table)
    arrow, lost = readable(given)
    fields = []
    arrays = []
    for field, column in zip(arrow.schema, arrow.columns, strict=True):
        why = lost.get(field.name, "").encode() or (
            given.schema.field(field.name).metadata or {}
        ).get(UNREADABLE)
        made = _frame_field(field)
        if made.type != column.type:
            column = pa.nulls(len(column)) if is_unsupported(made.type) else column.cast(made.type)
        fields.append(made.with_metadata({UNREADABLE: why}) if why else made)
        arrays.append(column)
    return LocalTable.of(session, pa.table(arrays, pa.schema(fields)), BATCH)


def _frame_field(field: pa.Field) -> pa.Field:
    """A column with the type that Spark gives it."""
    kind = field.type
    if is_unsupported(kind):
        return unsupported_field(field.name, type_name(field))
    if pa.types.is_timestamp(kind):
        kind = pa.timestamp("us", "UTC" if kind.tz else None)
    if pa.types.is_fixed_size_binary(kind) and not pa.types.is_decimal(kind):
        kind = pa.binary()
    if pa.types.is_decimal(kind):
        kind = pa.decimal128(kind.precision, kind.scale)
    elif kind not in NAMES:
        raise NeedsSparkError(f"column {field.name!r} of the table is of type {kind}")
    return pa.field(field.name, kind)


ADVICE = "; try engine: spark"
"""The end of each message. Spark may still find that the input is damaged."""


class NeedsSparkError(ConfigurationError):
    """An input that the local engine does not read exactly as Spark does."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}, which the local engine does not read{ADVICE}")
