"""From the rows of a block to their classes: trees, of which the best is kept, then the exchange."""

from __future__ import annotations

import numpy as np

from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.figures import closeness_ratios, rows_lost
from tclose_spark.methods.closeness_tree.carve.tree import Tree, TreeGrowth, grow
from tclose_spark.methods.closeness_tree.effort import GROWTHS, Effort
from tclose_spark.methods.closeness_tree.exchange.rounds import exchange
from tclose_spark.table.arrays import IntArray

SMALL_BLOCK = 40_000  # rows; of a block with half as many, twice as many trees go on
TRIAL = 4  # sweeps, after which trees are compared: what a tree loses by itself says less
SEED = 2026


def put_into_classes(block: Block, growth: TreeGrowth, effort: Effort) -> tuple[IntArray, dict[str, float]]:
    """(the class of each row of a block, shape (n,), from 0; figures as `ClosenessTreePlan.figures` names them).

    Every class holds what is required if the block does. growth: of the tree, where the effort is one tree.
    """
    trees = [grow(block, way) for way in GROWTHS[: effort.trees]] if effort.trees > 1 else [grow(block, growth)]
    field = [(tree, tree.leaf) for tree in trees]
    if len(field) > 1:
        field = _exchanged(block, field, TRIAL, 0)
    more = max(1, SMALL_BLOCK // len(block.cell))
    for best, rounds in effort.heats:
        field = _exchanged(block, field[: best * more], effort.sweeps, rounds)
    tree, classes = field[0]
    ratios = closeness_ratios(block, classes)
    return classes, {
        "rows": len(classes),
        "lost_by_tree": rows_lost(block, tree.leaf),
        "lost": rows_lost(block, classes),
        "load": float(ratios @ np.bincount(classes)),
        "largest_load": float(ratios.max()),
        "depth": tree.depth,
    }


def _exchanged(
    block: Block, field: list[tuple[Tree, IntArray]], sweeps: int, rounds: int
) -> list[tuple[Tree, IntArray]]:
    """Each tree with its classes after an exchange; those that lose least first."""
    after = [(tree, exchange(block, classes, sweeps, rounds, SEED)) for tree, classes in field]
    return sorted(after, key=lambda end: rows_lost(block, end[1]))
