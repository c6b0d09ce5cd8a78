"""Planning blocks: a tree grown on a sample and stopped at the size of a block, its leaves counted over the whole
table, and merged until every block holds.

What a sample cannot promise is made certain by counting: one scan counts every leaf's cells, and leaves that would not
hold what is required are merged with their nearest relatives until every block does, exactly. The whole table holds it,
or there is no plan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tclose_spark.methods.attributes import require_plain
from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.layout import BlockLayout
from tclose_spark.methods.blocks.merge import merge
from tclose_spark.methods.blocks.routing_tree import RoutingTree, Splits, no_splits
from tclose_spark.methods.method import GroupCounts, PlanningInput
from tclose_spark.table.arrays import IntArray

MOST_COUNTS = (
    1 << 22
)  # leaves times cells, which the driver and every task hold: aimed at; small leaves make it a few times as many

GrowSplits = Callable[[Block, int], Splits]
"""`grow(sample, stop)`: a tree over the sample's dense codes; nodes of at most `stop` of its rows are not split. A leaf
need not hold what is required, nor be near `stop`, but those that do make more and smaller blocks."""


@dataclass(frozen=True, kw_only=True)
class SampledTable:
    """What blocks are planned from.

    dense: makes blocks of the table's rows.
    sample: rows that stand for the table, as a block.
    codes: what the sample's dense codes stand for, of each quasi-identifier, ascending.
    counts: counts rows of the whole table by group.
    """

    dense: Dense
    sample: Block
    codes: tuple[IntArray, ...]
    counts: GroupCounts

    @staticmethod
    def of(given: PlanningInput) -> SampledTable:
        """The table of a run.

        Raises:
            ConfigurationError: if a distance has steps that differ, which kernels take for one.
            UnreachableError: if even the whole table does not hold k and distinct l.
        """
        require_plain(given.attributes.sensitive, "a method that makes classes in blocks")
        dense = Dense(given.attributes, given.k)
        dense.require_reachable()
        rows = min(len(given.sample), max(dense.most_rows, 1))
        sample, codes = dense.block(given.sample.take(np.arange(rows)))
        return SampledTable(dense=dense, sample=sample, codes=tuple(codes), counts=given.counts)

    @property
    def rows(self) -> int:
        """Of the whole table."""
        return self.dense.attributes.rows

    @property
    def scale(self) -> float:
        """Rows of the table for each row of the sample."""
        return self.rows / len(self.sample.cell)


def plan_blocks(table: SampledTable, grow: GrowSplits, rows_per_block: int, rows_per_task: int) -> BlockLayout:
    """The blocks of a table: of at most about `rows_per_block` rows each where `grow` can tell them apart, and in tasks
    of about `rows_per_task` rows. A table that is no larger than a block is one, and nothing is grown.

    Raises:
        ConfigurationError: if a block is too large for the integers of the kernels.
    """
    attributes = table.dense.attributes
    cells, splits, counts = len(attributes.cells), no_splits(0, len(attributes.cells)), attributes.cell_rows[None, :]
    if table.rows > rows_per_block:
        sampled = len(table.sample.cell)
        stop = max(int(rows_per_block / table.scale), sampled * cells // MOST_COUNTS, 2 * table.dense.k)
        splits = grow(table.sample, stop)
        counts = _count_leaves(table, RoutingTree(splits, table.codes))
    block_of, merges = merge(table.dense, splits, counts, rows_per_block)
    block_rows = np.zeros(int(block_of.max()) + 1, dtype=np.int64)
    np.add.at(block_rows, block_of, counts.sum(axis=1))
    table.dense.require_room(int(block_rows.max()))
    return BlockLayout(
        dense=table.dense,
        tree=RoutingTree(splits, table.codes),
        block_of=block_of,
        block_rows=block_rows,
        first_block=_first_blocks(block_rows, rows_per_task),
        merges=merges,
    )


def _count_leaves(table: SampledTable, tree: RoutingTree) -> IntArray:
    """Rows of the whole table in each leaf by cell, shape (leaves, cells)."""
    cells, leaves = len(table.dense.attributes.cells), tree.splits.leaves
    return table.counts(lambda rows: tree.leaf_of(rows) * cells + rows.cell, leaves * cells).reshape(-1, cells)


def _first_blocks(block_rows: IntArray, rows_per_task: int) -> IntArray:
    """The first block of each task: whole blocks, in order, of about so many rows together."""
    task = (np.cumsum(block_rows) - block_rows) // rows_per_task
    return np.flatnonzero(np.diff(task, prepend=-1))
