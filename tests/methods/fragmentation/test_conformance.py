"""Conformance in exact integers, and sizes by the greatest common divisor."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matrices import cases
from strategies import drawn

from tclose_spark.measures.multiplicity import MultiplicityMatrix
from tclose_spark.methods.fragmentation.conformance import conforming, conforms, gcd_class_size, gcd_classes


@drawn(200)
@given(st.data())
def test_conforms_where_every_share_is_the_tables(data):
    case = data.draw(cases(2))
    cells = case.matrix.cells
    fragment_of = np.unique(
        data.draw(st.lists(st.integers(0, 2), min_size=cells, max_size=cells)), return_inverse=True
    )[1]
    drawn_class = np.array(data.draw(st.lists(st.integers(0, 4), min_size=cells, max_size=cells).filter(any)))
    for class_counts in (drawn_class, 2 * case.matrix.counts):
        shares = [
            Fraction(int(counts[fragment_of == f].sum()), int(counts.sum()))
            for counts in (class_counts, case.matrix.counts)
            for f in range(fragment_of.max() + 1)
        ]
        half = len(shares) // 2
        assert conforms(class_counts, case.matrix, fragment_of) == (shares[:half] == shares[half:])
    assert conforms(case.matrix.counts, case.matrix, fragment_of)


def test_one_row_of_billions_matters():
    huge = 10**17
    matrix = MultiplicityMatrix.of(np.array([[0], [1]]), np.array([huge, huge]), (2,))
    both = np.array([0, 1])
    assert conforms(np.array([huge // 2, huge // 2]), matrix, both)
    assert not conforms(np.array([huge // 2, huge // 2 + 1]), matrix, both)
    assert conforms(np.array([huge // 2, huge // 2 + 1]), matrix, np.zeros(2, dtype=np.int64))
    assert conforming([1, 2], [huge, huge], 3, 2 * huge).tolist() == [False, False]


def test_a_class_without_rows_has_no_shares():
    with pytest.raises(ValueError, match="without rows"):
        conforms(np.array([0]), MultiplicityMatrix.of(np.array([[0]]), np.array([1]), (1,)), np.array([0]))


@drawn(100)
@given(st.lists(st.integers(1, 400), min_size=1, max_size=5))
def test_the_most_classes_of_one_size(sizes):
    q = gcd_classes(sizes)
    n = sum(sizes)
    assert q == max(e for e in range(1, n + 1) if all(size % e == 0 for size in sizes))
    assert gcd_class_size(sizes) * q == n
