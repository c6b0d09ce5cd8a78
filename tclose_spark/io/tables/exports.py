"""Exports: a release as Parquet or CSV beside its Delta table, written, read back, and compared by fingerprint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.errors import GuaranteeError, InputError
from tclose_spark.io.spark.workers import map_batches
from tclose_spark.io.storage.folders import NO_PATTERN, Folder, for_spark
from tclose_spark.io.tables.columns import NUMBER, quoted
from tclose_spark.runfile.spec import EXPORTS
from tclose_spark.table.dictionaries import coded
from tclose_spark.table.fingerprint import Fingerprint

FORMAT: dict[str, dict[str, str]] = {
    "parquet": {"parquet.column.statistics.enabled": "false"},  # the Parquet of Spark 4.0 does not know it
    "csv": {
        "header": "true",
        "escape": '"',
        "lineSep": "\n",
        "ignoreLeadingWhiteSpace": "false",
        "ignoreTrailingWhiteSpace": "false",
        "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
        "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    },
}
"""Of what Spark writes and reads back. A missing value is an empty field, an empty text one of two quotes."""
READ = {"csv": {"multiLine": "true", "nullValue": "(missing) 6ff1f4cd", "emptyValue": ""}}
"""More, to read. What stands for a missing value has to be another text than the empty one, else both were missing."""

Files = Mapping[str, int]
"""The files of an export, and the bytes of each."""


def export_name(kind: str) -> str:
    """The folder of an export, beside that of the release."""
    return f"release_{kind}"


FORMULA = r"^[=+\-@\t\r]"
"""How a cell begins that a spreadsheet may take for a formula (OWASP, CSV injection)."""
EXPORT_NAMES = tuple(export_name(kind) for kind in EXPORTS)


def without_formulas(release: DataFrame) -> DataFrame:
    """A release with an apostrophe before each text that a spreadsheet could read as a formula, except numbers."""
    texts = {field.name for field in release.schema if isinstance(field.dataType, T.StringType)}

    def escaped(name: str) -> Column:
        column = quoted(name)
        if name not in texts:
            return column
        formula = column.rlike(FORMULA) & ~column.rlike(NUMBER)
        return F.when(formula, F.concat(F.lit("'"), column)).otherwise(column).alias(name)

    return release.select(*[escaped(name) for name in release.columns])


def rows_of(release: DataFrame, fingerprint: str, kind: str, escape_formulas: bool) -> tuple[DataFrame, str]:
    """(the rows that an export of a release has, their fingerprint). fingerprint: of the release."""
    if kind != "csv" or not escape_formulas:
        return release, fingerprint
    escaped = without_formulas(release)
    return escaped, str(fingerprint_of(escaped))


def write_export(release: DataFrame, kind: str, folder: Folder) -> dict[str, int]:
    """Writes the release to `release_<kind>` in a folder, without Spark's own files; returns its files.

    Raises:
        InputError: if a column is not supported by this format.
    """
    binary = [field.name for field in release.schema if isinstance(field.dataType, T.BinaryType)]
    if kind == "csv" and binary:
        raise InputError(
            f"output.export: column {binary[0]!r} is of type binary, which CSV does not hold; leave out csv"
        )
    name = export_name(kind)
    folder.remove(name)
    writer = release.write.options(**FORMAT[kind])
    writer.format(kind).save(for_spark(folder.path(name)))
    for file in folder.names(name):
        if not file.startswith("part-"):
            folder.remove(f"{name}/{file}")
        elif folder.moves_at_once:  # Spark numbers files by task, which follow the files of the table
            ends = "".join(Path(file).suffixes)
            folder.rename(f"{name}/{file}", f"{name}/part-{uuid4()}{ends}")
    return {file: folder.size(f"{name}/{file}") for file in folder.names(name)}


def check_export(release: DataFrame, fingerprint: str, kind: str, folder: Folder, files: Files) -> None:
    """Reads an export back.

    files: its expected files.

    Raises:
        GuaranteeError: if its files differ, or its rows are not those of the release with this fingerprint.
    """
    name = export_name(kind)
    if not holds_files(folder, kind, files):
        raise GuaranteeError(f"{folder.path(name)} has not the files that were written")
    options = {**FORMAT[kind], **READ.get(kind, {}), **NO_PATTERN}
    reader = release.sparkSession.read.schema(release.schema).options(**options)
    again = reader.format(kind).load(for_spark(folder.path(name)))
    if str(fingerprint_of(again)) != fingerprint:
        raise GuaranteeError(f"{folder.path(name)} has not the rows of the release beside it")


def holds_files(folder: Folder, kind: str, files: Files) -> bool:
    """Whether an export is in a folder as it was written: exactly these files, each with its length."""
    name = export_name(kind)
    if not folder.exists(name) or set(folder.names(name)) != set(files):
        return False
    return all(folder.size(f"{name}/{file}") == size for file, size in files.items())


def fingerprint_of(table: DataFrame) -> Fingerprint:
    """The fingerprint of a table's rows, computed by tasks."""

    def hashed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        whole = Fingerprint(0, 0)
        for batch in batches:
            if batch.num_rows:
                whole += Fingerprint.of([coded(column) for column in batch.columns])
        yield pa.RecordBatch.from_pydict({"rows": [whole.rows], "digest": [whole.digest]})

    parts = map_batches(table, hashed, "rows bigint, digest bigint").collect()
    return sum((Fingerprint(part["rows"], part["digest"]) for part in parts), Fingerprint(0, 0))
