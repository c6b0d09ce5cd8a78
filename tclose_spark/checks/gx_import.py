"""Great Expectations, imported once in a process, if need be beside other work.

Its import takes seconds. Two thirds of these go to libraries that only expectations of other kinds
need, and to the garbage collector, which visits thousands of new classes.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Lock, Thread
from types import ModuleType
from typing import Any

NAME = "great_expectations"
DEFERRED = ("altair", "scipy.stats")  # charts of, and tests on, distributions of raw columns
_LOCK = Lock()


class Deferred(ModuleType):
    """A module that is imported when an attribute of it is used."""

    def __getattr__(self, attribute: str) -> Any:
        _withdraw(self)
        return getattr(import_module(self.__name__), attribute)


def great_expectations() -> Any:
    """The package. Waits for an import that another thread has begun."""
    with _LOCK:
        if NAME not in sys.modules:
            _import()
        return sys.modules[NAME]


def begin_import() -> None:
    """Begins the import in a thread, unless it is there."""
    if NAME not in sys.modules:
        Thread(target=great_expectations, name=NAME).start()


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """The body with another attribute of the library, which has no setting for it."""
    own = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, own)


def _import() -> None:
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    deferred = [Deferred(name) for name in DEFERRED if name not in sys.modules]
    sys.modules.update({module.__name__: module for module in deferred})
    collects = gc.isenabled()
    gc.disable()
    try:
        import_module(NAME)
    finally:
        if collects:
            gc.enable()
        for module in deferred:
            _withdraw(module)


def _withdraw(module: ModuleType) -> None:
    """Gives the name of a deferred module back to whoever imports it next."""
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]
