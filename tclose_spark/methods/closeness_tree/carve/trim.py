"""Trimming: rows are taken from a part of a node, by the subgradient of the distance, until the
part and the rest are within a limit of the closeness ratio.

Floats throughout. A split is checked in integers before it is used.

The gradient of the distance of a part: how much it falls with a row of each value. Trimming
follows it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.methods.blocks.block import EQUAL, HIERARCHICAL, ORDERED
from tclose_spark.methods.closeness_tree.carve.goal import (
    Goal,
    Scratch,
    hidden_numerator,
    worst,
    worst_cap,
)
from tclose_spark.table.arrays import Codes, FloatArray, IntArray


@kernel
def gradient(s: int, values: FloatArray, size: float, goal: Goal, scratch: Scratch) -> float:
    """Set scratch.gradient[v] to how much the distance of attribute s falls with a row of value v
    (equal: to the excess rows of v); the closeness ratio. values: rows by value; size: their sum.
    """
    target = goal.target[s]
    m = goal.domains[s]
    slope = scratch.gradient
    numerator = 0.0
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
    s: int,
    values: FloatArray,
    size: float,
    worst: int,
    goal: Goal,
    scratch: Scratch,
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
    s: int,
    values: FloatArray,
    size: float,
    goal: Goal,
    scratch: Scratch,
) -> float:
    """Set scratch.gradient[leaf] to the sum of the signs of the excess of the leaf and of the nodes
    above it, except the root; twice the numerator. It is `twice_hierarchical_numerator`, with each
    height in a row of scratch.excess.
    """
    excess = scratch.excess
    parents = goal.parents[s]
    height = goal.heights[s]
    m = goal.domains[s]
    for v in range(m):
        excess[0, v] = values[v] - size * goal.target[s, v]
    total = 0.0
    nodes = m
    for step in range(height):
        last = -1
        for child in range(nodes):
            net = excess[step, child]
            node = parents[step, child]
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


CHUNK = 0.05  # of the excess rows are taken at once; small last steps matter
TOGETHER = 5  # chunks taken at once if bins of a hierarchy tie
FINE = 0.01  # of such a part are taken in a step at least
SMALLEST_SHARE = 0.02  # of a region that is worth carving from
NEARLY = 1.0 + 1e-12


class Division(NamedTuple):
    """A node's rows in two. Invariant: all arrays describe one division of the same rows."""

    part: FloatArray  # rows of the part, by the cells that occur, shape (present cells,)
    cells: IntArray  # which cell each is, shape (present cells,)
    inside: FloatArray  # counts by value of the part, shape (attributes, largest domain)
    outside: FloatArray  # counts by value of the rest, shape (attributes, largest domain)
    rows: float  # of both together


@kernel
def is_single(goal: Goal) -> bool:
    """Whether there is one sensitive attribute, without caps."""
    return bool(len(goal.unit) == 1 and goal.room.shape[1] == 0)


@kernel
def take_rows(cell: int, rows: float, codes: Codes, taken: FloatArray, left: FloatArray) -> None:
    """Take rows of a cell from the counts `taken` to the counts `left`, in every attribute."""
    for s in range(codes.shape[1]):
        v = codes[cell, s]
        taken[s, v] -= rows
        left[s, v] += rows


@kernel
def trim_to_level(division: Division, size: float, wanted: float, goal: Goal) -> float:
    """Trim to about `wanted` rows at once; the new size. The part stays as it is if there are
    several attributes or caps, or if the distance is not equal.

    size: rows of the part. wanted: its `largest_part`.

    Every cell keeps min(part, ceil(wanted Q + x)), with x such that about `wanted` rows stay.
    """
    if not is_single(goal) or goal.metric[0] != EQUAL or wanted >= size - 1.0:
        return size
    part = division.part
    cells = division.cells
    codes = goal.codes
    target = goal.target[0]
    x = 0.0
    for _ in range(20):
        kept = 0.0
        cut = 0
        for c in range(len(part)):
            most = wanted * target[codes[cells[c], 0]] + x
            if part[c] > most:
                cut += 1
            kept += min(part[c], most)
        if cut == 0 or kept >= wanted - 1e-9:
            break
        x += (wanted - kept) / cut
    for c in range(len(part)):
        chunk = part[c] - np.ceil(wanted * target[codes[cells[c], 0]] + x)
        if chunk > 0.0:
            part[c] -= chunk
            take_rows(cells[c], chunk, codes, division.inside, division.outside)
            size -= chunk
    return size


