"""Writes `internal/linked`, if the run file requires it, and draws a sample of linked rows for the
internal report.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from tclose_spark.engine.protocol import Session
from tclose_spark.io.output_folders import LINKED
from tclose_spark.io.run import Run
from tclose_spark.io.tables.check_columns import SUPPRESSED
from tclose_spark.options.linked.linked_sample import LinkedSample
from tclose_spark.runfile.release_form import RELEASE
from tclose_spark.stages.generalize import as_published, raw_type
from tclose_spark.stages.release_maker import Making, ReleaseMaker, Tables, TaskPart
from tclose_spark.stages.staging.area import LINKED_SAMPLE


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
