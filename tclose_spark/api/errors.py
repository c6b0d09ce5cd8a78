"""Errors as users meet them: in the words of the command line or of Python, without values of
people. A command ends with an exit code, also where a signal ends it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from tclose_spark.errors import ConfigurationError, TcloseError, text_of
from tclose_spark.io.causes import AT_WORK, cause_of, full_disk, why_no_import
from tclose_spark.io.interrupts import MESSAGE, SHORT, handle_signals, run_with_timeout
from tclose_spark.io.messages import require_log_format
from tclose_spark.io.spark import driver
from tclose_spark.io.storage.stores import StoreError

DEBUG = "TCLOSE_DEBUG"
OPTION = re.compile(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)")
ARGUMENTS = {
    "overwrite": "overwrite=True",
    "set": "overrides",
    "class": "labels",
    "option": "options",
    "config": "spec",
    "hierarchy": "hierarchies",
    "build": "of",
    "check": "of",
}
"""Arguments in Python by the options of the command line, where the names differ."""
_command_line: ContextVar[tuple[Callable[[str], object], bool] | None] = ContextVar(
    "command_line",
    default=None,
)


def known(error: Exception) -> TcloseError | None:
    """An error from inside a task, or of a file system, in words for the user; None if its cause is
    not known.
    """
    # As Spark quotes others.
    own = "" if isinstance(error, ImportError | MemoryError) else f"{type(error).__name__}: "
    found: TcloseError | None = cause_of(own + text_of(error), AT_WORK)
    of_java = next(
        (e for e in (error, error.__cause__) if type(e).__module__.startswith(("pyspark", "py4j"))),
        None,
    )
    if found is None and isinstance(of_java, Exception):
        from tclose_spark.io.input.read_errors import meaning

        found = meaning(of_java)
    if found is not None:
        return found
    if isinstance(error, ImportError):
        return ConfigurationError(why_no_import(error))
    if isinstance(error, PermissionError | NotADirectoryError | FileExistsError | StoreError):
        return ConfigurationError(f"{error.filename} cannot be read or written ({error.strerror})")
    return full_disk(error, "what is written")


def unexpected(error: Exception) -> str:
    """A message about an error whose own text may hold values of people."""
    condition = None
    with suppress(Exception):  # the JVM that knows it may have ended
        condition = getattr(error, "getCondition", lambda: None)()
    name = f"{type(error).__name__}{f' ({condition})' if condition else ''}"
    return (
        f"unexpected {name}; nothing unfinished was published. {DEBUG}=1 prints the whole error, "
        "which may contain values of people"
    )


@contextmanager
def full_disks_named(folder: str) -> Iterator[None]:
    """Errors of the body because of a full disk become a ConfigurationError that names it. folder:
    where it writes.
    """
    try:
        yield
    except Exception as error:
        named = (
            None
            if isinstance(error, TcloseError) and error.__cause__ is None
            else full_disk(error, folder)
        )
        if named is None:
            raise
        raise named from error


def in_python(text: str) -> str:
    """A message with the names of arguments in place of those of options.

    >>> in_python("give --overwrite, or --quasi-identifiers a,b")
    'give overwrite=True, or quasi_identifiers a,b'
    """
    return OPTION.sub(lambda option: ARGUMENTS.get(option[1]) or option[1].replace("-", "_"), text)


def on_command_line() -> bool:
    """Whether calls come from the command line: see `called_from_command_line`."""
    return _command_line.get() is not None


def ends_with_command() -> bool:
    """Whether calls come from the command line, and nothing follows it in this process."""
    return (_command_line.get() or (None, False))[1]


def tell_command_line(line: str) -> bool:
    """Has the command line print a message; returns whether the call comes from there."""
    found = _command_line.get()
    if found is not None:
        found[0](line)
    return found is not None


@contextmanager
def called_from_command_line(
    announce: Callable[[str], object],
    last: bool = False,
) -> Iterator[None]:
    """Calls of the body come from the command line. It has the process to itself: it handles
    signals and all errors, whose messages name options, and sessions are its own. announce: prints
    a message. last: nothing follows.
    """
    token = _command_line.set((announce, last))
    try:
        yield
    finally:
        _command_line.reset(token)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Every error of the body is a `TcloseError` that names arguments of Python. Message and
    traceback show no value of a person, unless TCLOSE_DEBUG is set. On the command line, errors
    pass unchanged.
    """
    try:
        yield
    except Exception as error:
        if on_command_line():
            raise
        if isinstance(error, TcloseError):
            error.reword(in_python)
        if os.environ.get(DEBUG):
            raise
        raise (
            error
            if isinstance(error, TcloseError)
            else known(error) or TcloseError(unexpected(error))
        ) from None


def run_command(
    command: Callable[[], object],
    announce: Callable[[str], None],
    failed: Callable[[Exception], int],
    *,
    publishes: bool,
    last: bool,
) -> int:
    """The exit code of a command: what it returns, or `failed` of its error. An interrupt prints
    one line; the code is then 130 (SIGTERM 143).

    announce: prints a message. publishes: whether the line is about what was published.
    last: nothing follows in this process but the end of Spark, which no signal cuts short.
    """
    with handle_signals(MESSAGE if publishes else SHORT, last) as interrupt:
        try:
            require_log_format()
            with called_from_command_line(announce, last):
                code = command()
            if not code or interrupt.received is None:  # typer makes a KeyboardInterrupt a code
                return code if isinstance(code, int) else 0
        except (Exception, KeyboardInterrupt) as error:
            if interrupt.received is None and not isinstance(error, KeyboardInterrupt):
                return failed(error)
        interrupt.ending = True
        interrupt.tell()
        if last and driver.is_ours():
            driver.end_now()
        else:
            _cancel_jobs()
        return interrupt.exit_code


def _cancel_jobs() -> None:
    """Cancels the jobs of this command in a session that outlives it."""
    session = sys.modules.get("tclose_spark.io.spark.session")
    if session is not None:
        run_with_timeout(session.cancel_jobs)
