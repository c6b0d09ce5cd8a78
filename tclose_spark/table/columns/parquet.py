"""Rows as Parquet files in memory, with nothing in them beyond the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from tclose_spark.table.dictionaries import shortened

TABLE = "table"
FILE = "file"
"""Columns of files: the name of the table that a file belongs to, and its bytes; none in rows that
only carry other columns.
"""
# Of columns in memory: what has more becomes several files, each of which Spark holds whole.
FILE_BYTES = 1 << 26
LARGE = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
WRITER = {"org.apache.spark.version": "3.0.0"}
"""Tells readers that dates before 1582 are meant by the calendar that Spark has since this
version.
"""


class ChangedFileError(Exception):
    """Spark's text writer did not write the bytes that a task made."""


def parquet_files(columns: Sequence[pa.Array], schema: pa.Schema) -> Iterator[bytes]:
    """Rows as Parquet files, of at most FILE_BYTES of columns if they have several rows. A file's
    dictionaries hold the values of its own rows, in the order in which they appear, so nothing
    tells what else a dictionary held.

    Raises:
        TypeError: if a column is not of the schema's type, or coded values of it.
    """
    columns = [_of_type(column, field.type) for column, field in zip(columns, schema, strict=True)]
    pending = [(0, len(columns[0]))]
    while pending:
        first, rows = pending.pop()
        part = [shortened(column.slice(first, rows)) for column in columns]
        if rows > 1 and sum(column.nbytes for column in part) > FILE_BYTES:
            pending += [(first + rows // 2, rows - rows // 2), (first, rows // 2)]
        elif rows:
            yield _parquet(pa.table(part, names=schema.names))


def _parquet(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, rows.schema, store_schema=False, write_statistics=False) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata(WRITER)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _of_type(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column of this type, coded or not; from the large one of the same name, too, which some
    platforms give.
    """
    coded = pa.types.is_dictionary(column.type)
    found = column.type.value_type if coded else column.type
    if found == kind:
        return column
    if LARGE.get(found) != kind:
        raise TypeError(f"a column of {kind} is made of {found}")
    if coded:
        return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(kind))
    return column.cast(kind)
