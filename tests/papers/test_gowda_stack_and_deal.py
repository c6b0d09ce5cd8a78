"""Gowda 2023, chapters 3 and 5: the worked examples of Stack & Deal. Distances in exact fractions
where the paper rounds.
"""

from fractions import Fraction

import numpy as np
import pytest
from fragmentations import matrix_of

from tclose_spark.measures.distances.ground_distances import OrderedDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.dealing.maximum_emd import maximum_emd
from tclose_spark.methods.dealing.stacks import (
    Stack,
    class_counts,
    orders,
    stack_by_frequency,
    stack_by_value,
)

# Salaries in thousands and their frequencies: 250 records, k = 50, so 5 classes.
SALARIES = {50: 24, 55: 31, 60: 16, 65: 20, 70: 42, 75: 39, 80: 17, 85: 37, 90: 15, 95: 9}
FREQUENCIES = np.array(list(SALARIES.values()))
STACKED = [70, 75, 85, 55, 50, 65, 80, 60, 90, 95]
TABLE_3_3 = [
    [9, 8, 7, 6, 5, 4, 3, 4, 3, 1],
    [9, 7, 8, 6, 5, 4, 3, 3, 3, 2],
    [8, 8, 8, 6, 5, 4, 3, 3, 3, 2],
    [8, 8, 7, 7, 4, 4, 4, 3, 3, 2],
    [8, 8, 7, 6, 5, 4, 4, 3, 3, 2],
]


def ordered_emds(classes: np.ndarray, table: np.ndarray) -> list[Fraction]:
    distance = OrderedDistance(table)
    numerators = distance.numerators(Histograms.dense(classes))
    return [
        Fraction(int(x), distance.scale * int(table.sum()) * int(s))
        for x, s in zip(numerators, classes.sum(axis=1), strict=True)
    ]


def test_table_3_2_stacks_by_descending_frequency():
    order = stack_by_frequency(FREQUENCIES).order
    assert [list(SALARIES)[code] for code in order] == STACKED
    assert FREQUENCIES[order].tolist() == [42, 39, 37, 31, 24, 20, 17, 16, 15, 9]


def test_table_3_3_counts_of_each_class():
    stack = stack_by_frequency(FREQUENCIES)
    assert class_counts(stack, np.arange(5), 5)[:, stack.order].tolist() == TABLE_3_3


def test_table_3_4_distances_over_the_order_of_frequency():
    # Printed: 0.009778, 0.005778, 0.005338, 0.006664, 0.007995; the last three are off in the last
    #     digits.
    found = ordered_emds(np.array(TABLE_3_3), np.sort(FREQUENCIES)[::-1])
    assert found == [Fraction(n, 11250) for n in (110, 65, 60, 75, 90)]
    assert [float(x) for x in found] == pytest.approx(
        [0.009778, 0.005778, 0.005338, 0.006664, 0.007995],
        abs=6e-6,
    )


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        (stack_by_frequency(FREQUENCIES), [0.016889, 0.005778, 0.006222, 0.006222, 0.004889]),
        (stack_by_value(FREQUENCIES), [0.010222, 0.004889, 0.004444, 0.004889, 0.007556]),
    ],
    ids=["stacked by frequency", "stacked by value"],
)
def test_table_3_4_distances_over_the_order_of_value(stack: Stack, expected: list[float]):
    found = ordered_emds(class_counts(stack, np.arange(5), 5), FREQUENCIES)
    assert [round(float(x), 6) for x in found] == expected
    assert round(
        float(maximum_emd(stack, np.arange(10), OrderedDistance(FREQUENCIES), 5)),
        6,
    ) == max(expected)


DATASET_1 = np.array([167, 153, 127, 103, 91, 89])
PRIVACY_LOSS = {
    5: 0.137808,
    6: 0.084475,
    7: 0.103523,
    8: 0.067808,
    9: 0.071081,
    10: 0.057808,
    11: 0.054919,
    12: 0.035845,
    13: 0.059115,
    14: 0.04638,
    15: 0.044475,
    16: 0.019692,
    17: 0.023707,
    18: 0.024701,
    19: 0.028335,
    20: 0.022192,
}


@pytest.mark.parametrize(("k", "loss"), PRIVACY_LOSS.items())
def test_figure_3_1_privacy_loss_of_dataset_1(k: int, loss: float):
    found = maximum_emd(
        stack_by_frequency(DATASET_1),
        np.arange(6),
        OrderedDistance(DATASET_1),
        730 // k,
    )
    assert round(float(found), 6) == loss


# The pairs of Table 5.1, a1 b1 as (0, 0), in the order of its records.
RECORDS = [
    (1, 0),
    (1, 0),
    (1, 2),
    (0, 1),
    (1, 1),
    (1, 2),
    (0, 1),
    (1, 0),
    (1, 2),
    (0, 0),
    (1, 0),
    (0, 0),
    (1, 2),
    (1, 0),
    (0, 1),
]


def test_table_5_2_is_the_multiplicity_matrix_of_table_5_1():
    matrix = matrix_of(np.array(RECORDS), np.ones(15, dtype=np.int64), (2, 3))
    found = {
        tuple(cell): rows
        for cell, rows in zip(matrix.codes.tolist(), matrix.counts.tolist(), strict=True)
    }
    assert found == {(0, 0): 2, (0, 1): 3, (1, 0): 5, (1, 1): 1, (1, 2): 4}


def test_table_5_3_stacks_pairs_by_descending_multiplicity():
    matrix = matrix_of(np.array(RECORDS), np.ones(15, dtype=np.int64), (2, 3))
    (name, stack), *_ = orders(matrix, ("a", "b"))
    assert name == "frequency"
    stacked = matrix.codes[np.repeat(stack.order, matrix.counts[stack.order])].tolist()
    assert stacked == [[1, 0]] * 5 + [[1, 2]] * 4 + [[0, 1]] * 3 + [[0, 0]] * 2 + [[1, 1]]


def test_section_5_3_breaks_ties_by_row_and_then_by_column():
    assert stack_by_frequency(np.array([1, 3, 3, 1])).order.tolist() == [1, 2, 0, 3]
