"""Earth mover's distances against the definition: dense distributions in exact fractions, and the
transport problem itself.
"""

from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from strategies import count_tables, drawn, trees

from tclose_spark.measures.distances.ground_distances import (
    EqualDistance,
    GroundDistance,
    HierarchicalDistance,
    OrderedDistance,
    maximum,
)
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.table.hierarchies.hierarchy import Hierarchy


def differences(counts: np.ndarray, table: np.ndarray) -> list[Fraction]:
    """p - q of each value."""
    s, n = sum(counts.tolist()), sum(table.tolist())
    return [
        Fraction(c, s) - Fraction(total, n)
        for c, total in zip(counts.tolist(), table.tolist(), strict=True)
    ]


def equal_emd(counts: np.ndarray, table: np.ndarray) -> Fraction:
    """Half the sum of |p - q|."""
    return sum(map(abs, differences(counts, table)), Fraction(0)) / 2


def ordered_emd(counts: np.ndarray, table: np.ndarray) -> Fraction:
    """The sum of the absolute cumulative differences, over m - 1; 0 for one value."""
    return sum(map(abs, accumulate(differences(counts, table))), Fraction(0)) / max(
        len(table) - 1,
        1,
    )


def hierarchical_emd(counts: np.ndarray, table: np.ndarray, tree: Hierarchy) -> Fraction:
    """What crosses the edges of the tree, each as long as 1 / 2H: so two leaves are as far apart as
    their ancestor is high.
    """
    total = Fraction(0)
    for level in range(tree.height):
        below: dict[tuple[str, ...], Fraction] = {}
        for path, difference in zip(tree.paths, differences(counts, table), strict=True):
            below[path[level:]] = below.get(path[level:], Fraction(0)) + difference
        total += sum(map(abs, below.values()), Fraction(0))
    return total / (2 * tree.height)


def transport_emd(counts: np.ndarray, table: np.ndarray, ground: np.ndarray) -> float:
    """The cheapest way of moving one distribution onto the other, by linear programming."""
    m = len(table)
    rows = np.kron(np.eye(m), np.ones(m))
    columns = np.kron(np.ones(m), np.eye(m))
    margins = np.concatenate([counts / counts.sum(), table / table.sum()])
    return float(linprog(ground.ravel(), A_eq=np.vstack([rows, columns]), b_eq=margins).fun)


def emds(distance: GroundDistance, classes: np.ndarray) -> list[Fraction]:
    """The exact distance of each class, a row of counts."""
    numerators = distance.numerators(Histograms.dense(classes))
    unit = distance.scale * int(distance.table.sum())
    return [
        Fraction(int(x), unit * int(s))
        for x, s in zip(numerators, classes.sum(axis=1), strict=True)
    ]


MOST = {"small": 6, "near 64 bits": 3 * 10**7, "beyond 64 bits": 10**12}
TABLES = pytest.mark.parametrize(
    "tables",
    [count_tables(most=most) for most in MOST.values()],
    ids=MOST,
)


@TABLES
@drawn(100)
@given(st.data())
def test_equal_distance_is_that_of_the_definition(tables, data):
    classes = data.draw(tables)
    table = classes.sum(axis=0)
    assert emds(EqualDistance(table), classes) == [equal_emd(counts, table) for counts in classes]


@TABLES
@drawn(150)
@given(st.data())
def test_ordered_distance_is_that_of_the_definition(tables, data):
    classes = data.draw(tables)
    table = classes.sum(axis=0)
    assert emds(OrderedDistance(table), classes) == [
        ordered_emd(counts, table) for counts in classes
    ]


@pytest.mark.parametrize("most", MOST.values(), ids=MOST)
@drawn(150)
@given(st.data())
def test_hierarchical_distance_is_that_of_the_definition(most, data):
    tree = data.draw(trees())
    counts = st.lists(
        st.integers(0, most),
        min_size=len(tree.leaves),
        max_size=len(tree.leaves),
    ).filter(any)
    classes = np.array(data.draw(st.lists(counts, min_size=1, max_size=5)), dtype=np.int64)
    table = classes.sum(axis=0)
    assert emds(HierarchicalDistance(table, tree.parents), classes) == [
        hierarchical_emd(row, table, tree) for row in classes
    ]


@drawn(50)
@given(count_tables(classes=2, values=6))
def test_a_class_may_hold_values_that_the_table_lacks(classes):
    table = np.roll(classes[0], 1)
    assert emds(EqualDistance(table), classes[:1]) == [equal_emd(classes[0], table)]
    assert emds(OrderedDistance(table), classes[:1]) == [ordered_emd(classes[0], table)]


