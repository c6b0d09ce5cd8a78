"""A sample of rows that holds whole values: all rows of some values of each column.

A sample of single rows has one row of most people, so it cannot show what is constant within a person. Here a row is
drawn if the hash of one of its values is low. The drawn rows follow from the content of the table alone, in whatever
order its rows are, and however many tasks they are divided among.

A hash also shows whether its value looks measured: such a value is no key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tclose_spark.table.arrays import BoolArray, HashArray, IntArray
from tclose_spark.table.columns.patterns import DATE
from tclose_spark.table.columns.preparing import plain
from tclose_spark.table.fingerprint import spread

MOST_ROWS = 100_000
MOST_CELLS = 4_000_000  # of the sample, so that tables of many columns need no more memory
MOST_ROWS_OF_VALUE = 1_000  # a value with more draws no rows: it is neither a person nor a household
MOST_ROWS_ON_AVERAGE = 200  # of the values of a column; a column with more draws no rows
BITS = 32

Scalar = TypeVar("Scalar", np.uint32, np.bool_)
Hashes = NDArray[np.uint32]
"""Hashes of values. 0 is a missing value. The last bit is 1 if the value looks measured."""

MEASURED = np.uint32(1)
MISSING = -1  # among codes
PLACES = np.random.default_rng(2026).integers(1, 1 << 63, 4096, dtype=np.uint64)
"""A random number for each place in a text."""
FRACTION = r"^\s*[+-]?[0-9]*[.,][0-9]*[1-9][0-9]*\s*$"


def value_hashes(column: pa.Array) -> Hashes:
    """The hash of each row's value without its last bit, shape (n,): 0 if the value is missing, NaN, empty or blank.

    >>> (value_hashes(pa.array(["a", None, " ", "a"])) > 0).tolist()
    [True, False, False, True]
    """
    if pa.types.is_dictionary(column.type):
        return _of_rows(column, value_hashes(column.dictionary), np.uint32(0))
    values = plain(column)
    known = values.is_valid()
    if pa.types.is_string(values.type):
        known = pc.and_(known, pc.not_equal(pc.utf8_trim_whitespace(values.fill_null("")), ""))
    hashes = (spread(_as_numbers(values)) >> np.uint64(BITS)).astype(np.uint32)
    hashes = np.maximum(hashes & ~MEASURED, 2)
    return np.where(known.to_numpy(zero_copy_only=False), hashes, 0).astype(np.uint32)


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
    matched = pc.match_substring_regex(column, f"{FRACTION}|^({DATE})$").fill_null(False)
    measured: BoolArray = matched.to_numpy(zero_copy_only=False)
    return measured


def _as_numbers(values: pa.Array) -> HashArray:
    """A number for each value, shape (n,): different for different values, nearly always."""
    kind = values.type
    if pa.types.is_floating(kind):
        return _as_unsigned(values.cast(pa.float64()))
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        values, kind = values.cast(pa.int32()), pa.int32()
    if pa.types.is_temporal(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return _as_unsigned(values.cast(pa.int64(), safe=False))
    return _text_numbers(values.cast(pa.large_binary() if pa.types.is_binary(kind) else pa.large_string()))


def _as_unsigned(numbers: pa.Array) -> HashArray:
    bits: HashArray = numbers.fill_null(0).to_numpy().view(np.uint64)
    return bits


def _text_numbers(texts: pa.Array) -> HashArray:
    """A number for each text, shape (n,): the sum of its bytes, each times a random number of its place (Carter and
    Wegman 1979). It is 20 times as fast as a cryptographic hash, and nothing rests on it.
    """
    filled = texts.fill_null("" if pa.types.is_large_string(texts.type) else b"")
    _, offsets, data = filled.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[filled.offset : filled.offset + len(filled) + 1]
    if data is None or not len(filled):
        return np.zeros(len(filled), dtype=np.uint64)
    held = np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]].astype(np.uint64)
    lengths = np.diff(ends)
    place = np.arange(len(held)) - np.repeat(ends[:-1] - ends[0], lengths)
    weighed = (held + np.uint64(1)) * PLACES[place % len(PLACES)]
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(weighed)])
    numbers: HashArray = sums[ends[1:] - ends[0]] - sums[ends[:-1] - ends[0]]
    return numbers


def _of_rows(column: pa.DictionaryArray, of_values: NDArray[Scalar], of_missing: Scalar) -> NDArray[Scalar]:
    """What belongs to each row's value, shape (n,). of_values: by place in the dictionary."""
    places = column.indices.fill_null(len(of_values)).to_numpy()
    of_rows: NDArray[Scalar] = np.append(of_values, of_missing)[places]
    return of_rows


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
        nothing = np.zeros((0, columns), dtype=np.uint32)
        return WholeValues(hashes=nothing, rows=0, level=0, draws=(True,) * columns, frequent=(frozenset(),) * columns)

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

    def codes(self, column: int) -> IntArray:
        """The values of a column as 0, 1, ..., or MISSING, shape (sampled rows,)."""
        values, codes = np.unique(self.hashes[:, column], return_inverse=True)
        has_missing = len(values) > 0 and values[0] == 0
        return codes.astype(np.int64) - int(has_missing)

    def reduced(self) -> WholeValues:
        """The sample at the lowest level at which it has at most MOST_ROWS rows."""
        sample = self._without_frequent() if len(self.hashes) > self.most else self
        drawn = sample._drawn()
        while np.count_nonzero(drawn) > self.most:
            sample = sample._with(level=sample.level + 1)
            drawn = sample._drawn()
        return sample._with(hashes=sample.hashes[drawn])

    def extended(self, columns: Sequence[pa.Array]) -> WholeValues:
        """The sample with more rows of the table, whose columns may be dictionaries."""
        drawing = {place: value_hashes(columns[place]) for place, draws in enumerate(self.draws) if draws}
        drawn = np.zeros(len(columns[0]), dtype=bool)
        for place, hashes in drawing.items():
            drawn |= self._is_drawn(hashes, place)
        rows = np.flatnonzero(drawn)
        taken = pa.array(rows)
        hashes = np.empty((len(rows), len(columns)), dtype=np.uint32)
        for place, column in enumerate(columns):
            values = column.take(taken)
            known = drawing.get(place)
            of_rows = value_hashes(values) if known is None else known[rows]
            hashes[:, place] = np.where(looks_measured(values), of_rows | MEASURED, of_rows)
        added = self + self._with(hashes=hashes, rows=len(columns[0]))
        return added.reduced() if len(added.hashes) > 2 * self.most else added

    def to_bytes(self) -> bytes:
        """The sample for `from_bytes`."""
        about = {
            "rows": self.rows,
            "level": self.level,
            "draws": self.draws,
            "frequent": [sorted(hashes) for hashes in self.frequent],
        }
        columns = [pa.array(column) for column in self.hashes.T]
        batch = pa.RecordBatch.from_arrays(columns, names=[f"c{place}" for place in range(len(columns))])
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

    def _with(self, *, hashes: Hashes | None = None, rows: int | None = None, level: int | None = None) -> WholeValues:
        return WholeValues(
            hashes=self.hashes if hashes is None else hashes,
            rows=self.rows if rows is None else rows,
            level=self.level if level is None else level,
            draws=self.draws,
            frequent=self.frequent,
        )

    def _drawn(self) -> BoolArray:
        """Whether each sampled row is drawn at the level of the sample, shape (sampled rows,)."""
        drawn = np.zeros(len(self.hashes), dtype=bool)
        for place in range(self.hashes.shape[1]):
            drawn |= self.whole(place)
        return drawn

    def _is_drawn(self, hashes: Hashes, column: int) -> BoolArray:
        """Whether each value of a column draws its row, shape (n,)."""
        limit = np.uint64(1) << np.uint64(BITS - self.level)
        drawn: BoolArray = (hashes > 0) & (hashes < limit)
        frequent = self.frequent[column]
        if frequent:
            drawn &= ~np.isin(hashes & ~MEASURED, np.array(sorted(frequent), dtype=np.uint32))
        return drawn

    def _without_frequent(self) -> WholeValues:
        """The sample whose frequent values draw no rows, nor do columns of few values."""
        draws, frequent = list(self.draws), list(self.frequent)
        for place in range(self.hashes.shape[1]):
            values, rows = np.unique(self.hashes[self.whole(place), place] & ~MEASURED, return_counts=True)
            many = values[rows > MOST_ROWS_OF_VALUE]
            frequent[place] |= frozenset(many.tolist())
            draws[place] &= bool(rows.sum() <= MOST_ROWS_ON_AVERAGE * len(values))
        return WholeValues(
            hashes=self.hashes, rows=self.rows, level=self.level, draws=tuple(draws), frequent=tuple(frequent)
        )


def sample_of(batches: Iterable[pa.RecordBatch], columns: int) -> WholeValues:
    """The sample of batches with this many columns, which may have up to twice MOST_ROWS rows."""
    sample = WholeValues.empty(columns)
    for batch in batches:
        sample = sample.extended(batch.columns)
    return sample
