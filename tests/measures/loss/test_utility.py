"""Query error: what a reader of a release counts, taking rows to be spread evenly within their
labels.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.measures.loss.query_error import (
    CountQuery,
    CoveredRanges,
    CoveredSets,
    GroupedRelease,
    HeldValues,
    UniformRelease,
    count,
    draw_queries,
    relative_errors,
)
from tclose_spark.table.labels import MISSING

AGES = np.array([20, 25, 30, 30, 41])
CITIES = np.array([0, 1, 1, 2, 2])
FLU = np.array([0, 0, 0, 1, 0])


def as_code(i, code):
    return float(code)


def one_value(i, code, draw):
    return code, code


def held_in_classes(label_of, spreads, classes, values):
    """A release of rows with these classes and sensitive values."""
    return UniformRelease(covered=spreads, label=label_of, held=[HeldValues.of(classes, values)])


def test_a_worked_example():
    """Two classes: ages [20, 30] with cities {0, 1}, and [30, 41] with city 2. Flu, age 25 to 34,
    cities 1 to 2.
    """
    classes = np.array([0, 0, 0, 1, 1])
    ages = CoveredRanges(low=np.array([20.0, 30.0]), high=np.array([30.0, 41.0]), whole=True)
    cities = CoveredSets(members=np.array([0, 1, 2]), offsets=np.array([0, 2, 3]))
    release = held_in_classes([np.array([0, 1])] * 2, [ages, cities], classes, FLU)
    query = CountQuery(ranges={0: (25, 34), 1: (1, 2)}, attribute=0, values=(0, 0))
    assert count(query, [AGES, CITIES], [FLU]) == 2
    assert release.estimate(query, as_code) == pytest.approx(3 * 6 / 11 * 1 / 2 + 1 * 5 / 12 * 1)


def test_a_real_number_is_spread_over_a_length_and_a_point_is_in_or_out():
    lengths = CoveredRanges(
        low=np.array([0.0, 2.0, np.nan]),
        high=np.array([4.0, 2.0, np.nan]),
        whole=False,
    )
    assert lengths.shares(1.0, 3.0).tolist() == [0.5, 1.0, 0.0]
    assert lengths.shares(3.0, 9.0).tolist() == [0.25, 0.0, 0.0]


def test_a_value_that_no_released_row_has_is_estimated_as_nothing():
    release = held_in_classes([], [], np.zeros(5, dtype=int), FLU)
    assert release.estimate(CountQuery(ranges={}, attribute=0, values=(7, 7)), as_code) == 0
    assert release.estimate(CountQuery(ranges={}, attribute=0, values=(0, 0)), as_code) == 4


tables = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 2)),
    min_size=1,
    max_size=30,
)


@drawn(60)
@given(tables, st.integers(0, 2**32))
def test_labels_of_one_value_answer_exactly(table, seed):
    quasi_a, quasi_b, value = np.array(table).T
    queries = draw_queries(
        [quasi_a, quasi_b],
        [value],
        lambda i, code, draw: (code - 1, code + 1),
        one_value,
        20,
        seed,
    )
    spreads = [
        CoveredRanges(low=x.astype(float), high=x.astype(float), whole=True)
        for x in (quasi_a, quasi_b)
    ]
    each = np.arange(len(value))
    release = held_in_classes([each, each], spreads, each, value)
    answers = [count(query, [quasi_a, quasi_b], [value]) for query in queries]
    assert min(answers) >= 1
    assert [release.estimate(query, as_code) for query in queries] == answers


@drawn(60)
@given(tables)
def test_estimates_over_a_partition_of_the_values_add_up(table):
    """What is spread is all there: over all codes of an attribute the estimates give the rows of
    the value.
    """
    quasi, _, value = np.array(table).T
    classes = quasi // 3
    spread = CoveredRanges(low=np.array([0.0, 3.0]), high=np.array([2.0, 5.0]), whole=True)
    release = held_in_classes([np.array([0, 1])], [spread], classes, value)
    for v in set(value.tolist()):
        parts = [
            release.estimate(CountQuery(ranges={0: (c, c)}, attribute=0, values=(v, v)), as_code)
            for c in range(6)
        ]
        assert sum(parts) == pytest.approx(np.sum(value == v))


def test_queries_are_over_one_to_three_quasi_identifiers_and_ask_nothing_of_missing_values():
    rows = 50
    quasi = [np.arange(rows), np.full(rows, 3), np.full(rows, MISSING), np.arange(rows) % 7]
    queries = draw_queries(quasi, [np.arange(rows) % 2], one_value, one_value, 300, 1)
    assert {len(query.ranges) for query in queries} == {0, 1, 2, 3}
    assert not any(2 in query.ranges for query in queries)
    again = draw_queries(quasi, [np.arange(rows) % 2], one_value, one_value, 300, 1)
    assert queries == again


def test_errors_are_relative_to_the_raw_answer():
    assert relative_errors([0.0, 6.0, 4.0], [5, 4, 4]).tolist() == [1.0, 0.5, 0.0]


@drawn(60)
@given(tables, st.integers(0, 2), st.integers(0, 2))
def test_a_range_of_sensitive_values_is_the_sum_over_its_values(table, low, high):
    quasi, _, value = np.array(table).T
    classes = np.unique(quasi // 3, return_inverse=True)[1]
    spread = CoveredRanges(low=np.array([0.0, 3.0]), high=np.array([2.0, 5.0]), whole=True)
    released = [
        held_in_classes([np.unique(quasi // 3)], [spread], classes, value),
        GroupedRelease(quasi=[quasi], sensitive=[value], group=classes),
    ]
    whole = CountQuery(ranges={0: (1, 4)}, attribute=0, values=(low, high))
    parts = [
        CountQuery(ranges={0: (1, 4)}, attribute=0, values=(v, v)) for v in range(low, high + 1)
    ]
    assert count(whole, [quasi], [value]) == sum(count(part, [quasi], [value]) for part in parts)
    assert released[0].estimate(whole, as_code) == pytest.approx(
        sum(released[0].estimate(q, as_code) for q in parts),
    )
    assert released[1].estimate(whole) == pytest.approx(sum(map(released[1].estimate, parts)))
