"""How the rows of a release lie in its tables: in one table of labels, or in another form (see
`ReleaseForm`), whose rows are read from the files of all its tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.classes.tallies import ClassTally, start_of_last_class, tally_schema
from tclose_spark.checks.labels.loss import published_columns
from tclose_spark.checks.released import DamagedFileError, ReleasedRows, read_released
from tclose_spark.checks.written import WrittenRelease
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import gather, map_batches, schema_of, union
from tclose_spark.errors import GuaranteeError
from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.runfile.release_form import COUNT, GROUP, RELEASE
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.arrays import IntArray, Mapper
from tclose_spark.table.dictionaries import group_equal
from tclose_spark.table.fingerprint import Fingerprint

UNEQUAL = "a class has more rows in one table than in another"


class ReadRows(Protocol):
    """The rows of a release: see `checks.released.ReleasedRows`."""

    @property
    def tallies(self) -> Table:
        """Of its classes."""
        ...

    @property
    def fingerprint(self) -> Fingerprint:
        """Of the table `release`."""
        ...

    @property
    def missing(self) -> Mapping[str, int]:
        """The rows without a value in each column."""
        ...


@dataclass(frozen=True)
class FormedRows:
    """The rows of all tables of a release: see `ReleasedRows`.

    tallies: of its classes. If the values of each class are in several tables, the pairing of
        values of two tables is arbitrary.
    """

    tallies: Table
    tables: Mapping[str, ReleasedRows]
    names: Sequence[str]

    @property
    def fingerprint(self) -> Fingerprint:
        """That of the table `release`."""
        return self.tables[RELEASE].fingerprint

    @property
    def missing(self) -> Mapping[str, int]:
        """The rows without a value in each column of any table."""
        return {column: n for rows in self.tables.values() for column, n in rows.missing.items()}

    @property
    def projections(self) -> Mapping[str, Fingerprint]:
        """The fingerprints of the parts that only a class connects: see
        `ReleaseForm.projections`.
        """
        return dict(
            zip(
                self.names,
                (one for rows in self.tables.values() for one in rows.of_parts),
                strict=True,
            ),
        )


class ReleaseLayout(Protocol):
    """What a verifier needs to know of the tables of a release."""

    @property
    def columns(self) -> set[str]:
        """The columns of the labels and sensitive values that the table `release` must have."""
        ...

    @property
    def key(self) -> list[str]:
        """The columns that all rows of a class share."""
        ...

    @property
    def fields(self) -> Mapping[str, pa.Field]:
        """The columns of further public tables.

        Raises:
            GuaranteeError: if a table has others than it must have.
        """
        ...

    @property
    def in_place_of_labels(self) -> list[JudgedQuasi]:
        """What is judged if there are no labels; nothing if there are some."""
        ...

    def read(self) -> ReadRows:
        """The rows, from the files."""
        ...


class LabelLayout:
    """One table of labels, and of the sensitive values of their rows."""

    def __init__(self, written: WrittenRelease) -> None:
        self.fields: Mapping[str, pa.Field] = {}
        self.in_place_of_labels: list[JudgedQuasi] = []
        self.table = written.release
        self.key = label_columns(written.spec)
        self.sensitive = [*written.spec.attributes.sensitive_attributes]
        self.columns = {*self.key, *self.sensitive}

    def read(self) -> ReleasedRows:
        """See ReleaseLayout."""
        return read_released(*self.table, self.key, self.sensitive)


class FormLayout:
    """Exact quasi-identifiers with the number of a class, or sensitive values in tables of their
    own, or both.

    expected: the columns of each table of sensitive values, by name; none if these are in
        `release`.
    tables: these tables.
    """

    def __init__(self, written: WrittenRelease) -> None:
        self.spec = written.spec
        self.release = written.release
        self.form = self.spec.release
        self.labels = label_columns(self.spec)
        self.sensitive = [*self.spec.attributes.sensitive_attributes]
        self.key = self.form.key(self.labels)
        self.expected = self.form.tables(self.labels, self.sensitive)
        self.tables = {name: written.run_files.released(name) for name in self.expected}

    @property
    def columns(self) -> set[str]:
        """See ReleaseLayout."""
        columns = {*self.labels, *self.key}
        return columns if self.form.is_split else {*columns, *self.sensitive}

    @property
    def fields(self) -> Mapping[str, pa.Field]:
        """See ReleaseLayout."""
        found: dict[str, pa.Field] = {}
        for name, columns in self.expected.items():
            schema = schema_of(self.tables[name][0])
            if schema.names != columns:
                raise GuaranteeError(
                    f"the table {name!r} has missing or unexpected columns; nothing is published",
                )
            found |= {field.name: field for field in schema}
        return found

    @property
    def in_place_of_labels(self) -> list[JudgedQuasi]:
        """See ReleaseLayout: the number of a class, which covers no values."""
        if not self.form.is_exact:
            return []
        no_loss = LabelLoss(numeric=False, span=Fraction(0), distinct=0, hierarchy=None, sets=False)
        return [JudgedQuasi(GROUP, (GROUP,), no_loss, covers=False)]

    def read(self) -> FormedRows:
        """See ReleaseLayout."""
        attributes = self.spec.attributes
        labels = [*attributes.quasi_identifiers] if self.form.is_exact else self.labels
        parts = self.form.projections(labels, self.sensitive, attributes.beside)
        if not self.tables:
            rows = read_released(*self.release, self.key, self.sensitive, [*parts.values()])
            return FormedRows(rows.tallies, {RELEASE: rows}, [*parts])
        found = {RELEASE: read_released(*self.release, self.key, [], [parts[RELEASE]])}
        blocks = self.form.blocks(self.sensitive)
        for name, block in blocks.items():
            found[name] = read_released(*self.tables[name], self.key, block, [parts[name]], COUNT)
        places = [[], *([*map(self.sensitive.index, block)] for block in blocks.values())]
        coupled = couple([rows.tallies for rows in found.values()], len(self.key), places)
        return FormedRows(coupled, found, [*parts])


def layout_of(written: WrittenRelease) -> ReleaseLayout:
    """The layout of a written release.

    Raises:
        GuaranteeError: if a table is missing, or holds more than its rows.
    """
    return LabelLayout(written) if written.spec.release.is_plain else FormLayout(written)


def label_columns(spec: ReleaseSpec) -> list[str]:
    """The columns of the labels, or of aggregates."""
    return [column for columns in published_columns(spec).values() for column in columns]


def couple(tallies: Sequence[Table], labels: int, places: Sequence[Sequence[int]]) -> Table:
    """The tallies of classes whose values are in several tables. places: of the values of each
    table, among all.

    A class's tuples have the distribution of each table's values; how they meet is arbitrary.
    Raises DamagedFileError in a task if a class has more rows in one table than in another.
    """
    sensitive = sum(map(len, places))
    schema = tally_schema(labels, sensitive)
    sent = pa.schema([pa.field("part", pa.int32()), *schema])
    parts = [
        map_batches(tally, _as_part(number, labels, of_part, sent), sent)
        for number, (tally, of_part) in enumerate(zip(tallies, places, strict=True))
    ]

    def coupled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for classes in _whole_classes(batches, labels):
            yield _coupled(classes, labels, places).write(schema)

    return map_batches(gather(union(parts), schema.names[:labels]), coupled, schema)


def _as_part(number: int, labels: int, places: Sequence[int], sent: pa.Schema) -> Mapper:
    """The tallies of one of several tables, with its number."""

    def as_part(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            own = dict(zip(places, batch.columns[labels:-1], strict=False))
            lists = [
                own.get(place, pa.nulls(len(batch), sent.field(1 + labels + place).type))
                for place in range(len(sent) - labels - 2)
            ]
            columns = [
                pa.array(np.full(len(batch), number), pa.int32()),
                *batch.columns[:labels],
                *lists,
            ]
            yield pa.RecordBatch.from_arrays([*columns, batch.columns[-1]], schema=sent)

    return as_part


def _whole_classes(batches: Iterable[pa.RecordBatch], labels: int) -> Iterator[pa.Table]:
    """The rows of whole classes, which are consecutive. Batches may cut a class in two."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows:
            table = pa.Table.from_batches([*held, batch])
            last = start_of_last_class(table.select(range(1, 1 + labels)), labels)
            if last:
                yield table.slice(0, last)
            held = table.slice(last).to_batches()
    if held:
        yield pa.Table.from_batches(held)


