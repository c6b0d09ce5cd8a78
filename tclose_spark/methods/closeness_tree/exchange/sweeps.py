"""Sweeps: along a lexicographic order, every row may move to, or swap with a row of, the class of a
neighbour.
"""

from __future__ import annotations

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.methods.closeness_tree.exchange.boxes import covers
from tclose_spark.methods.closeness_tree.exchange.changes import move, swap
from tclose_spark.methods.closeness_tree.exchange.distances import rise
from tclose_spark.methods.closeness_tree.exchange.partition import (
    JOIN,
    LEAVE,
    Partition,
    Table,
    draw,
)
from tclose_spark.methods.closeness_tree.exchange.prefetching import (
    prefetch_boxes,
    prefetch_figures,
)
from tclose_spark.table.arrays import Codes

# Neighbours that are tried.
MOVE_LOOKS = 8
SWAP_LOOKS = 2
LEAST = 1e-9  # smaller gains may be rounding errors


@kernel
def first_look(partition: Partition) -> int:
    """The first neighbour that is tried: 1..32 places after a row, or before it (negative); near
    ones are more frequent.
    """
    z = draw(partition.random)
    step = 1 + ((z & 31) >> ((z >> 8) % 6))
    return int(step if z & 64 else -step)


@kernel
def sweep_moves(table: Table, partition: Partition, order: Codes, price: float) -> int:
    """Each row moves to the cheapest of some near classes that cover it, if that is cheaper than
    its own. Returns how many moved.

    The cost is the width of the label plus `price` times the rise of both classes' closeness ratios
    times rows. No box grows, so the total cost never rises. order: shape (n,).
    """
    n = len(order)
    moved = 0
    for at in range(n):
        prefetch_boxes(table, partition, order, at)
        prefetch_figures(partition, order, at)
        row = order[at]
        c = partition.of[row]
        cell = table.cell[row]
        leaving = rise(table, partition, LEAVE, c, cell)
        if leaving == np.inf:
            continue
        look = first_look(partition)
        step = 1 if look > 0 else -1
        best = -1
        least = partition.width[c] - price * leaving - LEAST
        last = c
        for there in range(at + look, at + look + step * MOVE_LOOKS, step):
            if there < 0 or there >= n:
                break
            d = partition.of[order[there]]
            if d == last:
                continue
            last = d
            if price == 0.0 and partition.width[d] >= least:
                continue
            if covers(table, partition, d, row) and partition.size[d] < partition.room[d]:
                joining = rise(table, partition, JOIN, d, cell)
                if joining < np.inf and partition.width[d] + price * joining < least:
                    best = d
                    least = partition.width[d] + price * joining
        if best >= 0:
            move(table, partition, row, best)
            moved += 1
    return moved


@kernel
def sweep_swaps(table: Table, partition: Partition, order: Codes) -> int:
    """Each row swaps places with a near one of its cell if both classes cover both rows. Returns
    how many swapped.

    No box grows and no distance changes, so the loss does not rise, but boxes may shrink. order: by
    cell first, shape (n,).
    """
    n = len(order)
    swapped = 0
    for at in range(n):
        prefetch_boxes(table, partition, order, at)
        row = order[at]
        c = partition.of[row]
        cell = table.cell[row]
        look = first_look(partition)
        step = 1 if look > 0 else -1
        for there in range(at + look, at + look + step * SWAP_LOOKS, step):
            if there < 0 or there >= n:
                break
            other = order[there]
            d = partition.of[other]
            if (
                d == c
                or table.cell[other] != cell
                or not covers(table, partition, d, row)
                or not covers(table, partition, c, other)
            ):
                continue
            swap(table, partition, row, other)
            swapped += 1
            break
    return swapped
