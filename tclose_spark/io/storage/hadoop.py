"""Folders behind a URI, through Hadoop's file systems (hdfs, s3a, abfss, gs, file). Some move a
folder in one step; object stores do not.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import isfunction
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError

from tclose_spark.errors import ConfigurationError, text_of
from tclose_spark.io.spark.cluster import java_of
from tclose_spark.io.storage.folder import OLD, move_files, sibling_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOVES_WHOLE = frozenset({"file", "hdfs", "viewfs", "ofs"})
"""Schemes of file systems that move a folder in one step. Others, object stores above all, copy it
object by object, and one that breaks off leaves a part here and a part there.
"""
IF_NEW = "fs.option.create.conditional.overwrite"
"""Hadoop's option of `createFile`: the store itself refuses an object that is there, in the request
that makes it.
"""


def _raising_os_errors(folder: type) -> type:
    """A class of folders whose methods raise OSError for what Java raises."""

    def translated(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call(*args: Any, **options: Any) -> Any:
            try:
                return method(*args, **options)
            except Py4JJavaError as error:
                raise OSError(text_of(error)) from error

        return call

    for name, method in list(vars(folder).items()):
        if isfunction(method):
            setattr(folder, name, translated(method))
    return folder


@_raising_os_errors
class HadoopFolder:
    """A folder on any Hadoop file system, through the session's JVM; see Folder."""

    def __init__(self, root: str, spark: SparkSession) -> None:
        """Raises ConfigurationError if the session has no JVM for us."""
        self._root = root.rstrip("/")
        self._spark = spark
        java = java_of(spark)
        if java is None:
            raise ConfigurationError(
                f"{root}: this session (Spark Connect, or a shared cluster) cannot open Hadoop's "
                "file systems; name the folder by a path that this process sees, such as "
                "/Volumes/... on Databricks",
            )
        self._jvm: Any = java.jvm
        self._files = self._path("").getFileSystem(java.hadoop)

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.path(name))

    def _mode(self, name: str, mode: str) -> None:
        self._files.setPermission(
            self._path(name),
            self._jvm.org.apache.hadoop.fs.permission.FsPermission(mode),
        )

    def path(self, name: str = "") -> str:
        return f"{self._root}/{name}" if name else self._root

    def exists(self, name: str = "") -> bool:
        return bool(self._files.exists(self._path(name)))

    def read(self, name: str) -> str:
        with _closing(self._files.open(self._path(name))) as stream:
            return bytes(stream.readAllBytes()).decode("utf-8")

    def begin(self, name: str, size: int) -> bytes:
        with _closing(self._files.open(self._path(name))) as stream:
            return bytes(stream.readNBytes(size))

    def end(self, name: str, size: int) -> bytes:
        with _closing(self._files.open(self._path(name))) as stream:
            stream.seek(max(self.size(name) - size, 0))
            return bytes(stream.readNBytes(size))

    def size(self, name: str) -> int:
        return int(self._files.getFileStatus(self._path(name)).getLen())

    def sha256(self, name: str) -> str:
        """See Folder. Java reads the file, so that its bytes do not cross over to Python."""
        try:
            with _closing(self._files.open(self._path(name))) as stream:
                return str(self._jvm.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream))
        except Py4JJavaError:
            raise OSError(errno.EIO, os.strerror(errno.EIO), self.path(name)) from None

    def write(self, name: str, text: str, private: bool = False) -> None:
        with _closing(self._files.create(self._path(name), True)) as stream:
            if private:
                self._mode(name, "600")
            stream.write(bytearray(text.encode("utf-8")))

    def write_new(self, name: str, text: str) -> bool:
        """See Folder. HDFS and S3 (Hadoop 3.4.2 and later) check and write in one step. An object
        store without conditional requests does not. On a local disk, Java itself creates the file.
        """
        if self._files.getUri().getScheme() == "file":
            if not self._jvm.java.io.File(self._path(name).toUri().getPath()).createNewFile():
                return False
            self.write(name, text, private=True)
            return True
        mode = self._jvm.org.apache.hadoop.fs.permission.FsPermission("600")
        try:
            made = (
                self._files.createFile(self._path(name))
                .overwrite(False)
                .permission(mode)
                .opt(IF_NEW, "true")
            )
            with _closing(made.build()) as stream:
                stream.write(bytearray(text.encode("utf-8")))
        except Py4JJavaError:
            if not self.exists(name):
                raise
            return False
        return True

    def remove(self, name: str = "") -> None:
        self._files.delete(self._path(name), True)

    def create(self, private: bool = False) -> None:
        self._files.mkdirs(self._path(""))
        if private:
            self._mode("", "700")

    @property
    def moves_at_once(self) -> bool:
        return self._files.getUri().getScheme() in MOVES_WHOLE

    def rename(self, name: str, other: str) -> None:
        if not self._files.rename(self._path(name), self._path(other)):
            raise OSError(errno.EIO, f"{self._path(name)} could not be renamed")

    def move_in(self, source: Any, name: str) -> None:
        """See Folder: in one step if the file system can, otherwise file by file."""
        self._files.mkdirs(self._path(""))
        if self._is_beside(source) and self.moves_at_once:
            self.remove(name)
            if self._files.rename(source._path(name), self._path(name)):
                return
        move_files(source, self, name, lambda file: self._move_file(source, file), self._make)

    def _make(self, names: Iterable[str]) -> None:
        for name in names:
            self._files.mkdirs(self._path(name))

    def copy_in(self, source: Any, name: str, other: str) -> None:
        self._copy(source, name, self._path(other))

    def _copy(self, source: HadoopFolder, name: str, target: Any) -> None:
        copy = self._jvm.org.apache.hadoop.fs.FileUtil.copy
        copy(
            source._files,
            source._path(name),
            self._files,
            target,
            False,
            True,
            self._files.getConf(),
        )

    def sibling(self, what: str) -> HadoopFolder | None:
        """See Folder. Object stores cannot replace a folder, and the root of a file system has no
        sibling.
        """
        if not self.moves_at_once or self._path("").isRoot():
            return None
        return self._beside(what)

    def replace(self, new: HadoopFolder) -> None:
        old = self._beside(OLD)
        old.remove()
        if self.exists():
            self._become(old)
        new._become(self)
        old.remove()

    def restore(self) -> None:
        old = self._beside(OLD)
        if old.exists() and not self.exists():
            old._become(self)
        else:
            old.remove()

    def _beside(self, what: str) -> HadoopFolder:
        above, _, name = self._root.rstrip("/").rpartition("/")
        return HadoopFolder(f"{above}/{sibling_name(name, what)}", self._spark)

    def _become(self, other: HadoopFolder) -> None:
        """Renames this folder. Raises OSError if the file system does not."""
        if not self._files.rename(self._path(""), other._path("")):
            raise OSError(errno.EIO, f"{self.path()} could not be renamed")

    def _is_beside(self, other: HadoopFolder) -> bool:
        """Whether a folder is in the same file system, such as the same bucket."""
        return bool(self._files.getUri().equals(other._files.getUri()))

    def _move_file(self, source: HadoopFolder, name: str) -> None:
        here = self._path(name)
        there = source._path(name)
        beside = self._is_beside(source)
        partial = self._path(f"{name}.partial")
        if not beside:
            self._copy(source, name, partial)
        self._files.delete(here, False)
        if not self._files.rename(there if beside else partial, here):
            raise OSError(errno.EIO, f"{there} could not be moved to {here}")
        if not beside:
            source._files.delete(there, False)

    def sizes(self, name: str = "") -> dict[str, int]:
        sizes: dict[str, int] = {}
        if self.exists(name):
            root = self._path("").toUri().getPath().rstrip("/")
            files = self._files.listFiles(self._path(name), True)
            while files.hasNext():
                found = files.next()
                sizes[found.getPath().toUri().getPath()[len(root) + 1 :]] = int(found.getLen())
        return sizes

    def names(self, name: str = "") -> list[str]:
        return sorted(
            status.getPath().getName() for status in self._files.listStatus(self._path(name))
        )


@contextmanager
def _closing(stream: Any) -> Iterator[Any]:
    """A stream of Java that is closed afterwards, when an object store sends or rejects its
    content.
    """
    try:
        yield stream
    finally:
        stream.close()
