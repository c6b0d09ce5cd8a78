"""Tables that a run wrote itself, by the text of their log of one commit.

Delta takes half a dozen Spark jobs to read such a log, whose only content is the files of the table. Readers of a table
follow its whole log, so `require_plain_table` requires that it has no other content.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote, unquote

from tclose_spark.errors import GuaranteeError
from tclose_spark.io.storage.folders import Folder
from tclose_spark.io.storage.integrity import strict_json

LOGS = "_delta_log"
LOG = f"{LOGS}/00000000000000000000.json"
ADD = {"path", "partitionValues", "size", "modificationTime", "dataChange"}
META_DATA = {"id", "format", "schemaString", "partitionColumns", "configuration", "createdTime"}
PROPERTIES = {"delta.dataSkippingNumIndexedCols": "0", "delta.enableChangeDataFeed": "false"}
"""The properties of every written Delta table."""
FEATURES = {"appendOnly", "invariants", "timestampNtz"}
"""Of Delta, that change nothing in what readers of a table without constraints read."""


def list_files(folder: Folder, table: str) -> None:
    """Replaces the list in a table's log by the Parquet files in its folder; otherwise as `scrub_table`."""
    listed = data_files(folder, table)
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
    """Cleans a new table: no commit information in its log, no data files that the log does not list.

    Platforms put user names, notebooks and clusters into the commit information. Failed attempts of tasks leave
    files behind, and a reader of the folder without the log would read rows twice.
    """
    _write_log(folder, table, _actions(folder, table))


def require_plain_table(folder: Folder, table: str) -> None:
    """Raises GuaranteeError, naming the problem, unless readers of a table in a folder read the rows of its Parquet
    files and nothing else: one commit that adds these files, each as a whole, and has no other content.
    """
    place = folder.path(table)
    try:
        there = folder.sizes(table)
        actions = _actions(folder, table) if f"{table}/{LOG}" in there else None
    except (ValueError, OSError, RecursionError):
        raise GuaranteeError(f"{folder.path(f'{table}/{LOG}')} cannot be read") from None
    if actions is None:
        raise GuaranteeError(f"there is no release in {place}: it has no {LOG}")
    try:
        problems = list(_log_problems(actions)) or list(_file_problems(_listed(actions), there, f"{table}/"))
    except (TypeError, KeyError, AttributeError):  # fields of other types than a log has
        problems = [f"{LOG} holds a line that is no action"]
    if problems:
        raise GuaranteeError(f"{place} is not as it was written: {problems[0]}")


def _log_problems(actions: Iterable[Any]) -> Iterator[str]:
    """The content of a log beyond the list of the table's files."""
    kinds, added = Counter[str](), set[str]()
    for action in actions:
        if not isinstance(action, dict) or len(action) != 1:
            yield f"{LOG} holds a line that is no action"
            continue
        ((kind, fields),) = action.items()
        kinds[kind] += 1
        if kind == "add" and (
            set(fields) != ADD
            or fields["partitionValues"]
            or "/" in unquote(fields["path"])
            or not fields["dataChange"]
        ):
            yield f"{LOG} adds a file in an unusual way"
        elif kind == "add" and fields["path"] in added:
            yield f"{LOG} adds {fields['path']} twice"
        elif kind == "metaData" and not _is_plain(fields):
            yield f"{LOG} says more of the table than its columns"
        elif kind == "protocol" and not _is_known(fields):
            yield f"{LOG} requires more of readers than a table of plain files does"
        added |= {fields["path"]} if kind == "add" else set()
    more = {kind: n for kind, n in kinds.items() if kind != "add"}
    if more != {"metaData": 1, "protocol": 1}:
        found = ", ".join(f"{n} {kind}" for kind, n in sorted(more.items()))
        yield f"{LOG} holds {found}; expected 1 metaData, 1 protocol"


