"""One process of a machine compiles at a time. The next one waits, and finds the kernels that the
first one cached.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from numba.core.compiler_lock import global_compiler_lock

try:
    import fcntl
except ImportError:  # not a POSIX system: processes may compile the same kernel twice
    fcntl = None  # type: ignore[assignment]

LOCK = "lock"
_held: set[str] = set()


@contextmanager
def compile_lock(folder: str) -> Iterator[None]:
    """Runs the body while no other process runs one for the same folder. A process that ends
    releases the lock.

    Compiling a kernel compiles those that it calls, so the lock may be taken again inside. Numba's
    own lock separates threads.
    """
    with global_compiler_lock:
        file = None if folder in _held else _lock(folder)
        if file is None:
            yield
            return
        _held.add(folder)
        try:
            yield
        finally:
            _held.discard(folder)
            os.close(file)


def _lock(folder: str) -> int | None:
    """A file that is locked until it is closed; None if the file system has no locks."""
    file = None
    try:
        file = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
    except OSError:
        if file is not None:
            os.close(file)
        return None
    return file
