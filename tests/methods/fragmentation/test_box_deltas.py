"""Aggregate bounds: by the definition, never below the distance of a class that conforms, and
attained.
"""

from fractions import Fraction

import numpy as np
import pytest
from fragmentations import aggregate_bounds, equal, hierarchical, matrix_of, ordered, paper_bounds
from hypothesis import given
from hypothesis import strategies as st
from matrices import Case, cases
from strategies import drawn
from uneven import uneven

from tclose_spark.measures.distances.histograms import MultiplicityMatrix
from tclose_spark.methods.dealing.relaxed_conformance import diameter_of
from tclose_spark.methods.fragmentation.search import find_fragmentation


def searched(case: Case, most: int) -> np.ndarray:
    path = find_fragmentation(
        case.matrix,
        case.diameters,
        [Fraction(1, 10)] * case.matrix.attributes,
        most=most,
    )
    return path.fragmentation(path.steps)


@st.composite
def conforming(draw: st.DrawFn, case: Case, fragment_of: np.ndarray) -> np.ndarray:
    """Rows by cell of a class that takes from each fragment a fixed multiple of its rows,
    distributed over its cells in any way.
    """
    times = draw(st.integers(1, 3))
    class_counts = np.zeros(case.matrix.cells, dtype=np.int64)
    for fragment in set(fragment_of.tolist()):
        cells = np.flatnonzero(fragment_of == fragment)
        rows = times * int(case.matrix.counts[cells].sum())
        cuts = sorted(draw(st.lists(st.integers(0, rows), max_size=2)))
        for part in np.diff([0, *cuts, rows]).tolist():
            class_counts[draw(st.sampled_from(cells.tolist()))] += part
    return class_counts


@drawn(1000, quick=250)
@given(st.data())
def test_no_conforming_class_exceeds_a_bound(data):
    case = data.draw(cases())
    fragment_of = searched(case, data.draw(st.integers(1, 6)))
    found = aggregate_bounds(case.matrix, fragment_of, case.diameters)
    for _ in range(3):
        class_counts = data.draw(conforming(case, fragment_of))
        assert all(case.emd(s, class_counts) <= bound for s, bound in enumerate(found))


@pytest.mark.parametrize("kind", ["ordered", "equal", "hierarchical"])
@drawn(200, quick=50)
@given(st.data())
def test_the_bound_of_one_attribute_is_attained(kind, data):
    case = data.draw(cases(1, (kind,)))
    fragment_of = searched(case, data.draw(st.integers(1, 4)))
    worst = np.zeros(case.matrix.cells, dtype=np.int64)
    for fragment in set(fragment_of.tolist()):
        cells = np.flatnonzero(fragment_of == fragment)
        rows = int(case.matrix.counts[cells].sum())
        alone = [case.matrix.counts * (fragment_of != fragment) for _ in cells]
        for counts, cell in zip(alone, cells, strict=True):
            counts[cell] = rows
        worst[
            max(zip([case.emd(0, counts) for counts in alone], cells.tolist(), strict=True))[1]
        ] = rows
    assert case.emd(0, worst) == aggregate_bounds(case.matrix, fragment_of, case.diameters)[0]


@drawn(200, quick=50)
@given(st.data())
def test_bounds_are_those_of_the_definition_for_any_sets_of_cells(data):
    case = data.draw(cases())
    numbers = data.draw(
        st.lists(st.integers(0, 3), min_size=case.matrix.cells, max_size=case.matrix.cells),
    )
    fragment_of = np.unique(numbers, return_inverse=True)[1]
    assert aggregate_bounds(case.matrix, fragment_of, case.diameters) == case.bounds(fragment_of)


@drawn(100, quick=25)
@given(st.data())
def test_a_search_adds_up_the_bounds_of_the_definition(data):
    case = data.draw(cases(3))
    path = find_fragmentation(
        case.matrix,
        case.diameters,
        [0.1] * case.matrix.attributes,
        most=data.draw(st.integers(1, 6)),
    )
    for steps in range(path.steps + 1):
        assert path.exact_bounds[steps] == case.bounds(path.fragmentation(steps))


