"""Transport plans: they turn a class into the table exactly, and no plan is cheaper."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from strategies import drawn, trees

from tclose_spark.measures.distances.ground_distances import (
    EqualDistance,
    GroundDistance,
    HierarchicalDistance,
    OrderedDistance,
)
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.measures.distances.transport import Move, TransportPlan, transport_plan
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

KINDS = ("equal", "ordered", "hierarchical")
MOST = {"small": 5, "near 64 bits": 3 * 10**7, "10^10 rows": 10**10, "beyond 64 bits": 10**12}


def far_apart(kind: str, tree: Hierarchy) -> list[list[Fraction]]:
    """The ground distance of every two values, from its definition."""
    m = len(tree.leaves)

    def far(i: int, j: int) -> Fraction:
        if kind == "equal":
            return Fraction(i != j)
        if kind == "ordered":
            return Fraction(abs(i - j), max(m - 1, 1))
        return Fraction(
            next(
                height
                for height in range(tree.height + 1)
                if tree.paths[i][height] == tree.paths[j][height]
            ),
            tree.height,
        )

    return [[far(i, j) for j in range(m)] for i in range(m)]


def ground(kind: str, table: np.ndarray, tree: Hierarchy) -> GroundDistance:
    """The distance over a table whose values are the leaves of a tree."""
    if kind == "hierarchical":
        return HierarchicalDistance(table, tree.parents)
    return EqualDistance(table) if kind == "equal" else OrderedDistance(table)


def closed_form(distance: GroundDistance, counts: np.ndarray) -> Fraction:
    numerator = distance.numerators(Histograms.dense(counts[None, :]))[0]
    return Fraction(int(numerator), distance.scale * int(distance.table.sum()) * int(counts.sum()))


def shares(counts: np.ndarray) -> list[Fraction]:
    return [Fraction(count, sum(counts.tolist())) for count in counts.tolist()]


def execute(plan: TransportPlan, counts: np.ndarray) -> list[Fraction]:
    """The class's distribution after all moves."""
    masses = shares(counts)
    for move in plan.moves:
        masses[move.source] -= move.mass
        masses[move.target] += move.mass
    return masses


@st.composite
def cases(
    draw: st.DrawFn,
    most: int = 5,
    leaves: int = 8,
) -> tuple[Hierarchy, np.ndarray, np.ndarray]:
    """A tree, and counts of a class and of a table over its leaves; neither need hold the other."""
    tree = draw(trees(leaves))
    counts = st.lists(
        st.integers(0, most),
        min_size=len(tree.leaves),
        max_size=len(tree.leaves),
    ).filter(any)
    return tree, np.array(draw(counts), dtype=np.int64), np.array(draw(counts), dtype=np.int64)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most", MOST.values(), ids=MOST)
@drawn(60)
@given(st.data())
def test_costs_what_the_closed_form_says_and_makes_the_table(most, kind, data):
    tree, counts, table = data.draw(cases(most))
    distance = ground(kind, table, tree)
    plan = transport_plan(distance, counts)
    assert plan.cost == closed_form(distance, counts)
    assert execute(plan, counts) == shares(table)


@pytest.mark.parametrize("kind", KINDS)
@drawn(60)
@given(cases())
def test_moves_only_surplus_into_deficit_at_the_ground_distance(kind, case):
    tree, counts, table = case
    far, before, after = far_apart(kind, tree), shares(counts), shares(table)
    plan = transport_plan(ground(kind, table, tree), counts)
    for move in plan.moves:
        assert before[move.source] > after[move.source]
        assert before[move.target] < after[move.target]
        assert move.mass > 0
        assert 0 < move.distance == far[move.source][move.target] <= 1
        assert move.cost == move.mass * move.distance
    assert (
        len({(move.source, move.target) for move in plan.moves})
        == len(plan.moves)
        < max(len(table), 1)
    )


