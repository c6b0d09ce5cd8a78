"""From the rows of a block to their classes: trees, of which the best is kept, then the exchange."""

from __future__ import annotations

import numpy as np

from tclose_spark.measures.histograms import IntArray
from tclose_spark.methods.closeness_tree.block import Block
from tclose_spark.methods.closeness_tree.effort import GROWTHS, Effort
from tclose_spark.methods.closeness_tree.exchange import exchange
from tclose_spark.methods.closeness_tree.figures import loads, rows_lost
from tclose_spark.methods.closeness_tree.tree import Growth, Tree, grow

TRIAL = 4  # sweeps, after which trees are compared: what a tree loses by itself says less
SEED = 2026


def put_into_classes(block: Block, growth: Growth, effort: Effort) -> tuple[IntArray, dict[str, float]]:
    """(the class of each row of a block, shape (n,), from 0; figures as `ClosenessTreePlan.figures` names them).

    Every class holds what is asked if the block does. growth: of the tree, where the effort is one tree.
    """
    tree, classes = _best_start(block, effort) if effort.trees > 1 else _grown(block, growth)
    classes = exchange(block, classes, effort.sweeps, effort.rounds, SEED)
    load = loads(block, classes)
    return classes, {
        "rows": len(classes),
        "lost_by_tree": rows_lost(block, tree.leaf),
        "lost": rows_lost(block, classes),
        "load": float(load @ np.bincount(classes)),
        "largest_load": float(load.max()),
        "depth": tree.depth,
    }


def _grown(block: Block, growth: Growth) -> tuple[Tree, IntArray]:
    tree = grow(block, growth)
    return tree, tree.leaf


def _best_start(block: Block, effort: Effort) -> tuple[Tree, IntArray]:
    """The tree that loses least after a few sweeps, and the classes then; the first of equals."""
    starts = []
    for growth in GROWTHS[: effort.trees]:
        tree = grow(block, growth)
        starts.append((tree, exchange(block, tree.leaf, TRIAL, 0, SEED)))
    return min(starts, key=lambda start: rows_lost(block, start[1]))
