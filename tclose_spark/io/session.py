"""The Spark session, Delta and logging: the one place that knows how."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pyspark import SparkContext, StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tclose_spark.errors import ConfigurationError
from tclose_spark.io.installation import driver_memory, master, require_java, why_no_session
from tclose_spark.io.interrupts import apart, held

DELTA_JARS_VARIABLE = "TCLOSE_DELTA_JARS"

# Of Delta's dependencies all but its own jars are part of Spark already. Python workers re-read the directory of
# every jar on their path at each task, so those that are not needed cost CPU in every stage.
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

SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    # Files in windows-1252, Shift_JIS and others can be read too (options: encoding), not the seven encodings of the
    # SQL functions only.
    "spark.sql.legacy.javaCharsets": "true",
    # Fingerprints are sums of hashes modulo 2^64; under ANSI rules a sum that wraps around is an error.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(1 << 28),
    # What a filter implies of the columns below it is worked out for every way to write them: two dozen columns and
    # their hashes fill the driver's memory.
    "spark.sql.constraintPropagation.enabled": "false",
    # A lost executor must never lose or double rows: detect an output that differs after a retry, redo it whole.
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "true",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "true",
    # Every table of a run has one commit; Delta's default of 50 tasks to read a log costs seconds at each table.
    "spark.databricks.delta.snapshotPartitions": "2",
    # A release must not carry minima and maxima in its log.
    "spark.databricks.delta.stats.collect": "false",
}

LOCAL_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def get_session(name: str) -> SparkSession:
    """The active session (a notebook, Databricks), else a new one with Delta, with the settings a run needs.

    Under `spark-submit` the master and all that was submitted stand; in a plain process it is local, on all cores.

    Raises:
        ConfigurationError: if Java or Delta's jars are not to be had.
    """
    active = SparkSession.getActiveSession()
    if active is None:
        active = _new_session(name)
    for key, value in SETTINGS.items():
        active.conf.set(key, value)
    return active


def cancel_jobs() -> None:
    """Cancels what the active session runs, if there is one."""
    context = SparkContext._active_spark_context
    if context is not None:
        context.cancelAllJobs()


@contextlib.contextmanager
def kept(table: DataFrame) -> Iterator[DataFrame]:
    """A table that is read more than once, kept by the executors meanwhile, in memory or on their disks.

    For tables that are a function of the rows' content only: what is lost with an executor is made again, the same.
    Where a platform keeps nothing it is computed each time.
    """
    try:
        persisted = table.persist(StorageLevel.MEMORY_AND_DISK)
    except PySparkException:
        yield table
        return
    try:
        yield persisted
    finally:
        persisted.unpersist()


def _new_session(name: str) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ or "SPARK_REMOTE" in os.environ
    builder: SparkSession.Builder = SparkSession.builder.appName(name)
    for key, value in {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        **SETTINGS,
    }.items():
        builder = builder.config(key, value)
    if submitted:
        with held():
            spark = builder.getOrCreate()
        if "SPARK_REMOTE" not in os.environ:
            _require_delta(spark)
        _quiet(spark)
        return spark
    require_java()
    builder = builder.master(master())
    for key, value in LOCAL_SETTINGS.items():
        builder = builder.config(key, value)
    builder = builder.config("spark.driver.memory", driver_memory())
    if "SPARK_LOCAL_DIRS" not in os.environ:
        builder = builder.config("spark.local.dir", _private_folder())
    builder = builder.config("spark.log.level", "OFF")
    builder = _with_delta(builder)
    with held(), _captured_stderr() as log:
        try:
            spark = builder.getOrCreate()
        except Exception as error:
            raise ConfigurationError(why_no_session(log.read_text(errors="replace"), str(error))) from error
    _quiet(spark)
    return spark


def _private_folder() -> str:
    """A folder that only this user reads, for what Spark puts on disk meanwhile: values of people. It is removed at the
    end.
    """
    folder = tempfile.mkdtemp(prefix="tclose_spark-")

    def remove() -> None:
        context = SparkContext._active_spark_context
        if context is not None:
            apart(context.stop)  # else Spark would still write there
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def _with_delta(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Adds Delta's jars: from the setting if given, else resolved by Ivy for the installed delta-spark."""
    jars = os.environ.get(DELTA_JARS_VARIABLE)
    if jars:
        for jar in jars.split(","):
            if not Path(jar).is_file():
                raise ConfigurationError(
                    f"{DELTA_JARS_VARIABLE}: {jar} is not a file; expected comma-separated paths of the Delta jars"
                )
        return builder.config("spark.jars", jars)
    try:
        from delta import configure_spark_with_delta_pip
    except ImportError:
        raise ConfigurationError(
            "the package delta-spark is not installed: pip install 'tclose-spark[spark]'"
        ) from None
    builder = builder.config("spark.jars.excludes", ALREADY_IN_SPARK)
    configured: SparkSession.Builder = configure_spark_with_delta_pip(builder)
    return configured


def _require_delta(spark: SparkSession) -> None:
    """Raises if a submitted application came without Delta on its class path."""
    try:
        spark.sparkContext._jvm.java.lang.Class.forName(  # type: ignore[union-attr]
            "io.delta.sql.DeltaSparkSessionExtension",
            False,
            spark.sparkContext._jvm.java.lang.Thread.currentThread().getContextClassLoader(),  # type: ignore[union-attr]
        )
    except Exception:
        raise ConfigurationError(
            "Delta is not on Spark's class path: spark-submit --packages io.delta:delta-spark_4.1_2.13:4.4.0 "
            "(or --jars with the jars of delta-spark and delta-storage)"
        ) from None


def _quiet(spark: SparkSession) -> None:
    """Silences Spark's logs: an exception's text may hold values of people. TCLOSE_LOG_LEVEL turns them on again."""
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        logging.getLogger(name).disabled = "TCLOSE_LOG_LEVEL" not in os.environ
    with contextlib.suppress(Exception):  # no JVM context behind Spark Connect
        spark.sparkContext.setLogLevel(os.environ.get("TCLOSE_LOG_LEVEL", "OFF"))


@contextlib.contextmanager
def _captured_stderr() -> Iterator[Path]:
    """Sends the file descriptor of stderr to a file while the JVM starts; the JVM keeps writing there."""
    if os.environ.get("TCLOSE_LOG_LEVEL"):
        yield Path(os.devnull)
        return
    with tempfile.TemporaryDirectory(prefix="tclose-") as folder:
        log = Path(folder) / "spark.log"
        sys.stderr.flush()
        saved = os.dup(2)
        target = os.open(log, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.dup2(target, 2)
            yield log
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            os.close(target)
