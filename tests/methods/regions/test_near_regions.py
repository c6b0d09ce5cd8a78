"""Regions with (n, t)-closeness: each has a natural superset among the regions that it was cut
from.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from disjoint import values_in_both
from hypothesis import given
from hypothesis import strategies as st
from strategies import count_in, drawn, make_problem, people, settle_all, town

from tclose_spark.errors import ConfigurationError, UnreachableError
from tclose_spark.in_memory.release import PublishedClasses, apply_plan, measure
from tclose_spark.methods.method import method_of, require_supersets
from tclose_spark.methods.t_mondrian import plan_t_mondrian
from tclose_spark.runfile.registry import read_settings
from tclose_spark.runfile.spec import Supersets

ASKED = {"disease": {"t": "0.2"}, "grade": {"distance": "ordered", "t": "0.25"}}
MONDRIAN, APART = (
    {"name": "t_mondrian"},
    {"name": "closeness_tree", "overlap": "none", "effort": "fast"},
)


def near(problem, n, method=None):
    privacy = problem.spec.privacy.model_copy(update={"nt": None if n is None else Supersets(n=n)})
    settings = read_settings(method or MONDRIAN)
    return replace(
        problem,
        spec=problem.spec.model_copy(update={"privacy": privacy, "method": settings}),
    )


def figures_of(problem, rows, plan):
    made = apply_plan(plan, problem.attributes, rows, problem.spec)
    classes = PublishedClasses.of(made, problem.spec)
    return measure(made, classes, problem.attributes, problem.spec, problem.hierarchies)


@drawn(40)
@given(
    people(least=20, most=120),
    st.integers(5, 60),
    st.sampled_from([MONDRIAN, APART]),
    st.booleans(),
)
def test_every_region_holds_by_its_labels_and_no_two_meet(records, n, method, in_blocks):
    problem, rows = make_problem(records, ASKED, k=2)
    problem = near(problem, min(n, len(records)), method)
    sizes = (15, 30) if in_blocks else ()
    planning = plan_t_mondrian if method == MONDRIAN else method_of(problem.spec.method).make_plan
    plan = planning(problem.given(count_in(rows)), *(sizes if method == MONDRIAN else ()))
    figures = figures_of(problem, rows, plan)
    assert figures.holds
    assert values_in_both(problem, *settle_all(plan, rows)) == []


def test_what_is_near_to_a_part_of_the_table_may_be_far_from_it():
    problem, rows = make_problem(town(2000), {"disease": {"t": "0.2"}}, k=5)
    found = {}
    for n in (None, 2000, 100):
        asked = near(problem, n)
        found[n] = figures_of(asked, rows, plan_t_mondrian(asked.given(count_in(rows))))
    assert found[2000] == found[None]
    assert found[100].holds
    assert found[100].ncp < found[None].ncp
    assert (
        Fraction(found[100].emd["disease"]) > Fraction(1, 5) >= Fraction(found[None].emd["disease"])
    )


def test_regions_without_a_superset_are_found_to_hold_nothing():
    """Made for n = 100, and asked whether they hold n = 1,500."""
    problem, rows = make_problem(town(2000), {"disease": {"t": "0.2"}}, k=5)
    made, asked = near(problem, 100), near(problem, 1500)
    release = apply_plan(
        plan_t_mondrian(made.given(count_in(rows))),
        made.attributes,
        rows,
        made.spec,
    )
    classes = PublishedClasses.of(release, made.spec)
    holds = [
        measure(release, classes, of.attributes, of.spec, of.hierarchies).holds
        for of in (made, asked, near(problem, None))
    ]
    assert holds == [True, False, False]


def test_a_large_table_is_cut_on_a_sample_into_blocks_that_have_n_rows_or_are_near():
    problem, rows = make_problem(town(4000), {"disease": {"t": "0.2"}}, k=5)
    asked = near(problem, 300)
    half = replace(asked, sample=asked.sample.take(np.arange(2000)))
    plan = plan_t_mondrian(half.given(count_in(rows)), 600, 1200)
    assert plan.blocks > 2
    task = plan.route(rows)[1]
    settled = [
        plan.assign_classes(rows.take(np.flatnonzero(task == number)), number)
        for number in range(plan.tasks)
    ]
    assert max(of.figures["largest_closeness_ratio"] for of in settled) <= 1
    assert figures_of(asked, rows, plan).holds


def test_l_is_required_of_regions_of_n_rows_as_well():
    problem, rows = make_problem(town(600), {"disease": {"t": "0.05", "l": {"distinct": 4}}}, k=5)
    asked = near(problem, 20)
    assert figures_of(asked, rows, plan_t_mondrian(asked.given(count_in(rows)))).holds


def test_n_above_the_table_and_n_of_a_class_are_refused():
    problem, _ = make_problem(town(40), {"disease": {"t": "0.2"}}, k=5)
    with pytest.raises(UnreachableError, match=r"privacy\.nt\.n is 41, but the table has 40 rows"):
        require_supersets(near(problem, 41).attributes, 5)
    with pytest.raises(ConfigurationError, match=r"privacy\.nt\.n is 5, and k is 5"):
        require_supersets(near(problem, 5).attributes, 5)
    require_supersets(near(problem, 40).attributes, 5)
    require_supersets(near(problem, None).attributes, 5)
