"""Tables that a run wrote itself, by the text of their log.

A commit lists the files of one version, and removes those of the version before. Most tables have
one commit. A release with `output.keep_versions` has one for each release of its line: files of
earlier ones are in EARLIER.

Delta takes half a dozen Spark jobs to read such a log, whose only content is the files of the
table. Readers of a table follow its whole log, so `require_plain_table` requires that it has no
other content.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypedDict
from urllib.parse import quote, unquote

from tclose_spark.errors import ConfigurationError, GuaranteeError
from tclose_spark.io.storage.folders import Folder
from tclose_spark.io.storage.integrity import Digests, differences, digests, strict_json

LOGS = "_delta_log"
LOG = f"{LOGS}/{0:020}.json"
IDENTITY = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
LATEST = 1 << 42  # milliseconds, in the year 2109
EARLIER = "_earlier"
"""In a table's folder: the files of earlier versions, a folder for each. Readers of files alone
skip such a name.
"""
PROPERTIES = {"delta.dataSkippingNumIndexedCols": "0", "delta.enableChangeDataFeed": "false"}
"""The properties of every written Delta table."""
FEATURES = {"appendOnly", "invariants", "timestampNtz"}
"""Of Delta, that change nothing in what readers of a table without constraints read."""


class Addition(TypedDict):
    """The fields of `add` in the log of a plain table."""

    path: str
    partitionValues: Mapping[str, str]
    size: int
    modificationTime: int
    dataChange: bool


class Removal(TypedDict):
    """The fields of `remove` in the log of a plain table."""

    path: str
    deletionTimestamp: int
    dataChange: bool


class MetaData(TypedDict):
    """The fields of `metaData` in the log of a plain table."""

    id: str
    format: Mapping[str, object]
    schemaString: str
    partitionColumns: Sequence[str]
    configuration: Mapping[str, str]
    createdTime: int


class TableProtocol(TypedDict, total=False):
    """The fields of `protocol` in the log of a plain table."""

    minReaderVersion: int
    minWriterVersion: int
    readerFeatures: Sequence[str]
    writerFeatures: Sequence[str]


class Action(TypedDict, total=False):
    """An action of a commit: one of these keys. A log of another writer may have others."""

    add: Addition
    remove: Removal
    metaData: MetaData
    protocol: TableProtocol


def log_of(version: int) -> str:
    """The name of the commit of a version, in the table's folder.

    >>> log_of(0) == LOG
    True
    """
    return f"{LOGS}/{version:020}.json"


def list_files(folder: Folder, table: str) -> None:
    """Replaces the list in a table's log by the Parquet files in its folder; otherwise as
    `scrub_table`.
    """
    listed = data_files(folder, table)
    now = int(time.time() * 1000)
    added = [
        Addition(
            path=quote(name),
            partitionValues={},
            size=folder.size(f"{table}/{name}"),
            modificationTime=now,
            dataChange=True,
        )
        for name in folder.names(table)
        if name.endswith(".parquet") and name not in listed
    ]
    kept = [action for action in _actions(folder, table) if "add" not in action]
    _write_log(folder, table, [*kept, *(Action(add=file) for file in added)])


def scrub_table(folder: Folder, table: str) -> None:
    """Cleans a new table: no commit information in its log, no data files that the log does not
    list.

    Platforms put user names, notebooks and clusters into the commit information. Failed attempts of
    tasks leave files behind, and a reader of the folder without the log would read rows twice.
    """
    _write_log(folder, table, _actions(folder, table))


def require_plain_table(
    folder: Folder,
    table: str,
    versions: int = 1,
    readable: Collection[int] = (0,),
) -> None:
    """Raises GuaranteeError, naming the problem, unless readers of a table in a folder read the
    rows of its Parquet files and nothing else: a commit for each of these versions adds its files,
    each as a whole, removes those of the version before, and has no other content. Files of
    readable versions before the last one are in EARLIER, and those of other versions are gone.
    """
    place = folder.path(table)
    commits = []
    there = folder.sizes(table)
    for log in map(log_of, range(versions)):
        try:
            commits.append(
                actions_of(folder, f"{table}/{log}") if f"{table}/{log}" in there else None,
            )
        except (ValueError, OSError, RecursionError):
            raise GuaranteeError(f"{folder.path(f'{table}/{log}')} cannot be read") from None
        if commits[-1] is None:
            raise GuaranteeError(f"there is no release in {place}: it has no {log}")
    for problem in _version_problems(commits, readable, there, f"{table}/"):
        raise GuaranteeError(f"{place} is not as it was written: {problem}")


def _version_problems(
    commits: Sequence[Any],
    readable: Collection[int],
    there: Mapping[str, int],
    below: str,
) -> Iterator[str]:
    """The problems of a table's commits and files. there: the bytes of its files, whose names begin
    with `below`.
    """
    last = len(commits) - 1
    listed = dict[str, int]()
    before = set[str]()
    for number, actions in enumerate(commits):
        log = log_of(number)
        try:
            yield from _log_problems(
                actions,
                log,
                before,
                "" if number == last else f"{EARLIER}/{number}",
            )
            files = _listed(actions)
        except (TypeError, KeyError, AttributeError):  # fields of other types than a log has
            yield f"{log} holds a line that is no action"
            return
        listed |= files if number in readable else {}
        before = {*files}
    yield from _file_problems(
        listed,
        there,
        {below + log_of(number) for number in range(last + 1)},
        below,
    )


def _log_problems(actions: Iterable[Any], log: str, before: set[str], inside: str) -> Iterator[str]:
    """The content of a commit beyond the list of its files, which are in a folder of the table.

    before: the files of the version before. inside: the path of the folder; empty for the table's
        own.
    """
    kinds = Counter[str]()
    added = set[str]()
    removed = set[str]()
    for action in actions:
        if not isinstance(action, dict) or len(action) != 1:
            yield f"{log} holds a line that is no action"
            continue
        ((kind, fields),) = action.items()
        kinds[kind] += 1
        if kind in USUAL and not USUAL[kind].holds(fields, inside):
            yield f"{log} {USUAL[kind].otherwise}"
        elif kind == "add" and fields["path"] in added:
            yield f"{log} adds {fields['path']} twice"
        added |= {fields["path"]} if kind == "add" else set()
        removed |= {unquote(fields["path"])} if kind == "remove" else set()
    expected = Counter(metaData=1, protocol=1, remove=len(before))
    more = Counter({kind: n for kind, n in kinds.items() if kind != "add"})
    if more != expected:
        found, one = (
            ", ".join(f"{n} {kind}" for kind, n in sorted(what.items()) if n)
            for what in (more, expected)
        )
        yield f"{log} holds {found}; expected {one}"
    elif removed != before:
        yield f"{log} removes other files than those of the version before"


def _is_addition(file: Mapping[str, Any], inside: str) -> bool:
    """Whether these fields add a whole file of this folder."""
    return (
        set(file) == Addition.__required_keys__
        and not file["partitionValues"]
        and unquote(file["path"]).rpartition("/")[0] == inside
        and file["dataChange"] is True
        and _is_time(file["modificationTime"])
    )


def _is_removal(file: Mapping[str, Any], inside: str) -> bool:
    return set(file) == Removal.__required_keys__ and _is_time(file["deletionTimestamp"])


def _is_plain(meta: Mapping[str, Any], inside: str) -> bool:
    """Whether the metadata of a table has its columns, and no partitions, comments or foreign
    settings.
    """
    try:
        fields = json.loads(meta["schemaString"])["fields"]
        plain = all(
            set(field) == {"name", "type", "nullable", "metadata"} and not field["metadata"]
            for field in fields
        )
    except (ValueError, KeyError, TypeError):
        return False
    return (
        plain
        and set(meta) == MetaData.__required_keys__
        and meta["format"] == {"provider": "parquet", "options": {}}
        and meta["partitionColumns"] == []
        and meta["configuration"] == PROPERTIES
        and re.fullmatch(IDENTITY, meta["id"]) is not None
        and _is_time(meta["createdTime"])
    )


def _is_time(value: Any) -> bool:
    """Whether a field of a log is a time, in milliseconds."""
    return type(value) is int and 0 <= value < LATEST


def _is_known(protocol: Mapping[str, Any], inside: str) -> bool:
    features = {*protocol.get("readerFeatures", ()), *protocol.get("writerFeatures", ())}
    return (
        set(protocol) <= TableProtocol.__optional_keys__
        and protocol.get("minReaderVersion") in (1, 3)
        and protocol.get("minWriterVersion") in (2, 7)
        and features <= FEATURES
    )


class _Usual(NamedTuple):
    """What an action's fields are in a plain table. holds: of the fields, and the folder of the
    data files.
    """

    holds: Callable[[Mapping[str, Any], str], bool]
    otherwise: str


USUAL = {
    "add": _Usual(_is_addition, "adds a file in an unusual way"),
    "metaData": _Usual(_is_plain, "says more of the table than its columns"),
    "protocol": _Usual(_is_known, "requires more of readers than a table of plain files does"),
    "remove": _Usual(_is_removal, "removes a file in an unusual way"),
}


def _file_problems(
    listed: Mapping[str, int],
    there: Mapping[str, int],
    logs: set[str],
    below: str,
) -> Iterator[str]:
    """The problems of a table's files, compared with the sizes in its log."""
    for name in sorted(there.keys() - logs):
        if name.removeprefix(below) not in listed:
            yield f"its log does not list {name.removeprefix(below)}"
    for name, size in listed.items():
        if there.get(below + name) != size:
            yield f"{name} is not there, or not as long as its log says"


