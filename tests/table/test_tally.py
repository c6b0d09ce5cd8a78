"""Counts by key, added up in any parts."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.table.tally import Tallier, Tally, TooManyKeysError

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
