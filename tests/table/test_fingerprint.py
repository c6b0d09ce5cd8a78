"""A fingerprint is that of a multiset of rows: it does not depend on their order, and tells what is
lost, doubled or altered.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose_spark.table.dictionaries import coded
from tclose_spark.table.fingerprint import Fingerprint, content_hash

Rows = list[tuple[str | None, str | None]]
ROWS = st.lists(
    st.tuples(*[st.one_of(st.none(), st.sampled_from("abc"))] * 2),
    min_size=1,
    max_size=8,
)


def of(rows: Rows) -> Fingerprint:
    return Fingerprint.of(
        [pa.array(list(column), pa.string()) for column in zip(*rows, strict=True)],
    )


@given(ROWS, st.randoms(), st.integers(0, 8))
def test_a_fingerprint_is_that_of_a_multiset_and_its_parts_add_up(
    rows: Rows,
    random: object,
    cut: int,
) -> None:
    mixed = list(rows)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    parts = [part for part in (mixed[:cut], mixed[cut:]) if part]
    assert sum(map(of, parts), Fingerprint(0, 0)) == of(rows)


@given(ROWS, ROWS)
def test_different_multisets_have_different_fingerprints(one: Rows, other: Rows) -> None:
    def key(rows: Rows) -> list[tuple[str, ...]]:
        return sorted(tuple(map(repr, row)) for row in rows)

    assert (of(one) == of(other)) == (key(one) == key(other))


DIFFERENT: dict[str, tuple[Rows, Rows]] = {
    "exchanged between columns": ([("x", "y")], [("y", "x")]),
    "exchanged between rows": ([("x", "1"), ("y", "2")], [("x", "2"), ("y", "1")]),
    "cut elsewhere": ([("xy", "z")], [("x", "yz")]),
    "NULL in another column": ([(None, "a")], [("a", None)]),
    "NULL and empty text exchanged": ([("", None)], [(None, "")]),
    "NULL for empty text": ([("a", None)], [("a", "")]),
    "a row doubled": ([("x", "y")], [("x", "y"), ("x", "y")]),
    "one doubled, another lost": (
        [("x", "y"), ("x", "y"), ("u", "v")],
        [("x", "y"), ("u", "v"), ("u", "v")],
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_rows_have_different_fingerprints(name: str) -> None:
    one, other = DIFFERENT[name]
    assert of(one) != of(other)


COLUMNS = {
    "text": pa.array(["a", None, "a"]),
    "bytes": pa.array([b"a", None, b"\xff"]),
    "integers": pa.array([1, None, -(2**63)]),
    "short integers": pa.array([1, None, 3], pa.int16()),
    "doubles": pa.array([0.5, None, float("nan")]),
    "floats": pa.array([0.5, None, 3], pa.float32()),
    "truth": pa.array([True, None, False]),
    "decimals": pa.array([Decimal("1.50"), None, Decimal("2.00")]),
    "days": pa.array([date(1, 1, 1), None, date(2024, 2, 29)]),
    "instants": pa.array(
        [datetime(2024, 2, 29, tzinfo=UTC), None, datetime(1700, 1, 1, tzinfo=UTC)],
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_all_types_are_hashed_by_value_coded_or_not(name: str) -> None:
    column = COLUMNS[name]
    hashes = content_hash([column]).tolist()
    assert len(set(hashes)) == len(set(map(repr, column.to_pylist())))
    assert content_hash([coded(column)]).tolist() == hashes
    parts = [content_hash([column.slice(i, 1)]).tolist()[0] for i in range(3)]
    assert parts == hashes


def test_a_time_is_the_same_in_microseconds_and_in_nanoseconds() -> None:
    """As Parquet's INT96 is read."""
    at = COLUMNS["instants"].slice(0, 2)
    assert (
        content_hash([at]).tolist() == content_hash([at.cast(pa.timestamp("ns", "UTC"))]).tolist()
    )


def test_a_time_of_day_is_the_same_in_microseconds_and_in_nanoseconds() -> None:
    """As Parquet and Spark hand it over."""
    at = pa.array([time(12, 30, 0, 5), None])
    assert content_hash([at]).tolist() == content_hash([at.cast(pa.time64("ns"))]).tolist()


def test_zero_has_no_sign_and_nan_no_bits() -> None:
    assert (
        content_hash([pa.array([-0.0, 0.0])]).tolist()
        == content_hash([pa.array([0.0, 0.0])]).tolist()
    )
    bits = np.array([0x7FF8 << 48, 0xFFF8 << 48, 0x7FF8 << 48 | 1], dtype=np.uint64)
    assert len(set(content_hash([pa.array(bits.view(np.float64))]).tolist())) == 1


def test_a_fingerprint_is_read_as_it_was_written() -> None:
    found = of([("a", None), ("b", "c")])
    assert Fingerprint.parse(str(found)) == found
