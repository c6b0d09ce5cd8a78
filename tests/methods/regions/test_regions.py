"""Regions that do not overlap: every class holds, no two labels meet, whatever the order of rows,
blocks and tasks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from disjoint import labels_of, regions_of_each, values_in_both
from hypothesis import given
from hypothesis import strategies as st
from strategies import CITIES, content, count_in, drawn, make_problem, people, settle_all, town

from requirements import check_classes
from tclose_spark.errors import ConfigurationError, UnreachableError
from tclose_spark.methods.blocks.figures import rows_lost
from tclose_spark.methods.regions import planning
from tclose_spark.methods.regions.block import RegionDense
from tclose_spark.methods.regions.cutting import AT_MEDIANS, RegionGrowth, cut
from tclose_spark.methods.regions.plan import RegionPlan
from tclose_spark.methods.regions.planning import plan_regions
from tclose_spark.methods.regions.workspace import split_rule
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

BY_SCORE = RegionGrowth(split_rule(cuts=12, tries=8, each=2), budget=50)
SENSITIVE = st.sampled_from(
    [
        {"disease": {"t": "0.5"}},
        {
            "disease": {"t": "0.6", "l": {"distinct": 2}},
            "grade": {"distance": "ordered", "t": "0.4"},
        },
        {"grade": {"distance": "ordered", "t": "1"}},
        {"disease": {}},
    ],
)
QUASI = st.sampled_from(
    [
        {"age": {"type": "numeric"}, "sex": {}, "city": {"hierarchy": "cities.csv"}},
        {"age": {"type": "numeric", "round_to": 5}, "city": {"hierarchy": "cities.csv"}},
        {"age": {"type": "numeric", "round_to": "0.4"}, "sex": {"generalization": "set"}},
        {"city": {"generalization": "set"}, "sex": {"generalization": "set"}},
        {"city": {}, "age": {"type": "numeric"}},
    ],
)
GROWTHS = st.sampled_from([AT_MEDIANS, BY_SCORE])


def planned(
    problem: Any,
    rows: Any,
    growth: RegionGrowth,
    per_block: int,
    per_task: int,
) -> RegionPlan:
    layout = plan_regions(problem.given(count_in(rows)), growth, per_block, per_task)
    return RegionPlan(layout=layout, growths=(growth,))


@pytest.fixture(autouse=True, scope="module")
def little_caution() -> Iterator[None]:
    """Small samples are cut as far as they go, so that the whole table's counts often refuse."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "LEAST", 1)
        patch.setattr(planning, "CEILING", 1.0)
        yield


@drawn(150)
@given(
    people(least=8, most=60),
    SENSITIVE,
    QUASI,
    GROWTHS,
    st.integers(2, 3),
    st.integers(2, 40),
    st.data(),
)
def test_classes_hold_and_lie_apart_however_rows_come(
    records,
    sensitive,
    quasi,
    growth,
    k,
    per_block,
    data,
):
    problem, rows = make_problem(records, sensitive, quasi, k=k)
    some = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, unique=True))
    few = rows.take(np.array(some if data.draw(st.booleans()) else range(len(rows))))
    problem = replace(problem, sample=few.take(few.sorted_by_hash()))
    try:
        plan = planned(problem, rows, growth, per_block, 10)
    except UnreachableError:
        return
    stayed, classes = settle_all(plan, rows)
    check_classes(problem, stayed, classes)
    assert set(regions_of_each(problem, stayed, classes).tolist()) == {1}
    assert values_in_both(problem, stayed, classes) == []
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    assert content(*settle_all(plan, rows.take(order))) == content(stayed, classes)
    again = RegionPlan.from_json(
        json.loads(json.dumps(plan.to_json())),
        RegionDense(problem.attributes, k),
        plan.growths,
    )
    assert content(*settle_all(again, rows)) == content(stayed, classes)


def classes_by(
    growth: RegionGrowth,
    records: Any,
    sensitive: Any,
    quasi: Any,
    k: int = 2,
) -> tuple[Any, Any, Any]:
    problem, rows = make_problem(records, sensitive, quasi, k=k)
    block, _ = RegionDense(problem.attributes, k).block(rows)
    return problem, rows, cut(block, growth).region


def of(column: str, *values: Any) -> list[dict[str, Any]]:
    """Two people of each value, one with flu."""
    return [{column: value, "disease": disease} for value in values for disease in ("flu", "gout")]


CLOSE = {"disease": {"t": "0.1"}}


