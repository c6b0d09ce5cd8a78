"""`tclose`, `python -m tclose_spark` and the jobs: the command line, which ends in one line also while imported."""

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
    """What `jobs/<name>.py` does: see `cli.run_job`."""
    _command_line().run_job(name)


def job() -> None:
    """What `tclose-job` does: see `cli.job`."""
    _command_line().job()


def _command_line() -> ModuleType:
    """The command line. Where it cannot be imported (a package is missing, a disk is full) the process ends with 2."""
    try:
        from tclose_spark import cli
    except Exception as error:
        from tclose_spark.io.causes import why_no_import
        from tclose_spark.io.messages import as_json, in_json

        line = f"error: {why_no_import(error)}"
        os.write(2, f"{as_json(line) if in_json() else line}\n".encode())
        sys.exit(2)
    return cli


def _leave(number: int, _: FrameType | None) -> None:
    """Nothing has begun that is to be ended."""
    os.write(2, f"{SHORT}\n".encode())
    os._exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
