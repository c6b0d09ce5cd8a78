"""Bins of wide domains: they make up the domain, follow its hierarchy, and what they hide is
foretold.
"""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import count_in, drawn, make_problem, settle_all, trees

from requirements import check_classes
from tclose_spark.measures.distances.ground_distances import EqualDistance, HierarchicalDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.routing_tree import RoutingTree
from tclose_spark.methods.closeness_tree.carve.goal import (
    LEAST_SHARE,
    WIDE,
    bins_of,
    expected_deviation,
    goal_of,
)
from tclose_spark.methods.closeness_tree.carve.sizes import HIDDEN_MOST, smallest_in_bins
from tclose_spark.methods.closeness_tree.carve.tree import TreeGrowth, grow
from tclose_spark.methods.closeness_tree.plan import plan_trees
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

AGE = {"age": {"type": "numeric"}, "sex": {}}


@st.composite
def drawn_bins(draw):
    """A hierarchy, rows of each leaf, the least share of a bin, and the bins."""
    tree = draw(trees(12))
    rows = draw(
        st.lists(st.integers(0, 9), min_size=len(tree.leaves), max_size=len(tree.leaves)).filter(
            any,
        ),
    )
    table = np.array(rows, dtype=np.int64)
    least = draw(st.sampled_from([0.0, 0.1, 0.25, 0.5]))
    return tree, table, least, bins_of(table / table.sum(), tree.parents, least)


@drawn(200)
@given(drawn_bins())
def test_bins_are_large_enough_and_follow_the_hierarchy(drawn_one):
    tree, table, least, bins = drawn_one
    # Of whole rows: a sum of shares is not exact.
    share = np.bincount(bins.bin_of, weights=table) / table.sum()
    assert len(bins.bin_of) == len(table)
    assert sorted(set(bins.bin_of.tolist())) == list(range(len(share)))
    assert (share < least).sum() <= 1
    assert all(
        share[bins.bin_of[v]] == table[v] / table.sum()
        for v in np.flatnonzero(table / table.sum() >= least)
    )
    assert len(bins.parents) == len(tree.parents)
    below = len(share)
    for parent in bins.parents:  # children of a node are consecutive
        assert len(parent) == below
        assert set(np.diff(parent, prepend=0).tolist()) <= {0, 1}
        below = int(parent[-1]) + 1
    assert below == 1


@drawn(200)
@given(drawn_bins(), st.data())
def test_where_every_value_is_a_bin_nothing_is_hidden_and_a_class_is_as_far(drawn_one, data):
    tree, table, _, _ = drawn_one
    bins = bins_of(table / table.sum(), tree.parents, 0.0)
    counts = np.array([data.draw(st.integers(0, int(n))) for n in table], dtype=np.int64)
    assume(counts.any())
    binned = [np.bincount(bins.bin_of, weights=rows).astype(np.int64) for rows in (table, counts)]
    exact = HierarchicalDistance(table, tuple(tree.parents)).numerators(
        Histograms.dense(counts[None, :]),
    )
    seen = HierarchicalDistance(binned[0], tuple(bins.parents)).numerators(
        Histograms.dense(binned[1][None, :]),
    )
    assert seen == exact
    assert not len(bins.hidden)


def test_what_bins_hide_is_about_what_drawn_classes_differ_by():
    share = 1.0 / np.arange(1, 301)
    table = np.round(share / share.sum() * 100_000).astype(np.int64)
    bins = bins_of(table / table.sum(), [np.zeros(300, dtype=np.int64)], 1 / 20)
    draw = np.random.default_rng(1)
    for size in (20, 300, 5000):
        counts = draw.multivariate_hypergeometric(table, size, size=200)
        binned = np.stack([np.bincount(bins.bin_of, weights=c) for c in counts]).astype(np.int64)
        bin_table = np.bincount(bins.bin_of, weights=table).astype(np.int64)
        exact = EqualDistance(table).numerators(Histograms.dense(counts)).mean() / table.sum()
        seen = EqualDistance(bin_table).numerators(Histograms.dense(binned)).mean() / table.sum()
        assert (
            0.4 * (exact - seen)
            < expected_deviation(bins.hidden, 6000)[size]
            < 1.1 * (exact - seen)
        )
    assert np.all(np.diff(expected_deviation(bins.hidden, 6000)) > 0)


