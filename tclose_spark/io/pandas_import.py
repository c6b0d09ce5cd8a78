"""pyarrow without pandas. It imports pandas when it first meets an array of NumPy, and works
without it if it cannot.

The import takes a quarter of the time of a small audit.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder

ASKING = ("pyarrow", "tclose_spark")
"""Whose code is running while pyarrow imports pandas. Others that import it get it."""


class _NoPandas(MetaPathFinder):
    """Refuses pandas to pyarrow."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """None; see MetaPathFinder."""
        if fullname == "pandas":
            frame = sys._getframe(1)
            while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
                "importlib."
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