@kernel
def trim(
    division: Division,
    size: float,
    limit: float,
    least: float,
    goal: Goal,
    scratch: Scratch,
) -> float:
    """Take rows from the part until the closeness ratios of the part and of the rest are within the
    limit; the rows left in it, 0 if that fails. `trim_to_level` goes before it.

    size: rows of the part. Rows only leave it, so a lower limit can continue from a higher one.
    """
    if is_single(goal):
        kind = goal.metric[0]
        if kind == EQUAL:
            return trim_equal(division, size, limit, least, goal, scratch.gradient)
        if kind == HIERARCHICAL and goal.hidden.shape[1] > 1:
            return trim_bins(division, size, limit, least, goal, scratch)
    part, cells, inside, outside, rows = division
    s = 0
    codes = goal.codes
    slope = scratch.gradient
    while size >= least:
        sign = 1.0
        side = size
        counts = inside
        ratio, s, unit = gradient_of_worst(counts, side, goal, scratch)
        if ratio <= limit * NEARLY:
            sign = -1.0
            side = max(rows - size, 0.5)
            counts = outside
            ratio, s, unit = gradient_of_worst(counts, side, goal, scratch)
            if ratio <= limit * NEARLY and side >= least:
                return size
        best = -1
        most = -np.inf
        for c in range(len(part)):
            if part[c] > 0.0:
                g = sign * slope[codes[cells[c], s]]
                if g > most:
                    best = c
                    most = g
        if best < 0:
            return 0.0
        chunk = np.floor(CHUNK * (ratio - limit) * side * unit)
        if sign > 0.0 and goal.metric[s] == EQUAL:
            chunk = min(chunk, np.ceil(most))
        chunk = min(max(chunk, 1.0), part[best])
        part[best] -= chunk
        take_rows(cells[best], chunk, codes, inside, outside)
        size -= chunk
    return 0.0


@kernel
def gradient_of_worst(
    counts: FloatArray,
    size: float,
    goal: Goal,
    scratch: Scratch,
) -> tuple[float, int, float]:
    """Set scratch.gradient for the attribute with the largest closeness ratio; (the ratio, the
    attribute, the share of a part that a ratio of 1 is).
    """
    if is_single(goal):
        return gradient(0, counts[0], size, goal, scratch), 0, goal.t[0]
    ratio, s = worst(counts, size, goal, scratch)
    capped, value = worst_cap(s, counts[s], size, goal)
    if value >= 0 and capped >= ratio:
        cap_gradient(s, counts[s], size, value, goal, scratch)
        return capped, s, goal.room[s, value]
    gradient(s, counts[s], size, goal, scratch)
    return ratio, s, goal.t[s]


@kernel
def trim_equal(
    division: Division,
    size: float,
    limit: float,
    least: float,
    goal: Goal,
    slope: FloatArray,
) -> float:
    """`trim` for a single equal attribute, whose cells are its values."""
    taken = division.inside[0]
    rest = division.outside[0]
    rows = division.rows
    t = goal.t[0]
    unit = goal.unit[0]
    left = 0.0
    while size >= least:
        side = size
        total, best, most = sum_excess(taken, taken, side, 1.0, goal, slope)
        ratio = (total + hidden_numerator(0, side, goal)) / (unit * side)
        room = np.ceil(most)
        if ratio <= limit * NEARLY:
            side = max(rows - size, 0.5)
            room = np.inf
            total, best, most = sum_excess(taken, rest, side, -1.0, goal, slope)
            ratio = (total + hidden_numerator(0, side, goal)) / (unit * side)
            if ratio <= limit * NEARLY and side >= least:
                left = size
                break
        if best < 0:
            break
        chunk = min(np.floor(CHUNK * (ratio - limit) * side * t), room)
        chunk = min(max(chunk, 1.0), taken[best])
        taken[best] -= chunk
        rest[best] += chunk
        size -= chunk
    for c in range(len(division.part)):
        division.part[c] = taken[goal.codes[division.cells[c], 0]]
    return left


