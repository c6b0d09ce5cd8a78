"""The rows of a written release, read from its files: tallied by class, and hashed as written.

Tasks open the files themselves. Their columns are dictionary-coded, which takes a tenth of the time
that Spark takes to read and transfer rows.

The input's distribution may be public. That of the rows that a release lacks follows from it then,
so they must be a class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tclose_spark.checks.classes.figures import ClassFigures, figures_of_suppressed
from tclose_spark.checks.classes.tallies import ClassTally, add_up, tally_schema, texts
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import (
    map_batches,
    observe,
    read_files,
    schema_of,
    select,
    session_of,
)
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.table.arrays import IntArray, Mapper
from tclose_spark.table.dictionaries import coded, codes_of, count_missing
from tclose_spark.table.domains import Counts, Profile, SensitiveDomain
from tclose_spark.table.fingerprint import Fingerprint, content_hash
from tclose_spark.table.writing import LONGEST, listing

ROWS_AT_ONCE = 1 << 20  # of a file, held as codes in a task
LARGE_OF = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
NO_COUNT = "a table of sensitive values has a count below 1"
ROWS = "rows"
DIGEST = "digest"
MISSING = "missing"
PART = "part"


class DamagedFileError(ValueError):
    """A file of a release is not as it was written. The message names it."""


@dataclass(frozen=True)
class ReleasedRows:
    """The rows of a release.

    tallies: of its classes (see `tallies.tally_classes`), computed when first used.
    columns: of the release, in its order.
    parts: columns whose fingerprint is also taken.
    """

    tallies: Table
    columns: Sequence[str]
    parts: Sequence[Sequence[str]]
    _observed: Callable[[], Mapping[str, Any]]

    @property
    def fingerprint(self) -> Fingerprint:
        """The fingerprint of the tallied rows; available after the tallies were computed."""
        figures = self._observed()
        return Fingerprint(int(figures[ROWS] or 0), int(figures[DIGEST] or 0))

    @property
    def of_parts(self) -> list[Fingerprint]:
        """The fingerprints of the parts, as that of the rows."""
        figures = self._observed()
        rows = int(figures[ROWS] or 0)
        return [Fingerprint(rows, int(figures[f"{PART}{i}"] or 0)) for i in range(len(self.parts))]

    @property
    def missing(self) -> Mapping[str, int]:
        """The rows without a value in each column; available after the tallies were computed."""
        figures = self._observed()
        return {name: int(figures[f"{MISSING}{i}"] or 0) for i, name in enumerate(self.columns)}


def read_released(
    release: Table,
    folder: str,
    labels: Sequence[str],
    sensitive: Sequence[str],
    parts: Sequence[Sequence[str]] = (),
    count: str | None = None,
) -> ReleasedRows:
    """The rows of a release in a folder, with these columns of labels and of sensitive values.

    parts: columns whose fingerprint is also taken. count: the column that says how often a row
        occurs, if not once.

    Tasks open the files if these columns are the same text there as in a table of Spark, and the
    session may open them. Otherwise Spark reads the rows.
    """
    released = schema_of(release)
    judged = [*labels, *sensitive]
    schema = tally_schema(len(labels), len(sensitive))
    watched = [ROWS, DIGEST, *(f"{MISSING}{i}" for i in range(len(released.names)))]
    watched += [f"{PART}{i}" for i in range(len(parts))]
    with_watched = pa.schema([*schema, *(pa.field(name, pa.int64()) for name in watched)])
    tallied = _Tallied(labels, sensitive, parts, count, with_watched)
    files = read_files(session_of(release), folder, [released.field(name).type for name in judged])
    if files is not None:
        table = map_batches(files, _tally_files(released, tallied), with_watched)
    else:
        table = map_batches(
            select(release, released.names),
            _tally_batches(released.names, tallied),
            with_watched,
        )
    observable, observed = observe(table, dict.fromkeys(watched, "sum"))
    tallies = add_up(select(observable, schema.names), len(labels), schema)
    return ReleasedRows(tallies, released.names, parts, observed)


@dataclass(frozen=True)
class _Tallied:
    """How rows become a tally, with their fingerprints and missing values in its first row. See
    `read_released`.
    """

    labels: Sequence[str]
    sensitive: Sequence[str]
    parts: Sequence[Sequence[str]]
    count: str | None
    schema: pa.Schema

    def of(self, held: Mapping[str, pa.Array]) -> pa.RecordBatch:
        """The tally of rows with these `coded` columns."""
        times = None
        if self.count is not None:
            counts = held[self.count]
            if counts.dictionary.null_count or (
                len(counts) and pc.min(counts.dictionary).as_py() < 1
            ):
                raise DamagedFileError(NO_COUNT)
            times = np.asarray(counts.dictionary.to_numpy(zero_copy_only=False), dtype=np.int64)[
                codes_of(counts)
            ]
        found = Fingerprint.of_hashes(content_hash([*held.values()]), times)
        missing = [
            count_missing(column) if times is None else _lost(column, times)
            for column in held.values()
        ]
        digests = [
            Fingerprint.of_hashes(content_hash([held[name] for name in part]), times).digest
            for part in self.parts
        ]
        labels, values = (
            [texts(held[name]) for name in names] for names in (self.labels, self.sensitive)
        )
        n = np.ones(found.rows, dtype=np.int64) if times is None else times
        watched = [found.rows, found.digest, *missing, *digests]
        part = ClassTally.of(labels, None, values, n).write(
            pa.schema(list(self.schema)[: -len(watched)]),
        )
        rest = [None] * (len(part) - 1)
        figures = [pa.array([n, *rest], pa.int64()) for n in watched]
        return pa.RecordBatch.from_arrays([*part.columns, *figures], schema=self.schema)


def _lost(column: pa.DictionaryArray, times: IntArray) -> int:
    """The number of rows of a `coded` column without a value, each as often as it occurs."""
    return int(
        times[~column.dictionary.is_valid().to_numpy(zero_copy_only=False)[codes_of(column)]].sum(),
    )


def _tally_files(released: pa.Schema, tallied: _Tallied) -> Mapper:
    """Tallies files of these columns, ROWS_AT_ONCE rows at a time."""

    def tally(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for path, content in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
                for rows in _rows_of(path.rpartition("/")[2], content.as_buffer(), released):
                    yield tallied.of({name: coded(rows.column(name)) for name in released.names})

    return tally


def _rows_of(name: str, content: pa.Buffer, kinds: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet file of this name, texts dictionary-coded.

    kinds: the columns of the release.

    Raises:
        DamagedFileError: if the file cannot be read, has other columns, or reveals more than its
            rows.
    """
    strings = [field.name for field in kinds if pa.types.is_string(field.type)]
    try:
        file = pq.ParquetFile(
            pa.BufferReader(content),
            read_dictionary=strings,
            coerce_int96_timestamp_unit="us",
        )
        found = file.metadata.schema.to_arrow_schema()
        if found.names != kinds.names or not all(map(_is_alike, found.types, kinds.types)):
            raise DamagedFileError(f"{name} has other columns than the release")
        for rows in file.iter_batches(ROWS_AT_ONCE, columns=kinds.names):
            if rows.num_rows:
                yield rows
    except DamagedFileError:
        raise
    except (pa.ArrowException, OSError, KeyError, ValueError):
        raise DamagedFileError(f"{name} cannot be read") from None


