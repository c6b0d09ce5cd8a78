"""Combinations carried out in one process, on drawn tables: what is measured is what is
published.
"""

import json
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import CITIES, QUASI, content, drawn, make_problem, people, town

from tclose_spark.comparing.request import Combination
from tclose_spark.comparing.trial import plan_trial, run_trial
from tclose_spark.in_memory.release import PublishedClasses, apply_plan, measure
from tclose_spark.in_memory.sample import ComparedTable, table_of_its_own
from tclose_spark.measures.distances.ground_distances import EqualDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.method import ClassAssignment
from tclose_spark.runfile.spec import Privacy
from tclose_spark.table.rows import Codec
from tclose_spark.usefulness.queries import QueryError
from tclose_spark.usefulness.utility_measures import UtilityMeasures

SENSITIVE = {"disease": {"t": "0.4"}, "grade": {"distance": "ordered", "t": "measure"}}


def compared(problem, rows):
    return ComparedTable(profile=problem.profile, rows=rows, whole=len(rows))


def release(problem, rows):
    plan = plan_trial(problem.spec, problem.attributes, compared(problem, rows))
    return apply_plan(plan, problem.attributes, rows, problem.spec)


def test_every_row_is_released_once_with_labels_that_the_figures_are_of():
    problem, rows = make_problem(town(80), SENSITIVE, k=4)
    made = release(problem, rows)
    assert content(made.rows) == content(rows)
    classes = PublishedClasses.of(made, problem.spec)
    figures = measure(made, classes, problem.attributes, problem.spec, problem.hierarchies)
    labels = list(zip(*(column.to_pylist() for column in made.labels), strict=True))
    sizes = Counter(labels)
    assert (figures.classes, figures.smallest) == (len(sizes), min(sizes.values()))
    assert figures.discernibility == sum(n * n for n in sizes.values())
    assert figures.average == len(labels) / len(sizes)
    assert sum(figures.losses.values()) / len(figures.losses) == pytest.approx(figures.ncp)
    codes = problem.attributes.cells[made.rows.cell, 0]
    whole = np.bincount(codes)
    distance = EqualDistance(whole)
    worst = Fraction(0)
    for label, size in sizes.items():
        here = np.array([other == label for other in labels])
        one = distance.numerators(
            Histograms.dense(np.bincount(codes[here], minlength=len(whole))[None]),
        )
        worst = max(worst, Fraction(int(one[0]), distance.scale * len(rows) * size))
    assert Fraction(figures.emd["disease"]) == worst <= Fraction(2, 5)
    assert figures.holds


@pytest.mark.parametrize(("change", "why"), [({"k": 9}, "k"), ({"t": "0.01"}, "t")])
def test_a_release_that_breaks_what_is_asked_is_reported(change, why):
    problem, rows = make_problem(town(80), {"disease": {"t": "0.4"}}, k=4)
    made = release(problem, rows)
    stricter, _ = make_problem(
        town(80),
        {"disease": {"t": change.get("t", "0.4")}},
        k=change.get("k", 4),
    )
    classes = PublishedClasses.of(made, stricter.spec)
    assert not measure(
        made,
        classes,
        stricter.attributes,
        stricter.spec,
        stricter.hierarchies,
    ).holds, why


def test_what_cannot_be_reached_or_is_refused_is_an_outcome_with_its_message():
    problem, rows = make_problem(town(40), {"disease": {"t": "0.4"}}, k=41)
    table = compared(problem, rows)
    above = Combination(method="stack_and_deal", k=41, t="0.4", spec=problem.spec)
    outcome = run_trial(above, table, problem.hierarchies, UtilityMeasures(), plan_only=False)
    assert outcome.state == "unreachable"
    assert "the table has 40 rows" in outcome.why
    refused = Combination(method="x", k=2, t="0.4", spec=None, refused="no such thing")
    outcome = run_trial(refused, table, problem.hierarchies, UtilityMeasures(), plan_only=False)
    assert (outcome.state, outcome.why) == ("refused", "no such thing")


