"""Parquet files, with the columns and types that Spark reads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tclose_spark.engine.local.counting import ROWS, Counting, Counts, text_of
from tclose_spark.engine.local.table import NeedsSparkError
from tclose_spark.io.input import problems
from tclose_spark.io.input.arrow_frames import brackets_of, interval_texts
from tclose_spark.io.storage.stores import Place, opened, require_answer
from tclose_spark.runfile.spec import Input
from tclose_spark.table.columns.spark_types import (
    NAMES,
    UNREADABLE,
    field_of,
    is_unsupported,
    type_name,
    unsupported_field,
)
from tclose_spark.table.dictionaries import has_others, shortened

BATCH = 1 << 16  # rows
BATCH_BYTES = 1 << 25  # of a batch, if its rows are long
# Of a column of a row group that are read at once from a disk; from a store, all of them.
COLUMN_BYTES = 1 << 20
PART_ROWS = 1 << 18  # that a partition has at least, if its file has them
# That a partition or a batch of several small files has at least, if they have them together.
FEW_ROWS = 1 << 14
ROW_METADATA = b"org.apache.spark.sql.parquet.row.metadata"
VERSION = b"org.apache.spark.version"
LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
SUMMARIES = ("_metadata", "_common_metadata")
INTEGERS = {
    (8, True): pa.int8(),
    (16, True): pa.int16(),
    (32, True): pa.int32(),
    (64, True): pa.int64(),
} | {
    (8, False): pa.int16(),
    (16, False): pa.int32(),
    (32, False): pa.int64(),
    (64, False): pa.decimal128(20, 0),
}
"""Spark's types, by bits and whether they are signed."""
PHYSICAL = {
    "BOOLEAN": pa.bool_(),
    "INT32": pa.int32(),
    "INT64": pa.int64(),
    "INT96": pa.timestamp("us", "UTC"),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "BYTE_ARRAY": pa.binary(),
    "FIXED_LEN_BYTE_ARRAY": pa.binary(),
}
WRITERS = ("parquet-cpp-arrow ", "parquet-mr ")
CODED = {"PLAIN_DICTIONARY", "RLE_DICTIONARY"}
OF_PAGES = {"PLAIN", "RLE", "BIT_PACKED"}
"""Encodings of a dictionary's places, and those of the dictionary and of what else a page has."""
DICTIONARY_BYTES = 4096
ROW_BYTES = 3
"""A column of text has few values if it takes at most so many bytes: in any case, and for each row.
A text of its own for each row takes five or more.
"""
MOST_DIGITS = 38  # of a decimal
OF_NO_ENGINE = ("Time", "UUID", "Float16")
"""Types of Parquet that Spark does not read either."""
BYTES = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)


