"""Plans of t-Incognito carried out: classes that hold, one label for each value, however rows
come.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
from full_domain import given_of, is_class
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from strategies import QUASI, drawn, make_problem, people, town

from tclose_spark.errors import UnreachableError
from tclose_spark.methods.method import method_of
from tclose_spark.methods.t_incognito import plan as scanning
from tclose_spark.methods.t_incognito import planning
from tclose_spark.methods.t_incognito.plan import TIncognitoPlan, group_keys
from tclose_spark.methods.t_incognito.planning import plan_t_incognito

SENSITIVE = {
    "disease": {"t": "0.4", "l": {"distinct": 2}},
    "grade": {"distance": "ordered", "t": "0.3"},
}


def carried_out(plan, rows):
    """(each task's published rows, the labels of each, whether it is suppressed): all rows,
    gathered by task.
    """
    row, task = plan.route(rows)
    tasks = []
    for number in range(plan.tasks):
        mine = row[task == number]
        settled = plan.assign_classes(rows.take(mine), number)
        assert set(settled.figures) == set(plan.figures)
        tasks.append(
            (mine[settled.here], settled.classes, settled.regions, mine[settled.suppressed]),
        )
    everyone = np.concatenate([part for here, _, _, left in tasks for part in (here, left)])
    assert sorted(everyone.tolist()) == list(range(len(rows)))
    return tasks


def labels_by_content(tasks, rows):
    """What is published of each row, sorted by content."""
    published = []
    for here, _, regions, left in tasks:
        contents = zip(
            *(codes.tolist() for codes in (*rows.quasi, rows.cell, rows.hash)),
            strict=True,
        )
        contents = list(contents)
        published += [(contents[r], regions[:, :, i].tolist()) for i, r in enumerate(here.tolist())]
        published += [(contents[r], None) for r in left.tolist()]
    return sorted(published, key=repr)


@drawn(60)
@given(
    people(least=8, most=60),
    st.integers(2, 4),
    st.integers(0, 10),
    st.sampled_from(["input", "released"]),
    st.integers(3, 100),
    st.data(),
)
def test_every_class_of_every_task_holds_and_a_value_has_one_label(
    records,
    k,
    most,
    of,
    per_task,
    data,
):
    problem, rows = make_problem(records, SENSITIVE, k=k, name="t_incognito")
    try:
        plan = plan_t_incognito(given_of(problem, rows, most, of), per_task)
    except UnreachableError:
        return
    tasks = carried_out(plan, rows)
    left = np.concatenate([left for *_, left in tasks])
    stay = np.setdiff1d(np.arange(len(rows)), left)
    assert len(left) == plan.report().figures["suppressed"] <= most
    whole = stay if of == "released" else np.arange(len(rows))
    assert not len(left) or of == "released" or is_class(problem, rows, left, whole)
    label_of = {}
    for here, classes, regions, _ in tasks:
        for number in np.unique(classes):
            mine = classes == number
            assert is_class(problem, rows, here[mine], whole)
            assert np.all(regions[:, :, mine] == regions[:, :, mine][:, :, :1])
        for i, codes in enumerate(rows.quasi):
            low, high = regions[:, i]
            assert np.all((low <= codes[here]) & (codes[here] <= high))
            for code, label in zip(
                codes[here].tolist(),
                zip(low.tolist(), high.tolist(), strict=True),
                strict=True,
            ):
                assert label_of.setdefault((i, code), label) == label
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    again = TIncognitoPlan.from_json(json.loads(json.dumps(plan.to_json())))
    assert labels_by_content(
        carried_out(again, rows.take(order)),
        rows.take(order),
    ) == labels_by_content(tasks, rows)
    mixed = plan_t_incognito(given_of(problem, rows.take(order), most, of), 10_000)
    assert labels_by_content(carried_out(mixed, rows), rows) == labels_by_content(tasks, rows)


def test_a_large_class_is_shared_by_tasks_if_each_of_its_parts_holds():
    """Of ten classes of about 400 rows one is too near t to be halved."""
    problem, rows = make_problem(town(4000), {"disease": {"t": "0.25"}}, k=5, name="t_incognito")
    plan = plan_t_incognito(given_of(problem, rows), 300)
    assert sorted(plan.parts.tolist()) == [1, *[2] * 9]
    assert (plan.tasks, plan.rows[plan.rows > 300].tolist()) == (19, [431])
    everyone = np.arange(len(rows))
    assert all(is_class(problem, rows, here, everyone) for here, *_ in carried_out(plan, rows))


def test_a_task_that_gets_other_rows_says_so():
    problem, rows = make_problem(town(300), {"disease": {"t": "0.3"}}, k=5, name="t_incognito")
    plan = plan_t_incognito(given_of(problem, rows))
    with pytest.raises(ValueError, match="the input changed since"):
        plan.assign_classes(rows.take(np.arange(299)), 0)


def test_several_tasks_know_their_rows():
    problem, rows = make_problem(town(300), {"disease": {"t": "0.6"}}, k=5, name="t_incognito")
    plan = plan_t_incognito(given_of(problem, rows), 60)
    row, task = plan.route(rows)
    swapped = np.where(task == 0, 1, np.where(task == 1, 0, task))
    mine = row[swapped == 0][: plan.rows[0]]
    with pytest.raises(ValueError, match="the input changed since"):
        plan.assign_classes(rows.take(mine), 0)


def test_what_cannot_be_made_says_what_can(monkeypatch):
    problem, rows = make_problem(
        town(200),
        {"disease": {"l": {"entropy": "4"}}},
        k=5,
        name="t_incognito",
    )
    with pytest.raises(
        UnreachableError,
        match=r"sensitive_attributes\.disease\.l: even all rows as one class",
    ):
        plan_t_incognito(given_of(problem, rows))
    problem, rows = make_problem(town(200), {"disease": {"t": "0.3"}}, k=5, name="t_incognito")
    with pytest.raises(UnreachableError, match=r"privacy\.k is 201, but the table has 200 rows"):
        plan_t_incognito(replace(given_of(problem, rows), k=201))
    with monkeypatch.context() as patch:
        patch.setattr(planning, "MOST_NODES", 100)
        with pytest.raises(UnreachableError, match="3 quasi-identifiers have 48"):
            plan_t_incognito(given_of(problem, rows))
    monkeypatch.setattr(scanning, "MOST_KEYS", 50)
    with pytest.raises(
        UnreachableError,
        match=r"counts the values of each quasi-identifier .* more than 50",
    ):
        plan_t_incognito(given_of(problem, rows))
    with pytest.raises(UnreachableError, match=r"pass 2\^62"):
        group_keys([np.array([0])] * 3, [2**31] * 3)


def test_base_keys_of_several_words_give_the_same_plan(monkeypatch):
    problem, rows = make_problem(town(500), {"disease": {"t": "0.3"}}, k=5, name="t_incognito")
    plan = plan_t_incognito(given_of(problem, rows, 25))
    monkeypatch.setattr(scanning, "WIDEST", 100)
    assert plan_t_incognito(given_of(problem, rows, 25)).to_json() == plan.to_json()


def test_what_a_plan_prints():
    problem, rows = make_problem(town(500), {"disease": {"t": "0.3"}}, k=5, name="t_incognito")
    lines, settings = [], problem.spec.method
    method = method_of(settings)
    report = method.make_plan(replace(given_of(problem, rows, 25), log=lines.append)).report()
    details = json.loads(json.dumps(report.details))
    tables, notes = method.tables(
        "town",
        replace(report, details=details),
        settings,
        problem.spec.attributes.sensitive_attributes,
    )
    console = Console(width=250)
    with console.capture() as capture:
        console.print(*tables)
    shown = capture.get()
    assert "visited nodes that hold" in shown
    assert shown.count("<- chosen") == 1
    assert f"{report.figures['suppressed']:,} suppressed rows" in notes[1]
    assert "disease (t = 0.3)" in notes[1]
    assert lines[0].startswith("48 nodes; ")


LIMITED = {
    "age": {"type": "numeric", "coarsest": 20},
    "sex": {},
    "city": {"hierarchy": "cities.csv", "coarsest": 1},
}


def test_levels_that_are_too_coarse_are_left_out():
    problem, rows = make_problem(
        town(600),
        {"grade": {"distance": "ordered", "t": "0.4"}},
        LIMITED,
        k=3,
        name="t_incognito",
    )
    free, _ = make_problem(
        town(600),
        {"grade": {"distance": "ordered", "t": "0.4"}},
        k=3,
        name="t_incognito",
    )
    limited, other = (plan_t_incognito(given_of(p, rows)) for p in (problem, free))
    for quasi, low, high in zip(
        problem.attributes.quasi_identifiers,
        limited.low,
        limited.high,
        strict=True,
    ):
        _, labels = quasi.labeller.cover(low, high)
        assert quasi.coarsest is None or not any(map(quasi.coarsest.broken_by, labels))
    assert (
        limited.reported.details["levels"]["city"] == other.reported.details["levels"]["city"][:2]
    )


@pytest.mark.parametrize(
    "limits",
    [
        {"age": 5},  # alone nothing of it holds
        {"age": 20, "sex": 0, "city": 0},  # each may alone, not together
    ],
)
def test_limits_within_which_nothing_holds_cannot_be_reached(limits):
    quasi = {name: {**settings, "coarsest": limits.get(name)} for name, settings in QUASI.items()}
    problem, rows = make_problem(
        town(300),
        {"disease": {"t": "0.05"}},
        quasi,
        k=5,
        name="t_incognito",
    )
    with pytest.raises(UnreachableError, match=f"coarsest of {' and '.join(limits)}: no labels"):
        plan_t_incognito(given_of(problem, rows))


def test_intervals_of_a_rounded_number_are_made_of_narrower_ones():
    women = {0.65: 1, 0.7: 1, 0.1 * 7: 4, 0.75: 6, 0.1: 6, 1.9: 6}
    people = [(x, "f") for x, n in women.items() for _ in range(n)] + [
        (x, "m") for x in women for _ in range(8)
    ]
    records = [
        {"age": x, "sex": sex, "city": "Pisa", "disease": "flu", "grade": 1} for x, sex in people
    ]
    quasi = {"age": {"type": "numeric", "round_to": "0.01"}, "sex": {}}
    problem, rows = make_problem(records, {"disease": {"t": "1"}}, quasi, k=5, name="t_incognito")
    plan = plan_t_incognito(given_of(problem, rows), 8)
    assert sum(len(here) for here, *_ in carried_out(plan, rows)) == len(
        rows,
    )  # else a task finds other rows than planned
