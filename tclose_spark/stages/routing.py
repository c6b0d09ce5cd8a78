"""Staged rows on their way to the tasks of their classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Plan
from tclose_spark.stages.staging.batches import StagedColumns, read_batches, write_batch
from tclose_spark.stages.staging.encode import Encoder
from tclose_spark.table.arrays import IntArray, Mapper, in_order
from tclose_spark.table.dictionaries import decoded
from tclose_spark.table.rows import Rows

# That a task holds as codes before it sends them.
ROWS_ROUTED = 1 << 18
MOST_ROUTED = 1 << 21
ROWS_TO_EACH = 64  # on average, so that values that travel are not too many
ROUTED = pa.schema([("task", pa.int32()), ("rows", pa.binary()), ("beside", pa.binary())])
"""The rows for a task, packed, and beside them the columns that pass unchanged."""


def router(encoder: Encoder, plan: Plan) -> Mapper:
    """Packs staged rows and routes them to the tasks of their classes: the rows for one task as one
    value.
    """
    columns = encoder.columns
    codec = encoder.codec
    most = min(max(ROWS_ROUTED, ROWS_TO_EACH * plan.tasks), MOST_ROUTED)

    def route(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        for staged in read_batches(batch.column(0) for batch in batches):
            held.append(staged)
            if sum(part.num_rows for part in held) >= most:
                yield sent(held)
                held = []
        if held:
            yield sent(held)

    def sent(held: list[pa.RecordBatch]) -> pa.RecordBatch:
        rows = Rows.concatenate([encoder.rows(part) for part in held])
        row, task = plan.route(rows.for_methods)
        order = in_order(task)
        row = row[order]
        task = task[order]
        packed = codec.pack(rows)[row]
        beside = _beside(columns, held)
        starts = np.flatnonzero(np.diff(task, prepend=-1))
        parts = list(zip(starts.tolist(), [*starts[1:].tolist(), len(task)], strict=True))
        passed = [
            None if beside is None else write_batch(_taken(beside, row[first:end]))
            for first, end in parts
        ]
        return pa.RecordBatch.from_arrays(
            [
                pa.array(task[starts], pa.int32()),
                pa.array([packed[first:end].tobytes() for first, end in parts], pa.binary()),
                pa.array(passed, pa.binary()),
            ],
            names=["task", "rows", "beside"],
        )

    return route


def _beside(columns: StagedColumns, held: Sequence[pa.RecordBatch]) -> pa.Table | None:
    """The columns of staged batches that pass unchanged, if there are any."""
    if not columns.passing:
        return None
    names = [field.name for field in columns.passing]
    parts = [[decoded(column) for column in columns.passed(batch.columns)] for batch in held]
    return pa.Table.from_batches([pa.RecordBatch.from_arrays(part, names=names) for part in parts])


def _taken(table: pa.Table, index: IntArray) -> pa.RecordBatch:
    (batch,) = table.take(pa.array(index)).combine_chunks().to_batches()
    return batch


def passed(beside: pa.ChunkedArray) -> list[pa.Array]:
    """The columns that traveled beside the rows."""
    sent = list(read_batches(chunk for chunk in beside.chunks if not chunk.null_count))
    return (
        [column.combine_chunks() for column in pa.Table.from_batches(sent).columns] if sent else []
    )


def cell_places(attributes: ResolvedAttributes) -> IntArray:
    """The place of each cell in the order of published rows: by codes, or by text if the codes
    follow the input's frequencies, which would reveal rows that are left out.
    """
    keys = []
    for a in attributes.sensitive:
        codes = attributes.cells[:, a.column]
        if a.order == "frequency":
            codes = np.argsort(np.argsort([value or "" for value in a.domain.values]))[codes]
        keys.append(codes)
    return np.argsort(np.lexsort(keys[::-1]))
