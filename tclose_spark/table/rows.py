"""Rows as codes: the view that methods have of a table, and the binary form in which rows travel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tclose_spark.table.arrays import HashArray, IntArray
from tclose_spark.table.dictionaries import coded, codes_of
from tclose_spark.table.domains import Profile, QuasiDomain
from tclose_spark.table.labels import MISSING, decode_numbers, encode_numbers


@dataclass(frozen=True)
class Rows:
    """n records as codes.

    quasi: an int64 array of shape (n,) for each quasi-identifier (see `labels`).
    cell: the place of the sensitive tuple in `Profile.cells`.
    hash: a keyed 64-bit hash of the record's content, including insensitive columns. Records with equal hash and
        codes are alike, so (hash, codes) orders records by content only.
    """

    quasi: tuple[IntArray, ...]
    cell: IntArray
    hash: HashArray

    def __len__(self) -> int:
        return len(self.cell)

    def take(self, index: IntArray) -> Rows:
        """The records at these places.

        >>> rows = Rows((np.array([31, 38, 40]),), np.array([0, 1, 0]), np.array([7, 8, 9], dtype=np.uint64))
        >>> two = rows.take(np.array([2, 0]))
        >>> two.quasi[0].tolist(), two.cell.tolist(), two.hash.tolist()
        ([40, 31], [0, 0], [9, 7])
        """
        return Rows(tuple(q[index] for q in self.quasi), self.cell[index], self.hash[index])

    @staticmethod
    def concatenate(parts: Sequence[Rows]) -> Rows:
        """The records of several, one after another."""
        quasi = tuple(np.concatenate(columns) for columns in zip(*(part.quasi for part in parts), strict=True))
        return Rows(quasi, np.concatenate([part.cell for part in parts]), np.concatenate([part.hash for part in parts]))

    def distinct(self, n: IntArray) -> tuple[Rows, IntArray]:
        """The distinct records, sorted by hash, with their numbers. n: how often each of these records occurs, shape
        (records,)

        >>> rows = Rows((np.array([31, 38, 31]),), np.array([0, 1, 0]), np.array([7, 3, 7], dtype=np.uint64))
        >>> different, n = rows.distinct(np.array([1, 2, 3]))
        >>> different.quasi[0].tolist(), n.tolist()
        ([38, 31], [2, 4])
        """
        if not len(self):
            return self, n
        order = self.sorted_by_hash()
        new = np.arange(len(order)) == 0
        for codes in (*self.quasi, self.cell, self.hash):
            new[1:] |= np.diff(codes[order]) != 0
        starts = np.flatnonzero(new)
        return self.take(order[starts]), np.add.reduceat(n[order], starts)

    def sorted_by_hash(self) -> IntArray:
        """The order of the records by hash, then codes, shape (n,). It does not depend on their given order."""
        order = np.argsort(self.hash)
        same = np.diff(self.hash[order]) == 0
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        among = order[tied]
        keys = (*(codes[among] for codes in self.quasi), self.cell[among], self.hash[among])
        order[tied] = among[np.lexsort(keys)]
        return order


class UnknownValueError(ValueError):
    """A row has a value that the profile does not have."""


@dataclass(frozen=True)
class Codec:
    """Converts Arrow columns of prepared rows to Rows, and Rows to fixed-width binary values and back."""

    quasi: tuple[QuasiDomain, ...]
    sensitive: tuple[tuple[str | None, ...], ...]
    cells: IntArray

    @staticmethod
    def of(profile: Profile) -> Codec:
        """The codec of a profile's domains."""
        return Codec(profile.quasi, tuple(s.values for s in profile.sensitive), profile.cell_codes)

    def encode(self, quasi: Sequence[pa.Array], sensitive: Sequence[pa.Array], hashes: HashArray) -> Rows:
        """Rows of Arrow columns: prepared quasi-identifiers, sensitive values as text, and hashes. Text may be
        dictionary-encoded (see `dictionaries`).

        Raises:
            UnknownValueError: if a value is not in the profile's domains.
        """
        codes = [_encode_column(domain, column) for domain, column in zip(self.quasi, quasi, strict=True)]
        return Rows(tuple(codes), self._cells_of(sensitive), hashes)

    @cached_property
    def _prefixes(self) -> list[IntArray]:
        """For each sensitive attribute, the ascending numbers of the tuple prefixes that some cell has, up to this
        attribute.

        The number of a prefix is the place of the prefix without its last code, times the size of the domain, plus
        that code.
        """
        tables, known = [], np.zeros(len(self.cells), dtype=np.int64)
        for values, codes in zip(self.sensitive, self.cells.T, strict=True):
            table, known = np.unique(known * len(values) + codes, return_inverse=True)
            tables.append(table)
        return tables

    def _cells_of(self, sensitive: Sequence[pa.Array]) -> IntArray:
        place = np.zeros(len(sensitive[0]), dtype=np.int64)
        for values, column, table in zip(self.sensitive, sensitive, self._prefixes, strict=True):
            place = place * len(values) + _index(column, values)
            rank = np.minimum(np.searchsorted(table, place), len(table) - 1)
            if np.any(table[rank] != place):
                raise UnknownValueError("sensitive values")
            place = rank
        return place  # cells are sorted, so the place of the whole tuple is the cell

    @property
    def _layout(self) -> np.dtype[np.void]:
        fields = [("hash", "<u8"), ("cell", "<i4")]
        for i, domain in enumerate(self.quasi):
            narrow = domain.kind == "category" and len(domain.values) < 2**15
            fields.append((f"q{i}", "<i2" if narrow else "<i8"))
        return np.dtype(fields)

    def pack(self, rows: Rows) -> NDArray[np.void]:
        """The rows as records of some tens of bytes, shape (n,)."""
        packed = np.empty(len(rows), dtype=self._layout)
        packed["hash"] = rows.hash
        packed["cell"] = rows.cell
        for i, codes in enumerate(rows.quasi):
            field = packed[f"q{i}"]
            field[:] = codes if field.dtype == np.int64 else np.maximum(codes, np.iinfo(field.dtype).min)
        return packed.view(np.dtype((np.void, packed.itemsize)))  # without fields, as whole ones move 15 times as fast

    def unpack(self, data: Any) -> Rows:
        """The rows of packed records."""
        packed = np.frombuffer(data, dtype=self._layout)
        quasi = []
        for i in range(len(self.quasi)):
            field = packed[f"q{i}"]
            codes = field.astype(np.int64)
            quasi.append(
                codes if field.dtype == np.int64 else np.where(codes == np.iinfo(field.dtype).min, MISSING, codes)
            )
        return Rows(tuple(quasi), packed["cell"].astype(np.int64), packed["hash"].copy())

    def decode(self, rows: Rows) -> list[pa.Array]:
        """The prepared quasi-identifiers of rows: dictionary-encoded strings, int64 or double."""
        return [_decode_column(domain, codes) for domain, codes in zip(self.quasi, rows.quasi, strict=True)]

    def sensitive_texts(self, rows: Rows) -> list[pa.Array]:
        """The sensitive values of rows as dictionary-encoded text."""
        codes = self.cells[rows.cell]
        return [
            pa.DictionaryArray.from_arrays(pa.array(codes[:, i]), pa.array(values, pa.string()))
            for i, values in enumerate(self.sensitive)
        ]


