"""One combination: planned, carried out in this process, and measured."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, replace

from tclose_spark.comparing.outcome import Outcome, State
from tclose_spark.comparing.request import Combination
from tclose_spark.errors import ConfigurationError, UnreachableError
from tclose_spark.in_memory.apply_plan import apply_plan
from tclose_spark.in_memory.measure import PublishedClasses, SampleFigures, measure
from tclose_spark.in_memory.sample import ComparedTable
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Plan, method_of
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.planning_input import planning_input
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.usefulness.utility_measures import UtilityMeasures


def run_trial(
    combination: Combination,
    table: ComparedTable,
    hierarchies: Mapping[str, Hierarchy],
    measures: UtilityMeasures,
    plan_only: bool,
) -> Outcome:
    """The outcome of a combination on this table. measures: made of a release beside its
    figures.
    """
    spec = combination.spec
    begun = time.process_time()
    refused = Outcome(
        method=combination.method,
        k=combination.k,
        t=combination.t,
        state="refused",
        why=combination.refused,
        figures={},
    )
    if spec is None:
        return refused
    attributes = ResolvedAttributes.of(spec.attributes, table.profile, hierarchies, spec.privacy.n)
    try:
        plan = make_plan(spec, attributes, table)
        released = None if plan_only else apply_plan(plan, attributes, table.rows, spec)
    except UnreachableError as error:
        seconds = time.process_time() - begun
        return replace(refused, state="unreachable", why=str(error), seconds=seconds)
    except ConfigurationError as error:
        return replace(refused, why=str(error), seconds=time.process_time() - begun)
    seconds = time.process_time() - begun
    if released is None:
        report = plan.report()
        figures = {"plan": dict(report.figures)}
        return replace(refused, state="planned", why=report.note, figures=figures, seconds=seconds)
    classes = PublishedClasses.of(released, spec)
    measured = measure(
        released, classes, attributes.for_methods(spec.privacy.joint), spec, hierarchies
    )
    return replace(
        refused,
        state=_state(measured),
        why=f"labels of {', '.join(measured.coarse)} are coarser than coarsest"
        if measured.coarse
        else "",
        figures={
            **asdict(measured),
            "average": measured.average,
            **measures.of(released, classes, attributes),
        },
        seconds=seconds,
    )


def _state(measured: SampleFigures) -> State:
    if not measured.holds:
        return "broken"
    return "coarse" if measured.coarse else "released"


def make_plan(spec: ReleaseSpec, attributes: ResolvedAttributes, table: ComparedTable) -> Plan:
    """The plan that the run file's method makes for this table."""
    return method_of(spec.method).make_plan(planning_input(spec, attributes, table.held))
