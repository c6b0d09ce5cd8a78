"""The classes of a block: several trees are grown and exchange rows, and the best result is kept.

An effort says how much work that is. It is counted in work, not in time, so that a run is
reproducible.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.figures import closeness_ratios, figures_of_block, rows_lost
from tclose_spark.methods.closeness_tree.carve.tree import Tree, TreeGrowth, grow
from tclose_spark.methods.closeness_tree.exchange.rounds import FULL, THIN, Annealing, exchange
from tclose_spark.methods.closeness_tree.settings import ClosenessTree
from tclose_spark.methods.rows_in_work import begin_block
from tclose_spark.table.arrays import IntArray

RESERVES = (0.2, 0.4, 0.2, 0.2, 0.4, 0.4, 0.0, 0.1, 0.6)
PRICES = (8.0, 4.0, 2.0, 4.0, 8.0, 2.0, 8.0, 4.0, 2.0)
GROWTHS = tuple(
    TreeGrowth(reserve=reserve, price=price)
    for reserve, price in zip(RESERVES, PRICES, strict=True)
)
"""Settings for the growth of a tree, the most often best ones first. Chance in the first splits
decides which is best, so several are tried.
"""
SMALL_BLOCK = 40_000  # rows; in a block with half as many, twice as many trees reach the next heat
PLANNED = 3  # how many of them are tried on the sample
# The most rows of most blocks, of small and large tables.
ROWS_PER_BLOCK = 160_000
MOST_ROWS_PER_BLOCK = 1_280_000
BLOCKS = 16  # about, as long as that keeps blocks between these sizes
# Rows of the sample: with fewer, the plan follows chance.
SAMPLED_PER_BLOCK = 25_000
MOST_SAMPLED = 2_000_000


@dataclass(frozen=True, kw_only=True)
class Effort:
    """trees: how many are grown for each block; if one, then with the plan's growth.
    trial: sweeps of each tree before trees are compared: the loss of a tree by itself predicts less.
    sweeps: of the exchange in each heat (see `exchange`).
    heats: (how many of the best trees take part, rounds of annealing) of each; the best of the last
        heat is kept.
    sample_rows: of the sample on which the plan of a table is grown, unless it is very large.
    rows_per_task: about; a task has whole blocks, so 1 means a task for each block.
    annealing: how rounds of annealing go on.
    thinned: whether larger blocks are annealed by THIN (see `effort_in_block`).
    """

    trees: int
    trial: int = 4
    sweeps: int
    heats: tuple[tuple[int, int], ...]
    sample_rows: int
    rows_per_task: int
    annealing: Annealing = FULL
    thinned: bool = False


EFFORTS = {
    "fast": Effort(trees=1, sweeps=6, heats=((1, 0),), sample_rows=400_000, rows_per_task=200_000),
    "balanced": Effort(
        trees=3,
        sweeps=4,
        heats=((1, 50),),
        sample_rows=1_000_000,
        rows_per_task=80_000,
        thinned=True,
    ),
    "thorough": Effort(
        trees=len(GROWTHS),
        sweeps=8,
        heats=((9, 15), (3, 150), (1, 3000)),
        sample_rows=1_000_000,
        rows_per_task=1,
    ),
}


# Rounds of THIN in blocks of more than so many rows, of an effort that is thinned.
THIN_ROUNDS = {SMALL_BLOCK // 2: 100, SMALL_BLOCK: 55}


def effort_in_block(effort: Effort, rows: int) -> Effort:
    """The effort for a block of so many rows.

    >>> [effort_in_block(EFFORTS["balanced"], rows).heats for rows in (20_000, 40_000, 160_000)]
    [((1, 50),), ((1, 100),), ((1, 55),)]
    """
    found = effort
    for more_than, rounds in THIN_ROUNDS.items() if effort.thinned else ():
        if rows > more_than:
            found = replace(effort, trial=2, heats=((1, rounds),), annealing=THIN)
    return found


def block_size(rows: int, most: int) -> int:
    """The most rows of most blocks. most: rows of a block that the kernels can count. A block that
    is merged from others has several times their rows.

    Few large blocks lose less: their regions are wide enough to mix all sensitive values.

    >>> [block_size(rows, most=10**9) for rows in (1_000_000, 8_000_000, 100_000_000)]
    [160000, 500000, 1280000]
    >>> block_size(100_000_000, most=4 * 10**6)
    500000
    """
    return max(ROWS_PER_BLOCK, min(rows // BLOCKS, MOST_ROWS_PER_BLOCK, most // 8))


def sample_size(effort: Effort, rows: int) -> int:
    """The rows of the sample of a table of so many rows.

    >>> [sample_size(EFFORTS["fast"], rows) for rows in (1_000_000, 8_000_000, 100_000_000, 10**9)]
    [400000, 400000, 1953125, 2000000]
    """
    return max(
        effort.sample_rows,
        min(SAMPLED_PER_BLOCK * rows // MOST_ROWS_PER_BLOCK, MOST_SAMPLED),
    )


def effort_of(settings: ClosenessTree) -> Effort:
    """The effort of a run file; a number means sweeps."""
    effort = settings.effort
    return EFFORTS[effort] if isinstance(effort, str) else replace(EFFORTS["fast"], sweeps=effort)


SEED = 2026


def put_into_classes(
    block: Block,
    growth: TreeGrowth,
    effort: Effort,
) -> tuple[IntArray, dict[str, float]]:
    """(the class of each row of a block, shape (n,), from 0; figures as `ClosenessTreePlan.figures`
    names them).

    Every class meets the requirement if the block does. growth: of the tree, if the effort is one
    tree.
    """
    effort = effort_in_block(effort, len(block.cell))
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


def _heats(rows: int, effort: Effort) -> Iterator[tuple[int, int]]:
    """(how many trees take part, rounds of annealing) of each heat, for a block of so many rows."""
    left = effort.trees
    more = max(1, SMALL_BLOCK // rows)
    for best, rounds in effort.heats:
        left = min(left, best * more)
        yield left, rounds


def _sweeps(rows: int, effort: Effort) -> int:
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
