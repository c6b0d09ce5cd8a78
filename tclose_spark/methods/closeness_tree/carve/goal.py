"""The requirement in floats, as shares of the table and of t, for the search of the tree.

Nothing here is exact. A split is checked in integers before it is used.

Bins of a wide domain, by which the tree is grown instead of by values, so that work does not
grow with the domain.

A bin is a frequent value, or rare values near to each other, whose rows are taken in any order. How
much these differ from the table is estimated, so that parts are large enough. Splits are checked
value by value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels import kernel
from tclose_spark.kernels.structures import structure
from tclose_spark.methods.blocks.block import (
    ANYTHING,
    HIERARCHICAL,
    ORDERED,
    Requirement,
    metrics_of,
)
from tclose_spark.methods.blocks.holding import (
    equal_numerator,
    ordered_numerator,
    twice_hierarchical_numerator,
)
from tclose_spark.table.arrays import Codes, FloatArray, IntArray

HALF_DOUBLINGS = 2  # deviations are computed for so many sizes in each doubling, and interpolated
REALIZED = 0.5  # of the deviation of independent draws: rows of a node near to the table deviate less (measured)


class DomainBins(NamedTuple):
    """The bins of an attribute's values, and their hierarchy."""

    bin_of: IntArray  # of each value, shape (values,)
    # The node above each bin, and at each height above each node, up to the root. A bin below a
    # higher node is a node of its own up to there.
    parents: list[Codes]
    hidden: FloatArray  # the shares of the nodes inside bins, whose deviation from the table is unseen, shape (nodes,)


def bins_of(share: FloatArray, parents: Sequence[Codes], least: float) -> DomainBins:
    """Bins that all but one have at least the share `least` of the table: values that have it
    alone, then values of one parent together, then the remaining values with those of neighbouring
    nodes.

    share: of each value in the table, shape (values,); parents: the node above each node of the
        height below, for each height up to the root (a single root for equal distances).

    >>> values, tree = np.array([0.5, 0.1, 0.1, 0.1, 0.2]), [np.array([0, 0, 0, 1, 1]), np.array([0, 0])]
    >>> [array.tolist() for array in (bins_of(values, tree, 0.2).bin_of, *bins_of(values, tree, 0.2).parents)]
    [[0, 1, 1, 2, 3], [0, 0, 1, 1], [0, 0]]
    """
    above: list[IntArray] = [np.arange(len(share))]  # the node of each value, at each height
    for parent in parents:
        above.append(parent[above[-1]].astype(np.int64))
    frequent = share >= least
    groups = [[v] for v in np.flatnonzero(frequent).tolist()]
    rest = np.flatnonzero(~frequent).tolist()
    for height in range(1, len(above)):
        gathered: dict[int, list[int]] = {}
        for v in rest:
            group = gathered.setdefault(int(above[height][v]), [])
            group.append(v)
            if share[group].sum() >= least:
                groups.append(gathered.pop(int(above[height][v])))
        rest = [v for group in gathered.values() for v in group]
    groups += [rest] if rest else []
    return _tree_of(groups, np.array(above), share)


def _tree_of(groups: list[list[int]], above: IntArray, share: FloatArray) -> DomainBins:
    """Bins of these groups of values in the order of the tree, those of several values after their
    siblings.
    """
    values = above.shape[1]
    hidden = []
    keys = np.empty((len(above), len(groups)), dtype=np.int64)
    for number, group in enumerate(groups):
        common = int(np.argmax((above[:, group] == above[:, group[:1]]).all(axis=1)))
        keys[:common, number] = values + number
        keys[common:, number] = above[common:, group[0]]
        hidden += [
            np.bincount(above[height, group], weights=share[group]) for height in range(common)
        ]
    order = np.lexsort(keys)
    keys = keys[:, order]
    changes = np.maximum.accumulate(np.diff(keys, axis=1, prepend=-1)[::-1] != 0)[::-1]
    nodes = np.cumsum(changes, axis=1) - 1
    bin_of = np.empty(values, dtype=np.int64)
    for place, number in enumerate(order):
        bin_of[groups[number]] = place
    parents = [
        node[change].astype(np.int32) for node, change in zip(nodes[1:], changes[:-1], strict=True)
    ]
    return DomainBins(bin_of, parents, np.concatenate([np.zeros(0), *hidden]))


def expected_deviation(hidden: FloatArray, largest: int) -> FloatArray:
    """The expected deviation of all hidden nodes from their shares, in rows, for parts of
    0..largest rows, shape (largest + 1,).

    A node of x expected rows deviates as a Poisson variable: by nearly the root of 2 x / pi, or,
    below one row, by 2 x e^-x (here with additions, products and roots only, which all machines
    round alike).
    """
    hidden = hidden[hidden > 0]
    sizes = np.unique(np.minimum(np.cumprod(np.full(80, 2.0 ** (1 / HALF_DOUBLINGS))), largest))
    sizes = np.append(0.0, sizes)
    expected = [
        np.where(x < 1.0, 2.0 * x / (1.0 + x * (1.0 + 0.5 * x)), np.sqrt(x * (2.0 / np.pi))).sum()
        for x in (hidden * size for size in sizes)
    ]
    deviation: FloatArray = REALIZED * np.interp(np.arange(largest + 1), sizes, expected)
    return deviation


