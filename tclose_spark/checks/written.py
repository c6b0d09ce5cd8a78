"""What a verification reads: the files of a release, and what its run recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import collect, read_delta, schema_of, select
from tclose_spark.errors import GuaranteeError
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
from tclose_spark.runfile.release_form import RELEASE
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.domains import Profile
from tclose_spark.table.fingerprint import Fingerprint
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

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
            state.of(ProfileRecord).input.fingerprint, state.of(AnonymizeRecord).written
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
                f"{self.internal.path(name)} has not the columns of the release, and {owner}"
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
