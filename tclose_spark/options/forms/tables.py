"""The rows of a release in another form than one table of labels, read from the files of all its
tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.tallies import ClassTally, start_of_last_class, tally_schema
from tclose_spark.checks.labels.loss import published_columns
from tclose_spark.checks.released import DamagedFileError, ReleasedRows, read_released
from tclose_spark.checks.written import WrittenTable
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import gather, map_batches, union
from tclose_spark.runfile.release_form import COUNT, RELEASE
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.arrays import IntArray, Mapper
from tclose_spark.table.dictionaries import group_equal
from tclose_spark.table.fingerprint import Fingerprint

UNEQUAL = "a class has more rows in one table than in another"


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
            )
        )


def read_formed(
    release: WrittenTable, tables: Mapping[str, WrittenTable], spec: ReleaseSpec
) -> FormedRows:
    """The rows of a release. tables: those of sensitive values, by name; none if they are in
    `release`.
    """
    form = spec.release
    attributes = spec.attributes
    labels = [*attributes.quasi_identifiers]
    sensitive = [*attributes.sensitive_attributes]
    if not form.is_exact:
        labels = [column for columns in published_columns(spec).values() for column in columns]
    parts = form.projections(labels, sensitive, attributes.beside)
    key = form.key(labels)
    if not tables:
        rows = read_released(*release, key, sensitive, [*parts.values()])
        return FormedRows(rows.tallies, {RELEASE: rows}, [*parts])
    found = {RELEASE: read_released(*release, key, [], [parts[RELEASE]])}
    blocks = form.blocks(sensitive)
    for name, block in blocks.items():
        found[name] = read_released(*tables[name], key, block, [parts[name]], COUNT)
    places = [[], *([*map(sensitive.index, block)] for block in blocks.values())]
    coupled = couple([rows.tallies for rows in found.values()], len(key), places)
    return FormedRows(coupled, found, [*parts])


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
