"""The plan of the closeness tree and what its tasks make of the rows: valid classes whatever the
sample, the same ones however rows come.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Problem, count_in, drawn, make_problem, people, settle_all, town

from requirements import check_classes, check_however_rows_come
from tclose_spark.errors import ConfigurationError, UnreachableError
from tclose_spark.methods.blocks import planning
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.figures import rows_lost
from tclose_spark.methods.closeness_tree import classes as classes_module
from tclose_spark.methods.closeness_tree import effort as effort_module
from tclose_spark.methods.closeness_tree import plan as plan_module
from tclose_spark.methods.closeness_tree.carve.tree import grow
from tclose_spark.methods.closeness_tree.classes import put_into_classes
from tclose_spark.methods.closeness_tree.effort import (
    GROWTHS,
    PLANNED,
    BlockEffort,
    effort_of,
)
from tclose_spark.methods.closeness_tree.exchange.rounds import (
    FULL,
    THIN,
    Annealing,
    exchange,
)
from tclose_spark.methods.closeness_tree.plan import ClosenessTreePlan, plan_trees
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.rows import Rows

FAST = {"name": "closeness_tree", "effort": "fast"}
SENSITIVE = st.sampled_from(
    [
        {"disease": {"t": "0.3"}},
        {
            "disease": {"t": "0.4", "l": {"distinct": 2}},
            "grade": {"distance": "ordered", "t": "0.25"},
        },
        {"grade": {"distance": "ordered"}},
    ],
)


def asked(problem: Problem, **method: Any) -> Problem:
    """The problem with the closeness tree as its method."""
    tree = problem.spec.model_dump(exclude={"method"})
    return replace(problem, spec=ReleaseSpec.model_validate({**tree, "method": {**FAST, **method}}))


@drawn(40)
@given(
    people(least=8),
    SENSITIVE,
    st.integers(2, 4),
    st.integers(4, 30),
    st.integers(1, 20),
    st.data(),
)
def test_every_class_holds_and_does_not_depend_on_tasks_or_the_order_of_rows(
    records,
    sensitive,
    k,
    per_block,
    per_task,
    data,
):
    problem, rows = make_problem(records, sensitive, k=k)
    problem = asked(problem)
    dense, effort = (
        Dense(problem.attributes, problem.spec.privacy.k),
        effort_of(problem.spec.method),
    )
    check_however_rows_come(
        problem,
        rows,
        make=lambda rows_per_task: plan_trees(
            problem.given(count_in(rows)),
            per_block,
            rows_per_task,
        ),
        read=lambda tree: ClosenessTreePlan.from_json(tree, dense, effort),
        per_task=per_task,
        order=np.array(data.draw(st.permutations(range(len(rows))))),
    )


def biased(problem: Problem, rows: Rows, part: np.ndarray) -> Problem:
    """The problem with a sample of these rows only."""
    few = rows.take(np.flatnonzero(part))
    return replace(problem, sample=few.take(few.sorted_by_hash()))


BAD_SAMPLES = {
    "the young only": lambda rows: rows.quasi[0] < 30,
    "one disease only": lambda rows: rows.cell == 0,
    "no flu and few rows": lambda rows: (rows.cell != 0) & (rows.hash % 50 == 0),
}


@pytest.mark.parametrize("name", BAD_SAMPLES)
def test_a_bad_sample_makes_larger_blocks_and_never_a_bad_class(name):
    problem, rows = make_problem(town(3000), {"disease": {"t": "0.15"}}, k=5)
    problem = asked(problem)
    bad = biased(problem, rows, BAD_SAMPLES[name](rows))
    plan = plan_trees(bad.given(count_in(rows)), 300, 500)
    assert plan.layout.block_rows.sum() == len(rows)
    assert (
        plan.layout.merges > 0 or name == "one disease only"
    )  # then nothing can be split but by lot, and all parts are alike
    check_classes(problem, *settle_all(plan, rows))
    fair = plan_trees(problem.given(count_in(rows)), 300, 500)
    assert fair.blocks > 3
    check_classes(problem, *settle_all(fair, rows))


def test_blocks_hold_on_full_counts():
    problem, rows = make_problem(town(3000), {"disease": {"t": "0.1"}}, k=5)
    problem = asked(problem)
    plan = plan_trees(biased(problem, rows, rows.hash % 3 == 0).given(count_in(rows)), 400, 800)
    assert len(plan.layout.block_rows) > 1
    check_classes(problem, rows, plan.layout.block(rows))
    assert plan.tasks > 1


def test_a_crowd_with_the_same_quasi_identifiers_is_many_blocks():
    records = [
        {"age": 30, "sex": "f", "city": "Pisa", "disease": d, "grade": 1}
        for d in ("flu", "gout", "gout")
        for _ in range(1000)
    ]
    problem, rows = make_problem(records, {"disease": {"t": "0.2"}}, k=5)
    hashes = np.random.default_rng(4).integers(
        0,
        2**64,
        len(rows),
        dtype=np.uint64,
    )  # they differ in insensitive columns
    rows = replace(rows, hash=hashes)
    plan = plan_trees(
        asked(replace(problem, sample=rows.take(rows.sorted_by_hash()))).given(count_in(rows)),
        200,
        500,
    )
    assert plan.blocks >= 8
    assert plan.layout.block_rows.max() <= 600
    check_classes(problem, *settle_all(plan, rows))


def test_figures_are_those_of_the_classes():
    problem, rows = make_problem(town(600), {"disease": {"t": "0.2"}}, k=5)
    plan = plan_trees(asked(problem).given(count_in(rows)), 200, 300)
    assert plan.tasks > 1
    _, task = plan.route(rows)
    settled = [
        plan.assign_classes(rows.take(np.flatnonzero(task == number)), number)
        for number in range(plan.tasks)
    ]
    assert sum(s.blocks for s in settled) == plan.blocks
    together = {
        name: (sum if how == "sum" else max)(s.figures[name] for s in settled)
        for name, how in plan.figures.items()
    }
    told = plan.describe(together)
    assert together["rows"] == 600
    assert 0 < told["ncp"] <= told["ncp_before_exchange"] <= 1
    assert 0 < told["mean_closeness_ratio"] <= told["largest_closeness_ratio"] <= 1
    assert told["depth"] >= 1 <= told["depth_of_plan"]


def test_the_growth_that_loses_least_on_the_sample_is_planned():
    problem, rows = make_problem(town(1500), {"disease": {"t": "0.2"}}, k=5)
    block, _ = Dense(problem.attributes, problem.spec.privacy.k).block(problem.sample)
    lost = [rows_lost(block, grow(block, way).leaf) for way in GROWTHS[:PLANNED]]
    assert len(set(lost)) > 1
    assert plan_trees(asked(problem).given(count_in(rows))).growth == GROWTHS[int(np.argmin(lost))]


def test_the_blocks_that_lose_least_when_they_are_grown_to_the_end_are_planned():
    """Each way is planned alone and carried out: its classes lose about what the trial foretells,
    and where all are tried, the way of which least is foretold is taken.
    """
    problem, rows = make_problem(town(4000), {"disease": {"t": "0.25"}}, k=5)
    problem, plans, foretold = asked(problem, effort=0), [], []
    for growth in GROWTHS[:PLANNED]:
        told: list[str] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plan_module, "GROWTHS", (growth,))
            plan = plan_trees(problem.given(count_in(rows), told.append), 1200)
        row, task = plan.route(rows)
        settled = [
            plan.assign_classes(rows.take(row[task == number]), number)
            for number in range(plan.tasks)
        ]
        assert plan.blocks > 2
        foretold.append(float(told[-1].split("information loss ")[1].split()[0]))
        assert foretold[-1] == pytest.approx(
            sum(s.figures["lost_by_tree"] for s in settled) / len(rows),
            rel=0.05,
        )
        plans.append(plan)
    assert len(set(foretold)) == PLANNED
    best = plans[int(np.argmin(foretold))]
    assert plan_trees(problem.given(count_in(rows)), 1200).to_json() == best.to_json()


def test_small_nodes_of_a_small_sample_are_halved_too():
    problem, rows = make_problem(town(4000), {"disease": {"t": "0.02"}}, k=5)
    few = biased(asked(problem), rows, rows.hash % 40 == 0)
    assert plan_trees(few.given(count_in(rows)), 500, 500).layout.tree.splits.leaves >= 4


def test_the_counts_of_leaves_are_limited(monkeypatch):
    problem, rows = make_problem(town(3000), {"disease": {"t": "0.3"}}, k=5)
    usual = plan_trees(asked(problem).given(count_in(rows)), 100).layout.tree.splits.leaves
    monkeypatch.setattr(planning, "MOST_COUNTS", 4 * len(problem.profile.cells))
    assert (
        plan_trees(asked(problem).given(count_in(rows)), 100).layout.tree.splits.leaves < usual / 2
    )


def test_what_does_not_fit_the_integers_is_refused_when_it_is_planned():
    problem, rows = make_problem(town(300), {"disease": {"t": "0.3"}}, k=5)
    many = 10**13
    domains = tuple(
        replace(s, counts=tuple(n * many for n in s.counts)) for s in problem.profile.sensitive
    )
    profile = replace(problem.profile, rows=300 * many, sensitive=domains)
    with pytest.raises(ConfigurationError, match="too many for the integers"):
        plan_trees(replace(asked(problem), profile=profile).given(count_in(rows)), 10**18)


def test_the_best_tree_is_kept_and_small_blocks_are_annealed_from_several():
    problem, _ = make_problem(town(900), {"disease": {"t": "0.2"}}, k=5)
    block, _ = Dense(problem.attributes, problem.spec.privacy.k).block(problem.sample)
    effort = BlockEffort(trees=3, sweeps=3, heats=((1, 4),))
    trees = [grow(block, way) for way in GROWTHS[:3]]
    starts = [exchange(block, tree.leaf, effort.trial, 0, classes_module.SEED) for tree in trees]
    ends = [rows_lost(block, exchange(block, start, 3, 4, classes_module.SEED)) for start in starts]
    classes, figures = put_into_classes(block, GROWTHS[0], effort)
    assert figures["lost"] == rows_lost(block, classes) == min(ends)
    first = int(np.argmin([rows_lost(block, start) for start in starts]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classes_module, "SMALL_BLOCK", 900)
        assert put_into_classes(block, GROWTHS[0], effort)[1]["lost"] == ends[first]
    assert len(set(ends)) > 1


def test_trees_with_the_same_classes_are_exchanged_once(monkeypatch: pytest.MonkeyPatch):
    """The trees of a few rows are mostly alike, and thousands of rounds are for each."""
    problem, _ = make_problem(town(12), {"disease": {"t": "0.5"}}, k=5)
    block, _ = Dense(problem.attributes, problem.spec.privacy.k).block(problem.sample)
    starts: list[set[frozenset[int]]] = []

    def watched(block: Any, classes: Any, *effort: Any) -> Any:
        starts.append(
            {frozenset(np.flatnonzero(classes == number)) for number in np.unique(classes)},
        )
        return exchange(block, classes, *effort)

    monkeypatch.setattr(classes_module, "exchange", watched)
    heats = ((9, 1), (9, 1))
    put_into_classes(
        block,
        GROWTHS[0],
        BlockEffort(trees=9, sweeps=1, heats=heats),
    )
    assert starts.count(starts[-1]) <= 1 + len(heats)


def test_more_effort_loses_no_more():
    problem, rows = make_problem(town(1500), {"disease": {"t": "0.2"}}, k=5)

    def loss(effort: Any) -> float:
        plan = plan_trees(asked(problem, effort=effort).given(count_in(rows)))
        settled, classes = settle_all(plan, rows)
        check_classes(problem, settled, classes)
        block, _ = Dense(problem.attributes, 5).block(settled)
        return rows_lost(block, np.unique(classes, return_inverse=True)[1])

    assert loss("balanced") < loss("fast") < loss(0)


@pytest.mark.parametrize(
    ("sensitive", "k", "error", "message"),
    [
        ({"disease": {}}, 9, UnreachableError, "privacy.k is 9, but the table has 8 rows"),
        (
            {"disease": {"l": {"distinct": 5}}},
            2,
            UnreachableError,
            "disease.l.distinct is 5, but the whole table has 4",
        ),
    ],
)
def test_what_the_whole_table_does_not_hold(sensitive, k, error, message):
    records = [
        {
            "age": 20 + i,
            "sex": "f",
            "city": "Pisa",
            "disease": ["flu", "gout", "mumps", "ulcer"][i % 4],
            "grade": 1,
        }
        for i in range(8)
    ]
    problem, rows = make_problem(records, sensitive, k=k)
    with pytest.raises(error, match=message):
        plan_trees(asked(problem).given(count_in(rows)))


def test_a_changed_input_is_noticed():
    problem, rows = make_problem(town(300), {"disease": {}}, k=5)
    plan = plan_trees(asked(problem).given(count_in(rows)))
    with pytest.raises(ValueError, match="the input changed since"):
        plan.assign_classes(rows.take(np.arange(299)), 0)


@pytest.mark.parametrize(
    ("size", "trees", "trial", "rounds", "annealing"),
    [("small", 3, 4, 150, FULL), ("middle", 2, 0, 50, THIN), ("large", 2, 0, 40, THIN)],
)
def test_larger_blocks_have_fewer_trees_and_fewer_and_thinner_rounds(
    monkeypatch: pytest.MonkeyPatch,
    size: str,
    trees: int,
    trial: int,
    rounds: int,
    annealing: Annealing,
) -> None:
    problem, rows = make_problem(town(900), {"disease": {"t": "0.2"}}, k=5)
    block, _ = Dense(problem.attributes, problem.spec.privacy.k).block(problem.sample)
    for module in (effort_module, classes_module):
        monkeypatch.setattr(module, "SMALL_BLOCK", len(block.cell) - (0 if size == "small" else 1))
    monkeypatch.setattr(
        effort_module,
        "MIDDLE_BLOCK",
        len(block.cell) - (0 if size == "middle" else 1),
    )
    plan = plan_trees(asked(problem, effort="balanced").given(count_in(rows)))
    tried = [
        exchange(block, grow(block, way).leaf, trial, 0, classes_module.SEED)
        for way in GROWTHS[:trees]
    ]
    best = min(tried, key=lambda classes: rows_lost(block, classes))
    grown: list[Any] = []

    def watched(block: Any, growth: Any) -> Any:
        grown.append(growth)
        return grow(block, growth)

    monkeypatch.setattr(classes_module, "grow", watched)
    found = plan.classes_of(block)[0]
    assert grown == list(GROWTHS[:trees])
    for other in (FULL, THIN):
        classes = exchange(block, best, 4, rounds, classes_module.SEED, other)
        assert np.array_equal(found, classes) == (other == annealing)
