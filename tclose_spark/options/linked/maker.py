"""Writes `internal/linked`, if the run file requires it, and draws a sample of linked rows for the
internal report.

A row's raw values and its labels are together only while a release is written. Tasks then send rows
to the driver, drawn by their keyed hashes. The sample is raw, so it stays in the staging area and
is removed with it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import iadd
from typing import Any

import numpy as np
import pyarrow as pa

from tclose_spark.engine.protocol import Session
from tclose_spark.engine.tables import task_sum
from tclose_spark.io.output_folders import LINKED
from tclose_spark.io.run import Run
from tclose_spark.io.tables.check_columns import SUPPRESSED
from tclose_spark.runfile.release_form import RELEASE
from tclose_spark.stages.generalize import as_published, raw_type
from tclose_spark.stages.release_maker import Making, ReleaseMaker, Tables, TaskPart
from tclose_spark.stages.staging.area import LINKED_SAMPLE
from tclose_spark.stages.staging.batches import read_batches, write_batch
from tclose_spark.table.arrays import HashArray, IntArray
from tclose_spark.table.dictionaries import decoded, group_equal
from tclose_spark.table.domains import Profile
from tclose_spark.table.rows import Codec, Rows

SAMPLE_ROWS = 20_000
LOW_BITS = np.uint64(2**31 - 1)  # of a hash; its high ones decide on the order of rows
MOST_SENT = 8 * SAMPLE_ROWS  # different rows with their labels that all tasks together send
ROW = "row"
COUNT = "count"
RELEASED = "released"


@dataclass(frozen=True, kw_only=True)
class LinkedRows:
    """Rows with their published labels.

    rows: released ones, in the order of their hashes; labels: their published columns of
        quasi-identifiers.
    suppressed: rows that are not released.
    whole: the number of rows of the input, from which these were drawn.
    """

    rows: Rows
    labels: list[pa.Array]
    suppressed: Rows
    whole: int


class LinkedSample:
    """Draws rows in tasks; the driver reads them after the write."""

    def __init__(self, session: Session, profile: Profile, tasks: int) -> None:
        self._codec, self._share = Codec.of(profile), _share_of(SAMPLE_ROWS, profile.distinct_rows)
        self._most = max(64, 2 * MOST_SENT // tasks)
        self._sent = task_sum(session, list[bytes], iadd)

    def add_classes(self, rows: Rows, group: pa.Array) -> None:
        """In a task: sends whole classes, which their numbers draw. group: the number of each row's
        class.
        """
        self.add(rows, [group], 1, group.to_numpy().astype(np.uint64))

    def add(
        self,
        rows: Rows,
        labels: Sequence[pa.Array] | None,
        columns: int,
        keys: HashArray | None = None,
    ) -> None:
        """In a task: sends the rows that are drawn. labels: the published columns of
        quasi-identifiers, whose number is `columns`; None for suppressed rows. keys: draw the rows;
        their hashes if None.
        """
        drawn = np.flatnonzero(((rows.hash if keys is None else keys) & LOW_BITS) < self._share)
        if not self._sent.counts or not len(drawn):
            return
        packed = self._codec.pack(rows.take(drawn))
        row = pa.array([each.tobytes() for each in packed], pa.binary())
        texts = [pa.nulls(len(drawn), pa.string())] * columns
        if labels is not None:
            texts = [decoded(column.take(pa.array(drawn))).cast(pa.string()) for column in labels]
        group, first = group_equal([row, *texts])
        counts = np.bincount(group)
        # Above 1 only if few different rows are in very many classes.
        step = -(-len(first) // self._most)
        place = pa.array(first[::step])
        released = pa.array(np.full(len(place), labels is not None))
        sent = [
            row.take(place),
            pa.array(counts[::step] * step),
            released,
            *(text.take(place) for text in texts),
        ]
        names = [ROW, COUNT, RELEASED, *(f"l{i}" for i in range(columns))]
        self._sent.add([write_batch(pa.RecordBatch.from_arrays(sent, names=names))])

    def to_json(self) -> str:
        """The drawn rows as text for `read_linked_rows`."""
        return json.dumps(
            [base64.b64encode(part).decode() for part in sorted(self._sent.value or [])],
        )


def read_linked_rows(text: str, profile: Profile, by_class: bool = False) -> LinkedRows | None:
    """The sample that `to_json` wrote, of at most SAMPLE_ROWS rows; None if nothing was drawn.
    by_class: whether whole classes were drawn (`add_classes`), so that the sample has whole
    classes.
    """
    sent = [base64.b64decode(part) for part in json.loads(text)]
    if not sent:
        return None
    table = pa.Table.from_batches(
        list(read_batches([pa.array(sent, pa.binary())])),
    ).combine_chunks()
    rows = Codec.of(profile).unpack(b"".join(table[ROW].to_pylist()))
    counts = table[COUNT].to_numpy()
    order = np.argsort(rows.hash, kind="stable")
    if by_class:
        number = table.column(3).to_numpy().astype(np.int64)
        order = order[np.argsort(number[order], kind="stable")]
        ends = np.append(np.diff(number[order]) != 0, True)
        kept = np.flatnonzero(ends & (np.cumsum(counts[order]) <= SAMPLE_ROWS))
        order = order[: kept[-1] + 1] if len(kept) else order
    order = order[_shares(counts[order])]
    is_released = table[RELEASED].to_numpy()[order]
    released = order[is_released]
    suppressed = order[~is_released]
    labels = [
        table[name].combine_chunks().take(pa.array(released)) for name in table.column_names[3:]
    ]
    raw = rows.raw
    return LinkedRows(
        rows=raw.take(released),
        labels=labels,
        suppressed=raw.take(suppressed),
        whole=profile.rows,
    )


def _shares(counts: IntArray) -> Any:
    """Places of at most SAMPLE_ROWS rows, each repeated by its share of the counts."""
    before = np.append(0, np.cumsum(counts))
    most = min(SAMPLE_ROWS, int(before[-1]))
    return np.repeat(np.arange(len(counts)), np.diff(before * most // before[-1]))


class LinkedMaker(ReleaseMaker):
    """LINKED has every row: the released columns, each raw quasi-identifier as `<name>_raw`, and,
    if rows may be left out, SUPPRESSED.
    """

    sample: LinkedSample

    def __init__(self, making: Making) -> None:
        super().__init__(making)
        self.domains = making.profile.quasi

    def begin(self, session: Session) -> None:
        self.sample = LinkedSample(session, self.making.profile, self.making.plan.tasks)

    def schemas(self, tables: dict[str, pa.Schema], labels: int) -> dict[str, pa.Schema]:
        if not self.spec.output.keep_linked:
            return tables
        raw = [(f"{domain.name}_raw", raw_type(domain)) for domain in self.domains]
        flag = [(SUPPRESSED, pa.bool_())] if self.spec.privacy.suppression_limit else []
        return {**tables, LINKED: pa.schema([*tables[RELEASE], *raw, *flag])}

    def tables(self, part: TaskPart, made: Tables) -> None:
        if part.group is not None:
            self.sample.add_classes(part.rows, part.group)
        else:
            self.sample.add(part.rows, part.labels, part.label_columns)
        if self.spec.output.keep_linked:
            made[LINKED] = [
                *part.published,
                *map(as_published, part.raw, self.domains),
                part.left_out,
            ]

    def finish(self, run: Run) -> Mapping[str, object]:
        run.staging.write(LINKED_SAMPLE, self.sample.to_json(), private=True)
        return {}


def _share_of(most: int, distinct_rows: int) -> np.uint64:
    """The bound on the low bits of a row's hash that draws about `most` different rows."""
    return np.uint64(min(1.0, most / distinct_rows) * 2**31)
