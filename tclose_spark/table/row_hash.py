"""A keyed 64-bit hash of a row's content, made inside tasks. It decides ties, so only who has the secret can replay
them.

Each distinct value of a column is hashed by BLAKE2b under a key of that column; a row's hash is the exclusive or of its
columns' values: tabulation hashing (Patrascu and Thorup 2012), with a keyed hash in place of a table of random numbers.
So the key is part of no expression, and of no plan, page or log of Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from tclose_spark.table.arrays import HashArray

MISSING = b"missing"  # BLAKE2b's personalization: a missing value is no text, and no number


@dataclass(frozen=True, repr=False)
class RowHash:
    """keys: one for each column."""

    keys: tuple[bytes, ...]

    @staticmethod
    def of(secret: str, columns: int) -> RowHash:
        """The hash of rows of so many columns that this secret keys."""
        master = blake2b(secret.encode(errors="surrogateescape")).digest()
        return RowHash(tuple(blake2b(f"column {i}".encode(), key=master).digest() for i in range(columns)))

    def of_rows(self, columns: Sequence[pa.Array]) -> HashArray:
        """The hashes of the rows in columns of text, 64-bit integers or doubles, shape (n,). NULL is a value of its
        own.
        """
        hashes = np.zeros(len(columns[0]), dtype=np.uint64)
        for key, column in zip(self.keys, columns, strict=True):
            distinct = column.dictionary_encode(null_encoding="encode")
            hashes ^= _hash_values(key, distinct.dictionary)[distinct.indices.to_numpy()]
        return hashes


def _hash_values(key: bytes, values: pa.Array) -> HashArray:
    """The keyed hash of each value, shape (values,)."""
    keyed, missing = blake2b(key=key, digest_size=8), blake2b(key=key, digest_size=8, person=MISSING).digest()
    digests = []
    for value, absent in zip(_as_bytes(values), values.is_null().to_pylist(), strict=True):
        hasher = keyed.copy()
        hasher.update(value)
        digests.append(missing if absent else hasher.digest())
    return np.frombuffer(b"".join(digests), dtype="<u8")


def _as_bytes(values: pa.Array) -> list[bytes]:
    """Text as UTF-8, numbers as their eight bytes; anything for NULL."""
    if pa.types.is_string(values.type):
        texts: list[bytes] = values.cast(pa.binary()).fill_null(b"").to_pylist()
        return texts
    numbers: list[bytes] = np.ascontiguousarray(values.fill_null(0).to_numpy()).view("V8").tolist()
    return numbers
