"""Sweeps: every row in turn, along a lexicographic order, looks at the classes of its neighbours for a better place."""

from __future__ import annotations

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.methods.closeness_tree.exchange.boxes import covers
from tclose_spark.methods.closeness_tree.exchange.changes import move, swap
from tclose_spark.methods.closeness_tree.exchange.excess import rise
from tclose_spark.methods.closeness_tree.exchange.partition import JOIN, LEAVE, Partition, Table, draw
from tclose_spark.table.arrays import Codes

MOVE_LOOKS, SWAP_LOOKS = 8, 2
LEAST = 1e-9  # a gain below it may be a rounding


@kernel
def first_look(partition: Partition) -> int:
    """Where a row starts to look: 1..32 places after it or before it (negative), near ones more often."""
    z = draw(partition.random)
    step = 1 + ((z & 31) >> ((z >> 8) % 6))
    return int(step if z & 64 else -step)


@kernel
def sweep_moves(table: Table, partition: Partition, order: Codes, price: float) -> int:
    """Each row goes to the cheapest class that it fits as it is, of some near ones, if that is cheaper than its own:
    the width of the label, and `price` for what the closeness ratios of both classes, times rows, rise. order: (n,).

    No box grows: the loss and `price` times the ratios times rows, in sum, fall by at least the difference. Returns how
    many moved.
    """
    n, moved = len(order), 0
    for at in range(n):
        row = order[at]
        c, cell = partition.of[row], table.cell[row]
        leaving = rise(table, partition, LEAVE, c, cell)
        if leaving == np.inf:
            continue
        look = first_look(partition)
        step = 1 if look > 0 else -1
        best, least, last = -1, partition.width[c] - price * leaving - LEAST, c
        for there in range(at + look, at + look + step * MOVE_LOOKS, step):
            if there < 0 or there >= n:
                break
            d = partition.of[order[there]]
            if d == last:
                continue
            last = d
            if covers(partition, d, table.quasi[row]) and partition.size[d] < partition.room[d]:
                joining = rise(table, partition, JOIN, d, cell)
                if joining < np.inf and partition.width[d] + price * joining < least:
                    best, least = d, partition.width[d] + price * joining
        if best >= 0:
            move(table, partition, row, best)
            moved += 1
    return moved


@kernel
def sweep_swaps(table: Table, partition: Partition, order: Codes) -> int:
    """Each row changes places with a near one of its cell, if each fits the other's class as it is. order: (n,), by
    cell first.

    No box grows and no distance changes, so the loss does not rise; ends of boxes come free. Returns how many swapped.
    """
    n, swapped = len(order), 0
    for at in range(n):
        row = order[at]
        c, cell = partition.of[row], table.cell[row]
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
                or not covers(partition, d, table.quasi[row])
                or not covers(partition, c, table.quasi[other])
            ):
                continue
            swap(table, partition, row, other)
            swapped += 1
            break
    return swapped
