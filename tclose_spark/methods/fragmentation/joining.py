"""Exact distances of dealt classes; joins of classes that are too far with their neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.attributes import ResolvedSensitive, too_far
from tclose_spark.table.arrays import IntArray


def breaking(
    attributes: Sequence[ResolvedSensitive], codes: IntArray, classes: IntArray
) -> IntArray:
    """Whether each class is farther from the table than some t, shape (classes,), exactly.

    codes: of each row, shape (n, attributes). classes: shape (n,), every number 0..e-1 taken.
    """
    e = int(classes.max()) + 1
    ones = np.ones(len(classes), dtype=np.int64)
    broken = np.zeros(e, dtype=bool)
    for a in attributes:
        if a.t is not None:
            part = Histograms.tally(classes, codes[:, a.column], ones, e, len(a.distance.table))
            broken |= too_far(a.distance, a.distance.numerators(part), a.t, part.sizes)
    return broken


def join_until_close(
    attributes: Sequence[ResolvedSensitive], codes: IntArray, classes: IntArray, block: IntArray
) -> tuple[IntArray, int, int]:
    """(the classes after joins, the number of classes joined away, the number of blocks that break
    a t even as one class).

    A class that breaks a t is joined with the next ones of its block until none does. codes: shape
    (n, attributes);
    classes, block: shape (n,), blocks being ranges of classes.
    """
    numbers, first, place = np.unique(classes, return_index=True, return_inverse=True)
    before = len(numbers)
    of = block[first]
    while True:
        broken = breaking(attributes, codes, place)
        follows = np.append(False, of[1:] == of[:-1])  # it has a class before it in its block
        # The class after one that breaks t joins it.
        joins = follows & np.append(False, broken[:-1])
        # The last one of a block joins the one before.
        joins |= follows & broken & ~np.append(follows[1:], False)
        if not joins.any():
            break
        group = np.cumsum(~joins) - 1
        place = group[place]
        numbers = numbers[~joins]
        of = of[~joins]
    return numbers[place], before - len(numbers), int(broken.sum())
