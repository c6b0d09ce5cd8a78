"""What a release and the one that it continues must have in common, and what is said of their
people.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import pyarrow as pa

from tclose_spark.errors import ConfigurationError, InputError, SameInputError, UnreachableError
from tclose_spark.io.output_folders import (
    ATOMS,
    HISTORY,
    PEOPLE,
    RECORDS,
    SECRET_VARIABLE,
    secret_from_environment,
)
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import (
    HistoryEntry,
    PeopleRecord,
    ProfileRecord,
    ReportRecord,
    RunState,
)
from tclose_spark.io.storage.folders import Folder
from tclose_spark.io.storage.integrity import differences, digests
from tclose_spark.requirements.wording import stricter
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.staging.resuming import sealed_secret
from tclose_spark.table.columns.spark_types import type_name
from tclose_spark.table.domains import Profile
from tclose_spark.table.people import Members

INTEGERS = ("tinyint", "smallint", "int", "bigint")
"""From the smallest to the largest."""


def require_known_people(members: Members) -> None:
    """Raises ConfigurationError if the input has nobody of the earlier releases."""
    if not members.stayed + members.changed + members.withheld:
        raise ConfigurationError(
            f"attributes.person: none of the {members.left:,} people of earlier releases is in the "
            "input; expected the identifiers of the earlier input, written alike (for example 7, "
            "not 7.0 or 007)",
        )


def column_types(schema: pa.Schema, spec: ReleaseSpec) -> dict[str, str]:
    """The type of each column of the input that a release is made of, and of that of its people, as
    Spark names it.
    """
    names = [*spec.attributes.inputs, spec.attributes.owners["person"]]
    return {name: type_name(schema.field(name)) for name in names}


def require_same_types(
    types: Mapping[str, str],
    spec: ReleaseSpec,
    earlier: Mapping[str, str],
) -> None:
    """Requires the types of the earlier input: of sensitive values and people, which are compared
    with earlier ones, and of all columns if rows are kept. An integer may be of another size; not
    of a smaller one if rows are kept.

    types, earlier: see `column_types`.

    Raises:
        InputError: if a column has another type.
    """
    keeps = spec.output.leavers == "keep"
    compared = [*spec.attributes.sensitive_attributes, spec.attributes.owners["person"]]
    for name in [name for name in types if name in earlier and (keeps or name in compared)]:
        now = types[name]
        before = earlier[name]
        if now in INTEGERS and before in INTEGERS:
            narrower = (
                keeps
                and name in spec.attributes.inputs
                and INTEGERS.index(now) < INTEGERS.index(before)
            )
            before = before if narrower else now
        if now != before:
            raise InputError(
                f"output.after: column {name!r} is of type {now}, and was of type {before} in the "
                "earlier release; expected the same type, so that people are recognized",
            )


def recognized_notes(members: Members) -> list[str]:
    """Notes if the input has fewer than half of the people of earlier releases, or most of them
    with other values.
    """
    there = members.stayed + members.changed + members.withheld
    whole = there + members.left
    few = (
        f"only {there:,} of {whole:,} people of earlier releases are in the input; are identifiers "
        "written alike?"
    )
    other = (
        f"{members.changed:,} of {there:,} people have other sensitive values than before; are "
        "values written alike?"
    )
    return [
        *([few] if 2 * there < whole else []),
        *([other] if 2 * members.changed > there else []),
    ]


def line_notes(run: Run, continues: bool) -> list[str]:
    """Notes if a run begins a line, or if later releases cannot keep leavers any more. continues:
    whether there is an earlier release.
    """
    after = run.spec.output.after
    internal = run.earlier
    if after is not None and not continues:
        return [
            f"there is no earlier release in {after}, so a line begins; nothing is promised about "
            "other lines",
        ]
    if internal is not None and internal.exists(RECORDS) and run.spec.output.leavers != "keep":
        return [
            "output.leavers was keep in the earlier release; no later release of the line can "
            "keep leavers again",
        ]
    return []


def kept_note(kept: int) -> str:
    """A note for an error that names values, which those of kept rows may be."""
    return (
        f"{kept:,} people who left or changed are published as they were in the earlier release "
        "(output.leavers: keep), and ranges and hierarchies have to cover their values, too"
    )


def ground_distances(run: Run) -> dict[str, str]:
    """By sensitive attribute, a hash of what decides its ground distance, which all releases of a
    line share.
    """
    found = {}
    for name, one in run.spec.attributes.sensitive_attributes.items():
        tree = (
            run.hierarchies[name].paths
            if one.distance == "hierarchical" and name in run.hierarchies
            else None
        )
        order = one.order if isinstance(one.order, str) else list(one.order)
        found[name] = hashlib.sha256(
            json.dumps([one.distance, order, one.missing, tree]).encode(),
        ).hexdigest()
    return found


def members_line(members: Members) -> str:
    """What became of the people of earlier releases, for the console."""
    return (
        f"people     of earlier releases: {members.stayed:,} stay, {members.left:,} left, "
        f"{members.changed:,} have other sensitive values; {members.withheld:,} are withheld "
        f"because their atom is not whole, {members.kept:,} are published as they were"
    )


def require_evidence(after: str, internal: Folder, state: RunState, run: Run) -> PeopleRecord:
    """What the earlier release recorded of its people. after: the output. internal, state: its
    evidence, and its record.

    Raises:
        ConfigurationError: unless it counts people with this run's secret and ground distances, and
            its evidence is as it was published.
    """
    people = state.of(ProfileRecord).people
    listed = state.of(ReportRecord).files.internal
    if people is None:
        raise ConfigurationError(
            f"output.after: the release in {after} does not count people (attributes.person), or "
            "an older version of tclose_spark made it; release it again",
        )
    if people.secret_of_people != sealed_secret(run.secret):
        raise ConfigurationError(
            f"output.after: the release in {after} was made with another secret, so its people "
            "cannot be recognized; " + _remedy(internal, people.secret_of_people, run),
        )
    if other := [
        name
        for name, hashed in ground_distances(run).items()
        if people.distances.get(name, hashed) != hashed
    ]:
        raise ConfigurationError(
            f"output.after: the ground distance of {other[0]!r} (its distance, order, hierarchy or "
            "place of missing values) is not that of the earlier release; expected the same in "
            "every release",
        )
    names = (PEOPLE, ATOMS, HISTORY, RECORDS)
    expected = {path: digest for path, digest in listed.items() if path.split("/")[0] in names}
    if changed := differences(expected, digests(internal, names)):
        raise ConfigurationError(
            f"output.after: {internal.path()} was changed after its publication: {changed[0]}",
        )
    return people


def _remedy(earlier: Folder, sealed: str, run: Run) -> str:
    """How a run gets the secret of the earlier release, whose evidence is in `earlier`. sealed: see
    `sealed_secret`.
    """
    if not earlier.exists("secret") or sealed_secret(earlier.read("secret").strip()) != sealed:
        return f"set {SECRET_VARIABLE} to its secret"
    if secret_from_environment() is not None:
        return f"unset {SECRET_VARIABLE}, and the run takes that in {earlier.path('secret')}"
    return (
        f"move {run.internal.path('secret')} away, which another run left there, and the run takes "
        "over its secret"
    )


def require_same_requirements(spec: ReleaseSpec, history: tuple[HistoryEntry, ...]) -> None:
    """Requires the sensitive attributes of every release of the line, and no more of them than each
    did.

    Raises:
        ConfigurationError: if the attributes differ, or the suppressed people of a release are a
            public class.
        UnreachableError: if k, a t, an l or a beta is stricter than that of a release.
    """
    sensitive = spec.attributes.sensitive_attributes
    for number, entry in enumerate(history, start=1):
        if entry.t.keys() != sensitive.keys():
            raise ConfigurationError(
                f"output.after: the sensitive attributes of release {number} are "
                f"{', '.join(entry.t)}; expected the same ones in every release of a table",
            )
        if entry.suppressed and entry.of == "input":
            raise ConfigurationError(
                f"output.after: release {number} has suppressed rows with privacy.of: input, so "
                "their distribution is public; begin a new line of releases with privacy.of: "
                "released",
            )
        weaker = ["k"] if entry.smallest_atom < spec.privacy.k else []
        weaker += stricter(sensitive, entry.to_json())
        if weaker:
            raise UnreachableError(
                f"output.after: {', '.join(weaker)} is stricter than that of release {number}, "
                "whose atoms cannot be split or judged again; require no more than it, or begin a "
                "new line of releases",
            )


def require_another_input(run: Run, made_from: tuple[str, str], profile: Profile) -> None:
    """Raises SameInputError if run file, rows and people are those of the release before.
    made_from: see `EarlierRelease`.
    """
    people = profile.people
    if people is None or made_from != (run.fingerprint, profile.fingerprint):
        return
    members = people.members
    # Nobody is new, and nobody is published as they were.
    if members is not None and people.people == members.stayed + members.withheld:
        raise SameInputError(
            f"output.after: the release in {run.spec.output.after} was made with this run file "
            f"from the same {profile.rows:,} rows, so another one would add nothing; give the next "
            "release's input (input.path)",
        )
