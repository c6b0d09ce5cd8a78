"""Which leaves of the plan form a block: they are merged until every block meets the requirement,
by exact counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.routing_tree import Splits
from tclose_spark.table.arrays import IntArray


def merge(dense: Dense, splits: Splits, counts: IntArray, most: int) -> tuple[IntArray, int]:
    """(the block of each leaf, shape (leaves,); how many merges were needed to meet the
    requirement).

    Leaves are merged with their nearest relatives until each block meets it. Relatives of together
    at most `most` rows are merged as well, because a block is divided anew. The whole table must
    meet it.

    counts: rows of each leaf by cell in the whole table, shape (leaves, cells).
    """
    groups: dict[
        int, list[LeafGroup]
    ] = {}  # of each node: groups that meet the requirement, or one group
    needed = 0

    def below(child: int) -> list[LeafGroup]:
        if child >= 0:
            return groups.pop(child)
        cells = counts[-1 - child]
        return [LeafGroup([-1 - child], cells, dense.holds(cells))]

    for node in reversed(range(len(splits.quasi))):  # children have higher numbers
        left, right = below(int(splits.left[node])), below(int(splits.right[node]))
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
    groups, place = list(groups), 0
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
