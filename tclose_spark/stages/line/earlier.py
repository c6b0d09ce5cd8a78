"""The earlier release that a release continues: its evidence, and what both must have in common."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa

from tclose_spark.engine.protocol import Session, Table
from tclose_spark.engine.tables import collect, map_batches, read_delta, schema_of, select
from tclose_spark.errors import ConfigurationError, UnreachableError
from tclose_spark.io.run import ATOMS, CERTIFICATE, HISTORY, PEOPLE, RECORDS, STATE, Run
from tclose_spark.io.storage.folders import Folder, open_folder
from tclose_spark.io.storage.integrity import differences, digests
from tclose_spark.report.line import history_entry
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.line.published_atoms import published_atoms
from tclose_spark.stages.staging.batches import StagedColumns
from tclose_spark.stages.staging.sealed_settings import sealed_secret
from tclose_spark.table import atoms as of_atoms
from tclose_spark.table.columns.preparing import as_text
from tclose_spark.table.fingerprint import Fingerprint
from tclose_spark.table.people import PERSON, Members

FIGURES = pa.schema([("rows", pa.int64()), ("digest", pa.int64())])


@dataclass(frozen=True, kw_only=True)
class EarlierRelease:
    """A finished release with its evidence.

    internal: the folder of the evidence. certificate: of the release.
    history: an entry for each release of the line, this one last (see `history_entry`, `report/line.py`).
    """

    session: Session
    internal: Folder
    certificate: Mapping[str, Any]
    history: tuple[Mapping[str, Any], ...]

    @property
    def next_number(self) -> int:
        """The number of the release that continues this one."""
        return len(self.history) + 1

    def atoms(self) -> Table:
        """People who were ever published, as `table.atoms.ATOMS`. The classes of a first release are its atoms."""
        if self.internal.exists(ATOMS):
            return select(read_delta(self.session, self.internal.path(ATOMS)), of_atoms.ATOMS.names)
        columns, attributes = self.certificate["release"]["columns"], self.certificate["attributes"]
        labels = [
            label
            for name in attributes["quasi_identifiers"]
            for label in ([name] if name in columns else [f"{name}_min", f"{name}_max"])
        ]
        people = read_delta(self.session, self.internal.path(PEOPLE))
        return published_atoms(people, labels, list(attributes["sensitive"]), 1)

    def records(self, spec: ReleaseSpec, columns: StagedColumns) -> Table:
        """The rows as they were before generalization: the columns of a staged batch, and PERSON.

        Raises:
            ConfigurationError: if the release has no records, or they lack a column.
        """
        attributes, path = spec.attributes, self.internal.path(RECORDS)
        names = [*attributes.quasi_identifiers, *attributes.sensitive_attributes, *attributes.beside]
        there = schema_of(read_delta(self.session, path)).names if self.internal.exists(RECORDS) else []
        if missing := [name for name in names if name not in there]:
            raise ConfigurationError(
                f"output.leavers is keep, but {path} has no column {missing[0]!r}; every release of the line needs "
                "leavers: keep and the same columns, from the first one on"
            )
        quasi, sensitive = len(attributes.quasi_identifiers), len(attributes.sensitive_attributes)
        typed = [place for place, own in enumerate(columns.own) if own is not None]
        kinds = [schema_of(read_delta(self.session, path)).field(name).type for name in names]
        passing = [*(kinds[quasi + place] for place in typed), *kinds[quasi + sensitive :]]
        made = [*kinds[:quasi], *[pa.string()] * sensitive, *passing, pa.int64()]
        schema = pa.schema(list(zip([*columns.names, PERSON], made, strict=True)))

        def staged(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                held, values = batch.columns[:quasi], batch.columns[quasi : quasi + sensitive]
                passing = [*(values[place] for place in typed), *batch.columns[quasi + sensitive : -1]]
                yield pa.RecordBatch.from_arrays([*held, *map(as_text, values), *passing, batch[PERSON]], schema=schema)

        return map_batches(select(read_delta(self.session, path), [*names, PERSON]), staged, schema)

    def fingerprint(self) -> Fingerprint:
        """The fingerprint of `atoms`."""
        return fingerprint_of(self.atoms())


def fingerprint_of(table: Table) -> Fingerprint:
    """The fingerprint of a table."""

    def add_up(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            one = Fingerprint.of(batch.columns)
            yield pa.RecordBatch.from_arrays([pa.array([one.rows]), pa.array([one.digest])], schema=FIGURES)

    total = Fingerprint(0, 0)
    for row in collect(map_batches(table, add_up, FIGURES)).to_pylist():
        total += Fingerprint(row["rows"], row["digest"])
    return total


def earlier_release(run: Run) -> EarlierRelease | None:
    """The release that a run continues; None if the run file names none, or the run's own output before its first
    release.

    Raises:
        ConfigurationError: if there is no finished release with people, if it was changed, if its secret or its
            sensitive attributes differ, or if the output holds a release that is not part of the line.
        UnreachableError: if its requirements are weaker than those of this run.
    """
    after, internal = run.spec.output.after, run.earlier
    if after is None or internal is None:
        return None
    public = open_folder(f"{after}/public", run.session)
    own = after == run.spec.output.path
    if not (public.exists(CERTIFICATE) and internal.exists(STATE)):
        if own:
            return None
        raise ConfigurationError(f"output.after: there is no finished release in {after}")
    if run.finished and not own:
        raise ConfigurationError(
            f"output: {run.public.path()} holds a release, and replacing it would break the line of releases that "
            f"continue {after}; continue that one, or give another output"
        )
    certificate, state = json.loads(public.read(CERTIFICATE)), json.loads(internal.read(STATE))
    _require_evidence(after, internal, state, run)
    history = tuple(json.loads(internal.read(HISTORY))) if internal.exists(HISTORY) else (history_entry(certificate),)
    _require_same_requirements(run.spec, history)
    return EarlierRelease(session=run.session, internal=internal, certificate=certificate, history=history)


def members_line(members: Members) -> str:
    """What became of the people of earlier releases, for the console."""
    return (
        f"people     of earlier releases: {members.stayed:,} stay, {members.left:,} left, {members.changed:,} have "
        f"other sensitive values; {members.withheld:,} are withheld because their atom is not whole, "
        f"{members.kept:,} are published as they were"
    )


def _require_evidence(after: str, internal: Folder, state: Mapping[str, Any], run: Run) -> None:
    profiled, listed = state["stages"]["profile"], state["stages"]["report"]["files"]["internal"]
    if "secret_of_people" not in profiled:
        raise ConfigurationError(
            f"output.after: the release in {after} does not count people (attributes.person), or an older version of "
            "tclose_spark made it; release it again"
        )
    if profiled["secret_of_people"] != sealed_secret(run):
        raise ConfigurationError(
            f"output.after: the release in {after} was made with another secret, so its people cannot be recognized; "
            "set TCLOSE_SECRET to its secret, or leave it unset if that is in internal/secret"
        )
    names = (PEOPLE, ATOMS, HISTORY, RECORDS)
    expected = {path: digest for path, digest in listed.items() if path.split("/")[0] in names}
    if changed := differences(expected, digests(internal, names)):
        raise ConfigurationError(f"output.after: {internal.path()} was changed after its publication: {changed[0]}")


def _require_same_requirements(spec: ReleaseSpec, history: tuple[Mapping[str, Any], ...]) -> None:
    sensitive = spec.attributes.sensitive_attributes
    for number, entry in enumerate(history, start=1):
        if entry["t"].keys() != sensitive.keys():
            raise ConfigurationError(
                f"output.after: the sensitive attributes of release {number} are {', '.join(entry['t'])}; expected the "
                "same ones in every release of a table"
            )
        if entry["suppressed"] and entry["of"] == "input":
            raise ConfigurationError(
                f"output.after: release {number} has suppressed rows with privacy.of: input, so their distribution is "
                "public; begin a new line of releases with privacy.of: released"
            )
        weaker = ["k"] if entry["smallest_atom"] < spec.privacy.k else []
        for name, one in sensitive.items():
            t = entry["t"][name]
            weaker += [f"t of {name}"] if one.t is not None and (t is None or Fraction(t) > one.t) else []
            weaker += [f"l of {name}"] if (one.l.distinct or 1) > entry["distinct"].get(name, 1) else []
        if weaker:
            raise UnreachableError(
                f"output.after: {', '.join(weaker)} is stricter than that of release {number}, whose atoms cannot be "
                "split or judged again; require no more than it, or begin a new line of releases"
            )