@dataclass(frozen=True)
class ParquetFile:
    """A file with its columns as Spark reads them. rows: of each row group. size: in bytes.
    constants: columns of one value.
    """

    path: Place
    schema: pa.Schema
    rows: Sequence[int]
    size: int
    constants: Mapping[str, pa.Scalar] = field(default_factory=dict)

    def batches(
        self,
        groups: Sequence[int],
        schema: pa.Schema,
        counts: Counts,
        may_be_coded: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of some row groups, with the columns of a schema; those that the file lacks are
        empty. may_be_coded: whether columns of text may be dictionaries of their own values.

        Raises:
            InputError: if the file has changed since it was opened first, or is damaged.
        """
        plain = {
            one.name: one
            for one in schema
            if one.name in self.schema.names and not is_unsupported(one.type)
        }
        where = f"input.path: {self.path.name}"
        try:
            with _opened(self.path) as opened:
                if _described(opened, self) != self:
                    raise problems.changed(where)
                names = [
                    name for name, one in plain.items() if may_be_coded and one.type == pa.string()
                ]
                coded = _dictionaries(opened.metadata, groups, names)
                with (
                    _opened(self.path, opened.metadata, coded)
                    if coded
                    else nullcontext(opened) as held
                ):
                    rows = _rows_of_batch(opened.metadata, groups, plain.keys())
                    for batch in held.iter_batches(rows, row_groups=groups, columns=list(plain)):
                        counts[ROWS] += batch.num_rows
                        columns = [
                            self._column(batch, one, counts, one.name in coded) for one in schema
                        ]
                        fields = [
                            one.with_type(column.type)
                            for one, column in zip(schema, columns, strict=True)
                        ]
                        yield pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
        except FileNotFoundError:
            raise problems.gone(where) from None
        except NeedsSparkError:
            raise problems.changed(where) from None
        except (pa.ArrowException, OSError) as error:
            require_answer(error, self.path)
            raise problems.damaged(where) from None

    def _column(
        self,
        batch: pa.RecordBatch,
        one: pa.Field,
        counts: Counts,
        is_coded: bool,
    ) -> pa.Array:
        if one.name in self.constants:
            return pa.repeat(self.constants[one.name], batch.num_rows)
        if one.name not in batch.schema.names:
            return pa.nulls(batch.num_rows, one.type)
        column = batch[one.name]
        brackets = brackets_of(batch.schema.field(one.name))
        if brackets:
            return interval_texts(column, brackets)
        if is_coded and pa.types.is_dictionary(column.type):
            held = shortened(column) if has_others(column) else column
            damaged: Counts = Counter()
            text = text_of(_plain(held.dictionary, pa.binary()), one.name, damaged)
            if not any(damaged.values()):
                return pa.DictionaryArray.from_arrays(held.indices, text)
        if one.type == pa.string():
            return text_of(_plain(column, pa.binary()), one.name, counts)
        return _plain(column, one.type)


Piece = Sequence[tuple[ParquetFile, Sequence[int]]]
"""Files and their row groups, which one partition or task reads."""


def partitions_of(
    files: Sequence[ParquetFile],
    schema: pa.Schema,
    may_be_coded: bool = False,
) -> list[Counting]:
    """The partitions of files, with the columns of a schema. Large files have several, and small
    ones share one.
    may_be_coded: see `ParquetFile.batches`.
    """
    parts = [(file, groups) for file in files for groups in _grouped(file.rows, PART_ROWS)]
    rows = [sum(file.rows[group] for group in groups) for file, groups in parts]
    pieces = [[parts[place] for place in places] for places in _grouped(rows, FEW_ROWS)]
    return [partial(rows_of_piece, piece, schema, may_be_coded=may_be_coded) for piece in pieces]


def rows_of_piece(
    piece: Piece,
    schema: pa.Schema,
    counts: Counts,
    may_be_coded: bool = False,
) -> Iterator[pa.RecordBatch]:
    """The rows of a piece (see `ParquetFile.batches`). Small batches are joined, because each costs
    milliseconds.
    """
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for file, groups in piece:
        for batch in file.batches(groups, schema, counts, may_be_coded):
            if held and (
                rows >= FEW_ROWS
                or size + batch.nbytes > BATCH_BYTES
                or batch.schema != held[0].schema
            ):
                yield from _joined(held)
                held = []
                rows = 0
                size = 0
            held.append(batch)
            rows = rows + batch.num_rows
            size = size + batch.nbytes
    yield from _joined(held)


def _joined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    return (
        pa.Table.from_batches(batches).combine_chunks().to_batches()
        if len(batches) > 1
        else batches
    )


def require_few(files: int, most: int | None, source: Input) -> None:
    """Raises NeedsSparkError if an input has more than `most` files."""
    if most is not None and files > most:
        raise NeedsSparkError(f"input.path: {source.path} has more than {most} files")


def read_parquet(
    files: Sequence[Place],
    source: Input,
    most: int | None = None,
) -> tuple[pa.Schema, list[ParquetFile]]:
    """(columns, files) of files of one schema.

    Raises:
        InputError: if a file is empty or not Parquet, or lacks a column of another, or a name
            stands twice.
        NeedsSparkError: if a type or the files' schemas need Spark, or there are more than `most`
            files.
    """
    require_few(len(files), most, source)
    if source.options:
        raise NeedsSparkError(
            f"input.options.{min(source.options)}: it is an option of Spark's reader",
        )
    if any((file.parent / name).exists() for file in files[:1] for name in SUMMARIES):
        raise NeedsSparkError(f"input.path: {source.path} has a file of metadata beside its files")
    for file in files:
        if not file.stat().st_size:
            raise problems.empty_parquet(f"input.path: {file.name}")
    opened = [open_parquet(file) for file in files]
    problems.require_columns_alike({str(one.path): one.schema.names for one in opened})
    schema = opened[0].schema
    if not all(one.schema.equals(schema, check_metadata=True) for one in opened):
        raise NeedsSparkError(
            f"input.path: {source.path} has files whose columns differ in type, order or case",
        )
    if len({name.lower() for name in schema.names}) < len(schema):
        raise problems.duplicate_names(f"input.path: {source.path}")
    if all(is_unsupported(one.type) for one in schema):
        raise NeedsSparkError(f"input.path: {source.path} has no plain column")
    return schema, opened


def open_parquet(path: Place, constants: Mapping[str, pa.Scalar] | None = None) -> ParquetFile:
    """A file by its footer. constants: columns that are not in it, and their values.

    Raises:
        InputError: if it is no Parquet file, or has a column of a type that no engine reads.
        NeedsSparkError: if a type needs Spark.
    """
    try:
        bare = ParquetFile(path, pa.schema([]), (), path.stat().st_size, constants or {})
        with _opened(path) as opened:
            return _described(opened, bare)
    except FileNotFoundError:
        raise problems.gone(f"input.path: {path.name}") from None
    except (pa.ArrowException, OSError) as error:
        require_answer(error, path)
        raise problems.no_parquet(f"input.path: {path.name}") from None


def _described(opened: pq.ParquetFile, file: ParquetFile) -> ParquetFile:
    """A file with the columns and rows that its footer has."""
    rows = tuple(opened.metadata.row_group(i).num_rows for i in range(opened.num_row_groups))
    return replace(file, schema=_schema(opened, file.path.name), rows=rows)


def _dictionaries(
    metadata: pq.FileMetaData,
    groups: Sequence[int],
    names: Sequence[str],
) -> set[str]:
    """Those of these columns that are dictionaries in the file, with few values for their rows.
    Arrow would code other columns anew, which is slow. It requires that no dictionary has a value
    twice, as is so with these writers.
    """
    if not (metadata.created_by or "").startswith(WRITERS):
        return set()
    found = set(names) & {
        metadata.schema.column(place).path for place in range(metadata.num_columns)
    }
    for group in map(metadata.row_group, groups):
        for place in range(group.num_columns):
            chunk = group.column(place)
            few = chunk.total_uncompressed_size <= DICTIONARY_BYTES + ROW_BYTES * group.num_rows
            if not (
                few
                and CODED.intersection(chunk.encodings)
                and CODED.union(OF_PAGES).issuperset(chunk.encodings)
            ):
                found.discard(chunk.path_in_schema)
    return found


def _rows_of_batch(metadata: pq.FileMetaData, groups: Sequence[int], names: Collection[str]) -> int:
    """The rows of a batch: some BATCH_BYTES of these columns, at most BATCH."""
    rows = size = 0
    for group in map(metadata.row_group, groups):
        chunks = map(group.column, range(group.num_columns))
        size += sum(
            chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema in names
        )
        rows += group.num_rows
    return max(1, min(BATCH, BATCH_BYTES * rows // max(1, size)))


def _opened(
    path: Place,
    metadata: pq.FileMetaData | None = None,
    coded: Iterable[str] = (),
) -> pq.ParquetFile:
    """A file, its pages checked where they have checksums. metadata: of the file, if it was read
    before.
    """
    return pq.ParquetFile(
        opened(path),
        metadata=metadata,
        read_dictionary=list(coded),
        coerce_int96_timestamp_unit="us",
        page_checksum_verification=True,
        buffer_size=COLUMN_BYTES if isinstance(path, Path) else 0,
    )


def _grouped(sizes: Sequence[int], least: int) -> list[list[int]]:
    """Places of neighbours that have `least` rows together."""
    groups: list[list[int]] = []
    rows = least
    for place, size in enumerate(sizes):
        if rows >= least:
            groups.append([])
            rows = 0
        groups[-1].append(place)
        rows += size
    return groups


def _schema(opened: pq.ParquetFile, file: str) -> pa.Schema:
    """The columns as Spark reads them."""
    metadata = opened.metadata.metadata or {}
    fields = []
    leaf = 0
    if (
        any(key in metadata for key in LEGACY)
        or int(metadata.get(VERSION, b"9").partition(b".")[0]) < 3
    ):
        raise NeedsSparkError(f"input.path: {file} has dates of the Julian calendar")
    for one in opened.schema_arrow:
        fields.append(_field(one, opened.schema.column(leaf), file))
        leaf += _leaves(one.type)
    if ROW_METADATA in metadata:
        fields = [
            _as_told(*pair, file)
            for pair in _pairs(fields, json.loads(metadata[ROW_METADATA]), file)
        ]
    return pa.schema(fields)


def _pairs(fields: Sequence[pa.Field], told: Any, file: str) -> Iterator[tuple[pa.Field, Any]]:
    if [one.name for one in fields] != [one["name"] for one in told["fields"]]:
        raise NeedsSparkError(f"input.path: {file} has columns beside those that Spark wrote")
    return zip(fields, told["fields"], strict=True)


def _as_told(found: pa.Field, told: Any, file: str) -> pa.Field:
    """The column as Spark wrote it, which its file also says."""
    expected = field_of(told["name"], told["type"])
    if expected.type != found.type or any(key.startswith("__") for key in told["metadata"]):
        raise NeedsSparkError(f"input.path: {file} has column {found.name!r} of a type of Spark's")
    return expected


def _field(one: pa.Field, column: Any, file: str) -> pa.Field:
    """A column as Spark reads it. column: its first leaf in the file's schema."""
    if brackets_of(one):
        return pa.field(one.name, pa.string())
    if pa.types.is_nested(one.type):
        _require_names(one, one.type, file)
        return unsupported_field(one.name, type_name(one))
    if pa.types.is_duration(one.type):  # to Spark alone, a number without its unit
        return pa.field(
            one.name,
            pa.int64(),
            metadata={UNREADABLE: problems.not_of_spark(one.type).encode()},
        )
    kind = _kind(column)
    logical = json.loads(column.logical_type.to_json())
    if kind is not None:
        try:
            _plain(pa.array([], one.type), kind)
        except pa.ArrowException:
            kind = None
    if kind is None and (
        logical["Type"] in OF_NO_ENGINE or logical.get("precision", 0) > MOST_DIGITS
    ):
        raise problems.type_of_no_engine(f"input.path: {file}", one.name, one.type)
    if kind is None:
        raise NeedsSparkError(f"input.path: {file} has column {one.name!r} of type {one.type}")
    why = (
        problems.NANOSECONDS
        if logical.get("timeUnit") == "nanoseconds"
        else problems.of_zone(one.type)
    )
    return pa.field(one.name, kind, metadata={UNREADABLE: why.encode()} if why else None)


def _require_names(column: pa.Field, kind: pa.DataType, file: str) -> None:
    """Raises NeedsSparkError if a nested column holds a type that Spark may have under another
    name.
    """
    if pa.types.is_nested(kind):
        for place in range(kind.num_fields):
            _require_names(column, kind.field(place).type, file)
    elif kind not in NAMES or pa.types.is_null(kind):
        raise NeedsSparkError(
            f"input.path: {file} has column {column.name!r} of type {column.type}",
        )


def _kind(column: Any) -> pa.DataType | None:
    """The type that Spark reads a leaf as; None if it is not certain."""
    physical = column.physical_type
    logical = json.loads(column.logical_type.to_json())
    annotation = logical["Type"]
    if annotation in ("None", "Null"):
        return PHYSICAL.get(physical)
    if annotation == "Int":
        return INTEGERS.get((logical["bitWidth"], logical["isSigned"]))
    if annotation == "Date":
        return pa.date32()
    if annotation == "Decimal" and logical["precision"] <= MOST_DIGITS:
        return pa.decimal128(logical["precision"], logical["scale"])
    if annotation == "Timestamp" and logical["timeUnit"] == "nanoseconds":
        return pa.int64()
    if annotation == "Timestamp":
        return pa.timestamp("us", "UTC" if logical["isAdjustedToUTC"] else None)
    return pa.string() if annotation in ("String", "Enum", "JSON") else None


def _leaves(kind: pa.DataType) -> int:
    if isinstance(kind, pa.BaseExtensionType):
        return _leaves(kind.storage_type)
    return (
        sum(_leaves(kind.field(i).type) for i in range(kind.num_fields))
        if pa.types.is_nested(kind)
        else 1
    )


def _plain(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column in Spark's type, of the same values."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column if column.type == kind else column.cast(kind)
