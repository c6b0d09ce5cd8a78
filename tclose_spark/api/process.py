"""A command as a process: its exit code, and what signals do."""

from __future__ import annotations

import sys
from collections.abc import Callable

from tclose_spark.api.errors import called_from_command_line
from tclose_spark.io.interrupts import MESSAGE, SHORT, handle_signals, run_with_timeout
from tclose_spark.io.messages import require_log_format
from tclose_spark.io.spark import driver


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
