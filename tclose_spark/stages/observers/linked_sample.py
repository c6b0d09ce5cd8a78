"""Some rows beside what is published of them, for the internal report.

Only where a release is written are a row's raw values and its labels at hand together. There a task sends some of its
rows to the driver, drawn by their keyed hashes as samples are. What is sent is raw, so it stays in the staging area
until the report is made of it, and is removed with it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tclose_spark.stages.staging import read_batches, write_batch
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.dictionaries import decoded, group_equal
from tclose_spark.table.domains import Profile
from tclose_spark.table.local_rows import LOW_BITS, share_of
from tclose_spark.table.rows import Codec, Rows

SAMPLE_ROWS = 20_000
MOST_SENT = 8 * SAMPLE_ROWS  # different rows with their labels that all tasks together send
ROW, COUNT, KEPT = "row", "count", "kept"


@dataclass(frozen=True, kw_only=True)
class LinkedRows:
    """Rows with what is published of them.

    rows: those that are released, in the order of their hashes; labels: their published columns of quasi-identifiers.
    suppressed: those that are left out.
    whole: how many rows the input has, of which these were drawn.
    """

    rows: Rows
    labels: list[pa.Array]
    suppressed: Rows
    whole: int


class _Added(AccumulatorParam[list[bytes]]):
    """All that tasks sent."""

    def zero(self, value: list[bytes]) -> list[bytes]:
        return []

    def addInPlace(self, value1: list[bytes], value2: list[bytes]) -> list[bytes]:  # noqa: N802 - Spark's name
        value1 += value2
        return value1


class LinkedSample:
    """Draws in tasks, gives what was drawn on the driver. Sessions without a context of their own (Spark Connect) draw
    nothing.
    """

    def __init__(self, spark: SparkSession, profile: Profile, tasks: int) -> None:
        self._codec, self._share = Codec.of(profile), share_of(SAMPLE_ROWS, profile.distinct_rows)
        self._most = max(64, 2 * MOST_SENT // tasks)
        self._sent: Accumulator[list[bytes]] | None
        try:
            self._sent = spark.sparkContext.accumulator([], _Added())
        except (PySparkException, AttributeError):
            self._sent = None

    def add(self, rows: Rows, labels: Sequence[pa.Array] | None, columns: int) -> None:
        """In a task: sends those of its rows that are drawn. labels: their published columns of quasi-identifiers, so
        many; None of rows that are suppressed.
        """
        if self._sent is None or not len(rows):
            return
        drawn = np.flatnonzero((rows.hash & LOW_BITS) < self._share)
        if not len(drawn):
            return
        packed = self._codec.pack(rows.take(drawn))
        row = pa.array([each.tobytes() for each in packed], pa.binary())
        texts = [pa.nulls(len(drawn), pa.string())] * columns
        if labels is not None:
            texts = [decoded(column.take(pa.array(drawn))).cast(pa.string()) for column in labels]
        group, first = group_equal([row, *texts])
        counts = np.bincount(group)
        step = -(-len(first) // self._most)  # more than that only where few different rows are in very many classes
        place = pa.array(first[::step])
        beside = [column.take(place) for column in texts]
        names = [ROW, COUNT, KEPT, *(f"l{i}" for i in range(columns))]
        kept = pa.array(np.full(len(place), labels is not None))
        columns_of = [row.take(place), pa.array(counts[::step] * step), kept, *beside]
        self._sent.add([write_batch(pa.RecordBatch.from_arrays(columns_of, names=names))])

    def to_json(self) -> str:
        """On the driver, after the write: what was drawn, as text that `read_linked` reads."""
        sent = [] if self._sent is None else self._sent.value
        return json.dumps([base64.b64encode(part).decode() for part in sorted(sent)])


def read_linked_rows(text: str, profile: Profile) -> LinkedRows | None:
    """The sample that `to_json` wrote, of at most SAMPLE_ROWS rows; None where nothing was drawn."""
    sent = [base64.b64decode(part) for part in json.loads(text)]
    if not sent:
        return None
    table = pa.Table.from_batches(list(read_batches([pa.array(sent, pa.binary())]))).combine_chunks()
    codec = Codec.of(profile)
    rows = codec.unpack(b"".join(table[ROW].to_pylist()))
    order = np.argsort(rows.hash, kind="stable")
    order = order[_shares(table[COUNT].to_numpy()[order])]
    kept = table[KEPT].to_numpy()[order]
    labels = [table[name].combine_chunks().take(pa.array(order[kept])) for name in table.column_names[3:]]
    return LinkedRows(
        rows=rows.take(order[kept]), labels=labels, suppressed=rows.take(order[~kept]), whole=profile.rows
    )


def _shares(counts: IntArray) -> Any:
    """Places of at most SAMPLE_ROWS rows, each as often as its share of the counts."""
    before = np.append(0, np.cumsum(counts))
    most = min(SAMPLE_ROWS, int(before[-1]))
    return np.repeat(np.arange(len(counts)), np.diff(before * most // before[-1]))
