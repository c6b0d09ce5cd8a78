"""The driver's JVM of this process: whether it runs, how it starts, and how it ends.

`spark-submit` starts it as PySpark does, but nothing waits for it. This module does not import
PySpark, so Java starts while Python still imports modules.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from tclose_spark.errors import ConfigurationError
from tclose_spark.io.interrupts import SIGNALS, abandoned_with, run_with_timeout
from tclose_spark.io.spark.installation import (
    compiler,
    delta_settings,
    driver_memory,
    master,
    require_java,
)

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


JAVA_OPTIONS = "JAVA_TOOL_OPTIONS"
PORT = "PYSPARK_GATEWAY_PORT"
SECRET = "PYSPARK_GATEWAY_SECRET"  # noqa: S105 - the name of a variable
PORT_FILE = "_PYSPARK_DRIVER_CONN_INFO_PATH"
INTERVAL = 0.02  # seconds between two looks for its port


class Jvm:
    """A JVM, and a folder that only this user can read for Spark's temporary files, which have
    values of people.
    """

    def __init__(self, settings: Mapping[str, str], options: str) -> None:
        """Starts it with Spark's settings and Java's options, and returns at once. Java's own
        variables and Spark's driver settings come later and override the options.

        Raises:
            ConfigurationError: if Spark is not installed.
        """
        submit = _spark_home() / "bin" / "spark-submit"
        self.folder = Path(tempfile.mkdtemp(prefix="tclose_spark-"))
        self._port = self.folder / "port"
        self._log = self.folder / "spark.log"
        if "SPARK_LOCAL_DIRS" not in os.environ:
            settings = {**settings, "spark.local.dir": str(self.folder)}
        java = (
            f"-Djava.io.tmpdir={shlex.quote(str(self.folder))}",
            options,
            os.environ.get(JAVA_OPTIONS),
        )
        environment = {
            **os.environ,
            "SPARK_CONNECT_MODE": "0",
            PORT_FILE: str(self._port),
            JAVA_OPTIONS: " ".join(filter(None, java)),
        }
        given = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
        with self._log.open("wb") as log:
            said = None if os.environ.get("TCLOSE_LOG_LEVEL") else log
            self._process = subprocess.Popen(  # noqa: S603 - Spark, and settings that were checked
                [
                    str(submit),
                    *given,
                    *shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell")),
                ],
                stdin=subprocess.PIPE,  # Spark ends when this pipe does, however this process ends
                stdout=said,
                stderr=said,
                env=environment,
                preexec_fn=_ignore_interrupts,
            )

    @property
    def runs(self) -> bool:
        """Whether it is still running."""
        return self._process.poll() is None

    @contextlib.contextmanager
    def gateway(self) -> Iterator[None]:
        """Waits for the JVM. Inside, PySpark connects to it instead of starting its own.

        Raises:
            ConnectionError: if it ended before PySpark could connect.
        """
        while not self._port.exists():  # it is moved there when it is whole
            if not self.runs:
                raise ConnectionError("the JVM ended before Spark started")
            time.sleep(INTERVAL)
        told = self._port.read_bytes()
        port, length = struct.unpack_from(">ii", told)
        os.environ |= {PORT: str(port), SECRET: told[8 : 8 + length].decode()}
        try:
            yield
        finally:
            del os.environ[PORT], os.environ[SECRET]  # other processes must not see them

    def said(self) -> str:
        """The output of its standard streams so far."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def end(self) -> None:
        """Ends it immediately and removes its files."""
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _ignore_interrupts() -> None:
    """Makes the JVM ignore signals. A terminal or a scheduler sends them to the whole process
    group, and the JVM ends with the command, not before it.
    """
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _spark_home() -> Path:
    """The folder of Spark: SPARK_HOME, otherwise that of the package pyspark, which is not imported
    for this.

    Raises:
        ConfigurationError: if there is none.
    """
    home = os.environ.get("SPARK_HOME")
    if home and not Path(home, "bin", "spark-submit").is_file():
        raise ConfigurationError(
            f"SPARK_HOME is {home!r}, where there is no bin/spark-submit; set it to a Spark, or "
            "unset it",
        )
    if home:
        return Path(home)
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise ConfigurationError(
            "the package pyspark is not installed: pip install 'tclose-spark[spark]'",
        )
    return Path(found.origin).parent
