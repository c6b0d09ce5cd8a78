"""How small and how large a side of a split can be: bounds on the sizes that meet the
requirement.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels import kernel
from tclose_spark.methods.blocks.block import EQUAL, ORDERED, Requirement
from tclose_spark.methods.closeness_tree.carve.goal import Goal, Scratch, add_up, hidden_numerator
from tclose_spark.table.arrays import FloatArray

HIDDEN_MOST = 2 / 3  # of a closeness ratio: parts in which bins hide more are not worth trying


@kernel
def largest_part(
    values: FloatArray,
    size: float,
    limit: float,
    goal: Goal,
    scratch: Scratch,
) -> float:
    """An upper bound, up to rounding, on the rows of a part of these rows that is within the limit.

    With an equal attribute, a part of x rows lacks at least the sum of (x Q_v - values_v)+ rows,
    and may lack limit t x. The sum is convex in x, so Newton's steps down from the whole never pass
    the largest x that is allowed. With a hierarchical attribute, the same is true of all nodes
    together. The estimate of what bins hide depends on the size, so the steps are repeated until it
    is stable.
    """
    before = np.inf
    while size < before - 1.0:
        before = size
        size = _within(values, size, limit, goal, scratch)
        if size <= 0.0 or goal.hidden.shape[1] == 1:
            break
    return size


@kernel
def _within(values: FloatArray, size: float, limit: float, goal: Goal, scratch: Scratch) -> float:
    for s in range(len(goal.unit)):
        if goal.metric[s] == ORDERED or goal.unit[s] == np.inf:
            continue
        hidden = hidden_numerator(s, size, goal) / size
        if goal.metric[s] == EQUAL:
            spare = limit * goal.t[s] - 0.5 * hidden
            size = largest_equal_part(values[s], size, spare, goal.target[s], goal.domains[s])
        else:
            spare = limit * goal.unit[s] - hidden
            nodes = add_up(
                values[s],
                goal.domains[s],
                goal.parents[s],
                goal.heights[s],
                scratch.nodes,
            )
            size = largest_equal_part(scratch.nodes, size, spare, goal.shares[s], nodes)
        if size <= 0.0:
            return 0.0
    return size


@kernel
def largest_equal_part(
    counts: FloatArray,
    size: float,
    spare: float,
    target: FloatArray,
    m: int,
) -> float:
    """`largest_part` for one attribute. counts: by value; spare: the share of a part that may be in
    excess.
    """
    for _ in range(20):
        held = 0.0
        share = -spare
        lacking = -spare * size
        for v in range(m):
            gap = size * target[v] - counts[v]
            lacks = gap > 0.0  # without a branch, which would be hard to predict
            held += counts[v] if lacks else 0.0
            share += target[v] if lacks else 0.0
            lacking += gap if lacks else 0.0
        if lacking <= 1e-9 * size or share <= 0.0:
            break
        size = held / share
        if size <= 0.0:
            return 0.0
    return size


def smallest_size(requirement: Requirement, most: int) -> int:
    """The size of the smallest class, from k to `most` rows, whose distances can be within the
    limits; `most` if none can.

    With the equal distance, rounding up the largest remainders gives the class nearest to the
    table, and s rows have at most the s most frequent values. With the ordered one, every
    cumulative count is rounded. Hierarchical distances are ignored.
    """
    n = requirement.rows
    least = int(requirement.k)
    for s in np.flatnonzero(~requirement.ordered & (requirement.heights == 0)).tolist():
        held = np.cumsum(np.sort(requirement.tables[s, : requirement.domains[s]])[::-1])
        sizes = np.arange(1, len(held) + 1)[
            2 * (n - held)
            <= (float(requirement.limits[s, -1]) + 1.0) / max(requirement.limits.shape[1] - 1, 1)
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
    """The size of the smallest part, of at most `most` rows, in which bins hide at most HIDDEN_MOST
    of the limits.
    """
    if goal.hidden.shape[1] == 1:
        return 1
    sizes = np.arange(min(most, goal.hidden.shape[1] - 1) + 1)
    fits: NDArray[np.bool_] = np.all(
        goal.hidden[:, : len(sizes)] <= HIDDEN_MOST * goal.unit[:, None] * sizes,
        axis=0,
    )
    return int(np.argmax(fits[1:])) + 1 if fits[1:].any() else most
