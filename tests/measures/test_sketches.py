"""HyperLogLog: within a few percent, whatever the order and the parts."""

import numpy as np
import pytest

from tclose_spark.measures.sketches import DistinctCount, estimate


@pytest.mark.parametrize("n", [0, 1, 50, 3_000, 12_000, 40_000, 500_000])
def test_the_estimate_is_near(n: int) -> None:
    hashes = np.random.default_rng(n).integers(0, 2**64, n, dtype=np.uint64)
    whole, halves = DistinctCount.empty(), [DistinctCount.empty(), DistinctCount.empty()]
    whole.add(np.concatenate([hashes, hashes[: n // 2]]))
    halves[0].add(hashes[: n // 2])
    halves[1].add(hashes[n // 3 :])
    assert np.array_equal(whole.registers, np.maximum(halves[0].registers, halves[1].registers))
    assert abs(estimate(whole.registers) - n) <= 0.06 * n


def test_a_hash_of_zeros_has_the_highest_rank() -> None:
    count = DistinctCount.empty()
    count.add(np.array([0, 1 << 63], dtype=np.uint64))
    assert count.registers[0] == 53
    assert estimate(count.registers) == 1
