"""A disk that is full: which one, and what to do."""

from __future__ import annotations

import errno
import os
import re
import tempfile

from tclose_spark.errors import ConfigurationError

FULL = (errno.ENOSPC, errno.EDQUOT)
SAID = re.compile(
    r"No space left on device|Disk quota exceeded|DiskQuotaExceeded|DSQuotaExceeded|There is not enough space on the "
    r"disk",
    re.IGNORECASE,
)
SCRATCH = re.compile(
    r"DiskBlockObjectWriter|DiskBlockManager|DiskStore|Shuffle\w*Writer|Shuffle\w*Sorter|IndexShuffleBlockResolver|"
    r"Unsafe\w*Sorter|UnsafeSorterSpillWriter|ExternalSorter|ExternalAppendOnlyMap|BypassMergeSort|createTempDir|PythonRunner|broadcast"
)


def full_disk(error: BaseException, output: str) -> ConfigurationError | None:
    """What to tell of an error that a full disk made, anywhere in its chain of causes; None of another error.

    output: what the run file says of where the release goes.
    """
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno in FULL:
            return ConfigurationError(_disk_of(seen.filename, output))
        text = f"{seen}\n{_java_trace(seen)}"
        if SAID.search(text):
            return ConfigurationError(full_scratch() if SCRATCH.search(text) else _disk_of(None, output))
        seen = seen.__cause__ or seen.__context__
    return None


def _java_trace(error: BaseException) -> str:
    """The stack of the JVM, which tells what was written; empty for other errors."""
    try:
        return str(getattr(error, "getStackTrace", str)() or getattr(error, "_stackTrace", ""))
    except Exception:
        return ""


def _disk_of(file: str | bytes | None, output: str) -> str:
    where = os.fsdecode(os.path.dirname(file)) if file else output
    return (
        f"output: no space is left on the disk of {where} (or its quota is used up); free some, or give another "
        "output.path"
    )


def full_scratch() -> str:
    """What to tell of a full disk where Spark keeps what it sorts and shuffles."""
    folder = os.environ.get("SPARK_LOCAL_DIRS") or tempfile.gettempdir()
    return (
        f"no space is left for what Spark sorts and shuffles (spark.local.dir, here {folder}; on a cluster, of its "
        "executors); free some, about the size of the input, or set SPARK_LOCAL_DIRS to a larger disk"
    )
