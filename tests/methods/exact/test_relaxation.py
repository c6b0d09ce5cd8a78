"""The lower bound on the loss: never above what a release loses, and near it where classes are
large.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from exact_tables import DIGITS, TABLE_1, given, problem_of
from hypothesis import given as drawn_from
from hypothesis import strategies as st
from strategies import CITIES, LI_FIGURE_1, drawn, people, town

from tclose_spark.errors import UnreachableError
from tclose_spark.methods.exact import relaxation
from tclose_spark.methods.exact.plan import plan_exact
from tclose_spark.methods.exact.relaxation import lower_bound
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

QUASI = [
    {"age": {"type": "numeric"}, "sex": {}, "city": {"hierarchy": "cities.csv"}},
    {"age": {"type": "numeric", "round_to": "5"}, "city": {"generalization": "set"}},
    {"age": {"type": "numeric", "range": [0, 100]}, "sex": {}},
]
SENSITIVE = [
    {"disease": {"t": "0.3"}},
    {"disease": {"t": "0.5"}, "grade": {"distance": "ordered", "t": "0.2"}},
    {"disease": {"t": "0.4", "l": {"distinct": 2}}},
    {"disease": {}},
]


@drawn(60)
@drawn_from(
    people(least=4, most=9),
    st.sampled_from(SENSITIVE),
    st.sampled_from(QUASI),
    st.integers(2, 3),
    st.integers(4, 2000),
)
def test_it_is_never_above_the_least_loss(
    records: Any,
    sensitive: Any,
    quasi: Any,
    k: int,
    together: int,
) -> None:
    trees = {"city": CITIES} if "hierarchy" in quasi.get("city", {}) else {}
    problem, rows = problem_of(records, sensitive, k, quasi=quasi, hierarchies=trees)
    try:
        least = plan_exact(given(problem, rows)).loss
    except UnreachableError:
        return
    with pytest.MonkeyPatch.context() as patch:  # so that quasi-identifiers are looked at in parts
        patch.setattr(relaxation, "MOST_TOGETHER", together)
        assert 0 <= lower_bound(problem.attributes, k, rows, 10) <= least


@pytest.mark.parametrize(
    ("k", "asked", "bound", "cost"),
    [
        (2, {"t": "0.1"}, 63.9, 64),
        (3, {"t": "0.3"}, 59, 63),
        (2, {"t": "0.3"}, 49, 52),
        (5, {}, 45, 65),
    ],
)
def test_liang_and_yuans_table_1(k: int, asked: dict[str, Any], bound: float, cost: int) -> None:
    problem, rows = problem_of(TABLE_1, {"disease": asked}, k, quasi=DIGITS)
    assert bound < 80 * lower_bound(problem.attributes, k, rows, 20) <= cost


def two_towns(each: int) -> list[dict[str, Any]]:
    """Everyone in one town has flu, and everyone in the other one gout."""
    return [
        {"city": c, "disease": d}
        for c, d in (("Pisa", "flu"), ("Lyon", "gout"))
        for _ in range(each)
    ]


def test_two_towns_of_one_disease_each_cannot_be_shown() -> None:
    problem, rows = problem_of(
        two_towns(50),
        {"disease": {"t": "0.1"}},
        5,
        quasi={"city": {}},
        hierarchies={},
    )
    assert lower_bound(problem.attributes, 5, rows, 20) == pytest.approx(1.0, abs=1e-6)
    easier, _ = problem_of(
        two_towns(50),
        {"disease": {"t": "0.5"}},
        5,
        quasi={"city": {}},
        hierarchies={},
    )
    assert lower_bound(easier.attributes, 5, rows, 20) == 0


def test_the_surplus_of_a_town_needs_the_other_town() -> None:
    # 60 flu of 100 in one town, 40 in the other one: at t = 0.05 a class of a town has at most 55
    # of 100.
    records = [
        {"city": c, "disease": d}
        for c, d, n in (
            ("Pisa", "flu", 60),
            ("Pisa", "gout", 40),
            ("Lyon", "flu", 40),
            ("Lyon", "gout", 60),
        )
        for _ in range(n)
    ]
    problem, rows = problem_of(
        records,
        {"disease": {"t": "0.05"}},
        5,
        quasi={"city": {}},
        hierarchies={},
    )
    # The 40 others of a town are 45 % of a class, which has 40 / .45 * .55 of the 60.
    assert lower_bound(problem.attributes, 5, rows, 20) == pytest.approx(
        (60 - 40 / 0.45 * 0.55) / 100,
        abs=1e-4,
    )


def test_who_is_rare_needs_a_label_of_k_rows() -> None:
    records = [{"sex": s, "disease": "flu"} for s in "fffffm"]
    problem, rows = problem_of(records, {"disease": {}}, 2, quasi={"sex": {}}, hierarchies={})
    assert lower_bound(problem.attributes, 2, rows, 20) == pytest.approx(1 / 6, abs=1e-6)


def test_a_hierarchical_distance() -> None:
    diseases = [path[0] for path in LI_FIGURE_1.paths]
    records = [
        {"city": c, "d": d}
        for i, c in enumerate(("Pisa", "Lyon"))
        for d in diseases[5 * i : 5 * i + 5]
    ] * 6
    # Respiratory diseases in one town, digestive ones in the other one: all of a town is 1/2 from
    # the table.
    for t, least in (("0.5", 0.0), ("0.49", 1.0)):
        sensitive = {"d": {"distance": "hierarchical", "hierarchy": "d.csv", "t": t}}
        problem, rows = problem_of(
            records,
            sensitive,
            5,
            quasi={"city": {}},
            hierarchies={"d": LI_FIGURE_1},
        )
        assert lower_bound(problem.attributes, 5, rows, 20) == pytest.approx(least, abs=1e-6)


def test_it_counts_only_quasi_identifiers_that_it_looks_at(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, rows = problem_of(town(60), {"disease": {"t": "0.1"}}, 4)
    whole = lower_bound(problem.attributes, 4, rows, 20)
    any_value = tuple(
        replace(q, missing_any=q.name == "age") for q in problem.attributes.quasi_identifiers
    )
    partly = lower_bound(replace(problem.attributes, quasi_identifiers=any_value), 4, rows, 20)
    assert 0 < partly < whole
    monkeypatch.setattr(relaxation, "MOST_ENTRIES", 0)
    monkeypatch.setattr(relaxation, "MOST_TOGETHER", 0)
    assert lower_bound(problem.attributes, 4, rows, 20) == 0


def test_n_t_closeness_leaves_k_alone() -> None:
    problem, rows = problem_of(
        two_towns(50),
        {"disease": {"t": "0.1"}},
        5,
        quasi={"city": {}},
        hierarchies={},
    )
    assert lower_bound(replace(problem.attributes, nt=20), 5, rows, 20) == 0


def test_columns_with_many_values_count_as_losing_nothing() -> None:
    records = [
        {"income": i, "sex": "fm"[i % 2], "disease": "ab"[i % 2], "pay": i} for i in range(450)
    ]
    sensitive = {"disease": {"t": "0.1"}, "pay": {"distance": "ordered", "t": "0.001"}}
    problem, rows = problem_of(
        records,
        sensitive,
        5,
        quasi={"income": {"type": "numeric"}, "sex": {}},
        hierarchies={},
    )
    assert lower_bound(problem.attributes, 5, rows, 20) == pytest.approx(
        0.5,
        abs=1e-6,
    )  # sex is `*`


def test_distances_that_differ_by_less_than_the_least_of_them() -> None:
    """Two of three values are 4/5 apart, and both 1 from the third: a label of all but one needs
    its nearest values.
    """
    paths = [
        (d, *(f"{d} {height}" for height in range(1, 4)), above, "*")
        for d, above in zip("fgm", "aab", strict=True)
    ]
    records = [{"city": c, "d": d} for c, d in ("pg", "lf", "lg", "lf", "pm", "ng")]
    sensitive = {"d": {"distance": "hierarchical", "hierarchy": "d.csv", "t": "0.3"}}
    trees = {"d": Hierarchy.build(paths, "d")}
    problem, rows = problem_of(
        records,
        sensitive,
        3,
        quasi={"city": {"generalization": "set"}},
        hierarchies=trees,
    )
    least = plan_exact(given(problem, rows)).loss
    assert least == pytest.approx(1 / 3)
    assert lower_bound(problem.attributes, 3, rows, 20) <= least


def test_a_search_of_many_labels_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, rows = problem_of(
        two_towns(50),
        {"disease": {"t": "0.1"}},
        5,
        quasi={"city": {}},
        hierarchies={},
    )
    clock, looks, moved = itertools.count(), [], relaxation.Relaxation._moved
    monkeypatch.setattr(
        relaxation.time,
        "monotonic",
        lambda: next(clock),
    )  # a second more at each look
    monkeypatch.setattr(
        relaxation.Relaxation,
        "_moved",
        lambda *given: looks.append(1) or moved(*given),
    )
    assert 0 <= lower_bound(problem.attributes, 5, rows, 20) <= 1
    assert len(looks) <= 20 < relaxation.STEPS