def later_commits(folder: Folder, table: str, versions: int = 1) -> list[str]:
    """The operations on a table of so many versions after it was written, by its log: `OPTIMIZE
    (commit 1)`.
    """
    found = []
    names: list[str] = []
    with suppress(OSError):
        names = folder.names(f"{table}/{LOGS}")
    for name in names:
        version, _, kind = name.partition(".")
        if kind == "json" and version.isdigit() and int(version) >= versions:
            operation = "an operation without a name"
            with suppress(Exception):  # whatever stands there, it is only named
                lines = map(json.loads, folder.read(f"{table}/{LOGS}/{name}").splitlines())
                operation = next(
                    line["commitInfo"]["operation"] for line in lines if "commitInfo" in line
                )
            found.append(f"{operation} (commit {int(version)})")
    return found


def _strays(folder: Folder, table: str) -> list[str]:
    """Files in a table's folder that its log does not list, such as Hadoop's checksums."""
    known = {*data_files(folder, table), LOGS}
    return [name for name in folder.names(table) if name not in known]


def _listed(actions: Iterable[Action]) -> dict[str, int]:
    """The data files that a log lists, with their bytes."""
    return {unquote(file["path"]): file["size"] for file in _adds(actions)}


def data_files(folder: Folder, table: str) -> dict[str, int]:
    """The data files that a table's log lists, with their bytes."""
    return _listed(_actions(folder, table))


