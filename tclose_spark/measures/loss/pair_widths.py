"""The width of a label that covers two random people, and how much of it a shared value takes back.

A column published unchanged may undo generalization: an adversary who knows that two people live in
one street knows that they live in one town. With W the mean width (NCP) of the narrowest label that
covers two different people,

    taken back  =  1 - W(two people with the same value) / W(any two people)

It is 0 for an independent column (exactly, in the mean over all permutations of its values), 1 for
one that determines the quasi-identifier, and below 0 if people with the same value are farther
apart than others. Only pairs of different people count, so rare values by themselves take nothing
back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tclose_spark.table.arrays import FloatArray, IntArray


class PairWidths(Protocol):
    """One quasi-identifier of n kinds of records, with `weight` records each."""

    def between(self, group: IntArray, weight: IntArray) -> float:
        """The summed widths of all pairs of records in one group. group: 0.. of each kind of
        record, shape (n,).
        """
        ...


@dataclass(frozen=True)
class NumberWidths:
    """Numbers.

    place: of each in the range of all, 0 to 1, shape (n,); NaN if missing. A missing value and a
        number make `*` (width 1).
    """

    place: FloatArray

    def between(self, group: IntArray, weight: IntArray) -> float:
        """See PairWidths. Each number counts positively in pairs in which it is the upper one,
        negatively in others.
        """
        known = np.flatnonzero(~np.isnan(self.place))
        order = known[np.lexsort((self.place[known], group[known]))]
        groups = int(group.max()) + 1
        numbers = np.bincount(group[known], weight[known], groups)
        missing = np.bincount(group, weight, groups) - numbers
        before_group = np.concatenate([[0.0], np.cumsum(numbers)[:-1]])
        own = weight[order].astype(np.float64)
        below = np.cumsum(own) - own - before_group[group[order]]
        above = numbers[group[order]] - below - own
        return float(np.sum(self.place[order] * own * (below - above)) + np.sum(numbers * missing))


@dataclass(frozen=True)
class NodeWidths:
    """Values in a tree.

    nodes: for each height 0..H the node above each record.
    shares: the width of that node.

    Both are H + 1 arrays of shape (n,).
    """

    nodes: Sequence[IntArray]
    shares: Sequence[FloatArray]

    def between(self, group: IntArray, weight: IntArray) -> float:
        """See PairWidths. Pairs that meet at a node are those below it, less those below one of its
        children.
        """
        total = 0.0
        last = len(self.nodes) - 1
        for height, node in enumerate(self.nodes):
            _, first, inverse = np.unique(
                group * (int(node.max()) + 1) + node,
                return_index=True,
                return_inverse=True,
            )
            pairs = count_pairs(inverse, weight)
            if height > 0:
                total += float(np.sum(pairs * self.shares[height][first]))
            if height < last:
                total -= float(np.sum(pairs * self.shares[height + 1][first]))
        return total


def count_pairs(group: IntArray, weight: IntArray) -> FloatArray:
    """The pairs of records in each group, shape (groups,)."""
    size = np.bincount(group, weight)
    return size * (size - 1) / 2


def mean_width(
    widths: PairWidths,
    group: IntArray,
    weight: IntArray,
    fewest: int = 1,
) -> float | None:
    """The mean width of the label that covers two people of one group; None with fewer than
    `fewest` such pairs.
    """
    pairs = float(count_pairs(group, weight).sum())
    return widths.between(group, weight) / pairs if pairs >= fewest else None


def share_taken_back(same: float | None, anyone: float | None) -> float | None:
    """The share taken back (see the module), from mean widths; None if one is unknown, or all
    labels are alike.
    """
    return None if same is None or anyone is None or anyone <= 0 else 1 - same / anyone


def combine(groups: Sequence[IntArray]) -> IntArray:
    """The intersections of several groupings of records, numbered 0.., shape (n,)."""
    combined: IntArray = np.zeros_like(groups[0])
    for group in groups:
        combined = np.unique(combined * (int(group.max()) + 1) + group, return_inverse=True)[1]
    return combined
