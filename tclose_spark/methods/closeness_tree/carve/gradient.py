"""The gradient of the distance of a part: how much it falls with a row of each value. Trimming follows it."""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.methods.blocks.requirement import EQUAL, ORDERED
from tclose_spark.methods.closeness_tree.carve.goal import Goal, Scratch, hidden_numerator
from tclose_spark.table.arrays import Codes, FloatArray


@kernel
def gradient_of(
    kind: int,
    values: FloatArray,
    size: float,
    target: FloatArray,
    m: int,
    parents: Codes,
    height: int,
    excess: FloatArray,
    out: FloatArray,
) -> float:
    """Set out[v] to how much the distance falls with a row of value v (equal: to the excess rows of v); the
    numerator.
    """
    total = 0.0
    if kind == EQUAL:
        for v in range(m):
            out[v] = values[v] - size * target[v]
            total += abs(out[v])
    elif kind == ORDERED:
        reached = 0.0
        for v in range(m - 1):
            reached += values[v] - size * target[v]
            total += abs(reached)
            out[v] = 1.0 if reached > 0.0 else (-1.0 if reached < 0.0 else 0.0)
        out[m - 1] = 0.0
        for v in range(m - 2, -1, -1):
            out[v] += out[v + 1]
    else:
        total = 0.5 * _up_and_down(values, size, target, m, parents, height, excess, out)
    return total


@kernel
def gradient(s: int, values: FloatArray, size: float, goal: Goal, scratch: Scratch) -> float:
    """Set scratch.gradient for attribute s; its closeness ratio."""
    numerator = hidden_numerator(s, size, goal) + gradient_of(
        goal.metric[s],
        values,
        size,
        goal.target[s],
        goal.domains[s],
        goal.parents[s],
        goal.heights[s],
        scratch.excess,
        scratch.gradient,
    )
    return float(numerator / (goal.unit[s] * size))


@kernel
def _up_and_down(
    values: FloatArray,
    size: float,
    target: FloatArray,
    m: int,
    parents: Codes,
    height: int,
    excess: FloatArray,
    out: FloatArray,
) -> float:
    """Set out[leaf] to the sum of the signs of the excess of the leaf and of the nodes above it, except the root; twice
    the numerator. It is `twice_hierarchical_numerator`, with each height in a row of `excess`.
    """
    for v in range(m):
        excess[0, v] = values[v] - size * target[v]
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
            net = excess[step, node]
            sign = 1.0 if net > 0.0 else (-1.0 if net < 0.0 else 0.0)
            excess[step, node] = sign + excess[step + 1, parents[step, node]]
    for v in range(m):
        out[v] = excess[0, v]
    return total
