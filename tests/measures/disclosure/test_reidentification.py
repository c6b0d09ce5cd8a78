"""Re-identification by a join: points in boxes against all pairs, and the risks against their
definitions in fractions.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.measures.disclosure import reidentification
from tclose_spark.measures.disclosure.reidentification import (
    count_inside,
    count_people_inside,
    risks,
)


def all_pairs(points, weights, low, high, records) -> tuple[list[int], list[int]]:
    """People in each box and records that hold each point, pair by pair."""
    inside = [
        [all(a <= x <= b for a, x, b in zip(lo, point, hi, strict=True)) for point in points]
        for lo, hi in zip(low, high, strict=True)
    ]
    people = [
        sum(weight for weight, holds in zip(weights, row, strict=True) if holds) for row in inside
    ]
    held = [
        sum(count for count, row in zip(records, inside, strict=True) if row[p])
        for p in range(len(points))
    ]
    return people, held


def assert_counted(points, weights, low, high, records):
    found = count_inside(points, weights, low, high, records)
    expected = all_pairs(*(part.tolist() for part in (points, weights, low, high, records)))
    assert (found.people.tolist(), found.records.tolist()) == expected


@st.composite
def points_and_boxes(draw: st.DrawFn) -> tuple[np.ndarray, ...]:
    """A few points, some of them equal, and boxes: whole, of one point, empty, outside."""
    d, codes = draw(st.integers(1, 3)), draw(st.sampled_from([2, 6, 10**12]))
    place = st.lists(st.integers(-1, codes), min_size=d, max_size=d)
    count = st.integers(1, 10**10)
    points = draw(st.lists(st.tuples(place, count), min_size=0, max_size=12))
    boxes = draw(st.lists(st.tuples(place, place, count, st.booleans()), min_size=0, max_size=8))
    ends = [
        (a, b) if as_drawn else (list(map(min, a, b)), list(map(max, a, b)))
        for a, b, _, as_drawn in boxes
    ]
    return (
        np.array([point for point, _ in points], dtype=np.int64).reshape(-1, d),
        np.array([weight for _, weight in points], dtype=np.int64),
        np.array([low for low, _ in ends], dtype=np.int64).reshape(-1, d),
        np.array([high for _, high in ends], dtype=np.int64).reshape(-1, d),
        np.array([box[2] for box in boxes], dtype=np.int64),
    )


@pytest.mark.parametrize("at_once", [1, 1 << 24])
@drawn(200)
@given(st.data())
def test_a_person_with_several_points_counts_once_in_a_class(at_once, data):
    points, _, low, high, _ = data.draw(points_and_boxes())
    whose = np.array(
        data.draw(st.lists(st.integers(0, 5), min_size=len(points), max_size=len(points))),
        dtype=np.int64,
    )
    owner = np.sort(
        np.array(
            data.draw(st.lists(st.integers(0, 3), min_size=len(low), max_size=len(low))),
            np.int64,
        ),
    )
    sizes = np.array([5, 7, 11, 13])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reidentification, "MOST_PAIRS", at_once)
        found = count_people_inside(points, whose, low, high, owner, sizes)
    inside: list[set[int]] = [set() for _ in sizes]
    for lo, hi, of in zip(low.tolist(), high.tolist(), owner.tolist(), strict=True):
        for who, point in zip(whose.tolist(), points.tolist(), strict=True):
            if all(a <= x <= b for a, x, b in zip(lo, point, hi, strict=True)):
                inside[of].add(who)
    held = [
        sum(int(n) for n, people in zip(sizes, inside, strict=True) if who in people)
        for who in set(whose.tolist())
    ]
    overlapping = any(
        (np.maximum(low[i], low[j]) <= np.minimum(high[i], high[j])).all() and owner[i] == owner[j]
        for i in range(len(low))
        for j in range(i)
    )
    assume(not overlapping)  # as boxes of one class are
    assert found.people.tolist() == [len(people) for people in inside]
    assert sorted(found.records.tolist()) == sorted(held)


@pytest.mark.parametrize("brute", [True, False], ids=["pair by pair", "halved to the end"])
@drawn(200)
@given(st.data())
def test_counts_what_all_pairs_count(brute, data):
    case = data.draw(points_and_boxes())
    with pytest.MonkeyPatch.context() as patch:
        if not brute:
            patch.setattr(reidentification, "FEW_POINTS", 1)
            patch.setattr(reidentification, "SMALL_PRODUCT", 0)
        assert_counted(*case)


def test_counts_many_points_in_many_boxes():
    generator = np.random.default_rng(3)
    points = generator.integers(0, [2, 5, 70, 40000], (800, 4))
    middle = points[generator.integers(0, 800, 400)]
    width = generator.integers(0, [2, 3, 20, 20000], (400, 4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reidentification, "FEW_POINTS", 8)
        patch.setattr(reidentification, "SMALL_PRODUCT", 256)
        assert_counted(
            points,
            generator.integers(1, 9, 800),
            middle - width,
            middle + width,
            generator.integers(1, 9, 400),
        )


def test_an_axis_may_have_more_codes_than_16_bits():
    points = np.arange(50000)[:, None]
    low, high = np.array([[0], [40000], [49999]]), np.array([[49999], [40004], [60000]])
    found = count_inside(points, np.ones(50000, dtype=np.int64), low, high, np.array([1, 2, 4]))
    assert found.people.tolist() == [50000, 5, 1]
    assert np.unique(found.records, return_counts=True)[1].tolist() == [49994, 5, 1]
    assert found.records[[39999, 40000, 40004, 40005, 49999]].tolist() == [1, 3, 3, 1, 5]


@st.composite
def sizes_and_populations(draw: st.DrawFn, most: int) -> tuple[np.ndarray, np.ndarray]:
    pairs = draw(
        st.lists(st.tuples(st.integers(1, most), st.integers(0, 2 * most)), min_size=1, max_size=8),
    )
    sizes, population = zip(*pairs, strict=True)
    return np.array(sizes), np.array(population)


@drawn(200)
@given(sizes_and_populations(most=6))
def test_risks_are_those_of_the_definitions(case):
    sizes, population = (part.tolist() for part in case)
    found = risks(*case)
    records = [
        (n, max(n, people)) for n, people in zip(sizes, population, strict=True) for _ in range(n)
    ]
    assert found.prosecutor == max(Fraction(1, n) for n, _ in records)
    assert found.prosecutor_mean == sum(Fraction(1, n) for n, _ in records) / len(records)
    assert found.journalist == max(Fraction(1, fitting) for _, fitting in records)
    assert found.marketer == sum(Fraction(1, fitting) for _, fitting in records) / len(records)
    assert found.presence == max(Fraction(n, fitting) for n, fitting in records)
    assert found.members == sum(
        people for n, people in zip(sizes, population, strict=True) if people <= n
    )
    assert found.unmatched == sum(people < n for n, people in zip(sizes, population, strict=True))


@drawn(100)
@given(sizes_and_populations(most=10**10))
def test_the_marketer_is_exact_or_barely_rounded_up(case):
    sizes, population = (part.tolist() for part in case)
    exact = sum(
        Fraction(n, max(n, people)) for n, people in zip(sizes, population, strict=True)
    ) / sum(sizes)
    found = risks(*case).marketer
    assert exact <= found < exact + Fraction(len(sizes), sum(sizes) * 10**18)
    assert found.denominator <= 10**18 * sum(sizes)


@drawn(100)
@given(sizes_and_populations(most=20))
def test_who_knows_less_risks_less(case):
    found = risks(*case)
    assert found.marketer <= found.prosecutor_mean <= found.prosecutor
    assert found.marketer <= found.journalist <= found.prosecutor
    assert (found.presence == 1) == (found.members > 0 or found.unmatched > 0)


def test_a_background_of_the_table_itself():
    found = risks(np.array([2, 3]), np.array([2, 3]))
    assert (found.prosecutor, found.journalist, found.marketer) == (
        Fraction(1, 2),
        Fraction(1, 2),
        Fraction(2, 5),
    )
    assert (found.members, found.unmatched, found.presence) == (5, 0, 1)


def test_a_class_of_one_record_that_one_person_fits():
    found = risks(np.array([1, 4]), np.array([1, 0]))
    assert (found.prosecutor, found.journalist, found.members, found.unmatched) == (1, 1, 1, 1)
    assert found.marketer == Fraction(2, 5)


@pytest.mark.parametrize("sizes", [[], [2, 0]])
def test_a_class_without_records_has_no_risks(sizes):
    with pytest.raises(ValueError, match="classes that have records"):
        risks(np.array(sizes, dtype=np.int64), np.array(sizes, dtype=np.int64))
