"""Folders of a run, on a local disk or behind a URI that Spark or pyarrow opens (hdfs, s3a, abfss,
dbfs, file). On an object store, through pyarrow, an object appears as a whole, and moves by a copy.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from tclose_spark.errors import ConfigurationError, GuaranteeError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.storage.folder import Folder as Folder
from tclose_spark.io.storage.folder import (
    PlaceFolder,
    move_files,
    replace_folder,
    restore_folder,
    sibling_name,
)
from tclose_spark.io.storage.stores import Place, StorePath, named
from tclose_spark.runfile.loading import URI

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VOLUMES = "/Volumes/"
"""Where Databricks shows its volumes as folders: there grants control who reads, and files have no
modes.
"""


class LocalFolder(PlaceFolder):
    """An ordinary directory; see Folder."""

    _root: Path

    def __init__(self, root: str) -> None:
        super().__init__(Path(root))

    def sizes(self, name: str = "") -> dict[str, int]:
        return dict(_sizes(str(self._root / name), name, is_root=not name))

    def sha256(self, name: str) -> str:
        path = self._root / name
        if path.is_symlink() or name.endswith("/"):
            what = f"link to {os.readlink(path)}" if path.is_symlink() else "empty folder"
            return hashlib.sha256(os.fsencode(what)).hexdigest()
        self._require_regular(path)
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def read(self, name: str) -> str:
        path = self._root / name
        self._require_regular(path)
        return path.read_text(encoding="utf-8")

    def _require_regular(self, path: Path) -> None:
        """Raises GuaranteeError at a pipe, a socket or a device, whose content may never end: it is
        not opened.
        """
        if path.exists() and not path.is_file() and not path.is_dir():
            raise GuaranteeError(
                f"{path} is no file of a release: it is a pipe, a socket or a device; remove it",
            )

    def write(self, name: str, text: str, private: bool = False) -> None:
        """See Folder. The file appears as a whole or not at all."""
        target = self._root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(target.name + ".partial")
        with os.fdopen(
            os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600 if private else 0o666),
            "w",
            encoding="utf-8",
        ) as file:
            file.write(text)
        partial.replace(target)

    def write_new(self, name: str, text: str) -> bool:
        try:
            descriptor = os.open(self._root / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return False
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError:
            self.remove(name)  # an empty one would say that someone is here, and not who
            raise
        return True

    def remove(self, name: str = "") -> None:
        target = self._root / name
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)

    def create(self, private: bool = False) -> None:
        self._root.mkdir(parents=True, exist_ok=True)
        if private and not str(self._root).startswith(VOLUMES):
            self._root.chmod(0o700)

    def names(self, name: str = "") -> list[str]:
        return sorted(os.listdir(self._root / name))

    @property
    def moves_at_once(self) -> bool:
        """See Folder. Volumes are object stores that look like folders."""
        return not str(self._root).startswith(VOLUMES)

    def rename(self, name: str, other: str) -> None:
        (self._root / name).rename(self._root / other)

    def move_in(self, source: Any, name: str) -> None:
        """See Folder: in one step, or by a copy that appears as a whole."""
        old = source._root / name
        new = self._root / name
        partial = self._root / f"{name}.partial"
        self.create()
        self.remove(name)
        try:
            old.rename(new)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            self.remove(partial.name)
            (shutil.copytree if old.is_dir() else shutil.copy2)(old, partial)
            partial.rename(new)
            # From here on nothing stands under the old name, so a retry cannot take half of it for
            # the whole.
            old.rename(source._root / f"{name}.moved")
            source.remove(f"{name}.moved")

    def copy_in(self, source: Any, name: str, other: str) -> None:
        (self._root / other).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source._root / name, self._root / other)

    def sibling(self, what: str) -> LocalFolder | None:
        """See Folder. A mount point, a volume, and a folder whose parent is closed to us cannot be
        replaced.
        """
        root = Path(os.path.realpath(self._root))
        above = next(path for path in root.parents if path.exists())
        if not self.moves_at_once or root.is_mount() or not os.access(above, os.W_OK):
            return None
        return LocalFolder(str(root.with_name(sibling_name(root.name, what))))

    def replace(self, new: LocalFolder) -> None:
        """See Folder. In one step where the system exchanges folders, as Linux does on its own file
        systems.
        """
        replace_folder(Path(os.path.realpath(self._root)), new._root)

    def restore(self) -> None:
        restore_folder(Path(os.path.realpath(self._root)))


def _sizes(path: str, name: str, is_root: bool = False) -> Iterator[tuple[str, int]]:
    """The bytes of everything at a path, by name; see `Folder.sizes`. No link is followed except at
    the root.
    """
    if os.path.islink(path) and not is_root:
        yield name, os.lstat(path).st_size
    elif os.path.isdir(path):
        inside = os.listdir(path)
        for one in inside:
            yield from _sizes(f"{path}/{one}", one if is_root else f"{name}/{one}")
        if not inside and not is_root:
            yield f"{name}/", 0
    elif os.path.lexists(path):
        yield name, os.lstat(path).st_size


def for_spark(path: str) -> str:
    """The path in the form that Spark takes for the same file, whatever its default file system.
    Databricks' volumes are known by path only.
    """
    return path if URI.match(path) or path.startswith(VOLUMES) else f"file://{path}"


NO_PATTERN = {"__globPaths__": "false"}
"""Reads the file or folder of a path that Spark would take for a pattern: [, {, * and ? are letters
like others.
"""


def local_path(file: str) -> Path | None:
    """The path of a file named by its path or by a `file:` URI, as Spark names the files that it
    reads; None for other URIs.
    """
    if URI.match(file) and not file.startswith("file:"):
        return None
    return Path(unquote(urlsplit(file).path) if file.startswith("file:") else file)


@contextmanager
def private(path: str) -> Iterator[None]:
    """Closes a new local folder to others, before and after files are written into it: mode 0700,
    and 0600 for its files.
    """
    folder = None if path.startswith(VOLUMES) else local_path(path)
    if folder is not None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    yield
    for file in () if folder is None else (folder, *folder.rglob("*")):
        file.chmod(0o700 if file.is_dir() else 0o600)


def place_of(path: str) -> Place:
    """The file or folder at a path or a URI that this process opens.

    Raises:
        ConfigurationError: if only Spark reaches it.
        StoreError: if its store does not answer.
    """
    local = local_path(path)
    return StorePath.of(path) if local is None else local


def open_folder(path: str, session: SparkSession | LocalSession) -> Folder:
    """The folder at a local path or a URI.

    Raises:
        ConfigurationError: if a URI needs Hadoop's file systems, and the session has none.
        StoreError: if its store does not answer.
    """
    if not URI.match(path):
        return LocalFolder(path)
    if isinstance(session, LocalSession):
        return ArrowFolder(StorePath.of(path))
    from tclose_spark.io.storage.hadoop import HadoopFolder

    return HadoopFolder(path, session)


def move(name: str, source: Folder, target: Folder) -> None:
    """Moves a file or folder from one folder to another and replaces an entry of this name.

    Raises:
        ConfigurationError: if one folder is local and the other a URI.
    """
    if type(source) is not type(target):
        raise ConfigurationError(
            "output: public and internal must both be local paths or both be URIs",
        )
    target.move_in(source, name)


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

    def read(self, name: str) -> str:
        return (self._root / name).read_text(encoding="utf-8")

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
