"""The multiplicity matrix against dense arrays, and the bins of ordered domains."""

from fractions import Fraction

import numpy as np
import pytest
from fragmentations import matrix_of
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.measures.distances.bins import by_edges, equal_mass, equal_width
from tclose_spark.measures.distances.histograms import sum_at


@st.composite
def tuples(
    draw: st.DrawFn,
    domains: tuple[int, ...] | None = None,
) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Weighted tuples in any order, some of them equal, and the sizes of their domains."""
    domains = domains or tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    one = st.tuples(st.tuples(*[st.integers(0, m - 1) for m in domains]), st.integers(1, 9))
    drawn_ones = draw(st.lists(one, min_size=1, max_size=15))
    codes, counts = zip(*drawn_ones, strict=True)
    return np.array(codes), np.array(counts), domains


def dense(codes: np.ndarray, counts: np.ndarray, domains: tuple[int, ...]) -> np.ndarray:
    table = np.zeros(domains, dtype=np.int64)
    for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
        table[tuple(code)] += count
    return table


@drawn(200)
@given(tuples())
def test_adds_up_equal_tuples_in_lexicographic_order(case):
    codes, counts, domains = case
    matrix = matrix_of(codes, counts, domains)
    assert (
        dense(matrix.codes, matrix.counts, domains).tolist()
        == dense(codes, counts, domains).tolist()
    )
    assert [tuple(code) for code in matrix.codes.tolist()] == sorted({*map(tuple, codes.tolist())})
    assert matrix.cells == len(matrix.counts) == len({*map(tuple, codes.tolist())})
    assert matrix.rows == counts.sum()


@drawn(200)
@given(tuples())
def test_marginals_are_slice_sums(case):
    matrix = matrix_of(*case)
    axes = range(matrix.attributes)
    for attribute in axes:
        others = tuple(axis for axis in axes if axis != attribute)
        assert matrix.marginal(attribute).tolist() == dense(*case).sum(axis=others).tolist()


def test_sums_beyond_what_floats_hold_are_exact():
    huge = 2**53 + 1
    assert sum_at(np.array([1, 0, 1]), np.array([huge, 3, 2]), 3).tolist() == [3, huge + 2, 0]


def test_bins_of_equal_width():
    assert equal_width([0, 1, 2, 3, 4], 2).tolist() == [0, 0, 1, 1, 1]
    assert equal_width([0, 1, 100], 10).tolist() == [0, 0, 1]
    assert equal_width([7, 7], 3).tolist() == [0, 0]
    assert equal_width([Fraction(0), Fraction(1, 3), Fraction(2, 3), Fraction(1)], 3).tolist() == [
        0,
        1,
        2,
        2,
    ]
    for numbers, bins in (([2, 1], 2), ([], 2), ([1, 2], 0)):
        with pytest.raises(ValueError, match=r"ascend|bins"):
            equal_width(numbers, bins)


def test_bins_of_equal_mass():
    assert equal_mass(np.array([1, 1, 1, 1]), 2).tolist() == [0, 0, 1, 1]
    assert equal_mass(np.array([8, 1, 1, 1, 1]), 3).tolist() == [0, 1, 1, 1, 1]
    assert equal_mass(np.array([0, 5, 0]), 4).tolist() == [0, 1, 2]
    assert equal_mass(np.array([2**60, 2**60]), 2).tolist() == [0, 1]
    with pytest.raises(ValueError, match="rows"):
        equal_mass(np.array([0, 0]), 2)


def test_bins_by_edges():
    assert by_edges([1, 2, 3, 4, 5], [2, 4]).tolist() == [0, 1, 1, 2, 2]
    assert by_edges([1, 2, 3], [10, 20]).tolist() == [0, 0, 0]
    assert by_edges([1, 30], [10, 20]).tolist() == [0, 1]
    assert by_edges([1, 2], []).tolist() == [0, 0]
    with pytest.raises(ValueError, match="ascend"):
        by_edges([1, 2], [4, 2])


@drawn(200)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=30), st.integers(1, 8))
def test_bins_of_equal_mass_are_at_most_a_value_from_even(counts, bins):
    bin_of = equal_mass(np.array(counts), bins)
    assert bin_of[0] == 0
    assert set(np.diff(bin_of).tolist()) <= {0, 1}
    assert bin_of[-1] < bins
    assert np.bincount(bin_of, counts).max() < sum(counts) / bins + max(counts)
