"""Environment variables for the start of Spark. A wrong one is reported before Spark starts."""

from __future__ import annotations

import os
import re
import shutil
import socket

from tclose_spark.errors import ConfigurationError

JAVA_VARIABLE = "JAVA_HOME"
MASTER_VARIABLE = "TCLOSE_MASTER"
MEMORY_VARIABLE = "TCLOSE_DRIVER_MEMORY"
COMPILER_VARIABLE = "TCLOSE_COMPILER"
COMPILERS = {"quick": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m", "full": ""}
# All cores; a task may fail three times: workers get lost.
DEFAULT_MASTER = "local[*, 4]"
DEFAULT_MEMORY = "4g"
MASTER = re.compile(
    r"local(\[(\d+|\*)(, *\d+)?\])?|local-cluster\[.+\]|spark://\S+:\d+(,\S+:\d+)*|yarn|k8s://\S+"
)
MEMORY = re.compile(r"(\d+)(b|k|m|g|t|p)b?", re.IGNORECASE)
PATIENCE = 5.0  # seconds for a master to answer
# Bytes of a machine on which the driver gets DEFAULT_MEMORY; on a smaller one it gets half.
ROOMY = 8 << 30
# Bytes of an input on disk, some two million rows, from which on the optimizing compiler pays.
LARGE = 1 << 25
# Bytes; Spark requires one and a half times the 300 MiB that it keeps for itself.
LEAST_MEMORY = 450 << 20


def driver_memory() -> str:
    """The driver's memory.

    Raises:
        ConfigurationError: if it is not a size, below Spark's minimum, or above the machine's
            memory.
    """
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    memory = os.environ.get(MEMORY_VARIABLE)
    if memory is None:
        return DEFAULT_MEMORY if there >= ROOMY else f"{max(there // 2, LEAST_MEMORY) >> 20}m"
    size = MEMORY.fullmatch(memory)
    if size is None or _bytes(size) < LEAST_MEMORY:
        raise ConfigurationError(
            f"{MEMORY_VARIABLE} is {memory!r}; expected a size such as 4g or 800m, of at least 450m"
        )
    if _bytes(size) > there:
        raise ConfigurationError(
            f"{MEMORY_VARIABLE} is {memory!r}, and this machine has {there / (1 << 30):.1f} GiB; "
            "expected less, such as 2g"
        )
    return memory


def _bytes(size: re.Match[str]) -> int:
    """The bytes of a match of MEMORY."""
    return int(size[1]) << 10 * "bkmgtp".index(size[2].lower())


def compiler(size: int) -> str:
    """Java's options for an input of this many bytes: only its quick compiler, unless the input is
    large.

    For few rows, the optimizing compiler would spend much of the time on code that hardly runs.

    Raises:
        ConfigurationError: if TCLOSE_COMPILER is not one of the known words.
    """
    chosen = os.environ.get(COMPILER_VARIABLE) or ("quick" if size < LARGE else "full")
    if chosen not in COMPILERS:
        raise ConfigurationError(
            f"{COMPILER_VARIABLE} is {chosen!r}; expected {' or '.join(COMPILERS)}"
        )
    return COMPILERS[chosen]


def master() -> str:
    """Spark's master.

    Raises:
        ConfigurationError: if Spark does not know it, or if it does not answer, because Spark would
            wait long.
    """
    url = os.environ.get(MASTER_VARIABLE, DEFAULT_MASTER)
    if not MASTER.fullmatch(url):
        raise ConfigurationError(
            f"{MASTER_VARIABLE} is {url!r}; expected local[*], local[N], spark://HOST:PORT, yarn "
            "or k8s://.."
        )
    if url.startswith("spark://") and not any(
        map(_answers, url.removeprefix("spark://").split(","))
    ):
        raise ConfigurationError(
            f"{MASTER_VARIABLE} is {url!r}, where nothing answers; start a master there, or name "
            "another"
        )
    return url


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
    except (OSError, OverflowError):
        return False
    return True


def require_java() -> None:
    """Raises ConfigurationError if Spark would not find Java."""
    home = os.environ.get(JAVA_VARIABLE)
    if home and not shutil.which(os.path.join(home, "bin", "java")):
        raise ConfigurationError(
            f"{JAVA_VARIABLE} is {home!r}, where there is no bin/java; set it to a Java 17, or "
            "unset it to use the PATH's"
        )
    if not home and not shutil.which("java"):
        raise ConfigurationError(
            "Java was not found: install a Java 17 runtime (Debian: openjdk-17-jre-headless), or "
            "set JAVA_HOME"
        )
