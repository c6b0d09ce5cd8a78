"""Gowda 2023, chapter 4: Figure 4.1 and its fragments, Figure 4.3, and the sizing of 4.4.2."""

from fractions import Fraction

import numpy as np
import pytest
from fragmentations import aggregate_bounds, matrix_of, ordered, paper_bounds

from tclose_spark.measures.distances.ground_distances import OrderedDistance
from tclose_spark.measures.distances.histograms import Histograms, MultiplicityMatrix
from tclose_spark.methods.fragmentation.sizing import gcd_classes

M = np.array([[20, 20, 100], [0, 40, 40], [40, 20, 60], [40, 0, 20]])
E = np.array([[6, 4, 4], [0, 2, 4], [0, 2, 2], [2, 8, 6]])


def sparse(table: np.ndarray) -> MultiplicityMatrix:
    return matrix_of(np.argwhere(table), table[table > 0], table.shape)


def test_figure_4_1_sums_and_shares():
    matrix, part = sparse(M), sparse(E)
    assert (matrix.rows, part.rows, matrix.cells) == (400, 40, 10)
    assert [matrix.marginal(s).tolist() for s in (0, 1)] == [[140, 80, 120, 60], [100, 80, 220]]
    assert [part.marginal(s).tolist() for s in (0, 1)] == [[14, 6, 4, 16], [8, 16, 16]]
    assert (matrix.counts / matrix.rows).tolist() == pytest.approx(
        [0.05, 0.05, 0.25, 0.1, 0.1, 0.1, 0.05, 0.15, 0.1, 0.05],
    )
    assert (part.marginal(1) / part.rows).tolist() == pytest.approx([0.2, 0.4, 0.4])


@pytest.mark.parametrize("attribute", [0, 1])
def test_figure_4_1_distances(attribute):
    distance = OrderedDistance(sparse(M).marginal(attribute))
    numerator = distance.numerators(Histograms.dense(sparse(E).marginal(attribute)[None, :]))[0]
    assert Fraction(int(numerator), distance.scale * 400 * 40) == Fraction(1, 10)


def test_figure_4_3_bounds_of_a_fragmentation():
    matrix = sparse(M)
    boxes = np.array([[[0, 1], [0, 1]], [[2, 3], [0, 1]], [[0, 3], [2, 2]]])
    fragment_of = np.array([2 if column == 2 else row // 2 for row, column in matrix.codes])
    # Rows of the boxes by row 40 40, 60 40 and 100 40 60 20; by column 20 60, 80 20 and one column.
    assert paper_bounds(matrix, fragment_of, boxes) == (
        Fraction(40 + 60, 400) + Fraction(440, 3 * 400),
        Fraction(60 + 80, 400),
    )
    diameters = [ordered(4), ordered(3)]
    assert aggregate_bounds(matrix, fragment_of, diameters) == (
        Fraction(40 + 60 + 440, 3 * 400),
        Fraction(60 + 80, 2 * 400),
    )


def test_section_4_4_2_sizing():
    sizes = [250, 100, 350, 300]
    assert gcd_classes(sizes) == 50
