"""Writes what the next release of a line needs: atoms, earlier versions, and rows as they were."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from tclose_spark.engine.tables import read_delta, write_delta
from tclose_spark.io.output_folders import ATOMS, PEOPLE, RECORDS
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import VersionsRecord
from tclose_spark.io.tables.delta_log import prepend_versions
from tclose_spark.options.lines.earlier import earlier_release
from tclose_spark.options.lines.published_atoms import published_atoms, with_newcomers
from tclose_spark.runfile.release_form import RELEASE
from tclose_spark.stages.release_maker import Making, ReleaseMaker, Tables, TaskPart
from tclose_spark.table.people import PERSON

KINDS = {"category": pa.string(), "integer": pa.int64(), "double": pa.float64()}


class LinesMaker(ReleaseMaker):
    """RECORDS (`output.leavers: keep`) has every released row as it was: its prepared
    quasi-identifiers under their names, the other released columns, and PERSON.
    """

    def __init__(self, making: Making) -> None:
        super().__init__(making)
        self.continued, self.labels = making.profile.continued, list[str]()
        self.prepared = [(domain.name, KINDS[domain.kind]) for domain in making.profile.quasi]

    def schemas(self, tables: dict[str, pa.Schema], labels: int) -> dict[str, pa.Schema]:
        self.labels, values = tables[RELEASE].names[:labels], list(tables[RELEASE])[labels:]
        if self.spec.output.leavers != "keep":
            return tables
        return {**tables, RECORDS: pa.schema([*self.prepared, *values, (PERSON, pa.int64())])}

    def tables(self, part: TaskPart, made: Tables) -> None:
        if part.labels is not None and self.spec.output.leavers == "keep":
            made[RECORDS] = [*part.raw, *part.values, pa.array(part.rows.owners[PERSON])]

    def finish(self, run: Run) -> Mapping[str, object]:
        """Writes the atoms of the earlier releases and those of newcomers, and keeps versions."""
        if not self.continued:
            return {}
        earlier = earlier_release(run)
        output = run.spec.output
        assert earlier is not None
        people = read_delta(run.session, run.staging.path(PEOPLE))
        sensitive = run.spec.attributes.sensitive_attributes
        published = published_atoms(people, self.labels, [*sensitive], earlier.next_number)
        run.staging.remove(ATOMS)
        write_delta(with_newcomers(earlier.atoms(), published), run.staging.path(ATOMS))
        if output.keep_versions <= 1:
            return {}
        kept = prepend_versions(
            run.staging,
            run.public,
            RELEASE,
            output.keep_versions,
            earlier.files,
        )
        return {"versions": VersionsRecord(readable=list(kept), commits=kept.stop)}
