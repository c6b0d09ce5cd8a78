"""The raw side: who is like whom in the whole table, and tables that people make of raw rows and of
a release.
"""

import numpy as np
import pytest

from tclose_spark.table.rows import Rows
from tclose_spark.table.tally import LocalRows, TooManyKeysError
from tclose_spark.usefulness.cross_tables import cramers_v
from tclose_spark.usefulness.raw_versus_released import _counting, _quasi_hash, raw_groups


class OneAttribute:
    """Cells that are the codes of one sensitive attribute."""

    cells = np.arange(5)[:, None]
    sensitive = (type("A", (), {"name": "disease", "column": 0})(),)


def rows(*records: tuple[int, int, int]) -> Rows:
    """Records of two quasi-identifiers and a cell."""
    columns = np.array(records, dtype=np.int64).T
    hashes = np.arange(len(records), dtype=np.uint64)
    return Rows((columns[0].copy(), columns[1].copy()), columns[2].copy(), hashes)


TABLE = rows((30, 0, 0), (30, 0, 0), (30, 0, 1), (30, 1, 2), (40, 1, 3), (40, 1, 3))


def groups_of(sample: Rows, k: int = 3):
    return raw_groups(sample, LocalRows(TABLE).frequencies, OneAttribute(), k)  # type: ignore[arg-type]


def test_people_are_counted_among_all_rows_of_the_table():
    """The first has two like it, one of another disease; the fourth is alone; of the last two it is
    certain.
    """
    found = groups_of(TABLE)
    assert found is not None
    assert found.alone == pytest.approx(1 / 6)
    assert found.few == pytest.approx(3 / 6)
    assert found.chance == pytest.approx((3 / 3 + 1 + 2 / 2) / 6)
    assert found.certain == {"disease": pytest.approx(3 / 6)}
    assert found.guess == {"disease": pytest.approx((3 * 2 / 3 + 3) / 6)}


def test_a_sample_is_of_people_and_counts_are_of_the_table():
    found = groups_of(TABLE.take(np.array([0, 3])))
    assert found is not None
    assert (found.people, found.alone, found.chance) == (2, 0.5, pytest.approx((1 / 3 + 1) / 2))


def test_rows_of_other_groups_are_not_counted():
    count = _counting(np.unique(_quasi_hash(TABLE.take(np.array([3])))))
    assert count(TABLE).rows.tolist() == [1]
    assert len(count(TABLE.take(np.array([0, 1])))) == 0


def test_too_many_values_are_not_counted():
    def refuse(*_):
        raise TooManyKeysError

    assert raw_groups(TABLE, refuse, OneAttribute(), 3) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("table", "v"),
    [
        ([[4, 0], [0, 4]], 1),
        ([[1, 2], [2, 4]], 0),
        ([[3, 3]], 0),
        ([[0, 0], [1, 3]], 0),
        ([[2, 1], [1, 2]], 1 / 3),
    ],
)
def test_cramers_v(table, v):
    assert cramers_v(np.array(table, dtype=float)) == pytest.approx(v)