def actions_of(folder: Folder, log: str) -> list[Action]:
    """The actions of a commit, in a file of a folder.

    Raises:
        ValueError: if a line is no JSON, or has a key twice.
    """
    return [strict_json(line) for line in folder.read(log).splitlines() if line]


def write_actions(folder: Folder, log: str, actions: Iterable[Action]) -> None:
    """Writes a commit into a file of a folder."""
    folder.write(log, "".join(json.dumps(action) + "\n" for action in actions))


def _actions(folder: Folder, table: str) -> list[Action]:
    return actions_of(folder, f"{table}/{LOG}")


def _write_log(folder: Folder, table: str, actions: Iterable[Action]) -> None:
    """Writes the log without commit information, without statistics and tags of files, without name
    and description of the table; removes files that it does not list.
    """
    kept = [action for action in actions if "commitInfo" not in action]
    for action in kept:
        for fields in action.values():
            assert isinstance(fields, dict)
            for key in ("stats", "tags", "name", "description"):
                fields.pop(key, None)
    write_actions(folder, f"{table}/{LOG}", kept)
    for name in folder.names(f"{table}/{LOGS}"):
        if (
            name != LOG.rpartition("/")[2]
        ):  # checksums of the old text: Hadoop's, and Delta's, which has the old files
            folder.remove(f"{table}/{LOGS}/{name}")
    for name in _strays(folder, table):
        folder.remove(f"{table}/{name}")


def prepend_versions(
    new: Folder,
    earlier: Folder,
    table: str,
    most: int,
    published: Digests,
) -> range:
    """Puts the versions of an earlier table before that of a new one, and returns the versions that
    are readable: the last `most`. Of others, the log keeps the names of files.

    new, earlier: the folders of both tables, which have one name. The new table has one commit.
    published: the SHA-256 of the files of the earlier table, by its name and theirs.

    Raises:
        ConfigurationError: if a file or the log of the earlier table was changed, or is gone.
    """
    changed = f"output.after: {earlier.path(table)} was changed after its publication"
    logs = {
        name: digest for name, digest in published.items() if name.startswith(f"{table}/{LOGS}/")
    }
    for difference in differences(logs, digests(earlier, [f"{table}/{LOGS}"])):
        raise ConfigurationError(f"{changed}: {difference}")
    number = len(logs)
    commits = [actions_of(earlier, f"{table}/{log_of(version)}") for version in range(number)]
    dropped = [
        v
        for v in range(number - 1)
        if not any(f.startswith(f"{table}/{EARLIER}/{v}/") for f in published)
    ]
    readable = range(max([0, number + 1 - most, *(version + 1 for version in dropped)]), number + 1)
    for add in _adds(commits[-1]):
        add["path"] = f"{EARLIER}/{number - 1}/{add['path']}"
    for version in readable[:-1]:
        for name in (unquote(add["path"]) for add in _adds(commits[version])):
            old = name if version < number - 1 else name.rpartition("/")[2]
            is_there = earlier.exists(f"{table}/{old}")
            if is_there:
                new.copy_in(earlier, f"{table}/{old}", f"{table}/{name}")
            if not is_there or new.sha256(f"{table}/{name}") != published.get(f"{table}/{old}"):
                raise ConfigurationError(f"{changed}: {old}")
    own = actions_of(new, f"{table}/{LOG}")
    now = int(time.time() * 1000)
    identity = next(action["metaData"]["id"] for action in commits[0] if "metaData" in action)
    for action in own:
        if "metaData" in action:
            action["metaData"]["id"] = identity
    removed = [
        Action(remove=Removal(path=add["path"], deletionTimestamp=now, dataChange=True))
        for add in _adds(commits[-1])
    ]
    for version, actions in enumerate([*commits, [*removed, *own]]):
        write_actions(new, f"{table}/{log_of(version)}", actions)
    return readable


def _adds(actions: Iterable[Action]) -> list[Addition]:
    return [action["add"] for action in actions if "add" in action]
