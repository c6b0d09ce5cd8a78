"""The loss of a node, by the metric that chooses it. With n rows, and N of a value or label its
number of rows:

    ncp              mean over rows and quasi-identifiers, weighted, of the label's loss
                     (`table.labels.range_losses`); a suppressed row loses 1 of each
    entropy          the same mean of log2 N(label) / N(value), bits (Gionis and Tassa 2009,
                     non-uniform entropy); a suppressed row's label is that of all n
    discernibility   sum of squared class sizes, and n for each suppressed row (Bayardo and Agrawal
                     2005; ARX)

Each is monotone: without suppression, a coarser node loses no less. The least loss of all holding
nodes is then that of a minimal node (no finer node holds). With suppression this fails, and every
node that may hold is examined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tclose_spark.methods.attributes import ResolvedQuasi
from tclose_spark.methods.t_incognito.frequency_sets import FrequencySet, Mask
from tclose_spark.methods.t_incognito.levels import Level, Levels
from tclose_spark.table.arrays import FloatArray
from tclose_spark.table.labels import range_losses

LatticeNode = tuple[int, ...]
"""A level for each quasi-identifier."""

Metric = Literal["ncp", "discernibility", "entropy"]


@dataclass(frozen=True)
class LabelCosts:
    """A loss that is a mean over rows and quasi-identifiers.

    costs: of each label, by quasi-identifier and level, arrays of shape (labels,).
    means: over all rows, by quasi-identifier and level, without suppression.
    most: of a suppressed row, for each quasi-identifier.
    weights: of each quasi-identifier, 1 on the mean.
    rows: n.
    """

    costs: tuple[tuple[FloatArray, ...], ...]
    means: tuple[tuple[float, ...], ...]
    most: float
    weights: tuple[float, ...]
    rows: int

    @staticmethod
    def ncp(quasi: Sequence[ResolvedQuasi], levels: Sequence[Levels]) -> LabelCosts:
        """See the module."""

        def losses(q: ResolvedQuasi, level: Level) -> FloatArray:
            return range_losses(level.low, level.high, q.domain, q.sets, q.hierarchy)

        costs = tuple(
            tuple(losses(q, level) for level in of.levels)
            for q, of in zip(quasi, levels, strict=True)
        )
        return LabelCosts._of(costs, quasi, levels, most=1.0, bits=False)

    @staticmethod
    def entropy(quasi: Sequence[ResolvedQuasi], levels: Sequence[Levels]) -> LabelCosts:
        """See the module. The frequencies of single values do not depend on the node, and are in
        `means` only.
        """
        costs = tuple(
            tuple(np.log2(np.bincount(level.label, weights=of.rows)) for level in of.levels)
            for of in levels
        )
        return LabelCosts._of(costs, quasi, levels, most=math.log2(levels[0].rows.sum()), bits=True)

    @staticmethod
    def _of(
        costs: tuple[tuple[FloatArray, ...], ...],
        quasi: Sequence[ResolvedQuasi],
        levels: Sequence[Levels],
        most: float,
        bits: bool,
    ) -> LabelCosts:
        rows = int(levels[0].rows.sum())
        means = tuple(
            tuple(
                math.fsum(
                    (of.rows * (cost[level.label] - (np.log2(of.rows) if bits else 0.0))).tolist(),
                )
                / rows
                for cost, level in zip(of_one, of.levels, strict=True)
            )
            for of_one, of in zip(costs, levels, strict=True)
        )
        return LabelCosts(costs, means, most, tuple(q.weight for q in quasi), rows)

    def least(self, node: LatticeNode) -> float:
        """The loss of a node without suppression. Suppression adds to it."""
        parts = zip(self.weights, self.means, node, strict=True)
        return math.fsum(weight * means[level] for weight, means, level in parts) / len(node)

    def of(self, node: LatticeNode, groups: FrequencySet, left: Mask) -> float:
        """The loss of a node with these groups suppressed, shape (groups,)."""
        here = np.flatnonzero(left)
        added = [
            weight
            * math.fsum((groups.sizes[here] * (self.most - costs[level][labels[here]])).tolist())
            for weight, costs, level, labels in zip(
                self.weights,
                self.costs,
                node,
                groups.labels,
                strict=True,
            )
        ]
        return self.least(node) + math.fsum(added) / self.rows / len(node)


def discernibility(groups: FrequencySet, left: Mask, rows: int) -> int:
    """The sum of squared sizes of the groups that stay, and n for each other row."""
    kept: list[int] = groups.sizes[~left].tolist()
    return sum(size**2 for size in kept) + rows * int(groups.sizes[left].sum())


@dataclass(frozen=True)
class Losses:
    """All three losses, and the one that chooses."""

    metric: Metric
    ncp: LabelCosts
    entropy: LabelCosts

    @staticmethod
    def of_levels(
        metric: Metric,
        quasi: Sequence[ResolvedQuasi],
        levels: Sequence[Levels],
    ) -> Losses:
        """The losses over these levels."""
        return Losses(metric, LabelCosts.ncp(quasi, levels), LabelCosts.entropy(quasi, levels))

    def least(self, node: LatticeNode) -> float:
        """A lower bound on a node's loss, before its groups are known."""
        return 0.0 if self.metric == "discernibility" else self._costs.least(node)

    def of(self, node: LatticeNode, groups: FrequencySet, left: Mask) -> float | int:
        """A node's loss by the metric that chooses."""
        if self.metric == "discernibility":
            return discernibility(groups, left, self.ncp.rows)
        return self._costs.of(node, groups, left)

    def all(self, node: LatticeNode, groups: FrequencySet, left: Mask) -> dict[str, float | int]:
        """A node's loss by each metric, by name."""
        return {
            "ncp": self.ncp.of(node, groups, left),
            "discernibility": discernibility(groups, left, self.ncp.rows),
            "entropy": self.entropy.of(node, groups, left),
        }

    @property
    def _costs(self) -> LabelCosts:
        return self.entropy if self.metric == "entropy" else self.ncp