def _index(column: pa.Array, values: Sequence[str | None]) -> IntArray:
    """The places of a text column's entries among `values`, including NULL.

    Raises:
        UnknownValueError: if an entry is not among them.
    """
    distinct = coded(column)
    index = pc.index_in(distinct.dictionary, value_set=pa.array(values, pa.string()))
    if index.null_count:
        raise UnknownValueError("values")
    places: IntArray = index.to_numpy().astype(np.int64)[codes_of(distinct)]
    return places


def _encode_column(domain: QuasiDomain, column: pa.Array) -> IntArray:
    if domain.kind == "category":
        places = _index(column, [*domain.values, None])
        return np.where(places == len(domain.values), MISSING, places)
    if domain.kind == "integer":
        return np.asarray(column.fill_null(int(MISSING)).to_numpy(), dtype=np.int64)
    return encode_numbers(np.asarray(column.fill_null(np.nan).to_numpy(), dtype=np.float64))


def _decode_column(domain: QuasiDomain, codes: IntArray) -> pa.Array:
    missing = codes == MISSING
    if domain.kind == "category":
        places = pa.array(np.where(missing, len(domain.values), codes))
        return pa.DictionaryArray.from_arrays(places, pa.array([*domain.values, None], pa.string()))
    if domain.kind == "integer":
        return pa.array(codes, mask=missing)
    return pa.array(decode_numbers(codes), mask=missing)
