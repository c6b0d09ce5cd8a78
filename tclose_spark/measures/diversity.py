"""l-diversity of classes: distinct, entropy and recursive (Machanavajjhala et al.; Li et al. 2007,
section 2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.table.arrays import ExactArray, IntArray


def distinct(classes: Histograms) -> IntArray:
    """Number of different values in each class, shape (groups,).

    >>> distinct(Histograms.dense(np.array([[3, 0, 1], [0, 4, 0]]))).tolist()
    [2, 1]
    """
    return classes.entries_of


def entropy_l(classes: Histograms) -> NDArray[np.float64]:
    """exp of the Shannon entropy of each class, shape (groups,): a class is entropy l-diverse when
    this is >= l.

    In doubles, to be read; `entropy_margins` decides.

    >>> entropy_l(Histograms.dense(np.array([[2, 2, 2], [5, 0, 0]]))).round(6).tolist()
    [3.0, 1.0]
    """
    result: NDArray[np.float64] = np.exp(_shannon(classes))
    return result


def entropy_margins(classes: Histograms, level: Fraction) -> NDArray[np.float64]:
    """How far the entropy of each class is above ln(level) at least, shape (groups,): a class is
    entropy l-diverse where it is >= 0.

    The sign is that of the exact difference: a class that a bound on the errors of doubles leaves
    open is decided in integers. Where these were too large (more than `MOST_RECORDS`, after common
    factors), it counts as not diverse.

    >>> (entropy_margins(Histograms.dense(np.array([[2, 2, 2], [3, 2, 1]])), Fraction(3)) >= 0).tolist()
    [True, False]
    """
    level = max(level, Fraction(1))  # which every class reaches
    shannon = _shannon(classes)
    up = math.log(level.numerator)
    down = math.log(level.denominator)
    error = (classes.entries_of + 32) * 2.0**-52 * (shannon + up + down + 1)
    margins: NDArray[np.float64] = shannon - (up - down) - error
    for group in np.flatnonzero((margins < 0) & (margins + 2 * error >= 0)):
        first = classes.starts[group]
        if _is_diverse(classes.counts[first : first + classes.entries_of[group]].tolist(), level):
            margins[group] = 0.0
    return margins


def readable_entropy(level: float) -> float:
    """The `entropy` of an entropy l-diverse class is never below this. A class above it may or may
    not be l-diverse.
    """
    return level * (1 - 1e-9)


MOST_RECORDS = 20_000  # of a class whose entropy is decided by integers of so many powers


def _shannon(classes: Histograms) -> NDArray[np.float64]:
    """Shannon's entropy of each class, in nats. With rounding unit u and n entries, off by less
    than (n + 32) u (it + 1).
    """
    shares = classes.counts / np.repeat(classes.sizes, classes.entries_of)
    result: NDArray[np.float64] = -np.add.reduceat(shares * np.log(shares), classes.starts)
    return result


def _is_diverse(counts: Sequence[int], level: Fraction) -> bool:
    """Whether exp(H) >= level, exactly: with s records, s^s >= level^s * product of c^c over the
    counts c.

    Common factors of the counts do not matter, so equally frequent values are as many as they are.
    """
    common = math.gcd(*counts)
    reduced = [count // common for count in counts]
    size = sum(reduced)
    if size == len(reduced):
        return size >= level
    if size > MOST_RECORDS:
        return False
    return bool(
        (size * level.denominator) ** size
        >= level.numerator**size * math.prod(count**count for count in reduced),
    )


def recursive_margins(classes: Histograms, c: Fraction, level: int) -> ExactArray:
    """c (r_l + ... + r_m) - r_1 of each class times c's denominator, r descending counts, shape
    (groups,).

    A class is recursive (c, l)-diverse when this is positive. Exact: Python integers.

    >>> recursive_margins(Histograms.dense(np.array([[3, 2, 2], [5, 2, 1]])), Fraction(2), 2).tolist()
    [5, 1]
    """
    order = np.lexsort((-classes.counts, classes.owner))
    ranked = classes.counts[order]
    rank = np.arange(len(ranked)) - np.repeat(classes.starts, classes.entries_of)
    tail = np.add.reduceat(np.where(rank >= level - 1, ranked, 0), classes.starts)
    margins: ExactArray = c.numerator * tail.astype(object) - c.denominator * ranked[
        classes.starts
    ].astype(object)
    return margins