def test_a_domain_may_be_large_and_a_class_small():
    table = np.arange(1, 1001)
    classes = np.zeros((2, 1000), dtype=np.int64)
    classes[0, [0, 500, 999]] = 1, 2, 3
    classes[1, 999] = 1
    assert emds(OrderedDistance(table), classes) == [
        ordered_emd(counts, table) for counts in classes
    ]


CASES = [
    (np.array([3, 0, 1, 0, 0]), np.array([3, 2, 2, 0, 1])),
    (np.array([0, 0, 0, 0, 4]), np.array([5, 1, 1, 1, 4])),
    (np.array([1, 1, 1, 1, 1]), np.array([1, 9, 2, 1, 1])),
]
TREE = Hierarchy.build(
    [
        ("a", "x", "m", "*"),
        ("b", "x", "m", "*"),
        ("c", "y", "m", "*"),
        ("d", "z", "n", "*"),
        ("e", "z", "n", "*"),
    ],
    "tree",
)
GROUNDS = {
    "equal": (EqualDistance, np.ones((5, 5)) - np.eye(5)),
    "ordered": (OrderedDistance, np.abs(np.subtract.outer(np.arange(5), np.arange(5))) / 4),
    "hierarchical": (
        lambda table: HierarchicalDistance(table, TREE.parents),
        np.array(
            [[0, 1, 2, 3, 3], [1, 0, 2, 3, 3], [2, 2, 0, 3, 3], [3, 3, 3, 0, 1], [3, 3, 3, 1, 0]],
        )
        / 3,
    ),
}


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize(("counts", "table"), CASES)
def test_is_the_cost_of_the_cheapest_transport(ground, counts, table):
    make, costs = GROUNDS[ground]
    assert float(emds(make(table), counts[None, :])[0]) == pytest.approx(
        transport_emd(counts, table, costs),
        abs=1e-9,
    )


def all_distances(table: np.ndarray) -> list[GroundDistance]:
    """The three distances over a table; the hierarchy pairs neighbours."""
    m = len(table)
    return [
        EqualDistance(table),
        OrderedDistance(table),
        HierarchicalDistance(table, (np.arange(m) // 2, np.zeros((m + 1) // 2, dtype=np.int64))),
    ]


@drawn(50)
@given(count_tables())
def test_the_table_itself_is_at_distance_zero(classes):
    table = classes.sum(axis=0)
    for distance in all_distances(table):
        assert emds(distance, np.stack([table, 3 * table])) == [0, 0]


@drawn(50)
@given(st.integers(1, 9), st.integers(1, 9))
def test_one_value_is_always_at_distance_zero(s, n):
    for distance in all_distances(np.array([n])):
        assert emds(distance, np.array([[s]])) == [0]


@drawn(50)
@given(count_tables(classes=2, values=6))
def test_a_distance_lies_between_zero_and_one(classes):
    for distance in all_distances(classes.sum(axis=0)):
        assert all(0 <= emd <= 1 for emd in emds(distance, classes))


def test_opposite_ends_are_at_distance_one():
    table = np.array([1, 0, 0, 999999999])
    for distance in all_distances(table):
        assert emds(distance, np.array([[1, 0, 0, 0]])) == [Fraction(999999999, 10**9)]


@drawn(100)
@given(count_tables(classes=8), st.data())
def test_merging_classes_never_raises_the_maximum(classes, data):
    merged_into = data.draw(
        st.lists(st.integers(0, 2), min_size=len(classes), max_size=len(classes)),
    )
    merged = np.stack(
        [classes[np.array(merged_into) == group].sum(axis=0) for group in sorted(set(merged_into))],
    )
    for distance in all_distances(classes.sum(axis=0)):
        assert max(emds(distance, merged)) <= max(emds(distance, classes))


@drawn(100)
@given(count_tables())
def test_an_ordered_distance_is_at_most_the_equal_one(classes):
    table = classes.sum(axis=0)
    pairs = zip(
        emds(OrderedDistance(table), classes),
        emds(EqualDistance(table), classes),
        strict=True,
    )
    assert all(ordered <= equal for ordered, equal in pairs)


@drawn(100)
@given(count_tables())
def test_a_hierarchy_of_height_one_is_the_equal_distance(classes):
    table = classes.sum(axis=0)
    flat = HierarchicalDistance(table, (np.zeros(len(table), dtype=np.int64),))
    assert emds(flat, classes) == emds(EqualDistance(table), classes)


@drawn(100)
@given(count_tables())
def test_finds_the_largest_distance_exactly(classes):
    for distance in all_distances(classes.sum(axis=0)):
        numerators = distance.numerators(Histograms.dense(classes))
        assert maximum(distance, numerators, classes.sum(axis=1)) == max(emds(distance, classes))
