"""The kernels' distances against measures.distances, exactly."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import count_tables, drawn, trees

from tclose_spark.measures.distances import EqualDistance, GroundDistance, HierarchicalDistance, OrderedDistance
from tclose_spark.measures.histograms import Histograms
from tclose_spark.methods.closeness_tree.block import Requirement, exact_limits
from tclose_spark.methods.closeness_tree.loads import add_cell, asked_of, holds, load
from tclose_spark.methods.closeness_tree.peel import goal_of, gradient, worst
from tclose_spark.table.arrays import IntArray


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


def requirement_of(
    distances: list[GroundDistance], ts: list[Fraction | None], k: int = 1, distinct: int = 1
) -> Requirement:
    """What classes of a table must hold; every attribute's value is a cell's coordinate."""
    longest, highest = (
        max(len(d.table) for d in distances),
        max(1, *(len(getattr(d, "parents", ())) for d in distances), 1),
    )
    tables = np.zeros((len(distances), longest), dtype=np.int64)
    parents = np.full((len(distances), highest, longest), -1, dtype=np.int32)
    for s, distance in enumerate(distances):
        tables[s, : len(distance.table)] = distance.table
        for height, above in enumerate(getattr(distance, "parents", ())):
            parents[s, height, : len(above)] = above
    cells = np.stack(np.meshgrid(*[np.arange(len(d.table)) for d in distances], indexing="ij"), axis=-1).reshape(
        -1, len(distances)
    )
    rows = int(distances[0].table.sum())
    return Requirement(
        codes=cells.astype(np.int32),
        tables=tables,
        domains=np.array([len(d.table) for d in distances]),
        ordered=np.array([isinstance(d, OrderedDistance) for d in distances]),
        parents=parents,
        heights=np.array([len(getattr(d, "parents", ())) for d in distances]),
        rows=rows,
        k=k,
        distinct=np.full(len(distances), distinct),
        limits=exact_limits(ts, [d.scale for d in distances], rows, rows),
    )


@st.composite
def distances_and_classes(draw: st.DrawFn) -> tuple[GroundDistance, IntArray]:
    """A distance of each kind over a drawn table, and the classes (counts by value) that make up the table."""
    classes = draw(count_tables())
    table, kind = classes.sum(axis=0), draw(st.sampled_from(["equal", "ordered", "hierarchical"]))
    if kind == "equal":
        return EqualDistance(table), classes
    if kind == "ordered":
        return OrderedDistance(table), classes
    tree = draw(trees())
    counts = st.lists(st.integers(0, 5), min_size=len(tree.leaves), max_size=len(tree.leaves)).filter(any)
    classes = np.array(draw(st.lists(counts, min_size=1, max_size=5)), dtype=np.int64)
    return HierarchicalDistance(classes.sum(axis=0), tuple(tree.parents)), classes


@drawn(200)
@given(distances_and_classes(), st.integers(0, 12), st.integers(1, 4), st.integers(1, 3))
def test_a_class_holds_what_exact_fractions_say(drawn_classes, tenths, k, distinct):
    distance, classes = drawn_classes
    t = Fraction(tenths, 12)
    asked = asked_of(requirement_of([distance], [t], k, distinct))
    numerators = distance.numerators(Histograms.dense(classes))
    for counts, found in zip(classes, numerators, strict=True):
        size = int(counts.sum())
        emd = Fraction(int(found), distance.scale * int(distance.table.sum()) * size)
        assert holds(counts[None, :], size, asked) == (emd <= t and size >= k and np.count_nonzero(counts) >= distinct)


@drawn(200)
@given(distances_and_classes())
def test_numerators_and_loads_are_those_of_measures(drawn_classes):
    distance, classes = drawn_classes
    need = requirement_of([distance], [Fraction(1, 3)])
    asked, goal = asked_of(need), goal_of(need)
    for counts, found in zip(classes, distance.numerators(Histograms.dense(classes)), strict=True):
        size = int(counts.sum())
        exact = 3 * float(found) / (distance.scale * need.rows * size)
        assert abs(worst(counts[None, :].astype(float), float(size), goal)[0] - exact) <= exact * 4 / need.rows + 1e-9
        assert load(counts[None, :], size, asked) >= exact * (1 - 1e-12)  # the limit is rounded down
        assert holds(counts[None, :], size, asked) == (load(counts[None, :], size, asked) <= 1)


@drawn(200)
@given(distances_and_classes())
def test_the_gradient_is_a_subgradient(drawn_classes):
    """The distance is convex: after any move of a row from one value to another it is at least what the gradient
    foretells.
    """
    distance, classes = drawn_classes
    goal = goal_of(requirement_of([distance], [Fraction(1)]))
    counts, slope = classes[0].astype(float), np.zeros(len(distance.table))
    size = float(counts.sum())
    gradient(0, counts, size, goal, slope)
    if isinstance(distance, EqualDistance):
        slope = np.sign(slope)
    before = worst(counts[None, :], size, goal)[0]
    unit = goal.slope[0] * size * (2 if isinstance(distance, HierarchicalDistance) else 1)
    for u in np.flatnonzero(counts):
        for v in range(len(counts)):
            after = counts.copy()
            after[u] -= 1
            after[v] += 1
            assert worst(after[None, :], size, goal)[0] >= before + (slope[v] - slope[u]) / unit - 1e-9


def test_without_a_t_any_distance_is_allowed():
    asked = asked_of(requirement_of([EqualDistance(np.array([5, 5]))], [None], k=2))
    assert holds(np.array([[2, 0]]), 2, asked)
    assert load(np.array([[2, 0]]), 2, asked) == 0
    assert not holds(np.array([[1, 0]]), 1, asked)


def test_the_worst_attribute_counts():
    equal, ordered = EqualDistance(np.array([2, 2])), OrderedDistance(np.array([1, 2, 1]))
    need = requirement_of([equal, ordered], [Fraction(1, 2), Fraction(1, 10)])
    counts = np.zeros((2, 3), dtype=np.int64)
    for cell in np.flatnonzero((need.codes == [0, 1]).all(axis=1)):
        add_cell(counts, cell, 2, need.codes)
    assert counts.tolist() == [[2, 0, 0], [0, 2, 0]]
    assert worst(counts.astype(float), 2.0, goal_of(need))[1] == 1
    assert not holds(counts, 2, asked_of(need))  # .5 <= .5, but .25 > .1
