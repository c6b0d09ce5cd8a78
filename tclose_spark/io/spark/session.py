"""The Spark session, with Delta and logging."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from py4j.clientserver import FinalizerWorker
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from tclose_spark.errors import ConfigurationError, text_of
from tclose_spark.io.causes import why_no_session
from tclose_spark.io.spark import driver
from tclose_spark.io.spark.cluster import set_if_allowed, setting
from tclose_spark.io.spark.driver import Jvm
from tclose_spark.io.spark.installation import ADVISED, VARIABLE, package, remember

EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
SESSION_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    # Files in windows-1252, Shift_JIS and others can be read too (options: encoding), not the seven
    # encodings of the SQL functions only.
    "spark.sql.legacy.javaCharsets": "true",
    # Fingerprints are sums of hashes modulo 2^64; under ANSI rules a sum that wraps around is an
    # error.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(1 << 28),
    # What a filter implies of the columns below it is worked out for every way to write them: two
    # dozen columns and their hashes fill the driver's memory.
    "spark.sql.constraintPropagation.enabled": "false",
    # What is shuffled is often little beside the rows: tallies of classes, counts. Then few tasks
    # do it, also where the result is kept; each costs a tenth of a CPU second in Python workers.
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
    # A lost executor must never lose or double rows: detect an output that differs after a retry,
    # redo it whole. Spark 4.0 does not know these; there as here such a run fails by the
    # fingerprints of its rows.
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "true",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "true",
    # Every table of a run has one commit; Delta's default of 50 tasks to read a log costs seconds
    # at each table.
    "spark.databricks.delta.snapshotPartitions": "2",
    # A release must not carry minima and maxima in its log.
    "spark.databricks.delta.stats.collect": "false",
}
DECISIVE = ("spark.sql.session.timeZone", "spark.sql.ansi.enabled")
"""Settings that change the contents of a release. Without the others a run costs more, or is
refused where it matters.
"""
RETRIES_NOTICED = "spark.sql.shuffle.orderIndependentChecksum.enabled"

_remote: SparkSession | None = None  # the last session without a context of its own


def get_session(name: str) -> SparkSession:
    """The active session (a notebook, Databricks), otherwise a new one with Delta, with the
    settings of a run.

    Under `spark-submit`, the submitted master and settings apply; with SPARK_REMOTE, those of the
    Connect server. In a plain process the session is local, on all cores.

    Raises: ConfigurationError: if Java or Delta's jars are missing, the active session has no
        Delta, or the platform refuses a DECISIVE setting.
    """
    session = find_session(name)
    _configure(session)
    return session


def find_session(name: str) -> SparkSession:
    """The session of `get_session`; an active one keeps its settings.

    Raises:
        ConfigurationError: see there.
    """
    global _remote
    active = SparkSession.getActiveSession()
    if active is None:
        active = _new_session(name)
    else:
        require_delta_of(active)
    _remote = active if SparkContext._active_spark_context is None else None
    return active


@contextlib.contextmanager
def borrowed(session: SparkSession) -> Iterator[SparkSession]:
    """The session with the settings of a run. A foreign session gets its own settings back
    afterwards.
    """
    before = {} if driver.is_ours() else {key: setting(session, key) for key in SESSION_SETTINGS}
    try:
        _configure(session)
        yield session
    finally:
        for key, was in before.items():
            set_if_allowed(session, key, was)


def forget_call() -> None:
    """Closes this thread's connection to the JVM. An interrupted call left its answer there, which
    the next call would take for its own.
    """
    with contextlib.suppress(Exception):
        client: Any = SparkContext._gateway._gateway_client  # type: ignore[union-attr]
        connection = client.get_thread_connection()
        if connection is not None:
            connection.close(True)


def _configure(spark: SparkSession) -> None:
    """Applies SESSION_SETTINGS. Settings that a platform does not allow are left, unless they are
    DECISIVE. If retries go unnoticed, a warning is printed.
    """
    left = [
        key
        for key, value in SESSION_SETTINGS.items()
        if not set_if_allowed(spark, key, value) and setting(spark, key) != value
    ]
    for key in DECISIVE:
        if key in left:
            raise ConfigurationError(
                f"this platform does not let a run set {key} to {SESSION_SETTINGS[key]}, which a "
                "release depends on; set it for the cluster",
            )
    if RETRIES_NOTICED in left:
        sys.stderr.write(
            f"note: this platform does not let a run set {RETRIES_NOTICED}: an output that a lost "
            "executor disturbs is not made again, but noticed by the fingerprints of the rows; "
            "such a run fails, and is to be repeated\n",
        )


def cancel_jobs() -> None:
    """Cancels the active session's jobs."""
    context = SparkContext._active_spark_context
    if context is not None:
        context.cancelAllJobs()
    elif _remote is not None:
        _remote.interruptAll()


