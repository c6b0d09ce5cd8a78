"""Brings the rows of a household together, if households are counted.

`HouseholdsMaker` writes `internal/households`: every row as it is published, and its household.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import gather, map_batches, schema_of
from tclose_spark.errors import InputError
from tclose_spark.io.output_folders import HOUSEHOLDS
from tclose_spark.options.people.maker import PeopleMaker
from tclose_spark.stages.input_reader import InputReader
from tclose_spark.stages.preparation import HOMELESS
from tclose_spark.stages.staging.batches import StagedColumns
from tclose_spark.stages.staging.tallies import Counted
from tclose_spark.table.domains import marginal
from tclose_spark.table.people import (
    HOUSEHOLD,
    ROWS_OF_HOUSEHOLD,
    CountedOwners,
    Households,
    hash_people,
    household_hash,
    whole_people,
)


def with_households(table: Table, place: int, secret: str, counted: bool) -> Table:
    """The rows of a table whose column at `place` identifies a household. It becomes HOUSEHOLD, its
    keyed hash, missing where it is missing or empty; if rows are `counted`, those of the household
    follow it. Other columns are numbered.
    """
    kinds = [field.type for field in schema_of(table)]
    keyed = household_hash(secret)
    names = [HOUSEHOLD if i == place else f"c{i}" for i in range(len(kinds))]
    schema = pa.schema(
        zip(
            names,
            [pa.int64() if i == place else kind for i, kind in enumerate(kinds)],
            strict=True,
        ),
    )

    def hashed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = [
                hash_people(one, keyed) if i == place else one
                for i, one in enumerate(batch.columns)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def sized(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in whole_people(batches, HOUSEHOLD):
            if batch.num_rows:
                _, of, rows = np.unique(
                    batch[HOUSEHOLD].fill_null(0),
                    return_inverse=True,
                    return_counts=True,
                )
                yield batch.add_column(
                    place + 1,
                    ROWS_OF_HOUSEHOLD,
                    pa.array(rows[of].astype(np.int32)),
                )

    rows = map_batches(table, hashed, schema)
    with_size = schema.insert(place + 1, pa.field(ROWS_OF_HOUSEHOLD, pa.int32()))
    return map_batches(gather(rows, [HOUSEHOLD]), sized, with_size) if counted else rows


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
                f"{counted.fingerprint.rows} rows; expected a value in every row",
            )

    def count_owners(self, counted: Counted, owners: CountedOwners) -> CountedOwners:
        """See InputReader: households, if classes need several."""
        if self.spec.attributes.least_households < 2:
            return owners
        rows = marginal(counted.histograms[-1], -1)
        households = Households(
            households=sum(n // size for size, n in rows.items()),
            sizes=tuple(sorted(rows)),
        )
        return owners._replace(households=households)


class HouseholdsMaker(PeopleMaker):
    """The table HOUSEHOLDS, with HOUSEHOLD."""

    table = HOUSEHOLDS
    owner = HOUSEHOLD
    sums = ("households_rows", "households_digest")
