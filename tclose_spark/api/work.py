"""The session that a call from Python works on, and how it ends: well, with an error of ours, or interrupted."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tclose_spark.api.errors import translate_errors
from tclose_spark.api.specs import Spec, Table, Where, complete_tree, in_memory
from tclose_spark.io.input.arrow_frames import is_spark
from tclose_spark.io.interrupts import interruptible, run_with_timeout
from tclose_spark.io.spark import driver
from tclose_spark.runfile.loading import spec_of
from tclose_spark.runfile.spec import FRAME, ReleaseSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Log = Callable[[str], object]
"""What is told of the work, a line at a time: `print`, a logger's `info`."""


def announcer(log: Log | None) -> Callable[[str], None]:
    """Where lines go; nowhere, if log is None."""

    def announce(line: str) -> None:
        if log is not None:
            log(line)

    return announce


@dataclass(frozen=True, kw_only=True)
class Given:
    """What a run is given.

    tree: the run file that says it, not yet validated.
    spec: the same, validated.
    session: has the table, where it is in memory.
    """

    tree: dict[str, Any]
    spec: ReleaseSpec
    session: SparkSession


@contextmanager
def working(title: str, table: Any = None, path: str = "") -> Iterator[SparkSession]:
    """The session to work on: a DataFrame's own, else the active one, else a new one with Delta.

    A session that was there gets its settings back at the end. An interrupt cancels what Spark does for us, and is
    raised as KeyboardInterrupt.

    path: of the table, where it is read from files.

    Raises:
        TcloseError: for every error of the body.
    """
    with translate_errors(), interruptible(_forget_call):
        if is_spark(table):
            from tclose_spark.io.spark.session import require_delta_of

            require_delta_of(session := table.sparkSession)
        else:
            driver.start_early(path)
            from tclose_spark.io.spark.session import find_session

            session = find_session(title)
        from tclose_spark.io.spark.session import borrowed, cancel_jobs

        try:
            with borrowed(session):
                yield session
        except KeyboardInterrupt:
            run_with_timeout(cancel_jobs)
            raise


@contextmanager
def working_on(
    table: Table,
    spec: Spec,
    output: Where,
    title: str,
    overrides: Sequence[str] = (),
    *,
    nowhere: str | None = None,
    reads: bool = True,
) -> Iterator[Given]:
    """A run on a table, at work. nowhere, reads: see `complete_tree`."""
    view = f"{FRAME}_{uuid4().hex}"
    with translate_errors():
        tree = complete_tree(table, spec, output, view=view, overrides=overrides, nowhere=nowhere, reads=reads)
        complete = spec_of(tree)
    with working(f"tclose {title} {complete.name}", table, complete.input.path) as session:
        given = Given(tree=tree, spec=complete, session=session)
        if not (reads and in_memory(table)):
            yield given
            return
        from tclose_spark.io.input.frames import viewed

        with viewed(session, table, view):
            yield given


def _forget_call() -> None:
    """What was asked of the JVM when a signal came is answered to nobody."""
    module = sys.modules.get("tclose_spark.io.spark.session")
    if module is not None:
        module.forget_call()
