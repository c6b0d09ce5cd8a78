"""An upper bound on the size of a part of some rows whose closeness ratio is within a limit."""

from __future__ import annotations

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.methods.blocks.requirement import EQUAL, ORDERED
from tclose_spark.methods.closeness_tree.carve.goal import Goal, Scratch, add_up, hidden_numerator
from tclose_spark.table.arrays import FloatArray


@kernel
def largest_part(values: FloatArray, size: float, limit: float, goal: Goal, scratch: Scratch) -> float:
    """An upper bound, up to rounding, on the rows of a part of these rows that is within the limit.

    With an equal attribute, a part of x rows lacks at least the sum of (x Q_v - values_v)+ rows, and may lack limit t
    x. The sum is convex in x, so Newton's steps down from the whole never pass the largest x that is allowed. With a
    hierarchical attribute, the same is true of all nodes together. The estimate of what bins hide depends on the size,
    so the steps are repeated until it is stable.
    """
    before = np.inf
    while size < before - 1.0:
        before, size = size, _within(values, size, limit, goal, scratch)
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
            nodes = add_up(values[s], goal.domains[s], goal.parents[s], goal.heights[s], scratch.nodes)
            size = largest_equal_part(scratch.nodes, size, spare, goal.shares[s], nodes)
        if size <= 0.0:
            return 0.0
    return size


@kernel
def largest_equal_part(counts: FloatArray, size: float, spare: float, target: FloatArray, m: int) -> float:
    """`largest_part` for one attribute. counts: by value; spare: the share of a part that may be in excess."""
    for _ in range(20):
        held, share, lacking = 0.0, -spare, -spare * size
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
