"""Aggregate bounds: no class that conforms to a fragmentation is farther from the table (Gowda 2023, Definition 7;
Weber, Definition 10).

Of sensitive attribute s it is ``sum over fragments F of (rows of F / n) * Delta_s(F)``. Two kinds of Delta:

    domain  the distance on the whole domain, between values that the fragment has (see `spread`)
    paper   a fragment is a box of index ranges [a, b], and Delta is in lengths of the box: max(g - a, b - g) / (b - a),
            with g the centre of gravity; 0 for a = b. Never below the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tclose_spark.measures.exact import exact
from tclose_spark.measures.histograms import Histograms
from tclose_spark.measures.multiplicity import MultiplicityMatrix
from tclose_spark.methods.fragmentation.spread import Spread
from tclose_spark.table.arrays import IntArray

CHUNK = 1 << 20  # entries of a dense table of histograms held at once: 8 MiB

Bounds = tuple[Fraction, ...]
"""The aggregate bound of each sensitive attribute."""


def aggregate_bounds(matrix: MultiplicityMatrix, fragment_of: IntArray, spreads: Sequence[Spread]) -> Bounds:
    """The exact aggregate bounds of a fragmentation, of kind domain.

    fragment_of: shape (cells,); the fragment 0..f-1 of each cell, every number taken.
    """
    fragments = int(fragment_of.max()) + 1
    return tuple(
        Fraction(
            sum(_weighted(Histograms.tally(fragment_of, codes, matrix.counts, fragments, spread.domain), spread)),
            spread.scale * matrix.rows,
        )
        for codes, spread in zip(matrix.codes.T, spreads, strict=True)
    )


def _weighted(histograms: Histograms, spread: Spread) -> list[int]:
    """Numerator of each fragment's row-weighted Delta."""
    found: list[int] = []
    codes = np.arange(spread.domain, dtype=np.int64)
    step = max(1, CHUNK // spread.domain)
    for i in range(0, histograms.groups, step):
        j = min(i + step, histograms.groups)
        part = slice(histograms.offsets[i], histograms.offsets[j])
        table = np.zeros((j - i, spread.domain), dtype=np.int64)
        table[histograms.owner[part] - i, histograms.values[part]] = histograms.counts[part]
        found += map(int, spread.weighted(codes, table))
    return found


def paper_bounds(matrix: MultiplicityMatrix, fragment_of: IntArray, boxes: IntArray) -> Bounds:
    """The exact aggregate bounds of boxes, of kind paper.

    fragment_of: as in aggregate_bounds. boxes: shape (f, attributes, 2); first and last index of each box.
    """
    total = [Fraction(0)] * matrix.attributes
    for fragment, box in enumerate(boxes):
        here = fragment_of == fragment
        deltas = box_deltas(matrix.codes[here], matrix.counts[here], box)
        total = [sum_ + delta for sum_, delta in zip(total, deltas, strict=True)]
    return tuple(sum_ / matrix.rows for sum_ in total)


def box_deltas(codes: IntArray, counts: IntArray, box: IntArray) -> Bounds:
    """The row-weighted Delta, of kind paper, of the cells in one box, for each attribute.

    codes: shape (cells, attributes); counts: shape (cells,); box: shape (attributes, 2).

    >>> codes, counts = np.array([[2], [4]]), np.array([3, 1])  # centre of gravity 2.5 in the box [2, 4]
    >>> [str(delta) for delta in box_deltas(codes, counts, np.array([[2, 4]]))]  # 4 rows, (4 - 2.5) / 2 each
    ['3']
    """
    rows = int(counts.sum())
    deltas = []
    for attribute, (first, last) in enumerate(box.tolist()):
        moment = int((codes[:, attribute] - first) @ exact(counts, 4 * (last - first + 1) * max(rows, 1)))
        farthest = max(moment, (last - first) * rows - moment)
        deltas.append(Fraction(farthest, last - first) if last > first else Fraction(0))
    return tuple(deltas)