@pytest.mark.parametrize("kind", KINDS)
@drawn(40)
@given(cases(leaves=6))
def test_no_plan_is_cheaper(kind, case):
    tree, counts, table = case
    m = len(table)
    margins = np.vstack([np.kron(np.eye(m), np.ones(m)), np.kron(np.ones(m), np.eye(m))])
    costs = np.array(far_apart(kind, tree), dtype=float).ravel()
    best = linprog(
        costs,
        A_eq=margins,
        b_eq=np.concatenate([counts / counts.sum(), table / table.sum()]),
    ).fun
    assert float(transport_plan(ground(kind, table, tree), counts).cost) == pytest.approx(
        best,
        abs=1e-9,
    )


@drawn(60)
@given(cases())
def test_no_two_moves_of_an_ordered_plan_cross(case):
    _, counts, table = case
    moves = transport_plan(OrderedDistance(table), counts).moves
    assert all(
        one.source <= other.source and one.target <= other.target for one, other in pairwise(moves)
    )


@drawn(60)
@given(cases())
def test_a_hierarchical_plan_evens_out_lower_nodes_first(case):
    tree, counts, table = case
    moves = transport_plan(HierarchicalDistance(table, tree.parents), counts).moves
    assert all(one.distance <= other.distance for one, other in pairwise(moves))
    before, after = shares(counts), shares(table)
    for node in tree.nodes:
        for code in set(node.tolist()):
            below = {leaf for leaf, above in enumerate(node.tolist()) if above == code}
            crossing = sum(
                (move.mass for move in moves if (move.source in below) != (move.target in below)),
                Fraction(0),
            )
            assert crossing == abs(sum((before[leaf] - after[leaf] for leaf in below), Fraction(0)))


def test_a_class_like_the_table_moves_nothing():
    table = np.array([4, 0, 2, 6])
    for distance in (
        EqualDistance(table),
        OrderedDistance(table),
        HierarchicalDistance(table, (np.array([0, 0, 0, 0]),)),
    ):
        assert transport_plan(distance, np.array([2, 0, 1, 3])) == TransportPlan(())
    assert TransportPlan(()).cost == 0


def test_an_equal_plan_moves_in_order_at_distance_one():
    plan = transport_plan(EqualDistance(np.array([1, 1, 1, 1])), np.array([0, 2, 0, 2]))
    assert plan.moves == (
        Move(1, 0, Fraction(1, 4), Fraction(1)),
        Move(3, 2, Fraction(1, 4), Fraction(1)),
    )


def test_a_hierarchical_plan_of_two_heights():
    # a, b under x; c, d under y. The class is all a: b is filled at height 1, c and d from above.
    distance = HierarchicalDistance(
        np.array([1, 1, 1, 1]),
        (np.array([0, 0, 1, 1]), np.array([0, 0])),
    )
    plan = transport_plan(distance, np.array([3, 0, 0, 0]))
    quarter = Fraction(1, 4)
    assert plan.moves == (
        Move(0, 1, quarter, Fraction(1, 2)),
        Move(0, 2, quarter, Fraction(1)),
        Move(0, 3, quarter, Fraction(1)),
    )
    assert plan.cost == Fraction(5, 8)


def test_the_work_is_proportional_to_the_values():
    m = 200_000
    table, counts = np.ones(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
    counts[::2] = 1
    plan = transport_plan(OrderedDistance(table), counts)
    assert len(plan.moves) == m // 2
    assert all(move.target == move.source + 1 for move in plan.moves)


@pytest.mark.parametrize(
    ("table", "counts", "complaint"),
    [
        ([1, 2], [1, 2, 3], "the class has counts of 3 values, the table of 2"),
        ([1, 2], [[1, 2]], r"the counts of the class have shape \(1, 2\)"),
        ([1, 2], [3, -1], "a count of the class is below 0"),
        ([2, -1], [3, 1], "a count of the table is below 0"),
        ([1, 2], [0, 0], "the class has no records"),
        ([0, 0], [1, 2], "the table has no records"),
        ([], [], "the class has no records"),
    ],
)
def test_counts_that_are_no_distribution_are_refused(table, counts, complaint):
    with pytest.raises(ValueError, match=complaint):
        transport_plan(
            EqualDistance(np.array(table, dtype=np.int64)),
            np.array(counts, dtype=np.int64),
        )
