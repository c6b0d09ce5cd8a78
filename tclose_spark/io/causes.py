"""Causes outside this package that stop a start or a run: patterns in error texts, each with a
message and a remedy.

Full and read-only disks and limits of files are found by looking at the disks.
"""

from __future__ import annotations

import errno
import os
import re
import resource
import shutil
import tempfile
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tclose_spark.errors import ConfigurationError, DamagedStagingError, TcloseError, text_of
from tclose_spark.io.spark.installation import (
    ADVISED,
    DEFAULT_MEMORY,
    MASTER_VARIABLE,
    MEMORY_VARIABLE,
    VARIABLE,
    package,
)
from tclose_spark.io.storage.stores import WHY, reason_of

FULL = (errno.ENOSPC, errno.EDQUOT)
# Bytes in a folder of temporary files; Spark copies Delta's jars there when it starts.
NEEDED = 32 << 20
SAID = re.compile(
    r"(?i:No space left on device|Disk quota exceeded|DiskQuotaExceeded|DSQuotaExceeded|There is not enough space on "
    r"the disk)(?:: '([^'\n]+)')?",
)
TOO_LARGE = os.strerror(errno.EFBIG)
READ_ONLY = os.strerror(errno.EROFS)
SCRATCH = re.compile(
    r"DiskBlockObjectWriter|DiskBlockManager|DiskStore|Shuffle\w*Writer|Shuffle\w*Sorter|IndexShuffleBlockResolver|"
    r"Unsafe\w*Sorter|UnsafeSorterSpillWriter|ExternalSorter|ExternalAppendOnlyMap|BypassMergeSort|createTempDir|PythonRunner|broadcast",
)
HANDLES = 1024
"""Files that a process should be allowed to open; a release of few rows on two cores opens some
400.
"""


class Cause(NamedTuple):
    """pattern in error texts, and the error that the user meets, made from the match."""

    said: str
    error: Callable[[re.Match[str]], TcloseError]


def _few_handles(_: object) -> TcloseError:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return ConfigurationError(
        f"a process may open {limit} files at once here (ulimit -n), which is too few; allow "
        f"{HANDLES} or more",
    )


def _closed_home(said: re.Match[str]) -> TcloseError:
    where = f"{said[1]} cannot be written ({said[2]})" if said[1] else "this user has none"
    return ConfigurationError(
        f"HOME: {where}, and Ivy keeps Delta's jars there; make it writable, or set {VARIABLE} to "
        "local copies of them",
    )


def _no_delta(_: object) -> TcloseError:
    from pyspark.version import __version__

    _, spark_jar, delta = package(ADVISED, __version__).split(":")
    return ConfigurationError(
        f"the Delta jars could not be had (no network?): set {VARIABLE} to local copies, "
        f"comma-separated ({spark_jar}-{delta}.jar and delta-storage-{delta}.jar), or run once "
        "with the network to fill Ivy's cache",
    )


def _little_memory(_: object) -> TcloseError:
    memory = os.environ.get(MEMORY_VARIABLE, DEFAULT_MEMORY)
    return ConfigurationError(
        f"this machine cannot give its driver {memory} of memory; set {MEMORY_VARIABLE} to what is "
        "free, such as 2g",
    )


def _lost_worker(said: re.Match[str]) -> TcloseError:
    lost = "an executor" if "Executor" in said[0] else "a Python worker"
    where = f" ({said[2]}, executor {said[4]} on {said[3]}, try {said[1]})" if said[1] else ""
    return TcloseError(
        f"{lost} of Spark was lost{where}, most likely for want of memory; nothing is public. Free "
        f"some memory, or let fewer tasks run at once ({MASTER_VARIABLE}='local[1, 4]'; on a "
        "cluster fewer spark.executor.cores, or more spark.executor.memoryOverhead), and run "
        "again",
    )


