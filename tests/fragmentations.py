"""What the papers say of a fragmentation, from their definitions; diameters over domains of so many
values.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tclose_spark.measures.distances.ground_distances import (
    EqualDistance,
    HierarchicalDistance,
    OrderedDistance,
)
from tclose_spark.measures.distances.histograms import MultiplicityMatrix
from tclose_spark.methods.dealing.relaxed_conformance import (
    Bounds,
    FragmentDiameter,
    box_deltas,
    diameter_of,
)
from tclose_spark.table.tally import Tally


def matrix_of(codes: np.ndarray, counts: np.ndarray, domains: Sequence[int]) -> MultiplicityMatrix:
    """The matrix of weighted tuples in any order, equal ones added up."""
    tally = Tally.of(codes.T, counts)
    return MultiplicityMatrix(tally.keys.T, tally.rows, tuple(domains))


def ordered(values: int) -> FragmentDiameter:
    return diameter_of(OrderedDistance(np.ones(values, dtype=np.int64)))


def equal(values: int) -> FragmentDiameter:
    return diameter_of(EqualDistance(np.ones(values, dtype=np.int64)))


def hierarchical(values: int, parents: tuple[np.ndarray, ...]) -> FragmentDiameter:
    return diameter_of(HierarchicalDistance(np.ones(values, dtype=np.int64), parents))


def aggregate_bounds(
    matrix: MultiplicityMatrix,
    fragment_of: np.ndarray,
    diameters: Sequence[FragmentDiameter],
) -> Bounds:
    """The exact aggregate bounds of kind domain (Gowda 2023, Definition 7). fragment_of: 0..f-1, of
    each cell.
    """
    found = []
    for codes, diameter in zip(matrix.codes.T, diameters, strict=True):
        inside = np.zeros((int(fragment_of.max()) + 1, diameter.domain), dtype=np.int64)
        np.add.at(inside, (fragment_of, codes), matrix.counts)
        deltas = diameter.weighted(np.arange(diameter.domain), inside)
        found.append(Fraction(sum(map(int, deltas)), diameter.scale * matrix.rows))
    return tuple(found)


def paper_bounds(matrix: MultiplicityMatrix, fragment_of: np.ndarray, boxes: np.ndarray) -> Bounds:
    """The exact aggregate bounds of kind paper. boxes: shape (f, attributes, 2); first and last
    index of each.
    """
    insides = [fragment_of == fragment for fragment in range(len(boxes))]
    deltas = [
        box_deltas(matrix.codes[i], matrix.counts[i], box)
        for i, box in zip(insides, boxes, strict=True)
    ]
    return tuple(sum(parts, Fraction(0)) / matrix.rows for parts in zip(*deltas, strict=True))
