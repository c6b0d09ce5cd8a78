"""Reads what earlier stages left in the staging area of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from tclose_spark.engine.protocol import Table
from tclose_spark.errors import DamagedStagingError, UnreachableError
from tclose_spark.io.run import Run
from tclose_spark.methods.atoms import AtomsPlan
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Plan, method_of
from tclose_spark.stages.staging.batches import StagedColumns, staged_batches
from tclose_spark.stages.staging.encode import EncodedTable, Encoder
from tclose_spark.table.domains import Profile

PROFILE = "profile.json"
PLAN = "plan.json"
PLAN_REPORT = "plan_report.json"
LINKED_SAMPLE = "linked_sample.json"
STAGED_ROWS = "rows"
STAGED_COLUMNS = "columns.json"


def read_profile(run: Run) -> Profile:
    """The profile of the input.

    Raises:
        DamagedStagingError: if it is gone or damaged, or another version of the package wrote it.
    """
    return run.staged(PROFILE, Profile.from_json)


def resolved_attributes(run: Run, profile: Profile) -> ResolvedAttributes:
    """The attributes of the run file on this table. If quasi-identifiers are published as they are,
    each class needs two values of each sensitive attribute, of a method that can make them.

    Raises:
        UnreachableError: if it does, and the table has one.
    """
    found = ResolvedAttributes.of(run.spec.attributes, profile, run.hierarchies, run.spec.privacy.n)
    if not run.spec.release.is_exact or "distinct" not in run.spec.method.makes_l:
        return found
    for a in found.sensitive:
        if sum(rows > 0 for rows in a.domain.counts) < 2:
            raise UnreachableError(
                "release.form: each class needs two values of each sensitive attribute, and "
                f"{a.name} has one",
            )
    diverse = [
        replace(a, needs=replace(a.needs, values=max(2, a.needs.least_values)))
        for a in found.sensitive
    ]
    return replace(found, sensitive=tuple(diverse))


def read_plan(run: Run, attributes: ResolvedAttributes, continued: bool = False) -> Plan:
    """The plan of the run. continued: whether the release continues an earlier one."""
    k = run.spec.privacy.k
    settings = run.spec.method

    def of_method(tree: Mapping[str, object], attributes: ResolvedAttributes) -> Plan:
        return method_of(settings).read_plan(tree, attributes, k, settings)

    attributes = attributes.for_methods(run.spec.privacy.joint)

    def parsed(text: str) -> Plan:
        tree = json.loads(text)
        if continued:
            return AtomsPlan.from_json(tree, attributes, k, of_method)
        return of_method(tree, attributes)

    return run.staged(PLAN, parsed)


def has_rows(run: Run) -> bool:
    """Whether the staged rows are there, all of them."""
    return run.staging.exists(STAGED_COLUMNS)


def read_columns(run: Run) -> StagedColumns:
    """The columns of the staged rows.

    Raises:
        DamagedStagingError: if the rows are gone, or the file is damaged.
    """
    _require_rows(run)
    return run.staged(STAGED_COLUMNS, StagedColumns.from_json)


def read_staged_rows(run: Run) -> Table:
    """The staged rows, in batches.

    Raises:
        DamagedStagingError: if they are gone.
    """
    _require_rows(run)
    return staged_batches(run.session, run.staging.path(STAGED_ROWS))


def _require_rows(run: Run) -> None:
    if not has_rows(run):
        raise DamagedStagingError(
            f"the staged rows in {run.staging.path()} are gone: they are removed if a release "
            "fails; begin again with `tclose profile`",
        )


def encoded_table(run: Run, profile: Profile) -> EncodedTable:
    """The staged rows as codes."""
    return EncodedTable(read_staged_rows(run), Encoder.of(profile, read_columns(run)), profile)


def drop_rows(run: Run) -> None:
    """Removes the staged rows after an error. Tasks may still write there; the next run removes
    what is left, so that no second error hides the first. Their columns go first: without them
    nothing reads rows that are left (`has_rows`).
    """
    with suppress(Exception):
        run.staging.remove(STAGED_COLUMNS)
        run.staging.remove(STAGED_ROWS)
        run.staging.remove(LINKED_SAMPLE)
