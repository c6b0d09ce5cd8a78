"""The operations of `engine.tables` on DataFrames of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import reduce
from typing import Any, Generic

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.errors import PySparkException, PySparkTypeError
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type

from tclose_spark.engine.protocol import How, Mapper, Value
from tclose_spark.engine.spark.task_files import TaskFiles, frame_of, opened_by_tasks
from tclose_spark.io.spark import cluster
from tclose_spark.io.spark.cluster import REFUSALS, java_of
from tclose_spark.io.storage.folders import NO_PATTERN, Folder, for_spark
from tclose_spark.io.tables import delta
from tclose_spark.io.tables.columns import UNREADABLE, UNSUPPORTED, quoted
from tclose_spark.runfile.columns import ByColumn
from tclose_spark.runfile.spec import Input
from tclose_spark.table.columns.missing import pattern_of
from tclose_spark.table.columns.spark_types import NAMES, TYPE

SAME_TEXT = {pa.string(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.bool_()}
"""Types whose text does not depend on the time zone of a session, nor on how a file stores them."""
FUNCTIONS = {"sum": F.sum, "min": F.min, "max": F.max}
SparkTable = DataFrame | TaskFiles


def _opened(
    table: SparkTable,
    mapper: Mapper,
    may_be_coded: bool = False,
) -> tuple[DataFrame, Mapper]:
    """(table of Spark, mapper), by which Spark or the tasks open the files of a table."""
    return table.opening(mapper, may_be_coded) if isinstance(table, TaskFiles) else (table, mapper)


def spark_schema(schema: pa.Schema) -> Any:
    """An Arrow schema as Spark's."""
    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def arrow_schema(table: DataFrame) -> pa.Schema:
    """See `engine.tables.schema_of`."""
    fields = []
    for field in table.schema.fields:
        metadata = {}
        if UNREADABLE in field.metadata:
            metadata[UNREADABLE.encode()] = field.metadata[UNREADABLE].encode()
        left_behind = field.metadata.get(TYPE.decode())
        is_unsupported = left_behind is not None or isinstance(field.dataType, UNSUPPORTED)
        kind = pa.null() if is_unsupported else _arrow_type(field.dataType)
        if pa.types.is_null(kind):
            metadata[TYPE] = (left_behind or field.dataType.simpleString()).encode()
        fields.append(pa.field(field.name, kind, metadata=metadata or None))
    return pa.schema(fields)


def _arrow_type(kind: T.DataType) -> pa.DataType:
    """The Arrow type of values that a release can have; null for others, such as times without a
    day.
    """
    try:
        found = to_arrow_type(kind)
    except PySparkTypeError:
        return pa.null()
    return found if found in NAMES or pa.types.is_decimal(found) else pa.null()


