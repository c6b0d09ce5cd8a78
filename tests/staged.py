"""A table taken in by the profile: what the stages after it begin with."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from itertools import count

from pyspark.sql import DataFrame

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, schema_of
from tclose_spark.io.run import Run
from tclose_spark.stages.profile import profile_table
from tclose_spark.stages.staging.batches import StagedColumns, staged_batches
from tclose_spark.stages.staging.encode import EncodedTable, Encoder
from tclose_spark.table.domains import Profile
from tclose_spark.table.rows import Rows

NUMBERS = count()


@dataclass(frozen=True)
class Staged:
    """A profile, and the rows as they were staged beside it."""

    profile: Profile
    columns: StagedColumns
    batches: Table

    @property
    def encoder(self) -> Encoder:
        """Of these rows, by this profile."""
        return Encoder.of(self.profile, self.columns)

    def encoded(self, most_local: int = 0) -> EncodedTable:
        """The rows as a plan sees them, by Spark unless told otherwise."""
        return EncodedTable(self.batches, self.encoder, self.profile, most_local)

    def rows(self, encoder: Encoder | None = None) -> Rows:
        """All rows in memory, in the order in which they were staged."""
        return Rows.concatenate(
            list((encoder or self.encoder).parts(collect(self.batches).to_batches())),
        )


def stage(run: Run, table: DataFrame, secret: str | None = None) -> Staged:
    """A table that is taken in as a run does it."""
    if secret is not None:
        run = copy(run)
        run._secret = secret
        vars(run).pop("secret", None)  # what it has read
    path = run.staging.path(f"staged-{next(NUMBERS)}")
    profile, _ = profile_table(table, None, path, run)
    return Staged(
        profile,
        StagedColumns.of(schema_of(table), run.spec),
        staged_batches(run.spark, path),
    )
