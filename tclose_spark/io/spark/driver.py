"""The driver's JVM of this process: whether it runs, how it starts, and how it ends.

This module does not import PySpark, so Java starts while Python still imports modules.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
from pathlib import Path

from tclose_spark.io.interrupts import abandoned_with, run_with_timeout
from tclose_spark.io.spark.installation import compiler, driver_memory, master, require_java
from tclose_spark.io.spark.jars import delta_settings
from tclose_spark.io.spark.jvm import PORT, Jvm

_jvm: Jvm | None = None  # a process has one driver


def is_brought() -> bool:
    """Whether the platform provides the session: a Spark Connect server (SPARK_REMOTE), or
    Databricks.
    """
    return "SPARK_REMOTE" in os.environ or "DATABRICKS_RUNTIME_VERSION" in os.environ


def is_submitted() -> bool:
    """Whether `spark-submit` started this process or the platform provides a session, so no JVM is
    started.
    """
    return PORT in os.environ or is_brought()


def is_ours() -> bool:
    """Whether a JVM that this process started is running."""
    return _jvm is not None and _jvm.runs


def size_on_disk(path: str) -> int:
    """The bytes of a local file, or of all files below a folder; 0 for anything else."""
    local = Path(path.removeprefix("file://"))
    try:
        files = (
            [local] if local.is_file() else [file for file in local.rglob("*") if file.is_file()]
        )
        return sum(file.stat().st_size for file in files)
    except OSError:
        return 0


def start_early(path: str = "") -> None:
    """Starts the JVM that a session will need, unless one runs. For the table at this path.

    Raises:
        ConfigurationError: if the installation or an environment variable does not allow it.
    """
    pyspark = sys.modules.get("pyspark")
    if not (is_submitted() or (pyspark is not None and pyspark.SparkContext._gateway is not None)):
        start(size_on_disk(path))


def start(size: int = 0) -> Jvm:
    """Starts the JVM, or returns the running one; for an input of this many bytes.

    Raises:
        ConfigurationError: if the installation or an environment variable does not allow it.
    """
    global _jvm
    if _jvm is not None and _jvm.runs:
        return _jvm
    require_java()
    settings = {
        "spark.master": master(),
        "spark.driver.memory": driver_memory(),
        "spark.log.level": "OFF",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **delta_settings(),
    }
    _jvm = Jvm(settings, compiler(size))
    abandoned_with(_jvm.end)
    atexit.register(_finish, _jvm)
    return _jvm


def end_now() -> None:
    """Ends the JVM immediately, after an interrupt with nothing to follow."""
    if _jvm is not None:
        _jvm.end()


def _finish(jvm: Jvm) -> None:
    """Lets Spark finish, then ends the JVM and removes its files."""
    pyspark = sys.modules.get("pyspark")
    context = None if pyspark is None else pyspark.SparkContext._active_spark_context
    if jvm.runs and context is not None:
        run_with_timeout(context.stop)
    logging.disable()  # py4j's threads would log that the JVM is gone
    jvm.end()
