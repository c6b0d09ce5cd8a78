"""SABRE's second phase: the rows of a block are redistributed to classes, each with its share of
every bucket (Cao et al. 2011; Weber, 2.3.4).

This is the paper's SABRE-KNN. A class begins with a random row (the first remaining one in the
order of the keyed hashes). From each bucket it takes the rows nearest to that row (see
`methods.dealing.nearest`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose_spark.measures.distances.multiplicity import MultiplicityMatrix
from tclose_spark.methods.attributes import ResolvedSensitive
from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.dealing.nearest import exchange_nearest
from tclose_spark.methods.dealing.relaxed_conformance import FragmentTable
from tclose_spark.methods.sabre.bucketization import bucketize
from tclose_spark.table.arrays import IntArray


def class_sizes(rows: IntArray, k: int, table: FragmentTable, limit: float) -> IntArray:
    """The rows of each bucket in each class, shape (classes, buckets).

    rows: of each bucket, all of them together, shape (buckets,). limit: of what a class is charged.

    >>> free = FragmentTable(np.array([16, 32, 64]), np.zeros((1, 3)), (np.zeros((3, 1)),), (1.0,))
    >>> class_sizes(np.array([16, 32, 64]), 5, free, 0.1)[0].tolist()
    [1, 2, 4]
    """
    done, nodes = [], rows[None, :]
    while len(nodes):
        first, second = halves(nodes)
        splits = _may_be(first, k, table, limit) & _may_be(second, k, table, limit)
        done.append(nodes[~splits])
        nodes = np.concatenate([first[splits], second[splits]])
    return np.concatenate(done)


def halves(nodes: IntArray) -> tuple[IntArray, IntArray]:
    """Both halves of classes, each of shape (classes, buckets)

    >>> [half.tolist() for half in halves(np.array([[3, 4, 5, 1]]))]
    [[[2, 2, 2, 1]], [[1, 2, 3, 0]]]
    """
    odd = nodes % 2
    first = nodes // 2 + odd * (np.cumsum(odd, axis=1) % 2)
    return first, nodes - first


def _may_be(nodes: IntArray, k: int, table: FragmentTable, limit: float) -> NDArray[np.bool_]:
    """Whether classes have k rows and are charged at most the limit, shape (classes,)."""
    sizes = nodes.sum(axis=1)
    may: NDArray[np.bool_] = sizes >= k
    if may.any():
        may[may] = table.proven_bounds(nodes[may] / sizes[may, None])[:, 0] <= limit
    return may


@dataclass(frozen=True)
class Redistribution:
    """Divides a block into classes.

    attribute: the sensitive attribute whose values form buckets.
    stretch: bounds are below t times this.
    """

    attribute: ResolvedSensitive
    stretch: Fraction

    @cached_property
    def limit(self) -> Fraction:
        """The limit of the bounds; 1, the largest distance, without a t."""
        return (
            Fraction(1)
            if self.attribute.t is None
            else min(self.attribute.t * self.stretch, Fraction(1))
        )

    @cached_property
    def bucket_of(self) -> IntArray:
        """The bucket of each value, shape (m,)."""
        if self.attribute.t is None:
            return np.zeros(len(self.attribute.distance.table), dtype=np.int64)
        return bucketize(self.attribute.distance, self.limit)

    @cached_property
    def table(self) -> FragmentTable:
        """The fragment table of the buckets, for proven bounds."""
        counts = self.attribute.distance.table
        present = np.flatnonzero(counts)
        matrix = MultiplicityMatrix(present[:, None], counts[present], (len(counts),))
        return FragmentTable.of(matrix, self.bucket_of[present], [self.attribute.distance])

    def redistribute(self, block: Block) -> IntArray:
        """The class of each row of a block, from 0, shape (n,), before merging."""
        bucket = self.bucket_of[block.requirement.codes[block.cell, self.attribute.column]]
        rows = np.bincount(bucket, minlength=int(self.bucket_of.max()) + 1)
        sizes = class_sizes(rows, block.requirement.k, self.table, float(self.limit))
        by_bucket = np.argsort(bucket, kind="stable")
        dealt = np.concatenate(
            [np.repeat(np.arange(len(sizes)), of_bucket) for of_bucket in sizes.T]
        )
        seeds = np.argsort(by_bucket)  # the places of the rows in the order of their hashes
        classes = np.empty_like(dealt)
        classes[by_bucket] = exchange_nearest(
            bucket[by_bucket],
            dealt,
            seeds,
            np.ascontiguousarray(block.quasi[by_bucket]),
            block.widths,
        )
        return classes
