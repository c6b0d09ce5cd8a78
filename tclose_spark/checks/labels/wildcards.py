"""k-anonymity with missing labels that could be any value: the records that each class cannot be
told from.

Two classes are alike if their labels are equal in every column in which neither is missing. The
frequency of a class is the number of records in all classes like it, itself included: the f_k of
sdcMicro's `freqCalc` with alpha = 1 (Templ 2008, "Statistical Disclosure Control for Microdata
Using the R-Package sdcMicro", Transactions on Data Privacy 1). Likeness is not transitive, so each
class has a frequency of its own.

Classes are grouped by their pattern, the columns in which their labels are missing. The classes of
one pattern that are like a class of another have the same labels in the columns that both have: one
sum by these labels for each two patterns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, combine, gather, map_batches, select
from tclose_spark.errors import InputError
from tclose_spark.requirements.criterion import Guarantee
from tclose_spark.table.arrays import BoolArray, IntArray
from tclose_spark.table.dictionaries import group_equal

MEASURE = "k-anonymity if a missing value may be any"
MOST_PATTERNS = 64
"""Every class is sent once for each pattern."""


def alike_guarantee(classes: Table, quasi: Sequence[JudgedQuasi], k: int | None) -> Guarantee:
    """The smallest frequency of a class. classes: a class table. k: required; None to report only.

    Raises:
        InputError: if the labels are missing in more than MOST_PATTERNS combinations of columns.
    """
    names = [column for q in quasi for column in q.columns]
    labels = [f"l{i}" for i in range(len(names))]
    counts = ("size", "alike", "classes", "rows")
    schema = pa.schema(
        [*((label, pa.string()) for label in labels), *((name, pa.int64()) for name in counts)],
    )

    def worst(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                broken = pc.less(batch["alike"], k or 0)
                found = _smallest(pa.Table.from_batches([batch]))
                below = [pc.sum(broken.cast(pa.int64())), pc.sum(batch.filter(broken)["size"])]
                values = [
                    *(found[name] for name in [*labels, "size", "alike"]),
                    *(x.as_py() or 0 for x in below),
                ]
                yield pa.RecordBatch.from_arrays(
                    [pa.array([x], f.type) for x, f in zip(values, schema, strict=True)],
                    schema=schema,
                )

    parts = collect(map_batches(alike_classes(classes, quasi), worst, schema))
    one = _smallest(parts)
    return Guarantee(
        measure=MEASURE,
        attribute=None,
        required=k,
        achieved=one["alike"],
        classes=pc.sum(parts["classes"]).as_py(),
        rows=pc.sum(parts["rows"]).as_py(),
        worst={name: one[label] for name, label in zip(names, labels, strict=True)},
        size=one["size"],
    )


def _smallest(classes: pa.Table) -> dict[str, Any]:
    """The class of the lowest frequency; of several, the first in the order of sizes and labels."""
    lowest = classes.filter(pc.equal(classes["alike"], pc.min(classes["alike"])))
    lowest = lowest.filter(pc.equal(lowest["size"], pc.min(lowest["size"])))
    labels = [name for name in classes.column_names if name[0] == "l"]
    rows: list[dict[str, Any]] = lowest.to_pylist()
    return min(
        rows,
        key=lambda row: [(row[label] is not None, row[label] or "") for label in labels],
    )


def alike_classes(classes: Table, quasi: Sequence[JudgedQuasi]) -> Table:
    """The classes of a class table: their labels `l0`.., their `size`, and the frequency `alike`.

    Raises:
        InputError: if the labels are missing in more than MOST_PATTERNS combinations of columns.
    """
    may = np.array([q.missing_any for q in quasi for _ in q.columns])
    labels = [f"l{i}" for i in range(len(may))]
    own = pa.schema([*((label, pa.string()) for label in labels), ("size", pa.int64())])

    def labelled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = [*batch["quasi_identifiers"].flatten(), batch["size"]]
            yield pa.RecordBatch.from_arrays(columns, schema=own)

    listed = map_batches(select(classes, ["quasi_identifiers", "size"]), labelled, own)
    patterns = _patterns(listed, may)
    keys = [f"m{i}" for i in range(len(may))]
    pairs = pa.schema(
        [("pair", pa.int32()), *((key, pa.string()) for key in keys), ("later", pa.bool_()), *own],
    )
    summed = pa.schema([*own, ("alike", pa.int64())])

    def paired(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            number = _pattern_of(batch.columns[:-1], may, patterns)
            for other, pattern in enumerate(patterns):
                for of in np.unique(number).tolist():
                    here = batch.take(pa.array(np.flatnonzero(number == of)))
                    hidden = patterns[of] | pattern
                    shared = [
                        pa.nulls(len(here), pa.string()) if gone else column
                        for column, gone in zip(here.columns[:-1], hidden, strict=True)
                    ]
                    pair = pa.repeat(
                        pa.scalar(min(of, other) * len(patterns) + max(of, other), pa.int32()),
                        len(here),
                    )
                    later = pa.repeat(pa.scalar(of > other), len(here))
                    yield pa.RecordBatch.from_arrays(
                        [pair, *shared, later, *here.columns],
                        schema=pairs,
                    )

    def added(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = [batch for batch in batches if batch.num_rows]
        if not parts:
            return
        (sent,) = pa.Table.from_batches(parts).combine_chunks().to_batches()
        group, first = group_equal([sent[name] for name in ("pair", *keys)])
        later = sent["later"].to_numpy(zero_copy_only=False).astype(np.int64)
        size = sent["size"].to_numpy()
        sums = np.zeros((2, len(first)), dtype=np.int64)
        np.add.at(sums, (later, group), size)
        pair = sent["pair"].to_numpy()
        itself = pair // len(patterns) == pair % len(patterns)
        alike = np.where(itself, size, sums[1 - later, group])
        yield pa.RecordBatch.from_arrays(
            [*(sent[label] for label in labels), sent["size"], alike],
            schema=summed,
        )

    together = map_batches(
        gather(map_batches(listed, paired, pairs), ["pair", *keys]),
        added,
        summed,
    )
    return combine(together, [*labels, "size"], {"alike": "sum"})


def _patterns(classes: Table, may: BoolArray) -> BoolArray:
    """The distinct patterns, shape (patterns, columns). may: which columns may be missing, shape
    (columns,).
    """
    schema = pa.schema([("pattern", pa.string()), ("n", pa.int64())])

    def find(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                distinct, n = np.unique(
                    _missing(batch.columns[:-1], may),
                    axis=0,
                    return_counts=True,
                )
                texts = ["".join("01"[x] for x in row) for row in distinct.astype(int).tolist()]
                yield pa.RecordBatch.from_arrays([pa.array(texts), pa.array(n)], schema=schema)

    found = collect(
        combine(map_batches(classes, find, schema), ["pattern"], {"n": "sum"}),
        MOST_PATTERNS + 1,
    )
    if found.num_rows > MOST_PATTERNS:
        raise InputError(
            f"missing: any: labels are missing in more than {MOST_PATTERNS} combinations of "
            "columns, each of which is compared with every other; leave out quasi-identifiers, or "
            "audit without it",
        )
    return np.array(
        [[x == "1" for x in text] for text in sorted(found["pattern"].to_pylist())],
        dtype=bool,
    )


def _missing(labels: Sequence[pa.Array], may: BoolArray) -> BoolArray:
    """Which labels are missing and may be any value, shape (classes, columns)."""
    gone = np.stack(
        [pc.is_null(column).to_numpy(zero_copy_only=False) for column in labels],
        axis=1,
    )
    return gone.astype(bool) & may


def _pattern_of(labels: Sequence[pa.Array], may: BoolArray, patterns: BoolArray) -> IntArray:
    """The place of each class's pattern, shape (classes,)."""
    place = {row.tobytes(): i for i, row in enumerate(patterns)}
    return np.array([place[row.tobytes()] for row in _missing(labels, may)], dtype=np.int64)