def _is_plain(meta: Mapping[str, Any]) -> bool:
    """Whether the metadata of a table has its columns, and no partitions, comments or foreign settings."""
    try:
        fields = json.loads(meta["schemaString"])["fields"]
        plain = all(
            set(field) == {"name", "type", "nullable", "metadata"} and not field["metadata"] for field in fields
        )
    except (ValueError, KeyError, TypeError):
        return False
    return (
        plain
        and set(meta) == META_DATA
        and meta["format"] == {"provider": "parquet", "options": {}}
        and meta["partitionColumns"] == []
        and meta["configuration"] == PROPERTIES
    )


def _is_known(protocol: Mapping[str, Any]) -> bool:
    features = {*protocol.get("readerFeatures", ()), *protocol.get("writerFeatures", ())}
    keys = {"minReaderVersion", "minWriterVersion", "readerFeatures", "writerFeatures"}
    return (
        set(protocol) <= keys
        and protocol.get("minReaderVersion") in (1, 3)
        and protocol.get("minWriterVersion") in (2, 7)
        and features <= FEATURES
    )


def _file_problems(listed: Mapping[str, int], there: Mapping[str, int], below: str) -> Iterator[str]:
    """The problems of a table's files, compared with the sizes in its log."""
    known = {LOG, *listed, *(f".{name}.crc" for name in listed)}
    for name in sorted(there):
        if name.removeprefix(below) not in known:
            yield f"its log does not list {name.removeprefix(below)}"
    for name, size in listed.items():
        if there.get(below + name) != size:
            yield f"{name} is not there, or not as long as its log says"


def later_commits(folder: Folder, table: str) -> list[str]:
    """The operations on a table after it was written, by its log: `OPTIMIZE (commit 1)`."""
    found = []
    names: list[str] = []
    with suppress(OSError):
        names = folder.names(f"{table}/{LOGS}")
    for name in names:
        version, _, kind = name.partition(".")
        if kind == "json" and version.isdigit() and int(version) > 0:
            operation = "an operation without a name"
            with suppress(Exception):  # whatever stands there, it is only named
                lines = map(json.loads, folder.read(f"{table}/{LOGS}/{name}").splitlines())
                operation = next(line["commitInfo"]["operation"] for line in lines if "commitInfo" in line)
            found.append(f"{operation} (commit {int(version)})")
    return found


def _strays(folder: Folder, table: str) -> list[str]:
    """Data files in a table's folder that its log does not list, and checksums of missing files."""
    listed = data_files(folder, table)
    known = {*listed, *(f".{name}.crc" for name in listed), LOGS}
    return [name for name in folder.names(table) if name not in known]


def _listed(actions: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """The data files that a log lists, with their bytes."""
    added = [action["add"] for action in actions if "add" in action]
    return {unquote(file["path"]): file["size"] for file in added}


def data_files(folder: Folder, table: str) -> dict[str, int]:
    """The data files that a table's log lists, with their bytes."""
    return _listed(_actions(folder, table))


def _actions(folder: Folder, table: str) -> list[dict[str, Any]]:
    return [strict_json(line) for line in folder.read(f"{table}/{LOG}").splitlines() if line]


def _write_log(folder: Folder, table: str, actions: Iterable[dict[str, Any]]) -> None:
    """Writes the log without commit information, without statistics and tags of files, without name and description of
    the table; removes files that it does not list.
    """
    kept = [action for action in actions if "commitInfo" not in action]
    for action in kept:
        for fields in action.values():
            for key in ("stats", "tags", "name", "description"):
                fields.pop(key, None)
    folder.write(f"{table}/{LOG}", "".join(json.dumps(action) + "\n" for action in kept))
    for name in folder.names(f"{table}/{LOGS}"):
        if name != LOG.rpartition("/")[2]:  # checksums of the old text: Hadoop's, and Delta's, which has the old files
            folder.remove(f"{table}/{LOGS}/{name}")
    for name in _strays(folder, table):
        folder.remove(f"{table}/{name}")
