"""Drawn multiplicity matrices with a ground distance for each attribute, and the definitions of
Delta and the bounds, one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from fragmentations import matrix_of
from hypothesis import strategies as st
from strategies import trees

from tclose_spark.measures.distances.ground_distances import (
    EqualDistance,
    GroundDistance,
    HierarchicalDistance,
    OrderedDistance,
)
from tclose_spark.measures.distances.histograms import Histograms, MultiplicityMatrix
from tclose_spark.methods.dealing.relaxed_conformance import FragmentDiameter, diameter_of


@dataclass(frozen=True)
class Case:
    """A matrix, the distance and ground[s][u][v] of each attribute."""

    matrix: MultiplicityMatrix
    distances: tuple[GroundDistance, ...]
    grounds: tuple[list[list[Fraction]], ...]

    @property
    def diameters(self) -> tuple[FragmentDiameter, ...]:
        return tuple(map(diameter_of, self.distances))

    def delta(self, attribute: int, cells: list[int]) -> Fraction:
        """Rows times Delta of the cells: the most expensive value that they could all get."""
        ground = self.grounds[attribute]
        rows = [
            (self.matrix.codes[cell, attribute], int(self.matrix.counts[cell])) for cell in cells
        ]
        return max(sum((count * ground[u][v] for u, count in rows), Fraction(0)) for v, _ in rows)

    def bounds(self, fragment_of: np.ndarray) -> tuple[Fraction, ...]:
        """The aggregate bounds by their definition."""
        fragments = [np.flatnonzero(fragment_of == f).tolist() for f in set(fragment_of.tolist())]
        return tuple(
            sum((self.delta(s, cells) for cells in fragments), Fraction(0)) / self.matrix.rows
            for s in range(self.matrix.attributes)
        )

    def emd(self, attribute: int, class_counts: np.ndarray) -> Fraction:
        """The exact distance of a class, given by its rows in each cell, from the table."""
        distance = self.distances[attribute]
        table = np.zeros((1, len(distance.table)), dtype=np.int64)
        np.add.at(table[0], self.matrix.codes[:, attribute], class_counts)
        unit = distance.scale * self.matrix.rows * int(class_counts.sum())
        return Fraction(int(distance.numerators(Histograms.dense(table))[0]), unit)


@st.composite
def cases(
    draw: st.DrawFn,
    attributes: int = 4,
    kinds: tuple[str, ...] = ("ordered", "equal", "hierarchical"),
    cells: int = 12,
) -> Case:
    """A drawn matrix of 1 to `attributes` attributes with a distance each."""
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=attributes))
    hierarchies = [draw(trees(leaves=6)) if kind == "hierarchical" else None for kind in chosen]
    domains = tuple(
        draw(st.integers(1, 6)) if tree is None else len(tree.leaves) for tree in hierarchies
    )
    one = st.tuples(st.tuples(*[st.integers(0, m - 1) for m in domains]), st.integers(1, 9))
    codes, counts = zip(*draw(st.lists(one, min_size=1, max_size=cells)), strict=True)
    matrix = matrix_of(np.array(codes), np.array(counts), domains)
    distances: list[GroundDistance] = []
    grounds = []
    for attribute, (kind, m, tree) in enumerate(zip(chosen, domains, hierarchies, strict=True)):
        table, pairs = matrix.marginal(attribute), [[(u, v) for v in range(m)] for u in range(m)]
        if tree is not None:
            distances.append(HierarchicalDistance(table, tree.parents))
            nodes = tree.nodes
            grounds.append(
                [
                    [Fraction(sum(int(a[u] != a[v]) for a in nodes), tree.height) for u, v in row]
                    for row in pairs
                ],
            )
        elif kind == "ordered":
            distances.append(OrderedDistance(table))
            grounds.append([[Fraction(abs(u - v), max(m - 1, 1)) for u, v in row] for row in pairs])
        else:
            distances.append(EqualDistance(table))
            grounds.append([[Fraction(int(u != v)) for u, v in row] for row in pairs])
    return Case(matrix, tuple(distances), tuple(grounds))
