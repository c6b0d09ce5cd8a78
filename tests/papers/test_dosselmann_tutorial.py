"""Dosselmann, Sadeqi and Hamilton, the tutorial: the distance of every class, and the steps of
every transformation.
"""

from fractions import Fraction

import numpy as np
import pytest

from tclose_spark.measures.closeness import (
    distinct_l,
    earth_movers_distance,
    k_anonymity,
    t_closeness,
)
from tclose_spark.measures.distances.ground_distances import OrderedDistance
from tclose_spark.measures.distances.transport import transport_plan

TABLE_2 = {
    "2C": ["power outage"] * 3,
    "4F": ["theft", "fire", "fatal accident", "fire"],
    "9A": ["sidewalk repair", "power outage"],
    "3B": ["pest control", "power outage", "sidewalk repair", "tree replanting", "sidewalk repair"],
}
TABLE_3_SALARY = [[3, 4, 5], [6, 11, 8], [7, 9, 10]]
TABLE_3_DISEASE = [
    ["gastric ulcer", "gastritis", "stomach cancer"],
    ["gastritis", "flu", "bronchitis"],
    ["bronchitis", "pneumonia", "stomach cancer"],
]
TABLE_4 = {"E": [1, 4, 2], "U": [3], "G": [3, 4, 3, 1], "R": [4, 3]}


def flat(classes):
    return [value for part in classes for value in part]


def label_of_each(classes):
    """The class of each record, as the one quasi-identifier."""
    return [[label for label, part in classes.items() for _ in part]]


def steps(part, whole, domain):
    """The plan's moves as the tutorial writes them: mass, and indices from 1."""
    counts = [np.array([records.count(value) for value in domain]) for records in (part, whole)]
    plan = transport_plan(OrderedDistance(counts[1]), counts[0])
    return [(move.mass, move.source + 1, move.target + 1) for move in plan.moves], plan.cost


def test_section_2_1_equations_3_7_and_8():
    domain = [14, 27, 88, 101]
    assert earth_movers_distance([14, 88], domain, "ordered") == Fraction(1, 6)
    quarter = Fraction(1, 4)
    assert steps([14, 88], domain, domain) == ([(quarter, 1, 2), (quarter, 3, 4)], Fraction(1, 6))
    costs = [
        move.cost
        for move in transport_plan(
            OrderedDistance(np.ones(4, dtype=np.int64)),
            np.array([1, 0, 1, 0]),
        ).moves
    ]
    assert costs == [Fraction(1, 12)] * 2
    assert round(float(costs[0]), 4) == 0.0833


def test_table_2_k_and_l():
    assert [len(part) for part in TABLE_2.values()] == [3, 4, 2, 5]
    assert k_anonymity(label_of_each(TABLE_2)) == 2
    assert [distinct_l([["*"] * len(part)], part) for part in TABLE_2.values()] == [1, 3, 2, 4]
    assert distinct_l(label_of_each(TABLE_2), flat(TABLE_2.values())) == 1


def test_table_2_incidents_equation_10():
    whole = flat(TABLE_2.values())
    found = [earth_movers_distance(part, whole) for part in TABLE_2.values()]
    assert found == [Fraction(9, 14), Fraction(5, 7), Fraction(3, 7), Fraction(31, 70)]
    assert [round(float(x), 4) for x in found] == [0.6429, 0.7143, 0.4286, 0.4429]
    assert t_closeness(label_of_each(TABLE_2), whole) == Fraction(5, 7)


def test_table_3_salary():
    whole = flat(TABLE_3_SALARY)
    found = [earth_movers_distance(part, whole, "ordered") for part in TABLE_3_SALARY]
    assert found == [Fraction(3, 8), Fraction(1, 6), Fraction(17, 72)]
    assert [round(float(x), 4) for x in found] == [0.375, 0.1667, 0.2361]


def test_table_3_salary_equation_13_actions_a():
    # What crosses each gap between neighbours is what the moves carry over it.
    moves, cost = steps(TABLE_3_SALARY[0], flat(TABLE_3_SALARY), range(3, 12))
    crossing = [
        sum(mass for mass, source, target in moves if source <= gap < target) for gap in range(1, 9)
    ]
    assert crossing == [Fraction(a, 9) for a in (2, 4, 6, 5, 4, 3, 2, 1)]
    assert sum(crossing) / 8 == cost


def test_table_3_salary_equation_14_steps_b():
    pairs = [(1, 4), (1, 5), (2, 6), (2, 7), (3, 8), (3, 9)]
    found = steps(TABLE_3_SALARY[0], flat(TABLE_3_SALARY), range(3, 12))
    assert found == ([(Fraction(1, 9), *pair) for pair in pairs], Fraction(3, 8))


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        (1, [(4, 1), (4, 2), (4, 3), (6, 4), (6, 5), (9, 7), (9, 8)]),
        (2, [(5, 1), (5, 2), (5, 3), (7, 4), (7, 5), (7, 6), (8, 7), (8, 9)]),
    ],
    ids=["equation 15", "equation 16"],
)
def test_table_3_salary_other_classes(number, printed):
    # The printed moves refill what they empty (4, 5 and 7); the plan moves surplus only, in six
    # steps at the same cost.
    moves, cost = steps(TABLE_3_SALARY[number], flat(TABLE_3_SALARY), range(3, 12))
    assert cost == Fraction(sum(abs(i - j) for i, j in printed), 9 * 8)
    assert [mass for mass, _, _ in moves] == [Fraction(1, 9)] * 6


@pytest.mark.parametrize(
    ("asked", "expected", "t"),
    [
        ({"order": "frequency"}, [0.3333, 0.3333, 0.0833, 0.1667], Fraction(1, 3)),
        ({"order": "value"}, [0.1778, 0.2667, 0.05, 0.2333], Fraction(4, 15)),
    ],
    ids=["by frequency, as printed", "by value"],
)
def test_table_4_merit_points(asked, expected, t):
    whole = flat(TABLE_4.values())
    found = [earth_movers_distance(part, whole, "ordered", **asked) for part in TABLE_4.values()]
    assert [round(float(x), 4) for x in found] == expected
    assert t_closeness(label_of_each(TABLE_4), whole, "ordered", **asked) == max(found) == t


def test_table_4_equation_19_steps_c():
    found = steps(TABLE_4["E"], flat(TABLE_4.values()), [3, 4, 1, 2])
    assert found == (
        [(Fraction(1, 30), 2, 1), (Fraction(4, 30), 3, 1), (Fraction(7, 30), 4, 1)],
        Fraction(1, 3),
    )


def test_table_3_disease_equation_20():
    whole = flat(TABLE_3_DISEASE)
    assert [earth_movers_distance(part, whole) for part in TABLE_3_DISEASE] == [Fraction(4, 9)] * 3
    assert t_closeness([[0, 0, 0, 1, 1, 1, 2, 2, 2]], whole) == Fraction(4, 9)
