"""How kernels are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def kernel(function: Kernel) -> Kernel:
    """The function compiled without reference counts: with them, a call pays for every array of its tuples, often more than its work.

    So a kernel, and what it calls, must not make arrays. Floats are added up in the order that is written, so that every machine
    finds the same classes.
    """
    options: dict[str, Any] = {"cache": True, "_nrt": False}
    compiled: Any = njit(**options)(function)
    return cast(Kernel, compiled)
