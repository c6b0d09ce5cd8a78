"""Which engine a call works on: this process, or Spark. Imports no Spark."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from typing import Any, Literal

from tclose_spark.api.errors import on_command_line
from tclose_spark.errors import ConfigurationError
from tclose_spark.io.input.arrow_frames import is_spark
from tclose_spark.io.input.states import PATTERN, walk
from tclose_spark.io.spark import driver
from tclose_spark.io.spark.installation import MASTER_VARIABLE
from tclose_spark.io.storage.folders import place_of
from tclose_spark.io.storage.stores import StoreError, StorePath, is_on_store
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.runfile.loading import URI
from tclose_spark.runfile.spec import AUTO, Input, ReleaseSpec

LOCAL: Literal["local"] = "local"
SPARK: Literal["spark"] = "spark"
VARIABLE = "TCLOSE_ENGINE"
RUN_FILE = "the run file"
SPARK_VARIABLES = "TCLOSE_SPARK_"
"""How variables begin that set up Spark."""
SUBMIT = "PYSPARK_SUBMIT_ARGS"
"""The variable with the options of spark-submit, such as connectors of object stores."""
MOST_BYTES = 10**9
"""The largest input on disk that `auto` leaves to this process."""
MOST_ROWS = 2_000_000
"""The most rows that `auto` leaves to this process, which holds them in some 2 GiB. A gigabyte of
Parquet has many more.
"""
LOCAL_VERBS = frozenset(
    {"release", "profile", "plan", "anonymize", "verify", "report", "publish", "suggest", "compare"}
    | {"audit", "explain", "hierarchy", "fingerprint"},
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

    needs: what only Spark can do; empty if there is nothing.
    unopened: why files on an object store are left to Spark.
    size: bytes of the input's files.
    rows: of the table, None if it is not read. Of files, MOST_ROWS and a few are counted at most.
    """

    needs: str = ""
    unopened: str = ""
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


def asked_engine(argument: str | None, of_run_file: str = AUTO) -> Asked:
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
    return Asked(of_run_file)


def choose_engine(asked: Asked, work: Work, present: str) -> Choice:
    """The engine for this work. present: what there is of Spark (`spark_present`); empty if there
    is nothing.

    >>> choose_engine(Asked(), Work(size=1_234_567), "").line
    'engine     local: 1.2 MB of files, no Spark session'

    Raises:
        ConfigurationError: if only Spark can do what local is asked for.
    """
    if asked.engine == LOCAL and work.needs:
        key = "engine: " if asked.by == RUN_FILE else ""
        raise ConfigurationError(
            f"{key}{asked.by} asks for local, and {work.needs} needs Spark; expected auto or spark",
        )
    if asked.engine != AUTO:
        return Choice(
            LOCAL if asked.engine == LOCAL else SPARK,
            f"{asked.by} asks for it",
            asked=True,
        )
    if work.needs:
        return Choice(SPARK, f"{work.needs} needs it")
    if present or work.unopened:
        return Choice(SPARK, present or work.unopened)
    most = f"{MOST_ROWS:,} rows" if (work.rows or 0) > MOST_ROWS else ""
    if work.size:
        what = f"{_written(work.size)} of files"
        most = _written(MOST_BYTES) if work.size > MOST_BYTES else most
    else:
        what = "nothing to read" if work.rows is None else f"{work.rows:,} rows in memory"
    return (
        Choice(SPARK, f"{what}, more than {most}")
        if most
        else Choice(LOCAL, f"{what}, no Spark session")
    )


def work_of(
    verb: str,
    spec: ReleaseSpec | None = None,
    table: Any = None,
    source: Input | None = None,
    decides: bool = True,
) -> Work:
    """What the choice depends on in a call. table: in memory, if one is given. source: of the
    table, without a spec.
    decides: whether its size and its object stores do. Otherwise this looks at neither.
    """
    source = source if spec is None else spec.input
    if verb not in LOCAL_VERBS or source is None:
        return Work(needs=verb)
    places = dict(_places(source, table, spec))
    uris = (
        f"the URI of {what}"
        for what, path in places.items()
        if URI.match(path) and not is_on_store(path)
    )
    needs = next(chain(_needs(source, table, spec), uris), "")
    rows = None if table is None or is_spark(table) else table.num_rows
    if needs or not decides:
        return Work(needs=needs, rows=rows)
    unopened = _why_spark(places.values())
    if unopened or table is not None or source.is_frame:
        return Work(unopened=unopened, rows=rows)
    from tclose_spark.engine.local.counting import count_rows

    size = size_of_files(source.path)
    return Work(size=size, rows=count_rows(source, MOST_ROWS) if 0 < size <= MOST_BYTES else None)


