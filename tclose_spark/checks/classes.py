"""The class table of a release: one row for each equivalence class, with all that is asked of it in exact figures.

Rows are tallied where they are read and again after one shuffle of the tallies: a release whose files hold whole
classes moves a row for each class and file, whatever the number of records or sensitive attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type

from tclose_spark.measures import diversity
from tclose_spark.measures.distances import GroundDistance
from tclose_spark.measures.histograms import Histograms, IntArray
from tclose_spark.measures.utility import LabelLoss
from tclose_spark.spec import SensitiveAttribute
from tclose_spark.tables import quoted
from tclose_spark.workers import Mapper, map_batches

EXACT = pa.decimal128(38, 0)
Tally = tuple[list[pa.Array], IntArray, list[Histograms]]
"""(labels, sizes, a histogram for each sensitive attribute) of some classes."""


def measure_column(measure: str, attribute: str) -> str:
    """The class table's column of a measure; dots and backticks of names, which Spark would read, are written %2E and %60."""
    return f"{measure}_{attribute.replace('%', '%25').replace('.', '%2E').replace('`', '%60')}"


@dataclass(frozen=True)
class JudgedAttribute:
    """A sensitive attribute of the release: its domain in order, its distance over the whole release, what is asked."""

    name: str
    values: tuple[str | None, ...]
    distance: GroundDistance
    asked: SensitiveAttribute

    def column(self, measure: str) -> str:
        """The class table's column of a measure of this attribute (see `measure_column`)."""
        return measure_column(measure, self.name)

    def measures(self) -> list[tuple[str, pa.DataType]]:
        """Columns of the class table for this attribute and their types; see `_measure`."""
        columns = [("emd", pa.float64()), ("numerator", EXACT), ("margin", EXACT), ("distinct", pa.int64())]
        if self.asked.l.entropy is not None:
            columns.append(("entropy", pa.float64()))
        if self.asked.l.recursive is not None:
            columns.append(("recursive_margin", EXACT))
        return [(self.column(measure), kind) for measure, kind in columns]


@dataclass(frozen=True)
class JudgedQuasi:
    """A quasi-identifier of the release: its published columns (two where it is bounds) and what its labels lose."""

    name: str
    columns: tuple[str, ...]
    loss: LabelLoss


def class_table(release: DataFrame, quasi: Sequence[JudgedQuasi], attributes: Sequence[JudgedAttribute]) -> DataFrame:
    """One row for each equivalence class, the records that share the published quasi-identifiers (NULL equals NULL).

    Columns: `quasi_identifiers` (a struct of the labels), `size`, `loss` (mean information loss), `losses` (a struct, by
    quasi-identifier), and for each sensitive attribute `emd_` (a double, to read), `numerator_` (see `measures.distances`),
    `margin_` (t as p/q: p * denominator - q * numerator, so t holds where it is >= 0; 0 where no t is asked), `distinct_`,
    and where asked `entropy_` and `recursive_margin_` (holds where > 0).
    """
    labels = [name for q in quasi for name in q.columns]
    coded = release.select(
        *[quoted(name).alias(f"l{i}") for i, name in enumerate(labels)],
        *[quoted(a.name).cast("string").alias(f"s{i}") for i, a in enumerate(attributes)],
    )
    keys = [f"l{i}" for i in range(len(labels))]
    kinds = [pa.field(key, to_arrow_type(coded.schema[key].dataType)) for key in keys]
    tallied = map_batches(coded, _tally_rows(len(labels), attributes), from_arrow_schema(_tally_schema(kinds, len(attributes))))
    together = tallied.repartition(*keys).sortWithinPartitions(*keys)
    judged = map_batches(together, _judge(quasi, attributes, kinds), from_arrow_schema(_judged_schema(kinds, quasi, attributes)))
    return judged.select(
        F.struct(*[F.col(key).alias(name) for key, name in zip(keys, labels, strict=True)]).alias("quasi_identifiers"),
        "size",
        "loss",
        F.struct(*[F.col(f"w{i}").alias(q.name) for i, q in enumerate(quasi)]).alias("losses"),
        *[quoted(name) for a in attributes for name, _ in a.measures()],
    )


def _tally_schema(labels: Sequence[pa.Field], attributes: int) -> pa.Schema:
    lists = [pa.field(f"{part}{i}", pa.list_(pa.int64())) for i in range(attributes) for part in ("v", "c")]
    return pa.schema([*labels, pa.field("size", pa.int64()), *lists])


def _judged_schema(labels: Sequence[pa.Field], quasi: Sequence[JudgedQuasi], attributes: Sequence[JudgedAttribute]) -> pa.Schema:
    losses = [pa.field(f"w{i}", pa.float64()) for i in range(len(quasi))]
    measures = [pa.field(name, kind) for a in attributes for name, kind in a.measures()]
    return pa.schema([*labels, pa.field("size", pa.int64()), pa.field("loss", pa.float64()), *losses, *measures])


def group_labels(labels: Sequence[pa.Array]) -> tuple[IntArray, IntArray]:
    """(group of each row, a row of each group) of rows with equal labels; NULL equals NULL."""
    group, groups = np.zeros(len(labels[0]), dtype=np.int64), 1
    for label in labels:
        codes = label.dictionary_encode(null_encoding="encode").indices.to_numpy()
        size = int(codes.max(initial=0)) + 1
        if groups > (1 << 62) // size:
            _, group = np.unique(group, return_inverse=True)
            groups = int(group.max(initial=0)) + 1
        group, groups = group * size + codes, groups * size
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    return group, first


