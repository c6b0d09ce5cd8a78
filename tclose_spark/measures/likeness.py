"""How much more, or less, frequent values are in a class than in the table: beta-likeness and its
relatives.

If c of a class's s records and N of the table's n have a value, its share is p = c / s in the class
and q = N / n in the table.

    beta-likeness (Cao and Karras 2012)             p <= (1 + beta) q for every value
    frequency l-diversity (Liang and Yuan)          p <= 1 / l for every value
    delta-disclosure (Brickell and Shmatikov 2008)  |ln(p / q)| <= delta for every value of the
                                                    table
    KL divergence (Li et al. 2007, section 4)       the sum of p ln(p / q) over values

The first two cap the records of a value in a class by a share of the class. If two classes are
within these caps, so is their union.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.table.arrays import ExactArray, FloatArray, IntArray, exact


def largest_rises(table: IntArray, classes: Histograms) -> tuple[ExactArray, ExactArray]:
    """(numerator, denominator) of p / q - 1 of the value of each class for which this is largest,
    shapes (groups,): n c - s N and s N, as Python integers. The least beta of a class is their
    quotient.

    table: counts of the whole table by code, shape (m,). If it lacks a value of the class, the
        denominator is 0. Quotients are compared as doubles, which are exact if no value has 2^26
        records.

    >>> rises = largest_rises(np.array([1, 99]), Histograms.dense(np.array([[11, 89]])))
    >>> [int(part[0]) for part in rises]
    [1000, 100]
    """
    with np.errstate(divide="ignore"):
        lift = classes.counts / table[classes.values]
    largest = np.flatnonzero(
        lift == np.repeat(np.maximum.reduceat(lift, classes.starts), classes.entries_of),
    )
    place = largest[np.searchsorted(largest, classes.starts)]
    has, expected = (
        a.astype(object) for a in (classes.counts[place], table[classes.values[place]])
    )
    units = classes.sizes.astype(object) * expected
    return int(table.sum()) * has - units, units


def likeness_margins(table: IntArray, classes: Histograms, beta: Fraction) -> ExactArray:
    """The least of (1 + beta) s N - n c over the values of each class, times beta's denominator,
    shape (groups,). A class has beta-likeness if it is at least 0. Exact.

    >>> likeness_margins(np.array([2, 4]), Histograms.dense(np.array([[1, 1], [2, 1]])), Fraction(1, 2)).tolist()
    [0, -6]
    """
    ratio = 1 + beta
    n = int(table.sum())
    bound = 2 * n * int(classes.sizes.max()) * max(ratio.numerator, ratio.denominator)
    allowed = (
        ratio.numerator
        * exact(table, bound)[classes.values]
        * np.repeat(classes.sizes, classes.entries_of)
    )
    margins: ExactArray = allowed - ratio.denominator * n * exact(classes.counts, bound)
    return np.minimum.reduceat(margins, classes.starts)


def frequency_margins(classes: Histograms, level: Fraction) -> ExactArray:
    """s - l c of the most frequent value of each class, times l's denominator, shape (groups,). A
    class has frequency l-diversity if it is at least 0. Exact.

    >>> frequency_margins(Histograms.dense(np.array([[2, 2, 2], [3, 2, 1]])), Fraction(3)).tolist()
    [0, -3]
    """
    bound = 2 * int(classes.sizes.max()) * max(level.numerator, level.denominator)
    most = exact(classes.largest, bound)
    margins: ExactArray = level.denominator * exact(classes.sizes, bound) - level.numerator * most
    return margins


def disclosure(table: IntArray, classes: Histograms) -> FloatArray:
    """The largest |ln(p / q)| of a value of the table in each class, shape (groups,):
    delta-disclosure. It is infinite if the class lacks a value of the table, or has one that the
    table lacks.

    >>> disclosure(np.array([2, 2, 0]), Histograms.dense(np.array([[1, 1, 0], [2, 0, 0]]))).tolist()
    [0.0, inf]
    """
    largest: FloatArray = np.maximum.reduceat(np.abs(_logarithms(table, classes)), classes.starts)
    return np.where(classes.entries_of < np.count_nonzero(table), np.inf, largest)


def divergence(table: IntArray, classes: Histograms) -> FloatArray:
    """The Kullback-Leibler divergence of each class from the table, in nats, shape (groups,). It is
    infinite if the class has a value that the table lacks.

    >>> divergence(np.array([2, 2]), Histograms.dense(np.array([[1, 1], [2, 0]]))).round(6).tolist()
    [0.0, 0.693147]
    """
    shares = classes.counts / np.repeat(classes.sizes, classes.entries_of)
    result: FloatArray = np.add.reduceat(shares * _logarithms(table, classes), classes.starts)
    return np.maximum(result, 0.0)  # rounding


def _logarithms(table: IntArray, classes: Histograms) -> FloatArray:
    """ln(p / q) of each entry."""
    with np.errstate(divide="ignore"):
        shares = (
            classes.counts
            / np.repeat(classes.sizes, classes.entries_of)
            / (table / table.sum())[classes.values]
        )
    result: FloatArray = np.log(shares)
    return result
