"""Taking rows from a part of a node until it and the rest are near enough to the whole table, by the subgradient of the
distance.

Floats throughout: what is decided here is checked in integers before it is used.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.methods.closeness_tree.block import Requirement
from tclose_spark.methods.closeness_tree.loads import (
    ANYTHING,
    equal_numerator,
    ordered_numerator,
    twice_hierarchical_numerator,
)
from tclose_spark.methods.closeness_tree.partition import EQUAL, HIERARCHICAL, ORDERED

CHUNK = 0.05  # of the rows too many are taken at once: a fine end game matters
SMALLEST_SHARE = 0.02  # of a region that is worth carving from
NEARLY = 1.0 + 1e-12
MOST_BINS = 512


class Goal(NamedTuple):
    """The whole table as floats: target (attributes, largest domain), the share of each value; t, slope (attributes,):
    slope is t * scale, so that numerator / (slope * rows) is the load, infinite without a t; extra (largest domain,),
    node (largest domain,): to work in; the rest as in `Requirement`.
    """

    codes: Any
    target: Any
    t: Any
    slope: Any
    domains: Any
    ordered: Any
    parents: Any
    heights: Any
    extra: Any
    node: Any


def goal_of(requirement: Requirement) -> Goal:
    """The floats of a requirement. t * scale is read off the limit of the largest class, rounded up.

    An ordered attribute of more than MOST_BINS values is measured in so many bins of successive values: nearly its
    distance, in work that does not grow with the values.
    """
    largest = requirement.limits.shape[1] - 1
    binned = requirement.ordered & (requirement.domains > MOST_BINS)
    domains = np.where(binned, MOST_BINS, requirement.domains)
    codes = np.where(binned, requirement.codes.astype(np.int64) * MOST_BINS // requirement.domains, requirement.codes)
    target = np.zeros((len(domains), int(domains.max())))
    for s in range(len(domains)):
        values = np.arange(requirement.domains[s])
        np.add.at(
            target[s], values * domains[s] // requirement.domains[s], requirement.tables[s, values] / requirement.rows
        )
    ts = [
        np.inf if row[-1] == ANYTHING else (int(row[-1]) + 1) / (requirement.rows * max(largest, 1))
        for row in requirement.limits
    ]
    scales = np.where(
        requirement.heights > 0, requirement.heights, np.where(requirement.ordered, np.maximum(domains - 1, 1), 2)
    )
    before = np.where(binned, requirement.domains - 1, scales)
    t = np.maximum(np.array(ts, dtype=np.float64), 1e-9) / before
    return Goal(
        np.ascontiguousarray(codes, dtype=np.int32),
        target,
        t,
        t * scales,
        np.ascontiguousarray(domains, dtype=np.int64),
        np.ascontiguousarray(requirement.ordered, dtype=np.bool_),
        np.ascontiguousarray(requirement.parents, dtype=np.int32),
        np.ascontiguousarray(requirement.heights, dtype=np.int64),
        np.zeros(target.shape[1]),
        np.zeros(target.shape[1], dtype=np.int64),
    )


@kernel
def worst(values: Any, size: float, goal: Goal) -> tuple[float, int]:
    """(the largest load of an attribute, which one it is) of `size` rows with these counts by value."""
    largest, attribute = 0.0, 0
    for s in range(len(goal.slope)):
        if goal.slope[s] == np.inf:
            continue
        m, height = goal.domains[s], goal.heights[s]
        if height > 0:
            extra = 0.5 * twice_hierarchical_numerator(
                values[s], size, goal.target[s], m, goal.parents[s], height, 1.0, goal.extra
            )
        elif goal.ordered[s]:
            extra = ordered_numerator(values[s], size, goal.target[s], m, 1.0)
        else:
            extra = equal_numerator(values[s], size, goal.target[s], m, 1.0)
        found = extra / (goal.slope[s] * size)
        if found > largest:
            largest, attribute = found, s
    return largest, attribute


@kernel
def gradient_of(
    kind: int, values: Any, size: float, target: Any, m: int, parents: Any, height: int, extra: Any, node: Any, out: Any
) -> float:
    """out[v]: how much the distance falls with a row of value v (equal: how many rows of v are too many); the
    numerator.

    Plain arrays of one attribute: a named tuple of arrays as argument costs more than the work itself.
    """
    total = 0.0
    if kind == EQUAL:
        for v in range(m):
            extra = values[v] - size * target[v]
            out[v] = extra
            total += abs(extra)
    elif kind == ORDERED:
        excess = 0.0
        for v in range(m - 1):
            excess += values[v] - size * target[v]
            total += abs(excess)
            out[v] = 1.0 if excess > 0.0 else (-1.0 if excess < 0.0 else 0.0)
        out[m - 1] = 0.0
        for v in range(m - 2, -1, -1):
            out[v] += out[v + 1]
    else:
        _up_and_down(values, size, target, m, parents, height, extra, node, out)
        total = 0.5 * twice_hierarchical_numerator(values, size, target, m, parents, height, 1.0, extra)
    return total


@kernel
def kind_of(s: int, goal: Goal) -> int:
    """Which distance attribute s has."""
    return HIERARCHICAL if goal.heights[s] > 0 else (ORDERED if goal.ordered[s] else EQUAL)


@kernel
def gradient(s: int, values: Any, size: float, goal: Goal, out: Any) -> float:
    """`gradient_of` attribute s; its load."""
    m, height = goal.domains[s], goal.heights[s]
    far = gradient_of(
        kind_of(s, goal), values, size, goal.target[s], m, goal.parents[s], height, goal.extra, goal.node, out
    )
    return float(far / (goal.slope[s] * size))


@kernel
def _up_and_down(
    values: Any, size: float, target: Any, m: int, parents: Any, height: int, extra: Any, node: Any, out: Any
) -> None:
    """out[leaf]: the sum over the leaf and the inner nodes above it, but the root, of the sign of what is too much
    below.
    """
    for v in range(m):
        node[v], out[v] = v, 0.0
    for step in range(height):
        extra[:m] = 0.0
        for v in range(m):
            extra[node[v]] += values[v] - size * target[v]
        for v in range(m):
            out[v] += np.sign(extra[node[v]])
            node[v] = parents[step, node[v]]


@kernel
def take_rows(cell: int, rows: float, codes: Any, taken: Any, left: Any) -> None:
    """Take rows of a cell from the counts `taken` to the counts `left`, in every attribute."""
    for s in range(codes.shape[1]):
        v = codes[cell, s]
        taken[s, v] -= rows
        left[s, v] += rows


@kernel
def largest_part(values: Any, size: float, limit: float, goal: Goal) -> float:
    """No part of these rows within the limit is larger than this (rounding apart): for a bound, and to begin peeling
    from.

    Of an equal attribute, a part of x rows lacks at least the sum of (x Q_v - values_v)+ rows, and may lack limit t x.
    That sum is convex in x: Newton's steps from the whole down to the largest x that satisfies it never pass below.
    """
    for s in range(len(goal.slope)):
        if kind_of(s, goal) != EQUAL or goal.slope[s] == np.inf:
            continue
        target, counts, spare = goal.target[s], values[s], limit * goal.t[s]
        for _ in range(20):
            held, share, lacking = 0.0, -spare, -spare * size
            for v in range(goal.domains[s]):
                gap = size * target[v] - counts[v]
                if gap > 0.0:
                    held += counts[v]
                    share += target[v]
                    lacking += gap
            if lacking <= 1e-9 * size or share <= 0.0:
                break
            size = held / share
            if size <= 0.0:
                return 0.0
    return size


@kernel
def level(part: Any, cells: Any, inside: Any, outside: Any, size: float, wanted: float, goal: Goal) -> float:
    """Take the largest excesses over `wanted` rows of the table's mix down to one level, to about that size; the new
    size.

    For a single equal attribute. Every cell keeps min(part, ceil(wanted Q + x)), with x such that about `wanted` rows
    stay.
    """
    codes, target, x = goal.codes, goal.target[0], 0.0
    for _ in range(20):
        kept, cut = 0.0, 0
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
            take_rows(cells[c], chunk, codes, inside, outside)
            size -= chunk
    return size


@kernel
def peel(
    part: Any,
    cells: Any,
    inside: Any,
    outside: Any,
    size: float,
    rows: float,
    limit: float,
    least: float,
    goal: Goal,
    slope: Any,
) -> float:
    """Take rows from the part until the loads of the part and of the rest are within the limit; the rows left in it, or
    0.

    part: (present cells,), the part's rows by cell; cells: which cell each is. inside, outside: counts by value of the
    part and of the rest. size: rows of the part, rows: of both. Invariant: part, inside and outside describe one
    division of the same rows; rows only ever leave the part, so a lower limit can go on where a higher one ended.
    """
    single, kind = len(goal.slope) == 1, kind_of(0, goal)
    if single and kind == EQUAL:
        bound = largest_part(inside, size, limit, goal)
        if bound < least:
            return 0.0
        if bound < size - 1.0:
            size = level(part, cells, inside, outside, size, bound, goal)
    s, codes, t, unit = 0, goal.codes, goal.t[0], goal.slope[0]
    target, m, parents, height = goal.target[0], goal.domains[0], goal.parents[0], goal.heights[0]
    extra, node = goal.extra, goal.node
    taken, rest = inside[0], outside[0]
    while size >= least:
        sign, side = 1.0, size
        if single:
            found = gradient_of(kind, taken, size, target, m, parents, height, extra, node, slope) / (unit * size)
        else:
            found, s = worst(inside, size, goal)
        if found <= limit * NEARLY:
            sign, side = -1.0, max(rows - size, 0.5)
            if single:
                found = gradient_of(kind, rest, side, target, m, parents, height, extra, node, slope) / (unit * side)
            else:
                found, s = worst(outside, side, goal)
            if found <= limit * NEARLY and side >= least:
                return size
        if not single:
            gradient(s, inside[s] if sign > 0 else outside[s], side, goal, slope)
            kind, t = kind_of(s, goal), goal.t[s]
        best, most = -1, -np.inf
        for c in range(len(part)):
            if part[c] > 0.0:
                g = sign * slope[codes[cells[c], s]]
                if g > most:
                    best, most = c, g
        if best < 0:
            return 0.0
        chunk = np.floor(CHUNK * (found - limit) * side * t)
        if sign > 0.0 and kind == EQUAL:
            chunk = min(chunk, np.ceil(most))
        chunk = min(max(chunk, 1.0), part[best])
        part[best] -= chunk
        take_rows(cells[best], chunk, codes, inside, outside)
        size -= chunk
    return 0.0
