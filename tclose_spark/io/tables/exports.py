"""Exports of a release: their names and files, and how Spark writes and reads them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from tclose_spark.io.storage.folders import NO_PATTERN, Folder, for_spark
from tclose_spark.runfile.spec import EXPORTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FORMAT: dict[str, dict[str, str]] = {
    # The Parquet of Spark 4.0 does not know it.
    "parquet": {"parquet.column.statistics.enabled": "false"},
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
"""Of what Spark writes and reads back. A missing value is an empty field, an empty text one of two
quotes.
"""
READ = {"csv": {"multiLine": "true", "nullValue": "(missing) 6ff1f4cd", "emptyValue": ""}}
"""More, to read. What stands for a missing value has to be another text than the empty one, else
both were missing.
"""

Files = Mapping[str, int]
"""The files of an export, and the bytes of each."""


def export_name(kind: str) -> str:
    """The folder of an export, beside that of the release."""
    return f"release_{kind}"


def only_file(kind: str) -> str:
    """The file of an export that is one file."""
    return f"release.{kind}"


EXPORT_NAMES = tuple(export_name(kind) for kind in EXPORTS)


def write_by_spark(release: DataFrame, kind: str, folder: Folder, one_file: bool) -> None:
    """Writes the release to `release_<kind>` in a folder, without Spark's own files. one_file: by
    one task.
    """
    name = export_name(kind)
    options = {**FORMAT[kind], **({"maxRecordsPerFile": "0"} if one_file else {})}
    release = release.coalesce(1) if one_file else release
    release.write.options(**options).format(kind).save(for_spark(folder.path(name)))
    for file in folder.names(name):
        if not file.startswith("part-"):
            folder.remove(f"{name}/{file}")
        elif (
            folder.moves_at_once
        ):  # Spark numbers files by task, which follow the files of the table
            ends = "".join(Path(file).suffixes)
            folder.rename(f"{name}/{file}", f"{name}/part-{uuid4()}{ends}")


def read_by_spark(release: DataFrame, kind: str, folder: Folder) -> DataFrame:
    """An export, with the columns of the release that it is of."""
    options = {**FORMAT[kind], **READ.get(kind, {}), **NO_PATTERN}
    reader = release.sparkSession.read.schema(release.schema).options(**options)
    return reader.format(kind).load(for_spark(folder.path(export_name(kind))))


def holds_files(folder: Folder, kind: str, files: Files) -> bool:
    """Whether an export is in a folder as it was written: exactly these files, each with its
    length.
    """
    name = export_name(kind)
    if not folder.exists(name) or set(folder.names(name)) != set(files):
        return False
    return all(folder.size(f"{name}/{file}") == size for file, size in files.items())
