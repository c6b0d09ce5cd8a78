"""A folder of this disk that serves as an object store: files make their folders, and pyarrow opens it behind URIs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyarrow.fs import FileSelector, LocalFileSystem

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
    """The same as pyarrow shows Google's: a folder has no object of its own, so it is not listed nor removed itself."""

    type_name = "gcs"

    def get_file_info(self, asked: Any) -> Any:
        found = super().get_file_info(asked)
        return [one for one in found if one.is_file] if isinstance(asked, FileSelector) else found

    def delete_dir(self, path: str) -> None:
        super().delete_dir(path)
        raise FileNotFoundError(path)


def use_as_store(
    folder: Path, monkeypatch: pytest.MonkeyPatch, refused: str = "", files: FilesInFolder | None = None
) -> None:
    """Opens the buckets of all stores in this folder. refused: a bucket of this name refuses all requests."""
    files = files or FilesInFolder()

    def opened(root: str) -> tuple[Any, str]:
        bucket = root.partition("://")[2].partition("?")[0]
        if bucket == refused:
            raise OSError("When resolving region for bucket 'x': AWS Error ACCESS_DENIED during HeadBucket operation")
        return files, f"{folder}/{bucket}"

    monkeypatch.setattr(stores, "_opened", opened)
