"""Brings the rows of a household together, if they are counted."""

from __future__ import annotations

from collections.abc import Iterator

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import schema_of
from tclose_spark.errors import InputError
from tclose_spark.options.households.by_household import with_households
from tclose_spark.stages.input_reader import InputReader
from tclose_spark.stages.preparation import HOMELESS
from tclose_spark.stages.staging.batches import StagedColumns
from tclose_spark.stages.staging.tallies import Counted
from tclose_spark.table.people import ROWS_OF_HOUSEHOLD


class HouseholdsReader(InputReader):
    """Every row has a household."""

    @property
    def _column(self) -> str:
        return self.spec.attributes.owners["household"]

    def rows(self, table: Table, raw: Table, columns: StagedColumns) -> Table:
        place = schema_of(raw).names.index(self._column)
        return with_households(raw, place, self.secret, ROWS_OF_HOUSEHOLD in columns.counted)

    def problems(self, counted: Counted) -> Iterator[InputError]:
        if homeless := counted.marked.get(HOMELESS):
            yield InputError(
                f"attributes.household: column {self._column!r} is missing in {homeless} of "
                f"{counted.fingerprint.rows} rows; expected a value in every row"
            )
