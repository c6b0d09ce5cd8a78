"""A folder of this disk that serves as an object store: files make their folders, and pyarrow opens it behind URIs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyarrow.fs import LocalFileSystem

from tclose_spark.io.storage import stores


class FilesInFolder(LocalFileSystem):
    """The objects below a folder."""

    def open_output_stream(self, path: str, *args: Any, **options: Any) -> Any:
        self.create_dir(path.rpartition("/")[0])
        return super().open_output_stream(path, *args, **options)

    def copy_file(self, src: str, dest: str) -> None:
        self.create_dir(dest.rpartition("/")[0])
        super().copy_file(src, dest)


def use_as_store(folder: Path, monkeypatch: pytest.MonkeyPatch, refused: str = "") -> None:
    """Opens the buckets of all stores in this folder. refused: what a bucket of this name answers to all requests."""
    files = FilesInFolder()

    def opened(root: str) -> tuple[Any, str]:
        bucket = root.partition("://")[2].partition("?")[0]
        if bucket == refused:
            raise OSError("When resolving region for bucket 'x': AWS Error ACCESS_DENIED during HeadBucket operation")
        return files, f"{folder}/{bucket}"

    monkeypatch.setattr(stores, "_opened", opened)
