"""Writes the column."""

from __future__ import annotations

import pyarrow as pa
from stamp import COLUMN, text_of

from tclose_spark.runfile.release_form import RELEASE
from tclose_spark.stages.release_maker import ReleaseMaker, Tables, TaskPart


class StampMaker(ReleaseMaker):
    """Adds it to the table `release`, as its last column."""

    def schemas(self, tables: dict[str, pa.Schema], labels: int) -> dict[str, pa.Schema]:
        return {**tables, RELEASE: tables[RELEASE].append(pa.field(COLUMN, pa.string()))}

    def tables(self, part: TaskPart, made: Tables) -> None:
        if RELEASE in made:
            made[RELEASE] = [
                *made[RELEASE],
                pa.array([text_of(self.spec)] * len(part.rows), pa.string()),
            ]
