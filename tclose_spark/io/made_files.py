"""Tables whose Parquet files tasks make themselves, from columns that are coded by dictionaries.

That takes a task some hundredths of a microsecond a row. To hand the same rows to Spark as text and let it write them
takes about three, a tenth of a whole release.

A file travels as one binary value. On file systems that move files at once Spark's text writer puts its bytes where
they belong, with the commit protocol that Spark has for tasks that fail or run twice, and the files are listed in a log
of Delta. Elsewhere (object stores, platforms that share a cluster) rows are unpacked again and Delta writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from tclose_spark.io.capabilities import java_of
from tclose_spark.io.delta_log import list_files, scrub_table
from tclose_spark.io.storage import NO_PATTERN, Folder, for_spark
from tclose_spark.io.tables import quoted, write_delta
from tclose_spark.io.workers import map_batches
from tclose_spark.table.dictionaries import shortened

TABLE, FILE = "table", "file"
"""Columns of files: the name of the table that a file belongs to, and its bytes; none in rows that only carry other
columns.
"""
MADE = "made"  # the folder where files lie until they are in their tables
FILE_BYTES = 1 << 26  # of columns in memory: what has more becomes several files, each of which Spark holds whole
END = b"1"
"""The last byte of every Parquet file (`PAR1`), which Spark's text writer sets behind each value as its separator of
lines, so that a file of one line is the value and nothing else.
"""
WRITER = {"org.apache.spark.version": pyspark.__version__}
"""Tells readers that dates before 1582 are meant by the calendar that Spark has."""


def parquet_files(columns: Sequence[pa.Array], schema: pa.Schema) -> Iterator[bytes]:
    """Rows as Parquet files. A file's dictionaries hold the values of its own rows, in the order in which they appear,
    so nothing tells what else a dictionary held.

    Raises:
        TypeError: if a column is not of the schema's type, or coded values of it.
    """
    for column, field in zip(columns, schema, strict=True):
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if kind != field.type:
            raise TypeError(f"a column of {field.type} is made of {kind}")
    rows = len(columns[0])
    step = max(1, rows // (1 + sum(column.nbytes for column in columns) // FILE_BYTES))
    for first in range(0, rows, step):
        part = [shortened(column.slice(first, step)) for column in columns]
        sink = pa.BufferOutputStream()
        table = pa.table(part, names=schema.names).replace_schema_metadata(WRITER)
        pq.write_table(table, sink, store_schema=False)
        yield sink.getvalue().to_pybytes()


def write_tables(files: DataFrame, schemas: Mapping[str, T.StructType], folder: Folder) -> None:
    """Writes the tables that files make up as Delta tables into a folder, in place of what has their names; without
    statistics and information on the commit.

    files: TABLE and FILE, and columns that are not looked at; evaluated once.
    """
    for name in (MADE, *schemas):
        folder.remove(name)
    spark = files.sparkSession
    made = files.where(F.col(FILE).isNotNull()).select(TABLE, FILE)
    if java_of(spark) is not None and folder.moves_at_once:
        _write_bytes(made, folder.path(MADE))
        for name, schema in schemas.items():
            write_delta(spark.createDataFrame([], schema), folder.path(name))
            _move_in(folder, name)
            list_files(folder, name)
    else:
        made.write.parquet(for_spark(folder.path(MADE)))
        written = spark.read.schema(made.schema).options(**NO_PATTERN).parquet(for_spark(folder.path(MADE)))
        for name, schema in schemas.items():
            rows = rows_of(written, name, schema)
            write_delta(rows.sortWithinPartitions(*map(quoted, schema.names)), folder.path(name))
            scrub_table(folder, name)
    folder.remove(MADE)


def rows_of(files: DataFrame, table: str, schema: T.StructType) -> DataFrame:
    """The rows of a table, from the files that make it up."""
    kinds = to_arrow_schema(schema)

    def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for content in batch.column(0):
                rows = pq.read_table(pa.BufferReader(content.as_buffer())).cast(kinds)
                yield from rows.to_batches(max_chunksize=1 << 16)

    return map_batches(files.where((F.col(TABLE) == table) & F.col(FILE).isNotNull()).select(FILE), unpack, schema)


def _write_bytes(files: DataFrame, path: str) -> None:
    """Writes each file into the folder of its table below a path, under a name that Spark gives it."""
    but_the_end = F.col(FILE).substr(F.lit(1), F.length(FILE) - len(END)).cast("string")
    options = {"lineSep": END.decode(), "maxRecordsPerFile": "1", "compression": "none"}
    files.select(TABLE, but_the_end).write.partitionBy(TABLE).options(**options).text(for_spark(path))


def _move_in(folder: Folder, table: str) -> None:
    """Moves a table's files from where they were written into the table."""
    made = f"{MADE}/{TABLE}={table}"
    for name in folder.names(made) if folder.exists(made) else []:
        if name.startswith("part-"):
            folder.rename(f"{made}/{name}", f"{table}/{name.removesuffix('.txt')}.parquet")
