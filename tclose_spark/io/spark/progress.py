"""Progress of tasks: finished rows, shown during a write."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

Show = Callable[[int], None]
Progress = Callable[[int], AbstractContextManager[Show]]
"""`with progress(total) as show: show(done)`."""

SECONDS = 0.5


def no_progress(_: int) -> AbstractContextManager[Show]:
    """Shows nothing."""
    return nullcontext(lambda _: None)


@contextmanager
def spoken(
    total: int,
    announce: Callable[[str], None],
    what: str,
    every: float = 10.0,
) -> Iterator[Show]:
    """Shows progress and the time that is left as log lines, at most one per interval."""
    begun = last = time.monotonic()

    def show(done: int) -> None:
        nonlocal last
        now = time.monotonic()
        if done and now - last >= every:
            last = now
            left = (now - begun) * (total - done) / done
            announce(
                f"{what} {done:,} of {total:,}, about "
                f"{f'{left / 60:.0f} min' if left >= 120 else f'{left:.0f} s'} left",
            )

    yield show


@contextmanager
def watched(done: Callable[[], int | None], total: int, progress: Progress) -> Iterator[None]:
    """Shows a number that tasks increase during the body. done: the number so far, None if nothing
    counts. It is for display only.
    """
    ended = threading.Event()
    with progress(total) as show:
        watcher = threading.Thread(target=_watch, args=(done, total, show, ended), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()


def _watch(done: Callable[[], int | None], total: int, show: Show, ended: threading.Event) -> None:
    shown = 0
    last = False
    while not last:
        last = ended.wait(SECONDS)
        now = min(done() or 0, total)
        if now > shown:
            shown = now
            show(now)
