"""Exports: a release as Parquet or CSV beside its Delta table, written, read back, and compared by
fingerprint.

This process writes CSV files as Spark does: a field has quotes if it needs them, a missing value is
an empty field, an empty text is two quotes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from tclose_spark.engine.local.files import Partition, read_parts, write_rows
from tclose_spark.engine.local.table import LocalTable
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, map_batches, schema_of
from tclose_spark.errors import GuaranteeError, InputError
from tclose_spark.io.storage.folders import Folder, place_of
from tclose_spark.io.storage.stores import Place, opened, sorted_places
from tclose_spark.io.tables.exports import (
    Files,
    export_name,
    holds_files,
    only_file,
    read_by_spark,
    write_by_spark,
)
from tclose_spark.table.columns.preparing import NUMBER, as_text
from tclose_spark.table.dictionaries import coded
from tclose_spark.table.fingerprint import Fingerprint

FORMULA = r"^[=+\-@\t\r]"
"""How a cell begins that a spreadsheet may take for a formula (OWASP, CSV injection)."""
PLAIN = NUMBER.removesuffix("$") + r"(\r\n|[\n\r\x{85}\x{2028}\x{2029}])?$"
"""A number, which a line may end after."""
HASHED = pa.schema([("rows", pa.int64()), ("digest", pa.int64())])


def without_formulas(release: Table) -> Table:
    """A release with an apostrophe before each text that a spreadsheet could read as a formula,
    except numbers.
    """
    schema = schema_of(release)

    def escaped(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_arrays(
                [_escaped(column) for column in batch.columns],
                names=schema.names,
            )

    return map_batches(release, escaped, schema)


def _escaped(column: pa.Array) -> pa.Array:
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    formula = pc.and_not(
        pc.match_substring_regex(column, FORMULA),
        pc.match_substring_regex(column, PLAIN),
    )
    apostrophe = pa.scalar("'", column.type)
    nothing = pa.scalar("", column.type)
    return pc.if_else(formula, pc.binary_join_element_wise(apostrophe, column, nothing), column)


def rows_of_export(
    release: Table,
    fingerprint: str,
    kind: str,
    escape_formulas: bool,
) -> tuple[Table, str]:
    """(the rows that an export of a release has, their fingerprint). fingerprint: of the
    release.
    """
    if kind != "csv" or not escape_formulas:
        return release, fingerprint
    escaped = without_formulas(release)
    return escaped, str(fingerprint_of(escaped))


def write_export(
    release: Table,
    kind: str,
    folder: Folder,
    one_file: bool = False,
) -> dict[str, int]:
    """Writes the release to `release_<kind>` in a folder, and nothing beside it; returns its files.

    one_file: a single file, `only_file`, whose rows one task or thread writes batch by batch.

    Raises:
        InputError: if a column is not supported by this format.
    """
    binary = [field.name for field in schema_of(release) if pa.types.is_binary(field.type)]
    if kind == "csv" and binary:
        raise InputError(
            f"output.export: column {binary[0]!r} is of type binary, which CSV does not hold; "
            "leave out csv",
        )
    name = export_name(kind)
    folder.remove(name)
    if isinstance(release, LocalTable):
        write = write_csv if kind == "csv" else write_rows
        parts = release.partitions
        whole = (lambda: chain.from_iterable(part() for part in parts),)
        write(whole if one_file else parts, release.schema, place_of(folder.path(name)))
    else:
        write_by_spark(release, kind, folder, one_file)
    if one_file:
        (written,) = folder.names(name)
        folder.rename(f"{name}/{written}", f"{name}/{only_file(kind)}")
    return {file: folder.size(f"{name}/{file}") for file in folder.names(name)}


def check_export(release: Table, fingerprint: str, kind: str, folder: Folder, files: Files) -> None:
    """Reads an export back.

    files: its expected files.

    Raises:
        GuaranteeError: if its files differ, or its rows are not those of the release with this
            fingerprint.
    """
    where = folder.path(export_name(kind))
    if not holds_files(folder, kind, files):
        raise GuaranteeError(f"{where} has not the files that were written")
    try:
        again = str(fingerprint_of(_read(release, kind, folder)))
    except (
        pa.ArrowException,
        ValueError,
        KeyError,
    ):  # of this process; Spark reads what is no value as a missing one
        again = ""
    if again != fingerprint:
        raise GuaranteeError(f"{where} has not the rows of the release beside it")


def _read(release: Table, kind: str, folder: Folder) -> Table:
    """An export, with the columns of the release that it is of."""
    if not isinstance(release, LocalTable):
        return read_by_spark(release, kind, folder)
    files = sorted_places(place_of(folder.path(export_name(kind))).iterdir())
    schema = release.schema
    parts = (
        tuple(partial(read_exported_csv, file, schema) for file in files)
        if kind == "csv"
        else read_parts(files, schema)
    )
    return LocalTable(release.session, schema, parts)


def fingerprint_of(table: Table) -> Fingerprint:
    """The fingerprint of a table's rows, computed by tasks."""

    def hashed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        whole = Fingerprint(0, 0)
        for batch in batches:
            if batch.num_rows:
                whole += Fingerprint.of([coded(column) for column in batch.columns])
        yield pa.RecordBatch.from_pydict(
            {"rows": [whole.rows], "digest": [whole.digest]},
            schema=HASHED,
        )

    parts = collect(map_batches(table, hashed, HASHED)).to_pylist()
    return sum((Fingerprint(part["rows"], part["digest"]) for part in parts), Fingerprint(0, 0))


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


def read_exported_csv(file: Place, schema: pa.Schema) -> Iterable[pa.RecordBatch]:
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
