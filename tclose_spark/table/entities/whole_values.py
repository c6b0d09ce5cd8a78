"""A sample of rows that holds whole values: all rows of some values of each column.

A sample of single rows has one row of most people, so it cannot show what is constant within a
person. Here a row is drawn if the hash of one of its values is low. The drawn rows follow from the
content of the table alone, in whatever order its rows are, and however many tasks they are divided
among.

A hash also shows whether its value looks measured: such a value is no key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tclose_spark.table.arrays import BoolArray, HashArray, IntArray
from tclose_spark.table.columns.patterns import DATE
from tclose_spark.table.columns.preparing import plain

MOST_ROWS = 50_000
MOST_CELLS = 4_000_000  # of the sample, so that tables of many columns need no more memory
# A value with more draws no rows: it is neither a person nor a household.
MOST_ROWS_OF_VALUE = 1_000
MOST_ROWS_ON_AVERAGE = 200  # of the values of a column; a column with more draws no rows
SPARE = 1.25  # times MOST_ROWS, above which a task reduces its sample
BITS = 64  # of a hash; with 32, the few that are drawn of a billion would be equal too often

Scalar = TypeVar("Scalar", np.uint64, np.bool_)
Hashes = NDArray[np.uint64]
"""Hashes of values. 0 is a missing value. The last bit is 1 if the value looks measured."""

MEASURED = np.uint64(1)
LEAST = np.uint64(2)  # of the hash of a value
NEVER = np.uint64((1 << BITS) - 1)  # above the hashes that may draw a row
MOSTLY = 0.5  # share of values that look measured, above which a column is a measurement
MISSING = -1  # among codes
WORD = 8  # bytes of a text that are hashed at once
ODD = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(BITS // 2)
CACHED = 1 << 13  # rows that are hashed at once, so that they stay in the cache
CLOCK = r"^\s*[0-9]{1,2}:[0-5][0-9](:[0-5][0-9])?\s*$"
FRACTION = r"^\s*[+-]?[0-9]*[.,][0-9]*[1-9][0-9]*\s*$"


def value_hashes(column: pa.Array) -> Hashes:
    """The hash of each row's value without its last bit, shape (n,): 0 if the value is missing,
    NaN, empty or blank.

    >>> (value_hashes(pa.array(["a", None, " ", "a"])) > 0).tolist()
    [True, False, False, True]
    """
    if pa.types.is_dictionary(column.type):
        return _of_rows(column, value_hashes(column.dictionary), np.uint64(0))
    values = plain(column)
    hashes = _mixed(_as_numbers(values))
    if values.null_count:
        hashes[values.is_null().to_numpy(zero_copy_only=False)] = 0
    if pa.types.is_string(values.type):
        blank = pc.or_(pc.utf8_is_space(values), pc.equal(pc.binary_length(values), 0)).fill_null(
            True,
        )
        hashes[blank.to_numpy(zero_copy_only=False)] = 0
    return hashes


def looks_measured(column: pa.Array) -> BoolArray:
    """Whether each row's value is a number with a fraction, a date or a time, shape (n,).

    >>> looks_measured(pa.array(["1.5", "12", "2.0", None, "2024-02-29", "A1"])).tolist()
    [True, False, False, False, True, False]
    """
    if pa.types.is_dictionary(column.type):
        return _of_rows(column, looks_measured(column.dictionary), np.bool_(False))
    kind = column.type
    if pa.types.is_temporal(kind):
        return np.ones(len(column), dtype=bool)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = np.nan_to_num(column.cast(pa.float64(), safe=False).fill_null(0).to_numpy())
        has_fraction: BoolArray = numbers % 1 != 0
        return has_fraction
    if not pa.types.is_string(kind):
        return np.zeros(len(column), dtype=bool)
    matched = pc.match_substring_regex(column, f"{FRACTION}|^({DATE})$|{CLOCK}").fill_null(False)
    measured: BoolArray = matched.to_numpy(zero_copy_only=False)
    return measured


def _as_numbers(values: pa.Array) -> HashArray:
    """A number for each value, shape (n,): different for different values, nearly always."""
    kind = values.type
    if pa.types.is_floating(kind):
        return _as_unsigned(values.cast(pa.float64()))
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        values = values.cast(pa.int32())
        kind = pa.int32()
    if pa.types.is_temporal(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return _as_unsigned(values.cast(pa.int64(), safe=False))
    return _text_numbers(
        values.cast(pa.large_binary() if pa.types.is_binary(kind) else pa.large_string()),
    )


def _mixed(numbers: HashArray) -> Hashes:
    """Hashes of numbers, different for nearly all different ones."""
    hashes: Hashes = numbers * ODD
    hashes ^= hashes >> HALF
    hashes *= ODD
    hashes &= ~MEASURED
    np.maximum(hashes, LEAST, out=hashes)
    return hashes


def _as_unsigned(numbers: pa.Array) -> HashArray:
    filled = numbers.fill_null(0) if numbers.null_count else numbers
    bits: HashArray = filled.to_numpy().view(np.uint64)
    return bits


def _text_numbers(texts: pa.Array) -> HashArray:
    """A number for each text, shape (n,), of eight bytes at a time. It is many times as fast as a
    cryptographic hash, and nothing rests on it.
    """
    nothing = "" if pa.types.is_large_string(texts.type) else b""
    filled = texts.fill_null(nothing) if texts.null_count else texts
    _, offsets, data = filled.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[filled.offset : filled.offset + len(filled) + 1]
    held = b"" if data is None else memoryview(data)[ends[0] : ends[-1]]
    padded = np.frombuffer(bytes(held) + bytes(WORD), dtype=np.uint8)
    words = np.ndarray(len(padded) - WORD + 1, dtype="<u8", buffer=padded, strides=(1,))
    starts = ends[:-1] - ends[0]
    lengths = np.diff(ends)
    numbers: HashArray = lengths.astype(np.uint64) * ODD
    for place in range(0, int(lengths.max(initial=0)), WORD):
        longer = slice(None) if lengths.min() > place else np.flatnonzero(lengths > place)
        beyond = np.maximum(0, WORD - (lengths[longer] - place)).astype(np.uint64) * np.uint64(WORD)
        word = words[starts[longer] + place] << beyond
        mixed = (numbers[longer] ^ word) * ODD
        mixed ^= mixed >> HALF
        numbers[longer] = mixed
    return numbers


def _of_rows(
    column: pa.DictionaryArray,
    of_values: NDArray[Scalar],
    of_missing: Scalar,
) -> NDArray[Scalar]:
    """What belongs to each row's value, shape (n,). of_values: by place in the dictionary."""
    if not column.indices.null_count:
        of_known: NDArray[Scalar] = of_values[column.indices.to_numpy()]
        return of_known
    places = column.indices.fill_null(len(of_values)).to_numpy()
    of_rows: NDArray[Scalar] = np.append(of_values, of_missing)[places]
    return of_rows


