"""Replacing a local folder as a whole: readers see the old folder or the new one."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
from pathlib import Path

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
