"""Which engine a call works on: this process, or Spark. Imports no Spark."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from tclose_spark.api.errors import on_command_line
from tclose_spark.errors import ConfigurationError
from tclose_spark.io.input.arrow_frames import is_spark
from tclose_spark.io.input.files import PATTERN
from tclose_spark.io.spark import driver
from tclose_spark.io.spark.installation import MASTER_VARIABLE
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.runfile.loading import URI
from tclose_spark.runfile.spec import AUTO, Input, ReleaseSpec

LOCAL: Literal["local"] = "local"
SPARK: Literal["spark"] = "spark"
VARIABLE = "TCLOSE_ENGINE"
RUN_FILE = "the run file"
SPARK_VARIABLES = "TCLOSE_SPARK_"
"""How variables begin that set up Spark."""
MOST_BYTES = 10**9
"""The largest input on disk that `auto` leaves to this process."""
MOST_ROWS = 2_000_000
"""The most rows that `auto` leaves to this process, which holds them in some 2 GiB. A gigabyte of Parquet has many
more.
"""
LOCAL_VERBS = frozenset(
    {"release", "profile", "plan", "anonymize", "verify", "report", "publish", "suggest", "compare"}
    | {"audit", "explain", "hierarchy"}
)
"""The verbs that this process can carry out. The others work on Spark."""


@dataclass(frozen=True)
class Asked:
    """The engine that a user asks for, or auto. by: what asks, as messages name it."""

    engine: str = AUTO
    by: str = RUN_FILE


@dataclass(frozen=True, kw_only=True)
class Work:
    """What the choice depends on.

    needs: what only Spark can do; empty if there is nothing. size: bytes of the input on disk. rows: of the table, None
    if it is not read. Of files, MOST_ROWS and a few are counted at most.
    """

    needs: str = ""
    size: int = 0
    rows: int | None = None


@dataclass(frozen=True)
class Choice:
    """An engine, why, and whether the user asked for it."""

    name: Literal["local", "spark"]
    why: str
    asked: bool = False

    @property
    def line(self) -> str:
        """The line of the log about it."""
        return f"{'engine':<10} {self.name}: {self.why}"


def asked_engine(argument: str | None, spec: ReleaseSpec | None) -> Asked:
    """What the argument of a call asks for, else the environment, else the run file.

    Raises:
        ConfigurationError: if it is no engine, with what asks for it.
    """
    own = "--engine" if on_command_line() else "the argument engine"
    for given, by in ((argument, own), (os.environ.get(VARIABLE) or None, VARIABLE)):
        if given is not None:
            if given not in (AUTO, LOCAL, SPARK):
                raise ConfigurationError(f"{by} is {given!r}; expected {AUTO}, {LOCAL} or {SPARK}")
            return Asked(given, by)
    return Asked() if spec is None else Asked(spec.engine)


def choose_engine(asked: Asked, work: Work, present: str) -> Choice:
    """The engine for this work. present: what there is of Spark (`spark_present`); empty if there is nothing.

    >>> choose_engine(Asked(), Work(size=1_234_567), "").line
    'engine     local: 1.2 MB of files, no Spark session'

    Raises:
        ConfigurationError: if only Spark can do what local is asked for.
    """
    if asked.engine == LOCAL and work.needs:
        key = "engine: " if asked.by == RUN_FILE else ""
        raise ConfigurationError(
            f"{key}{asked.by} asks for local, and {work.needs} needs Spark; expected auto or spark"
        )
    if asked.engine != AUTO:
        return Choice(LOCAL if asked.engine == LOCAL else SPARK, f"{asked.by} asks for it", asked=True)
    if work.needs:
        return Choice(SPARK, f"{work.needs} needs it")
    if present:
        return Choice(SPARK, present)
    most = f"{MOST_ROWS:,} rows" if (work.rows or 0) > MOST_ROWS else ""
    if work.size:
        what, most = f"{_written(work.size)} of files", _written(MOST_BYTES) if work.size > MOST_BYTES else most
    else:
        what = "nothing to read" if work.rows is None else f"{work.rows:,} rows in memory"
    return Choice(SPARK, f"{what}, more than {most}") if most else Choice(LOCAL, f"{what}, no Spark session")


def work_of(verb: str, spec: ReleaseSpec | None = None, table: Any = None, source: Input | None = None) -> Work:
    """What the choice depends on in a call. table: in memory, if one is given. source: of the table, without a spec."""
    source = source if spec is None else spec.input
    if verb not in LOCAL_VERBS or source is None:
        return Work(needs=verb)
    needs = next(chain(_input_needs(source, table), () if spec is None else _needs(spec)), "")
    if table is not None:
        return Work(needs=needs, rows=None if is_spark(table) else table.num_rows)
    if needs or source.is_frame:
        return Work(needs=needs)
    from tclose_spark.engine.local.reading import count_rows

    size = driver.size_on_disk(source.path)
    return Work(size=size, rows=count_rows(source, MOST_ROWS) if 0 < size <= MOST_BYTES else None)


def _input_needs(source: Input, table: Any) -> Iterator[str]:
    """What only Spark can read."""
    if is_spark(table):
        yield "a DataFrame of Spark"
    if table is not None:
        return
    if source.format == "table" and not source.is_frame:
        yield "input.format: table"
    elif URI.match(source.path):
        yield "the URI of input.path"
    elif PATTERN & set(source.path):
        yield "the pattern of input.path"


def _needs(spec: ReleaseSpec) -> Iterator[str]:
    """What only Spark can do in a run with an input that this process reads."""
    output = spec.output
    if output.table is not None:
        yield "output.table"
    for key, path in (("public", output.public_path), ("internal", output.internal_path)):
        if URI.match(path):
            yield f"the URI of output.{'path' if output.path else key}"
    quasi, sensitive = spec.attributes.quasi_identifiers, spec.attributes.sensitive_attributes
    columns: Mapping[str, QuasiIdentifier | SensitiveAttribute] = {**quasi, **sensitive}
    for name, settings in columns.items():
        if isinstance(settings.hierarchy, str) and URI.match(settings.hierarchy):
            yield f"the URI of the hierarchy of {name!r}"


def spark_present() -> str:
    """What this process or its environment has of Spark; empty if there is nothing."""
    for name in ("SPARK_REMOTE", MASTER_VARIABLE, *sorted(n for n in os.environ if n.startswith(SPARK_VARIABLES))):
        if name in os.environ:
            return f"{name} is set"
    if driver.is_submitted():
        return "the platform provides a session" if driver.is_brought() else "spark-submit started this process"
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    if context is not None and context._active_spark_context is not None:
        return "a Spark session is active"
    session = getattr(sys.modules.get("pyspark.sql"), "SparkSession", None)
    return "a Spark session is active" if session is not None and session.getActiveSession() is not None else ""


def _written(size: int) -> str:
    """A number of bytes for people.

    >>> _written(999), _written(1_234_567), _written(10**9)
    ('999 bytes', '1.2 MB', '1 GB')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f}".removesuffix(".0") + f" {name}"
    return f"{size} bytes"
