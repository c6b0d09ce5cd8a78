"""The classes of a block: several trees are grown and exchange rows, and the best result is
kept.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.figures import closeness_ratios, figures_of_block, rows_lost
from tclose_spark.methods.closeness_tree.carve.tree import Tree, TreeGrowth, grow
from tclose_spark.methods.closeness_tree.effort import GROWTHS, SMALL_BLOCK, BlockEffort
from tclose_spark.methods.closeness_tree.exchange.rounds import FULL, Annealing, exchange
from tclose_spark.methods.rows_in_work import begin_block
from tclose_spark.table.arrays import IntArray

SEED = 2026


def put_into_classes(
    block: Block,
    growth: TreeGrowth,
    effort: BlockEffort,
) -> tuple[IntArray, dict[str, float]]:
    """(the class of each row of a block, shape (n,), from 0; figures as `ClosenessTreePlan.figures`
    names them).

    Every class meets the requirement if the block does. growth: of the tree, if the effort is one
    tree.
    """
    begin_block(len(block.cell), _sweeps(len(block.cell), effort))
    trees = [
        grow(block, each) for each in (GROWTHS[: effort.trees] if effort.trees > 1 else (growth,))
    ]
    field = [(tree, tree.leaf) for tree in trees]
    if len(field) > 1:
        field = _exchanged(block, field, effort.trial, 0)
    for trees_left, rounds in _heats(len(block.cell), effort):
        field = _exchanged(block, field[:trees_left], effort.sweeps, rounds, effort.annealing)
    tree, classes = field[0]
    figures = figures_of_block(block, classes, closeness_ratios(block, classes))
    return classes, {**figures, "lost_by_tree": rows_lost(block, tree.leaf), "depth": tree.depth}


def _heats(rows: int, effort: BlockEffort) -> Iterator[tuple[int, int]]:
    """(how many trees take part, rounds of annealing) of each heat, for a block of so many rows."""
    left = effort.trees
    more = max(1, SMALL_BLOCK // rows)
    for best, rounds in effort.heats:
        left = min(left, best * more)
        yield left, rounds


def _sweeps(rows: int, effort: BlockEffort) -> int:
    """About how often the exchange goes through the rows of a block."""
    trials = effort.trees * effort.trial if effort.trees > 1 else 0
    return trials + sum(trees * (effort.sweeps + rounds) for trees, rounds in _heats(rows, effort))


def _exchanged(
    block: Block,
    field: list[tuple[Tree, IntArray]],
    sweeps: int,
    rounds: int,
    annealing: Annealing = FULL,
) -> list[tuple[Tree, IntArray]]:
    """Each tree with its classes after an exchange, the least loss first. Of trees whose rows are
    in the same classes, as most of those of a few rows are, the first one stands for all.
    """
    apart: dict[bytes, tuple[Tree, IntArray]] = {}
    for tree, classes in field:
        apart.setdefault(
            _in_order_of_rows(classes).tobytes() if len(field) > 1 else b"",
            (tree, classes),
        )
    after = [
        (tree, exchange(block, classes, sweeps, rounds, SEED, annealing))
        for tree, classes in apart.values()
    ]
    return sorted(after, key=lambda end: rows_lost(block, end[1])) if len(after) > 1 else after


def _in_order_of_rows(classes: IntArray) -> IntArray:
    """The classes, numbered in the order of their first rows."""
    _, first, number = np.unique(classes, return_index=True, return_inverse=True)
    return first.argsort().argsort()[number]
