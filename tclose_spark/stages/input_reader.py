"""The side of an option that reads the input: what it adds to the pass that profiles and stages a
raw table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tclose_spark.engine.protocol import Table
from tclose_spark.errors import InputError
from tclose_spark.io.run import Run
from tclose_spark.runfile.options import used_parts
from tclose_spark.stages.staging.batches import StagedColumns
from tclose_spark.stages.staging.tallies import Counted
from tclose_spark.table.domains import Profile
from tclose_spark.table.people import CountedOwners


class InputReader:
    """The hooks that `profile_table` and `profile_input` call, in this order. Each adds nothing by
    default.

    continued: whether rows have atoms of an earlier release. keeps: whether they include rows of
        it.
    warnings: of what the run file should not publish.
    may_continue: whether the release continues an earlier one if there is one. A reader may read
        that release when it is made.
    """

    continued = keeps = False
    warnings: Sequence[str] = ()

    def __init__(self, run: Run, may_continue: bool) -> None:
        self.spec = run.spec
        self.secret = run.secret

    def rows(self, table: Table, raw: Table, columns: StagedColumns) -> Table:
        """The raw rows to stage. table: the input. raw: its columns that are read."""
        return raw

    def problems(self, counted: Counted) -> Iterator[InputError]:
        """What is wrong with the values of a column."""
        return iter(())

    @property
    def cause(self) -> str:
        """What may have caused an error of the staged input, in a sentence; empty if nothing is
        known.
        """
        return ""

    def count_owners(self, counted: Counted, owners: CountedOwners) -> CountedOwners:
        """Returns `owners` with the people or the households that the option counts."""
        return owners

    def record(self, run: Run, table: Table, profile: Profile) -> Mapping[str, object]:
        """Keys of the stage's record (`ProfileRecord`).

        Raises:
            SameInputError: if there is nothing to release.
        """
        return {}


def readers_of(run: Run, may_continue: bool = False) -> list[InputReader]:
    """The readers of the options that a run uses. may_continue: see InputReader."""
    return [made(run, may_continue) for made in used_parts(run.spec, "reader")]
