"""l-diversity of classes: distinct, entropy and recursive (Machanavajjhala et al.; Li et al. 2007, section 2)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose_spark.measures.distances import ExactArray
from tclose_spark.measures.histograms import Histograms, IntArray


def distinct(classes: Histograms) -> IntArray:
    """Number of different values in each class, shape (groups,)."""
    return classes.entries_of


ENTROPY_TOLERANCE = 1e-9  # of doubles: as many equally frequent values as asked are enough


def entropy(classes: Histograms) -> NDArray[np.float64]:
    """exp of the Shannon entropy of each class, shape (groups,): a class is entropy l-diverse when this is >= l."""
    shares = classes.counts / np.repeat(classes.sizes, classes.entries_of)
    result: NDArray[np.float64] = np.exp(-np.add.reduceat(shares * np.log(shares), classes.starts))
    return result


def recursive_margins(classes: Histograms, c: Fraction, level: int) -> ExactArray:
    """c (r_l + ... + r_m) - r_1 of each class times c's denominator, r descending counts, shape (groups,).

    A class is recursive (c, l)-diverse when this is positive. Exact: Python integers.
    """
    order = np.lexsort((-classes.counts, classes.owner))
    ranked = classes.counts[order]
    rank = np.arange(len(ranked)) - np.repeat(classes.starts, classes.entries_of)
    tail = np.add.reduceat(np.where(rank >= level - 1, ranked, 0), classes.starts)
    margins: ExactArray = c.numerator * tail.astype(object) - c.denominator * ranked[classes.starts].astype(object)
    return margins
