"""The single aggregation of a table's rows: for each equivalence class, how many records have each tuple of sensitive
values.

Tasks tally their rows, a million at a time, and one shuffle adds the tallies up. So a class of any size is never in one
task as rows, only as its distinct tuples, which should fit into a task's memory. A table whose files hold whole classes
shuffles little more than a row for each class. All other figures are computed from the tallies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from tclose_spark.errors import InputError
from tclose_spark.io.spark.workers import Mapper, map_batches
from tclose_spark.io.tables.prepared import plain
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.dictionaries import decoded, group_equal
from tclose_spark.table.domains import Counts, TupleCounts, marginal

ROWS_AT_ONCE = 1 << 20  # held as text in a task: about 100 MB for a dozen columns
MOST_VALUES = 2_000_000  # distinct values, or tuples of them, that a driver holds


@dataclass(frozen=True)
class ClassTally:
    """Some classes.

    labels: one array for each published column, a row for each class.
    tuples: the histogram of each class over the rows of `values`.
    values: one array of text for each sensitive attribute, a row for each tuple.
    """

    labels: list[pa.Array]
    tuples: Histograms
    values: list[pa.Array]

    @staticmethod
    def of(
        labels: Sequence[pa.Array], owner: IntArray | None, values: Sequence[pa.Array], counts: IntArray
    ) -> ClassTally:
        """The tally of observations. Observation i is `counts[i]` records with the i-th row of `values`, in the
        class with row `owner[i]` of `labels` (row i if owner is None). Rows with equal labels are one class. Every
        row of `labels` must own an observation.
        """
        group, first = group_equal(labels)
        code, place = (
            group_equal(values) if values else (np.zeros(len(counts), dtype=np.int64), np.zeros(1, dtype=np.int64))
        )
        tuples = Histograms.tally(group if owner is None else group[owner], code, counts, len(first), len(place))
        return ClassTally(
            [decoded(column.take(pa.array(first))) for column in labels],
            tuples,
            [decoded(column.take(pa.array(place))) for column in values],
        )

    @staticmethod
    def whole(batch: pa.RecordBatch, labels: int) -> ClassTally:
        """The tally in rows of `tally_classes` that are whole classes. Each entry is a tuple of its own."""
        *values, counts = batch.columns[labels:]
        entries = counts.flatten().to_numpy()
        offsets = np.concatenate([[0], np.cumsum(pc.list_value_length(counts).to_numpy())]).astype(np.int64)
        return ClassTally(
            batch.columns[:labels], Histograms(offsets, np.arange(len(entries)), entries), [c.flatten() for c in values]
        )

    @staticmethod
    def read(batch: pa.RecordBatch | pa.Table, labels: int) -> ClassTally:
        """The tally in rows of `tally_classes`, whole classes or parts, with equal labels added up."""
        columns = [c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in batch.columns]
        counts = columns[-1]
        owner = np.repeat(np.arange(batch.num_rows), pc.list_value_length(counts).to_numpy())
        return ClassTally.of(
            columns[:labels], owner, [c.flatten() for c in columns[labels:-1]], counts.flatten().to_numpy()
        )

    def write(self, schema: pa.Schema) -> pa.RecordBatch:
        """As rows of `tally_classes`."""
        offsets, entries = pa.array(self.tuples.offsets, pa.int32()), pa.array(self.tuples.values)
        lists = [pa.ListArray.from_arrays(offsets, column.take(entries)) for column in self.values]
        counts = pa.ListArray.from_arrays(offsets, pa.array(self.tuples.counts))
        return pa.RecordBatch.from_arrays([*self.labels, *lists, counts], schema=schema)


def tally_classes(
    table: DataFrame, labels: Sequence[str], sensitive: Sequence[str], at_once: int = ROWS_AT_ONCE
) -> DataFrame:
    """One row for each class: the records that share all labels (NULL equals NULL).

    Columns: `l0`.. the labels, as text; `v0`.. for each sensitive attribute a list of values as text, one for each
        distinct tuple of the class; `n`, a list of the records of each tuple.
    """
    rows = table.select(
        *[plain(table, name).cast("string").alias(f"l{i}") for i, name in enumerate(labels)],
        *[plain(table, name).cast("string").alias(f"v{i}") for i, name in enumerate(sensitive)],
    )
    schema = tally_schema(len(labels), len(sensitive))
    parts = map_batches(rows, _tally_rows(len(labels), at_once, schema), from_arrow_schema(schema))
    return add_up(parts, len(labels), schema)


def tally_schema(labels: int, sensitive: int) -> pa.Schema:
    """The columns of tallies, for this many published columns and sensitive attributes."""
    return pa.schema(
        [
            *[pa.field(f"l{i}", pa.string()) for i in range(labels)],
            *[pa.field(f"v{i}", pa.list_(pa.string())) for i in range(sensitive)],
            pa.field("n", pa.list_(pa.int64())),
        ]
    )


def add_up(parts: DataFrame, labels: int, schema: pa.Schema) -> DataFrame:
    """Tallies with those of equal labels (the first columns) added up. One shuffle."""
    keys = schema.names[:labels]
    together = parts.repartition(*keys).sortWithinPartitions(*keys)
    return map_batches(together, _add_up(labels, schema), from_arrow_schema(schema))


def _tally_rows(labels: int, at_once: int, schema: pa.Schema) -> Mapper:
    def tally(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            held.append(batch)
            rows += batch.num_rows
            if rows >= at_once:
                yield counted(held)
                held, rows = [], 0
        if rows:
            yield counted(held)

    def counted(held: list[pa.RecordBatch]) -> pa.RecordBatch:
        columns = [column.combine_chunks() for column in pa.Table.from_batches(held).columns]
        ones = np.ones(len(columns[0]), dtype=np.int64)
        return ClassTally.of(columns[:labels], None, columns[labels:], ones).write(schema)

    return tally


def _add_up(labels: int, schema: pa.Schema) -> Mapper:
    """Adds up the tallies of each class, which are consecutive. Batches may cut a class in two."""

    def add_up(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: pa.RecordBatch | None = None  # the tally of the class that the last batch ended in
        for batch in batches:
            if batch.num_rows:
                table = pa.Table.from_batches([batch] if held is None else [held, batch])
                last = _start_of_last_class(table, labels)
                if last:
                    yield ClassTally.read(table.slice(0, last), labels).write(schema)
                held = ClassTally.read(table.slice(last), labels).write(schema)
        if held is not None:
            yield held

    return add_up


def _start_of_last_class(table: pa.Table, labels: int) -> int:
    """The first of the trailing rows that share the labels of the last row."""
    different = np.zeros(table.num_rows, dtype=np.bool_)
    for column in table.columns[:labels]:
        last = column[-1]
        same = pc.is_null(column) if last.as_py() is None else pc.fill_null(pc.equal(column, last), False)
        different |= ~same.to_numpy()
    places = np.flatnonzero(different)
    return int(places[-1]) + 1 if len(places) else 0


def count_values(tallies: DataFrame, names: Sequence[str]) -> tuple[list[Counts], TupleCounts | None]:
    """(the records with each value, by sensitive attribute in the order of `names`; the records with each tuple, None
    if there are more tuples than MOST_VALUES).

    Raises:
        InputError: if an attribute has more values than that.
    """
    attributes = [name for name in tallies.columns if name.startswith("v")]
    tuples = _count(tallies, attributes) if attributes else None
    if tuples is not None:
        return [marginal(tuples, i) for i in range(len(attributes))], tuples
    marginals: list[Counts] = []
    for i, attribute in enumerate(attributes):
        counts = _count(tallies, [attribute])
        if counts is None:
            raise InputError(
                f"sensitive attribute {names[i]!r} has more than {MOST_VALUES:,} distinct values; use coarser ones"
            )
        marginals.append({value: n for (value,), n in counts.items()})
    return marginals, None


def count_columns(table: DataFrame, names: Sequence[str]) -> list[dict[str | None, int]]:
    """The rows of a table with each value of some columns, as text. One pass for all columns.

    Raises:
        InputError: if all columns together have more values than MOST_VALUES.
    """
    picked = table.select(*[plain(table, name).cast("string").alias(str(i)) for i, name in enumerate(names)])
    grouped = (
        map_batches(picked, _count_each, "place int, value string, n bigint")
        .groupBy("place", "value")
        .agg(F.sum("n").alias("n"))
    )
    counted = grouped.limit(MOST_VALUES + 1).toArrow()
    if counted.num_rows > MOST_VALUES:
        raise InputError(f"{' and '.join(names)}: more than {MOST_VALUES:,} distinct values in all; use coarser ones")
    counts: list[dict[str | None, int]] = [{} for _ in names]
    for place, value, n in zip(*(column.to_pylist() for column in counted.columns), strict=True):
        counts[place][value] = n
    return counts


def _count_each(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for place, column in enumerate(batch.columns):
            counted = column.value_counts()
            places = pa.array([place] * len(counted), pa.int32())
            yield pa.RecordBatch.from_arrays(
                [places, counted.field("values"), counted.field("counts")], names=["place", "value", "n"]
            )


def _count(tallies: DataFrame, attributes: Sequence[str]) -> TupleCounts | None:
    """The records with each tuple of some attributes; None if there are more than MOST_VALUES."""
    picked = tallies.select(*attributes, "n")
    tuples = map_batches(picked, _count_tuples, "key array<string>, n bigint").groupBy("key").agg(F.sum("n").alias("n"))
    counted = tuples.limit(MOST_VALUES + 1).toArrow()
    if counted.num_rows > MOST_VALUES:
        return None
    return {tuple(key): n for key, n in zip(counted["key"].to_pylist(), counted["n"].to_pylist(), strict=True)}


def _count_tuples(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        *columns, counts = [column.flatten() for column in batch.columns]
        if len(counts):
            code, place = group_equal(columns)
            sums = np.zeros(len(place), dtype=np.int64)
            np.add.at(sums, code, counts.to_numpy())
            keys = [
                list(key) for key in zip(*(column.take(pa.array(place)).to_pylist() for column in columns), strict=True)
            ]
            yield pa.RecordBatch.from_arrays(
                [pa.array(keys, pa.list_(pa.string())), pa.array(sums)], names=["key", "n"]
            )
