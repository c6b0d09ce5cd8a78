"""Blocks with the places at which their quasi-identifiers may be cut so that the labels of both
sides do not meet.

A label may cover more than the values of its part: a hierarchy node covers all its leaves, `*` the
whole domain with the missing value, and a rounded end (`round_to`) numbers of the next part. So a
part may have, of each quasi-identifier:

- Numbers: a range. A cut is allowed if the rounded ends leave a gap. Missing values together with
  numbers are `*`, so they are separated first.
- Values with a hierarchy: the leaves of a node. A node is divided into all its children at once,
  because the label of two children is the node's and would cover a third. The missing value is a
  child of the root.
- Values without a hierarchy: all of them (`*`) or one.
- Sets: a range of values. Only `*` covers the missing value, so missing values are split off
  together with a cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels.structures import structure
from tclose_spark.methods.attributes import ResolvedQuasi
from tclose_spark.methods.blocks.block import ANYTHING, Block, Requirement, exact_limits
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.labels import MISSING, NumericLabels
from tclose_spark.table.rows import Rows

NUMBERS = 0
SETS = 1
NODES = 2
VALUES = 3
"""Kinds of quasi-identifiers by how they are cut."""


@structure
class Axes(NamedTuple):
    """The quasi-identifiers of a block, over the dense codes of its rows."""

    kinds: NDArray[np.int8]  # NUMBERS, SETS, NODES or VALUES, shape (q,)
    # Ranks of the label's lower end for a part that begins with a code, and of its upper end for
    # one that ends with it, shape (q, longest domain). A cut between codes a and b is allowed if
    # high[a] < low[b].
    low: IntArray
    high: IntArray
    root: IntArray  # the lowest height of a hierarchy with the label `*`, shape (q,)


def axes_of(quasi_identifiers: Sequence[ResolvedQuasi], codes: Sequence[IntArray]) -> Axes:
    """The axes of some rows. codes: what their dense codes stand for, ascending, an array for each
    quasi-identifier.
    """
    longest = max(len(known) for known in codes)
    ranks = np.zeros((2, len(codes), longest), dtype=np.int64)
    ranks[:] = np.arange(longest)
    for j, (quasi, known) in enumerate(zip(quasi_identifiers, codes, strict=True)):
        if isinstance(quasi.labeller, NumericLabels) and quasi.labeller.round_to is not None:
            ranks[:, j, : len(known)] = _rounded(quasi.labeller, known, quasi.bounds)
    return Axes(
        kinds=np.array([axis_kind(quasi) for quasi in quasi_identifiers], dtype=np.int8),
        low=np.ascontiguousarray(ranks[0]),
        high=np.ascontiguousarray(ranks[1]),
        root=np.array([root_height(quasi) for quasi in quasi_identifiers], dtype=np.int64),
    )


def axis_kind(quasi: ResolvedQuasi) -> int:
    """NUMBERS, SETS, NODES or VALUES."""
    if quasi.domain.kind != "category":
        return NUMBERS
    if quasi.hierarchy is not None:
        return NODES
    return SETS if quasi.sets else VALUES


def root_height(quasi: ResolvedQuasi) -> int:
    """The lowest height of its hierarchy with the label `*`; 0 without a hierarchy."""
    if quasi.hierarchy is None:
        return 0
    return next(h for h, label in enumerate(quasi.hierarchy.paths[0]) if label == "*")


def _rounded(labeller: NumericLabels, codes: IntArray, bounds: bool) -> IntArray:
    """Ranks of the ends of labels of single codes, shape (2, codes). A missing value ranks
    lowest.
    """
    known = codes[codes != MISSING]
    ends = labeller.bounds(known, known) if bounds else labeller.ends(known, known)
    lows, highs = (list(map(_plain, side)) for side in ends)
    rank: dict[Any, int] = {
        end: place for place, end in enumerate(sorted({*lows, *highs}), start=1)
    }
    ranks = np.zeros((2, len(codes)), dtype=np.int64)
    ranks[:, len(codes) - len(known) :] = [[rank[end] for end in side] for side in (lows, highs)]
    return ranks


def _plain(number: Any) -> Any:
    return number.item() if isinstance(number, np.generic) else number


@dataclass(frozen=True)
class RegionBlock(Block):
    """A block to be cut into regions. axes: over the same dense codes as its quasi-identifiers."""

    axes: Axes

    def take(self, rows: IntArray) -> RegionBlock:
        """The block of these rows."""
        return RegionBlock(
            self.quasi[rows],
            self.cell[rows],
            self.widths,
            self.requirement,
            self.axes,
        )


class RegionDense(Dense):
    """Makes blocks to be cut into regions. With (n, t)-closeness a region of n rows is its own
    natural superset, so it needs to meet no t.
    """

    def requirement(self, largest: int) -> Requirement:
        return self._without_t(super().requirement(largest))

    def beside_itself(self, block: RegionBlock) -> RegionBlock:
        """The block with itself, instead of the whole table, as the reference of its classes. It
        has at least n rows.
        """
        rows = len(block.cell)
        sensitive = self.attributes.sensitive
        tables = np.zeros_like(block.requirement.tables)
        for attribute, codes in enumerate(block.requirement.codes.T):
            np.add.at(tables[attribute], codes[block.cell], 1)
        limits = exact_limits(
            [a.t for a in sensitive],
            [a.distance.scale for a in sensitive],
            rows,
            rows,
        )
        return replace(
            block,
            requirement=self._without_t(
                block.requirement._replace(tables=tables, rows=rows, limits=limits),
            ),
        )

    def holds(self, cells: IntArray) -> bool:
        nt = self.attributes.nt
        if nt is None or cells.sum() < nt:
            return super().holds(cells)
        without = tuple(replace(a, t=None) for a in self.attributes.sensitive)
        return Dense(replace(self.attributes, sensitive=without), self.k).holds(cells)

    def _without_t(self, requirement: Requirement) -> Requirement:
        if self.attributes.nt is not None:
            requirement.limits[:, self.attributes.nt :] = ANYTHING
        return requirement

    def block(self, rows: Rows) -> tuple[RegionBlock, list[IntArray]]:
        plain, codes = super().block(rows)
        axes = axes_of(self.attributes.quasi_identifiers, codes)
        return RegionBlock(
            plain.quasi,
            plain.cell,
            plain.widths,
            plain.requirement,
            axes,
            person=plain.person,
        ), codes
