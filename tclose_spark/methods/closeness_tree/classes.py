"""From the rows of a block to their classes: trees, of which the best is kept, then the exchange."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tclose_spark.measures.histograms import IntArray
from tclose_spark.methods.closeness_tree.block import Block
from tclose_spark.methods.closeness_tree.effort import GROWTHS, ROWS_PER_BLOCK, Effort
from tclose_spark.methods.closeness_tree.exchange import exchange
from tclose_spark.methods.closeness_tree.figures import loads, rows_lost
from tclose_spark.methods.closeness_tree.tree import Growth, Tree, grow

TRIAL = 4  # sweeps, after which trees are compared: what a tree loses by itself says less
SEED = 2026


def put_into_classes(block: Block, growth: Growth, effort: Effort) -> tuple[IntArray, dict[str, float]]:
    """(the class of each row of a block, shape (n,), from 0; figures as `ClosenessTreePlan.figures` names them).

    Every class holds what is asked if the block does. growth: of the tree, where the effort is one tree.
    """
    starts = _starts(block, GROWTHS[: effort.trees], TRIAL) if effort.trees > 1 else _starts(block, (growth,), 0)
    # A small block is annealed from several trees, for no more work than a whole one takes.
    tries = max(1, min(ROWS_PER_BLOCK // len(block.cell), len(starts)))
    ends = [(tree, exchange(block, leaf, effort.sweeps, effort.rounds, SEED)) for tree, leaf in starts[:tries]]
    tree, classes = min(ends, key=lambda end: rows_lost(block, end[1]))
    load = loads(block, classes)
    return classes, {
        "rows": len(classes),
        "lost_by_tree": rows_lost(block, tree.leaf),
        "lost": rows_lost(block, classes),
        "load": float(load @ np.bincount(classes)),
        "largest_load": float(load.max()),
        "depth": tree.depth,
    }


def _starts(block: Block, growths: Sequence[Growth], sweeps: int) -> list[tuple[Tree, IntArray]]:
    """A tree for each growth, and its classes after some sweeps; those that lose least first."""
    trees = [grow(block, growth) for growth in growths]
    starts = [(tree, exchange(block, tree.leaf, sweeps, 0, SEED)) for tree in trees]
    return sorted(starts, key=lambda start: rows_lost(block, start[1]))
