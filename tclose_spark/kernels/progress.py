"""What is compiled, while it is compiled."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from numba.core import event

from tclose_spark.kernels import KERNELS
from tclose_spark.kernels.caching import is_ours

SECONDS = 5.0
"""Between two lines on how far it is."""


class CompiledKernels(event.Listener):
    """Counts the kernels that are compiled while it listens, not those found in the cache.

    `say` takes a line on how far it is, every few seconds.
    """

    def __init__(self, say: Callable[[str], None] | None = None) -> None:
        self._found: set[Callable[..., Any]] = set()
        self._say, self._said = say, time.monotonic()

    @property
    def kernels(self) -> int:
        """How many."""
        return len(self._found)

    def on_start(self, event: event.Event) -> None:
        """A compilation begins."""

    def on_end(self, event: event.Event) -> None:
        """A compilation ends."""
        if not is_ours(event.data["dispatcher"].py_func):
            return
        self._found.add(event.data["dispatcher"].py_func)
        if self._say is not None and time.monotonic() - self._said >= SECONDS:
            self._said = time.monotonic()
            self._say(f"kernels    {self.kernels} of at most {len(KERNELS)} are compiled")


def announce_compiling(say: Callable[[str], None]) -> None:
    """From now on, `say` takes a line on how far it is while this process compiles."""
    event.register("numba:compile", CompiledKernels(say))
