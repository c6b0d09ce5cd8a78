"""Progress of tasks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from operator import add

import pytest

from tclose_spark.engine.tables import task_sum
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.spark.progress import spoken, watched


def test_threads_are_counted_together() -> None:
    done, shown = task_sum(LocalSession(), int, add), list[int]()

    @contextmanager
    def progress(total: int) -> Iterator[Callable[[int], None]]:
        yield shown.append

    with watched(lambda: done.value, 1000, progress), ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: done.add(1), range(1000)))
    assert shown[-1] == 1000


def test_lines_have_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, lines = iter([0.0, 5.0, 20.0, 21.0, 400.0]), list[str]()
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with spoken(1000, lines.append, "anonymize  rows") as show:
        for done in (1, 200, 210, 400):
            show(done)
    assert lines == [
        "anonymize  rows 200 of 1,000, about 80 s left",
        "anonymize  rows 400 of 1,000, about 10 min left",
    ]