def _needs(source: Input, table: Any, spec: ReleaseSpec | None) -> Iterator[str]:
    """What only Spark can do, wherever the files are."""
    if is_spark(table):
        yield "a DataFrame of Spark"
    if table is None and source.format == "table" and not source.is_frame:
        yield "input.format: table"
    elif table is None and not source.is_frame and PATTERN & set(source.path):
        yield "the pattern of input.path"
    if spec is not None and spec.output.table is not None:
        yield "output.table"
    if (
        spec is not None
        and spec.privacy.population is not None
        and spec.privacy.population.format == "table"
    ):
        yield "privacy.population.format: table"


def _places(source: Input, table: Any, spec: ReleaseSpec | None) -> Iterator[tuple[str, str]]:
    """(what it is, its path) of all that a call reads and writes."""
    if table is None and source.format != "table":
        yield "input.path", source.path
    if spec is None:
        return
    output = spec.output
    for key, path in (("public", output.public_path), ("internal", output.internal_path)):
        yield f"output.{'path' if output.path else key}", path
    quasi = spec.attributes.quasi_identifiers
    sensitive = spec.attributes.sensitive_attributes
    columns: Mapping[str, QuasiIdentifier | SensitiveAttribute] = {**quasi, **sensitive}
    for name, settings in columns.items():
        if isinstance(settings.hierarchy, str):
            yield f"the hierarchy of {name!r}", settings.hierarchy
    population = spec.privacy.population
    if population is not None and population.table is not None and population.format != "table":
        yield "privacy.population.table", population.table


def is_read_here(path: str, engine: str = AUTO) -> bool:
    """Whether this process reads files at a path, or leaves them to Spark. engine: what the user
    asks for.
    """
    if engine != AUTO or not is_on_store(path):
        return engine == LOCAL or not URI.match(path)
    return not (spark_present() or _why_spark([path]))


def _why_spark(paths: Iterable[str]) -> str:
    """Why the object stores among these paths are left to Spark; empty if this process opens them,
    or has no Spark.
    """
    for uri in filter(is_on_store, paths if find_spec("pyspark") else ()):
        if SUBMIT in os.environ:
            return f"{SUBMIT} is set, and may say how to reach {uri}"
        try:
            StorePath.of(uri).exists()
        except StoreError as error:
            return f"this process does not open {uri} ({error.strerror})"
    return ""


def size_of_files(path: str) -> int:
    """The bytes of an input's files; 0 if they cannot be listed, which reading them reports."""
    with suppress(OSError):
        return sum(found.st_size for _, found in walk(place_of(path)))
    return 0


def spark_present() -> str:
    """What this process or its environment has of Spark; empty if there is nothing."""
    for name in (
        "SPARK_REMOTE",
        MASTER_VARIABLE,
        *sorted(n for n in os.environ if n.startswith(SPARK_VARIABLES)),
    ):
        if name in os.environ:
            return f"{name} is set"
    if driver.is_submitted():
        return (
            "the platform provides a session"
            if driver.is_brought()
            else "spark-submit started this process"
        )
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    if context is not None and context._active_spark_context is not None:
        return "a Spark session is active"
    session = getattr(sys.modules.get("pyspark.sql"), "SparkSession", None)
    return (
        "a Spark session is active"
        if session is not None and session.getActiveSession() is not None
        else ""
    )


def _written(size: int) -> str:
    """A number of bytes for people.

    >>> _written(999), _written(1_234_567), _written(10**9)
    ('999 bytes', '1.2 MB', '1 GB')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f}".removesuffix(".0") + f" {name}"
    return f"{size} bytes"
