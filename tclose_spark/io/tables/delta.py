"""Reading and writing Delta tables. Tasks make their Parquet files themselves where they can, from
columns that are coded by dictionaries.

That takes a task some hundredths of a microsecond a row. To hand the same rows to Spark as text and
let it write them takes about three, a tenth of a whole release.

A file travels as one binary value. On file systems that move files at once Spark's text writer puts
its bytes where they belong, with the commit protocol that Spark has for tasks that fail or run
twice, and the files are listed in a log of Delta. Elsewhere (object stores, platforms that share a
cluster) rows are unpacked again and Delta writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from tclose_spark.errors import ConfigurationError
from tclose_spark.io.spark.cluster import (
    java_of,
    map_batches,
    set_if_allowed,
    setting,
    settings_below,
)
from tclose_spark.io.storage.folders import NO_PATTERN, Folder, for_spark, open_folder
from tclose_spark.io.tables.columns import quoted
from tclose_spark.io.tables.delta_log import PROPERTIES, data_files, list_files, scrub_table
from tclose_spark.table.columns.parquet import FILE, TABLE, ChangedFileError

STATISTICS = "parquet.column.statistics.enabled"  # unknown to the Parquet of Spark 4.0
DEFAULTS = "spark.databricks.delta.properties.defaults."
LARGE_VALUES = {
    "parquet.enable.dictionary": "false",
    "parquet.page.size.row.check.min": "1",  # by default Parquet checks sizes only after a hundred values
    "parquet.block.size.row.check.min": "1",
}
"""Parquet options for columns whose values are files or batches of rows."""


def read_delta(spark: SparkSession, path: str, version: int | None = None) -> DataFrame:
    """The Delta table at a path, at a version (None: the last)."""
    at = {} if version is None else {"versionAsOf": str(version)}
    return spark.read.format("delta").options(**at).load(for_spark(path))


def bare(table: DataFrame) -> DataFrame:
    """A table without its columns' metadata, such as comments.

    With Spark 4.0, a column that is given no metadata keeps its own; an expression has none.
    """
    return table.select(
        *[F.coalesce(quoted(name)).alias(name, metadata={}) for name in table.columns],
    )


def write_delta(table: DataFrame, path: str) -> None:
    """Writes a Delta table with its rows and nothing else: no statistics in its log, no change
    feed, no column comments.

    Raises:
        ConfigurationError: if there is a table at the path already.
    """
    try:
        with _no_defaults(table.sparkSession):
            bare(table).write.format("delta").mode("error").options(**PROPERTIES).save(
                for_spark(path),
            )
    except PySparkException as error:
        if "EXISTS" in (error.getCondition() or ""):
            raise ConfigurationError(f"{path} holds a table already") from None
        raise


def write_and_read(table: DataFrame, path: str) -> DataFrame:
    """A table that is written to a path as Delta and then read from there."""
    spark = table.sparkSession
    write_delta(table, path)
    parent, _, name = path.rpartition("/")
    folder = open_folder(parent, spark)
    scrub_table(folder, name)
    if (
        java_of(spark) is None
    ):  # a shared platform, and such may refuse files with a log of Delta beside them
        return read_delta(spark, path)
    files = [for_spark(f"{path}/{file}") for file in data_files(folder, name)]
    # By the names of its files: platforms refuse to read a folder with a log of Delta as anything
    # else.
    return spark.read.schema(table.schema).options(**NO_PATTERN).parquet(*files)


@contextmanager
def _no_defaults(spark: SparkSession) -> Iterator[None]:
    """Cancels a cluster's defaults for new tables, such as column mapping or row tracking, because
    files of a release are read directly. Neither files nor log have statistics.
    """
    held: dict[str, str | None] = {
        STATISTICS: setting(spark, STATISTICS),
        **settings_below(spark, DEFAULTS),
    }
    for key in held:
        set_if_allowed(spark, key, "false" if key == STATISTICS else None)
    try:
        yield
    finally:
        for key, value in held.items():
            set_if_allowed(spark, key, value)


MADE = "made"  # the folder where files lie until they are in their tables
FOOTER_LENGTH = 4  # bytes at the end of a Parquet file that hold the length of its footer
END = b"1"
"""The last byte of every Parquet file (`PAR1`). It is the line separator of the text writer, so a
file of one line is exactly the value.
"""
TEXT_OPTIONS = {"lineSep": END.decode(), "maxRecordsPerFile": "1", "compression": "none"}


def write_tables(
    files: DataFrame,
    schemas: Mapping[str, T.StructType],
    folder: Folder,
    trusts_text_writer: bool = True,
) -> None:
    """Writes the tables that these files form as Delta tables into a folder, replacing tables of
    the same names. Their logs contain no statistics and no commit information.

    files: TABLE and FILE, and columns that are ignored; evaluated once.
    trusts_text_writer: false to let Delta write the rows.

    Raises:
        ChangedFileError: if Spark's text writer changed the first file. No table is written then.
    """
    for name in (MADE, *schemas):
        folder.remove(name)
    spark = files.sparkSession
    made = files.where(F.col(FILE).isNotNull()).select(TABLE, FILE)
    if trusts_text_writer and java_of(spark) is not None and folder.moves_at_once:
        _write_bytes(made, folder.path(MADE))
        written = {name: _files_of(folder, name) for name in schemas}
        if not all(_is_whole(folder, paths[0]) for paths in written.values() if paths):
            raise ChangedFileError
        for name, schema in schemas.items():
            write_delta(spark.createDataFrame([], schema), folder.path(name))
            for file in written[
                name
            ]:  # Spark's names contain the task's number, and tasks follow the plan's blocks
                folder.rename(file, f"{name}/part-{uuid4()}.parquet")
            list_files(folder, name)
    else:
        _write_rows(made, schemas, folder)
    folder.remove(MADE)


def rows_of(files: DataFrame, table: str, schema: T.StructType) -> DataFrame:
    """The rows of a table, from the files that make it up."""
    kinds = to_arrow_schema(schema)

    def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for content in batch.column(0):
                rows = pq.read_table(pa.BufferReader(content.as_buffer())).cast(kinds)
                yield from rows.to_batches(max_chunksize=1 << 16)

    return map_batches(
        files.where((F.col(TABLE) == table) & F.col(FILE).isNotNull()).select(FILE),
        unpack,
        schema,
    )


def _write_rows(files: DataFrame, schemas: Mapping[str, T.StructType], folder: Folder) -> None:
    """Keeps the files as values of a table, and has Delta write the rows that are in them."""
    files.write.options(**LARGE_VALUES).parquet(for_spark(folder.path(MADE)))
    read = files.sparkSession.read.schema(files.schema).options(**NO_PATTERN)
    kept = read.parquet(for_spark(folder.path(MADE)))
    for name, schema in schemas.items():
        rows = rows_of(kept, name, schema).sortWithinPartitions(*map(quoted, schema.names))
        write_delta(rows, folder.path(name))
        scrub_table(folder, name)


def _is_whole(folder: Folder, file: str) -> bool:
    """Whether a written file is one readable Parquet file: of the length that its footer adds up
    to, and no more.
    """
    size = folder.size(file)
    try:
        content = pa.BufferReader(folder.begin(file, size))
        footer = pq.read_metadata(content)
        rows = pq.read_table(content).num_rows
    except (pa.ArrowException, OSError):
        return False
    groups = map(footer.row_group, range(footer.num_row_groups))
    chunks = (group.column(i) for group in groups for i in range(footer.num_columns))
    length = (
        2 * len(b"PAR1")
        + sum(c.total_compressed_size for c in chunks)
        + footer.serialized_size
        + FOOTER_LENGTH
    )
    return bool(size == length and rows == footer.num_rows > 0)


def _write_bytes(files: DataFrame, path: str) -> None:
    """Writes each file into the folder of its table below a path, under a name that Spark chooses.

    Spark's text writer must write the value and one separator, and nothing else. Compressed output,
    another separator, an encoding, several lines in a file, a text type that refuses bytes, or a
    commit protocol that leaves the files elsewhere would break this. `write_tables` checks the
    result.
    """
    but_the_end = F.col(FILE).substr(F.lit(1), F.length(FILE) - len(END)).cast("string")
    files.select(TABLE, but_the_end).write.partitionBy(TABLE).options(**TEXT_OPTIONS).text(
        for_spark(path),
    )


def _files_of(folder: Folder, table: str) -> list[str]:
    """The paths of the files that `_write_bytes` wrote for a table."""
    made = f"{MADE}/{TABLE}={table}"
    names = folder.names(made) if folder.exists(made) else []
    return [f"{made}/{name}" for name in names if not name.endswith(".crc")]
