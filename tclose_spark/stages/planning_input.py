"""The plan of a run, and what a method plans from: a run file and a table that is staged or in
memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace

from tclose_spark.io.run import Run
from tclose_spark.io.run_state import ChosenKRecord
from tclose_spark.methods.atoms import plan_atoms
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import (
    Plan,
    PlanningInput,
    PlanReport,
    method_of,
    require_several_classes,
    require_supersets,
)
from tclose_spark.methods.people import require_constant
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.staging.area import PLAN, PLAN_REPORT, resolved_attributes
from tclose_spark.stages.staging.encode import EncodedTable
from tclose_spark.table.domains import Profile
from tclose_spark.table.tally import LocalRows


def make_plan(
    run: Run,
    profile: Profile,
    table: EncodedTable,
    chosen: ChosenKRecord | None,
) -> PlanReport:
    """Makes and writes the plan of a run; returns it in figures. chosen: its k, if it was."""

    def log(line: str) -> None:
        run.detail(f"{'plan':<10} {line}")

    given = planning_input(run.spec, resolved_attributes(run, profile), table, log)
    make: Callable[[PlanningInput], Plan] = method_of(run.spec.method).make_plan
    made = plan_atoms(given, make) if profile.continued else make(given)
    report = made.report()
    if chosen is not None:
        report = replace(report, details={**report.details, "k": chosen.to_json()})
    run.staging.write(PLAN, json.dumps(made.to_json()))
    run.staging.write(PLAN_REPORT, json.dumps(asdict(report), indent=1))
    if report.note:
        log(report.note)
    return report


def planning_input(
    spec: ReleaseSpec,
    attributes: ResolvedAttributes,
    table: EncodedTable | LocalRows,
    log: Callable[[str], None] = lambda _: None,
) -> PlanningInput:
    """The planning input of a run file's method on a table. log: takes a line about the progress of
    the planning.

    Raises:
        UnreachableError: if the table has fewer than n rows, of (n, t)-closeness, or is one class
            by the t of a tuple.
        ConfigurationError: if n is not above k, or the method cannot keep the rows of a person
            together.
    """
    require_supersets(attributes, spec.privacy.k)
    attributes = attributes.for_methods(spec.privacy.joint)
    if not spec.privacy.suppression_limit:
        require_several_classes(attributes)
    if not spec.keeps_people:
        require_constant(attributes)
    return PlanningInput(
        attributes=attributes,
        k=spec.privacy.k,
        settings=spec.method,
        sample=table.sample(method_of(spec.method).sample_rows(spec.method, attributes.rows)),
        counts=table.counts,
        frequencies=table.frequencies,
        most_suppressed=spec.privacy.most_suppressed(attributes.rows),
        of=spec.privacy.of,
        log=log,
    )
