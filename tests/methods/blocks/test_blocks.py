"""What a method in blocks gets from `methods.blocks`, shown by one that halves at medians."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from medians import MedianPlan, holds_by_itself, make_plan, split_by_medians
from strategies import content, count_in, drawn, make_problem, people, settle_all, town

from requirements import check_classes
from tclose_spark.errors import UnreachableError
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.figures import closeness_ratios, rows_lost
from tclose_spark.methods.blocks.layout import BlockLayout, BlockLayoutModel
from tclose_spark.methods.blocks.planning import merge
from tclose_spark.methods.blocks.routing_tree import RoutingTree, Splits, chance, no_splits
from tclose_spark.table.rows import Rows

SENSITIVE = {
    "disease": {"t": "0.4", "l": {"distinct": 2}},
    "grade": {"distance": "ordered", "t": "0.25"},
}


@drawn(40)
@given(
    people(least=8, most=60),
    st.integers(2, 4),
    st.integers(4, 30),
    st.integers(1, 20),
    st.data(),
)
def test_every_class_of_a_method_in_blocks_holds_however_rows_come(
    records,
    k,
    per_block,
    per_task,
    data,
):
    problem, rows = make_problem(records, SENSITIVE, k=k)
    few = problem.sample.take(np.arange(data.draw(st.integers(1, len(rows)))))
    problem = replace(problem, sample=few)
    try:
        plan = make_plan(problem.given(count_in(rows)), per_block, per_task)
    except UnreachableError:
        return
    settled = settle_all(plan, rows)
    check_classes(problem, *settled)
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    assert content(*settle_all(plan, rows.take(order))) == content(*settled)
    dense = Dense(problem.attributes, k)
    kept = BlockLayoutModel.model_validate(json.loads(json.dumps(plan.to_json())))
    again = MedianPlan(BlockLayout.of_model(kept, dense))
    assert content(*settle_all(again, rows)) == content(*settled)


def test_a_sample_plans_many_blocks_and_tasks():
    problem, rows = make_problem(town(3000), {"disease": {"t": "0.3"}}, k=5)
    few = problem.sample.take(np.flatnonzero(problem.sample.hash % 3 == 0))
    plan = make_plan(replace(problem, sample=few).given(count_in(rows)), 300, 900)
    assert plan.blocks >= 6
    assert 3 <= plan.tasks < plan.blocks
    assert plan.layout.block_rows.sum() == len(rows)
    check_classes(problem, rows, plan.layout.block(rows))
    stayed, classes = settle_all(plan, rows)
    check_classes(problem, stayed, classes)
    assert len(set(classes.tolist())) > 2 * plan.blocks


def test_figures_of_the_blocks_of_a_task_become_one():
    problem, rows = make_problem(town(600), {"disease": {"t": "0.3"}}, k=5)
    plan = make_plan(problem.given(count_in(rows)), 150, 10_000)
    assert plan.tasks == 1 < plan.blocks
    settled = plan.assign_classes(rows, 0)
    assert settled.blocks == plan.blocks
    assert settled.figures == {
        "rows": 600,
        "largest": np.unique(settled.classes, return_counts=True)[1].max(),
    }


def test_a_task_that_gets_other_rows_says_so():
    problem, rows = make_problem(town(300), {"disease": {"t": "0.3"}}, k=5)
    plan = make_plan(problem.given(count_in(rows)), 100, 1000)
    with pytest.raises(ValueError, match="the input changed since"):
        plan.assign_classes(rows.take(np.arange(299)), 0)


@drawn(100)
@given(people(least=8), st.integers(2, 4), st.data())
def test_counts_of_cells_hold_what_their_rows_hold(records, k, data):
    problem, rows = make_problem(records, SENSITIVE, k=k)
    dense = Dense(problem.attributes, k)
    block, _ = dense.block(rows)
    some = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, unique=True)))
    cells = np.bincount(rows.cell[some], minlength=len(problem.profile.cells))
    assert dense.holds(cells) == holds_by_itself(block, some)


def test_figures_are_counted_from_the_rows():
    records = [
        {"age": age, "disease": disease}
        for age, disease in zip((20, 30, 40, 60), "abab", strict=True)
    ]
    problem, rows = make_problem(
        records,
        {"disease": {"t": "0.5"}},
        {"age": {"type": "numeric"}},
        k=2,
    )
    block, _ = Dense(problem.attributes, 2).block(rows)
    assert rows_lost(block, np.array([0, 0, 1, 1])) == pytest.approx(2 * 10 / 40 + 2 * 20 / 40)
    assert closeness_ratios(block, np.array([0, 0, 1, 1])).tolist() == [0, 0]
    assert closeness_ratios(block, np.array([1, 0, 1, 0])).tolist() == [1, 1]


def test_leaves_are_merged_into_blocks_that_hold_and_are_not_too_large():
    problem, rows = make_problem(town(2000), {"disease": {"t": "0.3"}}, k=5)
    dense = Dense(problem.attributes, problem.spec.privacy.k)
    block, _ = dense.block(rows.take(rows.sorted_by_hash()))
    leaf, splits = split_by_medians(block)
    counts = np.zeros((splits.leaves, len(problem.profile.cells)), dtype=np.int64)
    np.add.at(counts, (leaf, block.cell), 1)
    alone, needed = merge(dense, splits, counts, 0)
    assert (len(set(alone.tolist())), needed) == (splits.leaves, 0)
    together, needed = merge(dense, splits, counts, 300)
    sizes = np.bincount(together, weights=counts.sum(axis=1))
    assert needed == 0
    assert len(sizes) < splits.leaves
    assert sizes.max() <= 300
    pairs = splits.leaves // 2
    counts[0 : 2 * pairs : 2, 0] += counts[1 : 2 * pairs : 2, 0]
    counts[1 : 2 * pairs : 2, 0] = 0  # not what the tree was grown on; the whole is as it was
    assert dense.holds(counts.sum(axis=0))
    healed, needed = merge(dense, splits, counts, 0)
    assert 0 < needed == splits.leaves - healed.max() - 1
    assert all(dense.holds(counts[healed == b].sum(axis=0)) for b in range(healed.max() + 1))


@drawn(60)
@given(people(least=8), st.randoms(use_true_random=False))
def test_rows_walk_the_tree_to_their_leaves(records, random):
    problem, rows = make_problem(records, {"disease": {"t": "0.75"}}, k=2)
    block, codes = Dense(problem.attributes, 2).block(rows)
    leaf, splits = split_by_medians(block)
    tree = RoutingTree(splits, tuple(codes))
    assert np.array_equal(tree.leaf_of(rows), leaf)
    order = np.array(random.sample(range(len(rows)), len(rows) // 2))
    assert np.array_equal(tree.leaf_of(rows.take(order)), leaf[order])
    assert 2**tree.depth >= splits.leaves > tree.depth


def walked(splits: Splits, codes: list[np.ndarray], rows: Rows, row: int) -> int:
    """The leaf of a row, by the definition of Splits: over the places of its codes among those that
    are known.
    """
    node, cell = (0 if len(splits.quasi) else -1), int(rows.cell[row])
    while node >= 0:
        j = int(splits.quasi[node])
        code = min(int(np.searchsorted(codes[j], rows.quasi[j][row])), len(codes[j]) - 1)
        goes = splits.lo[node] <= code <= splits.hi[node]
        if goes and splits.cut[node, cell] >= 0 and code != splits.cut[node, cell]:
            goes = code < splits.cut[node, cell]
        elif goes and splits.share[node, cell] < 1:
            goes = chance(rows.hash[row], node) < splits.share[node, cell]
        node = int(splits.left[node] if goes else splits.right[node])
    return -1 - node


@drawn(100)
@given(st.integers(0, 2**32 - 1))
def test_rows_with_codes_that_no_split_knows_go_where_the_next_code_goes(seed):
    random = np.random.default_rng(seed)
    q, cells, nodes = 2, 2, int(random.integers(0, 12))
    far = np.iinfo(np.int64)
    codes = [np.unique(random.choice([-7, -3, 0, 2, 5, 6, 9], 4)) for _ in range(q)]
    values = [far.min, *range(-9, 12), far.max]
    splits = no_splits(nodes, cells)
    for node in range(nodes):
        j = int(random.integers(q))
        lo, hi = np.sort(random.integers(0, len(codes[j]), 2))
        splits.quasi[node], splits.lo[node], splits.hi[node] = j, lo, hi
        splits.cut[node] = random.integers(-1, len(codes[j]), cells)
        splits.share[node] = random.choice([0, 0.3, 1], cells)
        below = 2 * node + 1, 2 * node + 2
        splits.left[node], splits.right[node] = [
            child if child < nodes else -1 - child for child in below
        ]
    rows = Rows(
        tuple(random.choice(values, 60) for _ in range(q)),
        random.integers(0, cells, 60),
        random.integers(0, 2**63, 60).astype(np.uint64),
    )
    leaf = RoutingTree(splits, tuple(codes)).leaf_of(rows)
    assert leaf.tolist() == [walked(splits, codes, rows, row) for row in range(60)]