def _new_session(name: str) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.app.name": name,
        "spark.sql.extensions": EXTENSION,
        "spark.sql.catalog.spark_catalog": CATALOG,
        **SESSION_SETTINGS,
    }
    if driver.is_brought():
        spark = SparkSession.builder.getOrCreate()
    elif driver.is_submitted() or (SparkContext._gateway is not None and not driver.is_ours()):
        spark = _started(settings)
        _require_delta(spark)
    else:
        spark = _on_own_jvm(settings)
    _quiet(spark)
    return spark


def _on_own_jvm(settings: Mapping[str, str]) -> SparkSession:
    """A session on the JVM that is already started, otherwise on a new one."""
    jvm = driver.start()
    try:
        with jvm.gateway():
            spark = _started(settings)
    except Exception as error:
        why = why_no_session(jvm.said(), text_of(error))
        _abandon(jvm)
        raise ConfigurationError(why) from error
    try:
        _require_delta(spark)
    except ConfigurationError:
        spark.stop()
        _abandon(jvm)
        raise
    packages = spark.conf.get("spark.jars.packages", "")
    if packages:
        remember(str(packages), str(spark.conf.get("spark.jars")).split(","))
    return spark


def _abandon(jvm: Jvm) -> None:
    """Ends a useless JVM, so that PySpark may have another. A thread of py4j returns objects to the
    JVM. It returns no more of them, and does not log that its connection is lost.
    """
    logging.root.addFilter(_is_of_another_thread)
    gateway: Any = SparkContext._gateway
    if gateway is not None:
        gateway._gateway_client.is_connected = False
    SparkContext._gateway = SparkContext._jvm = None
    jvm.end()


def _is_of_another_thread(record: logging.LogRecord) -> bool:
    """Whether another thread than the one that returns objects to a JVM logs this."""
    return not isinstance(threading.current_thread(), FinalizerWorker)


def _started(settings: Mapping[str, str]) -> SparkSession:
    """A new session.

    A thread of its own makes its context. In the main thread, PySpark would install a handler of
    Ctrl-C that calls the JVM in the middle of another call, and a signal would have to wait for the
    JVM.
    """
    failures: list[BaseException] = []

    def make_context() -> None:
        try:
            SparkContext.getOrCreate(SparkConf().setAll(list(settings.items())))
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=make_context, daemon=True)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    builder: SparkSession.Builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _require_delta(spark: SparkSession) -> None:
    """Raises ConfigurationError if Spark started without Delta on its class path."""
    try:
        spark.sparkContext._jvm.java.lang.Class.forName(  # type: ignore[union-attr]
            "io.delta.sql.DeltaSparkSessionExtension",
            False,
            spark.sparkContext._jvm.java.lang.Thread.currentThread().getContextClassLoader(),  # type: ignore[union-attr]
        )
    except Exception:
        jars = spark.sparkContext.getConf().get("spark.jars") or "none"
        wanted = package(ADVISED, spark.version)
        raise ConfigurationError(
            f"Delta is not on Spark's class path, or its jars are damaged (spark.jars: {jars}): "
            f"spark-submit --packages {wanted} (or --jars with the jars of delta-spark and "
            f"delta-storage); or {VARIABLE}",
        ) from None


def require_delta_of(session: SparkSession) -> None:
    """Raises ConfigurationError if a foreign session reports that it has no Delta. Platforms with
    Delta built in need not report it.
    """
    said = (
        f"{setting(session, 'spark.sql.extensions')} "
        f"{setting(session, 'spark.sql.catalog.spark_catalog')}"
    )
    if "Delta" not in said and not driver.is_brought():
        raise ConfigurationError(
            "the active Spark session has no Delta Lake; end it (spark.stop()) and a session with "
            "Delta is started, or start it with delta-spark's jars, "
            f"spark.sql.extensions={EXTENSION} and spark.sql.catalog.spark_catalog={CATALOG}",
        )


def _quiet(spark: SparkSession) -> None:
    """Silences Spark's logs, because an exception's text may have values of people.
    TCLOSE_LOG_LEVEL enables them.
    """
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        logging.getLogger(name).disabled = "TCLOSE_LOG_LEVEL" not in os.environ
    with contextlib.suppress(Exception):  # a shared cluster keeps its logs to itself
        spark.sparkContext.setLogLevel(os.environ.get("TCLOSE_LOG_LEVEL", "OFF"))
