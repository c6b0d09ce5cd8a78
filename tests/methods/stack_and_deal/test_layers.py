"""Layered dealing: every row in one class, sizes even, loads as measured by hand, never worse than
dealing in turn.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from fragmentations import matrix_of
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn
from uneven import uneven_over

from tclose_spark.measures.distances.features import Features
from tclose_spark.measures.distances.ground_distances import (
    EqualDistance,
    GroundDistance,
    HierarchicalDistance,
    OrderedDistance,
    maximum,
)
from tclose_spark.measures.distances.histograms import Histograms, MultiplicityMatrix
from tclose_spark.methods.dealing.stacks import Stack, orders, serpentine
from tclose_spark.methods.stack_and_deal.layers import (
    LayeredDeal,
    closeness_ratio,
    deal_in_layers,
    kernel_distances,
    replace,
)
from tclose_spark.methods.stack_and_deal.sizing import forced_bound, lower_bound, supply_bound

KINDS = ["equal", "ordered", "hierarchical"]


def distance_of(kind: str, table: np.ndarray) -> GroundDistance:
    m = len(table)
    pairs = (np.arange(m) // 2, np.zeros((m + 1) // 2, dtype=np.int64))
    return {
        "equal": EqualDistance(table),
        "ordered": OrderedDistance(table),
        "hierarchical": HierarchicalDistance(table, pairs),
        **uneven_over(table),
    }[kind]


@st.composite
def matrices(
    draw: st.DrawFn,
    attributes: int = 3,
    rows: int = 40,
) -> tuple[MultiplicityMatrix, list[GroundDistance]]:
    """A matrix with one to three attributes, each with a drawn ground distance. Values may be in no
    row.
    """
    domains = draw(st.lists(st.integers(1, 6), min_size=1, max_size=attributes))
    tuples = st.tuples(*(st.integers(0, m - 1) for m in domains))
    codes = np.array(draw(st.lists(tuples, min_size=4, max_size=rows)))
    matrix = matrix_of(codes, np.ones(len(codes), dtype=np.int64), tuple(domains))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=len(domains), max_size=len(domains)))
    return matrix, [distance_of(kind, matrix.marginal(a)) for a, kind in enumerate(kinds)]


def worst(
    matrix: MultiplicityMatrix,
    distances: list[GroundDistance],
    cells: np.ndarray,
    classes: np.ndarray,
) -> Fraction:
    """The largest distance of any class and attribute."""
    found = []
    for a, distance in enumerate(distances):
        ones = np.ones(len(cells), dtype=np.int64)
        part = Histograms.tally(
            classes,
            matrix.codes[cells, a],
            ones,
            int(classes.max()) + 1,
            len(distance.table),
        )
        found.append(maximum(distance, distance.numerators(part), part.sizes))
    return max(found)


@drawn(200)
@given(matrices(), st.data())
def test_a_closeness_ratio_is_the_distance_after_an_exchange(case, data):
    matrix, distances = case
    cells = np.array(data.draw(st.lists(st.integers(0, matrix.cells - 1), min_size=1, max_size=6)))
    out, into = (
        data.draw(st.sampled_from(cells.tolist())),
        data.draw(st.integers(0, matrix.cells - 1)),
    )
    held = np.sort(matrix.codes[cells].T, axis=1)
    beyond = np.full((len(held), data.draw(st.integers(0, 2))), np.iinfo(np.int64).max)
    held = np.hstack([held, beyond])
    found = closeness_ratio(
        held,
        matrix.codes[out],
        matrix.codes[into],
        kernel_distances(distances, [1.0] * len(distances)),
        np.empty(len(cells), dtype=np.int64),
    )
    after = cells.copy()
    after[cells.tolist().index(out)] = into
    assert found == pytest.approx(
        float(worst(matrix, distances, after, np.zeros(len(after), dtype=np.int64))),
        abs=1e-12,
    )
    for a in range(matrix.attributes):
        replace(held[a], len(cells), matrix.codes[out, a], matrix.codes[into, a])
    assert held[:, : len(cells)].tolist() == np.sort(matrix.codes[after].T, axis=1).tolist()


@drawn(100)
@given(matrices(), st.data())
def test_deals_every_row_evenly_and_no_worse_than_in_turn(case, data):
    matrix, distances = case
    order = np.array(data.draw(st.permutations(range(matrix.cells))))
    cells = np.repeat(order, matrix.counts[order])
    e = data.draw(st.integers(1, len(cells)))
    by_cell = np.sort(cells)
    classes = deal_in_layers(
        cells,
        e,
        matrix.codes,
        kernel_distances(distances, [1.0] * len(distances)),
    )
    sizes = np.bincount(classes, minlength=e)
    assert (len(classes), sizes.min(), sizes.max()) == (
        matrix.rows,
        matrix.rows // e,
        -(-matrix.rows // e),
    )
    assert all(np.all(np.diff(classes[by_cell == cell]) >= 0) for cell in range(matrix.cells))
    in_turn = worst(matrix, distances, cells, np.arange(len(cells)) % e)
    assert worst(matrix, distances, by_cell, classes) <= in_turn
    assert max(lower_bound(d, e) for d in distances) <= in_turn


def test_finds_the_best_partition_where_dealing_in_turn_does_not():
    table = np.ones(9, dtype=np.int64)
    distance, nine = OrderedDistance(table), np.arange(9)
    matrix = matrix_of(nine[:, None], table, (9,))
    every = []
    for parts in partitions(list(range(9)), [3, 3, 3]):
        owner = np.empty(9, dtype=np.int64)
        for number, members in enumerate(parts):
            owner[members] = number
        every.append(worst(matrix, [distance], nine, owner))
    found = deal_in_layers(nine, 3, matrix.codes, kernel_distances([distance], [1.0]))
    assert (
        worst(matrix, [distance], nine, found)
        == min(every)
        < worst(matrix, [distance], nine, nine % 3)
    )


@drawn(60)
@given(matrices(), st.integers(1, 4), st.data())
def test_groups_are_dealt_by_themselves_and_hold_all_rows(case, groups, data):
    matrix, distances = case
    e = data.draw(st.integers(groups, matrix.rows)) if groups <= matrix.rows else matrix.rows
    starts = np.arange(groups + 1) * e // groups
    deal = LayeredDeal(
        Stack(np.arange(matrix.cells), matrix.counts),
        matrix.codes,
        kernel_distances(distances, [1.0] * len(distances)),
        starts,
    )
    counts, sizes = np.zeros(matrix.cells, dtype=np.int64), []
    for number in range(groups):
        cells, classes = deal.group(number)
        counts += np.bincount(cells, minlength=matrix.cells)
        sizes += np.bincount(classes, minlength=starts[number + 1] - starts[number]).tolist()
    assert counts.tolist() == matrix.counts.tolist()
    assert (min(sizes), max(sizes)) == (matrix.rows // e, -(-matrix.rows // e))


def partitions(rows: list[int], sizes: list[int]):
    """All ways to part rows into classes of these sizes; the first class has the first row."""
    if not sizes:
        yield []
        return
    for size in sorted(set(sizes)):
        rest_sizes = sorted(sizes)
        rest_sizes.remove(size)
        for others in combinations(rows[1:], size - 1):
            taken = [rows[0], *others]
            for rest in partitions([r for r in rows if r not in taken], rest_sizes):
                yield [taken, *rest]


@pytest.mark.parametrize("kind", [*KINDS, "numeric", "weighted tree"])
@drawn(25)
@given(st.lists(st.integers(0, 4), min_size=4, max_size=8), st.data())
def test_no_partition_is_below_the_bounds(kind, values, data):
    codes = np.array(sorted(values))
    e = data.draw(st.integers(2, len(codes) // 2))
    distance = distance_of(kind, np.bincount(codes, minlength=5))
    sizes = [len(codes) // e + (c < len(codes) % e) for c in range(e)]
    matrix = matrix_of(np.arange(5)[:, None], np.ones(5, dtype=np.int64), (5,))
    best = Fraction(2)
    for classes in partitions(list(range(len(codes))), sizes):
        owner = np.empty(len(codes), dtype=np.int64)
        for number, members in enumerate(classes):
            owner[members] = number
        best = min(best, worst(matrix, [distance], codes, owner))
    assert 0 <= supply_bound(distance, e) <= best
    assert 0 <= forced_bound(distance, e) <= best


def test_bounds_of_one_size_are_the_formulas():
    table = np.array([3, 5, 1, 7, 4])  # 20 rows in 4 classes of 5
    below = [Fraction(5 * x % 20, 20) for x in np.cumsum(table)[:-1].tolist()]
    assert supply_bound(OrderedDistance(table), 4) == sum(2 * f * (1 - f) for f in below) / (4 * 5)
    each = [Fraction(5 * x % 20, 20) for x in table.tolist()]
    assert supply_bound(EqualDistance(table), 4) == sum(f * (1 - f) for f in each) / 5


def test_the_bound_does_not_overflow():
    # A billion rows of a thousand even values, in classes of five: every cumulative count misses
    # its ideal.
    table = np.full(1000, 10**6)
    bound = supply_bound(OrderedDistance(table), 2 * 10**8)
    parts = [Fraction(5 * (i + 1) % 1000, 1000) for i in range(999)]
    assert bound == sum(2 * f * (1 - f) for f in parts) / (999 * 5)


def test_the_bound_does_not_overflow_with_large_weights():
    class Heavy(EqualDistance):
        """The equal distance in units of a five-thousandth."""

        @property
        def features(self) -> Features:
            return Features(
                values=len(self.table),
                scale=2 * 5000,
                weights=np.full(len(self.table), 5000),
            )

    table = np.full(1000, 10**5)
    assert supply_bound(Heavy(table), 10**6) == supply_bound(EqualDistance(table), 10**6)


def test_a_rare_value_must_be_somewhere():
    # One row of a thousand has the highest value: its class of ten is a tenth there, 1/10 - 1/1000
    # from the table.
    table = np.array([999, 1])
    assert (
        supply_bound(EqualDistance(table), 100)
        < forced_bound(EqualDistance(table), 100)
        == Fraction(99, 1000)
    )
    assert forced_bound(OrderedDistance(table), 100) == Fraction(99, 1000)


def test_the_portfolio_has_each_cell_once_and_the_papers_order_first():
    matrix = matrix_of(
        np.array([[a, b] for a in range(4) for b in range(5)]),
        np.arange(1, 21),
        (4, 5),
    )
    portfolio = dict(orders(matrix, ("a", "b")))
    assert next(iter(portfolio)) == "frequency"
    assert {
        "frequency",
        "value",
        "serpentine of a, b",
        "serpentine of b, a",
        "2 blocks of a, serpentine of b",
    } <= set(portfolio)
    assert all(sorted(stack.order.tolist()) == list(range(20)) for stack in portfolio.values())


def test_a_serpentine_turns_at_its_ends():
    matrix = matrix_of(
        np.array([[a, b] for a in range(3) for b in range(3)]),
        np.ones(9, dtype=np.int64),
        (3, 3),
    )
    assert matrix.codes[serpentine(matrix, (0, 1)).order].tolist() == [
        [0, 0],
        [0, 1],
        [0, 2],
        [1, 2],
        [1, 1],
        [1, 0],
        [2, 0],
        [2, 1],
        [2, 2],
    ]
    assert matrix.codes[serpentine(matrix, (1, 0)).order].tolist() == [
        [0, 0],
        [1, 0],
        [2, 0],
        [2, 1],
        [1, 1],
        [0, 1],
        [0, 2],
        [1, 2],
        [2, 2],
    ]


def test_blocks_go_through_the_second_attribute_from_end_to_end():
    matrix = matrix_of(
        np.array([[a, b] for a in range(4) for b in range(2)]),
        np.ones(8, dtype=np.int64),
        (4, 2),
    )
    blocks = matrix.codes[serpentine(matrix, (0, 1), blocks=2).order].tolist()
    assert [sorted(a for a, _ in blocks[i : i + 4]) for i in (0, 4)] == [[0, 0, 1, 1], [2, 2, 3, 3]]
    assert [b for _, b in blocks] == [0, 0, 1, 1, 1, 1, 0, 0]
