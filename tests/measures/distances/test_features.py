"""Every distance as a weighted sum of absolute differences: of features one by one, and as the cost
of transport.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from strategies import count_tables, drawn, trees
from uneven import uneven, uneven_over

from tclose_spark.measures.distances.ground_distances import (
    EqualDistance,
    GroundDistance,
    HierarchicalDistance,
    OrderedDistance,
)
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.measures.distances.transport import transport_plan
from tclose_spark.table.arrays import WIDEST


def emds(distance: GroundDistance, classes: np.ndarray) -> list[Fraction]:
    unit = distance.scale * int(distance.table.sum())
    found = zip(distance.numerators(Histograms.dense(classes)), classes.sum(axis=1), strict=True)
    return [Fraction(int(x), unit * int(s)) for x, s in found]


def by_feature(distance: GroundDistance, classes: np.ndarray) -> list[Fraction]:
    """The definition, feature by feature in fractions."""
    features, n = distance.features, int(distance.table.sum())
    of_table = features.counts(distance.table[None, :])[0].tolist()
    weights = [1] * len(of_table) if features.weights is None else features.weights.tolist()
    result = []
    for held, s in zip(
        features.counts(classes).tolist(),
        classes.sum(axis=1).tolist(),
        strict=True,
    ):
        parts = [
            w * abs(Fraction(c, s) - Fraction(x, n))
            for w, c, x in zip(weights, held, of_table, strict=True)
        ]
        result.append(sum(parts, Fraction(0)) / features.scale)
    return result


@pytest.mark.parametrize("most", [6, 3 * 10**7, 10**12])
@drawn(100)
@given(st.data())
def test_numerators_are_the_sums_over_all_features(most, data):
    tree = data.draw(trees())
    m = len(tree.leaves)
    counts = st.lists(st.integers(0, most), min_size=m, max_size=m).filter(any)
    classes, table = (
        np.array(data.draw(st.lists(counts, min_size=1, max_size=5))),
        np.array(data.draw(counts)),
    )
    for distance in (
        EqualDistance(table),
        OrderedDistance(table),
        HierarchicalDistance(table, tree.parents),
    ):
        assert emds(distance, classes) == by_feature(distance, classes)


@drawn(200)
@given(uneven(), st.sampled_from([9, 10**8, WIDEST // 8]), st.data())
def test_steps_may_differ(case, most, data):
    distance, _ = case
    m = len(distance.table)
    counts = st.lists(st.integers(0, most // m), min_size=m, max_size=m).filter(any)
    classes = np.array(data.draw(st.lists(counts, min_size=1, max_size=4)))
    assert emds(distance, classes) == by_feature(distance, classes)


@pytest.mark.parametrize("kind", ["numeric", "weighted tree"])
def test_steps_that_differ_are_exact_beyond_64_bits(kind):
    distance = uneven_over(np.array([3, 1, 2, 5]) * 10**12)[kind]
    classes = np.array([[10**12, 5, 1, 0], [0, 1, 10**12, 7]])
    assert emds(distance, classes) == by_feature(distance, classes)


@drawn(60)
@given(uneven(), st.data())
def test_with_steps_that_differ_it_is_the_cost_of_the_cheapest_transport(case, data):
    distance, ground = case
    m, table = len(distance.table), distance.table
    counts = np.array(data.draw(st.lists(st.integers(0, 9), min_size=m, max_size=m).filter(any)))
    plan, (emd,) = transport_plan(distance, counts), emds(distance, counts[None, :])
    assert plan.cost == emd
    assert all(move.distance == ground[move.source][move.target] for move in plan.moves)
    margins = np.vstack([np.kron(np.eye(m), np.ones(m)), np.kron(np.ones(m), np.eye(m))])
    costs = np.array(ground, dtype=float).ravel()
    best = linprog(
        costs,
        A_eq=margins,
        b_eq=np.concatenate([counts / counts.sum(), table / table.sum()]),
    ).fun
    assert float(emd) == pytest.approx(best, abs=1e-9)


@drawn(50)
@given(count_tables())
def test_every_height_has_all_rows(classes):
    m = classes.shape[1]
    pairs = (np.arange(m) // 2, np.zeros((m + 1) // 2, dtype=np.int64))
    features = HierarchicalDistance(classes.sum(axis=0), pairs).features
    held = features.counts(classes)
    assert held.shape[1] == (features.level_weights > 0).sum() == m + (m + 1) // 2
    assert held.sum(axis=1).tolist() == (2 * classes.sum(axis=1)).tolist()
