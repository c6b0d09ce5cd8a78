"""The sample of whole values of a table, from those of its tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, joining_tasks, map_batches, select, send_to_tasks
from tclose_spark.table.entities.whole_values import WholeValues, sample_of

SAMPLE = "sample"
SAMPLES = pa.schema([("task", pa.int32()), (SAMPLE, pa.binary())])
# Of the table, whose samples a task adds up before the caller receives them.
ROWS_OF_A_TASK = 50_000_000
MOST_TASKS = 8


def sample_table(table: Table, names: Sequence[str], rows: int) -> WholeValues:
    """The sample of these columns of a table with so many rows, reduced. One pass."""

    def drawn(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield _one(sample_of(batches, len(names)), 0)

    return added_up(
        select(map_batches(select(table, names), drawn, SAMPLES, True), [SAMPLE]),
        len(names),
        rows,
    )


def added_up(samples: Table, columns: int, rows: int) -> WholeValues:
    """The sample of a table with so many rows, reduced. samples: SAMPLE of its tasks, and missing
    values.
    """
    tasks = min(MOST_TASKS, joining_tasks(rows, ROWS_OF_A_TASK))

    def added(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sample = _sum((batch.column(batch.num_columns - 1) for batch in batches), columns)
        yield _one(sample, int(sample.hashes[:, 0].sum()) % tasks)

    sent = samples if tasks == 1 else send_to_tasks(samples, added, SAMPLES, tasks)
    return _sum(collect(map_batches(sent, added, SAMPLES))[SAMPLE].chunks, columns)


def _one(sample: WholeValues, task: int) -> pa.RecordBatch:
    """A row of SAMPLES."""
    values = [pa.array([task], pa.int32()), pa.array([sample.to_bytes()], pa.binary())]
    return pa.RecordBatch.from_arrays(values, schema=SAMPLES)


def _sum(written: Iterable[pa.Array], columns: int) -> WholeValues:
    """The sum of samples as bytes, reduced."""
    sample = WholeValues.empty(columns)
    for one in written:
        for value in one.drop_null():
            sample += WholeValues.from_bytes(value.as_buffer())
            if len(sample.hashes) > sample.most:
                sample = sample.reduced()
    return sample.reduced()
