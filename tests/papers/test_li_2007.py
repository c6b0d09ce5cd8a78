"""Li, Li and Venkatasubramanian 2007: Tables 1 to 5, the statements of section 3, and Figure 1.
Exact where the paper rounds.
"""

from fractions import Fraction

import numpy as np
import pytest
from strategies import LI_FIGURE_1

from tclose_spark.measures.closeness import (
    distinct_l,
    earth_movers_distance,
    entropy_l,
    equivalence_classes,
    k_anonymity,
    nt_close_superset,
    recursive_cl,
    t_closeness,
)
from tclose_spark.measures.disclosure.beliefs import in_groups, most_frequent, value_groups
from tclose_spark.measures.distances.ground_distances import OrderedDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.measures.distances.transport import transport_plan

ZIP = ["47677", "47602", "47678", "47905", "47909", "47906", "47605", "47673", "47607"]
AGE = [29, 22, 27, 43, 52, 47, 30, 36, 32]
TABLE_1_DISEASE = ["heart disease"] * 3 + [
    "flu",
    "heart disease",
    "cancer",
    "heart disease",
    "cancer",
    "cancer",
]

# Table 2, and Table 4 of the same people.
TABLE_2_QI = [
    ["476**"] * 3 + ["4790*"] * 3 + ["476**"] * 3,
    ["2*"] * 3 + [">= 40"] * 3 + ["3*"] * 3,
]

TABLE_3_SALARY = [3, 4, 5, 6, 11, 8, 7, 9, 10]
TABLE_3_DISEASE = [
    "gastric ulcer",
    "gastritis",
    "stomach cancer",
    "gastritis",
    "flu",
    "bronchitis",
    "bronchitis",
    "pneumonia",
    "stomach cancer",
]
TABLE_4_QI = TABLE_2_QI

# Table 5 in the order of Table 3: its classes are 1 3 8, 4 5 6 and 2 7 9.
TABLE_5_QI = [
    ["4767*", "4760*", "4767*", "4790*", "4790*", "4790*", "4760*", "4767*", "4760*"],
    ["<= 40"] * 3 + [">= 40"] * 3 + ["<= 40"] * 3,
]


def of_classes(quasi, values, **distance):
    """The distance of each class from the whole table."""
    parts = [[values[record] for record in records] for records in equivalence_classes(quasi)]
    return [earth_movers_distance(part, values, **distance) for part in parts]


def test_table_1_everyone_is_alone():
    assert k_anonymity([ZIP, AGE]) == 1


def test_table_2_is_3_anonymous_and_open_to_homogeneity():
    assert equivalence_classes(TABLE_2_QI) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert k_anonymity(TABLE_2_QI) == 3
    assert distinct_l(TABLE_2_QI, TABLE_1_DISEASE) == 1
    assert entropy_l(TABLE_2_QI, TABLE_1_DISEASE) == 1
    assert of_classes(TABLE_2_QI, TABLE_1_DISEASE) == [
        Fraction(4, 9),
        Fraction(2, 9),
        Fraction(1, 3),
    ]


POPULATION = ["positive"] * 100 + ["negative"] * 9900


def test_section_3_example_2_the_whole_table_has_little_entropy():
    assert entropy_l([["*"] * 10000], POPULATION) == pytest.approx(1.0576, abs=5e-5)
    assert distinct_l([["*"] * 50], ["negative"] * 50) == 1
    assert earth_movers_distance(["negative"] * 50, POPULATION) == Fraction(1, 100)


def test_section_3_skewness_of_an_equal_number_of_positive_and_negative():
    one, values = [["*"] * 50], ["positive", "negative"] * 25
    assert distinct_l(one, values) == 2
    assert entropy_l(one, values) == pytest.approx(2)
    assert recursive_cl(one, values, "1.000001", 2)
    assert not recursive_cl(one, values, 1, 2)
    assert t_closeness(one, values, reference=POPULATION) == Fraction(49, 100)


def test_section_3_skewness_of_49_positive_and_1_negative():
    one, risky, safe = (
        [["*"] * 50],
        ["positive"] * 49 + ["negative"],
        ["negative"] * 49 + ["positive"],
    )
    assert distinct_l(one, risky) == distinct_l(one, safe) == 2
    assert entropy_l(one, risky) == entropy_l(one, safe) > entropy_l([["*"] * 10000], POPULATION)
    for c in (48, 49, 50):
        assert recursive_cl(one, risky, c, 2) == recursive_cl(one, safe, c, 2) == (c > 49)
    # 98 % positive where 1 % is: what diversity does not see, closeness does.
    assert t_closeness(one, risky, reference=POPULATION) == Fraction(97, 100)
    assert t_closeness(one, safe, reference=POPULATION) == Fraction(1, 100)


@pytest.mark.parametrize("values", [TABLE_3_SALARY, TABLE_3_DISEASE], ids=["salary", "disease"])
def test_table_4_is_3_diverse(values):
    assert k_anonymity(TABLE_4_QI) == 3
    assert distinct_l(TABLE_4_QI, values) == 3
    assert entropy_l(TABLE_4_QI, values) == pytest.approx(3)


