"""Aggregate bounds: no class that conforms to a fragmentation is farther from the table (Gowda 2023, Definition 7;
Weber, Definition 10).

Of sensitive attribute s it is ``sum over fragments F of (rows of F / n) * Delta_s(F)``. Two kinds of Delta:

    domain  the distance on the whole domain, between values that the fragment has (see `spread`)
    paper   a fragment is a box of index ranges [a, b], and Delta is in lengths of the box: max(g - a, b - g) / (b - a),
            with g the centre of gravity; 0 for a = b. Never below the other.
"""

from __future__ import annotations

from fractions import Fraction

from tclose_spark.table.arrays import IntArray, exact

Bounds = tuple[Fraction, ...]
"""The aggregate bound of each sensitive attribute."""


def box_deltas(codes: IntArray, counts: IntArray, box: IntArray) -> Bounds:
    """The row-weighted Delta, of kind paper, of the cells in one box, for each attribute.

    codes: shape (cells, attributes); counts: shape (cells,); box: shape (attributes, 2).

    >>> import numpy as np
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
