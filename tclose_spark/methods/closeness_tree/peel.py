"""Taking rows from a part of a node until it and the rest are near enough to the whole table, by the subgradient of the distance.

Floats throughout: what is decided here is checked in integers before it is used.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tclose_spark.methods.closeness_tree.block import Requirement
from tclose_spark.methods.closeness_tree.loads import ANYTHING, numerator

CHUNK = 0.05  # of the rows too many are taken at once: a fine end game matters
SMALLEST_SHARE = 0.02  # of a region that is worth carving from
NEARLY = 1.0 + 1e-12


class Goal(NamedTuple):
    """The whole table as floats: target (attributes, largest domain), the share of each value; slope (attributes,): t * scale,
    so that numerator / (slope * rows) is the load, infinite without a t; the rest as in `Requirement`."""

    codes: Any
    target: Any
    slope: Any
    domains: Any
    ordered: Any
    parents: Any
    heights: Any


def goal_of(requirement: Requirement) -> Goal:
    """The floats of a requirement. t * scale is read off the limit of the largest class, rounded up."""
    largest = requirement.limits.shape[1] - 1
    slopes = [np.inf if row[-1] == ANYTHING else (int(row[-1]) + 1) / (requirement.rows * max(largest, 1)) for row in requirement.limits]
    return Goal(
        np.ascontiguousarray(requirement.codes, dtype=np.int32),
        requirement.tables / requirement.rows,
        np.maximum(np.array(slopes, dtype=np.float64), 1e-9),
        np.ascontiguousarray(requirement.domains, dtype=np.int64),
        np.ascontiguousarray(requirement.ordered, dtype=np.bool_),
        np.ascontiguousarray(requirement.parents, dtype=np.int32),
        np.ascontiguousarray(requirement.heights, dtype=np.int64),
    )


@njit(cache=True)
def worst(values: Any, size: float, goal: Goal) -> tuple[float, int]:
    """(the largest load of an attribute, which one it is) of `size` rows with these counts by value."""
    largest, attribute = 0.0, 0
    for s in range(len(goal.slope)):
        if goal.slope[s] == np.inf:
            continue
        extra = numerator(
            values[s], size, goal.target[s], goal.domains[s], goal.ordered[s], goal.parents[s], goal.heights[s], 1.0
        )
        found = extra / (goal.slope[s] * size)
        if found > largest:
            largest, attribute = found, s
    return largest, attribute


@njit(cache=True)
def gradient(s: int, values: Any, size: float, goal: Goal, out: Any) -> None:
    """out[v]: how much the distance of attribute s falls with a row of value v (equal: how many rows of v are too many)."""
    m = goal.domains[s]
    if goal.heights[s] > 0:
        _up_and_down(values, size, goal.target[s], m, goal.parents[s], goal.heights[s], out)
    elif goal.ordered[s]:
        excess = 0.0
        for v in range(m):
            excess += values[v] - size * goal.target[s, v]
            out[v] = np.sign(excess) if v < m - 1 else 0.0
        for v in range(m - 2, -1, -1):
            out[v] += out[v + 1]
    else:
        for v in range(m):
            out[v] = values[v] - size * goal.target[s, v]


@njit(cache=True)
def _up_and_down(values: Any, size: float, target: Any, m: int, parents: Any, height: int, out: Any) -> None:
    """out[leaf]: the sum over the leaf and the inner nodes above it, but the root, of the sign of what is too much below."""
    node = np.arange(m)
    out[:m] = 0.0
    extra = np.zeros(m)
    for step in range(height):
        extra[:] = 0.0
        for v in range(m):
            extra[node[v]] += values[v] - size * target[v]
        for v in range(m):
            out[v] += np.sign(extra[node[v]])
            node[v] = parents[step, node[v]]


@njit(cache=True)
def move(cell: int, rows: float, codes: Any, taken: Any, left: Any) -> None:
    """Take rows of a cell from the counts `taken` to the counts `left`, in every attribute."""
    for s in range(codes.shape[1]):
        v = codes[cell, s]
        taken[s, v] -= rows
        left[s, v] += rows


@njit(cache=True)
def peel(part: Any, cells: Any, inside: Any, outside: Any, size: float, rows: float, limit: float, least: float, goal: Goal, slope: Any) -> float:
    """Take rows from the part until the loads of the part and of the rest are within the limit; the rows left in it, or 0.

    part: (present cells,), the part's rows by cell; cells: which cell each is. inside, outside: counts by value of the part
    and of the rest. size: rows of the part, rows: of both. Invariant: part, inside and outside describe one division of the
    same rows; rows only ever leave the part, so a lower limit can go on where a higher one ended.
    """
    while size >= least:
        found, s = worst(inside, size, goal)
        if found > limit * NEARLY:
            gradient(s, inside[s], size, goal, slope)
            sign, side = 1.0, size
        else:
            side = rows - size
            found, s = worst(outside, max(side, 0.5), goal)
            if found <= limit * NEARLY and side >= least:
                return size
            gradient(s, outside[s], side, goal, slope)
            sign = -1.0
        best, most = -1, -np.inf
        for c in range(len(part)):
            if part[c] > 0:
                g = sign * slope[goal.codes[cells[c], s]]
                if g > most:
                    best, most = c, g
        if best < 0:
            return 0.0
        scale = 2.0 if not goal.ordered[s] and goal.heights[s] == 0 else max(goal.domains[s] - 1.0, goal.heights[s])
        chunk = np.floor(CHUNK * (found - limit) * side * goal.slope[s] / scale)
        if sign > 0 and scale == 2.0 and not goal.ordered[s]:
            chunk = min(chunk, np.ceil(most))
        chunk = min(max(chunk, 1.0), part[best])
        part[best] -= chunk
        move(cells[best], chunk, goal.codes, inside, outside)
        size -= chunk
    return 0.0
