"""The side of an option that reads the input: what it adds to the pass that profiles and stages a
raw table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tclose_spark.engine.protocol import Table
from tclose_spark.errors import InputError
from tclose_spark.io.run import Run
from tclose_spark.runfile.options import used_parts
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.staging.batches import StagedColumns
from tclose_spark.stages.staging.tallies import Counted
from tclose_spark.table.domains import Profile


class InputReader:
    """The hooks that `profile_input` and `profile_table` call, in this order. Each adds nothing by
    default.

    continued: whether rows have atoms of an earlier release. keeps: whether they include rows of
        it.
    """

    continued = keeps = False

    def __init__(self, spec: ReleaseSpec, secret: str) -> None:
        self.spec = spec
        self.secret = secret

    def begin(self, run: Run) -> None:
        """Reads what other runs left."""

    def rows(self, table: Table, raw: Table, columns: StagedColumns) -> Table:
        """The raw rows to stage. table: the input. raw: its columns that are read."""
        return raw

    def problems(self, counted: Counted) -> Iterator[InputError]:
        """What is wrong with the values of a column."""
        return iter(())

    def explain(self, error: InputError) -> None:
        """Adds to an error what may have caused it."""

    def profiled(self, profile: Profile) -> Profile:
        """The profile with what else is known of the rows."""
        return profile

    def record(self, run: Run, table: Table, profile: Profile) -> Mapping[str, object]:
        """Keys of the stage's record (`ProfileRecord`).

        Raises:
            SameInputError: if there is nothing to release.
        """
        return {}

    def warnings(self) -> list[str]:
        """What the run file should not publish."""
        return []


def readers_of(spec: ReleaseSpec, secret: str) -> list[InputReader]:
    """The readers of the options that a run uses."""
    return [made(spec, secret) for made in used_parts(spec, "reader")]
