"""Progress of tasks: completed blocks, counted on the driver and shown during a write."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from tclose_spark.io.local_session import LocalSession

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Show = Callable[[int], None]
Progress = Callable[[int], AbstractContextManager[Show]]
"""`with progress(total) as show: show(done)`."""

SECONDS = 0.5


def no_progress(_: int) -> AbstractContextManager[Show]:
    """Shows nothing."""
    return nullcontext(lambda _: None)


@contextmanager
def spoken(total: int, announce: Callable[[str], None], what: str, every: float = 10.0) -> Iterator[Show]:
    """Shows progress as log lines, at most one per interval."""
    last = time.monotonic()

    def show(done: int) -> None:
        nonlocal last
        if time.monotonic() - last >= every:
            last = time.monotonic()
            announce(f"{what} {done:,} of {total:,}")

    yield show


class _LocalSum:
    """An accumulator of this process, whose threads add to it."""

    def __init__(self) -> None:
        self.value, self._lock = 0, threading.Lock()

    def add(self, number: int) -> None:
        with self._lock:
            self.value += number


def _accumulator(spark: SparkSession) -> Any | None:
    from pyspark.errors import PySparkException

    try:
        return spark.sparkContext.accumulator(0)
    except (PySparkException, AttributeError):
        return None


class TaskCounter:
    """A number that tasks increase and the driver reads, for display only: a repeated task counts again.

    Sessions without a context (Spark Connect) do not count.
    """

    def __init__(self, session: SparkSession | LocalSession) -> None:
        self._sum = _LocalSum() if isinstance(session, LocalSession) else _accumulator(session)

    def add(self, number: int) -> None:
        """In a task."""
        if self._sum is not None:
            self._sum.add(number)

    @contextmanager
    def watched(self, total: int, progress: Progress) -> Iterator[None]:
        """Shows the number during the body."""
        ended = threading.Event()
        with progress(total) as show:
            watcher = threading.Thread(target=self._watch, args=(total, show, ended), daemon=True)
            watcher.start()
            try:
                yield
            finally:
                ended.set()
                watcher.join()

    def _watch(self, total: int, show: Show, ended: threading.Event) -> None:
        shown, last = 0, False
        while not last:
            last = ended.wait(SECONDS)
            done = 0 if self._sum is None else min(self._sum.value, total)
            if done != shown:
                shown = done
                show(done)
