"""The table of the local engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from tclose_spark.engine.local.files import Partition
from tclose_spark.io.local_session import LocalSession


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
            [field.with_name(name) for field, name in zip(self.schema, names, strict=True)]
        )
        return LocalTable(
            self.session, schema, tuple(partial(rename, part) for part in self.partitions)
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
