"""A command as a process: its arguments, and the messages and exit codes of its errors."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from copy import copy
from importlib import import_module
from types import ModuleType
from typing import Any

import typer

from tclose_spark.api import errors
from tclose_spark.api.errors import DEBUG, known, unexpected
from tclose_spark.api.stage_names import STAGES
from tclose_spark.cli.commands import app
from tclose_spark.cli.console import announce
from tclose_spark.errors import TcloseError

READS_ONLY = tuple([name] for name in ("audit", "explain", "compare", "suggest", "hierarchy"))
"""Commands that publish nothing, interrupted or not."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit code. An interrupt prints one line and returns 130
    (SIGTERM 143).

    Without arguments, those of the process are taken, and nothing follows but the end of Spark,
    which no signal cuts short.
    """
    return run_command(sys.argv[1:] if arguments is None else arguments, last=arguments is None)


def run_command(arguments: Sequence[str], last: bool) -> int:
    """The exit code of one command. last: nothing follows in this process but the end of Spark."""
    given = list(arguments)
    if last:
        sys.stdout, sys.stderr = (
            stream and _UntilClosed(stream) for stream in (sys.stdout, sys.stderr)
        )
    if not given or "--help" in given:
        _import_help()
    publishes = given[:1] not in READS_ONLY
    return errors.run_command(
        lambda: _app_of(given)(args=given, standalone_mode=False),
        announce,
        _failed,
        publishes=publishes,
        last=last,
    )


class _UntilClosed:
    """Standard output or error, until its reader closes it, as `head` does. What follows is lost,
    and changes no exit code.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Writes the text; returns its length."""
        self._unless_closed(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        """Writes what is buffered."""
        self._unless_closed(self._stream.flush)

    def _unless_closed(self, act: Callable[[], object]) -> None:
        try:
            act()
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.EINVAL):  # the latter on Windows
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


def _app_of(arguments: Sequence[str]) -> typer.Typer:
    """The command line with the named command alone, because typer examines the options of all that
    it has.
    """
    named = [
        one
        for one in app.registered_commands
        if [one.name or getattr(one.callback, "__name__", "")] == arguments[:1]
    ]
    chosen = copy(app)
    chosen.registered_commands = named or app.registered_commands
    return chosen


def _import_help() -> None:
    """Imports typer's help without Markdown and tracebacks of rich, which take half of its time and
    are in no help.
    """
    unused = {
        f"rich.{name.lower()}": (name, ModuleType(name)) for name in ("Markdown", "Traceback")
    }
    unused = {path: own for path, own in unused.items() if path not in sys.modules}
    for path, (name, module) in unused.items():
        setattr(module, name, type(name, (), {}))
        sys.modules[path] = module
    try:
        import_module("typer.rich_utils")
    finally:
        for path in unused:
            del sys.modules[path]


def _failed(error: Exception) -> int:
    """The exit code of an error, after its message was printed."""
    if isinstance(error, typer.Exit):
        return int(error.exit_code)
    if isinstance(error, TcloseError):
        announce(f"error: {error}")
        return error.exit_code
    return _unexpected(error)


def _unexpected(error: Exception) -> int:
    """The exit code of an error of other code. Its text may hold values of people, so it is printed
    on request only.
    """
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # click's usage errors
        message = error.format_message()
        if message:  # without arguments click has printed the help, and the message is empty
            announce(f"error: {message}")
        return int(error.exit_code)
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    meant = known(error) or TcloseError(unexpected(error))
    announce(f"error: {meant}")
    return meant.exit_code


def run_job(name: str) -> None:
    """Runs `jobs/<name>.py` (`--config CONF`, `--set`, `--overwrite`) on Spark, and ends the
    process with its exit code.
    """
    arguments = [a.removeprefix("--config=") for a in sys.argv[1:] if a != "--config"]
    code = run_command([name, "--engine", "spark", *arguments], last=True)
    if code:
        sys.exit(code)


def job() -> None:
    """Runs `tclose-job STAGE CONF [options]`, for platforms that call a function."""
    if sys.argv[1:2] and sys.argv[1] in STAGES:
        run_job(sys.argv.pop(1))
    else:
        announce(f"error: expected a stage first: {', '.join(STAGES)}")
        sys.exit(2)
