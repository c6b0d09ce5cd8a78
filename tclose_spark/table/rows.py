"""Rows as codes: the view that methods have of a table, and the binary form in which rows
travel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tclose_spark.table.arrays import BoolArray, HashArray, IntArray
from tclose_spark.table.dictionaries import coded, codes_of
from tclose_spark.table.domains import Profile, QuasiDomain
from tclose_spark.table.labels import MISSING, decode_numbers, number_codes
from tclose_spark.table.people import PERSON


@dataclass(frozen=True)
class Rows:
    """n records as codes.

    quasi: an int64 array of shape (n,) for each quasi-identifier (see `labels`).
    cell: the place of the sensitive tuple in `Profile.cells`.
    hash: a keyed 64-bit hash of the record's content, including insensitive columns and the person.
        Records with equal hash and codes are alike, so (hash, codes) orders records by content
        only.
    owners: whose each record is, shape (n,), by staged column: PERSON and HOUSEHOLD are keyed
        hashes, and ATOM is that of the person if the release continues an earlier one (see
        `table.atoms`).
    lead: if people keep their records together and their quasi-identifiers vary, those of the
        person's first record.
    absent: if missing values may be any value, where the codes of `quasi` are drawn, shape (n,
        quasi-identifiers).
    """

    quasi: tuple[IntArray, ...]
    cell: IntArray
    hash: HashArray
    owners: Mapping[str, IntArray] = field(default_factory=dict)
    lead: tuple[IntArray, ...] | None = None
    absent: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.cell)

    def take(self, index: IntArray) -> Rows:
        """The records at these places.

        >>> rows = Rows((np.array([31, 38, 40]),), np.array([0, 1, 0]), np.array([7, 8, 9], dtype=np.uint64))
        >>> two = rows.take(np.array([2, 0]))
        >>> two.quasi[0].tolist(), two.cell.tolist(), two.hash.tolist()
        ([40, 31], [0, 0], [9, 7])
        """
        return Rows(
            tuple(q[index] for q in self.quasi),
            self.cell[index],
            self.hash[index],
            {name: owner[index] for name, owner in self.owners.items()},
            None if self.lead is None else tuple(q[index] for q in self.lead),
            None if self.absent is None else self.absent[index],
        )

    @property
    def for_methods(self) -> Rows:
        """The records as methods see them: each with the quasi-identifiers of the first record of
        its person, so that those of a person go together.
        """
        return self if self.lead is None else replace(self, quasi=self.lead, lead=None, absent=None)

    @property
    def raw(self) -> Rows:
        """The records with MISSING in place of drawn codes."""
        if self.absent is None:
            return self
        known = tuple(
            np.where(gone, MISSING, q) for q, gone in zip(self.quasi, self.absent.T, strict=True)
        )
        return replace(self, quasi=known, absent=None)

    def shown(self, starts: IntArray, drawn: bool = False) -> Rows:
        """The records as labels show them, in groups that begin at these places: see `known_codes`.
        drawn: whether a group without a known value shows drawn ones.
        """
        if self.absent is None:
            return self
        quasi = []
        for codes, gone in zip(self.quasi, self.absent.T, strict=True):
            known = known_codes(codes, gone, starts)
            quasi.append(np.where(known == MISSING, codes, known) if drawn else known)
        return replace(self, quasi=tuple(quasi), absent=None)

    @staticmethod
    def concatenate(parts: Sequence[Rows]) -> Rows:
        """The records of several, one after another."""

        def joined(of: Sequence[tuple[IntArray, ...]]) -> tuple[IntArray, ...]:
            return tuple(np.concatenate(columns) for columns in zip(*of, strict=True))

        leads = [part.lead for part in parts]
        absent = [a for part in parts if (a := part.absent) is not None]
        return Rows(
            joined([part.quasi for part in parts]),
            np.concatenate([part.cell for part in parts]),
            np.concatenate([part.hash for part in parts]),
            {
                name: np.concatenate([part.owners[name] for part in parts])
                for name in parts[0].owners
            },
            joined([lead for lead in leads if lead is not None]) or None,
            np.concatenate(absent) if absent else None,
        )

    def distinct(self, n: IntArray) -> tuple[Rows, IntArray]:
        """The distinct records, sorted by hash, with their numbers. n: how often each of these
        records occurs, shape (records,)

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
        """The order of the records by hash, then codes, shape (n,). It does not depend on their
        given order.
        """
        order = np.argsort(self.hash)
        same = np.diff(self.hash[order]) == 0
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        among = order[tied]
        keys = (*(codes[among] for codes in self.quasi), self.cell[among], self.hash[among])
        order[tied] = among[np.lexsort(keys)]
        return order


