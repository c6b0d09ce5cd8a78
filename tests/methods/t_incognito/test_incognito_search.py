"""The node that is found, beside all nodes of drawn tables by brute force."""

import math
from fractions import Fraction

import numpy as np
import pytest
from full_domain import all_nodes, given_of, groups_of, is_class, is_poor, levels_of, loss_of
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn, make_problem, people, town

from tclose_spark.errors import UnreachableError
from tclose_spark.methods.t_incognito.planning import plan_t_incognito

ASKED = [
    {"disease": {"t": "0.3"}},
    {"disease": {"t": "0.45", "l": {"distinct": 2}}, "grade": {"distance": "ordered", "t": "0.3"}},
    {"grade": {"distance": "ordered", "t": "0.2"}},
    {"grade": {"distance": "ordered", "order": "frequency", "t": "0.2"}},
    {"disease": {"l": {"entropy": "1.5"}}},
    {"disease": {"l": {"recursive": {"c": 2, "l": 2}}}, "grade": {"t": "0.6"}},
    {
        "city": {
            "distance": "hierarchical",
            "hierarchy": "cities.csv",
            "t": "0.25",
            "missing": "leaf",
        },
    },
]
QUASI = {"age": {"type": "numeric", "round_to": 5}, "sex": {}, "city": {"hierarchy": "cities.csv"}}


def problem_of(records, asked, k, metric):
    quasi = {name: settings for name, settings in QUASI.items() if name not in asked}
    if "city" in asked:
        records = [{**record, "city": record["city"] or "Pisa"} for record in records]
    return make_problem(records, asked, quasi=quasi, k=k, name="t_incognito", metric=metric)


@drawn(60)
@given(
    people(least=6, most=30),
    st.sampled_from(ASKED),
    st.integers(2, 3),
    st.sampled_from(["ncp", "discernibility"]),
)
def test_without_suppression_the_best_of_all_nodes_is_found_among_minimal_ones(
    records,
    asked,
    k,
    metric,
):
    problem, rows = problem_of(records, asked, k, metric)
    levels, whole = levels_of(problem, rows), np.arange(len(rows))
    holds = {
        node
        for node in all_nodes(levels)
        if all(is_class(problem, rows, places, whole) for places in groups_of(levels, rows, node))
    }
    if not holds:
        with pytest.raises(UnreachableError):
            plan_t_incognito(given_of(problem, rows))
        return
    details = plan_t_incognito(given_of(problem, rows)).report().details
    minimal = {
        node
        for node in holds
        if not any((*node[:i], level - 1, *node[i + 1 :]) in holds for i, level in enumerate(node))
    }
    assert details["holding"] == len(minimal)
    assert {tuple(best["node"]) for best in details["best"]} <= minimal
    losses = {node: loss_of(metric, problem, rows, levels, node, set()) for node in holds}
    chosen = tuple(details["node"].values())
    assert losses[chosen] == pytest.approx(min(losses.values()))
    assert details["losses"][metric] == pytest.approx(losses[chosen])


@drawn(60)
@given(
    people(least=8, most=30),
    st.sampled_from(ASKED),
    st.sampled_from(["input", "released"]),
    st.sampled_from(["ncp", "discernibility", "entropy"]),
    st.integers(1, 8),
)
def test_with_suppression_no_node_that_holds_loses_less(records, asked, of, metric, most):
    """Of the nodes that hold where what is no class is left out, and what is left out is a class
    where it has to be.
    """
    problem, rows = problem_of(records, asked, 2, metric)
    levels, losses = levels_of(problem, rows), []
    for node in all_nodes(levels):
        left = left_out(problem, rows, groups_of(levels, rows, node), of, most)
        if left is not None:
            losses.append(loss_of(metric, problem, rows, levels, node, left))
    try:
        details = plan_t_incognito(given_of(problem, rows, most, of)).report().details
    except UnreachableError:
        assert not losses
        return
    assert details["suppressed"] <= most
    assert not losses or details["losses"][metric] <= min(losses) + 1e-9


def left_out(problem, rows, groups, of, most):
    """The rows of groups that are no classes; None if they are too many, or must be a class and are
    none.
    """
    left = {row for places in groups if is_poor(problem, rows, places) for row in places.tolist()}
    whole = np.arange(len(rows))
    if len(left) > most:
        return None
    while True:
        stay = np.array([row for row in whole if row not in left], dtype=np.int64)
        compared = whole if of == "input" else stay
        broken = [
            g for g in groups if int(g[0]) not in left and not is_class(problem, rows, g, compared)
        ]
        left |= {row for places in broken for row in places.tolist()}
        if len(left) > most or len(left) == len(rows):
            return None
        if not broken:
            break
    if left and of == "input" and not is_class(problem, rows, np.array(sorted(left)), whole):
        return None
    return left


def test_a_coarser_node_may_break_t_where_a_finer_one_suppresses_little():
    """What rules out pruning by t with a suppression limit: Siena's six go, but all of Tuscany
    would have to.
    """
    rows_of = {"Lyon": (450, 476), "Pisa": (60, 40), "Siena": (6, 0)}
    records = [
        {"city": city, "disease": disease}
        for city, counts in rows_of.items()
        for disease, n in zip(("flu", "gout"), counts, strict=True)
        for _ in range(n)
    ]
    quasi = {"city": {"hierarchy": "cities.csv"}}
    problem, rows = make_problem(
        records,
        {"disease": {"t": "0.1"}},
        quasi=quasi,
        k=5,
        name="t_incognito",
        metric="discernibility",
    )
    details = (
        plan_t_incognito(given_of(problem, rows, 6), class_of_suppressed=False).report().details
    )
    assert (details["node"], details["suppressed"], details["classes"]) == ({"city": 0}, 6, 2)
    assert [best["node"] for best in details["best"]] == [[0], [3]]
    assert plan_t_incognito(given_of(problem, rows)).report().details["node"] == {"city": 3}


