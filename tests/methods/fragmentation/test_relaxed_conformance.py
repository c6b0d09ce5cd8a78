"""Relaxed conformance: whatever rows of the fragments a class takes, it is no farther from the
table than is proven.
"""

from fractions import Fraction

import numpy as np
import pytest
from fragmentations import aggregate_bounds, matrix_of, paper_bounds
from hypothesis import given
from hypothesis import strategies as st
from matrices import Case, cases
from strategies import drawn

from tclose_spark.measures.distances.ground_distances import EqualDistance, OrderedDistance
from tclose_spark.measures.distances.histograms import MultiplicityMatrix
from tclose_spark.methods.dealing.relaxed_conformance import LOOK_FIRST, FragmentTable
from tclose_spark.methods.dealing.stacks import Stack, class_counts, representatives
from tclose_spark.methods.fragmentation.search import find_fragmentation
from tclose_spark.methods.fragmentation.sizing import (
    centres,
    conform_exactly,
    gcd_classes,
    prove,
    sizes_from,
)


@st.composite
def fragmented(draw: st.DrawFn, attributes: int = 4) -> tuple[Case, np.ndarray]:
    """A drawn matrix, and a fragmentation that its search comes through."""
    case = draw(cases(attributes))
    path = find_fragmentation(
        case.matrix,
        case.diameters,
        [Fraction(1, 10)] * case.matrix.attributes,
    )
    return case, path.fragmentation(draw(st.integers(0, path.steps)))


def draw_class(
    random: np.random.Generator,
    matrix: MultiplicityMatrix,
    fragment_of: np.ndarray,
    shares: np.ndarray,
) -> np.ndarray:
    """Rows in each cell of a class with these rows of each fragment, few kinds of them at a time:
    vertices are the worst.
    """
    counts = np.zeros(matrix.cells, dtype=np.int64)
    for fragment, rows in enumerate(shares.tolist()):
        cells = np.flatnonzero(fragment_of == fragment)
        kinds = random.choice(
            cells,
            size=min(len(cells), int(random.integers(1, 3))),
            replace=False,
        )
        np.add.at(counts, random.choice(kinds, size=rows), 1)
    return counts


@drawn(1000, quick=250)
@given(fragmented(), st.integers(1, 40), st.integers(0, 2**32 - 1), st.data())
def test_no_class_exceeds_what_is_proven(case_and_fragments, e, seed, data):
    # Rows may be taken again and again: the proof asks nothing of the counts inside a fragment.
    case, fragment_of = case_and_fragments
    random = np.random.default_rng(seed)
    table = FragmentTable.of(case.matrix, fragment_of, case.distances)
    stack = Stack(np.array(data.draw(st.permutations(range(len(table.rows))))), table.rows)
    e = min(e, case.matrix.rows)
    everywhere = np.full(case.matrix.attributes, np.inf)
    proven = table.largest_bounds(stack, e, everywhere)
    shares = class_counts(stack, np.arange(e), e)
    each = table.proven_bounds(shares / shares.sum(axis=1, keepdims=True))
    assert proven == pytest.approx(each.max(axis=0))
    for number in random.integers(0, e, 3):
        counts = draw_class(random, case.matrix, fragment_of, shares[number])
        for a in range(case.matrix.attributes):
            assert case.emd(a, counts) <= each[number, a] + 1e-9


@drawn(200, quick=50)
@given(fragmented())
def test_conforming_shares_cost_nothing_more(case_and_fragments):
    case, fragment_of = case_and_fragments
    table = FragmentTable.of(case.matrix, fragment_of, case.distances)
    bounds = [float(b) for b in aggregate_bounds(case.matrix, fragment_of, case.diameters)]
    assert table.proven_bounds((table.rows / case.matrix.rows)[None, :])[0] == pytest.approx(bounds)


