"""How many rows of a large table have each key, where what keys there are is not known beforehand: counted by the tasks
that read the rows, added up by others, put together on the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from tclose_spark.errors import InputError
from tclose_spark.io.spark.shuffles import joining_tasks, sent_to_tasks
from tclose_spark.io.spark.workers import map_batches
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows
from tclose_spark.table.tally import Tallier, Tally, TooManyKeysError

ROWS_A_PART = 1_000_000  # that tasks counted, to be added up by another one
SCHEMA = "part int, keys binary, n binary"
TOO_MANY = -1
"""In place of a part: a task has more keys than were to be counted, and sends none."""


def count_keys(
    batches: DataFrame,
    rows_of: Callable[[Iterable[pa.RecordBatch]], Iterator[Rows]],
    tally_of: Callable[[Rows], Tally],
    most: int,
    rows: int,
) -> Tally:
    """The sum of `tally_of` over the rows of all batches, so many. Keys spread evenly, so one task adds up its share of
    them, and the driver is sent about `most` keys at most.

    Raises:
        TooManyKeysError: if there are more than `most` keys.
        InputError: if there are no rows.
    """
    parts = joining_tasks(rows, ROWS_A_PART)
    share = most // parts * 3 // 2 + 1_000

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _sent(map(tally_of, rows_of(batches)), most, parts)

    def add(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        received = [batch for batch in batches if batch.num_rows]
        if any(TOO_MANY in batch["part"].to_pylist() for batch in received):
            yield _written(TOO_MANY, None)
        else:
            yield from _sent((tally for batch in received for tally in _read(batch)), share, 1)

    counted = sent_to_tasks(batches, count, SCHEMA, parts)
    brought = map_batches(counted, add, SCHEMA).toArrow()
    if TOO_MANY in brought["part"].to_pylist():
        raise TooManyKeysError
    tallies = _read(brought)
    if not tallies:
        raise InputError("no rows are staged: what was staged is damaged; run again from the profile")
    whole = Tally.together(tallies)
    if len(whole) > most:
        raise TooManyKeysError
    return whole


def _sent(tallies: Iterable[Tally], most: int, parts: int) -> Iterator[pa.RecordBatch]:
    """The sum of tallies in parts, by key; TOO_MANY if they have more than `most` keys."""
    tallier = Tallier(most)
    try:
        for tally in tallies:
            tallier.add(tally)
        total = tallier.total()
    except TooManyKeysError:
        yield _written(TOO_MANY, None)
        return
    if total is not None and len(total):
        part = total.part_of(parts)
        for number in np.unique(part).tolist():
            yield _written(number, total.take(np.flatnonzero(part == number)))


def _written(part: int, tally: Tally | None) -> pa.RecordBatch:
    data = [None, None] if tally is None else [tally.keys.tobytes(), tally.rows.tobytes()]
    arrays = [pa.array([part], pa.int32()), *(pa.array([value], pa.binary()) for value in data)]
    return pa.RecordBatch.from_arrays(arrays, names=["part", "keys", "n"])


def _read(batch: pa.RecordBatch | pa.Table) -> list[Tally]:
    tallies = []
    for keys, n in zip(batch["keys"].to_pylist(), batch["n"].to_pylist(), strict=True):
        rows = _integers(n)
        tallies.append(Tally(_integers(keys).reshape(-1, len(rows)), rows))
    return tallies


def _integers(data: bytes) -> IntArray:
    return np.frombuffer(data, dtype=np.int64)
