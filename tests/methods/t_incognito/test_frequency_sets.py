"""What is rolled up is what rows count to."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.methods.t_incognito import plan as scanning
from tclose_spark.methods.t_incognito.frequency_sets import FrequencySet, number_tuples
from tclose_spark.table.tally import Tally


def counted(labels, cells):
    """The frequency set of rows, by a dictionary."""
    tally = Tally.of(np.stack([*labels, cells]))
    groups, group = np.unique(tally.keys[:-1], axis=1, return_inverse=True)
    return FrequencySet(
        labels=groups,
        group=group.reshape(-1),
        cell=tally.keys[-1],
        rows=tally.rows,
    )


def content(groups):
    return [part.tolist() for part in (groups.labels, groups.group, groups.cell, groups.rows)]


@drawn(150)
@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=1, max_size=60), st.data())
def test_a_coarser_set_follows_from_a_finer_one(rows, data):
    *labels, cells = np.array(rows).T
    maps = [
        np.sort(data.draw(st.lists(st.integers(0, 2), min_size=4, max_size=4))) for _ in range(3)
    ]
    maps = [np.unique(above, return_inverse=True)[1] for above in maps]
    kept = data.draw(st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=3, unique=True))
    made = counted(labels, cells).rolled_up([(place, maps[place]) for place in kept], 4)
    assert content(made) == content(counted([maps[place][labels[place]] for place in kept], cells))
    assert made.sizes.sum() == len(rows)


def test_tuples_of_more_than_64_bits_are_numbered():
    columns = [np.array([7, 3, 7, 3]) * 10**7] * 9
    columns[-1] = np.array([2, 1, 1, 1])
    first, number = number_tuples(columns, [10**9] * 9)
    assert (first.tolist(), number.tolist()) == ([1, 2, 0], [2, 0, 1, 0])


def test_columns_are_packed_in_words_of_62_bits():
    assert scanning._packed([2**31, 2**31, 5, 2**40]) == [[0, 1], [2, 3]]
    assert scanning._packed([3]) == [[0]]
