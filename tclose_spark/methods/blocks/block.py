"""What kernels that form classes work on: the rows of one block as plain arrays, and the requirement
of classes in exact integers and plain arrays of fixed types, so that each kernel is compiled once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels.structures import structure
from tclose_spark.kernels.widths import LabelWidths
from tclose_spark.table.arrays import Codes, FloatArray, IntArray

EQUAL = 0
ORDERED = 1
HIERARCHICAL = 2
"""Kinds of ground distance, for kernels."""

ANYTHING = np.iinfo(np.int64).max
"""The limit of an attribute without a t."""


@structure
class Requirement(NamedTuple):
    """The requirement of every class: at least k rows, and for each sensitive attribute its t, its
    distinct l and its caps. Beside rows, other sums may count, such as those of people (see
    `methods.units`): each has a least sum, and l, t and caps may hold over it, too.

    Counts by value have the shape ((1 + sums) attributes, largest domain): of rows, then of each
    other sum.
    """

    codes: Codes  # the value of each attribute in each cell (a tuple of sensitive values), shape (cells, attributes)
    tables: IntArray  # the counts by value of the whole table, of their shape
    domains: IntArray  # how many values each attribute has, shape (attributes,)
    ordered: NDArray[np.bool_]  # whether the distance is ordered, shape (attributes,)
    # Of hierarchical attributes, the node of height h + 1 above each node of height h, else -1 (see
    # `HierarchicalDistance`), shape (attributes, highest, largest domain).
    parents: Codes
    heights: IntArray  # of the hierarchies, 0 without one, shape (attributes,)
    rows: int  # n, of the whole table
    k: int
    distinct: IntArray  # how many values must occur, at least 1, shape (attributes,)
    # The largest numerator of a class of s rows, floor(t * scale * n * s), where its distance is
    # numerator / (scale * n * s), shape (attributes, largest size + 1).
    limits: IntArray
    # A class of s rows may have c of a value with caps[1] c <= caps[0] s (see
    # `requirements.planning.tightest`), shape (2, attributes, largest domain); (2, 0, 0) without
    # any cap.
    caps: IntArray
    # Of each sum beside rows:
    added: IntArray  # what a row of each cell adds to it, shape (sums, cells)
    least: IntArray  # of a class, shape (sums,)
    diverse: NDArray[np.bool_]  # whether each distinct l holds over it, shape (sums,)
    # The largest distance over it, below t by what rounding changes; infinite if none is required,
    # shape (sums, attributes).
    most: FloatArray
    # The largest share of each value over it, likewise, shape (sums, attributes, largest domain);
    # (sums, 0, 0) without a cap.
    shares: FloatArray


def metrics_of(requirement: Requirement) -> NDArray[np.int8]:
    """EQUAL, ORDERED or HIERARCHICAL of each attribute, shape (attributes,)."""
    flat = np.where(requirement.ordered, ORDERED, EQUAL)
    return np.where(requirement.heights > 0, HIERARCHICAL, flat).astype(np.int8)


def exact_limits(
    ts: Sequence[Fraction | None],
    scales: Sequence[int],
    rows: int,
    largest: int,
) -> IntArray:
    """`Requirement.limits` for classes of up to `largest` rows; ANYTHING without a t.

    floor(s p / q) = s (p // q) + floor(s (p % q) / q), in 64 bits if that is enough, else in
    Python's integers.

    >>> exact_limits([Fraction(1, 10)], [2], rows=9, largest=4).tolist()  # floor(2 * 9 * s / 10)
    [[0, 1, 3, 5, 7]]
    """
    limits = np.full((len(ts), largest + 1), ANYTHING, dtype=np.int64)
    sizes = np.arange(largest + 1, dtype=np.int64)
    for limit, t, scale in zip(limits, ts, scales, strict=True):
        if t is None:
            continue
        p = t.numerator * scale * rows
        q = t.denominator
        if p * largest // q < ANYTHING and q * largest < ANYTHING:
            limit[:] = sizes * (p // q) + sizes * (p % q) // q
        else:
            limit[:] = [min(p * size // q, ANYTHING) for size in range(largest + 1)]
    return limits


@dataclass(frozen=True)
class Block:
    """Rows to be put into classes, in an order that depends only on their content.

    quasi: dense codes of the quasi-identifiers, shape (n, q).
    cell: each row's cell (tuple of sensitive values), shape (n,).
    widths: how wide labels over these codes are.
    requirement: what every class must meet.
    person: a number for the person of each row, from 0, if people are counted, shape (n,).
    """

    quasi: Codes
    cell: Codes
    widths: LabelWidths
    requirement: Requirement
    person: IntArray | None = field(default=None, kw_only=True)

    def take(self, rows: IntArray) -> Block:
        """The block of these rows, whose people are not numbered."""
        return Block(self.quasi[rows], self.cell[rows], self.widths, self.requirement)
