"""Class sizes: the smallest that meets the requirements, and what is said where none does."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Problem, drawn, make_problem, people

from tclose_spark.errors import UnreachableError
from tclose_spark.measures.distances.ground_distances import maximum
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.attributes import worst_closeness_ratio
from tclose_spark.methods.dealing.maximum_emd import maximum_emd
from tclose_spark.methods.stack_and_deal.plan import make_stacks
from tclose_spark.methods.stack_and_deal.sizing import choose_size, layered_deal, report_size


def table(**counts: int) -> list[dict[str, object]]:
    """Records of one sex, so many with each disease."""
    return [{"sex": "f", "disease": disease} for disease, n in counts.items() for _ in range(n)]


def problem_of(
    records: list[dict[str, object]],
    k: int,
    method: dict[str, str] | None = None,
    **disease: object,
) -> Problem:
    return make_problem(records, {"disease": disease}, {"sex": {}}, k=k, **method or {})[0]


def chosen(problem: Problem):
    return choose_size(problem.given(), make_stacks(problem.given()))[0]


def equal_emd(records: list[dict[str, object]], e: int) -> Fraction:
    """The largest equal distance of the classes that dealing makes: most frequent first, ties by
    value, one by one.
    """
    counts = Counter(record["disease"] for record in records)
    stack = [
        value
        for value in sorted(counts, key=lambda v: (-counts[v], v))
        for _ in range(counts[value])
    ]
    classes = [Counter(stack[c::e]) for c in range(e)]
    return max(
        sum(
            abs(Fraction(part[v], part.total()) - Fraction(n, len(stack)))
            for v, n in counts.items()
        )
        / 2
        for part in classes
    )


def test_without_t_the_size_is_k():
    report = chosen(problem_of(table(flu=7, gout=3), k=3))
    assert (report.size, report.classes, report.holds) == (3, 3, True)


def test_takes_the_smallest_size_that_reaches_t():
    # Classes of two hold one gout or none: 1/4 and 1/4 from the table. Classes of four are the
    # table.
    records = table(flu=6, gout=2)
    assert (
        chosen(problem_of(records, k=2, t=Fraction(1, 4))).size,
        chosen(problem_of(records, k=2, t=Fraction(24, 100))).size,
    ) == (2, 4)
    assert chosen(problem_of(records, k=2, t=Fraction(24, 100))).emd == (0,)


@drawn(60)
@given(people(most=30), st.integers(2, 4), st.sampled_from(["0.02", "0.1", "0.2", "0.4"]))
def test_the_chosen_size_is_the_first_that_dealing_one_by_one_reaches(records, k, t):
    n = len(records)
    report = chosen(make_problem(records, {"disease": {"t": t}}, k=k)[0])
    sizes = {n // (n // size): n // size for size in range(k, n + 1)}
    size, e = next((size, e) for size, e in sizes.items() if equal_emd(records, e) <= Fraction(t))
    assert (report.size, report.classes, report.emd) == (size, e, (equal_emd(records, e),))


def test_every_attribute_must_be_reached():
    records = [
        {"sex": "f", "disease": d, "grade": g}
        for d, g in [("flu", 1), ("flu", 2), ("gout", 1), ("gout", 2)] * 2
    ]
    easy, hard = {"t": 1}, {"t": "0.1"}
    for disease, grade, size in [
        (easy, easy, 2),
        (hard, easy, 2),
        (easy, hard, 4),
        (hard, hard, 4),
    ]:
        asked = {"disease": disease, "grade": {"distance": "ordered", **grade}}
        assert (
            chosen(make_problem(records, asked, {"sex": {}}, stack_order="value")[0]).size == size
        )


@pytest.mark.parametrize(
    ("asked", "size"),
    [
        ({"distinct": 1}, 2),
        ({"distinct": 3}, 3),
        ({"entropy": 3}, 3),
        ({"entropy": "2.9"}, 3),
        ({"recursive": {"c": 2, "l": 2}}, 2),
        ({"recursive": {"c": 1, "l": 2}}, 3),
        ({"recursive": {"c": 2, "l": 3}}, 3),
    ],
)
def test_l_diversity_is_reached_too(asked, size):
    assert chosen(problem_of(table(flu=4, gout=4, mumps=4), k=2, l=asked)).size == size


@pytest.mark.parametrize("values", range(2, 12))
def test_as_many_equally_frequent_values_are_entropy_diverse(values):
    records = table(**{f"d{i}": 2 for i in range(values)})
    assert chosen(problem_of(records, k=values, l={"entropy": values})).size == values


def test_k_above_the_rows_is_refused():
    with pytest.raises(
        UnreachableError,
        match=r"privacy.k is 5, but the table has 4 rows",
    ) as found:
        chosen(problem_of(table(flu=4), k=5))
    assert found.value.exit_code == 3


def test_k_may_be_all_rows():
    assert chosen(problem_of(table(flu=3, gout=1), k=4, t=Fraction(1, 100))).classes == 1


def test_diversity_that_the_whole_table_lacks_is_refused():
    with pytest.raises(
        UnreachableError,
        match=r"no class size from 2 to the whole table .* classes of size 5 reach t = 0.0000 for disease",
    ):
        chosen(problem_of(table(flu=3, gout=2), k=2, l={"distinct": 3}))


def test_class_size_k_says_what_it_reaches_and_what_would():
    records = table(flu=6, gout=2)
    with pytest.raises(UnreachableError) as found:
        chosen(problem_of(records, k=2, method={"class_size": "k"}, t="0.2"))
    message = str(found.value)
    assert "classes of size 2 reach t = 0.2500 for disease (required: 0.2)" in message
    assert "begin with 4 (looked at up to 8: 4, 8 reach it)" in message
    assert "class_size: auto" in message


def test_class_size_k_is_taken_where_it_reaches():
    report = chosen(problem_of(table(flu=6, gout=2), k=3, method={"class_size": "k"}, t="0.5"))
    assert (report.size, report.classes) == (4, 2)


@drawn(50)
@given(people(most=30), st.integers(2, 5))
def test_reports_are_exact(records, k):
    problem = make_problem(records, {"disease": {"t": "0.05"}}, k=k)[0]
    if len(records) < k:
        return
    stacks = make_stacks(problem.given())
    for report in choose_size(problem.given(), stacks)[1]:
        assert report.size == len(records) // report.classes >= k
        assert report.emd == (equal_emd(records, report.classes),)
        assert report == report_size(problem.given(), stacks, report.classes)


@pytest.mark.parametrize(
    ("sensitive", "asked", "order"),
    [
        ({"disease": {}}, {}, [2, 0, 1]),
        ({"disease": {}}, {"stack_order": "value"}, [0, 1, 2]),
        ({"disease": {"distance": "ordered", "order": ["flu", "gout", "mumps"]}}, {}, [0, 1, 2]),
        (
            {"disease": {"distance": "ordered", "order": ["flu", "gout", "mumps"]}},
            {"stack_order": "frequency"},
            [2, 0, 1],
        ),
    ],
)
def test_stacks_by_value_where_values_are_ordered_else_by_frequency(sensitive, asked, order):
    problem, _ = make_problem(table(flu=2, gout=1, mumps=3), sensitive, {"sex": {}}, **asked)
    assert [stack.order.tolist() for _, stack in make_stacks(problem.given())] == [order]


def test_layers_lower_what_is_far_over_its_t():
    # Two attributes that hang together badly: with a tight t for the one, its distance is lower
    # than with a tight t for the other.
    records = [
        {"sex": "f", "disease": ["flu", "gout", "mumps"][(i * 7) % 3], "grade": 1 + (i * i) % 7}
        for i in range(60)
    ]
    reached = {}
    for disease, grade in (("0.9", "0.02"), ("0.02", "0.9")):
        sensitive = {"disease": {"t": disease}, "grade": {"distance": "ordered", "t": grade}}
        problem, _ = make_problem(records, sensitive, {"sex": {}}, deal="layered")
        attributes = problem.attributes.sensitive
        deal = layered_deal(problem.attributes, make_stacks(problem.given())[0][1], 12)
        cells, classes = deal.group(0)
        part = [
            Histograms.tally(
                classes,
                problem.profile.cell_codes[cells, a.column],
                np.ones(60, dtype=np.int64),
                12,
                len(a.distance.table),
            )
            for a in attributes
        ]
        reached[disease] = [
            maximum(a.distance, a.distance.numerators(h), h.sizes)
            for a, h in zip(attributes, part, strict=True)
        ]
    assert reached["0.02"][0] < reached["0.9"][0]
    assert reached["0.9"][1] < reached["0.02"][1]


def test_layers_keep_the_diversity_that_is_asked():
    records = table(flu=40, gout=5)
    plain = chosen(problem_of(records, k=3, method={"deal": "layered"}))
    diverse = chosen(problem_of(records, k=3, method={"deal": "layered"}, l={"distinct": 2}))
    assert plain.size == 3
    assert (diverse.size, diverse.holds) == (9, True)


def test_of_many_stacks_the_best_are_looked_at_further(monkeypatch):
    monkeypatch.setattr("tclose_spark.methods.stack_and_deal.sizing.SCREENED_CELLS", 0)
    records = [
        {"sex": "f", "disease": ["flu", "gout", "mumps"][(i * 7) % 3], "grade": 1 + (i * i) % 23}
        for i in range(90)
    ]
    sensitive = {"disease": {"t": "0.2"}, "grade": {"distance": "ordered", "t": "0.1"}}
    problem, _ = make_problem(records, sensitive, {"sex": {}}, k=5)
    stacks = make_stacks(problem.given())
    assert len(stacks) > 5
    report, _ = choose_size(problem.given(), stacks)
    codes, attributes = problem.profile.cell_codes, problem.attributes.sensitive
    ratios = {
        name: worst_closeness_ratio(
            attributes,
            [maximum_emd(s, codes[:, a.column], a.distance, 90 // 5) for a in attributes],
        )
        for name, s in stacks
    }
    assert ratios[report.order] <= sorted(ratios.values())[2]


def test_the_best_stack_of_the_portfolio_is_taken():
    records = [
        {"sex": "f", "disease": ["flu", "gout", "mumps"][(i * 7) % 3], "grade": 1 + (i * i) % 23}
        for i in range(90)
    ]
    problem, _ = make_problem(
        records,
        {"disease": {}, "grade": {"distance": "ordered"}},
        {"sex": {}},
        k=5,
    )
    stacks = make_stacks(problem.given())
    report = report_size(problem.given(), stacks, 18)
    assert max(report.emd) == min(
        max(report_size(problem.given(), [one], 18).emd) for one in stacks
    )
    assert max(report.emd) < max(max(report_size(problem.given(), [one], 18).emd) for one in stacks)