def patients(rows: int, codes: int):
    """People with one of many diagnoses, of very different frequencies, that follow from their age;
    their hierarchy.
    """
    draw = np.random.default_rng(7)
    weights = 1.0 / np.arange(1, codes + 1)
    weights = draw.permutation(weights)
    ages = draw.integers(20, 90, rows)
    names = [f"{chr(65 + i * 26 // codes)}{i:03d}" for i in range(codes)]
    old = np.linspace(-1, 1, codes)
    records = []
    for age in ages:
        tilted = weights * np.exp(old * (age - 55) / 20)
        records.append(
            (age, names[int(np.searchsorted(np.cumsum(tilted / tilted.sum()), draw.random()))]),
        )
    tree = Hierarchy.build([(name, name[:2], name[0], "*") for name in names], "diagnoses")
    people = [
        {"age": int(age), "sex": "fm"[i % 2], "diagnosis": code}
        for i, (age, code) in enumerate(records)
    ]
    return people, tree


SENSITIVE = [
    {"diagnosis": {"distance": "hierarchical", "hierarchy": "diagnosis.csv", "t": "0.25"}},
    {"diagnosis": {"t": "0.35"}},
]


@pytest.mark.parametrize("sensitive", SENSITIVE, ids=["hierarchical", "equal"])
def test_a_wide_domain_is_released_exactly_in_work_that_bins_bound(sensitive, monkeypatch):
    records, tree = patients(6000, 300)
    problem, rows = make_problem(
        records,
        sensitive,
        AGE,
        {"diagnosis": tree},
        k=5,
        name="closeness_tree",
        effort="fast",
    )
    told, grown = [], []

    def counted(block, growth, *hashes):
        grown.append(len(block.cell))
        return grow(block, growth, *hashes)

    monkeypatch.setattr("tclose_spark.methods.closeness_tree.plan.grow", counted)
    monkeypatch.setattr("tclose_spark.methods.closeness_tree.plan.TRIAL_ROWS_IN_BINS", 2000)
    plan = plan_trees(problem.given(count_in(rows), told.append), 3000)
    settled, classes = settle_all(plan, rows)
    check_classes(problem, settled, classes)
    assert len(set(classes.tolist())) >= 4
    assert grown[:3] == [6000, 6000, 6000]
    assert sum(grown[3:]) == 3 * 2000
    assert [line.split()[0] for line in told] == ["growing", "a", "a", "a"]
    block, _ = Dense(problem.attributes, 5).block(problem.sample)
    goal = goal_of(block.requirement)
    assert block.requirement.domains[0] == 300 > WIDE
    assert goal.domains[0] <= 1 / LEAST_SHARE + 1


def test_no_part_is_tried_in_which_bins_hide_most_of_what_is_allowed():
    records, tree = patients(6000, 300)
    sensitive = {"diagnosis": {**SENSITIVE[0]["diagnosis"], "t": "0.15"}}
    problem, _ = make_problem(records, sensitive, AGE, {"diagnosis": tree}, k=5)
    block, _ = Dense(problem.attributes, 5).block(problem.sample)
    goal = goal_of(block.requirement)
    least = smallest_in_bins(goal, 3000)
    hidden = goal.hidden[0, [least - 1, least]] / (goal.unit[0] * np.array([least - 1, least]))
    assert hidden[0] > HIDDEN_MOST >= hidden[1]
    assert np.bincount(grow(block).leaf).min() >= least > 5


@pytest.mark.parametrize("sensitive", SENSITIVE, ids=["hierarchical", "equal"])
def test_rows_of_bins_are_planned_where_they_are_routed(sensitive):
    records, tree = patients(6000, 300)
    problem, _ = make_problem(records, sensitive, AGE, {"diagnosis": tree}, k=5)
    block, codes = Dense(problem.attributes, 5).block(problem.sample)
    leaf, _, splits = grow(block, TreeGrowth(stop=1000), problem.sample.hash)
    assert splits.leaves >= 4
    assert np.array_equal(RoutingTree(splits, tuple(codes)).leaf_of(problem.sample), leaf)