class SparkEngine:
    """See `engine.tables`."""

    in_process = False

    def session_of(self, table: SparkTable) -> SparkSession:
        return frame_of(table).sparkSession

    def schema_of(self, table: SparkTable) -> pa.Schema:
        return arrow_schema(frame_of(table))

    def of_arrow(self, session: SparkSession, table: pa.Table) -> DataFrame:
        return session.createDataFrame(table, spark_schema(table.schema))

    def select(self, table: SparkTable, names: Sequence[str]) -> Any:
        return (
            table.select(names)
            if isinstance(table, TaskFiles)
            else table.select(*map(quoted, names))
        )

    def rename(self, table: SparkTable, names: Sequence[str]) -> Any:
        return table.rename(names) if isinstance(table, TaskFiles) else table.toDF(*names)

    def read_as_missing(self, table: SparkTable, codes: ByColumn) -> DataFrame:
        def read(field: T.StructField) -> Column:
            column = quoted(field.name)
            if not codes.get(field.name) or isinstance(field.dataType, UNSUPPORTED):
                return column
            pattern = pattern_of(codes[field.name], isinstance(field.dataType, T.StringType))
            coded = column.cast("string").rlike(pattern)
            return F.when(coded, None).otherwise(column).alias(field.name, metadata=field.metadata)

        return frame_of(table).select(*map(read, frame_of(table).schema.fields))

    def union(self, tables: Sequence[SparkTable]) -> DataFrame:
        return reduce(DataFrame.union, map(frame_of, tables))

    def map_batches(
        self,
        table: SparkTable,
        mapper: Mapper,
        schema: pa.Schema,
        may_be_coded: bool = False,
    ) -> DataFrame:
        frame, mapper = _opened(table, mapper, may_be_coded)
        return cluster.map_batches(frame, mapper, spark_schema(schema))

    def send_to_tasks(
        self,
        table: SparkTable,
        mapper: Mapper,
        schema: pa.Schema,
        tasks: int,
    ) -> DataFrame:
        frame, mapper = _opened(table, mapper)
        return cluster.sent_to_tasks(frame, mapper, spark_schema(schema), tasks)

    def gather(self, table: SparkTable, keys: Sequence[str]) -> DataFrame:
        names = list(map(quoted, keys))
        return frame_of(table).repartition(*names).sortWithinPartitions(*names)

    def combine(
        self,
        table: SparkTable,
        keys: Sequence[str],
        values: Mapping[str, How],
    ) -> DataFrame:
        combined = [FUNCTIONS[how](quoted(name)).alias(name) for name, how in values.items()]
        return frame_of(table).groupBy(*map(quoted, keys)).agg(*combined)

    def observe(
        self,
        table: SparkTable,
        values: Mapping[str, How],
    ) -> tuple[DataFrame, Callable[[], Mapping[str, Any]]]:
        observation = Observation()
        combined = [FUNCTIONS[how](quoted(name)).alias(name) for name, how in values.items()]
        return frame_of(table).observe(observation, *combined), lambda: observation.get

    def lost_executors(self, session: SparkSession) -> frozenset[str]:
        """The names of executors that are gone, as far as Spark remembers them; none if the session
        does not say.
        """
        try:
            known = session.sparkContext._jsc.sc().statusStore().executorList(False)
            executors = [known.apply(place) for place in range(known.size())]
            return frozenset(one.id() for one in executors if not one.isActive())
        except REFUSALS:
            return frozenset()

    def collect(self, table: SparkTable, most: int | None = None) -> pa.Table:
        frame = frame_of(table)
        return (frame if most is None else frame.limit(most)).toArrow()

    @contextmanager
    def keep(self, table: SparkTable) -> Iterator[DataFrame]:
        """Cached by the executors in memory or on disk. Use it only for tables that are functions
        of the rows' content: a part lost with an executor is computed again, equally. A platform
        without a cache computes it each time.
        """
        frame = frame_of(table)
        try:
            persisted = frame.persist(StorageLevel.MEMORY_AND_DISK)
        except PySparkException:
            yield frame
            return
        try:
            yield persisted
        finally:
            persisted.unpersist()

    def sized_shuffles(self, session: SparkSession, rows: int) -> AbstractContextManager[None]:
        return cluster.sized_shuffles(session, rows)

    def task_sum(
        self,
        session: SparkSession,
        empty: Callable[[], Value],
        merge: Callable[[Value, Value], Value],
    ) -> SparkTaskSum[Value]:
        return SparkTaskSum(session, empty, merge)

    def write_rows(self, table: SparkTable, path: str) -> None:
        frame_of(table).write.options(**delta.LARGE_VALUES).parquet(for_spark(path))

    def read_rows(self, session: SparkSession, path: str, schema: pa.Schema) -> Any:
        frame = (
            session.read.options(**NO_PATTERN).schema(spark_schema(schema)).parquet(for_spark(path))
        )
        return opened_by_tasks(frame, schema, Input(path=path, format="parquet"))

    def read_delta(self, session: SparkSession, path: str, version: int | None) -> DataFrame:
        return delta.read_delta(session, path, version)

    def write_delta(self, table: SparkTable, path: str) -> None:
        delta.write_delta(frame_of(table), path)

    def write_and_read(self, table: SparkTable, path: str) -> DataFrame:
        return delta.write_and_read(frame_of(table), path)

    def read_files(
        self,
        session: SparkSession,
        folder: str,
        kinds: Iterable[pa.DataType],
    ) -> DataFrame | None:
        if java_of(session) is None or not SAME_TEXT.issuperset(kinds):
            return None
        reader = session.read.format("binaryFile").options(pathGlobFilter="*.parquet", **NO_PATTERN)
        return reader.load(for_spark(folder)).select("path", "content")

    def write_tables(
        self,
        files: DataFrame,
        schemas: Mapping[str, pa.Schema],
        folder: Folder,
        trusts_text_writer: bool,
    ) -> None:
        of_spark = {name: spark_schema(schema) for name, schema in schemas.items()}
        delta.write_tables(files, of_spark, folder, trusts_text_writer)


class SparkTaskSum(Generic[Value]):
    """See `TaskSum`: an accumulator. Spark adds the part of a result task once, however often the
    task was tried.
    """

    def __init__(
        self,
        spark: SparkSession,
        empty: Callable[[], Value],
        merge: Callable[[Value, Value], Value],
    ) -> None:
        self._sum: Accumulator[Value] | None = None
        with suppress(PySparkException, AttributeError):
            self._sum = spark.sparkContext.accumulator(empty(), _Merging(empty, merge))

    @property
    def counts(self) -> bool:
        return self._sum is not None

    def add(self, part: Value) -> None:
        if self._sum is not None:
            self._sum.add(part)

    @property
    def value(self) -> Value | None:
        return None if self._sum is None else self._sum.value


class _Merging(AccumulatorParam[Value]):
    def __init__(self, empty: Callable[[], Value], merge: Callable[[Value, Value], Value]) -> None:
        self._empty = empty
        self._merge = merge

    def zero(self, value: Value) -> Value:
        return self._empty()

    def addInPlace(self, value1: Value, value2: Value) -> Value:  # noqa: N802 - Spark's name
        return self._merge(value1, value2)


SPARK = SparkEngine()
