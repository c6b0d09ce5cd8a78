"""The gradient of the distance of a part: how much it falls with a row of each value. Trimming
follows it.
"""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.methods.blocks.requirement import EQUAL, ORDERED
from tclose_spark.methods.closeness_tree.carve.goal import Goal, Scratch, hidden_numerator
from tclose_spark.table.arrays import FloatArray


@kernel
def gradient(s: int, values: FloatArray, size: float, goal: Goal, scratch: Scratch) -> float:
    """Set scratch.gradient[v] to how much the distance of attribute s falls with a row of value v
    (equal: to the excess rows of v); the closeness ratio. values: rows by value; size: their sum.
    """
    target, m, slope, numerator = goal.target[s], goal.domains[s], scratch.gradient, 0.0
    if goal.metric[s] == EQUAL:
        for v in range(m):
            slope[v] = values[v] - size * target[v]
            numerator += abs(slope[v])
    elif goal.metric[s] == ORDERED:
        reached = 0.0
        for v in range(m - 1):
            reached += values[v] - size * target[v]
            numerator += abs(reached)
            slope[v] = sign_of(reached)
        slope[m - 1] = 0.0
        for v in range(m - 2, -1, -1):
            slope[v] += slope[v + 1]
    else:
        numerator = 0.5 * _hierarchical_gradient(s, values, size, goal, scratch)
    return float((numerator + hidden_numerator(s, size, goal)) / (goal.unit[s] * size))


@kernel
def cap_gradient(
    s: int, values: FloatArray, size: float, worst: int, goal: Goal, scratch: Scratch
) -> None:
    """Set scratch.gradient[v] to the excess rows of v in attribute s, in what the cap of the value
    `worst` leaves for each row that the cap of v leaves.
    """
    for v in range(goal.domains[s]):
        excess = values[v] - size * goal.target[s, v]
        scratch.gradient[v] = excess * goal.room[s, worst] / goal.room[s, v]


@kernel
def sign_of(x: float) -> float:
    """1, -1 or 0."""
    return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else 0.0)


@kernel
def _hierarchical_gradient(
    s: int, values: FloatArray, size: float, goal: Goal, scratch: Scratch
) -> float:
    """Set scratch.gradient[leaf] to the sum of the signs of the excess of the leaf and of the nodes
    above it, except the root; twice the numerator. It is `twice_hierarchical_numerator`, with each
    height in a row of scratch.excess.
    """
    excess, parents, height, m = scratch.excess, goal.parents[s], goal.heights[s], goal.domains[s]
    for v in range(m):
        excess[0, v] = values[v] - size * goal.target[s, v]
    total, nodes = 0.0, m
    for step in range(height):
        last = -1
        for child in range(nodes):
            net, node = excess[step, child], parents[step, child]
            total += abs(net)
            excess[step + 1, node] = net + (excess[step + 1, node] if node == last else 0.0)
            last = node
        nodes = last + 1
    excess[height, 0] = 0.0
    for step in range(height - 1, -1, -1):
        for node in range(m):
            if parents[step, node] < 0:  # the last node of this height
                break
            excess[step, node] = sign_of(excess[step, node]) + excess[step + 1, parents[step, node]]
    for v in range(m):
        scratch.gradient[v] = excess[0, v]
    return total
