"""Staged rows as codes: a sample and counts over the whole table, for planning, and rows on their
way to the tasks of their classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import (
    belongs_here,
    collect,
    combine,
    joining_tasks,
    map_batches,
    send_to_tasks,
)
from tclose_spark.errors import DamagedStagingError
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Plan
from tclose_spark.stages.staging.batches import HASH, StagedColumns, read_batches, write_batch
from tclose_spark.table.arrays import NO_HASHES, HashArray, IntArray, Mapper, in_order
from tclose_spark.table.dictionaries import decoded
from tclose_spark.table.domains import Profile
from tclose_spark.table.rows import Codec, Rows
from tclose_spark.table.tally import (
    LocalRows,
    Tallier,
    Tally,
    TooManyKeysError,
    representative,
    sampled_copies,
)

# Rows that the driver holds as codes, some 100 bytes each; of more, Spark holds them.
MOST_LOCAL = 1_000_000
ROWS_A_PART = 1_000_000  # counted rows for one adding task
ROWS_OF_A_TASK = 4_000_000  # of a table that is sampled, for each task that adds up
ROWS_HELD = 1_000_000  # that a task holds at least before it adds them up
KEY_COUNTS = pa.schema([("part", pa.int32()), ("keys", pa.binary()), ("n", pa.binary())])
ROWS = pa.schema([("rows", pa.binary())])
ROW_COUNTS = pa.schema([("part", pa.int32()), ("rows", pa.binary()), ("n", pa.binary())])
COUNTS = pa.schema([("group", pa.int64()), ("n", pa.int64())])
NO_ROWS = (
    "no rows are left in internal/staging: the staged run is damaged; begin again with `tclose "
    "profile`"
)
TOO_MANY = -1
"""The part of a task that has too many keys, and sends none."""


@dataclass(frozen=True)
class Encoder:
    """Turns batches of staged rows into codes."""

    codec: Codec
    columns: StagedColumns

    @staticmethod
    def of(profile: Profile, columns: StagedColumns) -> Encoder:
        """The encoder of a table's rows."""
        return Encoder(Codec.of(profile, columns.owners), columns)

    def parts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Rows]:
        """The rows of each staged batch as methods see them, from batches of `staged_batches`."""
        return (
            self.rows(batch).for_methods
            for batch in read_batches(batch.column(0) for batch in batches)
        )

    def rows(self, batch: pa.RecordBatch) -> Rows:
        """The rows of a batch.

        Raises:
            UnknownValueError: if a value is not in the profile's domains.
        """
        held = batch.columns
        hashes = batch.column(HASH).to_numpy()
        counted = [batch.column(name) for name in self.columns.counted]
        owners = {name: batch.column(name) for name in self.columns.owners}
        lead = [batch.column(name) for name in self.columns.leads]
        return self.codec.encode(
            self.columns.quasi(held),
            self.columns.texts(held),
            hashes,
            counted,
            owners,
            lead,
        )