@drawn(200, quick=50)
@given(cases(), st.integers(1, 20), st.data())
def test_of_single_tuples_it_is_the_exact_distance(case, e, data):
    matrix = case.matrix
    stack, e = (
        Stack(np.array(data.draw(st.permutations(range(matrix.cells)))), matrix.counts),
        min(e, matrix.rows),
    )
    table = FragmentTable.of(matrix, np.arange(matrix.cells), case.distances)
    dealt = class_counts(stack, np.arange(e), e)
    exact = [max(case.emd(a, counts) for counts in dealt) for a in range(matrix.attributes)]
    largest = table.largest_bounds(stack, e, np.full(matrix.attributes, np.inf))
    assert largest == pytest.approx([float(x) for x in exact])


def test_all_compositions_are_looked_at_not_the_first_few_only():
    # Forty cells of uneven sizes make more compositions than are looked at first, and the worst is
    # not among those.
    counts = np.array([3 + (7 * i) % 11 for i in range(40)])
    matrix = matrix_of(np.arange(40)[:, None], counts, (40,))
    table = FragmentTable.of(matrix, np.arange(40), [OrderedDistance(counts)])
    differs = 0
    for e in range(20, 60):
        stack = Stack(np.argsort(np.arange(40) * 17 % 40), counts)
        dealt = class_counts(stack, np.arange(e), e)
        worst = table.proven_bounds(dealt / dealt.sum(axis=1, keepdims=True)).max()
        few = representatives(stack, e)[
            np.linspace(0, len(representatives(stack, e)) - 1, LOOK_FIRST).astype(int)
        ]
        differs += (
            table.proven_bounds(dealt[few] / dealt[few].sum(axis=1, keepdims=True)).max()
            < worst - 1e-9
        )
        assert table.largest_bounds(stack, e, np.array([np.inf]))[0] == pytest.approx(worst)
    assert differs > 5


