"""What the kernels work on: the rows of one block as dense codes, how wide labels are, and what every class must hold.

All arrays are plain and of fixed types, so that each kernel compiles once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose_spark.methods.widths import Widths
from tclose_spark.table.arrays import Codes, IntArray


@dataclass(frozen=True)
class Requirement:
    """What every class must hold, exactly: at least k rows, each sensitive attribute's distance at most its t, and
    distinct l.

    codes: shape (cells, attributes): the value of each attribute in each cell (a tuple of sensitive values).
    tables: shape (attributes, largest domain): records of the whole table with each value, 0 beyond a domain; domains:
    (attributes,).
    ordered: (attributes,). parents: of hierarchical ones, -1 elsewhere: shape (attributes, highest, largest domain),
    the node of height h + 1 above each node of height h (see `measures.distances.HierarchicalDistance`); heights:
    (attributes,), 0 if not hierarchical.
    rows: n, of the whole table. k: rows; distinct: (attributes,), at least 1.
    limits: shape (attributes, largest size + 1): the largest numerator that a class of s rows may have: floor(t * scale
    * n * s), where numerator / (scale n s) is the distance (see `measures.distances`): the test is exact, in integers.
    """

    codes: Codes
    tables: IntArray
    domains: IntArray
    ordered: NDArray[np.bool_]
    parents: Codes
    heights: IntArray
    rows: int
    k: int
    distinct: IntArray
    limits: IntArray


@dataclass(frozen=True)
class Block:
    """Rows to be put into classes, in an order that follows from their content alone.

    quasi: shape (n, q), dense codes of the quasi-identifiers. cell: shape (n,), the row's tuple of sensitive values.
    """

    quasi: Codes
    cell: Codes
    widths: Widths
    requirement: Requirement

    def take(self, rows: IntArray) -> Block:
        """The block of these rows."""
        return Block(self.quasi[rows], self.cell[rows], self.widths, self.requirement)


def exact_limits(ts: Sequence[Fraction | None], scales: Sequence[int], rows: int, largest: int) -> IntArray:
    """`Requirement.limits` for classes of up to `largest` rows; without a t anything is within.

    floor(s p / q) = s (p // q) + floor(s (p % q) / q), in 64 bits where these are enough, else one by one.

    >>> exact_limits([Fraction(1, 10)], [2], rows=9, largest=4).tolist()  # floor(2 * 9 * s / 10)
    [[0, 1, 3, 5, 7]]
    """
    most = np.iinfo(np.int64).max
    limits = np.full((len(ts), largest + 1), most, dtype=np.int64)
    sizes = np.arange(largest + 1, dtype=np.int64)
    for limit, t, scale in zip(limits, ts, scales, strict=True):
        if t is None:
            continue
        p, q = t.numerator * scale * rows, t.denominator
        if p * largest // q < most and q * largest < most:
            limit[:] = sizes * (p // q) + sizes * (p % q) // q
        else:
            limit[:] = [min(p * size // q, most) for size in range(largest + 1)]
    return limits