class EncodedTable:
    """The staged rows of a table, for planning: held in this process if they are few, or on the
    local engine.
    """

    def __init__(
        self,
        batches: Table,
        encoder: Encoder,
        profile: Profile,
        most_local: int = MOST_LOCAL,
    ) -> None:
        self._batches = batches
        self._encoder = encoder
        self._profile = profile
        local = belongs_here(batches, profile.rows, most_local)
        self._local = LocalRows(self._brought()) if local else None

    def _brought(self) -> Rows:
        encoder = self._encoder
        codec = encoder.codec.for_methods

        def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for rows in encoder.parts(batches):
                yield pa.RecordBatch.from_arrays(
                    [pa.array([codec.pack(rows).tobytes()], pa.binary())],
                    names=["rows"],
                )

        brought = collect(map_batches(self._batches, pack, ROWS))
        return codec.unpack(b"".join(brought["rows"].to_pylist()))

    def sample(self, most: int) -> Rows:
        """About `most` rows that represent the table, independent of partitions and order: see
        `sampled_copies`. A large table is scanned twice.
        """
        if self._local is not None:
            rows = self._local.sample(most)
        else:
            hashes = self._sampled_hashes(most)
            if not len(hashes):
                raise DamagedStagingError(NO_ROWS)
            different, n = self._with_hashes(hashes)
            rows = representative(different, n, self._profile.rows, most)
        if not len(rows):
            raise DamagedStagingError(NO_ROWS)
        return rows

    def _sampled_hashes(self, most: int) -> HashArray:
        """The hashes of the rows that a sample has, ascending. Tasks count their rows by hash, and
        others add up the counts.
        """
        rows = self._profile.rows
        parts = self._adding_tasks

        def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            staged = read_batches(batch.column(0) for batch in batches)
            # Without a copy, the hashes would keep all columns of their batches in memory.
            hashes = [batch.column(HASH).to_numpy().copy() for batch in staged]
            if hashes:
                keys, n = np.unique(np.concatenate(hashes).view(np.int64), return_counts=True)
                yield from _in_parts(Tally(keys[None], n), parts)

        def draw(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            received = [tally for batch in batches for tally in _read_key_counts(batch)]
            if received:
                tally = Tally.together(received)
                copies = sampled_copies(_hashes_of(tally), tally.rows, rows, most)
                yield _key_counts(0, tally.take(np.flatnonzero(copies)))

        counted = send_to_tasks(self._batches, count, KEY_COUNTS, parts)
        drawn = _read_key_counts(collect(map_batches(counted, draw, KEY_COUNTS)))
        return np.sort(np.concatenate([NO_HASHES, *map(_hashes_of, drawn)]))

    @property
    def _adding_tasks(self) -> int:
        """The number of tasks that add up what others found about the rows of a sample."""
        return max(1, -(-self._profile.rows // ROWS_OF_A_TASK))

    def counts(self, group_of: Callable[[Rows], IntArray], groups: int) -> IntArray:
        """The number of rows that `group_of` puts into each group, shape (groups,). One scan."""
        if self._local is not None:
            return self._local.counts(group_of, groups)
        encoder = self._encoder

        def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            total = np.zeros(groups, dtype=np.int64)
            for rows in encoder.parts(batches):
                total += np.bincount(group_of(rows), minlength=groups)
            present = np.flatnonzero(total)
            yield pa.RecordBatch.from_arrays(
                [pa.array(present), pa.array(total[present])],
                names=["group", "n"],
            )

        added = collect(combine(map_batches(self._batches, count, COUNTS), ["group"], {"n": "sum"}))
        counts = np.zeros(groups, dtype=np.int64)
        counts[added["group"].to_numpy()] = added["n"].to_numpy()
        return counts

    def frequencies(self, tally_of: Callable[[Rows], Tally], most: int) -> Tally:
        """The sum of `tally_of` over all rows. One scan.

        Raises:
            TooManyKeysError: if it has more than `most` keys.
        """
        if self._local is not None:
            return self._local.frequencies(tally_of, most)
        return count_keys(self._batches, self._encoder.parts, tally_of, most, self._profile.rows)

    def _with_hashes(self, hashes: HashArray) -> tuple[Rows, IntArray]:
        """The different rows of a large table with one of these hashes, which ascend; the number of
        each. Tasks find them, others add up, the driver puts parts together.
        """
        encoder = self._encoder
        codec = encoder.codec.for_methods
        parts = self._adding_tasks

        def found_in(rows: Rows) -> tuple[Rows, IntArray]:
            place = np.minimum(np.searchsorted(hashes, rows.hash), len(hashes) - 1)
            found = rows.take(np.flatnonzero(hashes[place] == rows.hash))
            return found.distinct(np.ones(len(found), dtype=np.int64))

        def find(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            found = _together(map(found_in, encoder.parts(batches)))
            if found is not None:
                rows, n = found
                part = (rows.hash >> np.uint64(32)) % np.uint64(parts)
                for number in np.unique(part).tolist():
                    here = np.flatnonzero(part == number)
                    yield written(rows.take(here), n[here], number)

        def add(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            found = _together(part for batch in batches for part in read(batch))
            if found is not None:
                yield written(*found, 0)

        def written(rows: Rows, n: IntArray, part: int) -> pa.RecordBatch:
            data = [pa.array([codec.pack(rows).tobytes()]), pa.array([n.tobytes()])]
            return pa.RecordBatch.from_arrays(
                [pa.array([part], pa.int32()), *data],
                names=["part", "rows", "n"],
            )

        def read(batch: pa.RecordBatch | pa.Table) -> list[tuple[Rows, IntArray]]:
            records = batch["rows"].to_pylist()
            counts = batch["n"].to_pylist()
            return [
                (codec.unpack(data), np.frombuffer(n, dtype=np.int64))
                for data, n in zip(records, counts, strict=True)
            ]

        sent = send_to_tasks(self._batches, find, ROW_COUNTS, parts)
        found = _together(read(collect(map_batches(sent, add, ROW_COUNTS))))
        if found is None:
            raise DamagedStagingError(NO_ROWS)
        return found


def _together(parts: Iterable[tuple[Rows, IntArray]]) -> tuple[Rows, IntArray] | None:
    """The different rows of several parts, and their counts; None if there is no part. Holds about
    twice as many rows.
    """
    held: list[tuple[Rows, IntArray]] = []
    size = settled = 0
    for rows, n in parts:
        held.append((rows, n))
        size += len(rows)
        if size > max(2 * settled, ROWS_HELD):
            held = [_sum_of(held)]
            size = settled = len(held[0][0])
    return _sum_of(held) if held else None


def _sum_of(parts: Sequence[tuple[Rows, IntArray]]) -> tuple[Rows, IntArray]:
    return Rows.concatenate([rows for rows, _ in parts]).distinct(
        np.concatenate([n for _, n in parts]),
    )


def _hashes_of(tally: Tally) -> HashArray:
    """The keys of a tally of rows by hash."""
    hashes: HashArray = tally.keys[0].view(np.uint64)
    return hashes


def count_keys(
    batches: Table,
    rows_of: Callable[[Iterable[pa.RecordBatch]], Iterator[Rows]],
    tally_of: Callable[[Rows], Tally],
    most: int,
    rows: int,
) -> Tally:
    """The sum of `tally_of` over all batches, which have so many rows. Keys are not known
    beforehand: tasks count them, others add up equal shares, and the driver gets about `most` keys
    at most.

    Raises:
        TooManyKeysError: if there are more than `most` keys.
        InputError: if there are no rows.
    """
    parts = joining_tasks(rows, ROWS_A_PART)
    share = most // parts * 3 // 2 + 1_000

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _tally_parts(map(tally_of, rows_of(batches)), most, parts)

    def add(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        received = [batch for batch in batches if batch.num_rows]
        if any(TOO_MANY in batch["part"].to_pylist() for batch in received):
            yield _key_counts(TOO_MANY, None)
        else:
            yield from _tally_parts(
                (tally for batch in received for tally in _read_key_counts(batch)),
                share,
                1,
            )

    counted = send_to_tasks(batches, count, KEY_COUNTS, parts)
    brought = collect(map_batches(counted, add, KEY_COUNTS))
    if TOO_MANY in brought["part"].to_pylist():
        raise TooManyKeysError
    tallies = _read_key_counts(brought)
    if not tallies:
        raise DamagedStagingError(NO_ROWS)
    whole = Tally.together(tallies)
    if len(whole) > most:
        raise TooManyKeysError
    return whole


def _tally_parts(tallies: Iterable[Tally], most: int, parts: int) -> Iterator[pa.RecordBatch]:
    """The sum of tallies in parts, by key; TOO_MANY if they have more than `most` keys."""
    tallier = Tallier(most)
    try:
        for tally in tallies:
            tallier.add(tally)
        total = tallier.total()
    except TooManyKeysError:
        yield _key_counts(TOO_MANY, None)
        return
    if total is not None:
        yield from _in_parts(total, parts)


def _in_parts(tally: Tally, parts: int) -> Iterator[pa.RecordBatch]:
    """A tally, cut by key into those of the parts that have some."""
    part = tally.part_of(parts)
    for number in np.unique(part).tolist():
        yield _key_counts(number, tally.take(np.flatnonzero(part == number)))


def _key_counts(part: int, tally: Tally | None) -> pa.RecordBatch:
    data = [None, None] if tally is None else [tally.keys.tobytes(), tally.rows.tobytes()]
    arrays = [pa.array([part], pa.int32()), *(pa.array([value], pa.binary()) for value in data)]
    return pa.RecordBatch.from_arrays(arrays, names=["part", "keys", "n"])


def _read_key_counts(batch: pa.RecordBatch | pa.Table) -> list[Tally]:
    tallies = []
    for keys, n in zip(batch["keys"].to_pylist(), batch["n"].to_pylist(), strict=True):
        rows = _integers(n)
        tallies.append(Tally(_integers(keys).reshape(-1, len(rows)), rows))
    return tallies


def _integers(data: bytes) -> IntArray:
    return np.frombuffer(data, dtype=np.int64)


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
