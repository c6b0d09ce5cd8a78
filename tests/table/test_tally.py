"""Counts by key, added up in any parts."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.table.rows import Rows
from tclose_spark.table.tally import (
    ALL,
    FREQUENT,
    LocalRows,
    Tallier,
    Tally,
    TooManyKeysError,
    draw,
    frequent_in_all,
    frequent_in_part,
    least_frequent,
    representative,
    share_of,
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


@drawn(100)
@given(st.lists(st.integers(1, 400), min_size=1, max_size=30), st.data())
def test_parts_find_every_frequent_row_of_the_table(times, data):
    rows = rows_alike(times)
    n = len(rows)
    order = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(n)
    cuts = data.draw(st.lists(st.integers(0, n), max_size=4).map(sorted))
    parts = np.split(rows.hash[order], cuts)
    hashes, counts, unseen = zip(*(frequent_in_part(part, n) for part in parts), strict=True)
    found = frequent_in_all(np.concatenate(hashes), np.concatenate(counts), sum(unseen), n)
    frequent = np.unique(rows.hash[np.repeat(times, times) >= least_frequent(n)])
    assert set(frequent.tolist()) <= set(found.tolist())
    assert found.tolist() == sorted(set(found.tolist()))


@pytest.mark.parametrize("size", [50_000, 100_000, 100_001, 300_000])
@pytest.mark.parametrize("copies", [1, 2])
def test_few_rows_may_be_frequent_however_the_table_is_cut(size, copies):
    """A million different rows, all copies of each side by side, and ten with 3,000 copies each."""
    rows = rows_alike([copies] * (1_000_000 // copies) + [3_000] * 10)
    n = len(rows)
    parts = np.split(rows.hash, range(size, n, size))
    hashes, counts, unseen = zip(*(frequent_in_part(part, n) for part in parts), strict=True)
    found = frequent_in_all(np.concatenate(hashes), np.concatenate(counts), sum(unseen), n)
    assert sum(unseen) < least_frequent(n) / 2
    assert set(rows.hash[n - 30_000 :].tolist()) <= set(found.tolist())
    assert len(found) <= 2 * FREQUENT


def test_an_emptied_table_has_an_empty_sample():
    assert len(LocalRows(rows_alike([]), 1_000).sample(10)) == 0


def test_a_frequent_row_has_its_share_of_a_sample_whatever_its_hash():
    """Of 300,000 rows, one half are different, and 100 rows make up the others."""
    rows = rows_alike([1] * 150_000 + [1_500] * 100)
    for most in (4_000, 40_000):
        sample = LocalRows(rows, 150_100).sample(most)
        found = np.bincount(sample.quasi[0], minlength=150_100)
        expected = 1_500 * len(sample) / len(rows)
        assert len(sample) == pytest.approx(most, abs=1)
        assert np.abs(found[150_000:] - expected).max() <= 1
        assert found[:150_000].max() == 1
        assert found[:150_000].sum() == pytest.approx(len(sample) / 2, rel=0.05)


def test_a_row_that_no_chance_drew_is_left_out_unless_it_is_frequent():
    rows = rows_alike([1] * 1_000 + [2] * 10)
    share = share_of(100, 1_010)
    low = (rows.hash & np.uint64(2**31 - 1)) < share
    found = representative(*draw(rows, share, np.unique(rows.hash)), share, len(rows), 10**6)
    expected = low | (rows.quasi[0] >= 1_000)
    assert set(found.quasi[0].tolist()) == set(rows.quasi[0][expected].tolist())


def test_a_sample_of_a_sample_represents_it():
    """The different rows are counted in the table that the first sample was drawn from."""
    rows = rows_alike([1] * 150_000 + [1_500] * 100)
    first = LocalRows(rows, 150_100).sample(20_000)
    for most in (5_000, 15_000, 400_000):
        second = LocalRows(first, 150_100).sample(most)
        assert len(second) == pytest.approx(min(most, 20_000), abs=1)
        assert np.mean(second.quasi[0] >= 150_000) == pytest.approx(0.5, abs=0.02)


def test_a_sample_that_has_room_is_the_table():
    rows = rows_alike([1, 5, 300_000, 2])
    sample = LocalRows(rows, 4).sample(10**6)
    assert share_of(10**6, 4) == ALL
    assert sorted(sample.quasi[0].tolist()) == sorted(rows.quasi[0].tolist())
