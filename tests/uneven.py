"""Ground distances that the package does not have: their steps differ, along a line and in a
tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from strategies import trees

from tclose_spark.measures.distances.features import Features
from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.table.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True)
class NumericDistance(GroundDistance):
    """Whole numbers i and j are at distance |i - j| / (largest - smallest).

    gaps: between neighbouring values, shape (m - 1,).
    """

    gaps: np.ndarray

    @staticmethod
    def of(
        table: np.ndarray,
        values: Sequence[str | None],
        hierarchy: Hierarchy | None,
    ) -> NumericDistance:
        return NumericDistance(table, np.diff([int(str(value)) for value in values]))

    @property
    def features(self) -> Features:
        scale = max(int(self.gaps.sum()), 1)
        return Features(values=len(self.table), scale=scale, cumulative=True, weights=self.gaps)


@dataclass(frozen=True)
class WeightedTree(GroundDistance):
    """Values are as far apart as the way through the tree is long; each node has a step of its own
    up to the next.

    steps: by height and node, from the values up, shape (nodes below the root,).
    """

    parents: tuple[np.ndarray, ...]
    steps: np.ndarray

    @staticmethod
    def of(
        table: np.ndarray,
        values: Sequence[str | None],
        hierarchy: Hierarchy | None,
    ) -> WeightedTree:
        assert hierarchy is not None
        nodes = sum(int(node[-1]) + 1 for node in hierarchy.nodes[:-1])
        return WeightedTree(table, hierarchy.parents, np.arange(1, nodes + 1))

    @property
    def features(self) -> Features:
        scale = 2 * int(self.steps.sum())
        return Features(
            values=len(self.table),
            scale=scale,
            parents=self.parents,
            weights=self.steps,
        )


def uneven_over(table: np.ndarray) -> dict[str, GroundDistance]:
    """One of each kind over a table."""
    m = len(table)
    pairs = (np.arange(m) // 2, np.zeros((m + 1) // 2, dtype=np.int64))
    return {
        "numeric": NumericDistance(table, 1 + 3 * np.arange(m - 1) % 5),
        "weighted tree": WeightedTree(table, pairs, 1 + 3 * np.arange(m + (m + 1) // 2) % 4),
    }


@st.composite
def uneven(draw: st.DrawFn) -> tuple[GroundDistance, list[list[Fraction]]]:
    """A distance of one of both kinds over a drawn table, and how far each value is from each other
    by definition.
    """
    steps, rows = st.integers(0, 5), st.integers(0, 9)
    if draw(st.booleans()):
        gaps = draw(st.lists(steps, max_size=6))
        m, places = len(gaps) + 1, np.cumsum([0, *gaps]).tolist()
        table = draw(st.lists(rows, min_size=m, max_size=m).filter(any))
        scale = max(places[-1], 1)
        ground = [[Fraction(abs(a - b), scale) for b in places] for a in places]
        return NumericDistance(np.array(table), np.array(gaps, dtype=np.int64)), ground
    tree = draw(trees(leaves=6))
    m, nodes = len(tree.leaves), tree.nodes[:-1]
    table = draw(st.lists(rows, min_size=m, max_size=m).filter(any))
    sizes = [int(node[-1]) + 1 for node in nodes]
    levels = [draw(st.lists(st.integers(1, 5), min_size=size, max_size=size)) for size in sizes]
    distance = WeightedTree(np.array(table), tree.parents, np.concatenate(levels))
    ground = [[Fraction(0)] * m for _ in range(m)]
    for u in range(m):
        for v in range(m):
            pairs = [
                (step[node[u]], step[node[v]])
                for node, step in zip(nodes, levels, strict=True)
                if node[u] != node[v]
            ]
            ground[u][v] = Fraction(sum(map(sum, pairs)), distance.features.scale)
    return distance, ground
