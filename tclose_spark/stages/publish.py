"""What becomes public, cleaned of what does not belong there."""

from __future__ import annotations

import json

from tclose_spark.storage import Folder

LOG = "_delta_log/00000000000000000000.json"


def scrub_log(folder: Folder, table: str) -> None:
    """Takes the commit information out of the log of a table just written.

    Platforms put user names, notebooks and clusters there; readers of the table do not need it.
    """
    name = f"{table}/{LOG}"
    actions = [line for line in folder.read(name).splitlines() if line and "commitInfo" not in json.loads(line)]
    folder.write(name, "\n".join(actions) + "\n")
    # A local Hadoop file system keeps a checksum beside each file; that of the old text would make it unreadable.
    folder.remove(f"{table}/_delta_log/.{LOG.rpartition('/')[2]}.crc")
