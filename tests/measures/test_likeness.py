"""beta-likeness and its relatives: the papers' figures, and plain Python on drawn tables."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import count_tables, drawn

from tclose_spark.measures.distances.ground_distances import EqualDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.measures.likeness import (
    disclosure,
    divergence,
    frequency_margins,
    largest_rises,
    likeness_margins,
)


def beta_of(table: list[int], part: list[int]) -> Fraction:
    (numerator,), (denominator,) = largest_rises(
        np.array(table),
        Histograms.dense(np.array([part])),
    )
    return Fraction(numerator, denominator)


def emd_of(table: list[int], part: list[int]) -> Fraction:
    distance = EqualDistance(np.array(table))
    return Fraction(
        int(distance.numerators(Histograms.dense(np.array([part])))[0]),
        2 * sum(table) * sum(part),
    )


@pytest.mark.parametrize(
    ("table", "part", "beta"),
    [([11, 1089], [11, 89], Fraction(10)), ([20, 30], [5, 5], Fraction(1, 4))],
)
def test_equal_distances_may_have_very_different_betas(table, part, beta):
    """Li et al. 2007, section 8: .01 -> .11 and .4 -> .5 are at one distance."""
    assert emd_of(table, part) == Fraction(1, 10)
    assert beta_of(table, part) == beta


def test_a_rare_disease_that_fills_a_class():
    """49 of 50 people have what 1 % of the table has: .98 / .01 - 1."""
    assert beta_of([49, 4851], [49, 1]) == 97


def test_a_value_that_the_table_lacks_has_no_finite_figure():
    table, classes = np.array([2, 0]), Histograms.dense(np.array([[1, 1]]))
    assert [int(part[0]) for part in largest_rises(table, classes)][1] == 0
    assert likeness_margins(table, classes, Fraction(9))[0] < 0
    assert disclosure(table, classes)[0] == divergence(table, classes)[0] == math.inf


@drawn(150)
@given(
    count_tables(),
    st.fractions(Fraction(1, 100), 5, max_denominator=100),
    st.fractions(1, 5, max_denominator=7),
)
def test_figures_are_those_of_plain_python(counts, beta, level):
    table, classes = counts.sum(axis=0), Histograms.dense(counts)
    rises, units = largest_rises(table, classes)
    liked, frequent = likeness_margins(table, classes, beta), frequency_margins(classes, level)
    deltas, divergences = disclosure(table, classes), divergence(table, classes)
    for g, part in enumerate(counts.tolist()):
        shares = [
            (Fraction(c, sum(part)), Fraction(int(whole), int(table.sum())))
            for c, whole in zip(part, table, strict=True)
        ]
        logs = [(float(p), math.log(p / q) if p else -math.inf) for p, q in shares if q]
        assert Fraction(rises[g], units[g]) == max(p / q for p, q in shares if q) - 1
        assert (liked[g] >= 0) == all(p <= (1 + beta) * q for p, q in shares)
        assert (frequent[g] >= 0) == all(level * p <= 1 for p, _ in shares)
        assert deltas[g] == pytest.approx(max(abs(log) for _, log in logs))
        assert divergences[g] == pytest.approx(sum(p * log for p, log in logs if p), abs=1e-12)


@drawn(100)
@given(
    count_tables(classes=4),
    st.fractions(Fraction(1, 9), 3, max_denominator=9),
    st.fractions(1, 3, max_denominator=4),
)
def test_two_classes_that_hold_hold_together(counts, beta, level):
    table = counts.sum(axis=0)

    def holds(part):
        classes = Histograms.dense(part[None, :])
        return (
            likeness_margins(table, classes, beta)[0] >= 0
            and frequency_margins(classes, level)[0] >= 0
        )

    held = [part for part in counts if holds(part)]
    assert all(holds(one + other) for one in held for other in held)


def test_large_tables_are_judged_in_integers():
    table, beta = np.array([1, 3 * 10**9 - 1]), Fraction(3 * 10**9, 10**9 + 1)
    part = Histograms.dense(
        np.array([[1, 10**9]]),
    )  # 1 / (10^9 + 1) of the class, 1 / (3 10^9) of the table
    exact = Fraction(1, 10**9 + 1) / Fraction(1, 3 * 10**9) - 1
    assert likeness_margins(table, part, exact)[0] == 0
    assert likeness_margins(table, part, exact - Fraction(1, 10**12))[0] < 0
    assert likeness_margins(table, part, beta)[0] > 0
