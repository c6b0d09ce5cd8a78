"""Linkage by distance: how often an adversary with raw quasi-identifiers finds a row's class first.

The distance of a number from an interval is the width (NCP) of the narrowest interval that covers
both; that of a value from a label the width of the label if it covers the value, else 1. That of a
row from a class is the sum over quasi-identifiers. So a class that covers the row by narrow labels
comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose_spark.table.arrays import FloatArray, IntArray

MOST_ROWS = 2_000
SEED = 2026
CHUNK = 100  # rows whose distances to all classes are held at once
Distances = Callable[[IntArray], FloatArray]
"""From places of rows, shape (rows,), to their distances from all classes, shape (rows,
classes).
"""
Owned = Callable[[IntArray], NDArray[np.bool_]]
"""From places of rows to whether each class may be the row's own, shape (rows, classes)."""


@dataclass(frozen=True, kw_only=True)
class Linkage:
    """How often rows are linked to their own class.

    rows: that were linked. classes: among which the adversary looks.
    nearest: the expected share of rows whose own class is the nearest; among equally near classes,
        a row is drawn.
    one_to_one: the share if each raw row is assigned another released row, with the least sum of
        distances; None if the released rows of these people are not known, or were not given.
    blind: the chance that a released row, drawn at random, is of the own class.
    without: rows without an own class, which are never linked.
    """

    rows: int
    classes: int
    nearest: float
    one_to_one: float | None
    blind: float
    without: int


def link(
    distances: Sequence[Distances],
    own: Owned,
    rows: int,
    sizes: IntArray,
    released: IntArray | None = None,
) -> Linkage:
    """The linkage of `rows` rows.

    distances: of each quasi-identifier. sizes: rows of each class, shape (classes,).
    released: the classes of the released rows of the same people, in any order, shape (rows,); None
        if not known.
    """
    nearest = 0.0
    blind = 0.0
    without = 0
    assigned = np.zeros((0 if released is None else rows, rows))
    for start in range(0, rows, CHUNK):
        chunk = np.arange(start, min(start + CHUNK, rows))
        apart: FloatArray = np.round(sum(distance(chunk) for distance in distances), 9)
        drawn = sizes * (apart == apart.min(axis=1, keepdims=True))
        is_own = own(chunk)
        nearest += float(((drawn * is_own).sum(axis=1) / drawn.sum(axis=1)).sum())
        blind += float((sizes * is_own).sum() / sizes.sum())
        without += int((~is_own.any(axis=1)).sum())
        if released is not None:
            assigned[chunk] = apart[:, released]
    one_to_one = None if released is None else _one_to_one(assigned, own, released) / rows
    return Linkage(
        rows=rows,
        classes=len(sizes),
        nearest=nearest / rows,
        one_to_one=one_to_one,
        blind=blind / rows,
        without=without,
    )


def _one_to_one(apart: FloatArray, own: Owned, released: IntArray) -> float:
    """How many rows the cheapest assignment links to their own class. Equal ones are decided by
    chance.
    """
    from scipy.optimize import linear_sum_assignment

    mixed = np.random.default_rng(SEED).permutation(len(released))
    rows, columns = linear_sum_assignment(apart[:, mixed])
    found = released[mixed[columns]]
    return float(sum(own(rows[i : i + 1])[0, found[i]] for i in range(len(rows))))


def of_numbers(values: FloatArray, low: FloatArray, high: FloatArray) -> Distances:
    """The distances of numbers from the intervals of classes. NaN is a missing value or label; `*`
    is infinite.

    >>> of_numbers(np.array([5.0]), np.array([0.0, 10.0]), np.array([10.0, 20.0]))(np.array([0])).tolist()
    [[0.5, 0.75]]
    """
    ends = np.concatenate([low, high])
    ends = ends[np.isfinite(ends)]
    span = float(ends.max() - ends.min()) if len(ends) else 0.0

    def distances(rows: IntArray) -> FloatArray:
        value = values[rows][:, None]
        width = np.maximum(value, high) - np.minimum(value, low)
        share = np.where(width == 0, 0.0, np.minimum(width / span, 1.0) if span > 0 else 1.0)
        missing = np.isnan(value) & np.isnan(low)
        return np.where(missing, 0.0, np.where(np.isnan(share), 1.0, share))

    return distances


def of_values(between: FloatArray, of_row: IntArray, of_class: IntArray) -> Distances:
    """The distances of values from labels, by a table of both, shape (values, labels)."""
    return lambda rows: between[of_row[rows]][:, of_class]
