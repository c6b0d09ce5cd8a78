"""A folder of this disk that serves as an object store: files make their folders, and pyarrow opens
it behind URIs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyarrow.fs import FileInfo, FileSelector, FileType, LocalFileSystem

from tclose_spark.io.storage import stores


class FilesInFolder(LocalFileSystem):
    """The objects below a folder."""

    def open_output_stream(self, path: str, *args: Any, **options: Any) -> Any:
        self.create_dir(path.rpartition("/")[0])
        return super().open_output_stream(path, *args, **options)

    def copy_file(self, src: str, dest: str) -> None:
        self.create_dir(dest.rpartition("/")[0])
        super().copy_file(src, dest)


class FilesWithoutFolders(FilesInFolder):
    """The same as pyarrow shows Google's: a folder has no object of its own, so it is not listed
    nor removed itself.
    """

    type_name = "gcs"

    def get_file_info(self, asked: Any) -> Any:
        found = super().get_file_info(asked)
        return [one for one in found if one.is_file] if isinstance(asked, FileSelector) else found

    def delete_dir(self, path: str) -> None:
        super().delete_dir(path)
        raise FileNotFoundError(path)


class FilesWithMarks(FilesInFolder):
    """The same as pyarrow shows Azure's, if Hadoop made the folders: each has an empty object of
    its name.
    """

    type_name = "abfs"

    def get_file_info(self, asked: Any) -> Any:
        found = super().get_file_info(asked)
        if isinstance(asked, FileSelector):
            return [*(mark_of(one) for one in found if not one.is_file), *found]
        return mark_of(found) if found.type == FileType.Directory else found

    def open_input_file(self, path: str) -> Any:
        if Path(path).is_dir():
            raise OSError(f"Not a regular file: '{path}'")
        return super().open_input_file(path)

    def copy_file(self, src: str, dest: str) -> None:
        if Path(dest).parent.is_dir():
            raise NotADirectoryError(dest)
        super().copy_file(src, dest)

    def delete_dir(self, path: str) -> None:
        super().delete_dir_contents(path)

    def delete_file(self, path: str) -> None:
        (super().delete_dir if Path(path).is_dir() else super().delete_file)(path)


def mark_of(folder: FileInfo) -> FileInfo:
    return FileInfo(folder.path, FileType.File, size=0)


def use_as_store(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    refused: str = "",
    files: FilesInFolder | None = None,
) -> None:
    """Opens the buckets of all stores in this folder. refused: a bucket of this name refuses all
    requests.
    """
    files = files or FilesInFolder()

    def opened(root: str) -> tuple[Any, str]:
        bucket = root.partition("://")[2].partition("?")[0]
        if bucket == refused:
            raise OSError(
                "When resolving region for bucket 'x': AWS Error ACCESS_DENIED during HeadBucket "
                "operation",
            )
        return files, f"{folder}/{bucket}"

    monkeypatch.setattr(stores, "_opened", opened)
