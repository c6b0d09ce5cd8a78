"""The input is read once: what later stages need of its rows is staged, and read from there.

A batch of rows is staged as one binary value, an Arrow stream whose text is coded by a dictionary of its own: so Spark
moves one value for tens of thousands of rows. Beside the batches lie tallies, from which the profile is made.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.io.spark.workers import Mapper, map_batches
from tclose_spark.io.storage.folders import NO_PATTERN, for_spark
from tclose_spark.io.tables.columns import LARGE_VALUES, prepared_name
from tclose_spark.measures.sketches import MOST_SAMPLED, DistinctCount, ValueSample
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.dictionaries import coded, decoded, group_equal
from tclose_spark.table.fingerprint import Fingerprint, content_hash
from tclose_spark.table.row_hash import RowHash

HASH = "hash"
STAGED = "batch binary, tally int, key array<string>, n bigint"
ROWS, DIGEST, MARK, RANGE, REGISTERS, PRESENT, SAMPLED = -1, -2, -3, -4, -5, -6, -7
"""Tallies that are no histograms: the rows, and the digest of their fingerprint; rows by mark; rows without a number by
(place of the quasi-identifier, its lowest number, its highest) in some rows; by (insensitive attribute, register)
what counts distinct values ("": distinct rows). Of columns that look like identifiers: by (place) the rows that have a
value, and by (place, hash) the rows of a sample of values.
"""


@dataclass(frozen=True, kw_only=True)
class StagedColumns:
    """What a batch of staged rows holds: `q0`.. the prepared quasi-identifiers, `s0`.. the sensitive values as text,
    `p0`.. the columns that pass as they are, and HASH.

    numeric: of each quasi-identifier, whether it is a number.
    sensitive: how many sensitive attributes there are.
    passing: the published columns that text does not hold: sensitive ones that are no text (whose text would have to be
        read back), and insensitive ones.
    own: of each sensitive attribute, its place among `passing`; None where it is text.
    """

    numeric: tuple[bool, ...]
    sensitive: int
    passing: tuple[T.StructField, ...]
    own: tuple[int | None, ...]

    @staticmethod
    def of(table: DataFrame, spec: ReleaseSpec) -> StagedColumns:
        """The columns of a raw table's rows."""
        attributes = spec.attributes
        typed = [
            name
            for name in attributes.sensitive_attributes
            if not isinstance(table.schema[name].dataType, T.StringType)
        ]
        passing = [*typed, *attributes.insensitive_attributes]
        return StagedColumns(
            numeric=tuple(quasi.is_numeric for quasi in attributes.quasi_identifiers.values()),
            sensitive=len(attributes.sensitive_attributes),
            passing=tuple(T.StructField(name, table.schema[name].dataType) for name in passing),
            own=tuple(typed.index(name) if name in typed else None for name in attributes.sensitive_attributes),
        )

    def to_json(self) -> str:
        """As text that `from_json` reads."""
        return json.dumps({**asdict(self), "passing": T.StructType(list(self.passing)).jsonValue()})

    @staticmethod
    def from_json(text: str) -> StagedColumns:
        """The columns that `to_json` wrote."""
        tree = json.loads(text)
        return StagedColumns(
            numeric=tuple(tree["numeric"]),
            sensitive=tree["sensitive"],
            passing=tuple(T.StructType.fromJson(tree["passing"]).fields),
            own=tuple(tree["own"]),
        )

    @property
    def names(self) -> list[str]:
        """Their names, without HASH."""
        parts = (("q", len(self.numeric)), ("s", self.sensitive), ("p", len(self.passing)))
        return [f"{kind}{i}" for kind, count in parts for i in range(count)]

    def quasi(self, columns: Sequence[pa.Array]) -> Sequence[pa.Array]:
        """The quasi-identifiers among the columns of a batch."""
        return columns[: len(self.numeric)]

    def texts(self, columns: Sequence[pa.Array]) -> Sequence[pa.Array]:
        """The sensitive values as text."""
        return columns[len(self.numeric) : len(self.numeric) + self.sensitive]

    def passed(self, columns: Sequence[pa.Array]) -> Sequence[pa.Array]:
        """The columns that pass as they are."""
        return columns[len(self.numeric) + self.sensitive : len(self.names)]

    def select(self, people: DataFrame, spec: ReleaseSpec, more: Sequence[str] = ()) -> DataFrame:
        """These columns of prepared rows, and more."""
        attributes = spec.attributes
        place = {name: F.col(prepared_name(i)) for i, name in enumerate(attributes.published)}
        columns = [place[name] for name in attributes.quasi_identifiers]
        columns += [place[name].cast("string") for name in attributes.sensitive_attributes]
        columns += [place[field.name] for field in self.passing]
        named = [column.alias(name) for column, name in zip(columns, self.names, strict=True)]
        return people.select(*named, *more)

    @property
    def insensitive(self) -> slice:
        """The places of the insensitive columns among those that pass."""
        return slice(sum(place is not None for place in self.own), None)

    @property
    def insensitive_names(self) -> list[str]:
        """The names of the insensitive attributes."""
        return [field.name for field in self.passing[self.insensitive]]

    def published(self, columns: Sequence[pa.Array]) -> list[pa.Array]:
        """Of a batch's columns those that are published, as they came: of what the input's fingerprint is made."""
        passed = self.passed(columns)
        values = [
            text if place is None else passed[place] for text, place in zip(self.texts(columns), self.own, strict=True)
        ]
        return [*self.quasi(columns), *values, *passed[self.insensitive]]

    def keyed(self, columns: Sequence[pa.Array]) -> list[pa.Array]:
        """Of a batch's columns those that a row's keyed hash is made of: all that is published, sensitive values as
        text.
        """
        return [*self.quasi(columns), *self.texts(columns), *self.passed(columns)[self.insensitive]]