MOST_BINS = 512
"""Bins of an ordered domain, at most."""
WIDE = 128
LEAST_SHARE = 1 / 64
"""Larger domains are grown by bins, each with at least this share of the table."""


@structure
class Goal(NamedTuple):
    """The requirement of the tree's nodes, in floats."""

    codes: Codes  # the value, or bin, of each attribute in each cell, shape (cells, attributes)
    target: (
        FloatArray  # the share of each value in the whole table, shape (attributes, largest domain)
    )
    t: FloatArray  # the largest distance, in units of one row's; infinite without a t, shape (attributes,)
    unit: FloatArray  # t * scale: numerator / (unit * rows) is the closeness ratio, shape (attributes,)
    domains: IntArray  # values, or bins, of each attribute, shape (attributes,)
    metric: NDArray[np.int8]  # EQUAL, ORDERED or HIERARCHICAL, shape (attributes,)
    parents: Codes  # as in `Requirement`, of bins if there are any
    heights: IntArray  # as in `Requirement`
    # Of a hierarchical attribute, the share of every node except the root: values first, then
    # height by height, shape (attributes, largest domain * highest hierarchy).
    shares: FloatArray
    # The estimated numerator that bins hide in a part, by its rows, shape (attributes, largest size
    # + 1); (attributes, 1) and 0 without such bins.
    hidden: FloatArray
    # How far the share of each value may rise above `target` to its cap, infinite without one,
    # shape (attributes, largest domain); (attributes, 0) without any cap. A bin may have what its
    # values may.
    room: FloatArray


@structure
class Scratch(NamedTuple):
    """Arrays to work in."""

    excess: FloatArray  # of each node, shape (highest hierarchy + 1, largest domain)
    gradient: (
        FloatArray  # how much the distance falls with a row of each value, shape (largest domain,)
    )
    nodes: FloatArray  # rows of the nodes of a hierarchy, as `Goal.shares`


def goal_of(requirement: Requirement) -> Goal:
    """The goal of a requirement. t * scale is taken from the limit of the largest class, rounded
    up.

    An ordered attribute of more than MOST_BINS values has so many bins of successive values, and
    others of more than WIDE values have `bins`. Their distance is nearly the exact one, and work
    does not grow with the number of values.
    """
    largest = requirement.limits.shape[1] - 1
    metric = metrics_of(requirement)
    bins = [_bins(requirement, s) for s in range(len(metric))]
    domains = np.array([int(each.bin_of.max()) + 1 for each in bins])
    target = np.zeros((len(bins), int(domains.max())))
    parents = np.full(
        (len(bins), requirement.parents.shape[1], target.shape[1]),
        -1,
        dtype=np.int32,
    )
    shares = np.zeros((len(bins), parents.shape[1] * parents.shape[2]))
    hidden = np.zeros((len(bins), largest + 1 if any(len(each.hidden) for each in bins) else 1))
    for s, (bin_of, tree, inside) in enumerate(bins):
        share = requirement.tables[s, : len(bin_of)] / requirement.rows
        target[s, : domains[s]] = np.bincount(bin_of, weights=share)
        for height, above in enumerate(tree[: requirement.heights[s]]):
            parents[s, height, : len(above)] = above
        if metric[s] == HIERARCHICAL:
            add_up(target[s], domains[s], parents[s], requirement.heights[s], shares[s])
        if len(inside):
            hidden[s] = expected_deviation(inside, largest) * (
                0.5 if metric[s] == HIERARCHICAL else 1.0
            )
    ts = [
        np.inf if row[-1] == ANYTHING else (int(row[-1]) + 1) / (requirement.rows * max(largest, 1))
        for row in requirement.limits
    ]
    scales = np.where(
        requirement.heights > 0,
        requirement.heights,
        np.where(requirement.ordered, np.maximum(domains - 1, 1), 2),
    )
    before = np.where(
        requirement.ordered & (domains < requirement.domains),
        requirement.domains - 1,
        scales,
    )
    t = np.maximum(np.array(ts, dtype=np.float64), 1e-9) / before
    codes = np.stack([each.bin_of[requirement.codes[:, s]] for s, each in enumerate(bins)], axis=1)
    return Goal(
        codes=np.ascontiguousarray(codes, dtype=np.int32),
        target=target,
        t=t,
        unit=t * scales,
        domains=domains,
        metric=metric,
        parents=parents,
        heights=requirement.heights,
        shares=shares,
        hidden=hidden,
        room=_room(requirement, bins, target),
    )