def test_mixtures_may_come_in_chunks(monkeypatch):
    counts = np.arange(1, 9)
    matrix = matrix_of(np.arange(8)[:, None], counts, (8,))
    whole = FragmentTable.of(matrix, np.arange(8) // 2, [OrderedDistance(counts)])
    shares = np.random.default_rng(1).dirichlet(np.ones(4), 30)
    expected = whole.proven_bounds(shares)
    monkeypatch.setattr("tclose_spark.methods.dealing.relaxed_conformance.CHUNK", 1)
    again = FragmentTable.of(matrix, np.arange(8) // 2, [OrderedDistance(counts)])
    assert again.proven_bounds(shares) == pytest.approx(expected)
    assert again.deltas == pytest.approx(whole.deltas)


@drawn(200, quick=50)
@given(fragmented(), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_features_that_are_added_up_never_prove_more(case_and_fragments, most, seed):
    case, fragment_of = case_and_fragments
    shares = np.random.default_rng(seed).dirichlet(np.ones(int(fragment_of.max()) + 1), 5)
    exact = FragmentTable.of(case.matrix, fragment_of, case.distances).proven_bounds(shares)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tclose_spark.methods.dealing.relaxed_conformance.MOST_FEATURES", most)
        table = FragmentTable.of(case.matrix, fragment_of, case.distances)
    assert all(gap.shape[1] <= most for gap in table.gaps)
    assert (table.proven_bounds(shares) >= exact - 1e-12).all()


def test_the_bound_is_attained():
    # Two halves of four values; a class of two rows with one of each: 0 and 3 is as far as it gets,
    # and as far as is proven.
    matrix = matrix_of(np.arange(4)[:, None], np.full(4, 5), (4,))
    table = FragmentTable.of(matrix, np.array([0, 0, 1, 1]), [OrderedDistance(matrix.marginal(0))])
    assert table.deltas.tolist() == [[1 / 6, 1 / 6]]
    (bound,) = table.proven_bounds(np.array([[0.5, 0.5]]))[0]
    assert bound == pytest.approx(1 / 6)  # of (0, 3): (1/4 + 0 + 1/4) / 3


def test_uneven_shares_are_charged():
    matrix = matrix_of(np.arange(2)[:, None], np.array([6, 4]), (2,))
    table = FragmentTable.of(matrix, np.arange(2), [EqualDistance(matrix.marginal(0))])
    assert table.proven_bounds(np.array([[0.5, 0.5], [0.6, 0.4]])) == pytest.approx(
        np.array([[0.1], [0.0]]),
    )


@drawn(100, quick=25)
@given(cases(kinds=("ordered",)), st.data())
def test_with_boxes_it_has_the_papers_bounds(case, data):
    path = find_fragmentation(
        case.matrix,
        case.diameters,
        [Fraction(1, 10)] * case.matrix.attributes,
        kind="paper",
        objective="hinge",
    )
    steps = data.draw(st.integers(0, path.steps))
    fragment_of, boxes = path.fragmentation(steps), path.boxes(steps)
    table = FragmentTable.of(case.matrix, fragment_of, case.distances, boxes)
    bounds = [float(b) for b in paper_bounds(case.matrix, fragment_of, boxes)]
    assert table.proven_bounds((table.rows / case.matrix.rows)[None, :])[0] == pytest.approx(bounds)


@drawn(100, quick=25)
@given(fragmented(attributes=3), st.integers(2, 10), st.sampled_from([0.05, 0.2, 0.5]))
def test_the_size_that_is_proven_is_the_first_that_holds(case_and_fragments, k, t):
    case, fragment_of = case_and_fragments
    matrix, limits = case.matrix, np.full(case.matrix.attributes, t)
    k = min(k, matrix.rows)
    table = FragmentTable.of(matrix, fragment_of, case.distances)
    bounds = tuple(float(b) for b in aggregate_bounds(matrix, fragment_of, case.diameters))
    thresholds = dict.fromkeys("abcd"[: matrix.attributes], t)
    found = prove(matrix, fragment_of, table, bounds, thresholds, k)
    assert (found.classes, found.size) == (
        matrix.rows // max(found.size, 1),
        matrix.rows // found.classes,
    )
    assert found.size >= k
    assert found.classes == 1 or all(p <= t for p in found.proven)
    assert sorted(found.stack.order.tolist()) == list(range(len(table.rows)))
    if all(b <= t for b in bounds):
        smaller = [(size, e) for size, e in sizes_from(k, matrix.rows) if size < found.size]
        assert all(
            (
                table.largest_bounds(found.stack, e, np.full(len(limits), np.inf)) > limits - 1e-9
            ).any()
            for _, e in smaller
        )
    else:
        assert found.classes == 1


def test_sizes_go_from_small_to_all_rows():
    found = list(sizes_from(5, 1_000))
    assert found[:3] == [(5, 200), (6, 166), (7, 142)]
    assert found[-1] == (1_000, 1)
    assert all(1_000 // e == size for size, e in found)
    assert list(sizes_from(7, 5)) == [(5, 1)]


def test_fragments_are_ordered_by_their_centres():
    matrix = matrix_of(np.array([[0, 5], [1, 3], [2, 0]]), np.array([1, 1, 2]), (3, 6))
    found = centres(matrix, np.array([1, 1, 0]), np.array([2, 2]))
    assert found.codes.tolist() == [[1, 0, 0], [0, 1, 1]]


@pytest.mark.parametrize(
    ("k", "classes"),
    [(2, 50), (20, 50), (21, 25), (50, 10), (600, 1), (5_000, 1)],
)
def test_exact_conformance_takes_as_many_classes_as_divide_all_fragments(k, classes):
    matrix = matrix_of(np.arange(4)[:, None], np.array([250, 100, 350, 300]), (4,))
    found = conform_exactly(matrix, np.arange(4), matrix.counts, (0.0,), k)
    assert (found.classes, found.size, found.smallest) == (classes, 1000 // classes, 20)
    shares = class_counts(found.stack, np.arange(classes), classes)
    assert (shares * classes == matrix.counts).all()


@drawn(100, quick=25)
@given(st.lists(st.integers(1, 400), min_size=1, max_size=5))
def test_the_most_classes_of_one_size(sizes):
    assert gcd_classes(sizes) == max(
        e for e in range(1, sum(sizes) + 1) if all(size % e == 0 for size in sizes)
    )
