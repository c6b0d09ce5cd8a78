"""The maker's side of an option: what it adds to the tables of a release, and to what is observed
of their write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tclose_spark.engine.protocol import Session
from tclose_spark.io.run import Run
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedQuasi
from tclose_spark.methods.method import ClassAssignment, Plan
from tclose_spark.runfile.options import used_parts
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.generalize import Generalizer
from tclose_spark.stages.staging.batches import StagedColumns
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.domains import Profile
from tclose_spark.table.fingerprint import Fingerprint, content_hash
from tclose_spark.table.rows import Codec, Rows

Tables = dict[str, list[pa.Array]]
"""The columns of each table."""


@dataclass(frozen=True, kw_only=True)
class Making:
    """What a release is made from."""

    spec: ReleaseSpec
    profile: Profile
    attributes: ResolvedAttributes
    plan: Plan
    columns: StagedColumns
    secret: str = ""

    def generalizer(self, quasi: Sequence[ResolvedQuasi]) -> Generalizer:
        """Makes the labels of these quasi-identifiers."""
        return Generalizer.of(quasi, self.spec.aggregates, self.spec.method.promises_disjoint)


@dataclass(kw_only=True)
class TaskWork:
    """The rows of a task.

    codec: decodes rows. columns: the staged ones. label_types: of the label columns.
    ordered: with their cells numbered in the order of published rows. beside: the insensitive
        columns.
    place, labels: of released rows in published order, and their published columns.
    left_out: the places of rows that are not released.
    numbered: whether the last label is the number of the class.
    """

    codec: Codec
    columns: StagedColumns
    label_types: Sequence[pa.DataType]
    rows: Rows
    ordered: Rows
    passing: list[pa.Array]
    beside: Sequence[pa.Array]
    assigned: ClassAssignment
    place: IntArray
    labels: list[pa.Array]
    left_out: IntArray
    numbered: bool = False

    def label(self, generalizer: Generalizer, assigned: ClassAssignment) -> None:
        """Orders and labels the assigned rows."""
        here = assigned.here
        self.place = here
        self.labels = []
        if len(here):
            ties = (
                [content_hash([column.take(pa.array(here)) for column in self.beside])]
                if self.beside
                else []
            )
            rows = self.ordered.take(here)
            order, self.labels = generalizer.publish(rows, assigned.classes, ties, assigned.regions)
            self.place = here[order]

    def parts(self) -> Iterator[TaskPart]:
        """The released rows, and those that are not, if there are any."""
        if len(self.place):
            yield self.part(self.place, self.labels)
        if len(self.left_out):
            yield self.part(self.left_out, None)

    def part(self, places: IntArray, labels: list[pa.Array] | None) -> TaskPart:
        """The rows at these places. labels: None for rows that are not released."""
        rows, raw, values = self.decoded(places)
        unlabelled = self.label_types if labels is None else []
        return TaskPart(
            rows=rows,
            labels=labels,
            label_columns=len(self.label_types),
            nothing=[pa.nulls(len(rows), kind) for kind in unlabelled],
            raw=raw,
            values=values,
            group=labels[-1] if labels is not None and self.numbered else None,
        )

    def decoded(self, places: IntArray) -> tuple[Rows, list[pa.Array], list[pa.Array]]:
        """(the rows at these places, their prepared quasi-identifiers, their sensitive and other
        values).
        """
        rows = self.rows.take(places)
        taken = pa.array(places)
        raw = self.codec.decode(rows)
        passing = [column.take(taken) for column in self.passing]
        whole = self.columns.published([*raw, *self.codec.sensitive_texts(rows), *passing])
        return rows, raw, whole[len(raw) :]


@dataclass(frozen=True, kw_only=True)
class TaskPart:
    """The released rows of a task in published order, or those that are not released.

    labels: None for these. label_columns: how many columns they are. nothing: of rows without
        labels, as many columns.
    raw, values: prepared quasi-identifiers; sensitive and other values.
    group: the numbers of the classes of the rows, if these are published.
    """

    rows: Rows
    labels: list[pa.Array] | None
    label_columns: int
    nothing: list[pa.Array]
    raw: list[pa.Array]
    values: list[pa.Array]
    group: pa.Array | None

    @property
    def published(self) -> list[pa.Array]:
        """The released columns; without labels of rows that are not released."""
        return [*(self.nothing if self.labels is None else self.labels), *self.values]

    @property
    def left_out(self) -> pa.Array:
        """Whether each row is not released."""
        return pa.array(np.full(len(self.rows), self.labels is None))


@dataclass(frozen=True)
class Written:
    """The fingerprints of all raw rows and of the released rows, the method's figures, and what
    else is recorded.
    """

    raw: Fingerprint
    published: Fingerprint
    method: Mapping[str, object]
    more: Mapping[str, object]

    @property
    def left_out(self) -> int:
        """The number of rows that are not released."""
        return self.raw.rows - self.published.rows


class ReleaseMaker:
    """The hooks that `write_release` and `Anonymizer` call, in this order. Each adds nothing by
    default. Tasks get the maker as it is after `begin`.

    sums: names of what tasks add up.
    wrong: what is wrong with a published value, in words, if `unlike` counts it.
    """

    sums: tuple[str, ...] = ()
    wrong = ""

    def __init__(self, making: Making) -> None:
        self.making = making
        self.spec = making.spec

    def __getstate__(self) -> dict[str, object]:
        """What tasks get: nothing of `making`, which has the secret and grows with the table's
        values.
        """
        return {name: part for name, part in vars(self).items() if name != "making"}

    def begin(self, session: Session) -> None:
        """Begins to count what tasks observe."""

    def schemas(self, tables: dict[str, pa.Schema], labels: int) -> dict[str, pa.Schema]:
        """The tables with those of the option. labels: how many columns of `release` these are,
        which come first.
        """
        return tables

    def assign(self, work: TaskWork) -> Iterable[tuple[str, bytes]]:
        """In a task: changes which rows are released, their order and labels, or counts what these
        reveal; returns (table, file) of what is noted of them.
        """
        return ()

    def unlike(self, part: TaskPart) -> int | None:
        """In a task: how many released rows have a published value that does not fit; None if
        labels must cover.
        """
        return None

    def tables(self, part: TaskPart, made: Tables) -> None:
        """In a task: takes in rows and their labels; adds the columns of tables, or changes those
        of `release`.
        """

    def add_up(self, part: TaskPart, made: Tables) -> list[int]:
        """In a task: `sums`."""
        return []

    def written(self, sums: Mapping[str, int], published: int) -> Mapping[str, object]:
        """Keys of what the run records of the write (`WrittenRecord`). published: how many rows
        are.
        """
        return {}

    def mechanism(self) -> Mapping[str, object]:
        """What the choices of the method reveal, with raw values, so it must stay inside: keys of
        `Mechanism`.
        """
        return {}

    def again(self, run: Run, written: Written) -> tuple[ResolvedQuasi, ...] | None:
        """After the write: the quasi-identifiers whose labels cover the values, if the release must
        be written again with these, which may be the same ones.
        """
        return None

    def finish(self, run: Run) -> Mapping[str, object]:
        """Writes what else belongs to the release; returns keys of the stage's record
        (`AnonymizeRecord`).
        """
        return {}


def makers_of(making: Making) -> list[ReleaseMaker]:
    """The makers of the options that a run uses."""
    return [made(making) for made in used_parts(making.spec, "maker")]