def test_a_node_that_holds_only_beside_what_is_released_is_not_pruned():
    """Pisa is too far from the input; without Lyon's four, who are suppressed, it is all
    there is.
    """
    records = [
        {"city": city, "disease": disease}
        for city, disease, n in (("Pisa", "flu", 60), ("Pisa", "gout", 56), ("Lyon", "gout", 4))
        for _ in range(n)
    ]
    quasi = {"city": {"hierarchy": "cities.csv"}}
    problem, rows = make_problem(
        records,
        {"disease": {"t": "0.01"}},
        quasi=quasi,
        k=5,
        name="t_incognito",
    )
    details = plan_t_incognito(given_of(problem, rows, 4, "released")).report().details
    assert (details["node"], details["suppressed"], details["classes"]) == ({"city": 0}, 4, 1)


def test_beside_what_is_released_the_domain_is_without_values_that_are_suppressed_altogether():
    """Lyon's three are all who have 9; without them 1 and 2 are at distance 1, no more at 1/2, so
    Pisa is too far.
    """
    rows_of = {"Lyon": [9] * 3, "Pisa": [1] * 30 + [2] * 10, "Siena": [1] * 20 + [2] * 20}
    records = [
        {"city": city, "grade": grade} for city, grades in rows_of.items() for grade in grades
    ]
    quasi = {"city": {"hierarchy": "cities.csv"}}
    for t, node in (("0.12", 1), ("0.13", 0)):
        asked = {"grade": {"distance": "ordered", "t": t}}
        problem, rows = make_problem(records, asked, quasi=quasi, k=5, name="t_incognito")
        details = plan_t_incognito(given_of(problem, rows, 3, "released")).report().details
        assert (details["node"], details["suppressed"]) == ({"city": node}, 3)
        assert Fraction(details["emd"]["grade"]) == (0 if node else Fraction(1, 8))


def test_a_node_that_holds_only_in_the_domain_of_what_is_released_is_not_pruned():
    """Lyon's 5 stands between 1 and 9; without it these are a step apart, and each city
    within t.
    """
    rows_of = {"Lyon": [5] * 3, "Pisa": [1] * 20 + [10] * 20, "Siena": [9] * 20 + [10] * 20}
    records = [
        {"city": city, "grade": grade} for city, grades in rows_of.items() for grade in grades
    ]
    quasi, asked = (
        {"city": {"hierarchy": "cities.csv"}},
        {"grade": {"distance": "ordered", "t": "0.125"}},
    )
    problem, rows = make_problem(records, asked, quasi=quasi, k=5, name="t_incognito")
    details = plan_t_incognito(given_of(problem, rows, 3, "released")).report().details
    assert (details["node"], details["suppressed"], details["emd"]) == (
        {"city": 0},
        3,
        {"grade": "1/8"},
    )


def test_the_smallest_classes_are_suppressed_with_what_is_no_class():
    """Where the input is compared with: Siena's six are none alone, and are one with the eight of
    Nice.
    """
    rows_of = {"Lyon": (450, 452), "Pisa": (48, 46), "Siena": (6, 0), "Nice": (1, 7)}
    records = [
        {"city": city, "disease": disease}
        for city, counts in rows_of.items()
        for disease, n in zip(("flu", "gout"), counts, strict=True)
        for _ in range(n)
    ]
    quasi = {"city": {"hierarchy": "cities.csv"}}
    problem, rows = make_problem(
        records,
        {"disease": {"t": "0.4"}},
        quasi=quasi,
        k=5,
        name="t_incognito",
    )
    for most, alone, left in ((14, False, 14), (13, True, 0), (14, True, 14)):
        details = (
            plan_t_incognito(given_of(problem, rows, most), class_of_suppressed=alone)
            .report()
            .details
        )
        assert details["suppressed"] == (6 if not alone else left)
    assert details["losses"] == {
        "ncp": pytest.approx(14 / 1010),
        "discernibility": 902**2 + 94**2 + 14 * 1010,
        "entropy": pytest.approx((6 * math.log2(1010 / 6) + 8 * math.log2(1010 / 8)) / 1010),
    }


def test_far_fewer_nodes_are_looked_at_than_there_are():
    problem, rows = make_problem(town(2000), {"disease": {"t": "0.2"}}, k=5, name="t_incognito")
    details = plan_t_incognito(given_of(problem, rows)).report().details
    assert details["nodes"] == 6 * 2 * 4
    assert details["looked_at"] < details["nodes"]
    assert details["classes"] > 1


@pytest.mark.parametrize("metric", ["ncp", "discernibility", "entropy"])
def test_each_metric_finds_its_own_least(metric):
    found = {}
    for other in ("ncp", "discernibility", "entropy"):
        problem, rows = make_problem(
            town(600),
            {"disease": {"t": "0.25"}},
            k=5,
            name="t_incognito",
            metric=other,
        )
        found[other] = plan_t_incognito(given_of(problem, rows)).report().details["losses"]
    assert found[metric][metric] == min(losses[metric] for losses in found.values())
