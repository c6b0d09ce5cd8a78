"""Staged rows as codes: the sample that a plan is made from, and how many rows a plan puts where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tclose_spark.errors import InputError
from tclose_spark.io.spark.shuffles import joining_tasks, sent_to_tasks
from tclose_spark.io.spark.workers import map_batches
from tclose_spark.stages.frequencies import count_keys
from tclose_spark.stages.staging import HASH, StagedColumns, read_batches
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.domains import Profile
from tclose_spark.table.local_rows import LocalRows, draw, repeated, share_of
from tclose_spark.table.rows import Codec, Rows
from tclose_spark.table.tally import Tally

MOST_LOCAL = 1_000_000  # rows that the driver holds as codes, some 100 bytes each; of more, Spark holds them
DRAWN_A_PART = 250_000  # rows that tasks drew of a large table, to be joined by another one


@dataclass(frozen=True)
class Encoder:
    """Turns batches of staged rows into codes. Their keyed hash is of all published columns, so it orders rows by
    content.
    """

    codec: Codec
    columns: StagedColumns

    @staticmethod
    def of(profile: Profile, columns: StagedColumns) -> Encoder:
        """The encoder of a table's rows."""
        return Encoder(Codec.of(profile), columns)

    def parts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Rows]:
        """The rows of each batch that was staged, from batches of `staged_batches`."""
        return map(self.rows, read_batches(batch.column(0) for batch in batches))

    def rows(self, batch: pa.RecordBatch) -> Rows:
        """The rows of a batch.

        Raises:
            UnknownValueError: if a value is not in the profile's domains.
        """
        held, hashes = batch.columns, batch.column(HASH).to_numpy()
        return self.codec.encode(self.columns.quasi(held), self.columns.texts(held), hashes)


class EncodedTable:
    """The staged rows of a table, as a plan needs them: by the driver where they are few, else by Spark."""

    def __init__(self, batches: DataFrame, encoder: Encoder, profile: Profile, most_local: int = MOST_LOCAL) -> None:
        self._batches, self._encoder, self._profile = batches, encoder, profile
        self._local = LocalRows(self._brought(), profile.distinct_rows) if profile.rows <= most_local else None

    def _brought(self) -> Rows:
        encoder = self._encoder
        codec = encoder.codec

        def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for rows in encoder.parts(batches):
                yield pa.RecordBatch.from_arrays([pa.array([codec.pack(rows).tobytes()], pa.binary())], names=["rows"])

        brought = map_batches(self._batches, pack, "rows binary").toArrow()
        return codec.unpack(b"".join(brought["rows"].to_pylist()))

    def sample(self, most: int) -> Rows:
        """About `most` rows that stand for the table: the same however it is partitioned or ordered.

        Distinct rows are drawn, by the low bits of their hashes (order keys end in the high ones), each with its share
        of the rows that are like it; so many repeated rows neither crowd the sample nor leave it empty.
        """
        share = share_of(most, self._profile.distinct_rows)
        drawn, n = self._drawn(share) if self._local is None else draw(self._local.rows, share)
        if not len(n):
            raise InputError("no rows are staged: what was staged is damaged; run again from the profile")
        return repeated(drawn, n, most)

    def counts(self, group_of: Callable[[Rows], IntArray], groups: int) -> IntArray:
        """How many rows `group_of` puts into each of the groups, shape (groups,). One scan."""
        if self._local is not None:
            return self._local.counts(group_of, groups)
        encoder = self._encoder

        def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            total = np.zeros(groups, dtype=np.int64)
            for rows in encoder.parts(batches):
                total += np.bincount(group_of(rows), minlength=groups)
            present = np.flatnonzero(total)
            yield pa.RecordBatch.from_arrays([pa.array(present), pa.array(total[present])], names=["group", "n"])

        counted = map_batches(self._batches, count, "group bigint, n bigint")
        added = counted.groupBy("group").agg(F.sum("n").alias("n")).toArrow()
        counts = np.zeros(groups, dtype=np.int64)
        counts[added["group"].to_numpy()] = added["n"].to_numpy()
        return counts

    def frequencies(self, tally_of: Callable[[Rows], Tally], most: int) -> Tally:
        """The sum of `tally_of` over all rows, in whatever parts they come. One scan.

        Raises:
            TooManyKeysError: if it has more than `most` keys.
        """
        if self._local is not None:
            return self._local.frequencies(tally_of, most)
        return count_keys(self._batches, self._encoder.parts, tally_of, most, self._profile.rows)

    def _drawn(self, share: np.uint64) -> tuple[Rows, IntArray]:
        """What is drawn of a large table: by each task of its rows, joined by other tasks, put together here."""
        encoder = self._encoder
        codec = encoder.codec
        joining = joining_tasks(self._profile.rows * int(share) >> 31, DRAWN_A_PART)

        def draw_part(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for rows in encoder.parts(batches):
                drawn, n = draw(rows, share)
                part = (drawn.hash >> np.uint64(32)) % np.uint64(joining)
                for number in np.unique(part).tolist():
                    here = np.flatnonzero(part == number)
                    yield written(drawn.take(here), n[here], number)

        def join(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            received = [part for batch in batches for part in read(batch)]
            if received:
                yield written(*_together(received), 0)

        def written(rows: Rows, n: IntArray, part: int) -> pa.RecordBatch:
            data = [pa.array([codec.pack(rows).tobytes()]), pa.array([n.tobytes()])]
            return pa.RecordBatch.from_arrays([pa.array([part], pa.int32()), *data], names=["part", "rows", "n"])

        def read(batch: pa.RecordBatch | pa.Table) -> list[tuple[Rows, IntArray]]:
            records, counts = batch["rows"].to_pylist(), batch["n"].to_pylist()
            return [
                (codec.unpack(data), np.frombuffer(n, dtype=np.int64)) for data, n in zip(records, counts, strict=True)
            ]

        schema = "part int, rows binary, n binary"
        parts = sent_to_tasks(self._batches, draw_part, schema, joining)
        return _together(read(map_batches(parts, join, schema).toArrow()))


def _together(parts: list[tuple[Rows, IntArray]]) -> tuple[Rows, IntArray]:
    """The different rows of several parts, and how many there are of each."""
    if not parts:
        raise InputError("no rows are staged: what was staged is damaged; run again from the profile")
    return Rows.concatenate([rows for rows, _ in parts]).distinct(np.concatenate([n for _, n in parts]))
