"""A sample of values: whole counts of the lowest hashes, whatever parts the rows come in."""

from collections import Counter

import numpy as np
import pytest

from tclose_spark.measures.sketches import MOST_SAMPLED, ValueSample


def hashes(rows, values, seed=1):
    draw = np.random.default_rng(seed)
    of_value = draw.integers(0, 2**64, values, dtype=np.uint64)
    return of_value[np.concatenate([np.arange(values), draw.integers(0, values, rows - values)])]


@pytest.mark.parametrize("values", [1, 1501, MOST_SAMPLED, 20_000])
@pytest.mark.parametrize("parts", [1, 7])
def test_it_has_the_lowest_hashes_with_all_their_rows(values, parts):
    rows = hashes(30_000, values)
    counted = Counter(rows.tolist())
    expected = {key: counted[key] for key in sorted(counted)[:MOST_SAMPLED]}
    samples = [ValueSample.empty().add(part) for part in np.array_split(rows, parts)]
    joined = ValueSample.empty().add(
        np.concatenate([one.hashes for one in samples]),
        np.concatenate([one.counts for one in samples]),
    )
    in_batches = ValueSample.empty()
    for part in np.array_split(rows, 50):
        in_batches = in_batches.add(part)
    for sample in (joined, in_batches):
        assert dict(zip(sample.hashes.tolist(), sample.counts.tolist(), strict=True)) == expected
        assert (
            sample.distinct == values
            if values < MOST_SAMPLED
            else abs(sample.distinct / values - 1) < 0.08
        )


def test_one_value_of_a_thousand_that_occurs_twice_is_seen_and_none_where_all_differ():
    seen = [ValueSample.empty().add(hashes(100_100, 100_000, seed)).repeats for seed in range(40)]
    assert sum(seen) >= 36
    assert not any(
        ValueSample.empty().add(hashes(50_000, 50_000, seed)).repeats for seed in range(20)
    )
