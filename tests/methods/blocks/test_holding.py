"""The kernels' distances against measures.distances, exactly."""

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from requirements import distances_and_classes, requirement_of
from tclose_spark.measures.distances.ground_distances import EqualDistance, OrderedDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.blocks.block import exact_limits
from tclose_spark.methods.blocks.holding import (
    add_cell,
    closeness_ratio,
    distance_over,
    holds,
    other_holds,
    work_space,
)
from tclose_spark.methods.units import WHOLE
from tclose_spark.requirements.planning import needs_of, tightest
from tclose_spark.runfile.attributes import Diversity, SensitiveAttribute


@drawn(100, quick=25)
@given(
    st.fractions(Fraction(1, 10**12), Fraction(1), max_denominator=10**12),
    st.integers(1, 2000),
    st.integers(1, 10**9),
    st.integers(0, 300),
)
def test_limits_are_rounded_down_exactly(t, scale, rows, largest):
    (limits, anything) = exact_limits([t, None], [scale, scale], rows, largest)
    assert limits.tolist() == [
        t.numerator * scale * rows * size // t.denominator for size in range(largest + 1)
    ]
    assert set(anything.tolist()) == {np.iinfo(np.int64).max}


@drawn(200, quick=50)
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


@drawn(200, quick=50)
@given(distances_and_classes())
def test_closeness_ratios_are_those_of_measures(drawn_classes):
    distance, classes = drawn_classes
    requirement = requirement_of([distance], [Fraction(1, 3)])
    space = work_space(requirement)
    for counts, numerator in zip(
        classes,
        distance.numerators(Histograms.dense(classes)),
        strict=True,
    ):
        size = int(counts.sum())
        ratio = closeness_ratio(counts[None, :], size, requirement, space)
        assert ratio >= 3 * float(numerator) / (distance.scale * requirement.rows * size) * (
            1 - 1e-12
        )
        assert holds(counts[None, :], size, requirement, space) == (
            ratio <= 1
        )  # the limit is rounded down


@drawn(200, quick=50)
@given(
    distances_and_classes(),
    st.none() | st.fractions(Fraction(1, 9), 4, max_denominator=9),
    st.none() | st.fractions(1, 4, max_denominator=4),
)
def test_caps_are_those_that_fractions_say(drawn_classes, beta, level):
    distance, classes = drawn_classes
    plain, n = requirement_of([distance], [None]), int(distance.table.sum())
    caps = needs_of(SensitiveAttribute(beta=beta, l=Diversity(frequency=level))).caps
    requirement = plain._replace(caps=np.stack(tightest(caps, distance.table, n))[:, None, :])
    space = work_space(requirement)
    for counts in classes:
        size = int(counts.sum())
        shares = [
            (Fraction(int(c), size), Fraction(int(whole), n))
            for c, whole in zip(counts, distance.table, strict=True)
        ]
        within = all(
            (beta is None or p <= (1 + beta) * q) and (level is None or p <= 1 / level)
            for p, q in shares
        )
        assert holds(counts[None, :], size, requirement, space) == within
        assert (closeness_ratio(counts[None, :], size, requirement, space) <= 1) == within


def test_a_cap_of_too_many_digits_is_rounded_down():
    table, beta = np.array([1, 10**9]), Fraction(10**9 + 1, 10**9)
    most, of = tightest(needs_of(SensitiveAttribute(beta=beta)).caps, table, largest=2**40)
    exact = (1 + beta) / (10**9 + 1)
    assert Fraction(int(most[0]), int(of[0])) < exact
    assert exact - Fraction(int(most[0]), int(of[0])) < Fraction(1, 2**21)
    assert int(of[0]) * 2**40 <= 2**62


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


SIZES = [1, 2, 3, 7]  # rows of a person


@drawn(200, quick=50)
@given(distances_and_classes(), st.data(), st.integers(0, 12), st.integers(1, 4), st.integers(1, 3))
def test_people_hold_what_exact_fractions_say(drawn_classes, data, twelfths, k, distinct):
    """Rows of people with 1 to 7 rows each, some of them the first of their person. A cell is a
    value, such a number and such a flag.
    """
    distance, _ = drawn_classes
    values = len(distance.table)
    codes, sizes, first = (
        part.ravel() for part in np.meshgrid(range(values), SIZES, [0, 1], indexing="ij")
    )
    cells = st.lists(st.integers(0, 3), min_size=len(codes), max_size=len(codes)).filter(any)
    classes = np.array(data.draw(st.lists(cells, min_size=2, max_size=4)), dtype=np.int64)
    whole = classes.sum(axis=0)
    t = Fraction(twelfths, 12)

    def shares(rows):
        """What people weigh by value, exactly."""
        found = [Fraction(0)] * values
        for value, size, n in zip(codes, sizes, rows, strict=True):
            found[value] += Fraction(int(n), int(size))
        return [weight / sum(found) for weight in found]

    weight = np.rint(WHOLE / sizes).astype(np.int64)
    tables = np.stack(
        [np.bincount(codes, part, values) for part in (whole, whole * first, whole * weight)],
    )
    plain = requirement_of(
        [replace(distance, table=np.bincount(codes, whole, values).astype(np.int64))],
        [None],
        1,
    )
    requirement = plain._replace(
        codes=codes[:, None].astype(np.int32),
        tables=tables.astype(np.int64),
        distinct=np.array([distinct]),
        added=np.stack([first, weight]).astype(np.int64),
        least=np.array([k, 0]),
        diverse=np.array([True, False]),
        most=np.array([[np.inf], [float(t)]]),
        shares=np.zeros((2, 0, 0)),
    )
    space = work_space(requirement)
    for rows in classes:
        counts = np.zeros((3, values), dtype=np.int64)
        for cell, n in enumerate(rows):
            add_cell(counts, cell, n, requirement)
        people = int(rows @ first)
        of_first = len(
            {
                int(value)
                for value, is_first, n in zip(codes, first, rows, strict=True)
                if is_first and n
            },
        )
        emd = exact_distance(distance, shares(rows), shares(whole))
        assert abs(distance_over(1, 0, counts, requirement, space) - emd) < 1e-6
        if abs(emd - t) > 1e-6:
            required = emd <= t and people >= k and (distinct == 1 or of_first >= distinct)
            assert all(other_holds(i, counts, requirement, space) for i in range(2)) == required


def exact_distance(distance, one, other):
    """The earth mover's distance of two distributions."""
    if isinstance(distance, EqualDistance):
        return sum(abs(p - q) for p, q in zip(one, other, strict=True)) / 2
    if isinstance(distance, OrderedDistance):
        return sum(map(abs, accumulate(p - q for p, q in zip(one, other, strict=True)))) / max(
            len(one) - 1,
            1,
        )
    total, nodes = Fraction(0), range(len(one))
    net = [p - q for p, q in zip(one, other, strict=True)]
    for above in distance.parents:
        total += sum(map(abs, net))
        up = defaultdict(Fraction)
        for node in nodes:
            up[int(above[node])] += net[node]
        nodes, net = range(len(up)), [up[node] for node in range(len(up))]
    return total / (2 * len(distance.parents))