def known_codes(codes: IntArray, absent: BoolArray, starts: IntArray) -> IntArray:
    """Codes of groups of consecutive records that begin at `starts`, with those that are absent
    replaced: by a code that another record of the group has, or by MISSING if it has none.

    >>> known_codes(np.array([31, 90, 38, 40]), np.array([False, True, False, True]), np.array([0, 3])).tolist()
    [31, 38, 38, -9223372036854775808]
    """
    known = np.where(absent, MISSING, codes)
    highest = np.maximum.reduceat(known, starts)
    return np.where(absent, np.repeat(highest, np.diff(np.append(starts, len(codes)))), codes)


class UnknownValueError(ValueError):
    """A row has a value that the profile does not have."""


@dataclass(frozen=True)
class Codec:
    """Converts Arrow columns of prepared rows to Rows, and Rows to fixed-width binary values and
    back.

    counted: the numbers of rows that cells have codes of, after the sensitive values: see
        `Profile.counted`.
    owners: those of rows.
    leads: whether rows have a `lead`.
    """

    quasi: tuple[QuasiDomain, ...]
    sensitive: tuple[tuple[str | None, ...], ...]
    cells: IntArray
    counted: tuple[tuple[int, ...], ...] = ()
    owners: tuple[str, ...] = ()
    leads: bool = False

    @staticmethod
    def of(profile: Profile, owners: Sequence[str] = ()) -> Codec:
        """The codec of a profile's domains. owners: of rows, if not only those that cells
        know of.
        """
        return Codec(
            profile.quasi,
            tuple(s.values for s in profile.sensitive),
            profile.cell_codes,
            tuple(profile.counted.values()),
            tuple(owners) or profile.owners,
            profile.leads,
        )

    @property
    def draws(self) -> bool:
        """Whether missing values may be any value, so that rows have `absent`."""
        return any(domain.drawn for domain in self.quasi)

    @property
    def for_methods(self) -> Codec:
        """The codec of `Rows.for_methods`."""
        return replace(self, leads=False)

    def encode(
        self,
        quasi: Sequence[pa.Array],
        sensitive: Sequence[pa.Array],
        hashes: HashArray,
        counted: Sequence[pa.Array] = (),
        owners: Mapping[str, pa.Array] | None = None,
        lead: Sequence[pa.Array] = (),
    ) -> Rows:
        """Rows of Arrow columns: prepared quasi-identifiers, sensitive values as text, and hashes.
        Text may be dictionary-encoded (see `dictionaries`). counted, owners: by staged column, the
        numbers that cells know of, and whose rows are. lead: the quasi-identifiers of the first row
        of each row's person, if they are staged.

        Raises:
            UnknownValueError: if a value is not in the profile's domains.
        """
        places = [
            _index(column, values) for values, column in zip(self.sensitive, sensitive, strict=True)
        ]
        for numbers, column in zip(self.counted, counted, strict=True):
            places.append(np.searchsorted(numbers, column.cast(pa.int64()).to_numpy()))
        whose = {name: column.to_numpy() for name, column in (owners or {}).items()}
        # Rows of a person that stay together draw the same.
        keys = whose[PERSON].view(np.uint64) if lead else hashes
        codes, absent = self._codes(quasi, keys)
        leads = self._codes(lead, keys)[0] if self.leads else None
        return Rows(codes, self._cells_of(places), hashes, whose, leads, absent)

    def _codes(
        self,
        columns: Sequence[pa.Array],
        keys: HashArray,
    ) -> tuple[tuple[IntArray, ...], BoolArray | None]:
        """(codes; if missing values may be any value, which are drawn). keys: what decides a drawn
        code.
        """
        codes = [
            _encode_column(domain, column)
            for domain, column in zip(self.quasi, columns, strict=True)
        ]
        if not self.draws:
            return tuple(codes), None
        absent = np.stack([q == MISSING for q in codes], axis=1)
        for i, domain in enumerate(self.quasi):
            if domain.drawn:
                codes[i] = np.where(absent[:, i], draw_codes(domain.drawn, keys, i), codes[i])
        absent &= np.array([bool(domain.drawn) for domain in self.quasi])
        return tuple(codes), absent

    @property
    def _domains(self) -> list[int]:
        """How many codes each column of `cells` has."""
        return [len(values) for values in (*self.sensitive, *self.counted)]

    @cached_property
    def _prefixes(self) -> list[IntArray]:
        """For each sensitive attribute, the ascending numbers of the tuple prefixes that some cell
        has, up to this attribute.

        The number of a prefix is the place of the prefix without its last code, times the size of
        the domain, plus that code.
        """
        tables = []
        known = np.zeros(len(self.cells), dtype=np.int64)
        for size, codes in zip(self._domains, self.cells.T, strict=True):
            table, known = np.unique(known * size + codes, return_inverse=True)
            tables.append(table)
        return tables

    def _cells_of(self, codes: Sequence[IntArray]) -> IntArray:
        place = np.zeros(len(codes[0]), dtype=np.int64)
        for size, code, table in zip(self._domains, codes, self._prefixes, strict=True):
            place = place * size + code
            rank = np.minimum(np.searchsorted(table, place), len(table) - 1)
            if np.any(table[rank] != place):
                raise UnknownValueError("sensitive values")
            place = rank
        return place  # cells are sorted, so the place of the whole tuple is the cell

    @property
    def _layout(self) -> np.dtype[np.void]:
        fields: list[Any] = [
            ("hash", "<u8"),
            ("cell", "<i4"),
            *((name, "<i8") for name in self.owners),
        ]
        for kind in "ql" if self.leads else "q":
            for i, domain in enumerate(self.quasi):
                narrow = domain.kind == "category" and len(domain.values) < 2**15
                fields.append((f"{kind}{i}", "<i2" if narrow else "<i8"))
        if self.draws:
            fields.append(("absent", "?", (len(self.quasi),)))
        return np.dtype(fields)

    def pack(self, rows: Rows) -> NDArray[np.void]:
        """The rows as records of some tens of bytes, shape (n,)."""
        packed = np.empty(len(rows), dtype=self._layout)
        packed["hash"] = rows.hash
        packed["cell"] = rows.cell
        for name in self.owners:
            packed[name] = rows.owners.get(name, 0)
        if self.draws:
            packed["absent"] = False if rows.absent is None else rows.absent
        for kind, columns in (("q", rows.quasi), ("l", rows.lead or ())):
            for i, codes in enumerate(columns):
                held = packed[f"{kind}{i}"]
                held[:] = (
                    codes if held.dtype == np.int64 else np.maximum(codes, np.iinfo(held.dtype).min)
                )
        # Without fields, as whole ones move 15 times as fast.
        return packed.view(np.dtype((np.void, packed.itemsize)))

    def unpack(self, data: Any) -> Rows:
        """The rows of packed records."""
        packed = np.frombuffer(data, dtype=self._layout)

        def codes(name: str) -> IntArray:
            held = packed[name]
            wide = held.astype(np.int64)
            return (
                wide
                if held.dtype == np.int64
                else np.where(wide == np.iinfo(held.dtype).min, MISSING, wide)
            )

        quasi, *lead = [
            tuple(codes(f"{kind}{i}") for i in range(len(self.quasi)))
            for kind in ("ql" if self.leads else "q")
        ]
        owners = {name: packed[name].copy() for name in self.owners}
        leads = lead[0] if lead else None
        absent = packed["absent"].copy() if self.draws else None
        return Rows(
            quasi,
            packed["cell"].astype(np.int64),
            packed["hash"].copy(),
            owners,
            leads,
            absent,
        )

    def decode(self, rows: Rows) -> list[pa.Array]:
        """The prepared quasi-identifiers of rows: dictionary-encoded strings, int64 or double."""
        return [
            _decode_column(domain, codes)
            for domain, codes in zip(self.quasi, rows.raw.quasi, strict=True)
        ]

    def sensitive_texts(self, rows: Rows) -> list[pa.Array]:
        """The sensitive values of rows as dictionary-encoded text."""
        codes = self.cells[rows.cell]
        return [
            pa.DictionaryArray.from_arrays(pa.array(codes[:, i]), pa.array(values, pa.string()))
            for i, values in enumerate(self.sensitive)
        ]


