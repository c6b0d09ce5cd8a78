"""The keyed hash of rows: a function of their content and the secret, of nothing else."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose_spark.table.fingerprint import RowHash

RECORDS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.text(max_size=4)),
        st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
        st.one_of(st.none(), st.floats(allow_nan=False).map(lambda x: x + 0.0)),
    ),
    min_size=1,
)
TYPES = (pa.string(), pa.int64(), pa.float64())


def columns_of(records: list[tuple[object, ...]]) -> list[pa.Array]:
    return [
        pa.array(list(values), kind)
        for values, kind in zip(zip(*records, strict=True), TYPES, strict=True)
    ]


@given(RECORDS)
def test_rows_have_equal_hashes_where_and_only_where_they_are_alike(
    records: list[tuple[object, ...]],
) -> None:
    hashes = RowHash.of("secret", 3).of_rows(columns_of(records)).tolist()
    assert len(set(hashes)) == len(set(records))
    assert len(set(zip(records, hashes, strict=True))) == len(set(records))


@given(RECORDS, st.randoms())
def test_neither_order_nor_batches_matter(
    records: list[tuple[object, ...]],
    random: object,
) -> None:
    hash_of, order = RowHash.of("secret", 3), list(range(len(records)))
    random.shuffle(order)  # type: ignore[attr-defined]
    whole = hash_of.of_rows(columns_of(records))
    parts = [
        hash_of.of_rows(columns_of([records[i] for i in order[first : first + 2]]))
        for first in range(0, len(order), 2)
    ]
    assert np.array_equal(np.concatenate(parts), whole[order])


def test_a_part_of_a_column_is_hashed_as_itself() -> None:
    column = pa.array(["a", None, "b", "a"])
    hash_of = RowHash.of("secret", 1)
    assert np.array_equal(hash_of.of_rows([column.slice(1, 2)]), hash_of.of_rows([column])[1:3])


def test_a_single_column_is_blake2b_under_a_key_of_the_secret_and_the_column() -> None:
    """What anyone with the secret can check with the standard library."""
    master = blake2b(b"secret").digest()
    (key,) = RowHash.of("secret", 1).keys
    assert key == blake2b(b"column 0", key=master).digest()
    found = RowHash.of("secret", 1).of_rows([pa.array(["flu"])])
    assert found.tolist() == [
        int.from_bytes(blake2b(b"flu", key=key, digest_size=8).digest(), "little"),
    ]


@pytest.mark.parametrize("value", ["flu", None, ""])
def test_other_secrets_and_other_columns_give_other_hashes(value: str | None) -> None:
    column = pa.array([value], pa.string())
    one, other = RowHash.of("one", 2), RowHash.of("other", 2)
    both = {
        int(RowHash(keys).of_rows([column])[0])
        for hash_of in (one, other)
        for keys in ((hash_of.keys[0],), (hash_of.keys[1],))
    }
    assert len(both) == 4


def test_values_do_not_cancel_out_across_columns() -> None:
    hashes = RowHash.of("secret", 2).of_rows([pa.array(["a", "b", "a"]), pa.array(["b", "a", "a"])])
    assert len(set(hashes.tolist())) == 3


def test_bits_of_many_hashes_are_even() -> None:
    """Rows are drawn by the low bits and ordered by the high ones."""
    hashes = RowHash.of("secret", 2).of_rows(
        [pa.array(np.arange(20_000)), pa.array(np.arange(20_000) % 7)],
    )
    shares = [float(np.mean((hashes >> np.uint64(bit)) & np.uint64(1))) for bit in range(64)]
    assert max(abs(share - 0.5) for share in shares) < 0.02
    assert abs(float(np.mean((hashes & np.uint64(2**31 - 1)) < 2**28)) - 1 / 8) < 0.02


def test_the_keys_are_not_shown() -> None:
    hash_of = RowHash.of("secret", 1)
    assert "secret" not in repr(hash_of)
    assert str(hash_of.keys[0]) not in repr(hash_of)
