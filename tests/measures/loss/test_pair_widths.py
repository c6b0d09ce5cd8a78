"""What a column takes back of a quasi-identifier's width, against all pairs counted one by one."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import CITIES, drawn

from tclose_spark.measures.loss.pair_widths import (
    NodeWidths,
    NumberWidths,
    PairWidths,
    combine,
    mean_width,
    share_taken_back,
)

LEAVES = len(CITIES.leaves)


def tree(codes: list[int]) -> NodeWidths:
    """The widths of cities by code."""
    code = np.array(codes)
    return NodeWidths(
        [node[code] for node in CITIES.nodes],
        [share[code] for share in CITIES.shares],
    )


def taken_back(
    widths: PairWidths,
    group: np.ndarray,
    weight: np.ndarray,
    fewest: int = 1,
) -> float | None:
    """The share that knowing the group takes back."""
    return share_taken_back(
        mean_width(widths, group, weight, fewest),
        mean_width(widths, np.zeros_like(group), weight),
    )


def width_in_tree(a: int, b: int) -> float:
    """NCP of the lowest node above both."""
    if a == b:
        return 0.0
    height = next(h for h, node in enumerate(CITIES.nodes) if node[a] == node[b])
    return float(CITIES.shares[height][a])


def width_of_numbers(a: float, b: float) -> float:
    """NCP of the interval of both; `*` where one is missing."""
    if np.isnan(a) or np.isnan(b):
        return float(np.isnan(a) != np.isnan(b))
    return abs(a - b)


def one_by_one(values, width, group) -> tuple[float, int]:
    """(the widths of all pairs in one group, how many there are)"""
    pairs = [(a, b) for a, b in combinations(range(len(values)), 2) if group[a] == group[b]]
    return sum(width(values[a], values[b]) for a, b in pairs), len(pairs)


records = st.lists(
    st.tuples(
        st.integers(0, LEAVES - 1),
        st.sampled_from([0.0, 0.25, 0.5, 1.0, float("nan")]),
        st.integers(0, 3),
        st.integers(1, 3),
    ),
    min_size=2,
    max_size=12,
)


@drawn(100)
@given(records)
def test_sums_over_pairs_are_those_of_every_pair(people):
    cities, numbers, group, weight = (list(column) for column in zip(*people, strict=True))
    every = [i for i, w in enumerate(weight) for _ in range(w)]
    cases = (
        (tree(cities), cities, width_in_tree),
        (NumberWidths(np.array(numbers)), numbers, width_of_numbers),
    )
    for widths, values, width in cases:
        expected, _ = one_by_one([values[i] for i in every], width, [group[i] for i in every])
        assert widths.between(np.array(group), np.array(weight)) == pytest.approx(
            expected,
            abs=1e-9,
        )


@drawn(100)
@given(records)
def test_the_share_taken_back_is_that_of_the_mean_widths(people):
    cities, _, group, weight = (list(column) for column in zip(*people, strict=True))
    every = [i for i, w in enumerate(weight) for _ in range(w)]
    same, pairs = one_by_one([cities[i] for i in every], width_in_tree, [group[i] for i in every])
    whole, all_pairs = one_by_one([cities[i] for i in every], width_in_tree, [0] * len(every))
    found = taken_back(tree(cities), np.array(group), np.array(weight))
    assert found == (
        pytest.approx(1 - (same / pairs) / (whole / all_pairs), abs=1e-9)
        if pairs and whole
        else None
    )


def test_independence_takes_nothing_back_and_determination_all():
    draw = np.random.default_rng(7)
    place, ones = draw.random(20_000), np.ones(20_000, dtype=np.int64)
    many = draw.integers(9_000, size=20_000)  # two people a value
    for group in (draw.integers(10, size=20_000), np.unique(many, return_inverse=True)[1]):
        assert taken_back(NumberWidths(place), group, ones) == pytest.approx(0, abs=0.02)
    exactly = np.unique(place.round(3), return_inverse=True)[1]
    assert taken_back(NumberWidths(place.round(3)), exactly, ones) == 1


def test_it_is_none_where_no_two_people_have_a_value_or_all_labels_are_alike():
    ones = np.ones(4, dtype=np.int64)
    assert taken_back(NumberWidths(np.array([0.0, 0.2, 0.5, 1.0])), np.arange(4), ones) is None
    assert taken_back(NumberWidths(np.zeros(4)), np.array([0, 0, 1, 1]), ones) is None
    assert (
        taken_back(
            NumberWidths(np.array([0.0, 0.0, 1.0, 1.0])),
            np.array([0, 0, 1, 1]),
            ones,
            fewest=3,
        )
        is None
    )


def test_groups_of_several_columns_are_those_that_agree_in_all():
    first, second = np.array([0, 0, 1, 1, 0]), np.array([0, 1, 0, 0, 0])
    assert combine([first]).tolist() == first.tolist()
    together = combine([first, second])
    assert [together.tolist().count(g) for g in together.tolist()] == [2, 1, 2, 2, 2]
