"""What a refused cut tells, against all arrangements of small classes."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose_spark.measures.disclosure.refused_cuts import (
    Disclosure,
    disclosed_by_refusal,
    rows_below_cuts,
)
from tclose_spark.measures.distances.ground_distances import (
    EqualDistance,
    GroundDistance,
    HierarchicalDistance,
    OrderedDistance,
)
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.table.arrays import ExactArray

TREE = (np.array([0, 0, 1, 1]), np.array([0, 0]))


def emd(distance: GroundDistance, counts: np.ndarray) -> Fraction:
    (numerator,) = distance.numerators(Histograms.dense(counts[None]))
    return Fraction(int(numerator), distance.scale * int(distance.table.sum()) * int(counts.sum()))


def brute_force(
    counts: np.ndarray,
    rows: int,
    distance: GroundDistance,
    t: Fraction,
) -> set[tuple[int, int, int]]:
    """Of all arrangements in which a side is farther than t, the fewest rows of each value, where
    these say more than the class does.
    """
    size = int(counts.sum())
    possible = [
        np.array(side)
        for side in product(*(range(n + 1) for n in counts.tolist()))
        if sum(side) == rows
        and (emd(distance, np.array(side)) > t or emd(distance, counts - np.array(side)) > t)
    ]
    told = set()
    for part, sides in ((rows, possible), (size - rows, [counts - side for side in possible])):
        for value in np.flatnonzero(counts).tolist():
            fewest = min((int(side[value]) for side in sides), default=0)
            if fewest * size > int(counts[value]) * part:
                told.add((part, value, fewest))
    return told


@settings(max_examples=150)
@given(st.data())
def test_it_is_what_all_arrangements_say(data: st.DataObject) -> None:
    m = 4
    table = np.array(data.draw(st.lists(st.integers(1, 200), min_size=m, max_size=m)))
    counts = np.array(data.draw(st.lists(st.integers(0, 5), min_size=m, max_size=m)))
    size = int(counts.sum())
    if size < 4:
        return
    rows = data.draw(st.integers(2, size - 2))
    t = data.draw(st.fractions(Fraction(1, 50), Fraction(3, 5), max_denominator=50))
    distance = data.draw(
        st.sampled_from(
            [EqualDistance(table), OrderedDistance(table), HierarchicalDistance(table, TREE)],
        ),
    )
    found = disclosed_by_refusal([counts], rows, [(distance, t)], 0)
    assert found is not None
    assert {(one.rows, one.value, one.at_least) for one in found} == brute_force(
        counts,
        rows,
        distance,
        t,
    )


def test_the_example_of_five_and_twenty_five() -> None:
    distance = EqualDistance(np.array([90, 10]))
    told = disclosed_by_refusal([np.array([27, 3])], 5, [(distance, Fraction(1, 10))], 0)
    assert told == [
        Disclosure(rows=5, value=1, at_least=2),
        Disclosure(rows=25, value=0, at_least=24),
    ]


def test_nothing_is_certain_where_another_attribute_may_be_the_reason() -> None:
    flu, other = EqualDistance(np.array([90, 10])), EqualDistance(np.array([25, 25, 25, 25]))
    classes = [np.array([27, 3]), np.array([8, 8, 7, 7])]
    assert (
        disclosed_by_refusal(classes, 5, [(flu, Fraction(1, 10)), (other, Fraction(1, 10))], 0)
        == []
    )
    assert disclosed_by_refusal(classes, 5, [(flu, Fraction(1, 10)), (other, None)], 0) != []
    assert (
        disclosed_by_refusal(classes, 5, [(flu, Fraction(1, 10)), (other, Fraction(9, 10))], 0)
        != []
    )


def test_of_classes_of_many_values_little_is_looked_at() -> None:
    each = np.ones(30, dtype=np.int64)
    assert disclosed_by_refusal([each], 10, [(EqualDistance(each), Fraction(1, 10))], 0) == []
    assert disclosed_by_refusal([each], 10, [(EqualDistance(each), Fraction(9, 10))], 0) is None
    both = [
        (EqualDistance(each), Fraction(9, 10)),
        (EqualDistance(np.array([90, 10])), Fraction(1, 10)),
    ]
    assert disclosed_by_refusal([each, np.array([27, 3])], 5, both, 1) is None


@pytest.mark.parametrize(
    ("codes", "median_only", "sides"),
    [
        ([1, 1, 2, 3, 3, 3], False, [2, 3]),
        ([1, 1, 2, 3, 3, 3], True, [3]),
        ([1] * 6, False, []),
        ([1, 2], False, []),
    ],
)
def test_where_a_class_could_be_cut(codes: list[int], median_only: bool, sides: list[int]) -> None:
    assert rows_below_cuts(np.array(codes), 2, 16, median_only) == sides
    assert rows_below_cuts(np.array(codes), 2, 1, median_only) == []


class Asked(EqualDistance):
    """Notes how many histograms it is asked of at once."""

    def numerators(self, classes: Histograms) -> ExactArray:
        ASKED.append(classes.groups)
        return super().numerators(classes)


ASKED: list[int] = []


def test_most_often_one_look_at_a_few_arrangements_is_enough() -> None:
    draw = np.random.default_rng(3)
    table = np.array([9000, 8000, 7000, 6000, 5000, 3000, 2000])
    distance = Asked(table)
    ASKED.clear()
    for _ in range(100):
        class_ = draw.multinomial(int(draw.integers(10, 25)), table / table.sum())
        disclosed_by_refusal(
            [class_],
            int(draw.integers(5, class_.sum() - 4)),
            [(distance, Fraction(1, 5))],
            0,
        )
    assert len(ASKED) <= 110
    assert max(ASKED[:100]) <= 2 * 8 * 7 * 2
    assert sum(ASKED) <= 100 * 2 * 8 * 7 + 10 * 2 * 192


def test_the_same_is_known_of_a_cut_from_both_sides() -> None:
    distances = [(EqualDistance(np.array([90, 10])), Fraction(1, 10))]
    small, large = (
        disclosed_by_refusal([np.array([27, 3])], rows, distances, 0) for rows in (5, 25)
    )
    assert small
    assert large
    assert sorted(map(repr, small)) == sorted(map(repr, large))