@dataclass(frozen=True)
class NumberRange:
    """The ends of some numbers, and how many rows have none. Without any, the lowest is above the highest.

    >>> Range.of(pa.array([3, None, 1])) | NOWHERE
    Range(low=1, high=3, missing=1)
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
        return NumberRange(min(self.low, other.low), max(self.high, other.high), self.missing + other.missing)

    def to_key(self) -> list[str]:
        """The ends as text that `from_key` reads."""
        return [repr(self.low), repr(self.high)]

    @staticmethod
    def from_key(ends: Sequence[str], missing: int) -> NumberRange:
        """The range whose ends `to_key` wrote."""
        low, high = (int(end) if end.lstrip("-").isdigit() else float(end) for end in ends)
        return NumberRange(low, high, missing)


NO_NUMBERS = NumberRange(math.inf, -math.inf, 0)
"""The range of no rows."""


def stage_rows(people: DataFrame, columns: StagedColumns, secret: str, path: str, marks: Sequence[str]) -> None:
    """Stages prepared rows in the columns of `StagedColumns.select`, each with its keyed hash, and their tallies.
    Behind them are marks, of which is counted how many rows have them, and hashes of identifiers (NULL: missing), of
    which a sample is counted.
    """
    identifiers = len(people.columns) - len(columns.names) - len(marks)
    staged = map_batches(people, _stager(columns, marks, identifiers, secret), STAGED)
    staged.write.options(**LARGE_VALUES).parquet(for_spark(path))


def staged_batches(spark: SparkSession, path: str) -> DataFrame:
    """What was staged of the rows: a column `batch`, to be read by `read_batches`."""
    return _staged_table(spark, path).where("tally IS NULL").select("batch")


def staged_tallies(spark: SparkSession, path: str, identifiers: int = 0) -> DataFrame:
    """What was counted of them, added up over all tasks: `tally`, `key`, `n`; of REGISTERS the maximum; of SAMPLED, of
    so many identifiers, the lowest hashes, since those above are not whole.
    """
    tallies = _staged_table(spark, path).where("tally IS NOT NULL")
    n = F.when(F.col("tally") == REGISTERS, F.max("n")).otherwise(F.sum("n"))
    added = tallies.where(F.col("tally") != SAMPLED).groupBy("tally", "key").agg(n.alias("n"))
    for place in range(identifiers):  # Spark keeps the lowest of each partition, and sorts no more than these
        of_one = tallies.where((F.col("tally") == SAMPLED) & (F.col("key")[0] == str(place)))
        rows = of_one.groupBy("tally", "key").agg(F.sum("n").alias("n"))
        added = added.union(rows.orderBy(F.col("key")[1]).limit(MOST_SAMPLED))
    return added


def _staged_table(spark: SparkSession, path: str) -> DataFrame:
    return spark.read.options(**NO_PATTERN).schema(STAGED).parquet(for_spark(path))


def write_batch(batch: pa.RecordBatch) -> bytes:
    """A batch as one value."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def read_batches(columns: Iterable[pa.Array]) -> Iterator[pa.RecordBatch]:
    """The batches that `write_batch` wrote, in columns of such values."""
    for column in columns:
        for value in column:
            yield pa.ipc.open_stream(value.as_buffer()).read_next_batch()


def _stager(columns: StagedColumns, marks: Sequence[str], identifiers: int, secret: str) -> Mapper:
    first = len(columns.names) + len(marks)

    def stage(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tallies = _Tallies(columns, marks, identifiers)
        keyed = RowHash.of(secret, len(columns.keyed(columns.names)))
        for batch in batches:
            if batch.num_rows:
                given = batch.columns[: len(columns.names)]
                held = [coded(column) if pa.types.is_string(column.type) else column for column in given]
                tallies.add(held, batch.columns[len(given) : first], batch.columns[first:])
                hashes = pa.array(keyed.of_rows(columns.keyed(held)))
                rows = pa.RecordBatch.from_arrays([*map(_narrow, held), hashes], names=[*columns.names, HASH])
                yield _staged([write_batch(rows)], [None], [None], [None])
        yield tallies.write()

    return stage


def _staged(
    batch: Sequence[bytes | None],
    tally: Sequence[int | None],
    key: Sequence[list[str | None] | None],
    n: Sequence[int | None],
) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array(batch, pa.binary()),
            pa.array(tally, pa.int32()),
            pa.array(key, pa.list_(pa.string())),
            pa.array(n, pa.int64()),
        ],
        names=["batch", "tally", "key", "n"],
    )


