"""Weber, thesis: Tables 2, 3, 5 and 6 of chapter 2 and the distances of 3.2.2."""

from fractions import Fraction

import pytest

from tclose_spark.measures.closeness import (
    distinct_l,
    earth_movers_distance,
    entropy_l,
    equivalence_classes,
    k_anonymity,
    recursive_cl,
    t_closeness,
)
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

TABLE_2_QI = [["672**"] * 9, ["20-59"] * 9]
TABLE_3_QI = [
    ["672**"] * 3 + ["6721*"] * 3 + ["672**"] * 3,
    ["2*"] * 3 + ["40-59"] * 3 + ["3*"] * 3,
]
TABLE_3 = ["bronchitis"] * 3 + [
    "pneumonia",
    "pneumonia",
    "bone cancer",
    "bronchitis",
    "liver cancer",
    "liver cancer",
]
TABLE_5 = [
    "bronchitis",
    "pneumonia",
    "liver cancer",
    "bronchitis",
    "pneumonia",
    "bone cancer",
    "bronchitis",
    "liver cancer",
    "bone cancer",
]
TABLE_6_SALARY = [23, 21, 27, 58, 49, 56, 81, 83, 91]
TABLE_6_DIAGNOSIS = [*TABLE_5[:6], "lung cancer", "bone cancer", "liver cancer"]
CANCERS = Hierarchy.build(
    [
        ("bronchitis", "infection", "*"),
        ("pneumonia", "infection", "*"),
        ("lung cancer", "cancer", "*"),
        ("bone cancer", "cancer", "*"),
        ("liver cancer", "cancer", "*"),
    ],
    "diagnoses",
)


def of_classes(values, **distance):
    """The distance of each class of Tables 3, 5 and 6, which have the same labels, from the whole
    table.
    """
    parts = [[values[record] for record in records] for records in equivalence_classes(TABLE_3_QI)]
    return [earth_movers_distance(part, values, **distance) for part in parts]


def test_table_2_is_one_class():
    assert k_anonymity(TABLE_2_QI) == 9
    assert t_closeness(TABLE_2_QI, TABLE_3) == 0


def test_table_3_is_3_anonymous_and_open_to_homogeneity():
    assert equivalence_classes(TABLE_3_QI) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert k_anonymity(TABLE_3_QI) == 3
    assert distinct_l(TABLE_3_QI, TABLE_3) == 1
    assert [len(set(TABLE_3[i : i + 3])) for i in (0, 3, 6)] == [1, 2, 2]
    assert of_classes(TABLE_3) == [Fraction(5, 9), Fraction(2, 3), Fraction(4, 9)]


def test_table_5_is_3_diverse():
    assert distinct_l(TABLE_3_QI, TABLE_5) == 3
    assert entropy_l(TABLE_3_QI, TABLE_5) == pytest.approx(3)
    assert of_classes(TABLE_5) == [Fraction(2, 9)] * 3


def test_section_2_2_3_skewness():
    population, one = ["negative"] * 99 + ["positive"], [["*"] * 10]
    even, nine, alone = (
        ["positive", "negative"] * 5,
        ["positive"] * 9 + ["negative"],
        ["positive"] + ["negative"] * 9,
    )
    assert [distinct_l(one, values) for values in (even, nine, alone)] == [2, 2, 2]
    assert [t_closeness(one, values, reference=population) for values in (even, nine, alone)] == [
        Fraction(49, 100),
        Fraction(89, 100),
        Fraction(9, 100),
    ]


@pytest.mark.parametrize("values", [TABLE_6_SALARY, TABLE_6_DIAGNOSIS], ids=["salary", "diagnosis"])
def test_table_6_is_3_diverse_by_every_instantiation(values):
    assert distinct_l(TABLE_3_QI, values) == 3
    assert entropy_l(TABLE_3_QI, values) == pytest.approx(3)
    assert recursive_cl(TABLE_3_QI, values, "1.01", 3)


def test_table_6_similarity_of_salaries():
    # The first class has the three lowest, the third the three highest; the mean is about 54,000.
    assert of_classes(TABLE_6_SALARY, distance="ordered") == [
        Fraction(3, 8),
        Fraction(7, 36),
        Fraction(3, 8),
    ]
    assert round(sum(TABLE_6_SALARY) / 9) == 54
    assert of_classes(TABLE_6_SALARY) == [Fraction(2, 3)] * 3


def test_table_6_similarity_of_diagnoses():
    # The third class has cancers only.
    found = of_classes(TABLE_6_DIAGNOSIS, distance="hierarchical", hierarchy=CANCERS)
    assert found == [Fraction(5, 18), Fraction(5, 18), Fraction(4, 9)]


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [
        ([3, 1, 6], [4, 0, 6], Fraction(1, 20)),
        ([3, 1, 6], [1, 7, 2], Fraction(3, 10)),
        ([4, 0, 6], [1, 7, 2], Fraction(7, 20)),
    ],
    ids=["P Q", "P R", "Q R"],
)
def test_section_3_2_2_three_distributions(p, q, expected):
    p, q = (
        [value for value, count in enumerate(counts) for _ in range(count)] for counts in (p, q)
    )
    assert (
        earth_movers_distance(p, q, "ordered", [0, 1, 2])
        == earth_movers_distance(q, p, "ordered", [0, 1, 2])
        == expected
    )
