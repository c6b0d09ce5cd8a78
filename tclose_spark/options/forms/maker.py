"""Writes the tables of a release in another form than one table of labels."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from tclose_spark.options.forms.making import FormedTables
from tclose_spark.runfile.release_form import RELEASE
from tclose_spark.stages.release_maker import Making, ReleaseMaker, Tables, TaskPart, TaskWork
from tclose_spark.table.fingerprint import Fingerprint

PROJECTION = "projection{}"
"""The digest of a part of the raw rows: see `ReleaseForm.projections`."""


class FormsMaker(ReleaseMaker):
    """formed: makes the tables."""

    def __init__(self, making: Making) -> None:
        super().__init__(making)
        self.formed = FormedTables.of(
            making.spec,
            making.profile.quasi,
            making.attributes.cells,
            making.secret,
        )
        self.parts = [RELEASE, *self.formed.blocks]
        self.sums = tuple(PROJECTION.format(i) for i in range(len(self.parts)))
        self.arranges = making.spec.release.is_exact

    def schemas(self, tables: dict[str, pa.Schema], labels: int) -> dict[str, pa.Schema]:
        fields = list(tables[RELEASE])
        of_labels = self.formed.schema() if self.arranges else fields[:labels]
        return self.formed.schemas(pa.schema([*of_labels, *fields[labels:]]), len(of_labels))

    def arrange(self, work: TaskWork, assigned: TaskPart) -> None:
        """See ReleaseMaker: by the number of the class."""
        here = work.assigned.here
        classes = work.assigned.classes
        order, work.labels = self.formed.number(
            assigned.rows,
            classes,
            assigned.raw,
            assigned.values,
        )
        work.place = here[order]
        work.group = work.labels[-1]

    def unlike(self, part: TaskPart) -> int | None:
        """See ReleaseMaker: exact quasi-identifiers are judged by their fingerprint."""
        return 0 if self.arranges else None

    def tables(self, part: TaskPart, made: Tables) -> None:
        if part.labels is not None:
            made |= self.formed.tables(part.labels, part.values, part.rows.cell)

    def add_up(self, part: TaskPart, made: Tables) -> list[int]:
        if part.labels is None:
            return [0] * len(self.sums)
        return [one.digest for one in self.formed.projections(part.labels, part.raw, part.values)]

    def written(self, sums: Mapping[str, int], published: int) -> Mapping[str, object]:
        found = {name: sums[key] for name, key in zip(self.parts, self.sums, strict=True)}
        return {
            "projections": {
                name: str(Fingerprint(published, digest)) for name, digest in found.items()
            },
        }
