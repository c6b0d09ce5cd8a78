"""Planning blocks: a tree is grown on a sample and stopped at the size of a block.

A sample cannot guarantee that a leaf meets the requirement. So one scan of the whole table counts
the cells of every leaf, and leaves that fail are merged with their nearest relatives until every
block meets it exactly.

Which leaves of the plan form a block: they are merged until every block meets the requirement,
by exact counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tclose_spark.methods.attributes import require_plain
from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.layout import BlockLayout
from tclose_spark.methods.blocks.routing_tree import RoutingTree, Splits, no_splits
from tclose_spark.methods.method import GroupCounts, PlanningInput
from tclose_spark.table.arrays import HashArray, IntArray


def merge(dense: Dense, splits: Splits, counts: IntArray, most: int) -> tuple[IntArray, int]:
    """(the block of each leaf, shape (leaves,); how many merges were needed to meet the
    requirement).

    Leaves are merged with their nearest relatives until each block meets it. Relatives of together
    at most `most` rows are merged as well, because a block is divided anew. The whole table must
    meet it.

    counts: rows of each leaf by cell in the whole table, shape (leaves, cells).
    """
    groups: dict[
        int,
        list[LeafGroup],
    ] = {}  # of each node: groups that meet the requirement, or one group
    needed = 0

    def below(child: int) -> list[LeafGroup]:
        if child >= 0:
            return groups.pop(child)
        cells = counts[-1 - child]
        return [LeafGroup([-1 - child], cells, dense.holds(cells))]

    for node in reversed(range(len(splits.quasi))):  # children have higher numbers
        left = below(int(splits.left[node]))
        right = below(int(splits.right[node]))
        together = left + right
        if left[-1].cells.sum() + right[0].cells.sum() <= most:
            _merge_two(dense, together, len(left) - 1)
        groups[node] = _merge_failing(dense, together)
        needed += len(together) - len(groups[node])
    block_of = np.zeros(splits.leaves, dtype=np.int64)
    for number, group in enumerate(groups.get(0, [])):
        block_of[group.leaves] = number
    return block_of, needed


class LeafGroup(NamedTuple):
    """Leaves, their rows by cell, and whether these meet the requirement."""

    leaves: list[int]
    cells: IntArray
    held: bool


def _merge_failing(dense: Dense, groups: list[LeafGroup]) -> list[LeafGroup]:
    """The groups, with each that fails merged with its neighbour, until all meet the requirement or
    one is left.
    """
    groups = list(groups)
    place = 0
    while place < len(groups) and len(groups) > 1:
        if groups[place].held:
            place += 1
        else:
            place = max(place - 1, 0)
            _merge_two(dense, groups, place)
    return groups


def _merge_two(dense: Dense, groups: list[LeafGroup], first: int) -> None:
    """Merge the group `first` with the next one."""
    one, other = groups[first : first + 2]
    cells = one.cells + other.cells
    groups[first : first + 2] = [LeafGroup(one.leaves + other.leaves, cells, dense.holds(cells))]


MOST_COUNTS = 1 << 22
"""A target for leaves times cells, which the driver and every task hold. Small leaves exceed it a
few times.
"""

GrowSplits = Callable[[Block, int], Splits]
"""`grow(sample, stop)`: a tree over the sample's dense codes. Nodes of at most `stop` of its rows
are not split. Leaves that meet the requirement and have about `stop` rows make more and smaller
blocks.
"""


@dataclass(frozen=True, kw_only=True)
class SampledTable:
    """A table to be planned in blocks.

    dense: makes blocks of the table's rows.
    sample: rows that represent the table, as a block.
    hashes: of the sample's rows, shape (rows,).
    codes: what the sample's dense codes stand for, ascending, an array for each quasi-identifier.
    counts: counts rows of the whole table by group.
    """

    dense: Dense
    sample: Block
    hashes: HashArray
    codes: tuple[IntArray, ...]
    counts: GroupCounts

    @staticmethod
    def of(given: PlanningInput) -> SampledTable:
        """The table of a run.

        Raises:
            ConfigurationError: if a distance has unequal steps, which the kernels do not support.
            UnreachableError: if even the whole table does not meet k and distinct l.
        """
        require_plain(given.attributes.sensitive, "a method that makes classes in blocks")
        dense = Dense(given.attributes, given.k)
        dense.require_reachable()
        rows = min(len(given.sample), max(dense.most_rows, 1))
        sampled = given.sample.take(np.arange(rows))
        sample, codes = dense.block(sampled)
        return SampledTable(
            dense=dense,
            sample=sample,
            hashes=sampled.hash,
            codes=tuple(codes),
            counts=given.counts,
        )

    @property
    def rows(self) -> int:
        """Rows of the whole table."""
        return self.dense.attributes.rows

    @property
    def scale(self) -> float:
        """Rows of the table for each row of the sample."""
        return self.rows / len(self.sample.cell)


def plan_blocks(
    table: SampledTable,
    grow: GrowSplits,
    rows_per_block: int,
    rows_per_task: int,
) -> BlockLayout:
    """The blocks of a table, of at most about `rows_per_block` rows if `grow` can separate them, in
    tasks of about `rows_per_task` rows. A table of at most `rows_per_block` rows is one block, and
    nothing is grown.

    Raises:
        ConfigurationError: if a block is too large for the integers of the kernels.
    """
    attributes = table.dense.attributes
    cells = len(attributes.cells)
    splits = no_splits(0, len(attributes.cells))
    counts = attributes.cell_rows[None, :]
    if table.rows > rows_per_block:
        sampled = len(table.sample.cell)
        stop = max(
            int(rows_per_block / table.scale),
            sampled * cells // MOST_COUNTS,
            2 * table.dense.k,
        )
        splits = grow(table.sample, stop)
        counts = count_leaves(table.counts, RoutingTree(splits, table.codes), cells)
    block_of, merges = merge(table.dense, splits, counts, rows_per_block)
    block_rows = np.zeros(int(block_of.max()) + 1, dtype=np.int64)
    np.add.at(block_rows, block_of, counts.sum(axis=1))
    return BlockLayout.of(
        table.dense,
        RoutingTree(splits, table.codes),
        block_of,
        block_rows,
        rows_per_task,
        merges,
    )


def count_leaves(counts: GroupCounts, tree: RoutingTree, cells: int) -> IntArray:
    """Rows of the whole table in each leaf by cell, shape (leaves, cells)."""
    leaves = tree.splits.leaves
    return counts(lambda rows: tree.leaf_of(rows) * cells + rows.cell, leaves * cells).reshape(
        -1,
        cells,
    )
