"""Leaves out rows, with labels that name values of released rows only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from tclose_spark.engine.tables import read_delta
from tclose_spark.io.run import Run
from tclose_spark.io.storage.integrity import Digests
from tclose_spark.methods.attributes import ResolvedQuasi
from tclose_spark.options.suppression.limits import LabelLimits
from tclose_spark.options.suppression.released_values import (
    VALUES,
    VALUES_SCHEMA,
    PublicNames,
    note_values,
    read_values,
)
from tclose_spark.stages.generalize import Generalizer
from tclose_spark.stages.release_maker import Making, ReleaseMaker, TaskWork, Written
from tclose_spark.table.columns.parquet import parquet_files
from tclose_spark.table.hierarchies.building import RELEASED_HIERARCHIES


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
