"""One combination: planned, carried out in this process, and measured on rows from the input. To
read them is the one part of a comparison that an engine does.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, replace

from tclose_spark.comparing.request import Combination
from tclose_spark.comparing.result import Outcome, State
from tclose_spark.engine.sources import commit_of, read_table
from tclose_spark.engine.tables import schema_of, sized_shuffles
from tclose_spark.errors import ConfigurationError, UnreachableError
from tclose_spark.in_memory.release import PublishedClasses, SampleFigures, apply_plan, measure
from tclose_spark.in_memory.sample import MOST_ROWS, ComparedTable, table_of_its_own
from tclose_spark.io.run import Run
from tclose_spark.io.storage.folders import Folder
from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.method import Plan, method_of
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.planning_input import planning_input
from tclose_spark.stages.profile import profile_table
from tclose_spark.stages.staging.batches import StagedColumns, staged_batches
from tclose_spark.stages.staging.encode import EncodedTable, Encoder
from tclose_spark.table.hierarchies.building import built_columns
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
        plan = plan_trial(spec, attributes, table)
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
        released,
        classes,
        attributes.for_methods(spec.privacy.joint),
        spec,
        hierarchies,
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


def plan_trial(spec: ReleaseSpec, attributes: ResolvedAttributes, table: ComparedTable) -> Plan:
    """The plan that the run file's method makes for this table."""
    return method_of(spec.method).make_plan(planning_input(spec, attributes, table.held))


STAGED = "staged"


def draw_rows(run: Run, folder: Folder, most: int | None) -> ComparedTable:
    """Rows of the run's input, drawn by their content: about `most`, or all. folder: holds the
    staged input meanwhile.

    Raises:
        ConfigurationError: if all rows are requested, and they are too many; or if people are
            counted in a sample.
    """
    folder.remove(STAGED)
    try:
        with sized_shuffles(run.session, 0):
            commit = commit_of(run.session, run.spec.input)
            version = None if commit is None else commit.version
            columns = run.spec.attributes.inputs
            codes = run.spec.missing_values
            table = read_table(run.session, run.spec.input, version, columns, codes)
            path = folder.path(STAGED)
            profile, trees = profile_table(table, version, path, run)
        if most is None and profile.rows > MOST_ROWS:
            raise ConfigurationError(
                f"--sample all: the input has {profile.rows:,} rows, and a comparison holds at "
                f"most {MOST_ROWS:,}; give --sample 50000",
            )
        counted = {"person": profile.people, "household": profile.households}
        if most is not None and most < profile.rows and any(counted.values()):
            role = next(name for name, found in counted.items() if found is not None)
            raise ConfigurationError(
                f"--sample {most}: a sample has rows, and attributes.{role} requires all rows of a "
                f"{role}; give --sample all, for at most {MOST_ROWS:,} rows",
            )
        staged = StagedColumns.of(schema_of(table), run.spec)
        with sized_shuffles(run.session, profile.rows):
            encoded = EncodedTable(
                staged_batches(run.session, folder.path(STAGED)),
                Encoder.of(profile, staged),
                profile,
            )
            rows = encoded.sample(profile.rows if most is None else most)
        attributes = run.spec.attributes.sensitive_attributes
        compared = table_of_its_own(
            profile,
            rows,
            attributes,
            trees,
            [own is None for own in staged.own],
        )
        return replace(
            compared,
            built={name: trees[name] for name in built_columns(run.spec.attributes)},
        )
    finally:
        folder.remove(STAGED)
