"""Reading Parquet files: marks types that Spark does not support, and names files that are not
Parquet.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.io.input import problems
from tclose_spark.io.input.arrow_frames import brackets_of
from tclose_spark.io.input.read_errors import READ_ERRORS
from tclose_spark.io.spark.cluster import java_of, set_if_allowed, setting
from tclose_spark.io.storage.folders import for_spark, local_path
from tclose_spark.io.tables.columns import UNREADABLE, quoted
from tclose_spark.runfile.spec import Input

AS_A_NUMBER = re.compile(r"0|-?[1-9][0-9]*|-?(0|[1-9][0-9]*)\.[0-9]*[1-9]")
"""The one text of a number: no zeros in front, or behind the point."""
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
NANOS_AS_LONG = "spark.sql.legacy.parquet.nanosAsLong"


def read_parquet(spark: SparkSession, source: Input) -> DataFrame:
    """The table. A column of timestamps in nanoseconds, which Spark does not support, is marked in
    its metadata; in a local file also one of durations, or of times of a zone.
    """
    reader = spark.read.options(**source.options)
    try:
        table = reader.parquet(for_spark(source.path))
    except READ_ERRORS as error:
        if "PARQUET_TYPE_ILLEGAL" not in str(error):
            raise
        table = _with_nanoseconds(spark, source)
    _require_partitions_as_written(table, source)
    files = [path for file in table.inputFiles() if (path := local_path(file)) and path.is_file()]
    empty = [path for path in files if not path.stat().st_size]
    if empty:
        raise problems.empty_parquet(f"input.path: {empty[0].name}")
    schemas = {str(path): schema for path in files if (schema := _schema(path)) is not None}
    if not _merges_schemas(spark, source):
        problems.require_columns_alike({path: schema.names for path, schema in schemas.items()})
    fields = {field.name: field for schema in schemas.values() for field in schema}
    why = {
        name: problems.not_of_spark(one.type)
        for name, one in fields.items()
        if pa.types.is_duration(one.type)
    }
    why |= {
        name: problems.of_zone(one.type)
        for name, one in fields.items()
        if problems.of_zone(one.type)
    }
    return _with_intervals(
        _marked(table, why), {n: b for n, one in fields.items() if (b := brackets_of(one))}
    )


def _require_partitions_as_written(table: DataFrame, source: Input) -> None:
    """Raises InputError if the folders of a partition column, which Spark reads as numbers, have a
    text that no number is written as, such as 01: two texts would become one number.
    """
    numbers = {
        field.name for field in table.schema.fields if isinstance(field.dataType, T.NumericType)
    }
    root = source.path.rstrip("/")
    paths = [unquote(file) for file in table.inputFiles()]
    below = [path.partition(root)[2] if root in path else path for path in paths]
    for folder in {folder for path in below for folder in path.split("/")[:-1]}:
        name, _, text = folder.partition("=")
        if name in numbers and not AS_A_NUMBER.fullmatch(text) and text != NO_VALUE:
            raise problems.partition_of_other_numbers(name)


def _with_intervals(table: DataFrame, brackets: Mapping[str, str]) -> DataFrame:
    """The table with columns of intervals as texts (`interval_texts`)."""
    for name, pair in brackets.items():
        ends = [quoted(name)[side].cast("string") for side in ("left", "right")]
        table = table.withColumn(
            name, F.concat(F.lit(pair[0]), ends[0], F.lit(", "), ends[1], F.lit(pair[1]))
        )
    return table


def _merges_schemas(spark: SparkSession, source: Input) -> bool:
    given = {key.lower(): value for key, value in source.options.items()}.get("mergeschema")
    return (given or setting(spark, "spark.sql.parquet.mergeSchema") or "false").lower() == "true"


def _schema(path: Path) -> pa.Schema | None:
    """The columns of a file by its footer; None if pyarrow does not read it."""
    try:
        return pq.read_schema(path)
    except (pa.ArrowException, OSError):
        return None


def _marked(table: DataFrame, why: Mapping[str, str]) -> DataFrame:
    """The table with the reasons of unreadable columns in their metadata."""
    if not why:
        return table
    return table.select(
        *[
            quoted(c).alias(c, metadata={UNREADABLE: why[c]}) if c in why else quoted(c)
            for c in table.columns
        ]
    )


def _with_nanoseconds(spark: SparkSession, source: Input) -> DataFrame:
    before = setting(spark, NANOS_AS_LONG) or "false"
    set_if_allowed(spark, NANOS_AS_LONG, "true")
    try:
        table = spark.read.options(**source.options).parquet(for_spark(source.path))
    finally:
        set_if_allowed(spark, NANOS_AS_LONG, before)
    return _marked(table, dict.fromkeys(_nanosecond_columns(spark, table), problems.NANOSECONDS))


def _nanosecond_columns(spark: SparkSession, table: DataFrame) -> set[str]:
    """The columns that the footer of a file declares as timestamps in nanoseconds; without a
    readable footer, all candidates.
    """
    java = java_of(spark)
    with contextlib.suppress(PySparkException, Py4JError, IndexError):
        if java is not None:
            file = java.jvm.org.apache.hadoop.fs.Path(unquote(table.inputFiles()[0]))
            footer = java.jvm.org.apache.parquet.hadoop.ParquetFileReader.readFooter(
                java.hadoop, file
            )
            fields = footer.getFileMetaData().getSchema().getFields()
            return {
                field.getName()
                for field in fields
                if "TIMESTAMP(NANOS" in str(field.getLogicalTypeAnnotation())
            }
    return {field.name for field in table.schema.fields if isinstance(field.dataType, T.LongType)}
