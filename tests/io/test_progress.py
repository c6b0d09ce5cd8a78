"""Progress of tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from operator import add

from tclose_spark.engine.tables import task_sum
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.spark.progress import watched


def test_threads_are_counted_together() -> None:
    done, shown = task_sum(LocalSession(), int, add), list[int]()

    @contextmanager
    def progress(total: int) -> Iterator[Callable[[int], None]]:
        yield shown.append

    with watched(lambda: done.value, 1000, progress), ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: done.add(1), range(1000)))
    assert shown[-1] == 1000