def _is_alike(found: pa.DataType, kind: pa.DataType) -> bool:
    """Whether a column in a file can be of a type of Spark, whose timestamps have several units and
    zones.
    """
    if pa.types.is_timestamp(kind):
        return bool(pa.types.is_timestamp(found))
    return found in (kind, LARGE_OF.get(kind, kind))


def _tally_batches(names: Sequence[str], tallied: _Tallied) -> Mapper:
    """Tallies batches of a release's columns, of these names."""

    def tally(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                yield tallied.of(dict(zip(names, map(coded, batch.columns), strict=True)))

    return tally


@dataclass(frozen=True)
class LeftOut:
    """rows: how many, as counted during the write. values: by sensitive attribute, how many more
    rows of each value the input has than the release.
    """

    rows: int
    values: tuple[Counts, ...]

    @staticmethod
    def of(rows: int, profile: Profile, released: Sequence[Counts]) -> LeftOut:
        """From the profile of the input, and the released rows counted by attribute."""
        return LeftOut(rows, tuple(map(values_left, profile.sensitive, released)))

    @property
    def unexplained(self) -> list[int]:
        """The attributes in which the release differs from the input by more than these rows."""
        counts = [values.values() for values in self.values]
        return [
            i for i, rows in enumerate(counts) if min(rows, default=0) < 0 or sum(rows) != self.rows
        ]


def values_left(domain: SensitiveDomain, released: Counts) -> dict[str | None, int]:
    """How many more rows of each value the input has than the release, if they differ.

    >>> values_left(SensitiveDomain("disease", ("flu", "gout"), (3, 2)), {"flu": 2, "gout": 2, "mumps": 1})
    {'flu': 1, 'mumps': -1}
    """
    whole = dict(zip(domain.values, domain.counts, strict=True))
    left = {value: whole.get(value, 0) - released.get(value, 0) for value in {**whole, **released}}
    return {value: n for value, n in left.items() if n}


def whole_input(left: LeftOut, released: Sequence[Counts]) -> list[Counts]:
    """The distributions of the input, by attribute.

    Without suppressed rows these are of the released rows, and follow from the release without the
    profile. Suppressed rows are written nowhere, so the input's distribution is that of the release
    and of the rows missing by the profile.
    """
    return [_added(*one) for one in zip(released, left.values, strict=True)]


def _added(counts: Counts, left: Counts) -> Counts:
    return {
        value: counts.get(value, 0) + max(0, left.get(value, 0)) for value in {**counts, **left}
    }


def suppressed_class(left: LeftOut, k: int, attributes: Sequence[JudgedAttribute]) -> ClassFigures:
    """The figures of the suppressed rows as one class."""
    histograms = {
        a.name: Histograms.dense(
            np.array([[counts.get(value, 0) for value in a.values]], dtype=np.int64),
        )
        for a, counts in zip(attributes, left.values, strict=True)
    }
    return figures_of_suppressed(left.rows, k, attributes, histograms)


def input_listing(a: JudgedAttribute, left: Counts) -> dict[str, Any]:
    """The input's distribution of an attribute, for the certificate: counts in the order of the
    domain.

    For more than LONGEST values this is a hash. Then the suppressed rows' values are listed beside
    it; added to the released ones, they give the distribution.
    """
    counts = listing(a.distance.table.tolist(), "counts")
    if len(a.values) > LONGEST:
        counts["suppressed"] = [[value, left[value]] for value in a.values if value in left]
    return counts
