"""A check that this version of numba compiles stores through structures correctly.

Reads of a structure's words are marked as invariant (see `structures`). If the compiler wrongly
treated the elements of its arrays as invariant too, kernels would work on stale numbers without any
error.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.structures import structure


@structure
class CanaryPart(NamedTuple):
    """Two names of one array, as no kernel has them: a store through one must be seen through the
    other.
    """

    counts: Any
    same_counts: Any
    step: int


@structure
class Canary(NamedTuple):
    """One array of each kind that kernels write to, beside and inside a structure."""

    part: CanaryPart
    flags: Any
    table: Any
    places: Any
    scale: float


@kernel
def store_one(canary: Canary, i: int, value: int) -> int:
    """Stores by way of a call, as most kernels do; returns what is read back."""
    canary.part.counts[i] = value
    canary.table[i % 2, i] += canary.scale * value
    canary.flags[i] = value % 2 == 0
    return int(canary.part.same_counts[i])


@kernel
def store_many(canary: Canary) -> float:
    """Stores and reads in turn, in loops that a compiler may be tempted to reorder; returns a sum
    of what is read.
    """
    total = 0.0
    size = len(canary.places)
    for i in range(size):
        before = canary.part.counts[i]
        total += store_one(canary, i, before + canary.part.step) - before
        j = canary.places[i]
        canary.places[i], canary.places[j] = canary.places[j], canary.places[i]
        total += canary.places[i] * i + canary.table[i % 2, i] * (2 if canary.flags[i] else 1)
    while canary.part.same_counts[0] < 100:
        canary.part.counts[0] += canary.part.step
        canary.part.same_counts[1] -= 1
    for i in range(size):
        total += canary.part.same_counts[i] * i
    return total


def make_canary(size: int = 7) -> Canary:
    """A structure in its first state."""
    counts = np.arange(size, dtype=np.int64)
    return Canary(
        part=CanaryPart(counts=counts, same_counts=counts, step=3),
        flags=np.zeros(size, dtype=np.bool_),
        table=np.arange(2.0 * size).reshape(2, size),
        places=(np.arange(size, dtype=np.int32) * 3) % size,
        scale=0.25,
    )


def stores_are_compiled(store: Any = store_many) -> bool:
    """Whether a kernel leaves the same numbers in a structure, and returns the same sum, as Python
    does.
    """
    compiled = make_canary()
    interpreted = make_canary()
    if store(compiled) != store_many.py_func(interpreted):  # type: ignore[attr-defined]
        return False
    pairs = zip(
        (*compiled.part[:2], *compiled[1:4]),
        (*interpreted.part[:2], *interpreted[1:4]),
        strict=True,
    )
    return all(np.array_equal(one, other) for one, other in pairs)