def _last(level: int) -> np.uint64:
    """The highest hash that begins with this many zeros; at level 0, of a value that may draw its
    row.
    """
    return NEVER - np.uint64(1) if level == 0 else np.uint64((1 << (BITS - level)) - 1)


@dataclass(frozen=True, kw_only=True)
class CodedValues:
    """The values of a dictionary, shape (values,). hashes: with MEASURED. draws: whether each draws
    its rows.
    """

    hashes: Hashes
    draws: BoolArray


@dataclass(frozen=True, kw_only=True)
class WholeValues:
    """A sample of the rows of a table, or of a part of it.

    hashes: of the sampled rows' values, shape (sampled rows, columns).
    rows: of the table.
    level: a column's values are whole in the sample if their hashes begin with this many zeros.
    draws: for each column, whether its values draw rows; its values are whole only then.
    frequent: for each column, the hashes of values with too many rows, which draw none.
    """

    hashes: Hashes
    rows: int
    level: int
    draws: tuple[bool, ...]
    frequent: tuple[frozenset[int], ...]

    @staticmethod
    def empty(columns: int) -> WholeValues:
        """Of no rows."""
        nothing = np.zeros((0, columns), dtype=np.uint64)
        return WholeValues(
            hashes=nothing,
            rows=0,
            level=0,
            draws=(True,) * columns,
            frequent=(frozenset(),) * columns,
        )

    def __add__(self, other: WholeValues) -> WholeValues:
        """The sample of two parts of a table, which may have more than MOST_ROWS rows."""
        return WholeValues(
            hashes=np.concatenate([self.hashes, other.hashes]),
            rows=self.rows + other.rows,
            level=max(self.level, other.level),
            draws=tuple(map(min, self.draws, other.draws)),
            frequent=tuple(map(frozenset.union, self.frequent, other.frequent)),
        )

    @property
    def most(self) -> int:
        """The largest number of rows that it is to have."""
        columns: int = self.hashes.shape[1]
        return min(MOST_ROWS, MOST_CELLS // max(1, columns))

    def whole(self, column: int) -> BoolArray:
        """Whether a column's value in each row is whole in the sample, shape (sampled rows,)."""
        if not self.draws[column]:
            return np.zeros(len(self.hashes), dtype=bool)
        return self._is_drawn(self.hashes[:, column], column)

    def counts(self, column: int) -> tuple[int, int]:
        """(rows, different values) of a column's whole values; of all its sampled values, if they
        draw no rows.
        """
        used = self.whole(column) if self.draws[column] else self.hashes[:, column] > 0
        return int(np.count_nonzero(used)), len(np.unique(self.hashes[used, column]))

    def codes(self, column: int) -> IntArray:
        """The values of a column as 0, 1, ..., or MISSING, shape (sampled rows,)."""
        values, codes = np.unique(self.hashes[:, column], return_inverse=True)
        has_missing = len(values) > 0 and values[0] == 0
        return codes.astype(np.int64) - int(has_missing)

    def is_measured(self, column: int) -> bool:
        """Whether most different values of a column look measured."""
        values = np.unique(self.hashes[:, column])
        return bool(np.count_nonzero(values & MEASURED) > MOSTLY * len(values))

    def ordered(self) -> WholeValues:
        """The sample with its rows in an order that follows from their content alone."""
        of_row = np.zeros(len(self.hashes), dtype=np.uint64)
        for column in self.hashes.T:
            of_row = (of_row ^ column) * ODD
            of_row ^= of_row >> HALF
        return self._with(hashes=self.hashes[np.argsort(of_row)], rows=self.rows)

    def reduced(self) -> WholeValues:
        """The sample at the lowest level at which it has at most MOST_ROWS rows."""
        is_large = self.level > 0 or len(self.hashes) > self.most
        sample = self.without_frequent() if is_large else self
        lowest = sample._lowest()
        level = sample.level
        while np.count_nonzero(lowest <= _last(level)) > self.most:
            level += 1
        drawn = lowest <= _last(level)
        if drawn.all():
            return sample._with(level=level)
        hashes = np.empty(
            (np.count_nonzero(drawn), self.hashes.shape[1]),
            dtype=np.uint64,
            order="F",
        )
        for place, column in enumerate(sample.hashes.T):
            hashes[:, place] = column[drawn]
        return sample._with(level=level, hashes=hashes)

    def drawn_from(
        self,
        columns: Sequence[pa.Array],
        coded: Mapping[int, CodedValues],
    ) -> WholeValues:
        """The sample of more rows of the table at the same level.

        columns: of these rows; by place, those that are dictionaries are `coded`.
        """
        drawn = np.zeros(len(columns[0]), dtype=bool)
        known: dict[int, Hashes] = {}
        for place, column in enumerate(columns):
            if place in coded:
                drawn |= coded[place].draws.any() and _of_rows(
                    column,
                    coded[place].draws,
                    np.bool_(False),
                )
            elif self.draws[place]:
                known[place] = value_hashes(column)
                drawn |= self._is_drawn(known[place], place)
        rows = np.flatnonzero(drawn)
        hashes = np.empty((len(rows), len(columns)), dtype=np.uint64, order="F")
        for place, column in enumerate(columns):
            values = column if len(rows) == len(column) else column.take(pa.array(rows))
            if place in coded:
                hashes[:, place] = _of_rows(values, coded[place].hashes, np.uint64(0))
            else:
                of_rows = known[place][rows] if place in known else value_hashes(values)
                hashes[:, place] = of_rows | looks_measured(values)
        return self._with(hashes=hashes, rows=len(columns[0]))

    def coded(self, column: pa.DictionaryArray, place: int) -> CodedValues:
        """The values of a column that is a dictionary."""
        hashes = value_hashes(column.dictionary)
        draws = self._is_drawn(hashes, place) & self.draws[place]
        return CodedValues(hashes=hashes | looks_measured(column.dictionary), draws=draws)

    def to_bytes(self) -> bytes:
        """The sample for `from_bytes`."""
        about = {
            "rows": self.rows,
            "level": self.level,
            "draws": self.draws,
            "frequent": [sorted(hashes) for hashes in self.frequent],
        }
        columns = [pa.array(column) for column in self.hashes.T]
        batch = pa.RecordBatch.from_arrays(
            columns,
            names=[f"c{place}" for place in range(len(columns))],
        )
        batch = batch.replace_schema_metadata({"about": json.dumps(about)})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        written: bytes = sink.getvalue().to_pybytes()
        return written

    @staticmethod
    def from_bytes(written: bytes) -> WholeValues:
        """The sample that `to_bytes` wrote."""
        batch = pa.ipc.open_stream(written).read_next_batch()
        about = json.loads(batch.schema.metadata[b"about"])
        columns = [column.to_numpy() for column in batch.columns]
        return WholeValues(
            hashes=np.stack(columns, axis=1),
            rows=about["rows"],
            level=about["level"],
            draws=tuple(about["draws"]),
            frequent=tuple(map(frozenset, about["frequent"])),
        )

    def _with(
        self,
        *,
        hashes: Hashes | None = None,
        rows: int | None = None,
        level: int | None = None,
    ) -> WholeValues:
        return WholeValues(
            hashes=self.hashes if hashes is None else hashes,
            rows=self.rows if rows is None else rows,
            level=self.level if level is None else level,
            draws=self.draws,
            frequent=self.frequent,
        )

    def _lowest(self) -> Hashes:
        """The lowest hash of each sampled row that may draw it; NEVER if there is none, shape
        (sampled rows,).
        """
        lowest = np.full(len(self.hashes), NEVER)
        for place, column in enumerate(self.hashes.T):
            if self.draws[place]:
                drawn = self._is_drawn(column, place)
                np.minimum(lowest, column, out=lowest, where=drawn)
        return lowest

    def _is_drawn(self, hashes: Hashes, column: int) -> BoolArray:
        """Whether each value of a column draws its row, shape (n,)."""
        drawn: BoolArray = hashes <= _last(self.level)
        drawn &= hashes > 0
        if frequent := self.frequent[column]:
            found = np.flatnonzero(drawn)
            drawn[found] = ~np.isin(
                hashes[found] & ~MEASURED,
                np.array(sorted(frequent), dtype=np.uint64),
            )
        return drawn

    def without_frequent(self) -> WholeValues:
        """The sample whose frequent values draw no rows, nor do columns of few values."""
        draws = list(self.draws)
        frequent = list(self.frequent)
        for place in range(self.hashes.shape[1]):
            if not draws[place]:
                continue
            values, rows = np.unique(
                self.hashes[self.whole(place), place] & ~MEASURED,
                return_counts=True,
            )
            is_frequent = rows > MOST_ROWS_OF_VALUE
            frequent[place] |= frozenset(values[is_frequent].tolist())
            rare = rows[~is_frequent]
            if len(values) > 1:  # one may stand for missing persons, whose rows come first
                draws[place] = bool(0 < rare.sum() <= MOST_ROWS_ON_AVERAGE * len(rare))
        return WholeValues(
            hashes=self.hashes,
            rows=self.rows,
            level=self.level,
            draws=tuple(draws),
            frequent=tuple(frequent),
        )


class Sampler:
    """Draws the sample of rows that come in batches."""

    def __init__(self, columns: int) -> None:
        self._sample = WholeValues.empty(columns)
        self._parts: list[Hashes] = []
        self._drawn = self._rows = 0

    def add(self, columns: Sequence[pa.Array]) -> None:
        """Draws from a batch with these columns, which may be dictionaries."""
        sample = self._sample
        dictionaries = enumerate(columns)
        coded = {
            place: sample.coded(column, place)
            for place, column in dictionaries
            if pa.types.is_dictionary(column.type)
        }
        for start in range(0, len(columns[0]), CACHED):
            part = sample.drawn_from([column.slice(start, CACHED) for column in columns], coded)
            self._parts.append(part.hashes)
            self._drawn += len(part.hashes)
            self._rows += part.rows
        if self._drawn > SPARE * sample.most:
            self._sample = self.sample().reduced()
            self._parts, self._drawn = [self._sample.hashes], len(self._sample.hashes)

    def sample(self) -> WholeValues:
        """The sample so far, which may have up to SPARE times MOST_ROWS rows and those of a
        batch.
        """
        empty = self._sample.hashes[:0]
        return self._sample._with(hashes=np.concatenate([empty, *self._parts]), rows=self._rows)


def sample_of(batches: Iterable[pa.RecordBatch], columns: int) -> WholeValues:
    """The sample of batches with this many columns."""
    sampler = Sampler(columns)
    for batch in batches:
        sampler.add(batch.columns)
    return sampler.sample()
