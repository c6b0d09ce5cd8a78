"""Gowda 2023, chapter 2: the privacy models on Tables 2.8 to 2.11, and the distances of 2.6.4."""

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

ZIP = ["47677", "47602", "47678", "47905", "47909", "47906", "47605", "47673", "47607"]
AGE = [29, 25, 27, 43, 52, 47, 30, 36, 32]
SEX = list("MMMFMFMFM")
TABLE_2_8 = ["heart disease"] * 3 + [
    "flu",
    "heart disease",
    "fever",
    "heart disease",
    "fever",
    "fever",
]
TABLE_2_10_SALARY = [3, 4, 5, 6, 11, 8, 7, 9, 10]

# Record 7 is printed as 479**, which is not a generalization of its 47605.
GENERALIZED_AGE = ["2*"] * 3 + [">= 40"] * 3 + ["3*"] * 3
PRINTED_ZIP = ["476**"] * 3 + ["4790*"] * 3 + ["479**"] + ["476**"] * 2
TRUE_ZIP = ["476**"] * 3 + ["4790*"] * 3 + ["476**"] * 3
TABLE_2_9 = [TRUE_ZIP, GENERALIZED_AGE, ["*"] * 9]
TABLE_2_11 = [TRUE_ZIP, GENERALIZED_AGE]


def test_table_2_8_everyone_is_alone():
    assert k_anonymity([ZIP, AGE, SEX]) == 1


def test_table_2_9_is_3_anonymous_and_open_to_homogeneity():
    assert equivalence_classes(TABLE_2_9) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert (k_anonymity(TABLE_2_9), distinct_l(TABLE_2_9, TABLE_2_8)) == (3, 1)
    assert t_closeness(TABLE_2_9, TABLE_2_8) == Fraction(4, 9)


def test_table_2_9_as_printed_has_a_class_of_one():
    assert k_anonymity([PRINTED_ZIP, GENERALIZED_AGE, ["*"] * 9]) == 1


def test_table_2_11_is_3_diverse():
    assert distinct_l(TABLE_2_11, TABLE_2_10_SALARY) == 3
    assert entropy_l(TABLE_2_11, TABLE_2_10_SALARY) == pytest.approx(3)
    assert t_closeness(TABLE_2_11, TABLE_2_10_SALARY, "ordered") == Fraction(3, 8)


def test_section_2_6_1_recursive_diversity_starts_at_r_l():
    # Printed as r_1 < c (r_1 + r_(l+1) + ... + r_m), which a class of one value would satisfy for c
    # above 1.
    assert not recursive_cl([["*"] * 3], ["flu"] * 3, 2, 2)


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [
        ([2, 1, 7], [3, 0, 7], Fraction(1, 20)),
        ([3, 0, 7], [1, 0, 9], Fraction(1, 5)),
        ([2, 1, 7], [1, 0, 9], Fraction(3, 20)),
    ],
    ids=["P Q", "Q R", "P R"],
)
def test_section_2_6_4_three_distributions(p, q, expected):
    p, q = (
        [value for value, count in enumerate(counts) for _ in range(count)] for counts in (p, q)
    )
    assert (
        earth_movers_distance(p, q, "ordered", [0, 1, 2])
        == earth_movers_distance(q, p, "ordered", [0, 1, 2])
        == expected
    )
