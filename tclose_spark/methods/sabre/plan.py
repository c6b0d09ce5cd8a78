"""The plan of SABRE: blocks with the whole table's distribution, and how far bounds may exceed t
before merging.

SABRE's first phase: values of the sensitive attribute are put into buckets (Cao et al. 2011;
Weber, 2.3.4).

The search starts with one bucket of all values. It splits buckets until the bound is below t: the
sum over buckets of their share of the rows times Delta, the farthest that rows can move inside one
(`methods.dealing.relaxed_conformance`). Each step takes the split that lowers the bound most, the
first of equal ones.

    numbers, any order   a bucket is a stretch of values, cut in two anywhere
    hierarchies          a bucket is the values below a node, split into all the children of the
                         node
    equal distances      a hierarchy of one level: all values, or each by itself

Delta is exact: the distance is convex, so it is largest where all rows of a bucket have one value.
A bucket whose bound is t leaves no room for rounding, so the sum has to be below t.

SABRE's second phase: the rows of a block are redistributed to classes, each with its share of
every bucket (Cao et al. 2011; Weber, 2.3.4).

This is the paper's SABRE-KNN. A class begins with a random row (the first remaining one in the
order of the keyed hashes). From each bucket it takes the rows nearest to that row (see
`methods.dealing.nearest`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.measures.distances.histograms import MultiplicityMatrix
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedSensitive
from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.dealing.nearest import exchange_nearest
from tclose_spark.methods.dealing.numbering import NumberingModel
from tclose_spark.methods.dealing.relaxed_conformance import (
    FragmentDiameter,
    FragmentTable,
    diameter_of,
)
from tclose_spark.methods.even_blocks import (
    ROWS_PER_BLOCK,
    ROWS_PER_TASK,
    EvenBlocks,
    EvenBlocksPlan,
    bucketed,
    choose_least_loss,
    plan_even_blocks,
)
from tclose_spark.methods.method import PlanModel, PlanningInput, PlanReport
from tclose_spark.table.arrays import IntArray

STRETCHES = tuple(Fraction(x) for x in ("1", "1.25", "1.5", "2", "2.5", "3", "4", "6", "8"))
"""Of t, that bounds are tried up to where what is reached is measured."""


class SabreModel(PlanModel):
    """A `SabrePlan` in `plan.json`. stretch: a fraction."""

    stretch: str
    numbering: NumberingModel


@dataclass(frozen=True)
class SabrePlan(EvenBlocksPlan):
    """The plan; see the module.

    stretch: bounds are below t times this.
    """

    stretch: Fraction

    @cached_property
    def redistribution(self) -> Redistribution:
        """The function from a block to classes."""
        return Redistribution(bucketed(self.layout.dense.attributes), self.stretch)

    @property
    def buckets(self) -> int:
        """The number of buckets of sensitive values."""
        return int(self.redistribution.bucket_of.max()) + 1

    def formed(self, block: Block) -> IntArray:
        return self.redistribution.redistribute(block)

    def describe(self, figures: Mapping[str, float]) -> dict[str, object]:
        return {**super().describe(figures), "buckets": self.buckets}

    def to_json(self) -> Mapping[str, object]:
        return SabreModel(
            stretch=str(self.stretch),
            numbering=self.layout.numbering.model,
        ).model_dump()

    def report(self) -> PlanReport:
        return PlanReport(
            figures={"blocks": self.blocks, "tasks": self.tasks, "buckets": self.buckets},
            note=(
                f"buckets of sensitive values: {self.buckets:,}, {self.blocks_in_words}, bounds up "
                f"to {float(self.stretch):g} t before any classes are merged"
            ),
        )

    @staticmethod
    def from_json(tree: Mapping[str, object], attributes: ResolvedAttributes, k: int) -> SabrePlan:
        """The plan that `to_json` wrote."""
        model = SabreModel.model_validate(tree)
        layout = EvenBlocks.of_model(model.numbering, attributes, k)
        return SabrePlan(layout, Fraction(model.stretch))


def plan_sabre(
    given: PlanningInput,
    rows_per_block: int = ROWS_PER_BLOCK,
    rows_per_task: int = ROWS_PER_TASK,
) -> SabrePlan:
    """Plans SABRE. The classes do not depend on rows_per_task.

    Raises:
        UnreachableError: see `plan_even_blocks`.
    """
    layout = plan_even_blocks(given, rows_per_block, rows_per_task)
    attribute = bucketed(given.attributes)
    if given.settings.bounds == "proven" or attribute.t is None:
        return SabrePlan(layout, Fraction(1))

    def divide(block: Block, stretch: Fraction) -> IntArray:
        return Redistribution(attribute, stretch).redistribute(block)

    stretch = choose_least_loss(
        given,
        layout,
        STRETCHES,
        divide,
        lambda stretch: f"bounds up to {float(stretch):g} t",
    )
    return SabrePlan(layout, stretch)


CHUNK = 1 << 22  # entries of a dense table of halves held at once: 32 MiB

Split = tuple[int, list[IntArray]]
"""(by how much a split lowers the bound, in the diameter's units; the buckets that it makes)."""


def bucketize(distance: GroundDistance, limit: Fraction) -> IntArray:
    """The bucket of each value, shape (m,), numbered in the order of their first values; of values
    that no row has, 0.

    >>> from tclose_spark.measures.distances.ground_distances import OrderedDistance
    >>> salaries = OrderedDistance(np.array([1, 1, 1, 1, 4, 4]))
    >>> bucketize(salaries, Fraction(1, 10)).tolist()
    [0, 0, 1, 1, 2, 3]
    """
    diameter = diameter_of(distance)
    n = int(distance.table.sum())
    buckets = [np.flatnonzero(distance.table)]
    splits = [_best_split(buckets[0], distance, diameter)]
    bound = _weighted(buckets[0], distance, diameter)
    while bound and Fraction(bound, diameter.scale * n) >= limit:
        best = max(range(len(buckets)), key=lambda b: (splits[b][0], -b))
        lowered, made = splits[best]
        bound -= lowered
        buckets[best : best + 1] = made
        splits[best : best + 1] = [_best_split(codes, distance, diameter) for codes in made]
    bucket_of = np.zeros(len(distance.table), dtype=np.int64)
    for number, codes in enumerate(sorted(buckets, key=lambda codes: int(codes[0]))):
        bucket_of[codes] = number
    return bucket_of


def _weighted(codes: IntArray, distance: GroundDistance, diameter: FragmentDiameter) -> int:
    """The row-weighted Delta of the bucket of these codes."""
    return int(diameter.weighted(codes, distance.table[codes][None, :])[0])


def _best_split(codes: IntArray, distance: GroundDistance, diameter: FragmentDiameter) -> Split:
    """The best split of a bucket; its gain is -1 if the bucket has one value."""
    if len(codes) == 1:
        return -1, []
    whole = _weighted(codes, distance, diameter)
    if not distance.features.cumulative:
        units = diameter.units(codes, distance.table[codes])
        made = [codes[units == unit] for unit in np.unique(units)]
        return whole - sum(_weighted(part, distance, diameter) for part in made), made
    left = np.empty(len(codes) - 1, dtype=object)
    step = max(CHUNK // len(codes), 1)
    held = distance.table[codes]
    for first in range(0, len(left), step):
        cuts = np.arange(first, min(first + step, len(left)))
        below = np.where(np.arange(len(codes)) <= cuts[:, None], held, 0)
        left[cuts] = diameter.weighted(codes, below) + diameter.weighted(codes, held - below)
    cut = int(np.argmin(left))
    return whole - int(left[cut]), [codes[: cut + 1], codes[cut + 1 :]]


def class_sizes(rows: IntArray, k: int, table: FragmentTable, limit: float) -> IntArray:
    """The rows of each bucket in each class, shape (classes, buckets).

    rows: of each bucket, all of them together, shape (buckets,). limit: of what a class is charged.

    >>> free = FragmentTable(np.array([16, 32, 64]), np.zeros((1, 3)), (np.zeros((3, 1)),), (1.0,))
    >>> class_sizes(np.array([16, 32, 64]), 5, free, 0.1)[0].tolist()
    [1, 2, 4]
    """
    done = []
    nodes = rows[None, :]
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
            [np.repeat(np.arange(len(sizes)), of_bucket) for of_bucket in sizes.T],
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
