"""The session that a call works on, the stages that run on it, and what an interrupt does."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

from tclose_spark.api.arguments import GivenRun, Table
from tclose_spark.api.engine_choice import (
    LOCAL,
    SPARK,
    Asked,
    Choice,
    asked_engine,
    choose_engine,
    spark_present,
    work_of,
)
from tclose_spark.api.errors import (
    ends_with_command,
    full_disks_named,
    on_command_line,
    tell_command_line,
)
from tclose_spark.engine.local.table import ADVICE, NeedsSparkError
from tclose_spark.errors import TcloseError
from tclose_spark.io.input.arrow_frames import is_spark
from tclose_spark.io.input.problems import told
from tclose_spark.io.interrupts import interruptible, run_with_timeout
from tclose_spark.io.lineage import RunEvents
from tclose_spark.io.local_session import LocalSession, without_pandas
from tclose_spark.io.spark import driver
from tclose_spark.runfile.loading import lines_in_errors
from tclose_spark.runfile.spec import AUTO, Input, ReleaseSpec

if TYPE_CHECKING:
    from tclose_spark.engine.protocol import Session

Result = TypeVar("Result")
TOLD = "the table that was given"
"""What messages call a table in memory."""

Log = Callable[[str], object]
"""Takes the messages of a call, a line at a time: `print`, or the `info` of a logger."""

Progress = Callable[[int], AbstractContextManager[Callable[[int], None]]]
"""Shows the progress over a total of rows: calls of the body give the number of finished ones."""


_untold: ContextVar[tuple[Choice, Log | None] | None] = ContextVar("untold", default=None)
"""The engine, and the log that it is to be named in, until the call has something to say or ends
well. A call that fails before prints its error only.
"""


def announcer(log: Log | None) -> Callable[[str], None]:
    """A function that sends lines to the log, the engine's first; it drops them if log is None."""

    def announce(line: str) -> None:
        _name_engine()
        if log is not None:
            log(line)

    return announce


def _name_engine() -> None:
    """Names the engine, once: on the command line as a message of every verb, otherwise in the
    call's log.
    """
    untold = _untold.get()
    _untold.set(None)
    if untold is not None:
        choice, log = untold
        if not tell_command_line(choice.line) and log is not None:
            log(choice.line)


def choose(
    verb: str,
    asked: Asked,
    spec: ReleaseSpec | None = None,
    table: Table = None,
    log: Log | None = None,
    source: Input | None = None,
) -> Choice:
    """The engine of a call, which the first line of the log names. source: see `work_of`.

    Raises:
        ConfigurationError: if it cannot do this.
    """
    present = spark_present()
    work = work_of(verb, spec, table, source, decides=asked.engine == AUTO and not present)
    choice = choose_engine(asked, work, present)
    _untold.set((choice, log))
    return choice


def on_engine(choice: Choice, work: Callable[[str], Result], log: Log | None = None) -> Result:
    """The result of work on the engine of this name. If `auto` chose this process, and only Spark
    can read the input, the work begins again on Spark, if that is installed.
    """
    if choice.name == LOCAL and not choice.asked and find_spec("pyspark") is not None:
        try:
            return work(LOCAL)
        except NeedsSparkError as error:
            choice = Choice(SPARK, str(error).removesuffix(ADVICE))
            _untold.set((choice, log))
    return work(choice.name)


@contextmanager
def working(
    title: str,
    table: Table = None,
    path: str = "",
    on: str = SPARK,
    *,
    validates: bool = False,
) -> Iterator[Session]:
    """The session to work on. Of Spark it is a DataFrame's own, otherwise the active one, otherwise
    a new one with Delta.

    An existing session gets its settings back at the end. An interrupt cancels the jobs of Spark,
    and is raised as KeyboardInterrupt. The command line, which has the process to itself, does both
    in its own way.

    path: of the table, if it is read from files. on: the name of the engine.
    validates: whether Great Expectations is to get a table of pandas.
    """
    if on == LOCAL and ends_with_command() and not validates:
        without_pandas()
    token = told.set(_teller(_untold.get()))
    try:
        with (
            nullcontext() if on_command_line() else interruptible(_forget_call),
            nullcontext(LocalSession()) if on == LOCAL else _spark(title, table, path) as session,
        ):
            yield session
        _name_engine()
    finally:
        _untold.set(None)
        told.reset(token)


