"""Algorithm 3, t-closeness first: every class has a row of each bucket of similar sensitive values
(Soria-Comas et al. 2015, Algorithm 3; Weber, 2.3.3, Figure 6).

The rows of a block, ordered by sensitive value, are cut into as many equal buckets as a class has
rows. MDAV's seeds take the nearest row of each bucket. Remaining rows are in the middle bucket, as
in the paper, and the first classes take two of it. The necessary class size follows from the
histogram alone (`BucketSizing`). `cells` has the buckets of several sensitive attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.structures import structure
from tclose_spark.kernels.widths import LabelWidths
from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.measures.distances.histograms import MultiplicityMatrix
from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.dealing.relaxed_conformance import SURE, FragmentTable
from tclose_spark.methods.even_blocks import EvenBlocks, bucketed, choose_least_loss
from tclose_spark.methods.method import PlanningInput
from tclose_spark.methods.microaggregation.mdav import (
    UnassignedRows,
    all_unassigned,
    farthest,
    measure_from,
    measure_from_average,
    remove_classed,
)
from tclose_spark.table.arrays import Codes, FloatArray, IntArray

MOST_TIMES_K = 100  # the largest class size that is tried where none is proven
TRIED = 12  # class sizes between k and the largest one, evenly in ratio

Cut = Callable[[Codes, int], tuple[IntArray, int]]
"""From the cell of each row of a block and a class size to the bucket of each row and the number of
classes.
"""


@dataclass(frozen=True)
class BucketSizing:
    """Bounds the distance of classes with a row of each bucket, whichever rows they are.

    The bound includes the whole rows that a class takes of each bucket of its block (see
    `methods.dealing.relaxed_conformance`). If all values differ, the distance is ordered and the n
    rows are B equal buckets, it is (n - B) / (2 (n - 1) B): the paper's bound, from which it takes
    the class size. If values are equal, as in any real table, neighbouring values are 1 / (m - 1)
    apart rather than 1 / (n - 1), and the paper's size may be too small.

    distance: of the sensitive attribute.
    """

    distance: GroundDistance

    @cached_property
    def rank(self) -> IntArray:
        """The place of each code in the order in which rows are cut into buckets, shape (m,).

        It is the order of values, or descending frequency if all values are equally far apart.
        """
        features = self.distance.features
        codes = np.arange(len(self.distance.table))
        if features.cumulative or features.parents:
            return codes
        rank = np.empty_like(codes)
        rank[np.argsort(-self.distance.table, kind="stable")] = codes
        return rank

    def largest_bound(self, block: MultiplicityMatrix, size: int) -> float:
        """The largest bound of a class of a block. block: its rows of each value."""
        codes = np.repeat(block.codes, block.counts, axis=0)
        bucket, classes = cut_into_buckets(self.rank[codes[:, 0]], size)
        matrix = MultiplicityMatrix(codes, np.ones(len(codes), dtype=np.int64), block.domains)
        table = FragmentTable.of(matrix, bucket, [self.distance])
        taken = np.ones((2, len(table.rows)))
        # Of the bucket that has more rows the first classes take two.
        taken[1] += table.rows > classes
        return float(table.proven_bounds(taken / taken.sum(axis=1, keepdims=True)).max())

    def smallest(self, blocks: Sequence[MultiplicityMatrix], k: int, t: Fraction | None) -> int:
        """The least class size, at least k, whose bound is at most t.

        blocks: the rows of each value in blocks that hold t. Without a t, k. A block of one class
            needs no proof.
        """
        rows = sorted({block.rows for block in blocks})
        size = k
        while t is not None and size < rows[0]:
            size = min(n // (n // size) for n in rows)
            if all(self.largest_bound(block, size) <= float(t) - SURE for block in blocks):
                break
            size += 1
        return min(size, rows[0])


def paper_size(rows: int, k: int, t: Fraction) -> int:
    """The class size of Algorithm 3: max(k, ceil(n / (2 (n - 1) t + 1))).

    >>> paper_size(1000, 5, Fraction(1, 20))
    10
    """
    return max(k, -(-rows // (2 * (rows - 1) * t + 1)))


def cut_into_buckets(values: IntArray, size: int) -> tuple[IntArray, int]:
    """(the bucket of each row, shape (n,); the number of classes). values: places of the rows'
    sensitive values.

    Rows beyond a whole number in each bucket make classes larger, as evenly as possible; the rest
    is in the middle bucket. The first rows of a value are in the first of its buckets.

    >>> bucket, classes = cut_into_buckets(np.array([5, 1, 3, 1, 2, 4, 1]), 3)
    >>> bucket.tolist(), classes
    ([2, 0, 1, 0, 1, 2, 1], 2)
    """
    rows, classes = bucket_rows(len(values), size)
    bucket = np.empty(len(values), dtype=np.int64)
    bucket[np.argsort(values, kind="stable")] = np.repeat(np.arange(len(rows)), rows)
    return bucket, classes


def bucket_rows(n: int, size: int) -> tuple[IntArray, int]:
    """(the rows of each bucket, shape (buckets,); the number of classes) of n rows in classes of
    `size` or more.

    >>> rows, classes = bucket_rows(7, 3)
    >>> rows.tolist(), classes
    ([2, 3, 2], 2)
    """
    classes = max(n // size, 1)
    size = n // classes
    rows = np.full(size, classes, dtype=np.int64)
    rows[size // 2] += n - size * classes
    return rows, classes


def microaggregate_buckets(block: Block, bucket: IntArray, classes: int) -> IntArray:
    """The class of each row of a block, from 0, shape (n,): of a row per bucket, or two of the
    largest bucket.

    bucket: of each row, shape (n,); every bucket has a row for each of the classes.
    """
    pool = all_unassigned(block)
    held = np.bincount(bucket)
    buckets = Buckets(
        of_row=np.array(bucket),
        held=held,
        near=np.zeros((len(held), 2)),
        chosen=np.zeros((len(held), 2), dtype=np.int64),
    )
    _form(pool, block.quasi, block.widths, buckets, classes)
    return pool.class_of


@structure
class Buckets(NamedTuple):
    """The rows of a block by bucket. Invariant: a bucket has one or two rows for each class to
    come.

    of_row: the bucket of each row, shape (n,). held: the remaining rows of each, shape (buckets,).
    near, chosen: work space for the two nearest rows of each bucket, shape (buckets, 2).
    """

    of_row: IntArray
    held: IntArray
    near: FloatArray
    chosen: IntArray


@kernel
def _form(
    pool: UnassignedRows,
    quasi: Codes,
    widths: LabelWidths,
    buckets: Buckets,
    classes: int,
) -> None:
    """Fills `class_of`."""
    bucket = buckets.of_row
    held = buckets.held
    near = buckets.near
    chosen = buckets.chosen
    left = len(pool.rows)
    for number in range(classes):
        if number % 2 == 0:
            measure_from_average(pool, left, quasi, widths)
        measure_from(farthest(pool, left), pool, left, quasi, widths)
        near[:] = np.inf
        for i in range(left):
            far = pool.far[i]
            row = pool.rows[i]
            b = bucket[row]
            if far < near[b, 0]:
                near[b, 1] = near[b, 0]
                chosen[b, 1] = chosen[b, 0]
                near[b, 0] = far
                chosen[b, 0] = row
            elif far < near[b, 1]:
                near[b, 1] = far
                chosen[b, 1] = row
        for b in range(len(held)):
            many = 2 if held[b] > classes - number else 1
            for place in range(many):
                pool.class_of[chosen[b, place]] = number
            held[b] -= many
        left = remove_classed(pool, left, quasi)


def choose_class_size(given: PlanningInput, layout: EvenBlocks, cut: Cut) -> int:
    """The class size by the settings.

    measured: the size from k to the proven one that loses least on a sample. Most classes are far
        below their bound, so it is often half the proven size. Buckets of several attributes prove
        nothing: sizes go to MOST_TIMES_K k, or half a block.
    """
    wanted = given.settings.class_size or "measured"
    if given.settings.cells:
        largest = max(min(int(layout.block_rows.min()) // 2, MOST_TIMES_K * given.k), given.k)
    else:
        attribute = bucketed(given.attributes)
        if wanted == "paper":
            return (
                given.k
                if attribute.t is None
                else paper_size(given.attributes.rows, given.k, attribute.t)
            )
        largest = BucketSizing(attribute.distance).smallest(
            layout.matrices(attribute),
            given.k,
            attribute.t,
        )
    sizes = np.unique(np.geomspace(given.k, largest, TRIED).round().astype(np.int64)).tolist()
    if wanted == "proven" or len(sizes) == 1:
        return largest

    def divide(block: Block, size: int) -> IntArray:
        return microaggregate_buckets(block, *cut(block.cell, size))

    return int(choose_least_loss(given, layout, sizes, divide, "classes of {}".format))
