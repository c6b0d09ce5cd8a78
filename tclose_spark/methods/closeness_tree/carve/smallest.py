"""The smallest side of a split worth trying: smaller ones cannot meet the requirement, or bins hide too much of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose_spark.methods.blocks.requirement import Requirement
from tclose_spark.methods.closeness_tree.carve.goal import Goal

HIDDEN_MOST = 2 / 3  # of a closeness ratio: parts in which bins hide more are not worth trying


def smallest_size(requirement: Requirement, most: int) -> int:
    """The size of the smallest class, from k to `most` rows, whose distances can be within the limits; `most` if none
    can.

    With the equal distance, rounding up the largest remainders gives the class nearest to the table, and s rows have at
    most the s most frequent values. With the ordered one, every cumulative count is rounded. Hierarchical distances are
    ignored.
    """
    n, least = requirement.rows, int(requirement.k)
    for s in np.flatnonzero(~requirement.ordered & (requirement.heights == 0)).tolist():
        held = np.cumsum(np.sort(requirement.tables[s, : requirement.domains[s]])[::-1])
        sizes = np.arange(1, len(held) + 1)[
            2 * (n - held) <= (float(requirement.limits[s, -1]) + 1.0) / max(requirement.limits.shape[1] - 1, 1)
        ]
        least = max(least, int(sizes[0]))
    for size in range(min(least, most), most):
        for s in range(len(requirement.domains)):
            table = requirement.tables[s, : requirement.domains[s]]
            if requirement.heights[s] > 0:
                continue
            if requirement.ordered[s]:
                part = np.cumsum(table)[:-1] * size % n
                nearest = int(np.minimum(part, n - part).sum())
            else:
                part = np.sort(table * size % n)[::-1]
                up = int(part.sum()) // n
                nearest = int((n - part[:up]).sum() + part[up:].sum())
            if nearest > requirement.limits[s, size]:
                break
        else:
            return size
    return most


def smallest_in_bins(goal: Goal, most: int) -> int:
    """The size of the smallest part, of at most `most` rows, in which bins hide at most HIDDEN_MOST of the limits."""
    if goal.hidden.shape[1] == 1:
        return 1
    sizes = np.arange(min(most, goal.hidden.shape[1] - 1) + 1)
    fits: NDArray[np.bool_] = np.all(goal.hidden[:, : len(sizes)] <= HIDDEN_MOST * goal.unit[:, None] * sizes, axis=0)
    return int(np.argmax(fits[1:])) + 1 if fits[1:].any() else most
