"""Folders on object stores, through pyarrow. An object appears as a whole, and moves by a copy."""

from __future__ import annotations

import errno
import hashlib
import os
from functools import partial
from typing import Any
from uuid import uuid4

from tclose_spark.io.storage.folder import PlaceFolder
from tclose_spark.io.storage.moving import move_files
from tclose_spark.io.storage.stores import StorePath, named

CLAIM_LASTS = 600 * 10**9  # nanoseconds; an older claim is that of a writer that was killed


class ArrowFolder(PlaceFolder):
    """A folder on an object store; see Folder. A store has no modes: its policies decide who
    reads.
    """

    _root: StorePath
    moves_at_once = False

    def sizes(self, name: str = "") -> dict[str, int]:
        place = self._root / name
        begin = len(self.path()) + 1
        return {file.uri[begin:]: found.st_size for file, found in place.walk()}

    def sha256(self, name: str) -> str:
        with named(self.path(name)), (self._root / name).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def write(self, name: str, text: str, private: bool = False) -> None:
        """See Folder. The file appears as a whole or not at all."""
        (self._root / name).write_bytes(text.encode("utf-8"))

    def write_new(self, name: str, text: str) -> bool:
        """See Folder. pyarrow has no request that a store refuses if the object exists. So each
        writer writes a claim of its own before it looks for those of others. The writer of the
        later claim finds the earlier one; or, if that is gone, the file that its writer may have
        written. Two that find each other both get False.
        """
        claims = f"{name}~"
        mine = f"{claims}{uuid4()}"
        self.write(mine, "")
        try:
            beside = (self._root / name).parent.walk(recursive=False)
            at = {
                file.name: found.st_mtime_ns
                for file, found in beside
                if file.name.startswith(claims)
            }
            living = [claim for claim in at if at[claim] > at.get(mine, 0) - CLAIM_LASTS]
            if living != [mine] or self.exists(name):
                return False
            self.write(name, text)
        finally:
            self.remove(mine)
        return True

    def remove(self, name: str = "") -> None:
        (self._root / name).remove()

    def create(self, private: bool = False) -> None:
        """See Folder. Files make their folders."""

    def names(self, name: str = "") -> list[str]:
        return sorted(file.name for file in (self._root / name).iterdir())

    def rename(self, name: str, other: str) -> None:
        (self._root / other).copy_of(self._root / name)
        self.remove(name)

    def move_in(self, source: Any, name: str) -> None:
        """See Folder: file by file."""
        move_files(source, self, name, partial(self._move_file, source))

    def _move_file(self, source: Any, name: str) -> None:
        (self._root / name).copy_of(source._root / name)
        source.remove(name)

    def copy_in(self, source: Any, name: str, other: str) -> None:
        (self._root / other).copy_of(source._root / name)

    def sibling(self, what: str) -> None:
        """See Folder. No folder on an object store is replaced as a whole."""

    def replace(self, new: ArrowFolder) -> None:
        """See Folder, and `sibling`."""
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), self.path())

    def restore(self) -> None:
        """See Folder, and `sibling`."""