def _teller(untold: tuple[Choice, Log | None] | None) -> Callable[[str], None]:
    """Prints what is found about inputs, each line once: to the command line, to the call's log, or
    as a warning.
    """
    log = untold[1] if untold else None
    said = set[str]()

    def tell(line: str) -> None:
        if line not in said:
            said.add(line)
            _name_engine()
            if not tell_command_line(line):
                (log or warnings.warn)(line)

    return tell


@contextmanager
def _spark(title: str, table: Table, path: str) -> Iterator[Session]:
    """The session of Spark: see `working`."""
    if not is_spark(table):
        driver.start_early(path)
    from tclose_spark.io.spark.session import (
        borrowed,
        cancel_jobs,
        find_session,
        get_session,
        require_delta_of,
    )

    if on_command_line():
        yield get_session(title)
        return
    if is_spark(table):
        require_delta_of(session := table.sparkSession)
    else:
        session = find_session(title)
    try:
        with borrowed(session):
            yield session
    except KeyboardInterrupt:
        run_with_timeout(cancel_jobs)
        raise


@contextmanager
def working_on(run: GivenRun, title: str, on: str = SPARK) -> Iterator[Session]:
    """The session for a run, with its table. Errors name the lines of the run file."""
    spec = run.spec
    name = f"tclose {title} {spec.name}"
    path = spec.input.path
    with lines_in_errors(run.tree), working(name, run.table, path, on, validates=True) as session:
        if run.table is None:
            yield session
            return
        with _viewed(session, run.table, spec.input.path):
            yield session


@contextmanager
def _viewed(session: Session, table: Table, name: str) -> Iterator[None]:
    """Makes the table a view of this name during the body. Errors call it `TOLD`."""
    from tclose_spark.engine.sources import viewed

    with viewed(session, table, name):
        try:
            yield
        except TcloseError as error:
            error.reword(
                lambda text: (
                    text.replace(f"input.path: {name}", TOLD)
                    .replace(name, TOLD)
                    .replace("input.path: ", "")
                ),
            )
            raise


def run_stages(
    run: GivenRun,
    *names: str,
    log: Log | None,
    overwrite: bool = False,
    progress: Progress | None = None,
    engine: str | None = None,
    details: bool = True,
    **options: Any,
) -> Any:
    """The result of the last of these stages, which run one after another while the output is
    locked.

    engine, details: the arguments of the call.
    options: of every stage, such as `finished` of verify.
    """
    with lines_in_errors(run.tree):
        choice = choose(names[-1], asked_engine(engine, run.spec.engine), run.spec, run.table, log)
    announce = announcer(log)
    to_read = bool(options.get("finished"))
    events = RunEvents(run.spec, announce)

    def work(on: str) -> Any:
        with working_on(run, names[-1], on) as session:
            import tclose_spark.pipeline as pipeline
            from tclose_spark.io.run import Run
            from tclose_spark.io.spark.progress import no_progress, spoken

            lines = (
                partial(spoken, announce=announce, what="anonymize  rows")
                if on_command_line()
                else no_progress
            )
            opened = Run(run.spec, session, announce, overwrite, progress or lines, events, details)
            result = None
            with opened.locked(to_read), full_disks_named(run.spec.output.internal_path):
                for name in names:
                    result = getattr(pipeline, name)(opened, **options)
        return result

    with events.failures():
        return on_engine(choice, work, log)


@contextmanager
def temporary_folder() -> Iterator[str]:
    """A folder that only this user can read, removed after the body. On the command line run files
    name their output, and it is empty.
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
