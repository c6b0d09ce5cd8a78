"""`overlap: none`: the closeness tree's regions lie apart, with every effort, and no row is carved
or exchanged.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from disjoint import regions_of_each, values_in_both
from strategies import count_in, make_problem, settle_all, town

from requirements import check_classes
from tclose_spark.methods import t_mondrian
from tclose_spark.methods.blocks.figures import rows_lost
from tclose_spark.methods.closeness_tree import disjoint
from tclose_spark.methods.method import method_of
from tclose_spark.methods.regions.block import RegionDense
from tclose_spark.runfile.registry import read_settings
from tclose_spark.runfile.spec import ReleaseSpec

CLOSE = {"disease": {"t": "0.4"}}


def settings_of(**method):
    return read_settings({"name": "closeness_tree", "overlap": "none", **method})


def given_by(problem, rows, settings):
    tree = {**problem.spec.model_dump(exclude={"method"}), "method": settings.model_dump()}
    return replace(problem, spec=ReleaseSpec.model_validate(tree)).given(count_in(rows))


@pytest.mark.parametrize("effort", ["fast", "balanced", "thorough", 2])
def test_regions_of_every_effort_lie_apart(effort):
    problem, rows = make_problem(town(1200), CLOSE, k=5)
    settings = settings_of(effort=effort)
    method = method_of(settings)
    plan = method.make_plan(given_by(problem, rows, settings))
    stayed, classes = settle_all(plan, rows)
    check_classes(problem, stayed, classes)
    assert values_in_both(problem, stayed, classes) == []
    assert set(regions_of_each(problem, stayed, classes).tolist()) == {1}
    again = method.read_plan(
        json.loads(json.dumps(plan.to_json())),
        problem.attributes,
        5,
        settings,
    )
    assert np.array_equal(settle_all(again, rows)[1], classes)


def test_more_effort_loses_less_and_all_less_than_medians():
    problem, rows = make_problem(town(2500), CLOSE, k=5)
    plans = [t_mondrian.plan_t_mondrian(problem.given(count_in(rows)))]
    plans += [
        disjoint.plan_disjoint(given_by(problem, rows, settings_of(effort=effort)))
        for effort in (1, "fast", "balanced")
    ]
    lost = []
    for plan in plans:
        stayed, classes = settle_all(plan, rows)
        block, _ = RegionDense(problem.attributes, 5).block(stayed)
        lost.append(rows_lost(block, np.unique(classes, return_inverse=True)[1]))
    assert min(lost) == lost[-1]
    assert lost[-1] <= lost[-2] < lost[0]


def test_only_overlap_none_promises_it():
    assert settings_of().promises_disjoint
    for overlap in ({}, {"overlap": "allowed"}):
        settings = read_settings({"name": "closeness_tree", **overlap})
        assert not settings.promises_disjoint
        assert "overlap" not in settings.model_dump(exclude_none=True)
