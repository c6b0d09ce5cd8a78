"""Whether regions lie apart, from published labels: each form of label, at its edges."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest
from strategies import CITIES

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.labels.regions import labels_disjoint
from tclose_spark.measures.loss.information_loss import LabelLoss

NUMBERS = LabelLoss(numeric=True, span=Fraction(80))
TREE = LabelLoss(numeric=False, hierarchy=CITIES)
VALUES = LabelLoss(numeric=False)
SETS = LabelLoss(numeric=False, sets=True, distinct=4)


def apart(loss, *labels):
    columns = [[pa.chunked_array([pa.array(labels, pa.string())])]]
    return labels_disjoint(columns, [JudgedQuasi("x", ("x",), loss)])


@pytest.mark.parametrize(
    ("loss", "labels", "are_apart"),
    [
        (NUMBERS, ["[1, 5]", "[6, 9]", "5.5", None], True),
        (NUMBERS, ["[1, 5]", "[5, 9]"], False),
        (NUMBERS, ["[0, 0.1]", "0.1"], False),
        (NUMBERS, ["[9007199254740992, 9007199254740993]", "9007199254740994"], True),
        (NUMBERS, ["[9007199254740992, 9007199254740993]", "9007199254740993"], False),
        (NUMBERS, ["*", "7"], False),
        (NUMBERS, ["*", None], False),
        (TREE, ["Tuscany", "Bari", "France", None], True),
        (TREE, ["Italy", "Bari"], False),
        (TREE, ["*", "Bari"], False),
        (TREE, ["*", None], False),
        (VALUES, ["a", "b", None], True),
        (VALUES, ["a", "*"], False),
        (VALUES, [None, "*"], False),
        (SETS, ["{a, c}", "{b, d}", None], True),
        (SETS, ["{a, c}", "{c, d}"], False),
        (SETS, ["{a, c}", "c"], False),
        (SETS, ["*", None], False),
    ],
)
def test_labels_of_one_quasi_identifier(loss, labels, are_apart):
    assert apart(loss, *labels) == are_apart


def test_classes_lie_apart_if_one_quasi_identifier_tells_them_apart():
    ages, cities = ["[1, 5]", "[1, 5]", "[6, 9]"], ["Italy", "France", "*"]
    quasi = [JudgedQuasi("age", ("age",), NUMBERS), JudgedQuasi("city", ("city",), TREE)]

    def columns(*parts):
        return [[pa.chunked_array([pa.array(part, pa.string())])] for part in parts]

    assert labels_disjoint(columns(ages, cities), quasi)
    assert not labels_disjoint(columns(["[1, 6]", *ages[1:]], cities), quasi)
    assert not labels_disjoint(columns(ages, ["*", *cities[1:]]), quasi)


def test_bounds_are_an_interval():
    quasi = [JudgedQuasi("age", ("age_min", "age_max"), NUMBERS)]

    def bounds(*pairs):
        return [
            [pa.chunked_array([pa.array(side, pa.string())]) for side in zip(*pairs, strict=True)],
        ]

    assert labels_disjoint(bounds(("1", "5"), ("6", "9"), (None, None)), quasi)
    assert not labels_disjoint(bounds(("1", "6"), ("6", "9")), quasi)
