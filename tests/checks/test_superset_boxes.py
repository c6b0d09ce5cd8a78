"""Boxes as published labels say them: where they may be cut, and what they are called."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from strategies import CITIES

from tclose_spark.checks.boxes import BoxProofs, LabelAxis, open_classes
from tclose_spark.checks.classes import JudgedQuasi
from tclose_spark.measures.distances import EqualDistance
from tclose_spark.measures.histograms import Histograms
from tclose_spark.measures.information_loss import LabelLoss
from tclose_spark.measures.supersets import Near

NUMBER = LabelLoss(numeric=True, span=Fraction(100))
FOREIGN = LabelLoss(numeric=True, span=Fraction(100), foreign=True)
TREE = LabelLoss(numeric=False, hierarchy=CITIES)
VALUE = LabelLoss(numeric=False)
SET = LabelLoss(numeric=False, distinct=9, sets=True)


def axis(loss, *labels):
    """The axis of labels, of pairs where they are bounds."""
    columns = list(zip(*labels, strict=True)) if isinstance(labels[0], tuple) else [labels]
    arrays = [pa.chunked_array([pa.array(column, pa.string())]) for column in columns]
    return LabelAxis.of(JudgedQuasi("q", tuple(f"q{i}" for i in range(len(columns))), loss), arrays)


@pytest.mark.parametrize(
    ("loss", "labels", "cuts", "told"),
    [
        (NUMBER, ["[20, 29]", "30", "[31, 45.5]"], [[[0], [1, 2]], [[0, 1], [2]]], "[20, 45.5]"),
        (NUMBER, ["[20, 30]", "30", "[31, 45]"], [[[0, 1], [2]]], "[20, 45]"),
        (NUMBER, ["[20, 30]", "*", "[31, 45]"], [], "*"),
        (NUMBER, ["[20, 30]", None, "[31, 45]"], [[[1], [0, 2]]], "*"),  # what is missing leaves first
        (NUMBER, [None, "*", "[31, 45]"], [], "*"),
        (NUMBER, [("20", "30"), ("31", "40"), ("31", "31")], [[[0], [1, 2]]], "[20, 40]"),
        (FOREIGN, ["[20, 30[", "[30, 40[", "[39, 50["], [[[0], [1, 2]]], "[20, 50)"),
        (FOREIGN, ["[0.1, 123456.75)", "[123456.75, 9999999.5)"], [[[0], [1]]], "[0.1, 9999999.5)"),
        (FOREIGN, ["20s", "30-39", "40+"], [[[0], [1, 2]], [[0, 1], [2]]], "[20, inf)"),
        (FOREIGN, ["[20, 30[", "unknown", "[39, 50["], [], "*"),  # a text among numbers has no place beside them
        (TREE, ["Pisa", "Siena", "France"], [[[0, 1], [2]]], "*"),
        (TREE, ["Pisa", "Siena", "Bari"], [[[0, 1], [2]]], "Italy"),
        (TREE, ["Pisa", "Siena", "Tuscany"], [], "Tuscany"),
        (TREE, ["Pisa", None, "France"], [[[0, 2], [1]]], "*"),
        (VALUE, ["m", "f", "m"], [[[0, 2], [1]]], "*"),
        (VALUE, ["m", "f", None], [[[0, 1], [2]]], "*"),
        (VALUE, ["m", "*", "m"], [], "*"),
        (VALUE, ["m", "m", "m"], [], "m"),
        (VALUE, [None, None, None], [], "missing"),
        (SET, ["{10, 9}", "11", "{11, 12}"], [[[0], [1, 2]]], "[9, 12]"),  # by the order of values
        (SET, ["{10, 9}", "*", "{11, 12}"], [], "*"),
    ],
)
def test_where_labels_may_be_cut_and_what_their_box_is_called(loss, labels, cuts, told):
    made = axis(loss, *labels)
    found = [[sorted(part.tolist()) for part in cut.parts] for cut in made.axis.cuts(np.arange(len(labels)))]
    assert sorted(map(sorted, found)) == sorted(map(sorted, cuts))
    assert made.told(np.arange(len(labels))) == told


def test_a_class_is_open_if_neither_it_nor_the_table_has_n_records_and_is_near():
    classes = Histograms.dense(np.array([[3, 3], [4, 0], [1, 5]]))
    distance, t = EqualDistance(np.array([8, 8])), Fraction(1, 4)
    assert open_classes(distance, t, classes, 6).tolist() == [False, True, False]
    assert open_classes(distance, t, classes, 7).tolist() == [False, True, True]
    assert open_classes(distance, t, classes, 17).tolist() == [True, True, True]  # nor has the table


def test_what_is_proven_is_told_by_the_labels_of_its_box():
    counts = np.array([[5, 1], [5, 1], [1, 5], [1, 5]])
    ages, sexes = axis(NUMBER, "20", "[30, 39]", "20", "[30, 39]"), ["f", "f", "m", "m"]
    quasi = [ages.quasi, JudgedQuasi("sex", ("sex",), VALUE)]
    columns = [
        [pa.chunked_array([pa.array(["20", "[30, 39]", "20", "[30, 39]"])])],
        [pa.chunked_array([pa.array(sexes)])],
    ]
    near = Near(EqualDistance(counts.sum(axis=0)), Fraction(0), Histograms.dense(counts), np.ones(4, dtype=bool))
    proofs = BoxProofs.of(columns, counts.sum(axis=1), [near], quasi, 12)
    assert proofs.proves
    assert [proofs.told(proofs.search.found[0][one]) for one in range(4)] == [
        "q=[20, 39], sex=f",
        "q=[20, 39], sex=f",
        "q=[20, 39], sex=m",
        "q=[20, 39], sex=m",
    ]
    assert not BoxProofs.of(columns, counts.sum(axis=1), [near], quasi, 13).proves