def test_classes_that_a_method_cannot_make_are_an_outcome_with_its_message(monkeypatch):
    """Near people share a disease, so their blocks break t as one class; a sample of five does not
    show it.
    """
    monkeypatch.setattr("tclose_spark.methods.fragmentation.method.SAMPLE_ROWS", 5)
    records = [
        {"sex": "fm"[i % 2], "disease": ["flu", "gout"][i % 2], "id": i} for i in range(3000)
    ]
    method = {"name": "fragmentation", "sizing": "measured", "most_fragments": 1}
    problem, rows = make_problem(records, {"disease": {"t": "0.3"}}, {"sex": {}}, k=4, **method)
    asked = Combination(method="fragmentation", k=4, t="0.3", spec=problem.spec)
    outcome = run_trial(
        asked,
        compared(problem, rows),
        problem.hierarchies,
        UtilityMeasures(),
        plan_only=False,
    )
    assert outcome.state == "unreachable"
    assert "blocks of near rows break a t even as one class" in outcome.why


def test_planning_only_moves_no_row(monkeypatch):
    monkeypatch.setattr("tclose_spark.comparing.trial.apply_plan", None)
    problem, rows = make_problem(town(40), {"disease": {"t": "0.4"}}, k=4)
    asked = Combination(method="stack_and_deal", k=4, t="0.4", spec=problem.spec)
    outcome = run_trial(
        asked,
        compared(problem, rows),
        problem.hierarchies,
        UtilityMeasures(),
        plan_only=True,
    )
    assert outcome.state == "planned"
    assert outcome.figures["plan"]["classes"] >= 1
    json.dumps(outcome.to_json())


@dataclass
class Fixed:
    """A plan whose classes are given: by row, in the order of the rows; -1 is suppressed. Tasks:
    row number modulo.
    """

    classes: np.ndarray
    tasks: int = 1
    lost: int = 0
    figures: ClassVar = {}

    def route(self, rows):
        order = np.random.default_rng(1).permutation(len(rows))[self.lost :]
        return order, order % self.tasks

    def describe(self, figures):
        return figures

    def assign_classes(self, rows, task):
        place = {key: i for i, key in enumerate(self.keys)}
        of_row = self.classes[[place[key] for key in rows.hash.tolist()]]
        return ClassAssignment(
            here=np.flatnonzero(of_row >= 0),
            classes=of_row[of_row >= 0],
            suppressed=np.flatnonzero(of_row < 0),
        )

    def carried(self, problem, rows):
        self.keys = rows.hash.tolist()
        alike = set(zip(self.keys, self.classes.tolist(), strict=True))
        assert len(alike) == len(set(self.keys))  # rows that are alike are in one class
        return apply_plan(self, problem.attributes, rows, problem.spec)


def different(records):
    """Records no two of which are alike."""
    return [{**record, "age": i} for i, record in enumerate(records)]


def test_a_plan_that_loses_a_row_is_found():
    problem, rows = make_problem(different(town(40)), {"disease": {"t": "0.4"}}, k=4)
    with pytest.raises(ValueError, match="in no class"):
        Fixed(np.zeros(40, dtype=np.int64), lost=1).carried(problem, rows)


def test_classes_of_different_tasks_are_different_whatever_their_numbers():
    problem, rows = make_problem(different(town(40)), {"disease": {"t": "1"}}, k=4)
    made = Fixed(np.zeros(40, dtype=np.int64), tasks=4).carried(problem, rows)
    classes = PublishedClasses.of(made, problem.spec)
    assert sorted(classes.sizes.tolist()) == [10, 10, 10, 10]


@pytest.mark.parametrize("of", ["input", "released"])
def test_suppressed_rows_lose_all_and_are_a_class_where_their_distribution_is_public(of):
    problem, rows = make_problem(different(town(40)), {"disease": {"t": "0.3"}}, k=4)
    problem = replace(
        problem,
        spec=problem.spec.model_copy(
            update={"privacy": Privacy(k=4, suppression_limit="0.5", of=of)},
        ),
    )
    codes = problem.attributes.cells[rows.cell, 0]
    flu = np.flatnonzero(codes == 0)[:6]
    given = np.zeros(40, dtype=np.int64)
    given[flu] = -1
    made = Fixed(given).carried(problem, rows)
    figures = measure(
        made,
        PublishedClasses.of(made, problem.spec),
        problem.attributes,
        problem.spec,
        problem.hierarchies,
    )
    assert (figures.rows, figures.suppressed, figures.classes) == (34, 6, 1)
    assert figures.discernibility == 34 * 34 + 6 * 40
    age, sex, city = 1.0, 1.0, 1.0  # one class of all
    assert figures.ncp == pytest.approx((34 * (age + sex + city) / 3 + 6) / 40)
    if of == "released":
        assert (figures.emd["disease"], figures.holds, figures.smallest) == ("0", True, 34)
    else:  # all of them have one value
        assert Fraction(figures.suppressed_emd["disease"]) == Fraction(
            40 - int(np.sum(codes == 0)),
            40,
        )
        assert Fraction(figures.emd["disease"]) < Fraction(figures.suppressed_emd["disease"])
        assert (figures.holds, figures.smallest) == (False, 34)


