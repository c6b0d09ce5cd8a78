"""Liang and Yuan: Tables 1 to 5, every digit a quasi-identifier. The cost of a table is the number
of its suppressed cells.
"""

from fractions import Fraction

import pytest

from tclose_spark.measures.closeness import (
    distinct_l,
    earth_movers_distance,
    equivalence_classes,
    k_anonymity,
    t_closeness,
)

TABLE_1 = [
    ("98765", "38", "Bachelor", "viral infection"),
    ("98654", "39", "Doctorate", "heart disease"),
    ("98543", "32", "Master", "heart disease"),
    ("97654", "65", "Bachelor", "cancer"),
    ("96689", "45", "Bachelor", "viral infection"),
    ("97427", "33", "Bachelor", "viral infection"),
    ("96552", "54", "Bachelor", "heart disease"),
    ("97017", "69", "Doctorate", "cancer"),
    ("97023", "55", "Master", "cancer"),
    ("97009", "62", "Bachelor", "cancer"),
]
DISEASE = [record[-1] for record in TABLE_1]
CELLS = [[*zip_code, *age, education] for zip_code, age, education, _ in TABLE_1]

TABLE_2 = [[1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]
TABLE_3 = [[1, 2], [3, 5, 8, 9], [4, 6, 7, 10]]
TABLE_4 = [[1, 2, 3]]
TABLE_5 = [[1, 2, 4, 3, 5, 8, 9], [6, 7, 10]]


def suppressed(groups):
    """The eight quasi-identifiers of the records of the groups in turn, a cell on which its group
    differs as `*`; and their diseases.
    """
    rows, diseases = [], []
    for group in groups:
        cells = [CELLS[number - 1] for number in group]
        label = [column[0] if len(set(column)) == 1 else "*" for column in zip(*cells, strict=True)]
        rows += [label] * len(group)
        diseases += [DISEASE[number - 1] for number in group]
    return [list(column) for column in zip(*rows, strict=True)], diseases


def cost(quasi):
    return sum(column.count("*") for column in quasi)


def labels(quasi):
    """Zip code, age and education of each class as the tables print them."""
    records = list(zip(*quasi, strict=True))
    return [
        ("".join(r[:5]), "".join(r[5:7]), r[7])
        for r in (records[places[0]] for places in equivalence_classes(quasi))
    ]


def of_groups(groups):
    return [
        earth_movers_distance([DISEASE[number - 1] for number in group], DISEASE)
        for group in groups
    ]


def test_table_1_everyone_is_alone():
    quasi, _ = suppressed([[number] for number in range(1, 11)])
    assert len(quasi) == 8
    assert (k_anonymity(quasi), cost(quasi)) == (1, 0)
    assert [
        Fraction(DISEASE.count(v), 10) for v in ("viral infection", "heart disease", "cancer")
    ] == [
        Fraction(3, 10),
        Fraction(3, 10),
        Fraction(4, 10),
    ]


def test_table_2_costs_54_and_is_3_anonymous():
    quasi, disease = suppressed(TABLE_2)
    assert labels(quasi) == [
        ("98***", "3*", "*"),
        ("9****", "**", "Bachelor"),
        ("970**", "**", "*"),
    ]
    assert (k_anonymity(quasi), cost(quasi)) == (3, 5 * 3 + 6 * 4 + 5 * 3)
    assert cost(quasi) == 54
    # Homogeneity: the third group has cancer only.
    assert distinct_l(quasi, disease) == 1
    assert of_groups(TABLE_2) == [Fraction(2, 5), Fraction(1, 5), Fraction(3, 5)]
    assert t_closeness(quasi, disease) == Fraction(3, 5)


def test_table_3_is_2_diverse_and_not_close():
    # Printed with 97*** for records 4 and 6, which their group of 7 and 10 does not share.
    quasi, disease = suppressed(TABLE_3)
    assert labels(quasi) == [
        ("98***", "3*", "*"),
        ("9****", "**", "*"),
        ("9****", "**", "Bachelor"),
    ]
    assert (k_anonymity(quasi), distinct_l(quasi, disease)) == (2, 2)
    assert all(
        2 * max(values.count(v) for v in values) <= len(values)
        for values in ([DISEASE[i - 1] for i in g] for g in TABLE_3)
    )
    assert of_groups(TABLE_3) == [Fraction(2, 5), Fraction(1, 10), Fraction(1, 10)]
    assert t_closeness(quasi, disease) == Fraction(2, 5) > Fraction(3, 10)


def test_table_3_as_printed_is_as_far():
    printed = [
        ["98***"] * 2 + ["9****"] * 4 + ["97***"] * 2 + ["9****"] * 2,
        ["3*"] * 2 + ["**"] * 8,
        ["*"] * 6 + ["Bachelor"] * 4,
    ]
    _, disease = suppressed(TABLE_3)
    assert [len(places) for places in equivalence_classes(printed)] == [2, 4, 2, 2]
    assert t_closeness(printed, disease) == Fraction(2, 5)


def test_table_4_costs_15():
    quasi, _ = suppressed(TABLE_4)
    assert labels(quasi) == [("98***", "3*", "*")]
    assert cost(quasi) == 5 * 3 == 15


def test_table_5_costs_67_and_is_within_a_tenth():
    quasi, disease = suppressed(TABLE_5)
    assert labels(quasi) == [("9****", "**", "*"), ("9****", "**", "Bachelor")]
    assert (k_anonymity(quasi), cost(quasi)) == (3, 67)
    found = of_groups(TABLE_5)
    assert found == [Fraction(1, 35), Fraction(1, 15)]
    assert [round(float(x), 6) for x in found] == [0.028571, 0.066667]
    assert t_closeness(quasi, disease) == max(found) <= Fraction(1, 10)


@pytest.mark.parametrize(
    "groups",
    [TABLE_2, TABLE_3, TABLE_5],
    ids=["Table 2", "Table 3", "Table 5"],
)
def test_one_group_of_all_costs_more_and_is_closest(groups):
    everyone = [[number for group in groups for number in group]]
    quasi, disease = suppressed(everyone)
    assert cost(quasi) == 10 * 7 > cost(suppressed(groups)[0])
    assert t_closeness(quasi, disease) == 0
