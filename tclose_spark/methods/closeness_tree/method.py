"""The closeness tree's entry in the registry of methods."""

from __future__ import annotations

from collections.abc import Mapping

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.closeness_tree.settings import ClosenessTree
from tclose_spark.methods.method import Method, Plan, PlanningInput


def _sample_rows(settings: ClosenessTree, rows: int) -> int:
    from tclose_spark.methods.closeness_tree.disjoint import SAMPLE_ROWS
    from tclose_spark.methods.closeness_tree.effort import effort_of, sample_size

    return SAMPLE_ROWS if settings.overlap else sample_size(effort_of(settings), rows)


def _make_plan(given: PlanningInput) -> Plan:
    from tclose_spark.methods.closeness_tree import disjoint, people, plan

    if given.settings.overlap:
        return disjoint.plan_disjoint(given)
    if len(given.attributes.units) > 1:
        return people.plan_people(given)
    return plan.plan_trees(given)


def _read_plan(
    tree: Mapping[str, object],
    attributes: ResolvedAttributes,
    k: int,
    settings: ClosenessTree,
) -> Plan:
    from tclose_spark.methods.blocks.dense import Dense
    from tclose_spark.methods.closeness_tree import disjoint, people
    from tclose_spark.methods.closeness_tree.effort import effort_of
    from tclose_spark.methods.closeness_tree.plan import ClosenessTreePlan

    if settings.overlap:
        return disjoint.read_disjoint_plan(tree, attributes, k, settings)
    if len(attributes.units) > 1:
        return people.read_people_plan(tree, attributes, k, settings)
    return ClosenessTreePlan.from_json(tree, Dense(attributes, k), effort_of(settings))


METHOD = Method(
    name="closeness_tree",
    settings=ClosenessTree,
    sample_rows=_sample_rows,
    make_plan=_make_plan,
    read_plan=_read_plan,
)
