"""Earlier releases as versions of the Delta table of a release (`output.keep_versions`)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from tclose_spark.errors import ConfigurationError
from tclose_spark.io.storage.folders import Folder
from tclose_spark.io.storage.integrity import Digests, differences, digests
from tclose_spark.io.tables.delta_log import EARLIER, LOG, LOGS, actions_of, log_of, write_actions


def prepend_versions(
    new: Folder, earlier: Folder, table: str, most: int, published: Digests
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
        {"remove": {"path": add["path"], "deletionTimestamp": now, "dataChange": True}}
        for add in _adds(commits[-1])
    ]
    for version, actions in enumerate([*commits, [*removed, *own]]):
        write_actions(new, f"{table}/{log_of(version)}", actions)
    return readable


def _adds(actions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [action["add"] for action in actions if "add" in action]
