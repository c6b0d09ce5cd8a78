"""What a verification reads: the files of a release, what its run recorded, and its people, from
`internal/people`: each row as it was published, and its person.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from tclose_spark.checks.classes.class_table import Classes
from tclose_spark.checks.classes.figures import ClassFigures, figures_of_suppressed
from tclose_spark.checks.classes.people import (
    JudgedPeople,
    OwnerTallies,
    judged_people,
    tally_owners,
)
from tclose_spark.checks.classes.tallies import MOST_VALUES, ClassTally, count_tuples
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, keep, read_delta, schema_of, select
from tclose_spark.errors import GuaranteeError, InputError
from tclose_spark.io.output_folders import PEOPLE
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import (
    AnonymizeRecord,
    EarlierRecord,
    ProfileRecord,
    RunState,
    VersionsRecord,
    WrittenRecord,
)
from tclose_spark.io.storage.folders import Folder
from tclose_spark.io.tables.check_columns import SUPPRESSED
from tclose_spark.io.tables.delta_log import require_plain_table
from tclose_spark.io.tables.plain_parquet import parts_of, require_plain_parquet
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.runfile.release_form import RELEASE
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.domains import Profile, TupleCounts
from tclose_spark.table.fingerprint import Fingerprint
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.people import PERSON

WrittenTable = tuple[Table, str]
"""A table, and the folder of its files."""


@dataclass(frozen=True)
class Evidence:
    """The fingerprints that the run recorded: of its input, and of both sides of its write (see
    `table.fingerprint`).
    """

    input: str
    written: WrittenRecord

    @staticmethod
    def of(state: RunState) -> Evidence:
        """What the records of the stages have."""
        return Evidence(
            state.of(ProfileRecord).input.fingerprint,
            state.of(AnonymizeRecord).written,
        )

    @property
    def left_out(self) -> int:
        """How many rows were read and not published."""
        raw, published = map(Fingerprint.parse, (self.written.raw, self.written.published))
        return raw.rows - published.rows


@dataclass(frozen=True, kw_only=True)
class RunFiles:
    """The files of a run, staged or finished. public: the folder of the release. state: what the
    run recorded.
    """

    run: Run
    public: Folder
    state: RunState

    @property
    def internal(self) -> Folder:
        """The folder of the evidence."""
        return self.run.staging if self.public is self.run.staging else self.run.internal

    @property
    def versions(self) -> VersionsRecord:
        """The readable versions of the release's table, and the commits of its log. Only lines have
        several.
        """
        may_be_line = "person" in self.run.spec.attributes.owners
        return self.state.of(AnonymizeRecord).versions if may_be_line else VersionsRecord()

    @property
    def earlier(self) -> EarlierRecord | None:
        """What the profile recorded of the release that this one continues."""
        return self.state.of(ProfileRecord).earlier

    @cached_property
    def people(self) -> Table:
        """The table `internal/people`: see `owned_rows`."""
        return self.owned_rows(PEOPLE, PERSON)

    def released(self, name: str, *versions: Any) -> WrittenTable:
        """A table of the public folder. versions: the commits and readable versions of its log, if
        it has several.

        Raises:
            GuaranteeError: if it holds more than its rows.
        """
        return self._plain(self.public, name, *versions), self.public.path(name)

    def evidence(self, name: str) -> Table:
        """A table of the evidence.

        Raises:
            GuaranteeError: if it is missing.
        """
        if not self.internal.exists(name):
            raise GuaranteeError(f"{self.internal.path(name)} is missing")
        return read_delta(self.run.session, self.internal.path(name))

    def owned_rows(self, name: str, owner: str) -> Table:
        """A table of the evidence with every row as it is published, and whose it is. owner: the
        column of that.

        Raises:
            GuaranteeError: if it is missing or empty, has other columns, or holds more than its
                rows.
        """
        if not self.internal.exists(name):
            raise GuaranteeError(f"{self.internal.path(name)} is missing")
        table = self._plain(self.internal, name)
        released = schema_of(read_delta(self.run.session, self.public.path(RELEASE)))
        expected = pa.schema([*released, (owner, pa.int64()), (SUPPRESSED, pa.bool_())])
        if not schema_of(table).equals(expected):
            raise GuaranteeError(
                f"{self.internal.path(name)} has not the columns of the release, and {owner}",
            )
        if not collect(select(table, [owner]), 1).num_rows:
            raise GuaranteeError(f"{self.internal.path(name)} has no rows")
        return table

    def _plain(self, folder: Folder, name: str, *versions: Any) -> Table:
        """A table of a folder. Raises GuaranteeError if it holds more than its rows."""
        require_plain_table(folder, name, *versions)
        table = read_delta(self.run.session, folder.path(name))
        require_plain_parquet(folder, parts_of(folder, name), schema_of(table))
        return table


@dataclass(frozen=True, kw_only=True)
class WrittenRelease:
    """A written release.

    release: its table, and the folder that holds the table's files and no others.
    profile: the input's rows and values, with which the release must agree.
    hierarchies: by column. classes: the path of the class table that the verification writes.
    files: of its run; None if there is the table alone.
    """

    release: WrittenTable
    spec: ReleaseSpec
    profile: Profile
    hierarchies: Mapping[str, Hierarchy]
    evidence: Evidence
    classes: str
    files: RunFiles | None = None

    @property
    def run_files(self) -> RunFiles:
        """The files of its run."""
        assert self.files is not None
        return self.files


def require_rows_of_release(
    tallied: OwnerTallies,
    released: Fingerprint,
    recorded: str | None,
    name: str,
) -> None:
    """Raises GuaranteeError unless a table of `internal` has the rows of the release, and those
    that were written.

    released: the fingerprint of the release. recorded: that of the table when it was written. name:
        of the table.
    """
    if tallied.released != released:
        raise GuaranteeError(
            f"internal/{name} has not the rows of the release, so its {name} cannot be counted",
        )
    if str(tallied.all_rows) != recorded:
        raise GuaranteeError(
            f"internal/{name} that was read back differs from the one that was written",
        )


@dataclass(frozen=True)
class ReleasedPeople:
    """tallied: all rows by class, with whose they are."""

    tallied: OwnerTallies

    def judged(self, attributes: Sequence[JudgedAttribute], with_suppressed: bool) -> JudgedPeople:
        """What is required of the people of classes. with_suppressed: whether classes are compared
        with all rows, not with the released ones.
        """
        rows = self.tallied.whole if with_suppressed else self.tallied.classes
        sizes = self.tallied.sensitive  # the place of the numbers of rows among the values
        by_size = {size: n for (size,), n in self._counts(rows, sizes).items()}
        counts = []
        for i, a in enumerate(attributes):
            if a.tuples is None:
                counts.append(self._counts(rows, i, sizes))
                continue
            by_tuple = self._counts(rows, *a.tuples.columns, sizes)
            counts.append(
                {(json.dumps(values), size): n for (*values, size), n in by_tuple.items()},
            )
        return judged_people(attributes, by_size, counts)

    def suppressed_class(
        self,
        k: int,
        attributes: Sequence[JudgedAttribute],
        judged: JudgedPeople,
    ) -> ClassFigures:
        """The figures of the suppressed rows as one class, with the guarantees of every class."""
        (batch,) = collect(self.tallied.suppressed).combine_chunks().to_batches()
        classes = Classes.of(ClassTally.whole(batch, self.tallied.labels), attributes)
        of_people, (rows,) = judged.of(classes), classes.sizes.tolist()
        return figures_of_suppressed(rows, k, attributes, classes.marginals, [judged], of_people)

    def require_rows(self, released: Fingerprint, recorded: str | None) -> None:
        """See `require_rows_of_release`. Available after the tallies were computed."""
        require_rows_of_release(self.tallied, released, recorded, PEOPLE)

    def apart(self) -> list[str]:
        """That rows of a person are in several classes, if any are."""
        several = self.tallied.in_several_classes
        message = (
            f"{several:,} people have rows in several classes, and attributes.person requires one "
            "(rows: together)"
        )
        return [message] if several else []

    @cached_property
    def sizes(self) -> dict[int, int]:
        """How many people have each number of rows, suppressed ones included."""
        counts = self._counts(self.tallied.whole, self.tallied.sensitive)
        return {size: rows // size for (size,), rows in counts.items()}

    def _counts(self, tallies: Table, *columns: int) -> TupleCounts:
        counts = count_tuples(tallies, [f"v{i}" for i in columns])
        if counts is None:
            raise InputError(
                f"sensitive values have more than {MOST_VALUES:,} combinations with rows of a "
                "person; use coarser ones",
            )
        return counts


@contextmanager
def released_people(
    table: Table | None,
    labels: Sequence[str],
    sensitive: Sequence[str],
) -> Iterator[ReleasedPeople | None]:
    """The people of a release; None if a row is taken for a person. table: `internal/people`.
    labels, sensitive: the published columns.
    """
    if table is None:
        yield None
        return
    tallied = tally_owners(table, labels, sensitive)
    with keep(tallied.whole) as whole:
        yield ReleasedPeople(replace(tallied, whole=whole))
