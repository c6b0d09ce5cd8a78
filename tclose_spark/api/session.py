"""The session that a call works on, the stages that run on it, and what an interrupt does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tclose_spark.api.arguments import GivenRun, Table
from tclose_spark.api.errors import full_disks_named, on_command_line
from tclose_spark.io.input.arrow_frames import is_spark
from tclose_spark.io.interrupts import interruptible, run_with_timeout
from tclose_spark.io.spark import driver
from tclose_spark.runfile.loading import lines_in_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Log = Callable[[str], object]
"""Takes the messages of a call, a line at a time: `print`, or the `info` of a logger."""

Progress = Callable[[int], AbstractContextManager[Callable[[int], None]]]
"""Shows the progress over a total of blocks: calls of the body give the number of finished ones."""


def announcer(log: Log | None) -> Callable[[str], None]:
    """A function that sends lines to the log; it drops them if log is None."""

    def announce(line: str) -> None:
        if log is not None:
            log(line)

    return announce


@contextmanager
def working(title: str, table: Table = None, path: str = "") -> Iterator[SparkSession]:
    """The session to work on: a DataFrame's own, otherwise the active one, otherwise a new one with Delta.

    An existing session gets its settings back at the end. An interrupt cancels the jobs of Spark, and is raised as
    KeyboardInterrupt. The command line, which has the process to itself, does both in its own way.

    path: of the table, if it is read from files.
    """
    if on_command_line():
        driver.start_early(path)
        from tclose_spark.io.spark.session import get_session

        yield get_session(title)
        return
    with interruptible(_forget_call):
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
def working_on(run: GivenRun, title: str) -> Iterator[SparkSession]:
    """The session for a run, with its table. Errors name the lines of the run file."""
    spec = run.spec
    with lines_in_errors(run.tree), working(f"tclose {title} {spec.name}", run.table, spec.input.path) as session:
        if run.table is None:
            yield session
            return
        from tclose_spark.io.input.frames import viewed

        with viewed(session, run.table, spec.input.path):
            yield session


def run_stages(
    run: GivenRun,
    *names: str,
    log: Log | None,
    overwrite: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Any:
    """The result of the last of these stages, which run one after another while the output is locked.

    options: of every stage, such as `finished` of verify.
    """
    with working_on(run, names[-1]) as session:
        import tclose_spark.pipeline as pipeline
        from tclose_spark.io.run import Run
        from tclose_spark.io.spark.progress import no_progress

        opened, result = Run(run.spec, session, announcer(log), overwrite, progress or no_progress), None
        with opened.locked(), opened.events.failures(), full_disks_named(run.spec.output.internal_path):
            for name in names:
                result = getattr(pipeline, name)(opened, **options)
    return result


@contextmanager
def temporary_folder() -> Iterator[str]:
    """A folder that only this user can read, removed after the body. On the command line run files name their output,
    and it is empty.
    """
    if on_command_line():
        yield ""
        return
    with TemporaryDirectory(prefix="tclose_spark-") as folder:
        yield str(Path(folder) / "work")


def _forget_call() -> None:
    """Drops the answer of the JVM to a call that a signal interrupted."""
    module = sys.modules.get("tclose_spark.io.spark.session")
    if module is not None:
        module.forget_call()
