"""The plan of fragmentation: every row once, shares as planned, every t kept, whatever the tasks
and the order of rows.
"""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from fragmentations import ordered
from hypothesis import given
from hypothesis import strategies as st
from strategies import Problem, content, count_in, drawn, make_problem, people, settle_all

from tclose_spark.errors import InputError, UnreachableError
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.attributes import ResolvedSensitive
from tclose_spark.methods.blocks.layout import together
from tclose_spark.methods.dealing.stacks import class_counts
from tclose_spark.methods.fragmentation.fragments import bin_of
from tclose_spark.methods.fragmentation.plan import (
    FragmentationPlan,
    breaking,
    join_until_close,
    plan_fragmentation,
)
from tclose_spark.methods.fragmentation.search import find_fragmentation
from tclose_spark.runfile.attributes import Bins
from tclose_spark.table.domains import SensitiveDomain
from tclose_spark.table.rows import Rows

ONE = {"grade": {"distance": "ordered", "t": "0.3"}}
TWO = {"disease": {"t": "0.5"}, "grade": {"distance": "ordered", "t": "0.3"}}
NAMED = {"name": "fragmentation"}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of some ten rows have several blocks."""
    monkeypatch.setattr("tclose_spark.methods.dealing.nearest.CLASSES_PER_BLOCK", 2)


def planned(
    records,
    sensitive=TWO,
    k=2,
    rows_per_task=10**6,
    **method,
) -> tuple[Problem, Rows, FragmentationPlan]:
    problem, rows = make_problem(records, sensitive, k=k, **NAMED, **method)
    return problem, rows, plan_fragmentation(problem.given(count_in(rows)), rows_per_task)


def attributes(problem: Problem) -> tuple[ResolvedSensitive, ...]:
    return problem.attributes.sensitive


def largest_distances(problem: Problem, rows: Rows, classes: np.ndarray) -> list[Fraction]:
    """The largest distance of the classes, for each attribute."""
    worst = []
    _, owner = np.unique(classes, return_inverse=True)
    for a in attributes(problem):
        table = np.zeros((owner.max() + 1, len(a.distance.table)), dtype=np.int64)
        np.add.at(table, (owner, problem.profile.cell_codes[rows.cell, a.column]), 1)
        found = zip(a.distance.numerators(Histograms.dense(table)), table.sum(axis=1), strict=True)
        worst.append(max(Fraction(int(x), a.distance.scale * len(rows) * int(s)) for x, s in found))
    return worst


SIZINGS = st.sampled_from(["proportional", "measured", "gcd"])


@drawn(60, quick=15)
@given(
    people(),
    st.sampled_from([ONE, TWO]),
    SIZINGS,
    st.integers(2, 4),
    st.integers(1, 20),
    st.data(),
)
def test_every_class_holds_and_does_not_depend_on_tasks_or_the_order_of_rows(
    records,
    sensitive,
    sizing,
    k,
    rows_per_task,
    data,
):
    problem, rows, plan = planned(records, sensitive, k, sizing=sizing)
    settled, classes = settle_all(plan, rows)
    assert np.unique(classes, return_counts=True)[1].min() >= k
    assert all(
        x <= a.t
        for x, a in zip(
            largest_distances(problem, settled, classes),
            attributes(problem),
            strict=True,
        )
    )
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    assert content(*settle_all(plan, rows.take(order))) == content(settled, classes)
    _, _, in_tasks = planned(records, sensitive, k, rows_per_task, sizing=sizing)
    assert content(*settle_all(in_tasks, rows)) == content(settled, classes)


@drawn(40, quick=10)
@given(people(), SIZINGS, st.integers(2, 4))
def test_classes_have_the_shares_that_were_planned(records, sizing, k):
    _, rows, plan = planned(records, k=k, sizing=sizing)
    numbering = plan.numbering
    dealt = numbering.deal(rows, 0)
    found = np.zeros((numbering.classes, len(numbering.stack.counts)), dtype=np.int64)
    np.add.at(found, (dealt.classes, dealt.part), 1)
    assert (
        found.tolist()
        == class_counts(numbering.stack, np.arange(numbering.classes), numbering.classes).tolist()
    )
    if sizing == "gcd":
        assert (found * numbering.classes == numbering.stack.counts).all()


@drawn(40, quick=10)
@given(people(), SIZINGS, st.integers(1, 20))
def test_a_plan_survives_json(records, sizing, rows_per_task):
    problem, rows, plan = planned(records, rows_per_task=rows_per_task, sizing=sizing)
    tree = json.loads(json.dumps(plan.to_json()))
    again = FragmentationPlan.from_json(tree, problem.attributes)
    assert content(*settle_all(again, rows)) == content(*settle_all(plan, rows))
    assert [c["chosen"] for c in plan.report().details["candidates"]].count(True) == 1


@drawn(30, quick=8)
@given(people(least=8), st.data())
def test_a_row_doubled_or_lost_is_noticed(records, data):
    _, rows, plan = planned(records)
    place = data.draw(st.integers(0, len(rows) - 1))
    for sent in (np.append(np.arange(len(rows)), place), np.delete(np.arange(len(rows)), place)):
        with pytest.raises(ValueError, match="not the rows that the plan counted"):
            plan.assign_classes(rows.take(sent), 0)


def graded(*grades: int) -> list[dict[str, object]]:
    return [
        {"age": 20 + i % 7, "sex": "f", "city": None, "disease": "flu", "grade": grade}
        for i, grade in enumerate(grades)
    ]


def test_takes_the_fragmentation_that_loses_least():
    _, _, plan = planned(graded(*range(40)), ONE)
    proven = [c for c in plan.candidates if not c.measured]
    assert len({c.fragments for c in proven}) > 3
    assert plan.chosen.loss == min(c.loss for c in proven)
    assert all(bound <= 0.3 for c in proven for bound in c.bounds)


def test_measured_sizes_may_rest_on_fewer_fragments_than_can_be_proven():
    _, _, plan = planned(
        graded(*range(40)),
        {"grade": {"distance": "ordered", "t": "0.2"}},
        sizing="measured",
    )
    assert plan.chosen.measured
    assert min(c.fragments for c in plan.candidates) == 1
    assert (
        plan.chosen.size
        < min(c.size for c in plan.candidates if c.fragments == 1 and not c.measured)
        == 40
    )


def test_bins_restrict_the_cuts_and_t_is_that_of_the_values():
    records = graded(*range(40))
    binned = {"grade": {"distance": "ordered", "t": "0.3", "bins": {"equal_width": 2}}}
    _, _, plan = planned(records, binned)
    assert {c.fragments for c in plan.candidates if not c.measured} == {2}
    # Two bins of twenty values: a class of one value of each, both the lowest, is (1/2)(19/39) / 2
    # twice from the table.
    assert plan.candidates[0].bounds == pytest.approx((sum(range(20)) / 20 / 39,))
    tight = {"grade": {"distance": "ordered", "t": "0.2", "bins": {"equal_width": 2}}}
    with pytest.raises(
        UnreachableError,
        match=(
            r"2 fragments have bounds of 0.2436 for grade \(required: 0.2\); there is nothing left to cut; give finer "
            r"bins"
        ),
    ) as found:
        planned(records, tight)
    assert found.value.exit_code == 3


@pytest.mark.parametrize(
    ("values", "bins", "expected"),
    [
        (("1", "2", "3", "10"), {"equal_width": 3}, [0, 0, 0, 1]),
        (("1", "2", "3", "10"), {"equal_mass": 2}, [0, 0, 1, 1]),
        (("1", "2", "3", "10"), {"edges": ["2", "5"]}, [0, 1, 1, 2]),
        ((None, "1", "2", "10"), {"edges": ["5"]}, [0, 1, 1, 2]),
        (("1", "2", "10", None), {"equal_width": 1}, [0, 0, 0, 1]),
        ((None,), {"equal_width": 3}, [0]),
        (("2020-01-01", "2021-01-01"), {"equal_mass": 2}, [0, 1]),
    ],
)
def test_bins_of_a_domain(values, bins, expected):
    domain = SensitiveDomain("x", values, (1,) * len(values))
    asked = Bins.model_validate(
        {key: tuple(v) if isinstance(v, list) else v for key, v in bins.items()},
    )
    assert bin_of(domain, asked).tolist() == expected


def test_bins_by_width_are_of_numbers():
    domain = SensitiveDomain("day", ("2020-01-01", "2021-01-01"), (1, 1))
    with pytest.raises(
        InputError,
        match=r"sensitive_attributes.day.bins: the values are no numbers; use equal_mass",
    ):
        bin_of(domain, Bins(equal_width=2))


def test_too_few_fragments_and_too_large_k_are_refused():
    with pytest.raises(
        UnreachableError,
        match=r"3 fragments have bounds of .* raise method.most_fragments",
    ):
        planned(
            graded(*range(40)),
            {"grade": {"distance": "ordered", "t": "0.01"}},
            most_fragments=3,
        )
    with pytest.raises(UnreachableError, match=r"privacy.k is 5, but the table has 4 rows"):
        planned(graded(1, 2, 3, 4), ONE, k=5)


@drawn(100, quick=25)
@given(
    people(),
    st.integers(1, 8),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["0.1", "0.3", "0.6"]),
)
def test_joined_classes_hold_and_others_stay(records, e, seed, t):
    sensitive = {"disease": {"t": t}, "grade": {"distance": "ordered", "t": t}}
    problem, rows = make_problem(records, sensitive, **NAMED)
    codes, asked = problem.profile.cell_codes[rows.cell], attributes(problem)
    classes = np.random.default_rng(seed).integers(0, e, len(rows))
    found, joined, broken = join_until_close(
        asked,
        codes,
        classes,
        np.zeros(len(classes), dtype=np.int64),
    )
    assert broken == 0
    numbers, place = np.unique(classes, return_inverse=True)
    assert len(numbers) - len(np.unique(found)) == joined
    assert all(
        len(set(found[classes == c].tolist())) == 1 for c in numbers
    )  # whole classes are joined
    assert all(x <= Fraction(t) for x in largest_distances(problem, rows, found))
    if not breaking(asked, codes, place).any():
        assert joined == 0
        assert found.tolist() == classes.tolist()


def test_classes_are_joined_inside_their_block_only():
    records = [
        {"age": 30, "sex": "f", "city": None, "disease": d, "grade": 1}
        for d in ["flu"] * 4 + ["gout"] * 4
    ]
    problem, rows = make_problem(records, {"disease": {"t": "0.2"}}, **NAMED)
    order = np.argsort(rows.cell, kind="stable")  # flu, then gout: every class of two breaks t
    codes, classes = problem.profile.cell_codes[rows.cell[order]], np.arange(8) // 2
    whole, *figures = join_until_close(
        attributes(problem),
        codes,
        classes,
        np.zeros(8, dtype=np.int64),
    )
    assert (len(set(whole.tolist())), figures) == (1, [3, 0])
    halves, *figures = join_until_close(attributes(problem), codes, classes, classes // 2)
    assert (halves.tolist(), figures) == ([0, 0, 0, 0, 2, 2, 2, 2], [2, 2])


@pytest.mark.parametrize("rows_per_task", [20, 10**6])
def test_blocks_that_break_t_as_one_class_are_unreachable(rows_per_task):
    """Near people share a disease, and five of them are the sample, from which one class holds."""
    records = [
        {"age": 30, "sex": "fm"[i % 2], "city": None, "disease": ["flu", "gout"][i % 2], "grade": 1}
        for i in range(160)
    ]
    asked, method = {"disease": {"t": "0.3"}}, {**NAMED, "sizing": "measured", "most_fragments": 1}
    problem, rows = make_problem(records, asked, {"sex": {}}, k=4, **method)
    sample = problem.sample.take(np.arange(5))
    plan = plan_fragmentation(replace(problem, sample=sample).given(count_in(rows)), rows_per_task)
    row, task = plan.route(rows)
    settled = [
        plan.assign_classes(rows.take(row[task == number]), number) for number in range(plan.tasks)
    ]
    message = "20 blocks of near rows break a t even as one class, .* raise the t"
    with pytest.raises(UnreachableError, match=message) as found:
        plan.describe(together([s.figures for s in settled], plan.figures))
    assert found.value.exit_code == 3


def test_a_sample_smaller_than_k_plans_no_smaller_class():
    problem, rows = make_problem(
        graded(*[1 + i % 5 for i in range(60)]),
        ONE,
        k=20,
        **NAMED,
        sizing="measured",
    )
    plan = plan_fragmentation(
        replace(problem, sample=problem.sample.take(np.arange(6))).given(count_in(rows)),
    )
    assert plan.chosen.size >= 20
    assert np.unique(settle_all(plan, rows)[1], return_counts=True)[1].min() >= 20


def test_measured_sizes_hold_on_the_sample():
    problem, rows = make_problem(
        graded(*[(i * i) % 23 for i in range(80)]),
        {"grade": {"distance": "ordered", "t": "0.12"}},
        **NAMED,
        sizing="measured",
    )
    plan = plan_fragmentation(problem.given(count_in(rows)))  # the sample is the whole table
    settled = [plan.assign_classes(rows, 0)]
    assert settled[0].figures["joined"] == 0
    assert plan.chosen.size < 80


def test_near_rows_are_gathered():
    records = [
        {"age": a, "sex": "f", "city": None, "disease": d, "grade": 1}
        for a, d in zip([20, 40, 60] * 8, ["flu", "gout"] * 12, strict=True)
    ]
    problem, rows = make_problem(
        records,
        {"disease": {"t": "0.5"}},
        {"age": {"type": "numeric"}},
        k=4,
        **NAMED,
    )
    plan = plan_fragmentation(problem.given(count_in(rows)))
    dealt = plan.numbering.deal(rows, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "tclose_spark.methods.dealing.numbering.gather_nearest",
            lambda rows, part, classes, *_: classes[::-1].copy(),
        )
        assert plan.assign_classes(rows, 0).classes.tolist() == dealt.classes[::-1].tolist()


def test_as_in_the_papers_the_search_stops_where_the_bounds_of_boxes_hold():
    problem, rows = make_problem(
        graded(*range(24)),
        {"grade": {"distance": "ordered", "t": "0.3"}},
        **NAMED,
        sizing="gcd",
        bounds="paper",
    )
    plan = plan_fragmentation(problem.given(count_in(rows)))
    path = find_fragmentation(
        problem.attributes.matrix,
        [ordered(24)],
        [Fraction(3, 10)],
        kind="paper",
        objective="hinge",
        stop=lambda bounds, _: bounds[0] <= Fraction(3, 10),
    )
    (one,) = plan.candidates
    assert (one.fragments, one.bounds) == (path.steps + 1, (float(path.exact_bounds[-1][0]),))
    relaxed, rows = make_problem(
        graded(*range(24)),
        {"grade": {"distance": "ordered", "t": "0.8"}},
        **NAMED,
        bounds="paper",
    )
    one = plan_fragmentation(relaxed.given(count_in(rows))).candidates[0]
    assert (
        one.proven[0] >= 0.5
    )  # one box of 24 values: half of its length, where the domain's bound would be no smaller


def test_breaking_is_exact():
    records = [
        {"age": 30, "sex": "f", "city": None, "disease": d, "grade": 1}
        for d in ["flu"] * 6 + ["gout"] * 2
    ]
    for t, expected in [("0.25", [False, False]), ("0.2499999999999999", [True, True])]:
        problem, rows = make_problem(records, {"disease": {"t": t}}, **NAMED)
        by_disease = np.argsort(rows.cell, kind="stable")
        classes = np.array([0, 0, 0, 0, 1, 1, 1, 1])  # four flu; two flu and two gout
        codes = problem.profile.cell_codes[rows.cell[by_disease]]
        assert breaking(attributes(problem), codes, classes).tolist() == expected
