"""t-Mondrian as a method: its plan, whether the table is one block or many, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from disjoint import values_in_both
from strategies import count_in, make_problem, settle_all, town

from requirements import check_classes
from tclose_spark.errors import UnreachableError
from tclose_spark.methods.blocks.figures import rows_lost
from tclose_spark.methods.method import method_of
from tclose_spark.methods.regions.block import RegionDense
from tclose_spark.methods.t_mondrian import plan_t_mondrian
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.registry import read_settings, require_support

SETTINGS = read_settings({"name": "t_mondrian"})
CLOSE = {"disease": {"t": "0.45"}}


def test_a_plan_is_read_again_and_says_what_it_did():
    problem, rows = make_problem(town(2000), CLOSE, k=5)
    method, given = method_of(SETTINGS), problem.given(count_in(rows))
    plan = method.make_plan(given)
    assert (plan.tasks, plan.blocks) == (1, 1)
    again = method.read_plan(
        json.loads(json.dumps(plan.to_json())),
        problem.attributes,
        5,
        SETTINGS,
    )
    stayed, classes = settle_all(again, rows)
    check_classes(problem, stayed, classes)
    assert np.array_equal(classes, settle_all(plan, rows)[1])
    settled = again.assign_classes(rows, 0)
    told = again.describe(settled.figures)
    assert told["regions"] == len(np.unique(classes)) > 5
    assert 0 < told["ncp"] < 1
    assert 0 < told["mean_closeness_ratio"] <= told["largest_closeness_ratio"] <= 1
    assert "blocks: 1 of up to" in plan.report().note


def test_a_table_in_many_blocks_is_released_like_one_in_one_block():
    problem, rows = make_problem(town(2000), CLOSE, k=5)
    given = problem.given(count_in(rows))
    one, many = plan_t_mondrian(given), plan_t_mondrian(given, 300, 600)
    assert many.tasks > 1
    lost = []
    for plan in (one, many):
        stayed, classes = settle_all(plan, rows)
        check_classes(problem, stayed, classes)
        assert values_in_both(problem, stayed, classes) == []
        block, _ = RegionDense(problem.attributes, 5).block(stayed)
        lost.append(rows_lost(block, np.unique(classes, return_inverse=True)[1]))
    assert lost[0] <= lost[1] < 1.2 * lost[0]


def test_what_cannot_be_made_is_reported():
    problem, rows = make_problem(town(30), CLOSE, k=40)
    with pytest.raises(UnreachableError, match="the table has 30 rows"):
        plan_t_mondrian(problem.given(count_in(rows)))
    assert SETTINGS.promises_disjoint
    entropy = SensitiveAttribute.model_validate({"l": {"entropy": 2}})
    with pytest.raises(ValueError, match="makes no entropy l"):
        require_support(SETTINGS, {"disease": entropy})
