"""The earlier release that a release continues: its evidence, and what both must have in common."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from tclose_spark.engine.exports import fingerprint_of
from tclose_spark.engine.protocol import Session, Table
from tclose_spark.engine.tables import map_batches, read_delta, schema_of, select
from tclose_spark.errors import ConfigurationError
from tclose_spark.io.output_folders import (
    ATOMS,
    CERTIFICATE,
    HISTORY,
    PEOPLE,
    RECORDS,
    STATE,
)
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import HistoryEntry, ProfileRecord, ReportRecord, RunState
from tclose_spark.io.storage.folders import Folder, open_folder
from tclose_spark.io.storage.integrity import Digests
from tclose_spark.options.lines.published_atoms import published_atoms
from tclose_spark.options.lines.requirements import require_evidence, require_same_requirements
from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.line import damage_translated, entries_of, history_entry
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.publish import require_no_other_successor
from tclose_spark.stages.staging.batches import StagedColumns
from tclose_spark.table import atoms as of_atoms
from tclose_spark.table.columns.preparing import as_text
from tclose_spark.table.fingerprint import Fingerprint
from tclose_spark.table.people import PERSON


@dataclass(frozen=True, kw_only=True)
class EarlierRelease:
    """A finished release with its evidence.

    internal: the folder of the evidence. certificate: of the release. files: the SHA-256 of its
        public files.
    history: an entry for each release of the line, this one last (see `history_entry`,
        `report/line.py`).
    types: see `column_types`.
    made_from: the fingerprints of its configuration and of its input.
    """

    session: Session
    internal: Folder
    certificate: Certificate
    files: Digests
    history: tuple[HistoryEntry, ...]
    types: Mapping[str, str]
    made_from: tuple[str, str]

    @property
    def next_number(self) -> int:
        """The number of the release that continues this one."""
        return len(self.history) + 1

    def atoms(self) -> Table:
        """People who were ever published, as `table.atoms.ATOMS`. The classes of a first release
        are its atoms.
        """
        if self.internal.exists(ATOMS):
            return select(read_delta(self.session, self.internal.path(ATOMS)), of_atoms.ATOMS.names)
        columns = self.certificate.release.columns
        attributes = self.certificate.attributes
        labels = [
            label
            for name in attributes.quasi_identifiers
            for label in ([name] if name in columns else [f"{name}_min", f"{name}_max"])
        ]
        people = read_delta(self.session, self.internal.path(PEOPLE))
        return published_atoms(people, labels, list(attributes.sensitive), 1)

    def records(self, spec: ReleaseSpec, columns: StagedColumns) -> Table:
        """The rows as they were before generalization: the columns of a staged batch, and PERSON.

        Raises:
            ConfigurationError: if the release has no records, or they lack a column.
        """
        attributes = spec.attributes
        path = self.internal.path(RECORDS)
        names = [
            *attributes.quasi_identifiers,
            *attributes.sensitive_attributes,
            *attributes.beside,
        ]
        there = (
            schema_of(read_delta(self.session, path)).names if self.internal.exists(RECORDS) else []
        )
        if missing := [name for name in names if name not in there]:
            raise ConfigurationError(
                f"output.leavers is keep, but {path} has no column {missing[0]!r}; every release "
                "of the line needs leavers: keep and the same columns, from the first one on",
            )
        of_earlier = self.certificate.attributes.quasi_identifiers
        for name, one in attributes.quasi_identifiers.items():
            if one.type != of_earlier[name].type:
                raise ConfigurationError(
                    f"output.leavers is keep, and {path} has values of {name!r} as type "
                    f"{of_earlier[name].type}; expected this type in every release of the line, not "
                    f"{one.type}",
                )
        quasi = len(attributes.quasi_identifiers)
        sensitive = len(attributes.sensitive_attributes)
        typed = [place for place, own in enumerate(columns.own) if own is not None]
        table = read_delta(self.session, path)
        kinds = [schema_of(table).field(name).type for name in names]
        passing = [*(kinds[quasi + place] for place in typed), *kinds[quasi + sensitive :]]
        made = [*kinds[:quasi], *[pa.string()] * sensitive, *passing, pa.int64()]
        schema = pa.schema(list(zip([*columns.names, PERSON], made, strict=True)))

        def staged(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                held = batch.columns[:quasi]
                values = batch.columns[quasi : quasi + sensitive]
                passing = [
                    *(values[place] for place in typed),
                    *batch.columns[quasi + sensitive : -1],
                ]
                yield pa.RecordBatch.from_arrays(
                    [*held, *map(as_text, values), *passing, batch[PERSON]],
                    schema=schema,
                )

        return map_batches(select(table, [*names, PERSON]), staged, schema)

    def fingerprint(self) -> Fingerprint:
        """The fingerprint of `atoms`."""
        return fingerprint_of(self.atoms())


def earlier_release(run: Run) -> EarlierRelease | None:
    """The release that a run continues; None if the run file names none, or the run's own output
    before its first release.

    Raises:
        ConfigurationError: if there is no finished release with people, each in one class, if it
            was changed, if its secret or its sensitive attributes differ, or if the output holds a
            release that is not part of the line.
        UnreachableError: if its requirements are weaker than those of this run.
    """
    after = run.spec.output.after
    internal = run.earlier
    if after is None or internal is None:
        if run.finished and run.internal.exists(HISTORY):
            raise ConfigurationError(
                f"output: {run.public.path()} holds a release of a line (`tclose history`), which "
                "this run would replace; set output.after to continue the line, or give another "
                "output",
            )
        return None
    public = open_folder(f"{after}/public", run.session)
    own = after == run.spec.output.path
    if not (public.exists(CERTIFICATE) and internal.exists(STATE)):
        if own and not (public.exists(CERTIFICATE) or internal.exists(STATE)):
            return None
        raise ConfigurationError(
            f"output.after: there is no finished release in {after}; put its folders public and "
            "internal back, or leave out output.after to begin a new line in another output",
        )
    if run.finished and not own:
        raise ConfigurationError(
            f"output: {run.public.path()} holds a release, and replacing it would break its line; "
            "continue that one. If nobody has seen it, remove its folders first",
        )
    require_no_other_successor(run)
    with damage_translated(f"output.after: {after}"):
        return _continued(run, after, internal, public)


def _continued(run: Run, after: str, internal: Folder, public: Folder) -> EarlierRelease:
    """The release in the folder `after`. Raises as `earlier_release` does, and if a file is
    damaged.
    """
    certificate = Certificate.read(json.loads(public.read(CERTIFICATE)))
    state = RunState.parse(internal.read(STATE))
    people = require_evidence(after, internal, state, run)
    listed = state.of(ReportRecord).files.public
    if public.sha256(CERTIFICATE) != listed[CERTIFICATE]:
        raise ConfigurationError(
            f"output.after: the evidence in {internal.path()} is not that of the certificate in "
            f"{public.path()}; if a publication broke off there, run `tclose publish` for it",
        )
    if certificate.people is None:
        raise KeyError("people")
    if certificate.people.rows_of_a_person != "together":
        raise ConfigurationError(
            f"output.after: in the release in {after}, rows of a person may be in several classes, "
            "so its classes are no atoms; release it with attributes.person: {rows: together}",
        )
    history = (
        entries_of(internal.read(HISTORY))
        if internal.exists(HISTORY)
        else (history_entry(certificate),)
    )
    require_same_requirements(run.spec, history)
    return EarlierRelease(
        session=run.session,
        internal=internal,
        certificate=certificate,
        files=listed,
        history=history,
        types=people.types,
        made_from=(state.configuration, state.of(ProfileRecord).input.fingerprint),
    )
