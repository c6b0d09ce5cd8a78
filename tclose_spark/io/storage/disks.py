"""Full and read-only disks, and limits of files: which one is reached, and what to do."""

from __future__ import annotations

import errno
import os
import re
import resource
import shutil
import tempfile

from tclose_spark.errors import ConfigurationError, text_of

FULL = (errno.ENOSPC, errno.EDQUOT)
# Bytes in a folder of temporary files; Spark copies Delta's jars there when it starts.
NEEDED = 32 << 20
SAID = re.compile(
    r"(?i:No space left on device|Disk quota exceeded|DiskQuotaExceeded|DSQuotaExceeded|There is not enough space on "
    r"the disk)(?:: '([^'\n]+)')?"
)
TOO_LARGE = os.strerror(errno.EFBIG)
READ_ONLY = os.strerror(errno.EROFS)
SCRATCH = re.compile(
    r"DiskBlockObjectWriter|DiskBlockManager|DiskStore|Shuffle\w*Writer|Shuffle\w*Sorter|IndexShuffleBlockResolver|"
    r"Unsafe\w*Sorter|UnsafeSorterSpillWriter|ExternalSorter|ExternalAppendOnlyMap|BypassMergeSort|createTempDir|PythonRunner|broadcast"
)


def full_disk(error: BaseException, output: str) -> ConfigurationError | None:
    """The message for an error that a full or read-only disk, or a limit of the size of files,
    caused, anywhere in its chain of causes; None for other errors.

    output: the folder of the release in the run file.
    """
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno in FULL:
            return ConfigurationError(_disk_of(seen.filename, output))
        text = f"{text_of(seen)}\n{_java_trace(seen)}"
        if READ_ONLY in text:
            return ConfigurationError(_read_only(getattr(seen, "filename", None), output))
        if TOO_LARGE in text:
            return ConfigurationError(_file_limit())
        if said := SAID.search(text):
            return ConfigurationError(
                full_scratch() if SCRATCH.search(text) else _disk_of(said[1], output)
            )
        seen = seen.__cause__ or seen.__context__
    return None


def unwritable_folder(*others: tuple[str, str]) -> str | None:
    """The first folder for temporary files of Spark and Python that cannot be written; None if all
    can.

    others: (variable, folder) of more folders.
    """
    spark = [
        ("SPARK_LOCAL_DIRS", folder)
        for folder in os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
        if folder
    ]
    for variable, folder in [*spark, ("TMPDIR", tempfile.gettempdir()), *others]:
        why = _why_unwritable(os.path.abspath(folder))
        if why is not None:
            return (
                f"{variable}: {_with_free(folder)} cannot take {NEEDED >> 20} MiB of temporary "
                f"files ({why}); fix that, or set {variable} to another folder"
            )
    return None


def _why_unwritable(folder: str) -> str | None:
    """Why NEEDED bytes cannot be written below a folder, which is created if necessary; None if
    they can.
    """
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(NEEDED))
    except OSError as error:
        return error.strerror or type(error).__name__
    return None


def _with_free(folder: str) -> str:
    """A folder and the free space of its disk, if it can be measured."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return folder
    return f"{folder} ({free / (1 << 20):,.1f} MiB free)"


def _java_trace(error: BaseException) -> str:
    """The stack of the JVM, which shows what was being written; empty for other errors."""
    try:
        return str(getattr(error, "getStackTrace", str)() or getattr(error, "_stackTrace", ""))
    except Exception:
        return ""


def _file_limit() -> str:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    allowed = (
        "no larger file" if limit == resource.RLIM_INFINITY else f"files of at most {limit:,} bytes"
    )
    return (
        f"a file became too large: this process or its disk allows {allowed} (ulimit -f); raise "
        "the limit"
    )


def _read_only(file: str | bytes | None, output: str) -> str:
    where = _folder_of(file, output)
    return _told(f"the disk of {where} has become read-only; make it writable", where, output)


def _disk_of(file: str | bytes | None, output: str) -> str:
    where = _folder_of(file, output)
    return _told(
        f"no space is left on the disk of {_with_free(where)}, or its quota is used up; free some",
        where,
        output,
    )


def _folder_of(file: str | bytes | None, output: str) -> str:
    return os.fsdecode(os.path.dirname(file)) if file else output or tempfile.gettempdir()


def _told(what: str, where: str, output: str) -> str:
    return (
        f"output: {what}, or give another output.path"
        if output and where.startswith(output)
        else what
    )


def full_scratch() -> str:
    """The message for a full disk of Spark's sort and shuffle files."""
    folder = _with_free(os.environ.get("SPARK_LOCAL_DIRS") or tempfile.gettempdir())
    return (
        f"no space is left for what Spark sorts and shuffles (spark.local.dir, here {folder}; on a "
        "cluster, of its executors); free some, about the size of the input, or set "
        "SPARK_LOCAL_DIRS to a larger disk"
    )