def test_beside_what_is_released_a_value_that_nobody_is_left_with_is_in_no_domain():
    """As the verifier reads the release: of two values left one is at distance 1 from the other,
    not at 1/2.
    """
    records = [
        {**record, "grade": [1, 2, 9][i // 20]} for i, record in enumerate(different(town(42)))
    ]
    problem, rows = make_problem(records, {"grade": {"distance": "ordered", "t": "0.3"}}, k=4)
    spec = problem.spec.model_copy(
        update={"privacy": Privacy(k=4, suppression_limit="0.1", of="released")},
    )
    made = Fixed(np.where(np.arange(42) < 40, np.arange(42) // 20, -1)).carried(
        replace(problem, spec=spec),
        rows,
    )
    figures = measure(
        made,
        PublishedClasses.of(made, spec),
        problem.attributes,
        spec,
        problem.hierarchies,
    )
    assert (figures.emd, figures.holds) == ({"grade": "1/2"}, False)


@pytest.mark.parametrize(("k", "holds"), [(6, True), (7, False)])
def test_suppressed_rows_that_are_a_class_are_k_as_well(k, holds):
    problem, rows = make_problem(different(town(40)), {"disease": {"t": "1"}}, k=k)
    problem = with_limit(problem, "0.5", k=k)
    made = Fixed(np.where(np.arange(40) < 6, -1, 0)).carried(problem, rows)
    classes = PublishedClasses.of(made, problem.spec)
    assert (
        measure(made, classes, problem.attributes, problem.spec, problem.hierarchies).holds == holds
    )


def with_limit(problem, limit, k=4):
    privacy = Privacy(k=k, suppression_limit=limit)
    return replace(problem, spec=problem.spec.model_copy(update={"privacy": privacy}))


NARROW = {**QUASI, "age": {"type": "numeric", "coarsest": 10}}


def narrow_and_wide(limit, tasks=1):
    """Five classes of eight ages each, of which that of the last eight rows is wider than it may
    be.
    """
    records = different(town(40))
    for record in records[32:]:
        record["age"] *= 10
    problem, rows = make_problem(records, {"disease": {"t": "1"}}, quasi=NARROW, k=2)
    problem = with_limit(problem, limit, k=2)
    made = Fixed(np.arange(40) // 8, tasks=tasks).carried(problem, rows)
    classes = PublishedClasses.of(made, problem.spec)
    return made, measure(made, classes, problem.attributes, problem.spec, problem.hierarchies)


def test_classes_that_are_coarser_than_they_may_be_are_left_out_as_far_as_rows_may_be():
    made, figures = narrow_and_wide("0.2")
    assert (figures.rows, figures.suppressed, figures.classes, figures.coarse) == (32, 8, 4, ())
    assert figures.holds
    assert len(made.rows) == len(made.labels[0]) == 32
    made, figures = narrow_and_wide("0.19")
    assert (figures.suppressed, figures.coarse) == (0, ("age",))


def test_each_task_leaves_out_its_share_or_none():
    """Of 14, 13 and 13 rows; each may leave out two, and has three, two and three that are too
    coarse.
    """
    made, figures = narrow_and_wide("0.2", tasks=3)
    assert (figures.rows, figures.suppressed, figures.coarse) == (38, 2, ("age",))
    assert len(made.labels[0]) == 38


def test_a_release_with_labels_that_are_too_coarse_is_no_release_and_no_error():
    records = different(town(40))
    problem, rows = make_problem(records, {"disease": {"t": "1"}}, quasi=NARROW, k=30)
    asked = Combination(method="stack_and_deal", k=30, t="1", spec=problem.spec)
    outcome = run_trial(
        asked,
        compared(problem, rows),
        problem.hierarchies,
        UtilityMeasures(),
        plan_only=False,
    )
    assert (outcome.state, outcome.why) == ("coarse", "labels of age are coarser than coarsest")
    assert outcome.loss is None


@drawn(25)
@given(people(least=6), st.data())
def test_some_rows_are_a_table_of_their_own(records, data):
    """Domains, cells and counts are those of these rows alone; the codes say the same values."""
    asked = {
        "disease": {"t": "0.5"},
        "grade": {"distance": "ordered", "order": "frequency", "t": "0.5"},
    }
    problem, rows = make_problem(records, asked)
    chosen = sorted(
        data.draw(st.sets(st.integers(0, len(records) - 1), min_size=1, max_size=len(records) - 1)),
    )
    alone, _ = make_problem([records[i] for i in chosen], asked)
    sensitive = problem.spec.attributes.sensitive_attributes
    part = rows.take(np.array(chosen))
    own = table_of_its_own(problem.profile, part, sensitive, problem.hierarchies, [True, True])
    assert (own.profile.rows, own.whole) == (len(chosen), len(records))
    for field in ("sensitive", "cells", "cell_counts"):
        assert getattr(own.profile, field) == getattr(alone.profile, field)
    for ours, its in zip(own.profile.quasi, alone.profile.quasi, strict=True):
        assert (ours.missing, ours.low, ours.high) == (its.missing, its.low, its.high)
        assert ours.present == its.present
    before, after = Codec.of(problem.profile), Codec.of(own.profile)
    assert [c.to_pylist() for c in before.sensitive_texts(part)] == [
        c.to_pylist() for c in after.sensitive_texts(own.rows)
    ]
    assert [c.to_pylist() for c in before.decode(part)] == [
        c.to_pylist() for c in after.decode(own.rows)
    ]
    kept = ComparedTable.from_json(own.to_json())
    assert kept.profile == own.profile
    assert content(kept.rows) == content(own.rows)
    assert kept.digest == own.digest != compared(problem, rows).digest


QUASI_OF_ALL_KINDS = {
    **QUASI,
    "sex": {"generalization": "set"},
    "age": {"type": "numeric", "round_to": "5"},
}


def test_query_error_is_nothing_where_nothing_is_generalized_and_more_where_all_is():
    records = [
        {"age": a, "sex": s, "city": c, "disease": d}
        for a in (20, 30, 40)
        for s in ("f", "m", None)
        for c in CITIES.leaves[:3]
        for d in ("flu", "flu", "gout")
    ]
    problem, rows = make_problem(records, {"disease": {"t": "1"}}, quasi=QUASI_OF_ALL_KINDS, k=2)
    error = QueryError.of(compared(problem, rows), problem.attributes)
    fine, coarse = (
        error_of(problem, rows, error, classes)
        for classes in (
            np.unique(np.stack(rows.quasi), axis=1, return_inverse=True)[1],
            np.zeros(len(rows), dtype=int),
        )
    )
    assert fine == {"query_error": 0.0, "query_error_90": 0.0}
    assert 0 < coarse["query_error"] <= coarse["query_error_90"]


def test_of_amounts_ranges_are_asked_for():
    """Of 2,000 amounts in narrow labels, one amount would be wrong by most; a range of them
    is not.
    """
    draw = np.random.default_rng(1)
    amounts = draw.permutation(2000)
    records = [
        {"age": int(age), "pay": int(pay), "city": CITIES.leaves[int(pay) % 3]}
        for age, pay in zip(amounts, draw.integers(10**6, size=2000), strict=True)
    ]
    numeric = {
        "age": {"type": "numeric"},
        "city": {"type": "categorical", "hierarchy": "cities.csv"},
    }
    problem, rows = make_problem(records, {"pay": {"distance": "ordered"}}, numeric, k=2)
    error = QueryError.of(compared(problem, rows), problem.attributes)
    widths = [
        high - low for query in error.queries for i, (low, high) in query.ranges.items() if i == 0
    ]
    assert np.median(widths) > 200
    assert np.median([query.values[1] - query.values[0] for query in error.queries]) > 200
    found = error_of(problem, rows, error, rows.quasi[0] // 20)
    assert found["query_error"] < 0.2


def error_of(problem, rows, error, classes):
    made = Fixed(np.asarray(classes).reshape(-1)).carried(problem, rows)
    return error(made, PublishedClasses.of(made, problem.spec), problem.attributes)


def test_a_classifier_that_learns_from_the_release_is_between_the_raw_one_and_guessing():
    pytest.importorskip("sklearn")
    from tclose_spark.usefulness.utility_measures import Accuracy, predicted

    draw = np.random.default_rng(5)
    records = [
        {
            **r,
            "disease": {"Pisa": "flu", "Siena": "gout"}.get(r["city"], "mumps")
            if draw.random() < 0.8
            else "ulcer",
        }
        for r in different(town(900))
    ]
    problem, rows = make_problem(records, {"disease": {"t": "0.2"}}, k=5)
    assert predicted(problem.attributes) == 0
    test = Accuracy.of(compared(problem, rows), problem.attributes, 0)
    figures = error_of(problem, rows, test, np.arange(len(rows)))
    assert figures["accuracy"] == pytest.approx(
        figures["accuracy_raw"],
        abs=0.02,
    )  # nothing is generalized
    assert figures["accuracy_raw"] > figures["accuracy_majority"] + 0.2
    blind = error_of(problem, rows, test, np.zeros(len(rows), dtype=int))
    assert blind["accuracy"] <= figures["accuracy_majority"] + 0.1


def accuracy_of(records, quasi, trained=None):
    """A test on a table, and its figures of a release in which nothing is generalized; or None."""
    pytest.importorskip("sklearn")
    from tclose_spark.usefulness.utility_measures import Accuracy

    problem, rows = make_problem(records, {"disease": {"t": "1"}}, quasi=quasi, k=2)
    test = Accuracy.of(compared(problem, rows), problem.attributes, 0)
    alike = np.unique(rows.hash, return_inverse=True)[1]
    return test, test and error_of(
        problem,
        rows,
        test,
        alike if trained is None else trained(rows, problem),
    )


NUMBER = {"age": {"type": "numeric"}}


def test_accuracy_of_numbers_that_no_float32_holds():
    records = [
        {"age": 1e306 * (2 * i - 1), "disease": "flu" if i < 45 else "gout"} for i in range(90)
    ]
    test, figures = accuracy_of(records, NUMBER)
    assert len(np.unique(test.test)) == len(test.test)
    assert test.test.min() >= 0
    assert test.test.max() <= 1
    assert figures["accuracy"] == pytest.approx(figures["accuracy_raw"], abs=0.1)
    assert figures["accuracy"] > 0.85


def test_there_is_no_accuracy_without_features_or_rows_to_test_on(monkeypatch):
    records = [
        {"age": i, "street": f"s{i:03}", "disease": "flu" if i % 3 else "gout"} for i in range(60)
    ]
    assert accuracy_of(records, NUMBER)[0] is not None
    monkeypatch.setattr("tclose_spark.usefulness.utility_measures.MOST_COLUMNS", 50)
    assert accuracy_of(records, {"street": {}})[0] is None
    monkeypatch.setattr(
        "tclose_spark.usefulness.utility_measures.is_test",
        lambda hashes: np.zeros(len(hashes), dtype=bool),
    )
    assert accuracy_of(records, NUMBER)[0] is None
    monkeypatch.setattr(
        "tclose_spark.usefulness.utility_measures.is_test",
        lambda hashes: np.ones(len(hashes), dtype=bool),
    )
    assert accuracy_of(records, NUMBER)[0] is None


def test_who_learns_one_value_only_says_it():
    records = [{"age": i, "disease": "flu" if i % 3 else "gout"} for i in range(60)]

    def one_value(rows, problem):
        return np.where(problem.attributes.cells[rows.cell, 0] == 0, 0, -1)

    _, figures = accuracy_of(records, NUMBER, one_value)
    assert figures["accuracy"] in (
        figures["accuracy_majority"],
        pytest.approx(1 - figures["accuracy_majority"]),
    )
    _, figures = accuracy_of(records, NUMBER, lambda rows, problem: np.where(held_out(rows), 0, -1))
    assert figures == {}


def held_out(rows):
    from tclose_spark.usefulness.utility_measures import is_test

    return is_test(rows.hash)


def test_features_are_made_of_the_rows_that_are_chosen_only(monkeypatch):
    monkeypatch.setattr("tclose_spark.usefulness.utility_measures.MOST_TRAINED", 20)
    monkeypatch.setattr("tclose_spark.usefulness.utility_measures.MOST_TESTED", 10)
    from tclose_spark.usefulness import utility_measures as classifier

    made, dense = [], classifier.features_of
    monkeypatch.setattr(
        classifier,
        "features_of",
        lambda q, s, label: made.append(len(label)) or dense(q, s, label),
    )
    test, _ = accuracy_of(
        [{"age": i, "disease": "flu" if i % 3 else "gout"} for i in range(90)],
        NUMBER,
    )
    assert sorted(made) == [10, 20, 20]
    assert len(test.answers) == 10
