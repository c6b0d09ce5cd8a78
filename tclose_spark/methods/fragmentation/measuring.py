"""Classes measured: what dealt rows reach, exactly, and joining classes that do not hold with their neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tclose_spark.measures.distances import exact
from tclose_spark.measures.histograms import Histograms, IntArray
from tclose_spark.methods.sensitive import Attribute


def breaking(attributes: Sequence[Attribute], codes: IntArray, classes: IntArray) -> IntArray:
    """Which classes are farther from the table than a t allows, shape (classes,), exactly.

    codes: of each row, shape (n, attributes). classes: shape (n,), every number 0..e-1 taken.
    """
    e, ones = int(classes.max()) + 1, np.ones(len(classes), dtype=np.int64)
    found = np.zeros(e, dtype=bool)
    for a in attributes:
        if a.spec.t is not None:
            part = Histograms.tally(classes, codes[:, a.column], ones, e, len(a.distance.table))
            unit = a.distance.scale * int(a.distance.table.sum())
            bound = 4 * unit * int(part.sizes.max()) * max(a.spec.t.numerator, a.spec.t.denominator)
            above = exact(a.distance.numerators(part), bound) * a.spec.t.denominator > exact(part.sizes, bound) * (
                unit * a.spec.t.numerator
            )
            found |= above.astype(bool)
    return found


def join_until_close(attributes: Sequence[Attribute], codes: IntArray, classes: IntArray) -> tuple[IntArray, int]:
    """(the classes after those that break a t were joined with the next ones until none does, how many were joined away).

    A last one that still breaks t is left: nothing near it is left to join, and the verification will say so.
    codes: shape (n, attributes); classes: shape (n,).
    """
    numbers, place = np.unique(classes, return_inverse=True)
    before = len(numbers)
    while len(numbers) > 1:
        broken = breaking(attributes, codes, place)
        if not broken.any():
            break
        joins = np.append(False, broken[:-1])  # the class after one that breaks t joins it
        joins[-1] |= broken[-1]
        joins[0] = False
        group = np.cumsum(~joins) - 1
        place, numbers = group[place], numbers[~joins]
    return numbers[place], before - len(numbers)