@pytest.mark.parametrize(
    ("quasi", "values", "labels"),
    [
        ({"type": "numeric"}, [1, 2, 3, 4], {"1", "2", "3", "4"}),
        ({"type": "numeric", "round_to": 5}, [1, 4, 6, 9], {"[0, 10]"}),  # [0, 5] and [5, 10] meet
        ({"type": "numeric", "round_to": 5}, [1, 5, 10, 12], {"[0, 5]", "[10, 15]"}),
        ({"type": "numeric", "round_to": 5}, [0, 5, 10], {"0", "5", "10"}),
        ({"type": "numeric"}, [None, 1, 2], {None, "1", "2"}),
        ({}, ["a", "b", "c"], {"a", "b", "c"}),
        ({}, [None, "b", "c"], {None, "b", "c"}),
        ({"generalization": "set"}, [None, "b", "c"], {None, "b", "c"}),
        ({"hierarchy": "x.csv"}, ["Pisa", "Siena", "Lyon"], {"Pisa", "Siena", "Lyon"}),
        ({"hierarchy": "x.csv"}, [None, "Pisa", "Siena"], {None, "Pisa", "Siena"}),
        ({"hierarchy": "x.csv"}, [None, "Pisa", "Lyon"], {None, "Pisa", "Lyon"}),
    ],
)
@pytest.mark.parametrize("growth", [AT_MEDIANS, BY_SCORE], ids=["median", "score"])
def test_what_may_be_cut_is_cut(quasi, values, labels, growth):
    problem, rows = make_problem(
        of("x", *values),
        CLOSE,
        {"x": quasi},
        {"x": CITIES} if "hierarchy" in quasi else {},
    )
    block, _ = RegionDense(problem.attributes, 2).block(rows)
    found = cut(block, growth).region
    assert {label for (label,) in labels_of(problem, rows, found)} == labels


def test_a_value_that_cannot_leave_keeps_its_siblings_together():
    records = [*of("x", "Pisa", "Bari", "Lyon", "Lyon"), {"x": "Nice", "disease": "flu"}]
    problem, rows = make_problem(
        records,
        {"disease": {"t": "0.2"}},
        {"x": {"hierarchy": "x.csv"}},
        {"x": CITIES},
    )
    block, _ = RegionDense(problem.attributes, 2).block(rows)
    for growth in (AT_MEDIANS, BY_SCORE):
        assert {label for (label,) in labels_of(problem, rows, cut(block, growth).region)} == {
            "Pisa",
            "Bari",
            "France",
        }


def test_what_is_missing_and_cannot_leave_keeps_all_together():
    records = [*of("x", "Pisa", "Pisa", "Lyon", "Lyon"), {"x": None, "disease": "flu"}]
    for quasi in ({"hierarchy": "x.csv"}, {"generalization": "set"}, {}):
        problem, rows = make_problem(
            records,
            {"disease": {"t": "0.2"}},
            {"x": quasi},
            {"x": CITIES},
        )
        block, _ = RegionDense(problem.attributes, 2).block(rows)
        assert len(set(cut(block, BY_SCORE).region.tolist())) == 1


def test_the_widest_is_cut_first_at_the_median():
    records = [
        {"age": age, "height": height, "disease": disease}
        for age, height in ((20, 1), (21, 9), (22, 5), (60, 1), (61, 5), (62, 9))
        for disease in ("flu", "gout")
    ]
    quasi = {"height": {"type": "numeric"}, "age": {"type": "numeric"}}
    problem, rows, found = classes_by(AT_MEDIANS, records, CLOSE, quasi, k=6)
    assert labels_of(problem, rows, found) == {
        ("[1, 9]", "[20, 22]"),
        ("[1, 9]", "[60, 62]"),
    }  # 4 and 8 are too few
    problem, rows, found = classes_by(AT_MEDIANS, records, CLOSE, quasi, k=4)
    assert ("1", "[20, 60]") in labels_of(problem, rows, found)


def lost_by(problem: Any, rows: Any, growth: RegionGrowth) -> float:
    block, _ = RegionDense(problem.attributes, problem.spec.privacy.k).block(rows)
    return rows_lost(block, np.unique(cut(block, growth).region, return_inverse=True)[1])


def test_a_larger_budget_loses_less():
    problem, rows = make_problem(town(1500), {"disease": {"t": "0.35"}}, k=5)
    lost = [lost_by(problem, rows, replace(BY_SCORE, budget=budget)) for budget in (0, 20, 1000)]
    assert lost[2] < lost[1] < lost[0] < len(rows)


@drawn(60)
@given(people(least=20, most=80), QUASI, GROWTHS, st.integers(1, 60))
def test_a_search_never_loses_more_than_the_best_score_alone(records, quasi, growth, budget):
    problem, rows = make_problem(records, {"disease": {"t": "0.4"}}, quasi, k=2)
    rows = rows.take(rows.sorted_by_hash())
    alone = lost_by(problem, rows, replace(growth, budget=0))
    assert lost_by(problem, rows, replace(growth, budget=budget)) <= alone + 1e-9


