"""Codes of columns by rank: most columns have few codes in a small range, where a table of the range tells the rank of
a code faster than sorting or searching does.
"""

from __future__ import annotations

import numpy as np

from tclose_spark.table.arrays import IntArray

ROOM = 4  # entries of a table for each code that is looked up in it, at most


def ranked(codes: IntArray) -> tuple[IntArray, IntArray]:
    """(the different codes, ascending; of each code its place among them): `np.unique` with its inverse.

    >>> ranked(np.array([31, 40, 31]))
    (array([31, 40]), array([0, 1, 0]))
    """
    if not len(codes):
        return codes, codes
    low, span = int(codes.min()), int(codes.max()) - int(codes.min()) + 1
    if span > ROOM * len(codes):
        known, places = np.unique(codes, return_inverse=True)
        return known, places
    offsets = codes - low
    present = np.zeros(span, dtype=bool)
    present[offsets] = True
    return np.flatnonzero(present) + low, (np.cumsum(present) - 1)[offsets]


def ranks_among(known: IntArray, codes: IntArray) -> IntArray:
    """Of each code the place of the first of `known`, ascending, that is not below it; beyond the last one, its place.

    >>> ranks_among(np.array([31, 40]), np.array([30, 31, 35, 99])).tolist()
    [0, 0, 1, 1]
    """
    low, span = int(known[0]), int(known[-1]) - int(known[0]) + 1
    if span > ROOM * len(codes):
        return np.minimum(np.searchsorted(known, codes), len(known) - 1)
    table = np.searchsorted(known, np.arange(low, low + span))
    return table[np.clip(codes, low, low + span - 1) - low]
