"""Tallies: what tasks count while they stage rows, and the profile reads."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain
from operator import or_
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.engine.protocol import Session, Table
from tclose_spark.engine.tables import gather, map_batches
from tclose_spark.errors import InputError
from tclose_spark.measures.sketches import (
    MOST_SAMPLED,
    DistinctCount,
    NumberSample,
    ValueSample,
    estimate,
)
from tclose_spark.measures.sketches import REGISTERS as PLACES
from tclose_spark.runfile.attributes import Attributes
from tclose_spark.stages.staging import batches as staging
from tclose_spark.stages.staging.batches import STAGED, StagedColumns
from tclose_spark.table.arrays import HashArray, IntArray
from tclose_spark.table.columns.preparing import is_damaged
from tclose_spark.table.columns.weights import MILLIONTHS
from tclose_spark.table.dictionaries import decoded, group_equal
from tclose_spark.table.domains import MOST_VALUES, Counts, TupleCounts
from tclose_spark.table.far_numbers import count_ends, ends
from tclose_spark.table.fingerprint import Fingerprint, content_hash
from tclose_spark.table.labels import number_codes

ROWS = -1
DIGEST = -2
MARK = -3
RANGE = -4
REGISTERS = -5
SPELLED = -6
VARYING = -7
WEIGHTS = -8
STOOD_FOR = -9
DRAWN = -10
FAR = -11
"""Tallies that are no histograms: ROWS and DIGEST of the fingerprint; MARK, rows by mark; RANGE,
rows without a number by (place of the quasi-identifier, lowest number, highest number); REGISTERS,
by (insensitive attribute, or "" for rows; register) what estimates distinct values. SPELLED, people
of a sample of spellings by ("", hash). VARYING, people with several values by (place of the
quasi-identifier). WEIGHTS, millionths of people by (place of the sensitive attribute, value).
STOOD_FOR, about the sum of the weights in people. DRAWN, rows of a sample of numbers by (place of
the quasi-identifier, hash of the row, code of the number). FAR, rows of the lowest and highest
numbers by (place, number).
"""


@dataclass(frozen=True)
class NumberRange:
    """The ends of a set of numbers, and the number of rows without one. Of no numbers, the lowest
    is above the highest.

    >>> NumberRange.of(pa.array([3, None, 1])) | NO_NUMBERS
    NumberRange(low=1, high=3, missing=1)
    """

    low: float
    high: float
    missing: int

    @staticmethod
    def of(numbers: pa.Array) -> NumberRange:
        """The range of a column of integers or doubles."""
        if numbers.null_count == len(numbers):
            return NumberRange(math.inf, -math.inf, len(numbers))
        ends = pc.min_max(numbers)
        return NumberRange(ends["min"].as_py(), ends["max"].as_py(), numbers.null_count)

    def __or__(self, other: NumberRange) -> NumberRange:
        return NumberRange(
            min(self.low, other.low),
            max(self.high, other.high),
            self.missing + other.missing,
        )

    def to_key(self) -> list[str]:
        """The ends as text for `from_key`."""
        return [repr(self.low), repr(self.high)]

    @staticmethod
    def from_key(ends: Sequence[str], missing: int) -> NumberRange:
        """The range whose ends `to_key` wrote."""
        low, high = map(read_number, ends)
        return NumberRange(low, high, missing)


def read_number(text: str) -> float:
    """The number whose `repr` this is: an integer if it was one."""
    return int(text) if text.lstrip("-").isdigit() else float(text)


TALLIES = pa.schema([STAGED.field(name) for name in ("tally", "key", "n")])
NO_NUMBERS = NumberRange(math.inf, -math.inf, 0)


class TaskTallies:
    """The tallies of one task: a histogram or a range of each quasi-identifier, a histogram of
    sensitive tuples, and the tallies listed above.
    """

    def __init__(self, columns: StagedColumns, marks: Sequence[str]) -> None:
        self._columns = columns
        self._histograms: list[pa.Table | None] = [None] * (len(columns.numeric) + 1)
        self._ranges = {
            place: NO_NUMBERS for place, numeric in enumerate(columns.numeric) if numeric
        }
        self._ends = {place: dict[float, int]() for place in self._ranges}
        self._drawn = {place: NumberSample.empty() for place in columns.drawn}
        self._fingerprint = Fingerprint(0, 0)
        self._marked = dict.fromkeys(marks, 0)
        self._distinct = {name: DistinctCount.empty() for name in ("", *columns.insensitive_names)}
        self._spelled = ValueSample.empty()
        self._weights: list[pa.Table | None] = [None] * columns.sensitive
        self._stood_for = 0
        self._varying = [0] * len(columns.leads)

    def add(
        self,
        held: Sequence[pa.Array],
        marks: Sequence[int],
        spellings: HashArray,
        owned: Mapping[str, pa.Array],
        varying: Sequence[int] = (),
        weights: IntArray | None = None,
    ) -> None:
        """Counts the rows of a batch.

        marks: the number of rows with each.
        spellings: the hashes of those of people.
        owned: the columns of whose rows are, and of their numbers.
        varying: see `person_columns`.
        weights: of rows, in millionths of people.
        """
        columns = self._columns
        for place, column in enumerate(columns.quasi(held)):
            if place in self._ranges:
                self._ranges[place] |= NumberRange.of(column)
                self._ends[place] = count_ends(self._ends[place], column)
            else:
                self._histograms[place] = _added(self._histograms[place], _histogram([column]))
        if columns.sensitive:
            numbers = [owned[name].cast(pa.int32()) for name in columns.counted]
            self._histograms[-1] = _added(
                self._histograms[-1],
                _histogram([*columns.texts(held), *numbers]),
            )
        if weights is not None:
            self._stood_for += int(weights.sum(dtype=np.float64) / MILLIONTHS)
            for place, column in enumerate(columns.texts(held)):
                self._weights[place] = _added(self._weights[place], _histogram([column], weights))
        for name, n in zip(self._marked, marks, strict=True):
            self._marked[name] += n
        # Recorded fingerprints have this order.
        whose = (owned[name] for name in reversed(columns.hashed))
        hashes = content_hash([*columns.published(held), *whose])
        self._fingerprint += Fingerprint.of_hashes(hashes)
        for place, sample in self._drawn.items():
            column = columns.quasi(held)[place]
            known = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
            self._drawn[place] = sample.add(
                hashes[known],
                number_codes(column.take(pa.array(known))),
            )
        insensitive = columns.passed(held)[columns.insensitive]
        seen = [hashes, *(content_hash([column]) for column in insensitive)]
        for count, of_rows in zip(self._distinct.values(), seen, strict=True):
            count.add(of_rows)
        self._spelled = self._spelled.add(spellings)
        self._varying = [before + more for before, more in zip(self._varying, varying, strict=True)]

    def rows(self) -> Iterator[tuple[int, str, int]]:
        """The tallies as (tally, key, n)."""
        for tally, key, n in self._tallies():
            yield tally, json.dumps(key, ensure_ascii=False), n

    def _tallies(self) -> Iterator[tuple[int, list[Any], int]]:
        yield ROWS, [], self._fingerprint.rows
        yield DIGEST, [], self._fingerprint.digest
        yield STOOD_FOR, [], self._stood_for
        for name, n in self._marked.items():
            yield MARK, [name], n
        for place, found in self._ranges.items():
            yield RANGE, [str(place), *found.to_key()], found.missing
        for place, numbers in self._ends.items():
            for number, n in numbers.items():
                yield FAR, [str(place), repr(number)], n
        for place, drawn in self._drawn.items():
            for hashed, code, n in zip(
                *map(np.ndarray.tolist, (drawn.hashes, drawn.codes, drawn.counts)),
                strict=True,
            ):
                yield DRAWN, [str(place), f"{hashed:016x}", str(code)], n
        for name, count in self._distinct.items():
            registers = count.registers
            for register in np.flatnonzero(registers).tolist():
                yield REGISTERS, [name, str(register)], int(registers[register])
        for hashed, n in zip(
            self._spelled.hashes.tolist(),
            self._spelled.counts.tolist(),
            strict=True,
        ):
            yield SPELLED, ["", f"{hashed:016x}"], n
        for place, people in enumerate(self._varying):
            yield VARYING, [str(place)], people
        for place, table in enumerate(self._weights):
            yield from ((WEIGHTS, [str(place), *key], n) for *key, n in _listed(table))
        for place, table in enumerate(self._histograms):
            yield from ((place, key, n) for *key, n in _listed(table))


def _listed(table: pa.Table | None) -> Iterable[tuple[Any, ...]]:
    """The rows of a histogram; of None, no rows."""
    return (
        () if table is None else zip(*(column.to_pylist() for column in table.columns), strict=True)
    )


def _histogram(columns: Sequence[pa.Array], weights: IntArray | None = None) -> pa.Table:
    """The distinct tuples of columns, and their rows `n`, or the sum of these weights."""
    group, first = group_equal(columns)
    distinct = [decoded(column.take(pa.array(first))) for column in columns]
    n = np.bincount(group)
    if weights is not None:
        n = np.zeros(len(first), dtype=np.int64)
        np.add.at(n, group, weights)
    return pa.table([*distinct, n], names=[*map(str, range(len(columns))), "n"])


def _added(before: pa.Table | None, counted: pa.Table) -> pa.Table:
    if before is None:
        return counted
    *keys, _ = counted.column_names
    both = pa.concat_tables([before, counted]).group_by(keys, use_threads=False)
    return both.aggregate([("n", "sum")]).rename_columns(counted.column_names)


def staged_tallies(session: Session, path: str) -> Table:
    """The tallies of all tasks, added up: `tally`, `key`, `n`. Of REGISTERS it is the maximum. Of
    SPELLED and DRAWN, tasks that add up keep the lowest hashes of each column only.
    """
    tallies = gather(staging.staged_tallies(session, path), ["tally", "key"])
    return map_batches(tallies, partial(_add_up, most=MOST_SAMPLED), TALLIES)


def _add_up(batches: Iterable[pa.RecordBatch], most: int) -> Iterator[pa.RecordBatch]:
    """Adds up tallies of equal keys, which are in one partition. most: hashes of a column that are
    kept.
    """
    parts = [
        part for batch in batches if (part := batch.filter(batch["tally"].is_valid())).num_rows
    ]
    if not parts:
        return
    table = pa.Table.from_batches(parts)
    is_maximum = pc.equal(table["tally"], REGISTERS)
    for rows, how in (
        (table.filter(is_maximum), "max"),
        (table.filter(pc.invert(is_maximum)), "sum"),
    ):
        added = rows.group_by(["tally", "key"], use_threads=False).aggregate([("n", how)])
        yield from _lowest(
            added.select(["tally", "key", f"n_{how}"]).rename_columns(TALLIES.names),
            most,
        ).to_batches()


def _lowest(tallies: pa.Table, most: int) -> pa.Table:
    """Tallies with the lowest hashes of each column."""
    is_sampled = pc.is_in(tallies["tally"], pa.array([SPELLED, DRAWN], tallies["tally"].type))
    sampled = tallies.filter(is_sampled).sort_by([("tally", "ascending"), ("key", "ascending")])
    keys = zip(sampled["tally"].to_pylist(), sampled["key"].to_pylist(), strict=True)
    column = [(tally, json.loads(key)[0]) for tally, key in keys]
    first = {which: i for i, which in reversed(list(enumerate(column)))}
    rank = np.array([i - first[which] for i, which in enumerate(column)], dtype=np.int64)
    return pa.concat_tables(
        [tallies.filter(pc.invert(is_sampled)), sampled.filter(pa.array(rank < most))],
    )


Tallied = tuple[list[Any], int]
"""A tally: (key, n)."""


@dataclass(frozen=True, kw_only=True)
class Counted:
    """The tallies of all rows.

    histograms: rows by value of each quasi-identifier (empty for numbers), and last by sensitive
        tuple.
    ranges: by numeric quasi-identifier.
    far: by numeric quasi-identifier, rows of the numbers at its ends.
    marked: rows by mark.
    distinct: estimated values of each insensitive attribute.
    distinct_rows: estimated different rows.
    spelled: a sample of the spellings of people, with the people of each.
    varying: people with several values, by quasi-identifier, if people keep their rows together.
    drawn: by quasi-identifier, rows of a sample by code of the number, if missing values are drawn
        from it.
    weights: millionths of people by value of each sensitive attribute, if rows have weights.
    stood_for: about their sum in people, from the same rows.
    """

    fingerprint: Fingerprint
    histograms: list[TupleCounts]
    ranges: dict[str, NumberRange]
    far: dict[str, dict[float, int]]
    marked: dict[str, int]
    distinct: dict[str, int]
    distinct_rows: int
    spelled: ValueSample
    varying: tuple[int, ...]
    drawn: dict[str, NumberSample]
    weights: list[Counts]
    stood_for: int

    @property
    def has_damaged_values(self) -> bool:
        """Whether a value has text that could not be read."""
        keys = chain.from_iterable(self.histograms)
        values = [value for value in chain.from_iterable(keys) if not isinstance(value, int)]
        return bool(is_damaged(pa.array(values, pa.string())).any())


def read_tallies(tallies: pa.Table, attributes: Attributes) -> Counted:
    """The tallies that `staged_tallies` added up.

    Raises:
        InputError: if there are more values than MOST_VALUES.
    """
    quasi = list(attributes.quasi_identifiers)
    sensitive = list(attributes.sensitive_attributes)
    kinds = tallies["tally"].to_numpy()
    sizes = np.bincount(kinds[kinds >= 0], minlength=len(quasi) + 1)
    if sizes.sum() > MOST_VALUES:
        largest = int(sizes.argmax())
        names = sensitive if largest == len(quasi) else [quasi[largest]]
        raise InputError(
            f"{' and '.join(names)}: more than {MOST_VALUES:,} distinct values between all "
            "columns, most of them here; expected a domain that a table can be published by "
            "(type: numeric, coarser values, or another role)",
        )
    found: dict[int, list[Tallied]] = defaultdict(list)
    for tally, text, n in zip(*(column.to_pylist() for column in tallies.columns), strict=True):
        found[tally].append((json.loads(text), n))
    ranges, far, drawn = (
        zip(quasi, _by_place(found[tally], len(quasi)), strict=True)
        for tally in (RANGE, FAR, DRAWN)
    )
    weights = (
        _by_place(found[WEIGHTS], len(sensitive)) if "weight" in attributes.beside_rows else []
    )
    distinct = _distinct(found[REGISTERS], ["", *attributes.beside])
    rows, digest, stood_for = (
        sum(n for _, n in found[tally]) for tally in (ROWS, DIGEST, STOOD_FOR)
    )
    return Counted(
        fingerprint=Fingerprint(rows, digest),
        histograms=[{tuple(key): n for key, n in found[place]} for place in range(len(sizes))],
        ranges={
            name: reduce(or_, (NumberRange.from_key(*part) for part in parts))
            for name, parts in ranges
            if parts
        },
        far={
            name: ends({read_number(text): n for (text,), n in parts})
            for name, parts in far
            if parts
        },
        marked={mark: n for (mark,), n in found[MARK]},
        distinct_rows=distinct.pop(""),
        distinct=distinct,
        spelled=_spelled(found[SPELLED]),
        varying=tuple(n for _, n in sorted(found[VARYING], key=lambda one: int(one[0][0]))),
        drawn={name: _number_sample(parts) for name, parts in drawn},
        weights=[{value: n for (value,), n in parts} for parts in weights],
        stood_for=stood_for,
    )


def _by_place(tallies: Iterable[Tallied], places: int) -> list[list[Tallied]]:
    """Tallies whose keys begin with a place, by that place, with the rest of the keys."""
    found: list[list[Tallied]] = [[] for _ in range(places)]
    for (place, *rest), n in tallies:
        found[int(place)].append((rest, n))
    return found


def _distinct(tallies: Iterable[Tallied], names: Sequence[str]) -> dict[str, int]:
    """The estimated numbers of distinct values, from registers."""
    registers = {name: np.zeros(PLACES, dtype=np.int64) for name in names}
    for (name, register), n in tallies:
        registers[name][int(register)] = n
    return {name: estimate(values) for name, values in registers.items()}


def _number_sample(rows: Sequence[Tallied]) -> NumberSample:
    """The sample of rows by hash and code."""
    hashes = [int(hashed, 16) for (hashed, _), _ in rows]
    codes = [int(code) for (_, code), _ in rows]
    counts = [n for _, n in rows]
    made = np.array(hashes, np.uint64), np.array(codes, np.int64), np.array(counts, np.int64)
    return NumberSample.empty().add(*made)


def _spelled(rows: Iterable[Tallied]) -> ValueSample:
    """The sample of spellings by hash."""
    listed = [(int(hashed, 16), n) for (_, hashed), n in rows]
    hashes = np.array([hashed for hashed, _ in listed], dtype=np.uint64)
    return ValueSample.empty().add(hashes, np.array([n for _, n in listed], dtype=np.int64))
