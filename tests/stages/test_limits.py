"""Rows whose labels are too coarse are left out as far as a task may, and all of them or none."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from tclose_spark.measures.loss.information_loss import Coarsest
from tclose_spark.options.suppression.maker import LabelLimits

PLACE = np.array([4, 2, 0, 7, 6])
LABELS = [
    pa.array([20, 20, 40, 40, 50]),
    pa.array([30, 30, 44, 44, 90]),
    pa.array(["f", "f", "*", "*", "m"]),
]
LIMITS = LabelLimits(
    ((Coarsest(limit=Fraction(10), numeric=True), True), (Coarsest(limit=Fraction(0)), False)),
    most=30,
    rows=50,
)


def test_what_is_too_coarse_is_left_out():
    place, labels, left = LIMITS.suppress(PLACE, LABELS, 5)  # 5 of 50 rows, of 30: three
    assert (place.tolist(), left.tolist()) == ([4, 2], [0, 7, 6])
    assert [column.to_pylist() for column in labels] == [[20, 20], [30, 30], ["f", "f"]]


@pytest.mark.parametrize(
    "limits",
    [
        replace(LIMITS, most=29),  # two of five
        replace(LIMITS, most=0),
        replace(LIMITS, limits=((None, True), (None, False))),
    ],
)
def test_more_than_a_task_may_leave_out_stays(limits):
    place, labels, left = limits.suppress(PLACE, LABELS, 5)
    assert (place.tolist(), labels, left.tolist()) == (PLACE.tolist(), LABELS, [])


def test_a_task_without_rows():
    nothing = np.zeros(0, dtype=np.int64)
    assert [len(part) for part in LIMITS.suppress(nothing, [], 0)] == [0, 0, 0]


def test_shares_of_all_tasks_are_no_more_than_may_be_left_out():
    draw = np.random.default_rng(1)
    sizes = draw.integers(1, 9, 40)
    limits = replace(LIMITS, most=23, rows=int(sizes.sum()))
    left = 0
    for size in sizes:
        half = [column.take(pa.array(np.resize([0, 4], size))) for column in LABELS]
        left += len(limits.suppress(np.arange(size), half, int(size))[2])
    assert left <= 23
