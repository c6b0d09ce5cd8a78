"""Progress of tasks in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.spark.progress import TaskCounter


def test_threads_are_counted_together() -> None:
    counter, shown = TaskCounter(LocalSession()), list[int]()

    @contextmanager
    def progress(total: int) -> Iterator[Callable[[int], None]]:
        yield shown.append

    with counter.watched(1000, progress), ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: counter.add(1), range(1000)))
    assert shown[-1] == 1000
