"""`tclose`, and `python -m tclose_spark`: the command line, which ends in one line also while it is still imported."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

from tclose_spark.io.interrupts import SHORT, SIGNALS


def main() -> int:
    """Runs the command line; returns the exit code."""
    for number in SIGNALS:
        signal.signal(number, _leave)
    from tclose_spark import cli

    return cli.main()


def _leave(number: int, _: FrameType | None) -> None:
    """Nothing has begun that is to be ended."""
    os.write(2, f"{SHORT}\n".encode())
    os._exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