def _narrow(column: pa.Array) -> pa.Array:
    """A coded column with places as short as its dictionary allows; others as they are."""
    if not pa.types.is_dictionary(column.type):
        return column
    size = len(column.dictionary)
    kind = pa.int8() if size < 2**7 else pa.int16() if size < 2**15 else pa.int32()
    return pa.DictionaryArray.from_arrays(column.indices.cast(kind), column.dictionary)


class _Tallies:
    """What a task counts: by quasi-identifier how many rows have each value, or of a number its range; last the tuples
    of sensitive values; the fingerprint; rows that have a mark; about how many rows, and how many values of insensitive
    attributes, are different; the rows of some values of identifiers.
    """

    def __init__(self, columns: StagedColumns, marks: Sequence[str], identifiers: int) -> None:
        self._columns = columns
        self._counted: list[pa.Table | None] = [None] * (len(columns.numeric) + 1)
        self._ranges = {place: NO_NUMBERS for place, numeric in enumerate(columns.numeric) if numeric}
        self._fingerprint = Fingerprint(0, 0)
        self._marked = dict.fromkeys(marks, 0)
        self._distinct = {name: DistinctCount.empty() for name in ("", *columns.insensitive_names)}
        self._present = [0] * identifiers
        self._sampled = [ValueSample.empty()] * identifiers

    def add(
        self, held: Sequence[pa.Array], marks: Sequence[pa.BooleanArray], identifiers: Sequence[pa.Int64Array]
    ) -> None:
        """Counts a batch's rows too."""
        columns = self._columns
        for place, column in enumerate(columns.quasi(held)):
            if place in self._ranges:
                self._ranges[place] |= NumberRange.of(column)
            else:
                self._counted[place] = _added(self._counted[place], _count([column]))
        if columns.sensitive:
            self._counted[-1] = _added(self._counted[-1], _count(columns.texts(held)))
        for name, column in zip(self._marked, marks, strict=True):
            self._marked[name] += column.true_count
        hashes = content_hash(columns.published(held))
        self._fingerprint += Fingerprint.of_hashes(hashes)
        insensitive = columns.passed(held)[columns.insensitive]
        seen = [hashes, *(content_hash([column]) for column in insensitive)]
        for count, of_rows in zip(self._distinct.values(), seen, strict=True):
            count.add(of_rows)
        for place, column in enumerate(identifiers):
            present = column.drop_null()
            self._present[place] += len(present)
            self._sampled[place] = self._sampled[place].add(present.to_numpy().view(np.uint64))

    def write(self) -> pa.RecordBatch:
        """As rows of the staged table."""
        rows: list[tuple[int, list[str | None], int]] = [
            (ROWS, [], self._fingerprint.rows),
            (DIGEST, [], self._fingerprint.digest),
        ]
        rows += [(MARK, [name], n) for name, n in self._marked.items()]
        rows += [(RANGE, [str(place), *found.to_key()], found.missing) for place, found in self._ranges.items()]
        for name, count in self._distinct.items():
            registers = count.registers
            present = np.flatnonzero(registers)
            ranks = zip(present.tolist(), registers[present].tolist(), strict=True)
            rows += [(REGISTERS, [name, str(register)], rank) for register, rank in ranks]
        for place, (n_present, sample) in enumerate(zip(self._present, self._sampled, strict=True)):
            rows.append((PRESENT, [str(place)], n_present))
            hashes = zip(sample.hashes.tolist(), sample.counts.tolist(), strict=True)
            rows += [(SAMPLED, [str(place), f"{hashed:016x}"], n) for hashed, n in hashes]
        for place, table in enumerate(self._counted):
            if table is not None:
                *values, counts = (column.to_pylist() for column in table.columns)
                keys = zip(*values, strict=True)
                rows += [(place, list(key), n) for key, n in zip(keys, counts, strict=True)]
        tally, key, n = zip(*rows, strict=True)
        return _staged([None] * len(rows), tally, key, n)


def _count(columns: Sequence[pa.DictionaryArray]) -> pa.Table:
    """The distinct tuples of coded columns, and `n`: how many rows have each."""
    group, first = group_equal(columns)
    distinct = [decoded(column.take(pa.array(first))) for column in columns]
    return pa.table([*distinct, np.bincount(group)], names=[*map(str, range(len(columns))), "n"])


def _added(before: pa.Table | None, counted: pa.Table) -> pa.Table:
    if before is None:
        return counted
    *keys, _ = counted.column_names
    both = pa.concat_tables([before, counted]).group_by(keys, use_threads=False)
    return both.aggregate([("n", "sum")]).rename_columns(counted.column_names)
