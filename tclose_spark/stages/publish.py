"""What becomes public, cleaned of what does not belong there."""

from __future__ import annotations

import json
from typing import Any

from tclose_spark.io.storage import Folder

LOG = "_delta_log/00000000000000000000.json"


def scrub_table(folder: Folder, table: str) -> None:
    """Cleans a table just written: no commit information in its log, no data files that the log does not list.

    Platforms put user names, notebooks and clusters into the commit information. Attempts of tasks that failed leave
    their files behind; who reads the folder without the log would read rows twice.
    """
    actions = _actions(folder, table)
    folder.write(
        f"{table}/{LOG}", "".join(json.dumps(action) + "\n" for action in actions if "commitInfo" not in action)
    )
    # A local Hadoop file system keeps a checksum beside each file; that of the old text would make it unreadable.
    folder.remove(f"{table}/_delta_log/.{LOG.rpartition('/')[2]}.crc")
    for name in stray_files(folder, table):
        folder.remove(f"{table}/{name}")


def stray_files(folder: Folder, table: str) -> list[str]:
    """Data files in a table's folder that its log does not list, and checksums of files that are not there."""
    listed = {action["add"]["path"] for action in _actions(folder, table) if "add" in action}
    known = listed | {f".{name}.crc" for name in listed} | {"_delta_log"}
    return [name for name in folder.names(table) if name not in known]


def _actions(folder: Folder, table: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in folder.read(f"{table}/{LOG}").splitlines() if line]
