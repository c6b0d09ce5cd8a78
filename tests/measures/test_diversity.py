"""l-diversity of classes against the definitions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import count_tables, drawn

from tclose_spark.measures import diversity
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.measures.diversity import (
    distinct,
    entropy_l,
    entropy_margins,
    readable_entropy,
    recursive_margins,
)

CLASSES = Histograms.dense(np.array([[4, 0, 0, 0], [2, 2, 0, 0], [1, 1, 1, 1], [0, 5, 2, 1]]))


def test_counts_distinct_values():
    assert distinct(CLASSES).tolist() == [1, 2, 4, 3]


def test_entropy_is_the_number_of_equally_likely_values():
    assert entropy_l(CLASSES)[:3].tolist() == pytest.approx([1, 2, 4])
    assert entropy_l(CLASSES)[3] == pytest.approx(
        math.exp(-(5 / 8 * math.log(5 / 8) + 2 / 8 * math.log(2 / 8) + 1 / 8 * math.log(1 / 8))),
    )


def test_recursive_diversity_weighs_the_most_frequent_value_against_the_tail():
    # r = (5, 2, 1): c (r_2 + r_3) - r_1 and c r_3 - r_1, in whole numbers
    assert recursive_margins(CLASSES, Fraction(2), 2).tolist()[3] == 2 * 3 - 5
    assert recursive_margins(CLASSES, Fraction(5, 3), 2).tolist()[3] == 5 * 3 - 3 * 5
    assert recursive_margins(CLASSES, Fraction(5), 3).tolist()[3] == 5 * 1 - 5
    assert recursive_margins(CLASSES, Fraction(9), 2).tolist()[0] == -4


@drawn(100)
@given(
    count_tables(),
    st.fractions(min_value=0, max_value=9, max_denominator=20),
    st.integers(2, 5),
)
def test_recursive_margins_are_those_of_the_definition(classes, c, level):
    expected = []
    for counts in classes.tolist():
        ranked = sorted((count for count in counts if count), reverse=True)
        expected.append(c * sum(ranked[level - 1 :]) - ranked[0])
    margins = recursive_margins(Histograms.dense(classes), c, level).tolist()
    assert [Fraction(margin, c.denominator) for margin in margins] == expected


def test_recursive_margins_do_not_overflow():
    classes = Histograms.dense(np.array([[4 * 10**18, 3 * 10**18]]))
    assert recursive_margins(classes, Fraction(10**6 + 1, 10**6), 2).tolist() == [
        (10**6 + 1) * 3 * 10**18 - 10**6 * 4 * 10**18,
    ]


@drawn(100)
@given(count_tables())
def test_entropy_and_distinct_are_those_of_the_definition(classes):
    histograms = Histograms.dense(classes)
    for counts, values, found in zip(
        classes.tolist(),
        distinct(histograms),
        entropy_l(histograms),
        strict=True,
    ):
        shares = [count / sum(counts) for count in counts if count]
        assert values == len(shares)
        assert found == pytest.approx(math.prod(share**-share for share in shares))


def is_entropy_diverse(counts: list[int], level: str) -> bool:
    return bool(entropy_margins(Histograms.dense(np.array([counts])), Fraction(level))[0] >= 0)


@pytest.mark.parametrize(
    ("counts", "level", "diverse"),
    [
        ([50_000, 50_000], "2", True),
        ([50_001, 49_999], "2", False),  # exp of its entropy is 2 - 4e-10
        ([10**9 + 1, 10**9 - 1], "2", False),  # 2 - 1e-18: no double tells it from 2
        ([7] * 49, "49", True),
        ([7] * 49, "49.000000000000001", False),
        ([7] * 49, "48.999999999999999", True),
        ([4, 1, 1, 1, 1], "4", True),  # 8^8 = 4^8 * 4^4: exactly 4 without being 4 equal values
        ([4, 1, 1, 1, 1], "4.0000000000000001", False),
        ([400, 100, 100, 100, 100], "4", True),
        ([2, 1, 1], "2.828427124746190", True),  # the square root of 8 is 2.82842712474619009..
        ([2, 1, 1], "2.828427124746191", False),
        ([3], "1", True),
        ([3], "0.5", True),
        ([3], "-1", True),
        ([1, 2], "1e300", False),
    ],
)
def test_entropy_diversity_is_decided_exactly(counts, level, diverse):
    assert is_entropy_diverse(counts, level) is diverse


@drawn(200)
@given(count_tables(), st.fractions(min_value=1, max_value=8, max_denominator=12))
def test_entropy_margins_have_the_sign_of_the_definition(classes, level):
    for counts, margin in zip(
        classes.tolist(),
        entropy_margins(Histograms.dense(classes), level),
        strict=True,
    ):
        size = sum(counts)
        assert (margin >= 0) == (
            size**size >= level**size * math.prod(count**count for count in counts)
        )


def test_what_is_too_large_to_be_decided_is_not_diverse(monkeypatch):
    monkeypatch.setattr(diversity, "MOST_RECORDS", 7)
    assert not is_entropy_diverse([4, 1, 1, 1, 1], "4")
    assert is_entropy_diverse([1000] * 9, "9")


@drawn(100)
@given(count_tables(), st.fractions(min_value=1, max_value=8, max_denominator=12))
def test_no_diverse_class_reads_as_if_it_were_not(classes, level):
    histograms = Histograms.dense(classes)
    assert np.all(
        (entropy_margins(histograms, level) < 0)
        | (entropy_l(histograms) >= readable_entropy(float(level))),
    )
