"""Counts by key, added up in any parts."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.table.rows import Rows
from tclose_spark.table.tally import (
    LocalRows,
    Tallier,
    Tally,
    TooManyKeysError,
)

KEYS = st.lists(
    st.tuples(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 2), st.integers(0, 2)),
    min_size=1,
)


def counts(tally):
    return dict(zip(map(tuple, tally.keys.T.tolist()), tally.rows.tolist(), strict=True))


@drawn(150)
@given(KEYS, st.data())
def test_parts_add_up_to_the_whole(keys, data):
    whole = Tally.of(np.array(keys, dtype=np.int64).T)
    assert counts(whole) == Counter(keys)
    assert list(counts(whole)) == sorted(set(keys))
    tallier, rest = Tallier(len(whole)), keys
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        tallier.add(Tally.of(np.array(rest[:size], dtype=np.int64).T))
        rest = rest[size:]
    assert counts(tallier.total()) == Counter(keys)
    parts = whole.part_of(3)
    assert set(parts.tolist()) <= {0, 1, 2}
    halves = [whole.take(np.flatnonzero(parts == part)) for part in range(3)]
    assert counts(Tally.together([half for half in halves if len(half)])) == Counter(keys)


def test_one_key_too_many_is_reported():
    tallier = Tallier(9)
    tallier.add(Tally.of(np.arange(9)[None]))
    assert len(tallier.total()) == 9
    tallier.add(Tally.of(np.array([[9]])))
    with pytest.raises(TooManyKeysError):
        tallier.total()
    assert Tallier(9).total() is None


def test_parts_are_even():
    sizes = np.bincount(
        Tally.of(np.arange(64_000)[None]).part_of(64).astype(np.int64),
        minlength=64,
    )
    assert 900 < sizes.min() <= sizes.max() < 1100


def rows_alike(times):
    """Rows of which each occurs so often: the i-th has the code i."""
    code = np.repeat(np.arange(len(times)), np.array(times, dtype=np.int64))
    hashes = np.random.default_rng(5).integers(0, 2**64, len(times), dtype=np.uint64)
    return Rows((code,), np.zeros(len(code), dtype=np.int64), hashes[code])


def test_an_emptied_table_has_an_empty_sample():
    assert len(LocalRows(rows_alike([])).sample(10)) == 0


@pytest.mark.parametrize("most", [4_000, 40_000])
def test_copies_have_their_share_of_a_sample(most):
    """Of 300,000 rows, one half are different, 50 make up a quarter, and 15,000 the last one."""
    rows = rows_alike([1] * 150_000 + [1_500] * 50 + [5] * 15_000)
    sample = LocalRows(rows).sample(most)
    found = np.bincount(sample.quasi[0], minlength=165_050)
    share = most / len(rows)
    assert len(sample) == pytest.approx(most, rel=0.03)
    assert np.abs(found[150_000:150_050] - 1_500 * share).max() < 1
    assert found[:150_000].max() == 1
    assert found[:150_000].sum() == pytest.approx(150_000 * share, rel=0.05)
    assert found[150_050:].max() == 1
    assert found[150_050:].sum() == pytest.approx(75_000 * share, rel=0.1)


def test_a_sample_of_a_sample_represents_it():
    rows = rows_alike([1] * 150_000 + [1_500] * 100)
    first = LocalRows(rows).sample(20_000)
    for most in (5_000, 15_000, 400_000):
        second = LocalRows(first).sample(most)
        assert len(second) == pytest.approx(min(most, len(first)), rel=0.03)
        assert np.mean(second.quasi[0] >= 150_000) == pytest.approx(0.5, abs=0.02)


def test_a_sample_that_has_room_is_the_table():
    rows = rows_alike([1, 5, 300_000, 2])
    for most in (300_008, 10**6):
        sample = LocalRows(rows).sample(most)
        assert sample.hash.tolist() == np.sort(rows.hash).tolist()
