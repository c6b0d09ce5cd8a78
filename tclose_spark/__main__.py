"""`tclose`, `python -m tclose_spark` and the jobs. An interrupt or a failed import ends them with
one line, too.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType, ModuleType

from tclose_spark.io.interrupts import SHORT, SIGNALS


def main() -> int:
    """Runs the command line; returns the exit code."""
    for number in SIGNALS:
        signal.signal(number, _leave)
    code: int = _command_line().main()
    return code


def run_job(name: str) -> None:
    """Runs `jobs/<name>.py`: see `cli.run_job`."""
    _command_line().run_job(name)


def job() -> None:
    """Runs `tclose-job`: see `cli.job`."""
    _command_line().job()


def _command_line() -> ModuleType:
    """The command line. If it cannot be imported (a package is missing, a disk is full), the
    process ends with 2.
    """
    try:
        import tclose_spark.cli as cli
    except Exception as error:
        from tclose_spark.io.causes import why_no_import
        from tclose_spark.io.messages import as_json, in_json

        line = f"error: {why_no_import(error)}"
        os.write(2, f"{as_json(line) if in_json() else line}\n".encode())
        sys.exit(2)
    return cli


def _leave(number: int, _: FrameType | None) -> None:
    """Ends the process at once: nothing has begun."""
    os.write(2, f"{SHORT}\n".encode())
    os._exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
