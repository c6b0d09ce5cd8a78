"""The single aggregation of a table's rows: for each equivalence class, how many records have each
tuple of sensitive values.

Tasks tally their rows, a million at a time, and one shuffle adds the tallies up. So a class of any
size is never in one task as rows, only as its distinct tuples, which should fit into a task's
memory. A table whose files hold whole classes shuffles little more than a row for each class. All
other figures are computed from the tallies.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, combine, gather, map_batches, select
from tclose_spark.errors import InputError
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.table.arrays import IntArray, Mapper
from tclose_spark.table.columns.preparing import as_text, plain
from tclose_spark.table.dictionaries import coded, codes_of, decoded, group_equal
from tclose_spark.table.domains import Counts, TupleCounts, marginal

ROWS_AT_ONCE = 1 << 20  # held in a task: about 100 MB for a dozen columns
MOST_VALUES = 2_000_000  # distinct values, or tuples of them, that a driver holds
VALUES = pa.schema([("place", pa.int32()), ("value", pa.string()), ("n", pa.int64())])
"""Values of several columns with their rows. place: of the column."""
TUPLES = pa.schema([("key", pa.string()), ("n", pa.int64())])
"""Tuples of values with their rows. key: the tuple as JSON."""


@dataclass(frozen=True)
class ClassTally:
    """Some classes.

    labels: one array for each published column, a row for each class.
    tuples: the histogram of each class over the rows of `values`.
    values: one array of text for each sensitive attribute, and of integers for each number of whose
        rows are, a row for each tuple.
    """

    labels: list[pa.Array]
    tuples: Histograms
    values: list[pa.Array]

    @staticmethod
    def of(
        labels: Sequence[pa.Array],
        owner: IntArray | None,
        values: Sequence[pa.Array],
        counts: IntArray,
    ) -> ClassTally:
        """The tally of observations. Observation i is `counts[i]` records with the i-th row of
        `values`, in the class with row `owner[i]` of `labels` (row i if owner is None). Rows with
        equal labels are one class. Every row of `labels` must own an observation.
        """
        group, first = group_equal(labels)
        code, place = (
            group_equal(values)
            if values
            else (np.zeros(len(counts), dtype=np.int64), np.zeros(1, dtype=np.int64))
        )
        tuples = Histograms.tally(
            group if owner is None else group[owner],
            code,
            counts,
            len(first),
            len(place),
        )
        return ClassTally(
            [decoded(column.take(pa.array(first))) for column in labels],
            tuples,
            [decoded(column.take(pa.array(place))) for column in values],
        )

    @staticmethod
    def whole(batch: pa.RecordBatch, labels: int) -> ClassTally:
        """The tally in rows of `tally_classes` that are whole classes. Each entry is a tuple of its
        own.
        """
        *values, counts = batch.columns[labels:]
        entries = counts.flatten().to_numpy()
        offsets = np.concatenate([[0], np.cumsum(pc.list_value_length(counts).to_numpy())]).astype(
            np.int64,
        )
        return ClassTally(
            batch.columns[:labels],
            Histograms(offsets, np.arange(len(entries)), entries),
            [c.flatten() for c in values],
        )

    @staticmethod
    def read(batch: pa.RecordBatch | pa.Table, labels: int) -> ClassTally:
        """The tally in rows of `tally_classes`, whole classes or parts, with equal labels
        added up.
        """
        columns = [
            c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in batch.columns
        ]
        counts = columns[-1]
        owner = np.repeat(np.arange(batch.num_rows), pc.list_value_length(counts).to_numpy())
        return ClassTally.of(
            columns[:labels],
            owner,
            [c.flatten() for c in columns[labels:-1]],
            counts.flatten().to_numpy(),
        )

    def write(self, schema: pa.Schema) -> pa.RecordBatch:
        """As rows of `tally_classes`."""
        offsets = pa.array(self.tuples.offsets, pa.int32())
        entries = pa.array(self.tuples.values)
        lists = [pa.ListArray.from_arrays(offsets, column.take(entries)) for column in self.values]
        counts = pa.ListArray.from_arrays(offsets, pa.array(self.tuples.counts))
        return pa.RecordBatch.from_arrays([*self.labels, *lists, counts], schema=schema)


def tally_classes(
    table: Table,
    labels: Sequence[str],
    sensitive: Sequence[str],
    at_once: int = ROWS_AT_ONCE,
) -> Table:
    """One row for each class: the records that share all labels (NULL equals NULL).

    Columns: `l0`.. the labels, as text; `v0`.. for each sensitive attribute a list of values as
        text, one for each distinct tuple of the class; `n`, a list of the records of each tuple.
    """
    schema = tally_schema(len(labels), len(sensitive))
    rows = select(table, [*labels, *sensitive])
    return add_up(
        map_batches(rows, _tally_rows(len(labels), at_once, schema), schema),
        len(labels),
        schema,
    )


def texts(column: pa.Array) -> pa.DictionaryArray:
    """A column as text, `coded`. Each distinct value is written once.

    Raises:
        ValueError: if two values have one text: they would be judged as one.
    """
    values = coded(column)
    distinct = plain(values.dictionary)
    written = coded(as_text(distinct))
    if len(written.dictionary) < len(coded(distinct).dictionary):
        raise ValueError(f"two values of a column of {distinct.type} have one text")
    return pa.DictionaryArray.from_arrays(written.indices.take(values.indices), written.dictionary)


def tally_schema(labels: int, sensitive: int, numbers: int = 0) -> pa.Schema:
    """The columns of tallies, for this many published columns and sensitive attributes. numbers:
    how many integers of whose rows are follow the sensitive values.
    """
    kinds = [*[pa.string()] * sensitive, *[pa.int64()] * numbers]
    return pa.schema(
        [
            *[pa.field(f"l{i}", pa.string()) for i in range(labels)],
            *[pa.field(f"v{i}", pa.list_(kind)) for i, kind in enumerate(kinds)],
            pa.field("n", pa.list_(pa.int64())),
        ],
    )


def add_up(parts: Table, labels: int, schema: pa.Schema) -> Table:
    """Tallies with those of equal labels (the first columns) added up. One shuffle."""
    return map_batches(gather(parts, schema.names[:labels]), _add_up(labels, schema), schema)


def _tally_rows(labels: int, at_once: int, schema: pa.Schema) -> Mapper:
    def tally(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            held.append(batch)
            rows += batch.num_rows
            if rows >= at_once:
                yield counted(held)
                held = []
                rows = 0
        if rows:
            yield counted(held)

    def counted(held: list[pa.RecordBatch]) -> pa.RecordBatch:
        columns = [texts(column.combine_chunks()) for column in pa.Table.from_batches(held).columns]
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
                last = start_of_last_class(table, labels)
                if last:
                    yield ClassTally.read(table.slice(0, last), labels).write(schema)
                held = ClassTally.read(table.slice(last), labels).write(schema)
        if held is not None:
            yield held

    return add_up


def start_of_last_class(table: pa.Table, labels: int) -> int:
    """The first of the trailing rows that share the labels of the last row."""
    different = np.zeros(table.num_rows, dtype=np.bool_)
    for column in table.columns[:labels]:
        last = column[-1]
        same = (
            pc.is_null(column)
            if last.as_py() is None
            else pc.fill_null(pc.equal(column, last), False)
        )
        different |= ~same.to_numpy()
    places = np.flatnonzero(different)
    return int(places[-1]) + 1 if len(places) else 0


def count_values(tallies: Table, names: Sequence[str]) -> tuple[list[Counts], TupleCounts | None]:
    """(the records with each value, by sensitive attribute in the order of `names`; the records
    with each tuple, None if there are more tuples than MOST_VALUES).

    Raises:
        InputError: if an attribute has more values than that.
    """
    attributes = [f"v{i}" for i in range(len(names))]
    tuples = count_tuples(tallies, attributes) if attributes else None
    if tuples is not None:
        return [marginal(tuples, i) for i in range(len(attributes))], tuples
    marginals: list[Counts] = []
    for i, attribute in enumerate(attributes):
        counts = count_tuples(tallies, [attribute])
        if counts is None:
            raise InputError(
                f"sensitive attribute {names[i]!r} has more than {MOST_VALUES:,} distinct values; "
                "use coarser ones",
            )
        marginals.append({value: n for (value,), n in counts.items()})
    return marginals, None


def count_columns(table: Table, names: Sequence[str]) -> list[dict[str | None, int]]:
    """The rows of a table with each value of some columns, as text. One pass for all columns.

    Raises:
        InputError: if all columns together have more values than MOST_VALUES.
    """
    each = map_batches(select(table, names), _count_each, VALUES)
    counted = collect(combine(each, ["place", "value"], {"n": "sum"}), MOST_VALUES + 1)
    if counted.num_rows > MOST_VALUES:
        raise InputError(
            f"{' and '.join(names)}: more than {MOST_VALUES:,} distinct values in all; use coarser "
            "ones",
        )
    counts: list[dict[str | None, int]] = [{} for _ in names]
    for place, value, n in zip(*(column.to_pylist() for column in counted.columns), strict=True):
        counts[place][value] = n
    return counts


def _count_each(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for place, column in enumerate(batch.columns):
            text = texts(column)
            counts = np.bincount(codes_of(text), minlength=len(text.dictionary))
            places = pa.array([place] * len(counts), pa.int32())
            yield pa.RecordBatch.from_arrays(
                [places, text.dictionary, pa.array(counts)],
                schema=VALUES,
            )


def count_tuples(tallies: Table, attributes: Sequence[str]) -> TupleCounts | None:
    """The records with each tuple of some columns `v0`.. of tallies; None if there are more than
    MOST_VALUES.
    """
    tuples = map_batches(select(tallies, [*attributes, "n"]), _count_tuples, TUPLES)
    counted = collect(combine(tuples, ["key"], {"n": "sum"}), MOST_VALUES + 1)
    if counted.num_rows > MOST_VALUES:
        return None
    return {
        tuple(json.loads(key)): n
        for key, n in zip(*(column.to_pylist() for column in counted.columns), strict=True)
    }


def _count_tuples(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        *columns, counts = [column.flatten() for column in batch.columns]
        if len(counts):
            code, place = group_equal(columns)
            sums = np.zeros(len(place), dtype=np.int64)
            np.add.at(sums, code, counts.to_numpy())
            keys = zip(
                *(column.take(pa.array(place)).to_pylist() for column in columns),
                strict=True,
            )
            yield pa.RecordBatch.from_arrays(
                [pa.array(map(json.dumps, keys)), pa.array(sums)],
                schema=TUPLES,
            )
