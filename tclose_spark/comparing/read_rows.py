"""From the input to the rows that methods are compared on: the one part of a comparison that an
engine does.
"""

from __future__ import annotations

from dataclasses import replace

from tclose_spark.engine.sources import commit_of, read_table
from tclose_spark.engine.tables import schema_of, sized_shuffles
from tclose_spark.errors import ConfigurationError
from tclose_spark.in_memory.sample import MOST_ROWS, ComparedTable, table_of_its_own
from tclose_spark.io.run import Run
from tclose_spark.io.storage.folders import Folder
from tclose_spark.stages.profile import profile_table
from tclose_spark.stages.staging.batches import StagedColumns, staged_batches
from tclose_spark.stages.staging.encode import EncodedTable, Encoder
from tclose_spark.table.hierarchies.building import built_columns

STAGED = "staged"


def read_rows(run: Run, folder: Folder, most: int | None) -> ComparedTable:
    """Rows of the run's input, drawn by their content: about `most`, or all. folder: holds the
    staged input meanwhile.

    Raises:
        ConfigurationError: if all rows are requested, and they are too many; or if people are
            counted in a sample.
    """
    folder.remove(STAGED)
    try:
        with sized_shuffles(run.session, 0):
            commit = commit_of(run.session, run.spec.input)
            version = None if commit is None else commit.version
            columns = run.spec.attributes.inputs
            codes = run.spec.missing_values
            table = read_table(run.session, run.spec.input, version, columns, codes)
            path = folder.path(STAGED)
            profile, trees = profile_table(
                table, run.spec, run.hierarchies, path, run.secret, version
            )
        if most is None and profile.rows > MOST_ROWS:
            raise ConfigurationError(
                f"--sample all: the input has {profile.rows:,} rows, and a comparison holds at "
                f"most {MOST_ROWS:,}; give --sample 50000"
            )
        counted = {"person": profile.people, "household": profile.households}
        if most is not None and most < profile.rows and any(counted.values()):
            role = next(name for name, found in counted.items() if found is not None)
            raise ConfigurationError(
                f"--sample {most}: a sample has rows, and attributes.{role} requires all rows of a "
                f"{role}; give --sample all, for at most {MOST_ROWS:,} rows"
            )
        staged = StagedColumns.of(schema_of(table), run.spec)
        with sized_shuffles(run.session, profile.rows):
            encoded = EncodedTable(
                staged_batches(run.session, folder.path(STAGED)),
                Encoder.of(profile, staged),
                profile,
            )
            wanted = (
                most
                if most is not None and most < profile.rows
                else 2 * profile.rows + profile.distinct_rows
            )
            rows = encoded.sample(wanted)
        attributes = run.spec.attributes.sensitive_attributes
        compared = table_of_its_own(
            profile, rows, attributes, trees, [own is None for own in staged.own]
        )
        return replace(
            compared, built={name: trees[name] for name in built_columns(run.spec.attributes)}
        )
    finally:
        folder.remove(STAGED)
