"""What this machine gives Spark for its start: environment variables and Delta's jars.

A wrong variable is reported before Spark starts. The jars are given, or Ivy finds them once and
they are remembered, so later starts need neither Ivy nor a network.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

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
    r"local(\[(\d+|\*)(, *\d+)?\])?|local-cluster\[.+\]|spark://\S+:\d+(,\S+:\d+)*|yarn|k8s://\S+",
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
            f"{MEMORY_VARIABLE} is {memory!r}; expected a size such as 4g or 800m, of at least 450m",
        )
    if _bytes(size) > there:
        raise ConfigurationError(
            f"{MEMORY_VARIABLE} is {memory!r}, and this machine has {there / (1 << 30):.1f} GiB; "
            "expected less, such as 2g",
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
            f"{COMPILER_VARIABLE} is {chosen!r}; expected {' or '.join(COMPILERS)}",
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
            "or k8s://..",
        )
    if url.startswith("spark://") and not any(
        map(_answers, url.removeprefix("spark://").split(",")),
    ):
        raise ConfigurationError(
            f"{MASTER_VARIABLE} is {url!r}, where nothing answers; start a master there, or name "
            "another",
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
            "unset it to use the PATH's",
        )
    if not home and not shutil.which("java"):
        raise ConfigurationError(
            "Java was not found: install a Java 17 runtime (Debian: openjdk-17-jre-headless), or "
            "set JAVA_HOME",
        )


VARIABLE = "TCLOSE_DELTA_JARS"
ADVISED = "4.4.0"
"""The Delta that messages name; it is there for each Spark that is supported."""

# Of Delta's dependencies all but its own jars are part of Spark already.
ALREADY_IN_SPARK = ",".join(
    f"{group}:*"
    for group in (
        "com.fasterxml.jackson.core",
        "com.fasterxml.jackson.dataformat",
        "com.fasterxml.jackson.datatype",
        "com.github.luben",
        "com.google.code.findbugs",
        "commons-pool",
        "io.airlift",
        "javax.annotation",
        "org.antlr",
        "org.apache.hadoop",
        "org.apache.httpcomponents",
        "org.apache.logging.log4j",
        "org.apache.parquet",
        "org.openapitools",
        "org.roaringbitmap",
        "org.slf4j",
        "org.xerial.snappy",
    )
)


def delta_settings() -> dict[str, str]:
    """The settings that give Delta to a new Spark: its jars, or Ivy's coordinates.

    Named jars are not on Python's path. Ivy's jars are, and Python workers read their folders again
    for each task.

    Raises:
        ConfigurationError: if TCLOSE_DELTA_JARS names a missing file, or delta-spark is not
            installed.
    """
    given = os.environ.get(VARIABLE)
    for jar in given.split(",") if given else ():
        if not Path(jar).is_file():
            raise ConfigurationError(
                f"{VARIABLE}: {jar} is not a file; expected comma-separated paths of the Delta jars",
            )
    jars = given or ",".join(_remembered())
    return {"spark.jars": jars} if jars else to_be_found()


def to_be_found() -> dict[str, str]:
    """The settings with which Ivy finds the jars of the installed delta-spark.

    Raises:
        ConfigurationError: if delta-spark is not installed, or is for another Spark.
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        delta = version("delta-spark")
        spark = version("pyspark")
    except PackageNotFoundError:
        raise ConfigurationError(
            "the package delta-spark is not installed: pip install 'tclose-spark[spark]'",
        ) from None
    if minor(delta) == "4.0" and minor(spark) != "4.0":
        raise ConfigurationError(
            f"delta-spark {delta} is for Spark 4.0, and pyspark {spark} is installed: pip install "
            f"'delta-spark=={ADVISED}', or 'pyspark<4.1'",
        )
    return {"spark.jars.packages": package(delta, spark), "spark.jars.excludes": ALREADY_IN_SPARK}


def package(delta: str, spark: str) -> str:
    """The Maven coordinates of a version of Delta for a version of Spark. Up to 4.0, the name has
    no version of Spark.

    >>> package("4.4.0", "4.1.4"), package("4.4.0", "4.0.5"), package("4.0.1", "4.0.5")
    ('io.delta:delta-spark_4.1_2.13:4.4.0', 'io.delta:delta-spark_4.0_2.13:4.4.0', 'io.delta:delta-spark_2.13:4.0.1')
    """
    spark_too = "" if minor(delta) == "4.0" else f"_{minor(spark)}"
    return f"io.delta:delta-spark{spark_too}_2.13:{delta}"


def minor(version: str) -> str:
    """The first two numbers of a version."""
    return ".".join(version.split(".")[:2])


def remember(packages: str, jars: Sequence[str]) -> None:
    """Records the place of the jars that Ivy found for a session, as paths or file URIs, unless
    other packages were requested too. If nothing can be written, Ivy runs again next time.
    """
    if packages != to_be_found()["spark.jars.packages"]:
        return
    paths = [unquote(urlsplit(jar).path) for jar in jars]
    record = _record()
    try:
        record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = record.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps({path: Path(path).stat().st_size for path in paths}, indent=1))
        new.replace(record)  # at once, whatever another process writes
    except OSError:
        return


def _remembered() -> list[str]:
    """The recorded jars of these versions; none if one of them has changed."""
    record = _record()
    try:
        if record.stat().st_uid != os.getuid() or record.stat().st_mode & 0o022:
            return []  # it names code
        sizes = json.loads(record.read_text())
        return (
            list(sizes)
            if all(Path(jar).stat().st_size == size for jar, size in sizes.items())
            else []
        )
    except (OSError, ValueError, AttributeError):
        return []


def _record() -> Path:
    """The file of the record: in the user's cache, by the requested packages and this
    environment.
    """
    asked = json.dumps([to_be_found(), sys.prefix])
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return (
        Path(cache)
        / "tclose_spark"
        / f"jars-{hashlib.sha256(asked.encode()).hexdigest()[:16]}.json"
    )
