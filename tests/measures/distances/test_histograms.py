"""Sparse histograms of classes: the same counts as a dense table."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import count_tables, drawn

from tclose_spark.measures.distances.histograms import Histograms


def as_counters(classes: Histograms) -> list[dict[int, int]]:
    """Each histogram as value -> count, in the order of its entries."""
    return [
        dict(zip(classes.values[i:j].tolist(), classes.counts[i:j].tolist(), strict=True))
        for i, j in zip(classes.offsets, classes.offsets[1:], strict=False)
    ]


def test_keeps_the_values_that_occur():
    classes = Histograms.dense(np.array([[0, 2, 1], [5, 0, 0]]))
    assert (classes.offsets.tolist(), classes.values.tolist(), classes.counts.tolist()) == (
        [0, 2, 3],
        [1, 2, 0],
        [2, 1, 5],
    )
    assert (classes.groups, classes.sizes.tolist(), classes.entries_of.tolist()) == (
        2,
        [3, 5],
        [2, 1],
    )
    assert (classes.starts.tolist(), classes.owner.tolist()) == ([0, 2], [0, 0, 1])


@drawn(100)
@given(count_tables(), st.randoms(use_true_random=False))
def test_tallies_observations_in_any_order(table, random):
    groups, domain = table.shape
    observations = [
        (g, v, 1) for g in range(groups) for v in range(domain) for _ in range(table[g, v])
    ]
    random.shuffle(observations)
    owner, values, counts = np.array(observations, dtype=np.int64).T
    tallied, dense = (
        Histograms.tally(owner, values, counts, groups, domain),
        Histograms.dense(table),
    )
    for part in ("offsets", "values", "counts"):
        assert getattr(tallied, part).tolist() == getattr(dense, part).tolist()
    assert tallied.sizes.tolist() == table.sum(axis=1).tolist()


@drawn(100)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(1, 10**12)), max_size=30),
)
def test_adds_up_weighted_observations(observations):
    observations += [(g, 0, 1) for g in range(4)]
    expected = [Counter() for _ in range(4)]
    for owner, value, count in observations:
        expected[owner][value] += count
    owner, values, counts = np.array(observations, dtype=np.int64).T
    found = as_counters(Histograms.tally(owner, values, counts, 4, 10))
    assert found == expected
    assert all(list(histogram) == sorted(histogram) for histogram in found)


def test_a_class_without_records_has_no_distribution():
    with pytest.raises(ValueError, match="without records"):
        Histograms.dense(np.array([[1, 2], [0, 0]]))
    with pytest.raises(ValueError, match="without records"):
        Histograms.tally(np.array([0, 2]), np.array([1, 1]), np.array([1, 1]), groups=3, domain=2)
