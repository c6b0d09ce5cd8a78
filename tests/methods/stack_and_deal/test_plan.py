"""The plan: every row exactly once, in the class that its content gives it, whatever the tasks,
batches and order of rows.
"""

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Problem, content, count_in, drawn, make_problem, people, settle_all

from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.dealing.locality import sort_by_content
from tclose_spark.methods.dealing.numbering import bucket_of
from tclose_spark.methods.dealing.stacks import class_counts
from tclose_spark.methods.stack_and_deal.layers import groups_of
from tclose_spark.methods.stack_and_deal.plan import StackAndDealPlan, plan_stack_and_deal
from tclose_spark.stages.generalize import Generalizer
from tclose_spark.table.labels import MISSING
from tclose_spark.table.rows import Rows

ONE = {"disease": {}}
TWO = {"disease": {"t": "0.5"}, "grade": {"distance": "ordered", "t": "0.4"}}
SENSITIVE = st.sampled_from([ONE, {"grade": {"distance": "ordered", "t": "0.3"}}, TWO])
DEALS = st.sampled_from(["local", "round_robin", "layered"])


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of some ten rows are dealt in several groups, and have several blocks."""
    monkeypatch.setattr("tclose_spark.methods.stack_and_deal.layers.ROWS_PER_GROUP", 10)
    monkeypatch.setattr("tclose_spark.methods.dealing.nearest.CLASSES_PER_BLOCK", 2)


def plan_of(problem: Problem, rows: Rows, rows_per_task: int = 10**6) -> StackAndDealPlan:
    return plan_stack_and_deal(problem.given(count_in(rows)), rows_per_task)


@drawn(60)
@given(people(), SENSITIVE, DEALS, st.integers(2, 4), st.integers(1, 20), st.data())
def test_classes_do_not_depend_on_tasks_batches_or_the_order_of_rows(
    records,
    sensitive,
    deal,
    k,
    rows_per_task,
    data,
):
    problem, rows = make_problem(records, sensitive, k=k, deal=deal)
    expected = content(*settle_all(plan_of(problem, rows), rows))
    plan = plan_of(problem, rows, rows_per_task)
    classes = plan.numbering.classes
    groups = {
        "round_robin": classes,
        "local": -(-classes // 2),
        "layered": min(groups_of(len(rows)), classes),
    }
    assert plan.tasks == min(groups[deal], -(-len(rows) // rows_per_task))
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    cuts = data.draw(st.lists(st.integers(0, len(rows)), max_size=4).map(sorted))
    assert content(*settle_all(plan, rows, np.split(order, cuts))) == expected
    assert content(*settle_all(plan, rows.take(order))) == expected


@drawn(60)
@given(people(), SENSITIVE, DEALS, st.integers(2, 4), st.integers(1, 20))
def test_classes_are_those_that_were_planned(records, sensitive, deal, k, rows_per_task):
    problem, rows = make_problem(records, sensitive, k=k, deal=deal)
    plan = plan_of(problem, rows, rows_per_task)
    rows, classes = settle_all(plan, rows)
    found = np.zeros((plan.numbering.classes, len(plan.numbering.stack.counts)), dtype=np.int64)
    np.add.at(found, (classes, rows.cell), 1)
    if deal != "layered":
        assert (
            found.tolist()
            == class_counts(
                plan.numbering.stack,
                np.arange(plan.numbering.classes),
                plan.numbering.classes,
            ).tolist()
        )
    assert found.sum(axis=1).min() >= k
    planned = next(report for report in plan.sizes if report.classes == plan.numbering.classes)
    assert largest_distances(problem, rows, classes) == planned.emd


def largest_distances(problem: Problem, rows: Rows, classes: np.ndarray) -> tuple[Fraction, ...]:
    """The largest distance of the classes, for each attribute."""
    worst = []
    for attribute in problem.attributes.sensitive:
        codes = problem.profile.cell_codes[rows.cell, attribute.column]
        table = np.zeros((classes.max() + 1, len(attribute.distance.table)), dtype=np.int64)
        np.add.at(table, (classes, codes), 1)
        numerators = attribute.distance.numerators(Histograms.dense(table))
        unit = attribute.distance.scale * len(rows)
        worst.append(
            max(
                Fraction(int(x), unit * int(s))
                for x, s in zip(numerators, table.sum(axis=1), strict=True)
            ),
        )
    return tuple(worst)


@drawn(40)
@given(people(), SENSITIVE, DEALS)
def test_by_published_labels_no_distance_is_larger(records, sensitive, deal):
    problem, rows = make_problem(records, sensitive, deal=deal)
    rows, classes = settle_all(plan_of(problem, rows), rows)
    order, labels = Generalizer.of(problem.attributes.quasi_identifiers).publish(rows, classes, [])
    groups: dict[tuple[str | None, ...], int] = {}
    by_label = np.array(
        [
            groups.setdefault(label, len(groups))
            for label in zip(*[c.to_pylist() for c in labels], strict=True)
        ],
    )
    published = largest_distances(problem, rows.take(order), by_label)
    planned = largest_distances(problem, rows, classes)
    assert all(label <= plan for label, plan in zip(published, planned, strict=True))


@drawn(40)
@given(people(), SENSITIVE, st.integers(1, 20))
def test_local_and_round_robin_deal_the_same_counts(records, sensitive, rows_per_task):
    counts = []
    for deal in ("local", "round_robin"):
        problem, rows = make_problem(records, sensitive, deal=deal)
        rows, classes = settle_all(plan_of(problem, rows, rows_per_task), rows)
        counts.append(Counter(zip(classes.tolist(), rows.cell.tolist(), strict=True)))
    assert counts[0] == counts[1]


def test_local_dealing_keeps_near_rows_together():
    records = [{"age": age, "disease": "flu"} for age in (50, 21, 30, 52, 20, 31, 51, 22, 32)]
    problem, rows = make_problem(records, ONE, {"age": {"type": "numeric"}}, k=3)
    rows, classes = settle_all(plan_of(problem, rows), rows)
    ages = [sorted(rows.quasi[0][classes == number].tolist()) for number in range(3)]
    assert sorted(ages) == [[20, 21, 22], [30, 31, 32], [50, 51, 52]]


@drawn(40)
@given(people(), SENSITIVE, st.integers(1, 20))
def test_a_plan_survives_json(records, sensitive, rows_per_task):
    problem, rows = make_problem(records, sensitive)
    plan = plan_of(problem, rows, rows_per_task)
    again = StackAndDealPlan.from_json(json.loads(json.dumps(plan.to_json())), problem.attributes)
    assert content(*settle_all(again, rows)) == content(*settle_all(plan, rows))
    assert again.to_json() == plan.to_json()
    assert plan.report().figures["class_size"] == len(rows) // plan.numbering.classes


@drawn(40)
@given(people(least=8), st.integers(1, 20), st.data())
def test_a_row_doubled_or_lost_is_noticed(records, rows_per_task, data):
    problem, rows = make_problem(records, ONE)
    plan = plan_of(problem, rows, rows_per_task)
    row, task = plan.route(rows)
    number = data.draw(st.integers(0, plan.tasks - 1))
    sent = row[task == number]
    place = data.draw(st.integers(0, len(sent) - 1))
    with pytest.raises(ValueError, match="not the rows that the plan counted"):
        plan.assign_classes(rows.take(np.append(sent, sent[place])), number)
    with pytest.raises(ValueError, match="not the rows that the plan counted"):
        plan.assign_classes(rows.take(np.delete(sent, place)), number)


@drawn(40)
@given(people(least=8), st.integers(1, 20))
def test_a_bucket_goes_to_the_tasks_between_its_first_row_and_its_last(records, rows_per_task):
    problem, rows = make_problem(records, ONE)
    plan = plan_of(problem, rows, rows_per_task)
    bucket = bucket_of(rows.cell, plan.numbering.locality.key(rows), plan.numbering.cuts)
    row, task = plan.route(rows)
    stays: dict[int, list[int]] = {}
    for number in range(plan.tasks):
        sent = row[task == number]
        for b in bucket[sent[plan.assign_classes(rows.take(sent), number).here]].tolist():
            stays.setdefault(b, []).append(number)
    for b, tasks in stays.items():
        assert sorted(set(task[bucket[row] == b].tolist())) == list(
            range(min(tasks), max(tasks) + 1),
        )


def test_the_only_row_of_a_bucket_lost_is_noticed():
    records = [
        {"age": age, "disease": disease}
        for age, disease in [(20, "flu"), (30, "flu"), (40, "flu"), (50, "gout")]
    ]
    problem, rows = make_problem(records, ONE, {"age": {"type": "numeric"}})
    plan = plan_of(problem, rows)
    with pytest.raises(ValueError, match="not the rows that the plan counted"):
        plan.assign_classes(rows.take(np.array([0, 1, 2])), 0)


def test_a_row_of_an_empty_bucket_is_noticed():
    records = [
        {"age": age, "disease": disease}
        for age, disease in [(20, "flu"), (30, "flu"), (40, "gout"), (50, "gout")]
    ]
    problem, rows = make_problem(records, ONE, {"age": {"type": "numeric"}})
    plan = plan_of(problem, rows)
    moved = replace(rows, quasi=(rows.quasi[0][::-1],))
    with pytest.raises(ValueError, match="empty when the plan was made"):
        plan.route(moved)


def test_a_sample_may_be_a_part_of_the_table():
    records = [{"age": 20 + i % 60, "disease": ["flu", "gout", "mumps"][i % 3]} for i in range(300)]
    problem, rows = make_problem(records, ONE, {"age": {"type": "numeric"}}, k=5)
    small = replace(problem, sample=problem.sample.take(np.arange(7)))
    _, classes = settle_all(plan_stack_and_deal(small.given(count_in(rows)), 40), rows)
    assert np.bincount(classes).min() == 5


@pytest.mark.parametrize("cells", [1, 2, 300, 70_000])
def test_sorts_by_cell_key_hash_and_codes(cells):
    random = np.random.default_rng(cells)
    n = 500
    rows = Rows(
        (
            random.integers(0, 3, n),
            np.where(random.random(n) < 0.5, MISSING, random.integers(0, 3, n)),
        ),
        random.integers(0, cells, n),
        random.integers(0, 3, n, dtype=np.uint64) << np.uint64(62),
    )
    key = random.integers(0, 4, n, dtype=np.uint64) << np.uint64(54)
    content = list(
        zip(
            rows.cell.tolist(),
            key.tolist(),
            rows.hash.tolist(),
            rows.quasi[1].tolist(),
            rows.quasi[0].tolist(),
            strict=True,
        ),
    )
    assert [content[i] for i in sort_by_content(rows, rows.cell, key)] == sorted(content)
