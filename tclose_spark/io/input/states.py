"""States of inputs: commits of tables, and files by name, size and time. Imports no Spark."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tclose_spark.io.storage.stores import Place, Stat, StorePath

PATTERN = set("*?[]{}\\")  # in a path that stands for several

AS_OF = "versionAsOf"
AT = "timestampAsOf"
"""Options that request a version of a table, or the one of a time."""


@dataclass(frozen=True)
class Commit:
    """One state of a table: its version in Delta or its snapshot's id in Iceberg, and the time of
    writing.
    """

    version: int
    time: str

    @property
    def state(self) -> str:
        """A value that changes with it. A table that is dropped and created again counts from 0, so
        the time counts.
        """
        return f"version {self.version} of {self.time}"


def state_of_files(files: Iterable[str]) -> str:
    """A value that changes with these descriptions of files (see `walked`), in whatever order."""
    return hashlib.sha256("\n".join(sorted(files)).encode()).hexdigest()


def walk(place: Place) -> Iterator[tuple[Place, Stat]]:
    """The files below a folder, or the file itself. Links are followed, as Spark does."""
    if isinstance(place, StorePath):
        yield from place.walk()
        return
    folders = os.walk(place, followlinks=True)
    for file in (
        [Path(folder) / name for folder, _, names in folders for name in names]
        if place.is_dir()
        else [place]
    ):
        found = file.stat()
        yield file, Stat(found.st_size, found.st_mtime_ns)


def walked(place: Place) -> Iterable[str]:
    """What is known of these files."""
    for file, found in walk(place):
        yield f"{str(file)[len(str(place)) + 1 :] or '.'} {found.st_size} {found.st_mtime_ns}"
