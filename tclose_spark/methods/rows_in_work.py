"""How many rows of unfinished blocks this process has worked off, by thread. It is for display
only: on a cluster, the driver sees finished tasks alone.
"""

from __future__ import annotations

import threading

MOST = 0.99  # of a block's rows, until its task has finished
_OF_THREAD: dict[int, float] = {}
_BLOCK = threading.local()


def begin_write() -> None:
    """Forgets all blocks, such as those of a trial in memory."""
    _OF_THREAD.clear()


def begin_block(rows: int, steps: int) -> None:
    """Begins a block of the current thread, whose work is about so many steps."""
    _BLOCK.before = _OF_THREAD.get(threading.get_ident(), 0.0)
    _BLOCK.rows = rows
    _BLOCK.steps = steps
    _BLOCK.done = 0


def step() -> None:
    """Counts a step of the current thread's block, if one has begun."""
    if getattr(_BLOCK, "steps", 0):
        _BLOCK.done += 1
        _OF_THREAD[threading.get_ident()] = _BLOCK.before + _BLOCK.rows * min(
            _BLOCK.done / _BLOCK.steps,
            MOST,
        )


def end_task() -> None:
    """Forgets the blocks of the current thread: the rows of its task are counted elsewhere."""
    _OF_THREAD.pop(threading.get_ident(), None)
    _BLOCK.steps = 0


def rows_in_work() -> int:
    """The rows of all threads."""
    return int(sum(list(_OF_THREAD.values())))
