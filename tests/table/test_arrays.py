"""Codes by rank, and numbers in their order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.table.arrays import in_order, ranked


@drawn(100)
@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)))
def test_ranks_are_those_of_the_different_codes(codes):
    known, places = ranked(np.array(codes, dtype=np.int64))
    assert known.tolist() == sorted(set(codes))
    assert known[places].tolist() == codes


@drawn(100)
@given(st.lists(st.integers(0, 2**40) | st.integers(0, 3)))
def test_numbers_are_ordered_and_equal_ones_stay_as_they_came(numbers):
    assert in_order(np.array(numbers, dtype=np.int64)).tolist() == sorted(
        range(len(numbers)),
        key=numbers.__getitem__,
    )


def test_short_integers_have_room_for_places_too():
    numbers = np.array([32768, 1, 32768] * 20000, dtype=np.int32)
    assert np.array_equal(in_order(numbers), np.argsort(numbers, kind="stable"))


@pytest.mark.parametrize("numbers", [[0, -1], [1, 2**61]])
def test_numbers_that_leave_no_room_for_places_are_refused(numbers):
    with pytest.raises(ValueError, match="numbers from 0"):
        in_order(np.array(numbers, dtype=np.int64))
