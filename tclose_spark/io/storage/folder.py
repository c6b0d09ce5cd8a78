"""What a run does with a folder, wherever it is, and how folders move and replace others.

On object stores and between file systems, nothing moves a folder as a whole: it moves file by file.
A local folder is replaced as a whole: readers see the old folder or the new one.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from tclose_spark.io.storage.stores import Place


class Folder(Protocol):
    """A folder, with the operations of a run. `name` is a path inside it, with `/`."""

    def path(self, name: str = "") -> str:
        """The full path, in Spark's form."""
        ...

    def exists(self, name: str = "") -> bool:
        """Whether a file or folder of this name exists."""
        ...

    def read(self, name: str) -> str:
        """The text of a file."""
        ...

    def begin(self, name: str, size: int) -> bytes:
        """The first bytes of a file."""
        ...

    def end(self, name: str, size: int) -> bytes:
        """The last bytes of a file."""
        ...

    def size(self, name: str) -> int:
        """The bytes of a file."""
        ...

    def sizes(self, name: str = "") -> dict[str, int]:
        """The bytes of a file, or of each file below a folder, by its path in this folder; empty if
        nothing exists.

        On a local disk, a link below this folder counts as a file, and an empty folder as a file
        whose name ends with `/`.
        """
        ...

    def sha256(self, name: str) -> str:
        """The SHA-256 of a file, in hexadecimal digits. For a link or an empty folder, a hash of
        its kind and target.

        Raises:
            OSError: if it cannot be read; its `filename` is the file.
        """
        ...

    def write(self, name: str, text: str, private: bool = False) -> None:
        """Writes a file, and creates the folders above it. Only the owner can read a private
        file.
        """
        ...

    def write_new(self, name: str, text: str) -> bool:
        """Writes a new private file; False, without a change, if it exists. One of several writers
        gets True.
        """
        ...

    def remove(self, name: str = "") -> None:
        """Removes a file or a whole folder, if it exists."""
        ...

    def create(self, private: bool = False) -> None:
        """Creates the folder if necessary. A private folder is closed to others (mode 0700)."""
        ...

    def names(self, name: str = "") -> list[str]:
        """Names of the files and folders in a folder."""
        ...

    @property
    def moves_at_once(self) -> bool:
        """Whether a file or folder moves in one step, whatever its size."""
        ...

    def rename(self, name: str, other: str) -> None:
        """Renames a file in this folder. The new name is unused, and its folder exists."""
        ...

    def move_in(self, source: Any, name: str) -> None:
        """Moves `name` of another folder of the same kind to the same name here, and replaces an
        entry of this name. A move that broke off may be repeated.
        """
        ...

    def copy_in(self, source: Any, name: str, other: str) -> None:
        """Copies the file `name` of another folder of the same kind to `other` here, and creates
        the folders above.
        """
        ...

    def sibling(self, what: str) -> Any | None:
        """A folder beside this one (`replacing.sibling_name`); None if this folder cannot be
        replaced as a whole.
        """
        ...

    def replace(self, new: Any) -> None:
        """Puts a sibling in the place of this folder, in one step or in two renames, and removes
        the old content.
        """
        ...

    def restore(self) -> None:
        """Undoes a `replace` that broke off between its two renames."""
        ...


class PlaceFolder:
    """What is the same for folders on this disk and on object stores; see Folder."""

    def __init__(self, root: Place) -> None:
        self._root = root

    def path(self, name: str = "") -> str:
        return str(self._root / name)

    def exists(self, name: str = "") -> bool:
        return (self._root / name).exists()

    def begin(self, name: str, size: int) -> bytes:
        with (self._root / name).open("rb") as file:
            return bytes(file.read(size))

    def end(self, name: str, size: int) -> bytes:
        with (self._root / name).open("rb") as file:
            file.seek(max(self.size(name) - size, 0))
            return bytes(file.read(size))

    def size(self, name: str) -> int:
        return (self._root / name).stat().st_size


AT_ONCE = 8  # files that are on their way together


def move_files(
    source: Folder,
    target: Folder,
    name: str,
    move_file: Callable[[str], None],
    make_folders: Callable[[Iterable[str]], None] = lambda names: None,
) -> None:
    """Moves a file or a folder file by file; a file disappears there once it is here. The list of
    files is written before the first one moves, so an interrupted move continues without mixing in
    older files.

    move_file: moves a file of this name from source to target, and replaces one there.
    make_folders: makes folders of these names in the target, where files need them.
    """
    mark = f"{name}.moving"
    left = source.sizes(name)
    if name in left:
        move_file(name)
        return
    whole = json.loads(source.read(mark)) if source.exists(mark) else {}
    arrived = {file: size for file, size in whole.items() if file not in left}
    if not (
        arrived and left.items() <= whole.items() and arrived.items() <= target.sizes(name).items()
    ):
        target.remove(name)
        source.write(mark, json.dumps(left), private=True)
    make_folders({file.rpartition("/")[0] for file in left})
    with ThreadPoolExecutor(AT_ONCE) as moving:
        list(moving.map(move_file, sorted(left)))
    source.remove(name)
    source.remove(mark)


OLD = "old"
NEW = "new"
"""The folder that another one is about to replace, and the one that replaces it: see `beside`."""
# Of renameat2(2).
AT_FDCWD = -100
RENAME_EXCHANGE = 2
NOT_KNOWN = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


def sibling_name(name: str, what: str) -> str:
    """The hidden name, unlikely to clash, of a folder that is written beside another one.

    >>> sibling_name("public", NEW)
    '.public.tclose-new'
    """
    return f".{name}.tclose-{what}"


def replace_folder(place: Path, new: Path) -> None:
    """Puts `new`, a folder beside `place`, in its place, with its mode and access lists; removes
    the old content.

    Linux exchanges two folders in one step. Elsewhere, and on file systems that cannot, there are
    two renames; `restore_folder` undoes the first one if the process ends between them.
    """
    if not place.exists():
        new.rename(place)
        return
    shutil.copystat(place, new)
    if not _exchange(new, place):
        old = place.with_name(sibling_name(place.name, OLD))
        place.rename(old)
        new.rename(place)
        new = old
    shutil.rmtree(new)


def restore_folder(place: Path) -> None:
    """Puts back a folder that `replace_folder` had moved away, if its place is empty; otherwise
    removes it.
    """
    old = place.with_name(sibling_name(place.name, OLD))
    if old.exists() and not place.exists():
        old.rename(place)
    elif old.exists():
        shutil.rmtree(old)


def _exchange(one: Path, other: Path) -> bool:
    """Exchanges two folders in one step; False, without a change, if the system cannot.

    Raises:
        OSError: if the file system refuses.
    """
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in NOT_KNOWN:
        return False
    raise OSError(number, os.strerror(number), str(other))
