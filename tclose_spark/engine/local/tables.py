"""The operations of `engine.tables` in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Generic
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.engine.local import files as local_files
from tclose_spark.engine.local.files import Partition
from tclose_spark.engine.local.table import LocalTable
from tclose_spark.engine.protocol import How, Mapper, Value
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.storage.folders import Folder, place_of
from tclose_spark.io.storage.stores import Place, sorted_places
from tclose_spark.runfile.columns import ByColumn
from tclose_spark.table.columns.missing import pattern_of, without_codes
from tclose_spark.table.columns.parquet import FILE, TABLE
from tclose_spark.table.columns.spark_types import is_unsupported
from tclose_spark.table.dictionaries import of_values

FUNCTIONS = {"sum": pc.sum, "min": pc.min, "max": pc.max}


class LocalEngine:
    """See `engine.tables`."""

    in_process = True

    def session_of(self, table: LocalTable) -> LocalSession:
        return table.session

    def schema_of(self, table: LocalTable) -> pa.Schema:
        return table.schema

    def of_arrow(self, session: LocalSession, table: pa.Table) -> LocalTable:
        return LocalTable.of(session, table)

    def select(self, table: LocalTable, names: Sequence[str]) -> LocalTable:
        places = [table.schema.get_field_index(name) for name in names]
        if min(places, default=0) < 0:
            raise KeyError(f"{places.count(-1)} columns are not in the table, or stand there twice")
        if table.reopened is not None:
            return table.reopened(names, False)

        def picked(part: Partition) -> Iterator[pa.RecordBatch]:
            for batch in part():
                yield pa.RecordBatch.from_arrays(
                    [batch.column(i) for i in places],
                    names=list(names),
                )

        schema = pa.schema([table.schema.field(i) for i in places])
        return LocalTable(
            table.session,
            schema,
            tuple(partial(picked, part) for part in table.partitions),
        )

    def rename(self, table: LocalTable, names: Sequence[str]) -> LocalTable:
        return table.renamed(names)

    def read_as_missing(self, table: LocalTable, codes: ByColumn) -> LocalTable:
        fields = [
            field
            for field in table.schema
            if codes.get(field.name) and not is_unsupported(field.type)
        ]
        patterns = {
            one.name: pattern_of(codes[one.name], pa.types.is_string(one.type)) for one in fields
        }

        def read(part: Partition) -> Iterator[pa.RecordBatch]:
            for batch in part():
                for name in patterns.keys() & {*batch.schema.names}:
                    place = batch.schema.get_field_index(name)
                    column = of_values(batch[name], partial(without_codes, pattern=patterns[name]))
                    batch = batch.set_column(
                        place,
                        batch.schema.field(place).with_type(column.type),
                        column,
                    )
                yield batch

        parts = tuple(partial(read, part) for part in table.partitions)
        again = table.reopened
        reopened = again and (lambda names, coded: self.read_as_missing(again(names, coded), codes))
        return replace(table, partitions=parts, reopened=reopened)

    def union(self, tables: Sequence[LocalTable]) -> LocalTable:
        parts = tuple(part for table in tables for part in table.partitions)
        return LocalTable(tables[0].session, tables[0].schema, parts)

    def map_batches(
        self,
        table: LocalTable,
        mapper: Mapper,
        schema: pa.Schema,
        may_be_coded: bool = False,
    ) -> LocalTable:
        if may_be_coded and table.reopened is not None:
            table = table.reopened(table.columns, True)
        parts = tuple(partial(lambda part: mapper(part()), part) for part in table.partitions)
        return LocalTable(table.session, schema, parts)

    def send_to_tasks(
        self,
        table: LocalTable,
        mapper: Mapper,
        schema: pa.Schema,
        tasks: int,
    ) -> LocalTable:
        sent = self.map_batches(table, mapper, schema)

        def by_task() -> dict[int, list[pa.RecordBatch]]:
            found: dict[int, list[pa.RecordBatch]] = {}
            for part in sent.compute():
                for batch in part:
                    numbers = pc.fill_null(batch.column(0), 0).to_numpy() % tasks
                    for number in sorted({*numbers.tolist()}):
                        found.setdefault(number, []).append(
                            batch.filter(pa.array(numbers == number)),
                        )
            return found

        once = _Once(by_task)
        return LocalTable(
            table.session,
            schema,
            tuple(partial(once.part, number) for number in range(tasks)),
        )

    def gather(self, table: LocalTable, keys: Sequence[str]) -> LocalTable:
        def sorted_rows() -> dict[int, list[pa.RecordBatch]]:
            order = [(name, "ascending") for name in keys]
            return {
                0: table.collect().sort_by(order).to_batches()
                if keys
                else table.collect().to_batches(),
            }

        return LocalTable(table.session, table.schema, (partial(_Once(sorted_rows).part, 0),))

    def combine(
        self,
        table: LocalTable,
        keys: Sequence[str],
        values: Mapping[str, How],
    ) -> LocalTable:
        def combined() -> dict[int, list[pa.RecordBatch]]:
            grouped = (
                table.collect()
                .group_by(list(keys), use_threads=False)
                .aggregate(list(values.items()))
            )
            made = grouped.select([*keys, *(f"{name}_{how}" for name, how in values.items())])
            return {0: made.rename_columns([*keys, *values]).to_batches()}

        fields = [table.schema.field(name) for name in (*keys, *values)]
        return LocalTable(table.session, pa.schema(fields), (partial(_Once(combined).part, 0),))

    def observe(
        self,
        table: LocalTable,
        values: Mapping[str, How],
    ) -> tuple[LocalTable, Callable[[], Mapping[str, Any]]]:
        # Of a partition's last computation.
        seen: list[list[pa.RecordBatch]] = [[] for _ in table.partitions]

        def watched(place: int, part: Partition) -> Iterator[pa.RecordBatch]:
            seen[place] = []
            for batch in part():
                seen[place].append(
                    pa.RecordBatch.from_arrays(
                        [batch[name] for name in values],
                        names=list(values),
                    ),
                )
                yield batch

        def read() -> Mapping[str, Any]:
            batches = [batch for part in seen for batch in part]
            found = (
                pa.Table.from_batches(batches)
                if batches
                else pa.table({name: [None] for name in values})
            )
            return {name: FUNCTIONS[how](found[name]).as_py() for name, how in values.items()}

        parts = tuple(partial(watched, i, part) for i, part in enumerate(table.partitions))
        return LocalTable(table.session, table.schema, parts), read

    def lost_executors(self, session: LocalSession) -> frozenset[str]:
        return frozenset()

    def collect(self, table: LocalTable, most: int | None = None) -> pa.Table:
        return table.collect() if most is None else table.collect().slice(0, most)

    def keep(self, table: LocalTable) -> AbstractContextManager[LocalTable]:
        held = table.compute()
        parts = tuple(partial(lambda batches: batches, batches) for batches in held)
        return nullcontext(LocalTable(table.session, table.schema, parts))

    def sized_shuffles(self, session: LocalSession, rows: int) -> AbstractContextManager[None]:
        return nullcontext()

    def task_sum(
        self,
        session: LocalSession,
        empty: Callable[[], Value],
        merge: Callable[[Value, Value], Value],
    ) -> LocalTaskSum[Value]:
        return LocalTaskSum(empty, merge)

    def write_rows(self, table: LocalTable, path: str) -> None:
        local_files.write_rows(table.partitions, table.schema, place_of(path), dictionaries=False)

    def read_rows(self, session: LocalSession, path: str, schema: pa.Schema) -> LocalTable:
        return LocalTable(
            session,
            schema,
            local_files.read_parts(sorted_places(place_of(path).glob("*.parquet")), schema),
        )

    def read_delta(
        self,
        session: LocalSession,
        path: str,
        version: int | None = None,
    ) -> LocalTable:
        schema, listed = local_files.read_log(place_of(path), version)
        return LocalTable(session, schema, local_files.read_parts(listed, schema))

    def write_delta(self, table: LocalTable, path: str) -> None:
        local_files.write_delta_files(table.partitions, table.schema, path)

    def write_and_read(self, table: LocalTable, path: str) -> LocalTable:
        self.write_delta(table, path)
        return self.read_delta(table.session, path)

    def read_files(
        self,
        session: LocalSession,
        folder: str,
        kinds: Iterable[pa.DataType],
    ) -> LocalTable:
        schema = pa.schema([("path", pa.string()), ("content", pa.binary())])

        def content(file: Place) -> Iterator[pa.RecordBatch]:
            yield pa.RecordBatch.from_arrays(
                [pa.array([str(file)]), pa.array([file.read_bytes()])],
                schema=schema,
            )

        found = sorted_places(place_of(folder).glob("*.parquet"))
        return LocalTable(session, schema, tuple(partial(content, file) for file in found))

    def write_tables(
        self,
        files: LocalTable,
        schemas: Mapping[str, pa.Schema],
        folder: Folder,
        trusts_text_writer: bool,
    ) -> None:
        written: dict[str, list[Place]] = {name: [] for name in schemas}
        places = {name: place_of(folder.path(name)) for name in schemas}
        for name, place in places.items():
            folder.remove(name)
            place.mkdir(parents=True)

        def write(part: Partition) -> None:
            for batch in part():
                for name, content in zip(batch[TABLE].to_pylist(), batch[FILE], strict=True):
                    if content.is_valid:
                        file = places[name] / f"part-{uuid4()}.parquet"
                        file.write_bytes(content.as_buffer())
                        written[name].append(file)

        with ThreadPoolExecutor(files.session.threads) as pool:
            list(pool.map(write, files.partitions))
        for name, schema in schemas.items():
            local_files.write_log(folder.path(name), schema, sorted_places(written[name]))


class _Once:
    """Parts that are computed together, when the first of them is needed."""

    def __init__(self, compute: Callable[[], Mapping[int, list[pa.RecordBatch]]]) -> None:
        self._compute, self._lock = compute, threading.Lock()
        self._parts: Mapping[int, list[pa.RecordBatch]] | None = None
        self._error: BaseException | None = None

    def part(self, number: int) -> list[pa.RecordBatch]:
        """The batches of a part. An error is raised for all parts, and nothing is computed
        again.
        """
        with self._lock:
            if self._error is not None:
                raise self._error
            if self._parts is None:
                try:
                    self._parts = self._compute()
                except BaseException as error:
                    self._error = error
                    raise
        return self._parts.get(number, [])


class LocalTaskSum(Generic[Value]):
    """See `TaskSum`."""

    counts = True

    def __init__(self, empty: Callable[[], Value], merge: Callable[[Value, Value], Value]) -> None:
        self._sum, self._merge, self._lock = empty(), merge, threading.Lock()

    def add(self, part: Value) -> None:
        with self._lock:
            self._sum = self._merge(self._sum, part)

    @property
    def value(self) -> Value:
        return self._sum
