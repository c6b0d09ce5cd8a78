"""Published labels along an axis: which lies in which, where they may be cut, and what a box of
them is called.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from oracle.supersets import lies_in
from strategies import CITIES

from tclose_spark.checks.classes.class_table import JudgedQuasi
from tclose_spark.checks.labels.regions import BoxProofs, open_classes
from tclose_spark.measures.distances.ground_distances import EqualDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.measures.supersets.box_search import BoxSearch, ProofTarget
from tclose_spark.measures.supersets.label_axes import LabelAxis

NUMBER = LabelLoss(numeric=True, span=Fraction(100))
FOREIGN = LabelLoss(numeric=True, span=Fraction(100), foreign=True)
TREE = LabelLoss(numeric=False, hierarchy=CITIES)
VALUE = LabelLoss(numeric=False)
MASKED = LabelLoss(numeric=False, foreign=True)
SET = LabelLoss(numeric=False, distinct=9, sets=True)


def columns_of(*labels):
    """The published columns of labels, of pairs where they are bounds."""
    columns = list(zip(*labels, strict=True)) if isinstance(labels[0], tuple) else [labels]
    return [pa.chunked_array([pa.array(column, pa.string())]) for column in columns]


def cuts_of(axis, count):
    """The parts of each cut of all classes, those of one record too."""
    search = BoxSearch([axis], np.ones(count, dtype=np.int64), [], 1)
    return [
        [sorted(cut.order[first:last].tolist()) for first, last in cut.parts]
        for cut in search._cuts(0, axis, np.arange(count))
    ]


LYING = {
    "number": (NUMBER, ["2", "[2, 4]", "[3, 5]", "4", "4.5", "[-1, 9]", None, "*"]),
    "set": (
        SET,
        ["a", "{a, b}", "b", "{b, c}", "{a, b, c}", None, "*"],
    ),  # of values that follow each other
    "tree": (TREE, ["Pisa", "Siena", "Tuscany", "Bari", "Italy", "Lyon", "France", None, "*"]),
    "value": (VALUE, ["f", "m", None, "*"]),
}


@pytest.mark.parametrize("kind", LYING)
def test_a_label_lies_in_another_as_its_text_does(kind):
    loss, labels = LYING[kind]
    axis = LabelAxis.of(columns_of(*labels), loss)
    for i, label in enumerate(labels):
        for j, wide in enumerate(labels):
            inside = bool(axis.low[j] <= axis.low[i] and axis.high[i] <= axis.high[j])
            assert inside == lies_in(label, wide, kind, CITIES.paths), (label, wide)


@pytest.mark.parametrize(
    ("loss", "label", "expected"),
    [
        (TREE, "Pisa", ["Pisa", "Tuscany", "Italy", "*"]),
        (TREE, "Tuscany", ["Tuscany", "Tuscany", "Italy", "*"]),
        (TREE, "*", ["*"] * 4),
        (TREE, None, ["missing"] * 3 + ["*"]),
        (VALUE, "f", ["f", "*"]),
        (VALUE, None, ["missing", "*"]),
        (NUMBER, "5", ["5", "[3, 7]", "[1, 9]", "[1, 9]", "*"]),
        (NUMBER, "[7, 9]", ["[7, 9]", "[5, 9]", "[1, 9]", "[1, 9]", "*"]),
        (SET, "c", ["c", "{b, c, d}", "{a, b, c, d, e}", "{a, b, c, d, e}", "*"]),
    ],
)
def test_what_a_label_is_widened_to(loss, label, expected):
    others = {NUMBER: ["1", "3", "5", "7", "9"], SET: ["{a, b}", "c", "{d, e}"]}
    axis = LabelAxis.of(columns_of(label, *others.get(loss, [])), loss)
    ends = [axis.widened(np.array([0]), height) for height in range(axis.heights + 1)]
    assert [axis.name(int(low[0]), int(high[0])) for low, high in ends] == expected


@pytest.mark.parametrize(
    ("loss", "labels", "cuts", "told"),
    [
        (NUMBER, ["[20, 29]", "30", "[31, 45.5]"], [[[0], [1, 2]], [[0, 1], [2]]], "[20, 45.5]"),
        (NUMBER, ["[20, 30]", "30", "[31, 45]"], [[[0, 1], [2]]], "[20, 45]"),
        (NUMBER, ["[20, 30]", "*", "[31, 45]"], [], "*"),
        (
            NUMBER,
            ["[20, 30]", None, "[31, 45]"],
            [[[1], [0, 2]]],
            "*",
        ),  # what is missing leaves first
        (NUMBER, [None, "*", "[31, 45]"], [], "*"),
        (NUMBER, [("20", "30"), ("31", "40"), ("31", "31")], [[[0], [1, 2]]], "[20, 40]"),
        (FOREIGN, ["[20, 30[", "[30, 40[", "[39, 50["], [[[0], [1, 2]]], "[20, 50)"),
        (FOREIGN, ["[0.1, 123456.75)", "[123456.75, 9999999.5)"], [[[0], [1]]], "[0.1, 9999999.5)"),
        (NUMBER, [("20", "30"), ("40", "31"), ("31", "31")], [], "*"),  # bounds in the wrong order
        (
            NUMBER,
            [("2020-01-01", "2020-01-31"), ("2020-02-01", "2020-02-01")],
            [[[0], [1]]],
            "[2020-01-01, 2020-02-01]",
        ),
        (SET, [f"{{a{i}, a{i + 1}}}" for i in range(10, 30, 2)], None, "{a10, ..., a29}"),
        (FOREIGN, ["20s", "30-39", "40+"], [[[0], [1, 2]], [[0, 1], [2]]], "[20, inf)"),
        (
            FOREIGN,
            ["[20, 30[", "unknown", "[39, 50["],
            [],
            "*",
        ),  # a text among numbers has no place beside them
        (TREE, ["Pisa", "Siena", "France"], [[[0, 1], [2]]], "*"),
        (TREE, ["Pisa", "Siena", "Bari"], [[[0, 1], [2]]], "Italy"),
        (TREE, ["Pisa", "Siena", "Tuscany"], [], "Tuscany"),
        (TREE, ["Pisa", None, "France"], [[[0], [1], [2]]], "*"),  # `*` holds what is missing
        (TREE, ["Pisa", None, "Bari"], [[[1], [0, 2]]], "*"),
        (TREE, ["Pisa", None, "*"], [], "*"),
        (VALUE, ["m", "f", "m"], [[[0, 2], [1]]], "*"),
        (VALUE, ["m", "f", None], [[[0], [1], [2]]], "*"),
        (VALUE, ["m", "m", None], [[[0, 1], [2]]], "*"),
        (VALUE, ["4*", "41", "41"], [[[0], [1, 2]]], "*"),  # of a release: a value
        (MASKED, ["4*", "41", "41"], [], "*"),
        (VALUE, ["m", "*", "m"], [], "*"),
        (VALUE, ["m", "m", "m"], [], "m"),
        (VALUE, [None, None, None], [], "missing"),
        (
            SET,
            ["{10, 9}", "11", "{11, 12}"],
            [[[0], [1, 2]]],
            "{9, 10, 11, 12}",
        ),  # by the order of values
        (SET, ["{10, 9}", "*", "{11, 12}"], [], "*"),
    ],
)
def test_where_labels_may_be_cut_and_what_their_box_is_called(loss, labels, cuts, told):
    axis = LabelAxis.of(columns_of(*labels), loss)
    if cuts is not None:
        assert sorted(map(sorted, cuts_of(axis, len(labels)))) == sorted(map(sorted, cuts))
    low, high = int(axis.low.min()), int(axis.high.max())
    assert axis.name(low, axis.ranks if low < 0 <= high else high) == told


def test_a_class_is_open_if_neither_it_nor_the_table_has_n_records_and_is_near():
    classes = Histograms.dense(np.array([[3, 3], [4, 0], [1, 5]]))
    distance, t = EqualDistance(np.array([8, 8])), Fraction(1, 4)
    assert open_classes(distance, t, classes, 6).tolist() == [False, True, False]
    assert open_classes(distance, t, classes, 7).tolist() == [False, True, True]
    assert open_classes(distance, t, classes, 17).tolist() == [
        True,
        True,
        True,
    ]  # nor has the table


def test_what_is_proven_is_reported_by_the_labels_of_its_box():
    counts = np.array([[5, 1], [5, 1], [1, 5], [1, 5]])
    quasi = [JudgedQuasi("q", ("q",), NUMBER), JudgedQuasi("sex", ("sex",), VALUE)]
    columns = [columns_of("20", "[30, 39]", "20", "[30, 39]"), columns_of("f", "f", "m", "m")]
    near = ProofTarget(
        EqualDistance(counts.sum(axis=0)),
        Fraction(0),
        Histograms.dense(counts),
        np.ones(4, dtype=bool),
    )
    proofs = BoxProofs.of(columns, counts.sum(axis=1), [near], quasi, 12)
    assert proofs.proves
    assert proofs.best(0, np.arange(4)).to_pylist() == [
        {"proven": True, "emd": 0.0, "superset": f"q=[20, 39], sex={sex}"} for sex in "ffmm"
    ]
    proofs = BoxProofs.of(columns, counts.sum(axis=1), [near], quasi, 13)
    assert not proofs.proves
    assert proofs.best(0, np.array([1])).to_pylist() == [
        {"proven": False, "emd": pytest.approx(1 / 3), "superset": "q=[20, 39], sex=*"},
    ]
    proofs = BoxProofs.of(columns, counts.sum(axis=1), [near], quasi, 25)
    assert proofs.best(0, np.array([1])).to_pylist() == [None]
