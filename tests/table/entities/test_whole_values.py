"""Samples of whole values: complete, and the same however the rows come."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose_spark.table.entities import whole_values
from tclose_spark.table.entities.whole_values import (
    WholeValues,
    looks_measured,
    sample_of,
    value_hashes,
)

ROWS = 6_000


def a_table(seed: int) -> pa.Table:
    """A table of persons with four rows each on average, a sex, and a text of their names."""
    rng = np.random.default_rng(seed)
    person = rng.integers(0, ROWS // 4, ROWS)
    return pa.table(
        {
            "person": person,
            "sex": rng.choice(["m", "f"], ROWS),
            "name": [f"n{one}" for one in person],
        },
    )


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(whole_values, "MOST_ROWS", 500)


@pytest.mark.parametrize("batch", [97, 1_000, ROWS])
def test_drawn_values_have_all_their_rows(batch):
    table = a_table(1)
    sample = sample_of(table.to_batches(max_chunksize=batch), 3).reduced()
    assert 100 < len(sample.hashes) <= 500
    assert sample.level > 0
    assert sample.rows == ROWS
    drawn = sample.whole(0)
    hashes = value_hashes(table["person"].combine_chunks())
    in_table = {
        one: int(np.count_nonzero(hashes == one)) for one in sample.hashes[drawn, 0].tolist()
    }
    values, rows = np.unique(sample.hashes[drawn, 0], return_counts=True)
    assert {int(value): int(n) for value, n in zip(values, rows, strict=True)} == in_table


def test_columns_of_few_values_draw_no_rows():
    town = np.random.default_rng(2).choice(list("abcdefgh"), ROWS)
    table = a_table(2).set_column(1, "town", pa.array(town))
    assert sample_of(table.to_batches(), 3).reduced().draws == (True, False, True)


def test_a_column_draws_rows_although_those_without_a_person_come_first():
    table = a_table(3)
    unknown = pa.table(
        {"person": [-1] * 2 * ROWS, "sex": ["m"] * 2 * ROWS, "name": ["-"] * 2 * ROWS},
    )
    sample = sample_of(
        pa.concat_tables([unknown, table]).to_batches(max_chunksize=500),
        3,
    ).reduced()
    persons = sample.hashes[sample.whole(0), 0]
    assert 20 < len(np.unique(persons)) <= ROWS // 4


@given(seed=st.integers(0, 100), cuts=st.lists(st.integers(1, ROWS - 1), max_size=5, unique=True))
def test_the_sample_follows_from_the_content_alone(seed, cuts):
    table = a_table(seed)
    shuffled = table.take(np.random.default_rng(seed).permutation(ROWS))
    ends = [0, *sorted(cuts), ROWS]
    parts = [shuffled.slice(start, end - start) for start, end in itertools.pairwise(ends)]
    tasks = [WholeValues.from_bytes(sample_of(part.to_batches(), 3).to_bytes()) for part in parts]
    together = sum(tasks[1:], tasks[0]).reduced()
    alone = sample_of(table.to_batches(), 3).reduced()
    assert together.level == alone.level
    assert together.draws == alone.draws
    assert sorted(map(tuple, together.hashes.tolist())) == sorted(map(tuple, alone.hashes.tolist()))


VALUES = st.lists(
    st.one_of(st.none(), st.text(max_size=12), st.sampled_from(["", " ", "12", "1.5", "é"])),
    max_size=30,
)


@given(VALUES)
def test_equal_texts_have_equal_hashes_also_in_dictionaries_and_slices(values):
    column = pa.array(values, pa.string())
    hashes = value_hashes(column)
    known = [
        value is not None and value.strip(" \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0") != ""
        for value in values
    ]
    by_value = dict(zip(values, hashes.tolist(), strict=True))
    assert [by_value[value] for value in values] == hashes.tolist()
    present = {value for value, is_known in zip(values, known, strict=True) if is_known}
    assert len({by_value[value] for value in present}) == len(present)
    assert all(by_value[value] for value in present)
    assert value_hashes(column.dictionary_encode()).tolist() == hashes.tolist()
    padded = pa.array(["x", *values], pa.string()).slice(1)
    assert value_hashes(padded).tolist() == hashes.tolist()


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, None]),
        pa.array([1.0, 2.0, float("nan")]),
        pa.array([1, 2, None], pa.date32()),
        pa.array([1, 2, None], pa.timestamp("us", "UTC")),
        pa.array([1, 2, None], pa.decimal128(12, 0)),
        pa.array([b"a", b"b", None]),
        pa.array([True, False, None]),
    ],
)
def test_all_types_have_hashes(values):
    first, second, missing = value_hashes(values).tolist()
    assert first
    assert second
    assert first != second
    assert not missing


def test_measured_values():
    assert looks_measured(pa.array([1.5, 2.0, None])).tolist() == [True, False, False]
    assert looks_measured(pa.array(["0,713", "1001.0", "A1.5", "31.12.2020"])).tolist() == [
        True,
        False,
        False,
        True,
    ]
    assert looks_measured(pa.array([1, 2], pa.date32())).all()
