"""The sample of whole values of a table, from those of its tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

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
    return _sampled(
        select(table, names),
        lambda batches: sample_of(batches, len(names)).reduced(),
        len(names),
        rows,
        may_be_coded=True,
    )


def add_samples(samples: Table, columns: int, rows: int) -> WholeValues:
    """The sample of a table with so many rows, reduced. samples: SAMPLE of its tasks, and missing
    values.
    """
    return _sampled(samples, lambda batches: _sum_of(batches, columns), columns, rows)


def _sampled(
    table: Table,
    of_task: Callable[[Iterable[pa.RecordBatch]], WholeValues],
    columns: int,
    rows: int,
    may_be_coded: bool = False,
) -> WholeValues:
    """The sum of what `of_task` makes of each partition. Other tasks add up the samples of a large
    table before the caller receives them.

    may_be_coded: see `map_batches`. The text of a large table is never coded.
    """
    tasks = min(MOST_TASKS, joining_tasks(rows, ROWS_OF_A_TASK))

    def sample(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        made = of_task(batches)
        yield _one(made, int(made.hashes[:, 0].sum()) % tasks)

    def add(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield _one(_sum_of(batches, columns), 0)

    if tasks == 1:
        found = map_batches(table, sample, SAMPLES, may_be_coded)
    else:
        found = map_batches(send_to_tasks(table, sample, SAMPLES, tasks), add, SAMPLES)
    return _sum_of(collect(found).to_batches(), columns)


def _one(sample: WholeValues, task: int) -> pa.RecordBatch:
    """A row of SAMPLES."""
    values = [pa.array([task], pa.int32()), pa.array([sample.to_bytes()], pa.binary())]
    return pa.RecordBatch.from_arrays(values, schema=SAMPLES)


def _sum_of(batches: Iterable[pa.RecordBatch], columns: int) -> WholeValues:
    """The sum of the samples in SAMPLE, reduced."""
    sample = WholeValues.empty(columns)
    for batch in batches:
        for value in batch.column(SAMPLE).drop_null():
            sample += WholeValues.from_bytes(value.as_buffer())
            if len(sample.hashes) > sample.most:
                sample = sample.reduced()
    return sample.reduced()