def draw_codes(drawn: Sequence[tuple[int, int]], keys: HashArray, column: int) -> IntArray:
    """A code for each key, shape (n,), each with a chance that grows with its rows. Keys are
    uniform hashes; the place of the column makes draws of several columns independent.

    drawn: codes with their rows (see `QuasiDomain`).
    """
    codes, rows = np.array(drawn, dtype=np.int64).T
    below = np.cumsum(rows)
    place = mixed_hashes(keys, column) % np.uint64(below[-1])
    result: IntArray = codes[np.searchsorted(below, place.astype(np.int64), side="right")]
    return result


def mixed_hashes(hashes: HashArray, number: int) -> HashArray:
    """Uniform hashes that follow from these and a number, shape (n,), as `kernels.mixing.mixed`
    makes them (SplitMix64; Steele, Lea and Flood 2014).
    """
    with np.errstate(over="ignore"):
        mixed = hashes + np.uint64(0x9E3779B97F4A7C15) * np.uint64(number + 1)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


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
    return number_codes(column)


def _decode_column(domain: QuasiDomain, codes: IntArray) -> pa.Array:
    missing = codes == MISSING
    if domain.kind == "category":
        places = pa.array(np.where(missing, len(domain.values), codes))
        return pa.DictionaryArray.from_arrays(places, pa.array([*domain.values, None], pa.string()))
    if domain.kind == "integer":
        return pa.array(codes, mask=missing)
    return pa.array(decode_numbers(codes), mask=missing)