def _tally_rows(labels: int, attributes: Sequence[JudgedAttribute]) -> Mapper:
    """Counts, for each batch of records, the values of each class in it."""
    domains = [attribute.values for attribute in attributes]

    def tally(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not batch.num_rows:
                continue
            columns = batch.columns
            group, first = group_labels(columns[:labels])
            ones = np.ones(len(group), dtype=np.int64)
            histograms = []
            for values, column in zip(domains, columns[labels:], strict=True):
                code = pc.index_in(column, value_set=pa.array(values, pa.string())).to_numpy(zero_copy_only=False)
                histograms.append(Histograms.tally(group, code.astype(np.int64), ones, len(first), len(values)))
            yield _as_batch(([column.take(pa.array(first)) for column in columns[:labels]], np.bincount(group), histograms))

    return tally


def _as_batch(tally: Tally) -> pa.RecordBatch:
    labels, sizes, histograms = tally
    arrays = [*labels, pa.array(sizes, pa.int64())]
    for h in histograms:
        offsets = pa.array(h.offsets, pa.int32())
        arrays += [pa.ListArray.from_arrays(offsets, pa.array(part)) for part in (h.values, h.counts)]
    schema = _tally_schema([pa.field(f"l{i}", label.type) for i, label in enumerate(labels)], len(histograms))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _merge(table: pa.Table, labels: int, domains: Sequence[int]) -> Tally:
    """The tallies of a table with equal labels added up."""
    columns = [column.combine_chunks() for column in table.columns]
    group, first = group_labels(columns[:labels])
    sizes = np.zeros(len(first), dtype=np.int64)
    np.add.at(sizes, group, columns[labels].to_numpy())
    histograms = []
    for i, domain in enumerate(domains):
        values, counts = columns[labels + 1 + 2 * i], columns[labels + 2 + 2 * i]
        owner = np.repeat(group, pc.list_value_length(values).to_numpy())
        histograms.append(Histograms.tally(owner, values.flatten().to_numpy(), counts.flatten().to_numpy(), len(first), domain))
    return [column.take(pa.array(first)) for column in columns[:labels]], sizes, histograms


def _judge(quasi: Sequence[JudgedQuasi], attributes: Sequence[JudgedAttribute], kinds: Sequence[pa.Field]) -> Mapper:
    """Adds up the tallies of each class, which follow one another, and measures it. Batches may cut a class in two."""
    domains = [len(a.values) for a in attributes]
    schema = _judged_schema(kinds, quasi, attributes)
    labels = len(kinds)

    def judge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: pa.Table | None = None
        for batch in batches:
            table = pa.Table.from_batches([batch])
            table = table if held is None else pa.concat_tables([held, table])
            last = _start_of_last_class(table, labels)
            held = table.slice(last)
            if last:
                yield _measure(_merge(table.slice(0, last), labels, domains), quasi, attributes, schema)
        if held is not None and held.num_rows:
            yield _measure(_merge(held, labels, domains), quasi, attributes, schema)

    return judge


def _start_of_last_class(table: pa.Table, labels: int) -> int:
    """Where the run of rows begins that have the labels of the last row."""
    group, _ = group_labels([table.column(i).combine_chunks() for i in range(labels)])
    different = np.flatnonzero(group != group[-1])
    return int(different[-1]) + 1 if len(different) else 0


def _measure(tally: Tally, quasi: Sequence[JudgedQuasi], attributes: Sequence[JudgedAttribute], schema: pa.Schema) -> pa.RecordBatch:
    labels, sizes, histograms = tally
    arrays: list[pa.Array] = [*labels, pa.array(sizes)]
    published = iter(labels)
    losses = [_losses(q.loss, [next(published) for _ in q.columns]) for q in quasi]
    arrays += [pa.array(sum(losses) / len(losses)), *[pa.array(loss) for loss in losses]]
    for attribute, histogram in zip(attributes, histograms, strict=True):
        distance, asked = attribute.distance, attribute.asked
        numerators = distance.numerators(histogram)
        denominators = sizes.astype(object) * (distance.scale * int(distance.table.sum()))
        arrays.append(pa.array((numerators.astype(object) / denominators).astype(np.float64)))
        t = asked.t if asked.t is not None else Fraction(1)
        margin = t.numerator * denominators - t.denominator * numerators.astype(object)
        arrays += [pa.array(numerators.tolist(), EXACT), pa.array(margin.tolist() if asked.t is not None else [0] * len(sizes), EXACT)]
        arrays.append(pa.array(diversity.distinct(histogram)))
        if asked.l.entropy is not None:
            arrays.append(pa.array(diversity.entropy(histogram)))
        if asked.l.recursive is not None:
            c, level = asked.l.recursive.c, asked.l.recursive.l
            arrays.append(pa.array(diversity.recursive_margins(histogram, c, level).tolist(), EXACT))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _losses(loss: LabelLoss, columns: Sequence[pa.Array]) -> Any:
    """Information loss of each class in one quasi-identifier, shape (classes,)."""
    if len(columns) == 2:
        low, high = (column.fill_null(0).to_numpy().astype(np.float64) for column in columns)
        return np.minimum(1.0, (high - low) / float(loss.span)) if loss.span else np.zeros(len(low))
    encoded = columns[0].dictionary_encode(null_encoding="encode")
    return np.array([float(loss.of(label)) for label in encoded.dictionary.to_pylist()])[encoded.indices.to_numpy()]
