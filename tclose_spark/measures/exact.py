"""Integers that do not overflow: 64 bits where they suffice, else Python's."""

from __future__ import annotations

from tclose_spark.table.arrays import ExactArray, IntArray

WIDEST = 1 << 62


def exact(array: IntArray, bound: int) -> ExactArray:
    """`array` as it is where no result passes `bound` < 2^62, else as Python integers."""
    return array if bound < WIDEST else array.astype(object)
