"""Which method a run file names: its plan, made or read again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tclose_spark.domains import Profile
from tclose_spark.hierarchy import Hierarchy
from tclose_spark.methods.fragmentation import plan as fragmentation
from tclose_spark.methods.method import GroupCounts, Plan, Problem
from tclose_spark.methods.stack_and_deal import plan as stack_and_deal
from tclose_spark.spec import ClosenessTree, Fragmentation, ReleaseSpec


def sample_rows(spec: ReleaseSpec) -> int:
    """Rows of the sample that the method plans from."""
    if isinstance(spec.method, ClosenessTree):
        from tclose_spark.methods.closeness_tree.effort import effort_of

        return effort_of(spec).sample_rows
    return fragmentation.SAMPLE_ROWS if isinstance(spec.method, Fragmentation) else stack_and_deal.SAMPLE_ROWS


def make_plan(problem: Problem, counts: GroupCounts) -> Plan:
    """The plan of the method that the problem's run file names."""
    if isinstance(problem.spec.method, ClosenessTree):
        from tclose_spark.methods.closeness_tree import top  # compiling its kernels takes longest

        return top.make_plan(problem, counts)
    if isinstance(problem.spec.method, Fragmentation):
        return fragmentation.make_plan(problem, counts)
    return stack_and_deal.make_plan(problem, counts)


def read_plan(tree: Mapping[str, Any], spec: ReleaseSpec, profile: Profile, hierarchies: Mapping[str, Hierarchy]) -> Plan:
    """The plan that `Plan.to_json` wrote."""
    if isinstance(spec.method, ClosenessTree):
        from tclose_spark.methods.closeness_tree import dense, top

        return top.ClosenessTreePlan.from_json(tree, dense.Dense(spec, profile, hierarchies))
    if isinstance(spec.method, Fragmentation):
        return fragmentation.FragmentationPlan.from_json(tree, spec, profile, hierarchies)
    return stack_and_deal.StackAndDealPlan.from_json(tree, spec, profile, hierarchies)