def least_loss(problem: Any, rows: Any) -> float:
    """The loss in rows of the best of all trees of cuts, by trying every cut of every part."""
    dense, lost = RegionDense(problem.attributes, problem.spec.privacy.k), {}
    whole, _ = dense.block(rows)

    def sides(quasi: Any, codes: Any) -> Iterator[Any]:
        if quasi.hierarchy is None:
            yield from ((codes >= code).astype(int) for code in np.unique(codes)[1:])
        else:
            nodes = [np.array(node)[codes] for node in quasi.hierarchy.nodes]
            yield from (
                node for node, above in pairwise(nodes) if len(set(node)) > len(set(above)) == 1
            )

    def best(part: tuple[int, ...]) -> float:
        if part not in lost:
            here = rows.take(np.array(part))
            lost[part] = rows_lost(whole.take(np.array(part)), np.zeros(len(part), dtype=np.int64))
            for quasi, codes in zip(problem.attributes.quasi_identifiers, here.quasi, strict=True):
                for side in sides(quasi, codes):
                    parts = [np.array(part)[side == x] for x in np.unique(side)]
                    counts = [
                        np.bincount(rows.cell[p], minlength=len(problem.attributes.cells))
                        for p in parts
                    ]
                    if all(dense.holds(cells) for cells in counts):
                        lost[part] = min(lost[part], sum(best(tuple(p.tolist())) for p in parts))
        return lost[part]

    return best(tuple(range(len(rows))))


@drawn(60)
@given(people(least=10, most=40), st.sampled_from(["0.3", "0.45", "0.6"]))
def test_a_large_budget_finds_the_best_of_all_trees_of_cuts(records, t):
    records = [
        {**one, "city": one["city"] or "Bari", "age": (one["age"] or 20) // 4} for one in records
    ]
    quasi = {"age": {"type": "numeric"}, "city": {"hierarchy": "cities.csv"}}
    problem, rows = make_problem(records, {"disease": {"t": t}}, quasi, k=2)
    rows = rows.take(rows.sorted_by_hash())
    every = RegionGrowth(split_rule(cuts=100, tries=60, each=60), budget=10**6)
    assert lost_by(problem, rows, every) == pytest.approx(least_loss(problem, rows))


@pytest.mark.parametrize("growth", [AT_MEDIANS, BY_SCORE], ids=["median", "score"])
def test_a_sample_plans_many_blocks_and_tasks(growth):
    problem, rows = make_problem(town(6000), {"disease": {"t": "0.45"}}, k=5)
    few = problem.sample.take(np.flatnonzero(problem.sample.hash % 2 == 0))
    plan = planned(replace(problem, sample=few), rows, growth, 1500, 2000)
    assert 1 < plan.tasks <= plan.blocks
    assert plan.layout.block_rows.sum() == len(rows)
    stayed, classes = settle_all(plan, rows)
    check_classes(problem, stayed, classes)
    assert values_in_both(problem, stayed, classes) == []
    assert set(regions_of_each(problem, stayed, classes).tolist()) == {1}


def test_without_a_search_many_blocks_of_the_whole_table_are_cut_as_one_is():
    problem, rows = make_problem(town(2000), {"disease": {"t": "0.45"}}, k=5)
    plans = [
        planned(problem, rows, replace(AT_MEDIANS, budget=0), per_block, 600)
        for per_block in (3000, 300)
    ]
    assert plans[1].blocks > plans[0].blocks == 1
    assert len({frozenset(labels_of(problem, *settle_all(plan, rows))) for plan in plans}) == 1


BAD_SAMPLES = {
    "the young only": lambda rows: rows.quasi[0] < 50,
    "some cities only": lambda rows: rows.quasi[2] > 1,
    "one disease only": lambda rows: rows.cell == 0,
}


@pytest.mark.parametrize("name", BAD_SAMPLES)
def test_a_bad_sample_makes_larger_blocks_and_never_a_bad_class(name):
    problem, rows = make_problem(town(4000), {"disease": {"t": "0.45"}}, k=5)
    few = rows.take(np.flatnonzero(BAD_SAMPLES[name](rows)))
    bad = replace(problem, sample=few.take(few.sorted_by_hash()))
    stayed, classes = settle_all(planned(bad, rows, BY_SCORE, 500, 800), rows)
    check_classes(problem, stayed, classes)
    assert values_in_both(problem, stayed, classes) == []


def test_a_task_that_gets_other_rows_says_so():
    problem, rows = make_problem(town(300), {"disease": {"t": "0.5"}}, k=5)
    plan = planned(problem, rows, AT_MEDIANS, 100, 1000)
    with pytest.raises(ValueError, match="the input changed since"):
        plan.assign_classes(rows.take(np.arange(299)), 0)


@pytest.mark.parametrize(
    "paths",
    [
        [("A", "A", "X", "*"), ("B", "X", "X", "*"), ("C", "X", "X", "*"), ("D", "D", "Y", "*")],
        [("A", "*", "*"), ("B", "*", "*"), ("C", "Y", "*"), ("D", "Y", "*")],
    ],
)
def test_a_hierarchy_with_a_label_at_two_levels_is_refused(paths):
    records = [
        {"age": 1, "sex": "f", "city": "ABCD"[i % 4], "disease": "flu", "grade": 1}
        for i in range(40)
    ]
    quasi = {"city": {"hierarchy": "cities.csv"}}
    problem, rows = make_problem(
        records,
        {"disease": {"t": "1"}},
        quasi,
        {"city": Hierarchy.build(paths, "cities")},
    )
    with pytest.raises(
        ConfigurationError,
        match=r"city\.hierarchy: the same label is used at several levels",
    ):
        plan_regions(problem.given(count_in(rows)), AT_MEDIANS, 100, 100)
