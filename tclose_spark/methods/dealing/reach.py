"""What dealing reaches: the exact largest distance of all classes, from the stack alone, whatever its order.

Class c and class c + 1 hold the same rows but where a cell of the stack begins at a position that is c + 1 mod e: there
the one has a row of the cell before and the other a row of the cell itself. So one sweep over the beginnings of cells,
in the order of their place mod e, meets every composition, and each step costs what two rows change in the distance.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.measures.distances import WIDEST, GroundDistance, OrderedDistance, maximum
from tclose_spark.measures.features import feature_scale, nodes_of
from tclose_spark.methods.dealing.stacks import Stack, class_counts, compositions
from tclose_spark.table.arrays import IntArray


def maximum_emd(stack: Stack, cell_codes: IntArray, distance: GroundDistance, e: int) -> Fraction:
    """The exact largest EMD of the e classes that dealing makes of a stack.

    cell_codes: the attribute's code of each cell, shape (cells,).

    >>> from tclose_spark.methods.dealing.stacks import stack_by_value
    >>> salaries = np.ones(9, dtype=np.int64)  # dealt in turn to three classes: each has every third salary
    >>> maximum_emd(stack_by_value(salaries), np.arange(9), OrderedDistance(salaries), e=3)
    Fraction(1, 8)
    """
    n, m = stack.rows, len(distance.table)
    if 4 * max(distance.scale, m) * n * (n // e + 1) >= WIDEST:
        return max(
            maximum(distance, distance.numerators(part), part.sizes)
            for part in compositions(stack, cell_codes, distance, e)
        )
    start = np.cumsum(stack.counts[stack.order])
    codes = cell_codes[stack.order]
    place = start % e
    met = np.argsort(place, kind="stable")
    met = met[place[met] > 0]  # at place 0 nothing changes: class 0 is where the sweep begins
    gone, new = codes[met], np.append(codes, 0)[met + 1]
    new[met == len(codes) - 1] = -1  # the end of the stack: nothing comes, and from here on classes are smaller by one
    held = np.bincount(codes, class_counts(stack, np.zeros(1, dtype=np.int64), e)[0][stack.order], minlength=m).astype(
        np.int64
    )
    nodes, tallies = _levels(distance)
    excess = np.zeros_like(tallies)
    sizes = np.array([n // e, -(-n // e)])
    found = np.full(2, -1, dtype=np.int64)  # of classes of the smaller and of the larger size
    _sweep(place[met], gone, new, held, nodes, tallies, excess, sizes, n, isinstance(distance, OrderedDistance), found)
    costs = [
        Fraction(int(cost), feature_scale(distance) * n * int(size))
        for cost, size in zip(found, sizes, strict=True)
        if cost >= 0
    ]
    return max(costs)


def _levels(distance: GroundDistance) -> tuple[IntArray, IntArray]:
    """(the node of each value, the table's rows of each node) at each height below the root, both of shape (heights,
    m).

    Of an ordered distance: one level, of the cumulative rows; the last place, where all shares are 1, stays 0.
    """
    nodes = nodes_of(distance)
    tallies = np.zeros(nodes.shape, dtype=np.int64)
    if isinstance(distance, OrderedDistance):
        tallies[0] = np.cumsum(distance.table)
    else:
        for tally, node in zip(tallies, nodes, strict=True):
            np.add.at(tally, node, distance.table)
    return nodes, tallies


@kernel
def _sweep(
    place: IntArray,
    gone: IntArray,
    new: IntArray,
    held: IntArray,
    nodes: IntArray,
    tallies: IntArray,
    excess: IntArray,
    sizes: IntArray,
    n: int,
    ordered: bool,
    found: IntArray,
) -> None:
    """The largest cost (scale times n times size times EMD) of classes of each size.

    excess: n times the class's rows less size times the table's, of each node or cumulative; starts with class 0.
    """
    larger = 1 if sizes[1] > sizes[0] else 0
    total = _start(held, nodes, tallies, excess, sizes[larger], n, ordered)
    i, events = 0, len(place)
    found[larger] = total
    while i < events:
        at = place[i]
        while i < events and place[i] == at:
            held[gone[i]] -= 1
            if new[i] >= 0:
                held[new[i]] += 1
                if ordered:
                    total += _shift(excess[0], gone[i], new[i], n)
                else:
                    for level in range(len(nodes)):
                        total += _add(excess[level], nodes[level, gone[i]], -n) + _add(
                            excess[level], nodes[level, new[i]], n
                        )
            else:
                larger = 0
                total = _start(held, nodes, tallies, excess, sizes[0], n, ordered)
            i += 1
        found[larger] = max(found[larger], total)


@kernel
def _start(
    held: IntArray, nodes: IntArray, tallies: IntArray, excess: IntArray, size: int, n: int, ordered: bool
) -> int:
    """Fills `excess` for a class that holds these rows of each value; its cost."""
    total, m = 0, len(held)
    if ordered:
        below = 0
        for v in range(m - 1):
            below += held[v]
            excess[0, v] = n * below - size * tallies[0, v]
            total += abs(excess[0, v])
        return total
    for level in range(len(nodes)):
        for v in range(m):
            excess[level, v] = -size * tallies[level, v]
        for v in range(m):
            excess[level, nodes[level, v]] += n * held[v]
        for v in range(m):
            total += abs(excess[level, v])
    return total


@kernel
def _add(excess: IntArray, place: int, amount: int) -> int:
    """Adds to one node; the change of the cost."""
    before = abs(excess[place])
    excess[place] += amount
    return int(abs(excess[place]) - before)


@kernel
def _shift(excess: IntArray, gone: int, new: int, n: int) -> int:
    """A row of one value becomes one of another; the change of the cost of the cumulative rows between."""
    change = 0
    low, high, amount = (gone, new, -n) if gone < new else (new, gone, n)
    for v in range(low, high):
        change += _add(excess, v, amount)
    return change
