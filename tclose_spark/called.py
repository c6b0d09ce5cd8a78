"""Rooms whose names are functions, too: `tclose_spark.audit(...)` and `tclose_spark.compare(...)`.

Python sets a package's attribute to a room of it when that is imported, whatever stood there; so the room itself is
what is called.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

FUNCTIONS = {
    "tclose_spark.audit": "tclose_spark.api.judging",
    "tclose_spark.compare": "tclose_spark.api.comparing",
}
"""Where the function of a room's last name is."""


class CalledRoom(ModuleType):
    """A room that passes a call on to the function of its name."""

    @property
    def _function(self) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(
            import_module(FUNCTIONS[self.__name__]), self.__name__.rpartition(".")[2]
        )
        return function

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._function)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """What the function does: see `help(tclose_spark.api)`."""
        return self._function(*arguments, **options)


def make_callable(room: str) -> None:
    """Makes a room that is being imported a `CalledRoom`."""
    sys.modules[room].__class__ = CalledRoom
