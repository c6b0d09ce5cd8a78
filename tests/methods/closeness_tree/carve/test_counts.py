"""Rows of a node by region and cell, and in lower halves: in a table and in order, they are those
of a plain count.
"""

import random

import numpy as np
import pytest
from strategies import make_problem

from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.closeness_tree.carve.counts import count_region, tabulate
from tclose_spark.methods.closeness_tree.carve.goal import goal_of, with_cells_merged
from tclose_spark.methods.closeness_tree.carve.halves import count_halves
from tclose_spark.methods.closeness_tree.carve.node import TreeNode, make_workspace
from tclose_spark.methods.closeness_tree.carve.search import propose_all
from tclose_spark.methods.closeness_tree.carve.tree import TreeGrowth, _make_inputs, find_cells
from tclose_spark.table.arrays import NO_HASHES

FEW, MANY = 0, 1  # quasi-identifiers, of few and of many codes


@pytest.fixture(scope="module")
def node():
    """(a node of all rows but some, the inputs of its tree, arrays to work in)."""
    draw = random.Random(4)
    records = [
        {"visits": draw.randrange(4), "pay": draw.randrange(90), "disease": draw.choice("aabbbcd")}
        for _ in range(160)
    ]
    number = {"type": "numeric"}
    problem, _ = make_problem(
        records,
        {"disease": {"t": "0.5"}},
        {"visits": number, "pay": number},
        k=2,
    )
    block, _ = Dense(problem.attributes, 2).block(problem.sample)
    goal, merged = with_cells_merged(goal_of(block.requirement))
    rows = np.vstack([block.quasi.T, merged[block.cell], np.arange(len(block.cell))]).astype(
        np.int32,
    )
    inputs = _make_inputs(block, TreeGrowth(), goal, merged, 2, NO_HASHES)
    work = make_workspace(block, goal)
    start, end = 7, 155
    cells = work.cells[: find_cells(rows, start, end, inputs, work)]
    made = TreeNode(
        rows=rows,
        start=start,
        end=end,
        cells=cells,
        cell=work.cell[: end - start],
        ratio=0.0,
    )
    propose_all(made, inputs, work)
    return made, work


@pytest.mark.parametrize("j", [FEW, MANY])
def test_the_rows_of_a_region(node, j):
    made, work = node
    assert tabulate(j, made, work) == (j == FEW)
    column, codes = (
        made.rows[j, made.start : made.end],
        work.present.codes[j, : work.present.length[j]],
    )
    part = np.empty(len(made.cells))
    for a in range(0, len(codes), 3):
        for b in {a, (a + len(codes)) // 2, len(codes) - 1}:
            count_region(j, a, b, made, work, part)
            inside = (codes[a] <= column) & (column <= codes[b])
            assert part.tolist() == np.bincount(made.cell[inside], minlength=len(part)).tolist()


@pytest.mark.parametrize("j", [FEW, MANY])
def test_of_each_cell_the_rows_with_the_lower_codes(node, j):
    made, work = node
    column, part = made.rows[j, made.start : made.end], np.empty(len(made.cells))
    size, top, bottom = count_halves(j, made, work, part)
    left = np.zeros(len(column), dtype=bool)
    for c, rows in enumerate(part.astype(int).tolist()):
        members = np.flatnonzero(made.cell == c)
        assert abs(2 * rows - len(members)) <= 1
        left[members[np.argsort(column[members], kind="stable")[:rows]]] = True
    assert (size, top, bottom) == (left.sum(), column[left].max(), column[~left].min())
