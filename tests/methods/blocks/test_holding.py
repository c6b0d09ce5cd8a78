"""The kernels' distances against measures.distances, exactly."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from requirements import distances_and_classes, requirement_of
from tclose_spark.measures.distances.ground_distances import EqualDistance, OrderedDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.blocks.holding import add_cell, closeness_ratio, holds, work_space
from tclose_spark.methods.blocks.requirement import exact_limits


@drawn(100)
@given(
    st.fractions(Fraction(1, 10**12), Fraction(1), max_denominator=10**12),
    st.integers(1, 2000),
    st.integers(1, 10**9),
    st.integers(0, 300),
)
def test_limits_are_rounded_down_exactly(t, scale, rows, largest):
    (limits, anything) = exact_limits([t, None], [scale, scale], rows, largest)
    assert limits.tolist() == [t.numerator * scale * rows * size // t.denominator for size in range(largest + 1)]
    assert set(anything.tolist()) == {np.iinfo(np.int64).max}


@drawn(200)
@given(distances_and_classes(), st.integers(0, 12), st.integers(1, 4), st.integers(1, 3))
def test_a_class_holds_what_exact_fractions_say(drawn_classes, tenths, k, distinct):
    distance, classes = drawn_classes
    t = Fraction(tenths, 12)
    requirement = requirement_of([distance], [t], k, distinct)
    space = work_space(requirement)
    numerators = distance.numerators(Histograms.dense(classes))
    for counts, numerator in zip(classes, numerators, strict=True):
        size = int(counts.sum())
        emd = Fraction(int(numerator), distance.scale * int(distance.table.sum()) * size)
        required = emd <= t and size >= k and np.count_nonzero(counts) >= distinct
        assert holds(counts[None, :], size, requirement, space) == required


@drawn(200)
@given(distances_and_classes())
def test_closeness_ratios_are_those_of_measures(drawn_classes):
    distance, classes = drawn_classes
    requirement = requirement_of([distance], [Fraction(1, 3)])
    space = work_space(requirement)
    for counts, numerator in zip(classes, distance.numerators(Histograms.dense(classes)), strict=True):
        size = int(counts.sum())
        ratio = closeness_ratio(counts[None, :], size, requirement, space)
        assert ratio >= 3 * float(numerator) / (distance.scale * requirement.rows * size) * (1 - 1e-12)
        assert holds(counts[None, :], size, requirement, space) == (ratio <= 1)  # the limit is rounded down


def test_without_a_t_any_distance_is_allowed():
    requirement = requirement_of([EqualDistance(np.array([5, 5]))], [None], k=2)
    space = work_space(requirement)
    assert holds(np.array([[2, 0]]), 2, requirement, space)
    assert closeness_ratio(np.array([[2, 0]]), 2, requirement, space) == 0
    assert not holds(np.array([[1, 0]]), 1, requirement, space)


def test_every_attribute_counts():
    equal, ordered = EqualDistance(np.array([2, 2])), OrderedDistance(np.array([1, 2, 1]))
    requirement = requirement_of([equal, ordered], [Fraction(1, 2), Fraction(1, 10)])
    counts = np.zeros((2, 3), dtype=np.int64)
    for cell in np.flatnonzero((requirement.codes == [0, 1]).all(axis=1)):
        add_cell(counts, cell, 2, requirement)
    assert counts.tolist() == [[2, 0, 0], [0, 2, 0]]
    assert not holds(counts, 2, requirement, work_space(requirement))  # .5 <= .5, but .25 > .1
