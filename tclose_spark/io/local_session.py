"""The session of the local engine: this process, without a JVM, and with pyarrow without pandas.

pyarrow imports pandas when it first meets an array of NumPy, and works without it if it cannot. The
import takes a quarter of the time of a small audit.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from importlib.abc import MetaPathFinder
from typing import Any


@dataclass(frozen=True)
class LocalSession:
    """A session that works in this process.

    views: tables in memory by name, which `input.path` may name, as Spark's temporary views.
    """

    views: dict[str, Any] = field(default_factory=dict)

    @property
    def threads(self) -> int:
        """The number of threads that work on partitions at once."""
        return os.cpu_count() or 1


def is_local(session: Any) -> bool:
    """Whether a session is that of the local engine."""
    return isinstance(session, LocalSession)


ASKING = ("pyarrow", "tclose_spark")
"""Whose code is running while pyarrow imports pandas. Others that import it get it."""


class _NoPandas(MetaPathFinder):
    """Refuses pandas to pyarrow."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """None; see MetaPathFinder."""
        if fullname == "pandas":
            frame = sys._getframe(1)
            while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
                "importlib.",
            ):
                frame = frame.f_back
            if frame.f_globals.get("__name__", "").startswith(ASKING):
                raise ModuleNotFoundError(fullname)


def without_pandas() -> None:
    """Keeps pyarrow from importing pandas for the rest of this process, which makes no table of
    pandas.
    """
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandas())
