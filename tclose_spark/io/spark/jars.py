"""Delta's jars: given, or found by Ivy once and remembered, so later starts need neither Ivy nor a
network.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tclose_spark.errors import ConfigurationError

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
                f"{VARIABLE}: {jar} is not a file; expected comma-separated paths of the Delta jars"
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
            "the package delta-spark is not installed: pip install 'tclose-spark[spark]'"
        ) from None
    if minor(delta) == "4.0" and minor(spark) != "4.0":
        raise ConfigurationError(
            f"delta-spark {delta} is for Spark 4.0, and pyspark {spark} is installed: pip install "
            f"'delta-spark=={ADVISED}', or 'pyspark<4.1'"
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