@drawn(300, quick=75)
@given(st.data())
def test_the_bounds_of_the_domain_are_never_above_the_papers(data):
    case = data.draw(cases(3, ("ordered",)))
    path = find_fragmentation(
        case.matrix,
        case.diameters,
        [0.1] * case.matrix.attributes,
        kind="paper",
        most=data.draw(st.integers(1, 6)),
    )
    fragment_of, boxes = path.fragmentation(path.steps), path.boxes(path.steps)
    papers = paper_bounds(case.matrix, fragment_of, boxes)
    assert all(
        a <= b
        for a, b in zip(
            aggregate_bounds(case.matrix, fragment_of, case.diameters),
            papers,
            strict=True,
        )
    )
    assert papers == path.exact_bounds[path.steps] == box_bounds(case.matrix, fragment_of, boxes)


def box_bounds(
    matrix: MultiplicityMatrix,
    fragment_of: np.ndarray,
    boxes: np.ndarray,
) -> tuple[Fraction, ...]:
    """By the definition: the rows of each box, as they are, to its first or to its last index."""
    result = []
    for s in range(matrix.attributes):
        total = Fraction(0)
        for fragment, (first, last) in enumerate(boxes[:, s].tolist()):
            inside = np.flatnonzero(fragment_of == fragment)
            rows = list(
                zip(matrix.codes[inside, s].tolist(), matrix.counts[inside].tolist(), strict=True),
            )
            assert all(first <= code <= last for code, _ in rows)
            total += max(
                Fraction(sum(count * abs(code - end) for code, count in rows), max(last - first, 1))
                for end in (first, last)
            )
        result.append(total / matrix.rows)
    return tuple(result)


def test_delta_by_hand():
    codes, table = np.array([1, 2, 6]), np.array([[2, 1, 1], [0, 3, 0], [0, 0, 0], [3, 0, 1]])
    # Means 2.5 and 9/4: the farther ends are 3.5 and 15/4 away, times 4 rows.
    assert ordered(8).weighted(codes, table).tolist() == [14, 0, 0, 15]
    assert equal(8).weighted(codes, table).tolist() == [3, 0, 0, 3]
    pairs = (np.arange(8) // 2, np.arange(4) // 2, np.zeros(2, dtype=np.int64))
    # Leaves 1, 2, 6: heights of ancestors 2, 3, 3. To 6: 2 * 3 + 1 * 3, and 3 * 3.
    assert hierarchical(8, pairs).weighted(codes, table).tolist() == [9, 0, 0, 9]


def test_units_by_hand():
    codes, counts = np.array([1, 2, 6, 7]), np.array([2, 5, 2, 9])
    assert ordered(8).units(codes, counts).tolist() == [0, 1, 2, 3]
    assert equal(8).units(codes, counts).tolist() == [2, 1, 3, 0]
    pairs = hierarchical(8, (np.arange(8) // 2, np.arange(4) // 2, np.zeros(2, dtype=np.int64)))
    assert pairs.units(codes, counts).tolist() == [0, 0, 1, 1]
    assert pairs.units(codes[:2], counts[:2]).tolist() == [0, 1]
    assert pairs.units(codes[2:], counts[2:]).tolist() == [0, 1]
    assert pairs.units(codes[:1], counts[:1]).tolist() == [0]


@drawn(200, quick=50)
@given(uneven(), st.data())
def test_delta_of_uneven_steps_is_that_of_the_definition(case, data):
    distance, ground = case
    m = len(distance.table)
    codes = np.array(sorted(data.draw(st.sets(st.integers(0, m - 1), min_size=1))))
    rows = data.draw(st.lists(st.integers(0, 9), min_size=len(codes), max_size=len(codes)))
    diameter = diameter_of(distance)
    present = [(u, count) for u, count in zip(codes.tolist(), rows, strict=True) if count]
    worst = max((sum(count * ground[u][v] for u, count in present) for v, _ in present), default=0)
    assert Fraction(int(diameter.weighted(codes, np.array([rows]))[0]), diameter.scale) == worst


@pytest.mark.parametrize("rows", [10**3, 10**17])
def test_billions_of_rows_are_exact(rows):
    # Half at each end of 101 values, or of one tree.
    matrix = matrix_of(
        np.array([[0, 0, 0], [100, 100, 100]]),
        np.array([rows, rows + 2]),
        (101, 101, 101),
    )
    diameters = [
        ordered(101),
        equal(101),
        hierarchical(101, (np.arange(101) // 50, np.zeros(3, dtype=np.int64))),
    ]
    expected = Fraction(rows + 2, 2 * rows + 2)
    assert aggregate_bounds(matrix, np.zeros(2, dtype=np.int64), diameters) == (expected,) * 3
    box = np.array([[[0, 100]] * 3])
    assert paper_bounds(matrix, np.zeros(2, dtype=np.int64), box) == (expected,) * 3