ANYWHERE = (
    Cause("Too many open files", _few_handles),
    Cause(
        r"No usable temporary directory found in \[(.+?)\]",
        lambda said: ConfigurationError(
            f"TMPDIR: no folder for temporary files can be written ({said[1]}): the disks are "
            "full, or closed to this user; free some, or set TMPDIR to another folder",
        ),
    ),
)
AT_START = (
    *ANYWHERE,
    Cause(r"(/\S*/\.ivy2[^\s/]*)\S* \(([^)\n]+)\)|basedir must be absolute", _closed_home),
    Cause(
        SAID.pattern,
        lambda _: ConfigurationError(
            unwritable_folder(("HOME", os.path.expanduser("~"))) or full_scratch(),
        ),
    ),
    Cause(r"(?s)unresolved dependency|not found.*io\.delta|io\.delta.*not found", _no_delta),
    Cause(
        "UnsupportedClassVersionError",
        lambda _: ConfigurationError(
            "this Java is too old for Spark: install a Java 17 runtime, or set JAVA_HOME to one",
        ),
    ),
    Cause(
        "heap size|heap space|reserve enough space|System memory|OutOfMemory|memory allocation",
        _little_memory,
    ),
    Cause(
        "Master URL|master URL|[Mm]asters are unresponsive|Failed to connect to "
        "master|StandaloneSchedulerBackend",
        lambda _: ConfigurationError(
            f"the master {os.environ.get(MASTER_VARIABLE)} does not answer; start it, or set "
            f"{MASTER_VARIABLE} to another",
        ),
    ),
)
AT_WORK = (
    *ANYWHERE,
    Cause(
        "DamagedStagingError|UnknownValueError|the input changed since",
        lambda _: DamagedStagingError(
            "the staged rows in internal/staging are not those that were profiled: they are "
            "damaged; begin again with `tclose profile`",
        ),
    ),
    Cause(
        "MixedTasksError",
        lambda _: ConfigurationError(
            "this Spark does not send rows to the tasks that they are meant for (by number, Spark "
            "4.0 by its own hash); run on another one",
        ),
    ),
    Cause(
        WHY.pattern,
        lambda said: ConfigurationError(
            "an object store refuses a request, or does not answer "
            f"({reason_of(OSError(said[0]))}); nothing unfinished is public. Check the "
            "credentials, and run again",
        ),
    ),
    Cause(
        r"Class org\.apache\.hadoop\.fs\.\S+ not found|No FileSystem for scheme",
        lambda _: ConfigurationError(
            "this Spark has no connector to the file system of a URI; add it to "
            "PYSPARK_SUBMIT_ARGS, or set engine: local, which reports what this process lacks to "
            "open the URI: see docs/storage.md",
        ),
    ),
    Cause(
        r"ModuleNotFoundError: No module named '(\w+)",
        lambda said: ConfigurationError(
            f"the Python of Spark's workers has no package {said[1]!r}; install it there, or bring "
            "it with the job (spark-submit --py-files tclose_spark.zip, or --archives and "
            "spark.pyspark.python): see docs/clusters.md",
        ),
    ),
    Cause(
        r"(?m)(?:failed (\d+) times, most recent failure: Lost (task \S+ in stage \S+) \(TID \d+\) \((\S+) executor "
        r"(\S+?)\): (?:\S+: )?)?(?:Python worker exited unexpectedly|ExecutorLostFailure|^\S*MemoryError\b)",
        _lost_worker,
    ),
)


def cause_of(text: str, causes: Sequence[Cause]) -> TcloseError | None:
    """The error of the first cause whose pattern a text matches; None without a match."""
    for cause in causes:
        match = re.search(cause.said, text)
        if match:
            return cause.error(match)
    return None


def why_no_session(log: str, error: str = "") -> str:
    """The meaning of a failed start of Spark, from its log and the raised error; without a known
    cause, the problem of this process's folders and limits.
    """
    said = f"{log}\n{error}"
    # Java raises its limit to this one.
    few = 0 <= resource.getrlimit(resource.RLIMIT_NOFILE)[1] < HANDLES
    why = cause_of(said, AT_START) or unwritable_folder() or (_few_handles(None) if few else None)
    if why is None:
        return (
            f"Spark did not start ({_telling_line(said)}); set TCLOSE_LOG_LEVEL=WARN to see its log"
        )
    return f"Spark did not start: {why}"


def why_no_import(error: Exception) -> str:
    """The meaning of an error that was raised while the package was imported."""
    text = text_of(error)
    if isinstance(error, ImportError):
        return (
            f"tclose cannot start: {text}; install the package with what it needs: pip install "
            "'tclose-spark[spark]'"
        )
    return (
        "tclose cannot start: "
        f"{cause_of(text, ANYWHERE) or full_disk(error, '') or f'{type(error).__name__}: {text}'}"
    )


def _telling_line(said: str) -> str:
    """The last line that names an error, otherwise the last line."""
    lines = [
        line.strip()
        for line in said.splitlines()
        if line.strip() and not re.match(r"\s+at |\s*\.\.\. \d+ more", line)
    ]
    errors = [line for line in lines if re.search(r"(Error|Exception)\b.*\S", line)]
    return (errors or lines or ["no output"])[-1][:200]


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
                full_scratch() if SCRATCH.search(text) else _disk_of(said[1], output),
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
