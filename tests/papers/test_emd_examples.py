"""Worked examples of the earth mover's distance in the papers, with what they print beside what the definition gives."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from tclose_spark.hierarchy import Hierarchy
from tclose_spark.measures.distances import EqualDistance, GroundDistance, HierarchicalDistance, OrderedDistance
from tclose_spark.measures.diversity import distinct
from tclose_spark.measures.histograms import Histograms


def counts_of(records: list, domain: list) -> list[int]:
    found = Counter(records)
    return [found[value] for value in domain]


def emds(distance: GroundDistance, classes: list[list[int]]) -> list[Fraction]:
    numerators = distance.numerators(Histograms.dense(np.array(classes)))
    unit = distance.scale * int(distance.table.sum())
    return [Fraction(int(x), unit * sum(counts)) for x, counts in zip(numerators, classes, strict=True)]


def table_and_classes(classes: list[list], domain: list | None = None) -> tuple[np.ndarray, list[list[int]]]:
    """Counts of the whole table and of each class, over the domain (by default the values in order)."""
    records = [value for part in classes for value in part]
    domain = sorted(set(records)) if domain is None else domain
    return np.array(counts_of(records, domain)), [counts_of(part, domain) for part in classes]


def test_tutorial_section_2_1_numeric_attribute():
    assert emds(OrderedDistance(np.array([1, 1, 1, 1])), [[1, 0, 1, 0]]) == [Fraction(1, 6)]


INCIDENTS = {
    "2C": ["power outage"] * 3,
    "4F": ["theft", "fire", "fatal accident", "fire"],
    "9A": ["sidewalk repair", "power outage"],
    "3B": ["pest control", "power outage", "sidewalk repair", "tree replanting", "sidewalk repair"],
}


def test_tutorial_table_2_incidents():
    table, classes = table_and_classes(list(INCIDENTS.values()))
    found = emds(EqualDistance(table), classes)
    assert [round(float(x), 4) for x in found] == [0.6429, 0.7143, 0.4286, 0.4429]
    assert max(found) == Fraction(5, 7)
    assert distinct(Histograms.dense(np.array(classes))).tolist() == [1, 3, 2, 4]


TABLE_4_SALARIES = [[3, 4, 5], [6, 11, 8], [7, 9, 10]]
TABLE_5_SALARIES = [[3, 5, 9], [6, 11, 8], [4, 7, 10]]


def test_li_table_4_salary():
    table, classes = table_and_classes(TABLE_4_SALARIES)
    assert emds(OrderedDistance(table), classes) == [Fraction(3, 8), Fraction(1, 6), Fraction(17, 72)]


def test_li_table_5_salary():
    table, classes = table_and_classes(TABLE_5_SALARIES)
    found = emds(OrderedDistance(table), classes)
    assert found == [Fraction(1, 6), Fraction(1, 6), Fraction(1, 12)]
    assert round(float(max(found)), 3) == 0.167


MERIT_POINTS = [[1, 4, 2], [3], [3, 4, 3, 1], [4, 3]]


@pytest.mark.parametrize(
    ("domain", "expected"),
    [([3, 4, 1, 2], [0.3333, 0.3333, 0.0833, 0.1667]), ([1, 2, 3, 4], [0.1778, 0.2667, 0.05, 0.2333])],
    ids=["by frequency, as printed", "by value"],
)
def test_tutorial_table_4_merit_points(domain, expected):
    table, classes = table_and_classes(MERIT_POINTS, domain)
    assert [round(float(x), 4) for x in emds(OrderedDistance(table), classes)] == expected


TABLE_4_DISEASES = [
    ["gastric ulcer", "gastritis", "stomach cancer"],
    ["gastritis", "flu", "bronchitis"],
    ["bronchitis", "pneumonia", "stomach cancer"],
]
TABLE_5_DISEASES = [
    ["gastric ulcer", "stomach cancer", "pneumonia"],
    ["gastritis", "flu", "bronchitis"],
    ["gastritis", "bronchitis", "stomach cancer"],
]


def test_tutorial_table_3_diseases():
    table, classes = table_and_classes(TABLE_4_DISEASES)
    assert emds(EqualDistance(table), classes) == [Fraction(4, 9)] * 3


LI_FIGURE_1 = Hierarchy.build(
    [
        ("flu", "respiratory infection", "respiratory", "*"),
        ("pneumonia", "respiratory infection", "respiratory", "*"),
        ("bronchitis", "respiratory infection", "respiratory", "*"),
        ("pulmonary edema", "vascular lung", "respiratory", "*"),
        ("pulmonary embolism", "vascular lung", "respiratory", "*"),
        ("gastric ulcer", "stomach", "digestive", "*"),
        ("stomach cancer", "stomach", "digestive", "*"),
        ("gastritis", "stomach", "digestive", "*"),
        ("colitis", "colon", "digestive", "*"),
        ("colon cancer", "colon", "digestive", "*"),
    ],
    "diseases",
)


def test_li_figure_1_distances_between_single_values():
    leaves = list(LI_FIGURE_1.leaves)
    table = np.array(counts_of(["flu"], leaves))
    others = [counts_of([value], leaves) for value in ("bronchitis", "pulmonary embolism", "stomach cancer")]
    assert emds(HierarchicalDistance(table, LI_FIGURE_1.parents), others) == [Fraction(1, 3), Fraction(2, 3), Fraction(1)]


def test_li_tables_4_and_5_disease_over_the_records():
    table, classes = table_and_classes(TABLE_4_DISEASES, list(LI_FIGURE_1.leaves))
    assert emds(HierarchicalDistance(table, LI_FIGURE_1.parents), classes)[0] == Fraction(4, 9)
    table, classes = table_and_classes(TABLE_5_DISEASES, list(LI_FIGURE_1.leaves))
    assert emds(HierarchicalDistance(table, LI_FIGURE_1.parents), classes) == [Fraction(7, 27), Fraction(8, 27), Fraction(5, 27)]


def test_li_tables_4_and_5_disease_as_printed_over_the_distinct_values():
    # The printed 0.5 and 0.278 take each of the six diseases as equally frequent.
    leaves = list(LI_FIGURE_1.leaves)
    distance = HierarchicalDistance(
        np.array(counts_of(sorted({d for part in TABLE_4_DISEASES for d in part}), leaves)), LI_FIGURE_1.parents
    )
    assert emds(distance, [counts_of(TABLE_4_DISEASES[0], leaves)]) == [Fraction(1, 2)]
    assert emds(distance, [counts_of(part, leaves) for part in TABLE_5_DISEASES]) == [Fraction(5, 18)] * 3


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [([3, 1, 6], [4, 0, 6], Fraction(1, 20)), ([3, 1, 6], [1, 7, 2], Fraction(3, 10)), ([4, 0, 6], [1, 7, 2], Fraction(7, 20))],
)
def test_weber_emd_of_three_distributions(p, q, expected):
    assert emds(OrderedDistance(np.array(q)), [p]) == emds(OrderedDistance(np.array(p)), [q]) == [expected]


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [([2, 1, 7], [3, 0, 7], Fraction(1, 20)), ([3, 0, 7], [1, 0, 9], Fraction(1, 5)), ([2, 1, 7], [1, 0, 9], Fraction(3, 20))],
)
def test_gowda_emd_of_three_distributions(p, q, expected):
    assert emds(OrderedDistance(np.array(q)), [p]) == emds(OrderedDistance(np.array(p)), [q]) == [expected]
