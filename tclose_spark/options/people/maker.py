"""Writes `internal/people`: every row as it is published, and whose it is."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from tclose_spark.io.output_folders import PEOPLE
from tclose_spark.io.tables.check_columns import SUPPRESSED
from tclose_spark.runfile.release_form import RELEASE
from tclose_spark.stages.release_maker import ReleaseMaker, Tables, TaskPart
from tclose_spark.table.fingerprint import Fingerprint
from tclose_spark.table.people import PERSON


class PeopleMaker(ReleaseMaker):
    """The table PEOPLE has every row: the released columns, PERSON, and SUPPRESSED. Households are
    written likewise.

    table: its name. owner: the column of whose a row is.
    """

    table = PEOPLE
    owner = PERSON
    sums = ("people_rows", "people_digest")

    def schemas(self, tables: dict[str, pa.Schema], labels: int) -> dict[str, pa.Schema]:
        return {
            **tables,
            self.table: pa.schema(
                [*tables[RELEASE], (self.owner, pa.int64()), (SUPPRESSED, pa.bool_())],
            ),
        }

    def tables(self, part: TaskPart, made: Tables) -> None:
        made[self.table] = [*part.published, pa.array(part.rows.owners[self.owner]), part.left_out]

    def add_up(self, part: TaskPart, made: Tables) -> list[int]:
        found = Fingerprint.of(made[self.table])
        return [found.rows, found.digest]

    def written(self, sums: Mapping[str, int], published: int) -> Mapping[str, object]:
        return {self.table: str(Fingerprint(*(sums[name] for name in self.sums)))}
