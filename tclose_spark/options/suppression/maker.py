"""Leaves out rows, with labels that name values of released rows only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tclose_spark.engine.tables import read_delta
from tclose_spark.io.run import Run
from tclose_spark.io.storage.integrity import Digests
from tclose_spark.measures.loss.information_loss import Coarsest
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedQuasi
from tclose_spark.options.suppression.released_values import (
    VALUES,
    VALUES_SCHEMA,
    PublicNames,
    note_values,
    read_values,
)
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.generalize import Generalizer
from tclose_spark.stages.release_maker import Making, ReleaseMaker, TaskWork, Written
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.columns.parquet import parquet_files
from tclose_spark.table.hierarchies.building import RELEASED_HIERARCHIES

NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class LabelLimits:
    """Limits on the coarseness of labels: classes with coarser ones are suppressed, as far as the
    run file allows.

    limits: of each quasi-identifier, the limit if there is one, and whether it is published as two
        bounds.
    most: rows of the whole table that may be suppressed for them.
    rows: of the whole table.
    """

    limits: tuple[tuple[Coarsest | None, bool], ...]
    most: int
    rows: int

    @staticmethod
    def of(spec: ReleaseSpec, attributes: ResolvedAttributes) -> LabelLimits:
        """The limits of a run. A method that suppresses rows itself uses up the allowance."""
        return LabelLimits(
            tuple((q.coarsest, q.bounds) for q in attributes.quasi_identifiers),
            0 if spec.method.suppresses else spec.privacy.most_suppressed(attributes.rows),
            attributes.rows,
        )

    def suppress(
        self,
        place: IntArray,
        labels: Sequence[pa.Array],
        of_task: int,
    ) -> tuple[IntArray, list[pa.Array], IntArray]:
        """(the places of the rows that stay and their labels, the places of suppressed rows) in a
        task of so many rows.

        A task suppresses at most its share of the allowance. If that does not suffice it suppresses
        none, and the release then fails its limits. Suppressed rows are whole classes, each with k
        rows and close, so all of them together are, too.
        """
        room = self.most * of_task // self.rows
        if not room or not len(place):
            return place, list(labels), NONE
        coarse = np.zeros(len(place), dtype=np.bool_)
        columns = iter(labels)
        for limit, two in self.limits:
            parts = [next(columns) for _ in range(1 + two)]
            if limit is not None:
                coarse |= limit.broken(parts)
        if not 0 < coarse.sum() <= room:
            return place, list(labels), NONE
        stay = pa.array(~coarse)
        return place[~coarse], [column.filter(stay) for column in labels], place[coarse]


class SuppressionMaker(ReleaseMaker):
    """Notes the values of released rows in VALUES, and writes the release again if labels name
    others.

    names, generalizer: of the second time.
    hierarchies: the SHA-256 of those that the release may show, if rows are left out.
    """

    names: PublicNames | None = None
    hierarchies: Digests | None = None
    generalizer: Generalizer

    def __init__(self, making: Making) -> None:
        super().__init__(making)
        self.attributes = making.attributes
        self.limits = LabelLimits.of(making.spec, making.attributes)

    def schemas(self, tables: dict[str, pa.Schema], labels: int) -> dict[str, pa.Schema]:
        return {**tables, VALUES: VALUES_SCHEMA} if self.names is None else tables

    def assign(self, work: TaskWork) -> Iterator[tuple[str, bytes]]:
        work.place, work.labels, coarse = self.limits.suppress(
            work.place,
            work.labels,
            len(work.assigned.here),
        )
        if self.names is not None:
            work.label(self.generalizer, self.names.shrink(work.assigned.restricted(work.place)))
        work.left_out = np.concatenate([work.left_out, coarse])
        if self.names is None and len(work.place):
            noted = note_values(work.rows, work.assigned.restricted(work.place), self.attributes)
            yield from ((VALUES, file) for file in parquet_files(noted.columns, noted.schema))

    def again(self, run: Run, written: Written) -> tuple[ResolvedQuasi, ...] | None:
        values = read_values(read_delta(run.session, run.staging.path(VALUES)))
        names = PublicNames.of(run.spec, self.attributes, values)
        run.staging.remove(VALUES)
        if written.left_out:
            self.hierarchies = run.write_hierarchies(names.hierarchies, RELEASED_HIERARCHIES)
        if not (written.left_out and names.differs):
            return None
        self.names = names
        self.generalizer = self.making.generalizer(names.quasi)
        return names.quasi

    def finish(self, run: Run) -> Mapping[str, object]:
        return {} if self.hierarchies is None else {"hierarchies": self.hierarchies}