@kernel
def sum_excess(
    taken: FloatArray,
    counts: FloatArray,
    size: float,
    sign: float,
    goal: Goal,
    slope: FloatArray,
) -> tuple[float, int, float]:
    """(the sum of |excess| over the values of `counts`, the value of the part with the largest
    excess, that excess).
    """
    target = goal.target[0]
    m = goal.domains[0]
    t0 = 0.0
    t1 = 0.0
    t2 = 0.0
    t3 = 0.0
    m0 = -np.inf
    m1 = -np.inf
    m2 = -np.inf
    m3 = -np.inf
    whole = m - m % 4
    for v in range(0, whole, 4):
        g0 = sign * (counts[v] - size * target[v])
        g1 = sign * (counts[v + 1] - size * target[v + 1])
        g2 = sign * (counts[v + 2] - size * target[v + 2])
        g3 = sign * (counts[v + 3] - size * target[v + 3])
        t0 += abs(g0)
        t1 += abs(g1)
        t2 += abs(g2)
        t3 += abs(g3)
        g0 = g0 if taken[v] > 0.0 else -np.inf
        g1 = g1 if taken[v + 1] > 0.0 else -np.inf
        g2 = g2 if taken[v + 2] > 0.0 else -np.inf
        g3 = g3 if taken[v + 3] > 0.0 else -np.inf
        slope[v] = g0
        slope[v + 1] = g1
        slope[v + 2] = g2
        slope[v + 3] = g3
        m0 = g0 if g0 > m0 else m0
        m1 = g1 if g1 > m1 else m1
        m2 = g2 if g2 > m2 else m2
        m3 = g3 if g3 > m3 else m3
    total = t0 + t1 + (t2 + t3)
    most = max(max(m0, m1), max(m2, m3))
    for v in range(whole, m):
        g = sign * (counts[v] - size * target[v])
        total += abs(g)
        g = g if taken[v] > 0.0 else -np.inf
        slope[v] = g
        most = g if g > most else most
    if most == -np.inf:
        return total, -1, most
    best = 0
    while slope[best] != most:
        best += 1
    return total, best, most


@kernel
def trim_bins(
    division: Division,
    size: float,
    limit: float,
    least: float,
    goal: Goal,
    scratch: Scratch,
) -> float:
    """`trim` for the bins of a single hierarchical attribute: rows of several bins with the same
    slope are taken at once.
    """
    taken = division.inside[0]
    rest = division.outside[0]
    rows = division.rows
    slope = scratch.gradient
    target = goal.target[0]
    t = goal.t[0]
    m = goal.domains[0]
    left = 0.0
    while size >= least:
        sign = 1.0
        side = size
        counts = taken
        ratio = gradient(0, taken, size, goal, scratch)
        if ratio <= limit * NEARLY:
            sign = -1.0
            side = max(rows - size, 0.5)
            counts = rest
            ratio = gradient(0, rest, side, goal, scratch)
            if ratio <= limit * NEARLY and side >= least:
                left = size
                break
        most = -np.inf
        for v in range(m):
            most = max(most, sign * slope[v] if taken[v] > 0.0 else -np.inf)
        if most == -np.inf:
            break
        excess = CHUNK * (ratio - limit) * side * t
        chunk = max(np.floor(excess), 1.0)
        budget = max(np.floor(TOGETHER * excess), 1.0, np.floor(FINE * side))
        for v in range(m):
            if taken[v] > 0.0 and sign * slope[v] == most and budget > 0.0:
                room = max(np.ceil(sign * (counts[v] - side * target[v])), 1.0)
                gone = min(min(chunk, room), min(budget, taken[v]))
                taken[v] -= gone
                rest[v] += gone
                size -= gone
                budget -= gone
    for c in range(len(division.part)):
        division.part[c] = taken[goal.codes[division.cells[c], 0]]
    return left
