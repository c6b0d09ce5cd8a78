"""How far the label of a class may reach: the values that may share a label within `coarsest`."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction

import numpy as np

from tclose_spark.methods.attributes import ResolvedQuasi
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.hierarchies.hierarchy import ROOT
from tclose_spark.table.labels import MISSING, NumericLabels


def reach_of(quasi: ResolvedQuasi, codes: IntArray) -> IntArray:
    """The place of the highest code that each code may share a label with, shape (codes,). A
    missing value shares none.

    codes: of the values that occur, ascending, MISSING first. The label of a set is taken for that
        of all codes between its lowest and its highest one.
    """
    limit, last = quasi.coarsest, np.full(len(codes), len(codes) - 1)
    if limit is None or not limit.broken_by(ROOT):
        return last
    known = codes[codes != MISSING]
    if isinstance(quasi.labeller, NumericLabels):
        lows, highs = (
            [Fraction(str(end)) for end in ends] for ends in quasi.labeller.ends(known, known)
        )
        longest = limit.limit * quasi.domain.scale
        reach = np.array([bisect_right(highs, low + longest) - 1 for low in lows], dtype=np.int64)
    elif quasi.hierarchy is not None:
        shared = [limit.coarsest_within(quasi.hierarchy.paths[code]) for code in known.tolist()]
        ends = np.flatnonzero(
            [one != other for one, other in zip(shared, [*shared[1:], None], strict=True)]
        )
        reach = ends[np.searchsorted(ends, np.arange(len(known)))]
    else:  # a set of values, or one value; `*` is no set
        most = min(int(limit.limit), quasi.domain.present - 1) if quasi.sets else 1
        reach = np.minimum(np.arange(len(known)) + max(most, 1) - 1, len(known) - 1)
    missing = len(codes) - len(known)
    return np.concatenate([np.zeros(missing, dtype=np.int64), reach + missing])
