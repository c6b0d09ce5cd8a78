"""l-diversity of classes against the definitions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import count_tables, drawn

from tclose_spark.measures.diversity import distinct, entropy, recursive_margins
from tclose_spark.measures.histograms import Histograms

CLASSES = Histograms.dense(np.array([[4, 0, 0, 0], [2, 2, 0, 0], [1, 1, 1, 1], [0, 5, 2, 1]]))


def test_counts_distinct_values():
    assert distinct(CLASSES).tolist() == [1, 2, 4, 3]


def test_entropy_is_the_number_of_equally_likely_values():
    assert entropy(CLASSES)[:3].tolist() == pytest.approx([1, 2, 4])
    assert entropy(CLASSES)[3] == pytest.approx(math.exp(-(5 / 8 * math.log(5 / 8) + 2 / 8 * math.log(2 / 8) + 1 / 8 * math.log(1 / 8))))


def test_recursive_diversity_weighs_the_most_frequent_value_against_the_tail():
    # r = (5, 2, 1): c (r_2 + r_3) - r_1 and c r_3 - r_1, in whole numbers
    assert recursive_margins(CLASSES, Fraction(2), 2).tolist()[3] == 2 * 3 - 5
    assert recursive_margins(CLASSES, Fraction(5, 3), 2).tolist()[3] == 5 * 3 - 3 * 5
    assert recursive_margins(CLASSES, Fraction(5), 3).tolist()[3] == 5 * 1 - 5
    assert recursive_margins(CLASSES, Fraction(9), 2).tolist()[0] == -4


@drawn(100)
@given(count_tables(), st.fractions(min_value=0, max_value=9, max_denominator=20), st.integers(2, 5))
def test_recursive_margins_are_those_of_the_definition(classes, c, level):
    expected = []
    for counts in classes.tolist():
        ranked = sorted((count for count in counts if count), reverse=True)
        expected.append(c * sum(ranked[level - 1 :]) - ranked[0])
    margins = recursive_margins(Histograms.dense(classes), c, level).tolist()
    assert [Fraction(margin, c.denominator) for margin in margins] == expected


def test_recursive_margins_do_not_overflow():
    classes = Histograms.dense(np.array([[4 * 10**18, 3 * 10**18]]))
    assert recursive_margins(classes, Fraction(10**6 + 1, 10**6), 2).tolist() == [(10**6 + 1) * 3 * 10**18 - 10**6 * 4 * 10**18]


@drawn(100)
@given(count_tables())
def test_entropy_and_distinct_are_those_of_the_definition(classes):
    histograms = Histograms.dense(classes)
    for counts, values, found in zip(classes.tolist(), distinct(histograms), entropy(histograms), strict=True):
        shares = [count / sum(counts) for count in counts if count]
        assert values == len(shares)
        assert found == pytest.approx(math.prod(share**-share for share in shares))
