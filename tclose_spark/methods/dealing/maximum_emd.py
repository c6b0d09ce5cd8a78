"""The exact largest distance of all classes that dealing makes of a stack, whatever its order.

Classes c and c + 1 have the same rows, unless a cell of the stack begins at a position that is c +
1 mod e. There, one has a row of the previous cell and the other a row of the new cell. One sweep
over the beginnings of cells, ordered by their place mod e, therefore meets every composition. Each
step costs the change of the distance by two rows.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.structures import structure
from tclose_spark.measures.distances.ground_distances import GroundDistance, maximum
from tclose_spark.methods.dealing.stacks import Stack, class_counts, compositions
from tclose_spark.table.arrays import WIDEST, IntArray


@structure
class CellStarts(NamedTuple):
    """The places where cells of a stack begin, ordered by their remainder mod e, shape (starts,)
    each.

    gone, new: the codes of the cell before and of the cell that begins; -1 at the end of the stack.
    """

    place: IntArray
    gone: IntArray
    new: IntArray


@structure
class FeatureSums(NamedTuple):
    """A class by the features of a distance, shape (heights, m) each.

    steps: what one row adds to a feature's excess, its weight times n. even: whether they are all
        one number.
    tallies: the table's rows of each feature times its weight.
    excess: of each feature, its weight times (n times the class's rows less size times the
        table's).
    """

    nodes: IntArray
    steps: IntArray
    tallies: IntArray
    excess: IntArray
    cumulative: bool
    even: bool


def maximum_emd(stack: Stack, cell_codes: IntArray, distance: GroundDistance, e: int) -> Fraction:
    """The exact largest EMD of the e classes that dealing makes of a stack.

    cell_codes: the attribute's code of each cell, shape (cells,).

    >>> from tclose_spark.measures.distances.ground_distances import OrderedDistance
    >>> from tclose_spark.methods.dealing.stacks import stack_by_value
    >>> salaries = np.ones(9, dtype=np.int64)  # dealt in turn to three classes: each has every third salary
    >>> maximum_emd(stack_by_value(salaries), np.arange(9), OrderedDistance(salaries), e=3)
    Fraction(1, 8)
    """
    n = stack.rows
    m = len(distance.table)
    features = distance.features
    if 4 * max(features.scale, m) * n * (n // e + 1) >= WIDEST:
        return max(
            maximum(distance, distance.numerators(part), part.sizes)
            for part in compositions(stack, cell_codes, distance, e)
        )
    start = np.cumsum(stack.counts[stack.order])
    codes = cell_codes[stack.order]
    place = start % e
    met = np.argsort(place, kind="stable")
    met = met[place[met] > 0]  # at place 0 nothing changes: class 0 is where the sweep begins
    gone = codes[met]
    new = np.append(codes, 0)[met + 1]
    new[
        met == len(codes) - 1
    ] = -1  # the end of the stack: nothing comes, and from here on classes are smaller by one
    starts = CellStarts(place=place[met], gone=gone, new=new)
    held = np.bincount(
        codes,
        class_counts(stack, np.zeros(1, dtype=np.int64), e)[0][stack.order],
        minlength=m,
    ).astype(np.int64)
    tallies = _tallies(distance)
    summed = FeatureSums(
        nodes=np.array(features.nodes, order="C"),
        steps=n * features.level_weights,
        tallies=tallies,
        excess=np.zeros_like(tallies),
        cumulative=features.cumulative,
        even=features.even,
    )
    sizes = np.array([n // e, -(-n // e)])
    largest = np.full(2, -1, dtype=np.int64)  # of classes of the smaller and of the larger size
    _sweep(starts, held, summed, sizes, largest)
    costs = [
        Fraction(int(cost), features.scale * n * int(size))
        for cost, size in zip(largest, sizes, strict=True)
        if cost >= 0
    ]
    return max(costs)


def _tallies(distance: GroundDistance) -> IntArray:
    """The table's rows of each feature times its weight, by height, shape (heights, m)."""
    features = distance.features
    if features.cumulative:
        return features.level_weights * np.cumsum(distance.table)
    tallies = np.zeros(features.nodes.shape, dtype=np.int64)
    for tally, node in zip(tallies, features.nodes, strict=True):
        np.add.at(tally, node, distance.table)
    return features.level_weights * tallies


@kernel
def _sweep(
    starts: CellStarts,
    held: IntArray,
    summed: FeatureSums,
    sizes: IntArray,
    largest: IntArray,
) -> None:
    """Fills `largest`: the largest cost (scale times n times size times EMD) of classes of each
    size. held: rows of class 0 by value, and then of the class that the sweep has come to.
    """
    place = starts.place
    gone = starts.gone
    new = starts.new
    nodes = summed.nodes
    steps = summed.steps
    excess = summed.excess
    larger = 1 if sizes[1] > sizes[0] else 0
    total = _start(held, summed, sizes[larger])
    i = 0
    events = len(place)
    largest[larger] = total
    while i < events:
        at = place[i]
        while i < events and place[i] == at:
            held[gone[i]] -= 1
            if new[i] >= 0:
                held[new[i]] += 1
                if summed.cumulative:
                    total += _shift(excess[0], steps[0], summed.even, gone[i], new[i])
                else:
                    for level in range(len(nodes)):
                        left = nodes[level, gone[i]]
                        came = nodes[level, new[i]]
                        total += _add(excess[level], left, -steps[level, left])
                        total += _add(excess[level], came, steps[level, came])
            else:
                larger = 0
                total = _start(held, summed, sizes[0])
            i += 1
        largest[larger] = max(largest[larger], total)


@kernel
def _start(held: IntArray, summed: FeatureSums, size: int) -> int:
    """Fills `excess` for a class with these rows of each value; returns its cost."""
    nodes = summed.nodes
    steps = summed.steps
    tallies = summed.tallies
    excess = summed.excess
    total = 0
    m = len(held)
    if summed.cumulative:
        below = 0
        for v in range(m - 1):
            below += held[v]
            excess[0, v] = steps[0, v] * below - size * tallies[0, v]
            total += abs(excess[0, v])
        return total
    for level in range(len(nodes)):
        for v in range(m):
            excess[level, v] = -size * tallies[level, v]
        for v in range(m):
            excess[level, nodes[level, v]] += steps[level, nodes[level, v]] * held[v]
        for v in range(m):
            total += abs(excess[level, v])
    return total


@kernel
def _add(excess: IntArray, place: int, amount: int) -> int:
    """Adds to one node; returns the change of the cost."""
    before = abs(excess[place])
    excess[place] += amount
    return int(abs(excess[place]) - before)


@kernel
def _shift(excess: IntArray, steps: IntArray, even: bool, gone: int, new: int) -> int:
    """Replaces a row of one value by one of another; returns the change of the cost between
    them.
    """
    change = 0
    low, high, sign = (gone, new, -1) if gone < new else (new, gone, 1)
    if even:  # all steps are one number, which need not be read again and again
        step = sign * steps[0]
        for v in range(low, high):
            change += _add(excess, v, step)
    else:
        for v in range(low, high):
            change += _add(excess, v, sign * steps[v])
    return change
