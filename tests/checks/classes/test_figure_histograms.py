"""How figures of all classes are spread: in bins that tasks count, and that do not grow with the
classes.
"""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from tclose_spark.checks.classes.partial_figures import (
    EVERYTHING,
    EXACT,
    NO_LABEL,
    SIZES,
    DistanceHistogram,
    PrecisionHistogram,
    ShareHistogram,
    SizeHistogram,
    add_bins,
    count_by_bin,
)
from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

SIZE_COUNTS = np.array([5, 7, 9])


def batch(**columns: object) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def test_sizes_are_in_bins_by_themselves_and_then_in_eighths_of_a_doubling():
    sizes = [1, 2, 63, 64, 65, 70, 76, 1_000_000]
    bins = SizeHistogram().bins(batch(size=sizes))
    for size, i in zip(sizes, bins.tolist(), strict=True):
        assert SIZES[i] <= size < SIZES[i + 1]
    assert [SIZES[i] for i in bins.tolist()[:4]] == [1, 2, 63, 64]
    assert bins[4] == bins[3]


def test_bins_of_sizes_have_no_gaps():
    told = SizeHistogram().to_json({4: (2, 10), 6: (1, 7)})
    assert told == [
        {"from": 5, "to": 5, "classes": 2, "rows": 10},
        {"from": 6, "to": 6, "classes": 0, "rows": 0},
        {"from": 7, "to": 7, "classes": 1, "rows": 7},
    ]


def test_there_are_few_bins_however_many_classes_there_are():
    draw = np.random.default_rng(1)
    sizes, emd = draw.integers(1, 10**9, 10**5), draw.random(10**5)
    classes = batch(size=sizes, emd=emd)
    for spread in (
        SizeHistogram(),
        DistanceHistogram("emd", None),
        DistanceHistogram("emd", Fraction(1, 5)),
        ShareHistogram("emd"),
    ):
        assert len(count_by_bin(spread.bins(classes), sizes)) <= 330


@pytest.mark.parametrize("t", [Fraction(1, 10), Fraction(1, 7), Fraction(3, 10)])
def test_a_distance_that_is_t_is_not_beyond_it(t: Fraction):
    at = float(t)
    bins = DistanceHistogram("emd", t).bins(
        batch(emd=[0.0, at / 40, np.nextafter(at, 0), at, np.nextafter(at, 1)]),
    )
    assert bins.tolist() == [0, 1, 40, 40, 41]


def test_what_is_farther_than_four_t_is_reported_together():
    spread = DistanceHistogram("emd", Fraction(1, 10))
    bins = spread.bins(batch(emd=[0.05, 0.401, 0.9]))
    assert bins.tolist() == [20, 160, 160]
    near, far = spread.to_json(count_by_bin(bins, np.array([10, 10, 10])))
    assert (near["bin"], near["to"]) == (20, 0.05)
    assert (far["bin"], far["from"], far["to"], far["classes"]) == (
        160,
        pytest.approx(0.3975),
        1.0,
        2,
    )


def test_shares_are_in_twentieths_and_nothing_is_by_itself():
    spread = ShareHistogram("likeliest", over="size")
    assert spread.bins(batch(likeliest=[1, 1, 3, 20, 0], size=[20, 1000, 20, 20, 20])).tolist() == [
        1,
        1,
        3,
        20,
        0,
    ]
    assert spread.to_json({3: (1, 20)}) == [{"bin": 3, "to": 0.15, "classes": 1, "rows": 20}]


def test_parts_are_added_up_whatever_their_order():
    one, other = (
        count_by_bin(np.array([1, 1, 2]), SIZE_COUNTS),
        count_by_bin(np.array([2, 3, 3]), SIZE_COUNTS),
    )
    assert one == {1: (2, 12), 2: (1, 9)}
    assert add_bins(one, other) == add_bins(other, one) == {1: (2, 12), 2: (2, 14), 3: (2, 16)}


def precision(
    spread: PrecisionHistogram,
    labels: list[str | None],
    losses: list[float],
) -> list[str]:
    struct = pa.StructArray.from_arrays([pa.array(labels, pa.string())], ["q"])
    lost = pa.StructArray.from_arrays([pa.array(losses, pa.float64())], ["q"])
    bins = spread.bins(
        pa.RecordBatch.from_arrays([struct, lost], names=["quasi_identifiers", "losses"]),
    )
    return [spread.to_json({i: (1, 1)})[0]["precision"] for i in bins.tolist()]


def test_precision_of_numbers_is_the_width_of_their_interval():
    spread = PrecisionHistogram("q", "q", LabelLoss(numeric=True, span=Fraction(90)))
    labels: list[str | None] = ["7", "[7, 8]", "[7, 9]", "[7, 12]", "[0, 90]", "*", None]
    told = precision(spread, labels, [0, 1 / 90, 2 / 90, 5 / 90, 1, 1, 0])
    wide = [f"up to {width} wide" for width in (1, 2, 5, 100)]
    assert told == ["the value", *wide, "* (nothing)", "missing (published as NULL)"]


def test_precision_of_a_hierarchy_is_the_height_of_the_node():
    tree = Hierarchy.build(
        [("Pisa", "Italy", "*"), ("Rome", "Italy", "*"), ("Bern", "Bern", "*")],
        "q",
    )
    spread = PrecisionHistogram("q", "q", LabelLoss(numeric=False, hierarchy=tree))
    told = precision(spread, ["Pisa", "Italy", "Bern", "*", None], [0, 0.6, 0, 1, 0])
    assert told == [
        "the value",
        "level 1 of its hierarchy",
        "the value",
        "* (nothing)",
        "missing (published as NULL)",
    ]


def test_precision_of_sets_is_how_many_values_they_have():
    spread = PrecisionHistogram("q", "q", LabelLoss(numeric=False, distinct=10, sets=True))
    assert precision(spread, ["a", "{a, b}", "{a, b, c}", "*"], [0, 0.2, 0.3, 1]) == [
        "the value",
        "a set of up to 2",
        "a set of up to 5",
        "* (nothing)",
    ]
    assert NO_LABEL < EXACT < EVERYTHING
