"""Tables that a run wrote itself, by their log of one commit, read as the text that it is.

Delta takes half a dozen Spark jobs to know what such a log says: the files of the table.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, unquote

from pyspark.sql import DataFrame

from tclose_spark.io.capabilities import java_of
from tclose_spark.io.storage import NO_PATTERN, Folder, for_spark, open_folder
from tclose_spark.io.tables import read_delta, write_delta

LOG = "_delta_log/00000000000000000000.json"


def write_and_read(table: DataFrame, path: str) -> DataFrame:
    """A table that is written as Delta to a path and from then on read from there."""
    spark = table.sparkSession
    write_delta(table, path)
    parent, _, name = path.rpartition("/")
    folder = open_folder(parent, spark)
    scrub_table(folder, name)
    if java_of(spark) is None:  # a shared platform, and such may refuse files with a log of Delta beside them
        return read_delta(spark, path)
    files = [for_spark(f"{path}/{file}") for file in _files(folder, name)]
    # By the names of its files: platforms refuse to read a folder with a log of Delta as anything else.
    return spark.read.schema(table.schema).options(**NO_PATTERN).parquet(*files)


def list_files(folder: Folder, table: str) -> None:
    """Lists the Parquet files in a table's folder in its log, in place of what it lists; else as `scrub_table`."""
    listed = _files(folder, table)
    now = int(time.time() * 1000)
    added = [
        {
            "path": quote(name),
            "partitionValues": {},
            "size": folder.size(f"{table}/{name}"),
            "modificationTime": now,
            "dataChange": True,
        }
        for name in folder.names(table)
        if name.endswith(".parquet") and name not in listed
    ]
    kept = [action for action in _actions(folder, table) if "add" not in action]
    _write_log(folder, table, [*kept, *({"add": file} for file in added)])


def scrub_table(folder: Folder, table: str) -> None:
    """Cleans a table just written: no commit information in its log, no data files that the log does not list.

    Platforms put user names, notebooks and clusters into the commit information. Attempts of tasks that failed leave
    their files behind; who reads the folder without the log would read rows twice.
    """
    _write_log(folder, table, _actions(folder, table))


def stray_files(folder: Folder, table: str) -> list[str]:
    """Data files in a table's folder that its log does not list, and checksums of files that are not there."""
    listed = _files(folder, table)
    known = {*listed, *(f".{name}.crc" for name in listed), "_delta_log"}
    return [name for name in folder.names(table) if name not in known]


def lost_files(folder: Folder, table: str) -> list[str]:
    """Data files that a table's log lists and that are not there, or not whole."""
    there = set(folder.names(table))
    return [
        name
        for name, size in _files(folder, table).items()
        if name not in there or folder.size(f"{table}/{name}") != size
    ]


def _files(folder: Folder, table: str) -> dict[str, int]:
    """The data files that a table's log lists, with their bytes."""
    added = [action["add"] for action in _actions(folder, table) if "add" in action]
    return {unquote(file["path"]): file["size"] for file in added}


def _actions(folder: Folder, table: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in folder.read(f"{table}/{LOG}").splitlines() if line]


def _write_log(folder: Folder, table: str, actions: Iterable[dict[str, Any]]) -> None:
    """Writes the log without commit information, and removes what it does not list."""
    kept = [action for action in actions if "commitInfo" not in action]
    folder.write(f"{table}/{LOG}", "".join(json.dumps(action) + "\n" for action in kept))
    logs, _, log = LOG.rpartition("/")
    for name in folder.names(f"{table}/{logs}"):
        if name != log:  # checksums of the old text: Hadoop's, and Delta's, which has the old files in it
            folder.remove(f"{table}/{logs}/{name}")
    for name in stray_files(folder, table):
        folder.remove(f"{table}/{name}")
