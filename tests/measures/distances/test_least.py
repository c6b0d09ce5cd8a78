"""How close a class of a size can be, against all classes of that size."""

from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tclose_spark.measures.distances.ground_distances import (
    EqualDistance,
    fewest_rows,
    least_distance,
)
from tclose_spark.measures.distances.histograms import Histograms

tables = st.lists(st.integers(1, 4), min_size=1, max_size=4)


def nearest(counts: list[int], size: int) -> Fraction:
    """The least distance of a class of this many rows, of all classes."""
    classes = [one for one in product(*(range(n + 1) for n in counts)) if sum(one) == size]
    distance, parts = EqualDistance(np.array(counts)), Histograms.dense(np.array(classes))
    unit = distance.scale * sum(counts) * size
    return Fraction(int(distance.numerators(parts).min()), unit)


@given(tables, st.data())
def test_no_class_of_the_size_is_nearer_and_one_is_as_near(
    counts: list[int],
    data: st.DataObject,
) -> None:
    size = data.draw(st.integers(1, sum(counts)))
    assert least_distance(np.array(counts), size) == nearest(counts, size)


@given(tables, st.fractions(Fraction(1, 20), 1, max_denominator=20))
def test_smaller_classes_are_too_far(counts: list[int], t: Fraction) -> None:
    needed = fewest_rows(np.array(counts), t)
    assert all(nearest(counts, size) > t for size in range(1, needed))


def test_people_who_all_differ_are_one_minus_their_share_from_the_table() -> None:
    everyone = np.ones(50, dtype=np.int64)
    assert [least_distance(everyone, s) for s in (1, 10, 50)] == [
        1 - Fraction(s, 50) for s in (1, 10, 50)
    ]
    assert fewest_rows(everyone, Fraction(3, 10)) == 35


def test_large_tables_are_exact() -> None:
    counts = np.array([10**9, 10**9 + 1])
    assert least_distance(counts, 10**9) == Fraction(1, 2 * 10**9 + 1) / 2
