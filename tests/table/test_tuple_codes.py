"""Tuples as numbers, against Python's order of tuples."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tclose_spark.measures.distances.histograms import rank_tuples
from tclose_spark.table.arrays import TupleCodes

rows = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*[st.integers(0, 3)] * width), min_size=1, max_size=30),
)


@given(rows, st.randoms())
def test_numbers_follow_the_order_of_the_tuples(
    tuples: list[tuple[int, ...]],
    random: object,
) -> None:
    columns = list(range(len(tuples[0])))
    random.shuffle(columns)  # type: ignore[attr-defined]
    codes = np.array(tuples)
    chosen = [tuple(row[column] for column in columns) for row in tuples]
    place = {one: number for number, one in enumerate(sorted(set(chosen)))}
    expected = [place[one] for one in chosen]
    numbered = TupleCodes.of(codes, columns, [4] * len(columns))
    assert rank_tuples(codes[:, columns]).tolist() == expected
    if len(columns) > 1:  # the number of a single code is the code
        assert numbered.encode(codes).tolist() == expected
        assert numbered.size == len(place)
    else:
        assert (numbered.encode(codes).tolist(), numbered.size) == ([row[0] for row in tuples], 4)


def test_domains_whose_product_passes_64_bits() -> None:
    codes = np.array([[10**6 - 1] * 6, [0] * 6, [10**6 - 1] * 5 + [0]])
    assert TupleCodes.of(codes, range(6), [10**6] * 6).encode(codes).tolist() == [2, 0, 1]
