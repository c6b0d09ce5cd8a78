"""Along which lines each quasi-identifier may be cut, so that the labels of both sides do not meet.

What is published of a part is narrower than the part (its own values) or wider: a node of a hierarchy stands for all
its leaves, `*` for the whole domain, the missing value included, and an end that is rounded (`round_to`) for numbers of
the part beside it. So a part may hold, of each quasi-identifier:

- numbers: a stretch of them. A cut is allowed where the ends, as they are rounded, leave a gap. Missing values and
  numbers together are `*`; they come apart first.
- values of a hierarchy: the leaves of a node. It is divided into all its children at once: the label of two children is
  the node's, which would cover the third. The missing value is a child of the root.
- values without a hierarchy: all of them, `*`, or one, and so with sets: a stretch of them; only `*` has the missing
  value, so what is missing leaves together with a cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels.structures import structure
from tclose_spark.methods.attributes import ResolvedQuasi
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.labels import MISSING, NumericLabels

NUMBERS, SETS, NODES, VALUES = 0, 1, 2, 3
"""Kinds of quasi-identifiers, by how they are cut."""


@structure
class Axes(NamedTuple):
    """The quasi-identifiers of a block, over the dense codes of its rows.

    kinds: NUMBERS, SETS, NODES or VALUES, shape (q,).
    low: where the label of a part that begins with a code begins, as a rank, shape (q, longest domain).
    high: where the label of a part that ends with a code ends, among the same ranks. Between the codes a and b there
        may be a cut if high[a] < low[b].
    root: the lowest height of a hierarchy whose label is `*`, shape (q,).
    """

    kinds: NDArray[np.int8]
    low: IntArray
    high: IntArray
    root: IntArray


def axes_of(quasi_identifiers: Sequence[ResolvedQuasi], codes: Sequence[IntArray]) -> Axes:
    """The axes of rows whose dense codes stand for these codes, ascending, of each quasi-identifier."""
    longest = max(len(known) for known in codes)
    ranks = np.zeros((2, len(codes), longest), dtype=np.int64)
    ranks[:] = np.arange(longest)
    for j, (quasi, known) in enumerate(zip(quasi_identifiers, codes, strict=True)):
        if isinstance(quasi.labeller, NumericLabels) and quasi.labeller.round_to is not None:
            ranks[:, j, : len(known)] = _rounded(quasi.labeller, known, quasi.bounds)
    return Axes(
        kinds=np.array([kind_of(quasi) for quasi in quasi_identifiers], dtype=np.int8),
        low=np.ascontiguousarray(ranks[0]),
        high=np.ascontiguousarray(ranks[1]),
        root=np.array([root_height(quasi) for quasi in quasi_identifiers], dtype=np.int64),
    )


def kind_of(quasi: ResolvedQuasi) -> int:
    """NUMBERS, SETS, NODES or VALUES."""
    if quasi.domain.kind != "category":
        return NUMBERS
    if quasi.hierarchy is not None:
        return NODES
    return SETS if quasi.sets else VALUES


def root_height(quasi: ResolvedQuasi) -> int:
    """The lowest height of its hierarchy at which the label is `*`, of all leaves; 0 without one."""
    if quasi.hierarchy is None:
        return 0
    return next(h for h, label in enumerate(quasi.hierarchy.paths[0]) if label == "*")


def _rounded(labeller: NumericLabels, codes: IntArray, bounds: bool) -> IntArray:
    """Ranks of where the labels of single codes begin and end, shape (2, codes); a missing value is below all."""
    known = codes[codes != MISSING]
    ends = labeller.bounds(known, known) if bounds else labeller.ends(known, known)
    lows, highs = (list(map(_plain, side)) for side in ends)
    rank: dict[Any, int] = {end: place for place, end in enumerate(sorted({*lows, *highs}), start=1)}
    ranks = np.zeros((2, len(codes)), dtype=np.int64)
    ranks[:, len(codes) - len(known) :] = [[rank[end] for end in side] for side in (lows, highs)]
    return ranks


def _plain(number: Any) -> Any:
    return number.item() if isinstance(number, np.generic) else number