def test_table_4_similarity_of_salaries():
    assert of_classes(TABLE_4_QI, TABLE_3_SALARY, distance="ordered") == [
        Fraction(3, 8),
        Fraction(1, 6),
        Fraction(17, 72),
    ]
    assert t_closeness(TABLE_4_QI, TABLE_3_SALARY, "ordered") == Fraction(3, 8)


def test_section_6_a_class_whose_values_lie_in_one_group():
    """Of Table 4 the first class has the three lowest salaries: of three groups of salaries it has
    one.
    """
    distance = OrderedDistance(np.ones(9, dtype=np.int64))
    owner = np.repeat([0, 1, 2], 3)
    codes = np.array([sorted(TABLE_3_SALARY).index(salary) for salary in TABLE_3_SALARY])
    classes = Histograms.tally(owner, codes, np.ones(9, dtype=np.int64), 3, 9)
    assert most_frequent(in_groups(value_groups(distance), classes)).first.tolist() == [3, 2, 2]


def test_section_4_the_variational_distance_does_not_see_similarity():
    assert of_classes(TABLE_4_QI, TABLE_3_SALARY) == [Fraction(2, 3)] * 3


def test_section_5_3_footnote_4_another_flow_costs_the_same():
    flow = [(5, 11), (5, 10), (5, 9), (4, 8), (4, 7), (4, 6), (3, 5), (3, 4)]
    masses = dict.fromkeys(range(3, 12), Fraction(0)) | dict.fromkeys([3, 4, 5], Fraction(1, 3))
    for source, target in flow:
        masses[source] -= Fraction(1, 9)
        masses[target] += Fraction(1, 9)
    assert set(masses.values()) == {Fraction(1, 9)}
    plan = transport_plan(OrderedDistance(np.ones(9, dtype=np.int64)), np.array([1] * 3 + [0] * 6))
    assert (
        plan.cost
        == Fraction(sum(target - source for source, target in flow), 9 * 8)
        == Fraction(27, 72)
    )


def test_figure_1_distances_of_single_diseases():
    others = ["bronchitis", "pulmonary embolism", "stomach cancer"]
    found = [
        earth_movers_distance(["flu"], [other], "hierarchical", hierarchy=LI_FIGURE_1)
        for other in others
    ]
    assert found == [Fraction(1, 3), Fraction(2, 3), Fraction(1)]


def test_table_5_is_3_anonymous_and_3_diverse():
    assert equivalence_classes(TABLE_5_QI) == [[0, 2, 7], [1, 6, 8], [3, 4, 5]]
    assert (distinct_l(TABLE_5_QI, TABLE_3_SALARY), distinct_l(TABLE_5_QI, TABLE_3_DISEASE)) == (
        3,
        3,
    )


def test_table_5_salary():
    found = of_classes(TABLE_5_QI, TABLE_3_SALARY, distance="ordered")
    assert found == [Fraction(1, 6), Fraction(1, 12), Fraction(1, 6)]
    assert round(float(t_closeness(TABLE_5_QI, TABLE_3_SALARY, "ordered")), 3) == 0.167


def test_tables_4_and_5_disease_over_the_records():
    tree = {"distance": "hierarchical", "hierarchy": LI_FIGURE_1}
    assert (
        of_classes(TABLE_4_QI, TABLE_3_DISEASE, **tree)[0]
        == t_closeness(TABLE_4_QI, TABLE_3_DISEASE, **tree)
        == Fraction(4, 9)
    )
    assert of_classes(TABLE_5_QI, TABLE_3_DISEASE, **tree) == [
        Fraction(7, 27),
        Fraction(5, 27),
        Fraction(8, 27),
    ]


def test_tables_4_and_5_disease_as_printed_over_the_distinct_values():
    # The printed .5 and .278 take each of the six diseases as equally frequent.
    tree = {
        "distance": "hierarchical",
        "hierarchy": LI_FIGURE_1,
        "reference": sorted(set(TABLE_3_DISEASE)),
    }
    assert t_closeness(TABLE_4_QI, TABLE_3_DISEASE, **tree) == Fraction(1, 2)
    assert t_closeness(TABLE_5_QI, TABLE_3_DISEASE, **tree) == Fraction(5, 18)
    assert round(float(Fraction(5, 18)), 3) == 0.278


def test_2010_nt_closeness_of_table_4_to_a_natural_superset():
    # Those of 476**, six people: the first class is nearer to them than to all nine.
    region = [TABLE_3_SALARY[record] for record in (0, 1, 2, 6, 7, 8)]
    supersets = [region, TABLE_3_SALARY]
    assert nt_close_superset(region[:3], supersets, 6, Fraction(1, 2)) == 0
    assert nt_close_superset(region[:3], supersets, 7, Fraction(1, 2)) is None
    assert nt_close_superset(region[:3], supersets, 9, Fraction(3, 8), "ordered") == 1
