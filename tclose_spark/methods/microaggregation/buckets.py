"""Algorithm 3, t-closeness first: every class has a row of each bucket of near sensitive values (Soria-Comas et al.
2015, Algorithm 3; Weber, 2.3.3, Figure 6).

The rows of a block, in the order of their sensitive values, are cut into as many buckets of as many rows as a class has
rows. MDAV's seeds take the nearest row of each bucket. Rows that remain are in the bucket in the middle, as in the
paper, and the first classes take two of it. How large a class has to be follows from the histogram alone (`Sizing`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.widths import LabelWidths
from tclose_spark.measures.distances import GroundDistance
from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.dealing.spread import spread_of
from tclose_spark.methods.microaggregation.pool import (
    Pool,
    farthest,
    fill_pool,
    measure_from,
    measure_from_average,
    remove_classed,
)
from tclose_spark.table.arrays import Codes, FloatArray, IntArray

CHUNK = 1 << 22  # entries of a dense table of buckets held at once: 32 MiB


@dataclass(frozen=True)
class Sizing:
    """What classes with a row of each of so many buckets reach at most.

    With R_b the distribution inside bucket b, of B, no such class is farther from the table than the sum over b of
    Delta(R_b) / B (see `methods.dealing.spread`): where all values differ and the distance is ordered that is
    (n - B) / (2 (n - 1) B), the paper's bound, from which it takes the class size. Where values are equal, as in any
    real table, the distance of neighbours is 1 / (m - 1), not 1 / (n - 1), and the paper's size may be too small.

    distance: of the sensitive attribute.
    order: its codes in the order in which rows are cut into buckets, shape (m,).
    """

    distance: GroundDistance
    order: IntArray

    @staticmethod
    def of(distance: GroundDistance) -> Sizing:
        """In the order of the values; where any two are as far apart as any others, the most frequent first."""
        features = distance.features
        if features.cumulative or features.parents:
            return Sizing(distance, np.arange(len(distance.table)))
        return Sizing(distance, np.argsort(-distance.table, kind="stable"))

    def bound(self, buckets: int) -> Fraction:
        """The largest distance that a class with one row of each bucket may have.

        >>> from tclose_spark.measures.distances import OrderedDistance
        >>> Sizing.of(OrderedDistance(np.ones(9, dtype=np.int64))).bound(3)  # (9 - 3) / (2 * 8 * 3)
        Fraction(1, 8)
        """
        n, m, spread = int(self.distance.table.sum()), len(self.distance.table), spread_of(self.distance)
        ends = np.cumsum(self.distance.table[self.order]) * buckets  # in parts of a row, so many as there are buckets
        cuts = np.unique(np.concatenate([ends, np.arange(1, buckets + 1) * n]))
        parts = np.diff(cuts, prepend=0)
        bucket, code = (cuts - parts) // n, self.order[np.searchsorted(ends, cuts)]
        total, step = 0, max(CHUNK // m, 1)
        for first in range(0, buckets, step):
            here = slice(*np.searchsorted(bucket, [first, first + step]))
            held = np.zeros((min(step, buckets - first), m), dtype=np.int64)
            held[bucket[here] - first, code[here]] = parts[here]
            total += int(spread.weighted(np.arange(m), held).sum())
        return Fraction(total, spread.scale * n * buckets)

    def smallest(self, k: int, t: Fraction | None) -> int:
        """The least number of buckets, at least k, whose bound is at most t; looked at in steps of a 50th."""
        buckets, rows = k, int(self.distance.table.sum())
        while t is not None and buckets < rows and self.bound(buckets) > t:
            buckets += max(buckets // 50, 1)
        return min(buckets, rows)


def paper_size(rows: int, k: int, t: Fraction) -> int:
    """The class size of Algorithm 3: max(k, ceil(n / (2 (n - 1) t + 1))).

    >>> paper_size(1000, 5, Fraction(1, 20))
    10
    """
    return max(k, -(-rows // (2 * (rows - 1) * t + 1)))


def rank_of(order: IntArray) -> IntArray:
    """The place of each code in an order of all codes, shape (m,)."""
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank


def cut_into_buckets(values: IntArray, size: int) -> tuple[IntArray, int]:
    """(the bucket of each row, shape (n,); the number of classes). values: places of the rows' sensitive values.

    Rows beyond a whole number in each bucket make classes larger by one and more, as evenly as possible; the rest is in
    the bucket in the middle. Of rows with one value the first ones are in the first of its buckets.

    >>> bucket, classes = cut_into_buckets(np.array([5, 1, 3, 1, 2, 4, 1]), 3)
    >>> bucket.tolist(), classes
    ([2, 0, 1, 0, 1, 2, 1], 2)
    """
    n = len(values)
    classes = max(n // size, 1)
    size = n // classes
    rows = np.full(size, classes, dtype=np.int64)
    rows[size // 2] += n - size * classes
    bucket = np.empty(n, dtype=np.int64)
    bucket[np.argsort(values, kind="stable")] = np.repeat(np.arange(size), rows)
    return bucket, classes


def microaggregate_buckets(block: Block, attribute: int, rank: IntArray, size: int) -> IntArray:
    """The class of each row of a block, from 0, shape (n,): of `size` rows, one of each bucket, or some more.

    attribute: the sensitive one that is cut into buckets. rank: of each of its codes in the order of rows.
    """
    bucket, classes = cut_into_buckets(rank[block.requirement.codes[block.cell, attribute]], size)
    pool, held = fill_pool(block), np.bincount(bucket)
    near, chosen = np.zeros((len(held), 2)), np.zeros((len(held), 2), dtype=np.int64)
    _form(pool, block.quasi, block.widths, bucket, held, classes, near, chosen)
    return pool.class_of


@kernel
def _form(
    pool: Pool,
    quasi: Codes,
    widths: LabelWidths,
    bucket: IntArray,
    held: IntArray,
    classes: int,
    near: FloatArray,
    chosen: IntArray,
) -> None:
    """Fills `class_of`.

    held: rows of each bucket that are left, shape (buckets,). near, chosen: room for the two nearest rows of each
    bucket, shape (buckets, 2). Invariant: a bucket has a row for each class to come, and at most as many more.
    """
    left = len(pool.rows)
    for number in range(classes):
        if number % 2 == 0:
            measure_from_average(pool, left, quasi, widths)
        measure_from(farthest(pool, left), pool, left, quasi, widths)
        near[:] = np.inf
        for i in range(left):
            far, row = pool.far[i], pool.rows[i]
            b = bucket[row]
            if far < near[b, 0]:
                near[b, 1], chosen[b, 1] = near[b, 0], chosen[b, 0]
                near[b, 0], chosen[b, 0] = far, row
            elif far < near[b, 1]:
                near[b, 1], chosen[b, 1] = far, row
        for b in range(len(held)):
            many = 2 if held[b] > classes - number else 1
            for place in range(many):
                pool.class_of[chosen[b, place]] = number
            held[b] -= many
        left = remove_classed(pool, left, quasi)