def _coupled(table: pa.Table, labels: int, places: Sequence[Sequence[int]]) -> ClassTally:
    """The tally of classes, from a row of each of their tables. The rows of a class, in the order
    of each table's values, are cut where any table has another value.
    """
    part, *columns = [column.combine_chunks() for column in table.columns]
    owner, first = group_equal(columns[:labels])
    ends = list[IntArray]()
    of_classes = list[IntArray]()
    values = dict[int, tuple[pa.Array, IntArray]]()
    for number, of_part in enumerate(places):
        rows = np.flatnonzero(part.to_numpy() == number)
        rows = rows[np.argsort(owner[rows])]
        if not np.array_equal(owner[rows], np.arange(len(first))):
            raise DamagedFileError(UNEQUAL)
        rows = pa.array(rows)
        lists = columns[-1].take(rows)
        end = np.cumsum(lists.flatten().to_numpy())
        ends.append(end)
        of_classes.append(end[np.cumsum(pc.list_value_length(lists).to_numpy()) - 1])
        values |= {place: (columns[labels + place].take(rows).flatten(), end) for place in of_part}
    if any(not np.array_equal(of_classes[0], other) for other in of_classes[1:]):
        raise DamagedFileError(UNEQUAL)
    cuts = np.unique(np.concatenate(ends))
    tuples = [
        texts.take(pa.array(np.searchsorted(end, cuts)))
        for texts, end in (values[i] for i in range(len(values)))
    ]
    return ClassTally.of(
        [column.take(pa.array(first)) for column in columns[:labels]],
        np.searchsorted(of_classes[0], cuts),
        tuples,
        np.diff(cuts, prepend=0),
    )