def _room(requirement: Requirement, bins: Sequence[DomainBins], target: FloatArray) -> FloatArray:
    """`Goal.room`."""
    if not requirement.caps.size:
        return np.zeros((len(bins), 0))
    room: FloatArray = np.full(target.shape, np.inf)
    for s, (bin_of, _, _) in enumerate(bins):
        most, of = requirement.caps[:, s, : len(bin_of)]
        share = np.where(of > 0, most / np.maximum(of, 1), np.inf)
        m = int(bin_of.max()) + 1
        cap = np.bincount(bin_of, share, m)
        room[s, :m] = np.where(cap < 1, cap - target[s, :m], np.inf)
    np.maximum(room, 1e-12, out=room)
    return room


def _bins(requirement: Requirement, s: int) -> DomainBins:
    """The bins of attribute s; a bin for each value if the domain is not wide."""
    m = int(requirement.domains[s])
    height = int(requirement.heights[s])
    tree = [above[above >= 0] for above in requirement.parents[s, :height]]
    if requirement.ordered[s]:
        return DomainBins(np.arange(m) * min(MOST_BINS, m) // m, tree, np.zeros(0))
    if not is_wide(requirement)[s]:
        return DomainBins(np.arange(m), tree, np.zeros(0))
    share = requirement.tables[s, :m] / requirement.rows
    return bins_of(share, tree or [np.zeros(m, dtype=np.int32)], LEAST_SHARE)


def is_wide(requirement: Requirement) -> NDArray[np.bool_]:
    """Which attributes are grown by `bins`, shape (attributes,)."""
    return ~requirement.ordered & (requirement.domains > WIDE)


def with_cells_merged(goal: Goal) -> tuple[Goal, IntArray]:
    """(the goal over distinct cells of bins, ascending; which of them each cell is, shape
    (cells,)).
    """
    codes, merged = np.unique(goal.codes, axis=0, return_inverse=True)
    return goal._replace(codes=np.ascontiguousarray(codes, dtype=np.int32)), merged.reshape(-1)


def scratch_of(goal: Goal) -> Scratch:
    """Arrays to work in with this goal."""
    longest = goal.target.shape[1]
    return Scratch(
        excess=np.zeros((goal.parents.shape[1] + 1, longest)),
        gradient=np.zeros(longest),
        nodes=np.zeros(goal.shares.shape[1]),
    )


@kernel
def add_up(values: FloatArray, m: int, parents: Codes, height: int, nodes: FloatArray) -> int:
    """Set nodes to the sums below each node except the root, in the order of `Goal.shares`; how
    many nodes these are.
    """
    for v in range(m):
        nodes[v] = values[v]
    start = 0
    end = m
    for step in range(height - 1):
        last = -1
        for child in range(end - start):
            node = parents[step, child]
            nodes[end + node] = nodes[start + child] + (nodes[end + node] if node == last else 0.0)
            last = node
        start = end
        end = end + last + 1
    return end


@kernel
def hidden_numerator(s: int, size: float, goal: Goal) -> float:
    """The estimated part of the numerator of attribute s that bins hide, for a part of so many
    rows.
    """
    return float(goal.hidden[s, min(int(size), goal.hidden.shape[1] - 1)])


@kernel
def worst_cap(s: int, values: FloatArray, size: float, goal: Goal) -> tuple[float, int]:
    """(how much of the way to its cap the share of a value of attribute s is, at most: 1 at the
    cap; which value).
    """
    largest = 0.0
    value = -1
    for v in range(goal.domains[s] if goal.room.shape[1] > 0 else 0):
        ratio = (values[v] / size - goal.target[s, v]) / goal.room[s, v]
        if ratio > largest:
            largest = ratio
            value = v
    return largest, value


@kernel
def worst(values: FloatArray, size: float, goal: Goal, scratch: Scratch) -> tuple[float, int]:
    """(the largest closeness ratio of an attribute, which one it is) of `size` rows with these
    counts by value.
    """
    largest = 0.0
    attribute = 0
    for s in range(len(goal.unit)):
        capped, _ = worst_cap(s, values[s], size, goal)
        if capped > largest:
            largest = capped
            attribute = s
        if goal.unit[s] == np.inf:
            continue
        m = goal.domains[s]
        if goal.metric[s] == HIERARCHICAL:
            numerator = 0.5 * twice_hierarchical_numerator(
                values[s],
                size,
                goal.target[s],
                m,
                goal.parents[s],
                goal.heights[s],
                1.0,
                scratch.excess[0],
            )
        elif goal.metric[s] == ORDERED:
            numerator = ordered_numerator(values[s], size, goal.target[s], m, 1.0)
        else:
            numerator = equal_numerator(values[s], size, goal.target[s], m, 1.0)
        ratio = (numerator + hidden_numerator(s, size, goal)) / (goal.unit[s] * size)
        if ratio > largest:
            largest = ratio
            attribute = s
    return largest, attribute
