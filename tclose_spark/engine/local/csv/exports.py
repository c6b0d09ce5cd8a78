"""CSV files as Spark writes them: a field has quotes if it needs them, a missing value is an empty
field, an empty text is two quotes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from tclose_spark.engine.local.files import Partition
from tclose_spark.io.storage.stores import Place, opened
from tclose_spark.table.columns.preparing import as_text

IN_QUOTES = '^$|[",\n\r]'
FIRST_IN_QUOTES = f"^#|{IN_QUOTES}"  # or Spark's readers took the line for a comment
BLOCK = 1 << 25  # bytes that are parsed at once; no row is longer


def write_csv(partitions: Sequence[Partition], schema: pa.Schema, folder: Place) -> None:
    """Writes each partition that has rows into a file of a new folder.

    Raises:
        OSError: if a file cannot be written.
    """
    folder.mkdir(parents=True)
    header = _lines([pa.array([name]) for name in schema.names])
    for part in partitions:
        batches = [batch for batch in part() if batch.num_rows]
        if batches:
            with (folder / f"part-{uuid4()}.csv").open("wb") as file:
                file.write(header)
                for batch in batches:
                    file.write(_lines([_field(column) for column in batch.columns]))


def _lines(columns: Sequence[pa.Array]) -> bytes:
    """The lines of rows whose fields have these texts."""
    fields = [
        _quoted(column, IN_QUOTES if i else FIRST_IN_QUOTES) for i, column in enumerate(columns)
    ]
    lines = pc.binary_join_element_wise(*fields, ",", null_handling="replace", null_replacement="")
    return "".join(f"{line}\n" for line in lines.to_pylist()).encode()


def _quoted(texts: pa.Array, where: str) -> pa.Array:
    inside = pc.replace_substring(texts, '"', '""')
    return pc.if_else(
        pc.match_substring_regex(texts, where),
        pc.binary_join_element_wise('"', inside, '"', ""),
        texts,
    )


def _field(values: pa.Array) -> pa.Array:
    """The texts of values. Times are ISO 8601, with microseconds."""
    if not pa.types.is_timestamp(values.type):
        return as_text(values)
    day = as_text(values.cast(pa.date32()))
    time = pc.strftime(values, "T%H:%M:%S")
    return pc.binary_join_element_wise(day, time, "" if values.type.tz is None else "Z", "")


def read_csv(file: Place, schema: pa.Schema) -> Iterable[pa.RecordBatch]:
    """The rows of a file that `write_csv` wrote.

    Raises:
        pa.ArrowException, ValueError, KeyError: if a field is not of its column's type, or a column
            is missing.
    """
    names = schema.names
    reader = csv.open_csv(
        opened(file),
        csv.ReadOptions(block_size=BLOCK, use_threads=False),
        csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        csv.ConvertOptions(
            include_columns=names,
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return _parsed(reader, schema)


def _parsed(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = [
            _values(texts, field.type) for texts, field in zip(batch.columns, schema, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _values(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """The inverse of `_field`."""
    if not pa.types.is_temporal(kind):
        return texts.cast(kind)
    is_date = pa.types.is_date(kind)
    distinct = texts.dictionary_encode()
    plain = [text.removeprefix("+").removesuffix("Z") for text in distinct.dictionary.to_pylist()]
    numbers = np.array(plain, "datetime64[D]" if is_date else "datetime64[us]").astype(np.int64)
    return (
        pa.array(numbers, pa.int64())
        .cast(pa.int32() if is_date else pa.int64())
        .cast(kind)
        .take(distinct.indices)
    )
