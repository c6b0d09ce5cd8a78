"""What every class must hold, in exact integers and plain arrays of fixed types, so that each kernel compiles once."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels.structures import structure
from tclose_spark.table.arrays import Codes, IntArray

EQUAL, ORDERED, HIERARCHICAL = 0, 1, 2
"""Kinds of ground distance, for kernels."""

ANYTHING = np.iinfo(np.int64).max
"""The limit of an attribute without a t."""


@structure
class Requirement(NamedTuple):
    """What every class must hold: at least k rows, each sensitive attribute's distance at most its t, and distinct
    l.
    """

    codes: Codes  # the value of each attribute in each cell (a tuple of sensitive values), shape (cells, attributes)
    # records of the whole table with each value, 0 beyond a domain, shape (attributes, largest domain)
    tables: IntArray
    domains: IntArray  # how many values each attribute has, shape (attributes,)
    ordered: NDArray[np.bool_]  # whether the distance is ordered, shape (attributes,)
    # of hierarchical attributes, the node of height h + 1 above each node of height h (see
    # `measures.distances.HierarchicalDistance`), else -1; shape (attributes, highest, largest domain)
    parents: Codes
    heights: IntArray  # of the hierarchies, 0 where there is none, shape (attributes,)
    rows: int  # n, of the whole table
    k: int  # rows of a class
    distinct: IntArray  # values that must occur, at least 1, shape (attributes,)
    # the largest numerator that a class of s rows may have, floor(t * scale * n * s), where numerator / (scale n s) is
    # the distance (see `measures.distances`); shape (attributes, largest size + 1)
    limits: IntArray


def metrics_of(requirement: Requirement) -> NDArray[np.int8]:
    """EQUAL, ORDERED or HIERARCHICAL of each attribute, shape (attributes,)."""
    flat = np.where(requirement.ordered, ORDERED, EQUAL)
    return np.where(requirement.heights > 0, HIERARCHICAL, flat).astype(np.int8)


def exact_limits(ts: Sequence[Fraction | None], scales: Sequence[int], rows: int, largest: int) -> IntArray:
    """`Requirement.limits` for classes of up to `largest` rows; without a t anything is within.

    floor(s p / q) = s (p // q) + floor(s (p % q) / q), in 64 bits where these are enough, else one by one.

    >>> exact_limits([Fraction(1, 10)], [2], rows=9, largest=4).tolist()  # floor(2 * 9 * s / 10)
    [[0, 1, 3, 5, 7]]
    """
    limits = np.full((len(ts), largest + 1), ANYTHING, dtype=np.int64)
    sizes = np.arange(largest + 1, dtype=np.int64)
    for limit, t, scale in zip(limits, ts, scales, strict=True):
        if t is None:
            continue
        p, q = t.numerator * scale * rows, t.denominator
        if p * largest // q < ANYTHING and q * largest < ANYTHING:
            limit[:] = sizes * (p // q) + sizes * (p % q) // q
        else:
            limit[:] = [min(p * size // q, ANYTHING) for size in range(largest + 1)]
    return limits
