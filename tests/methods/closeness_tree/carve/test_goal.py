"""The floats that the tree measures by, against measures.distances."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from strategies import drawn

from requirements import distances_and_classes, requirement_of
from tclose_spark.measures.distances.ground_distances import (
    EqualDistance,
    HierarchicalDistance,
    OrderedDistance,
)
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.closeness_tree.carve.goal import goal_of, scratch_of, worst
from tclose_spark.methods.closeness_tree.carve.trim import gradient


@drawn(200)
@given(distances_and_classes())
def test_ratios_are_those_of_measures(drawn_classes):
    distance, classes = drawn_classes
    requirement = requirement_of([distance], [Fraction(1, 3)])
    goal = goal_of(requirement)
    for counts, numerator in zip(
        classes,
        distance.numerators(Histograms.dense(classes)),
        strict=True,
    ):
        size = int(counts.sum())
        exact = 3 * float(numerator) / (distance.scale * requirement.rows * size)
        ratio, _ = worst(counts[None, :].astype(float), float(size), goal, scratch_of(goal))
        assert abs(ratio - exact) <= exact * 4 / requirement.rows + 1e-9


@drawn(200)
@given(distances_and_classes())
def test_the_gradient_is_a_subgradient(drawn_classes):
    """The distance is convex: after any move of a row from one value to another it is at least what
    the gradient foretells.
    """
    distance, classes = drawn_classes
    goal = goal_of(requirement_of([distance], [Fraction(1)]))
    scratch, counts = scratch_of(goal), classes[0].astype(float)
    size = float(counts.sum())
    gradient(0, counts, size, goal, scratch)
    slope = scratch.gradient
    if isinstance(distance, EqualDistance):
        slope = np.sign(slope)
    before = worst(counts[None, :], size, goal, scratch)[0]
    unit = goal.unit[0] * size * (2 if isinstance(distance, HierarchicalDistance) else 1)
    for u in np.flatnonzero(counts):
        for v in range(len(counts)):
            after = counts.copy()
            after[u] -= 1
            after[v] += 1
            assert (
                worst(after[None, :], size, goal, scratch)[0]
                >= before + (slope[v] - slope[u]) / unit - 1e-9
            )


def test_the_worst_attribute_is_named():
    equal, ordered = EqualDistance(np.array([2, 2])), OrderedDistance(np.array([1, 2, 1]))
    goal = goal_of(requirement_of([equal, ordered], [Fraction(1, 2), Fraction(1, 10)]))
    counts = np.array([[2.0, 0, 0], [0, 2, 0]])
    assert worst(counts, 2.0, goal, scratch_of(goal))[1] == 1
