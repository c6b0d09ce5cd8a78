"""Annealing: random proposals to move a row or swap two, accepted if they lower the loss or raise
it by little (Metropolis).

Sweeps make the changes that cost nothing. Proposals accept a small loss and so make more such
changes possible.
"""

from __future__ import annotations

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.methods.closeness_tree.exchange.boxes import covers, width_after
from tclose_spark.methods.closeness_tree.exchange.changes import move, swap
from tclose_spark.methods.closeness_tree.exchange.distances import rise, rise_by_swap
from tclose_spark.methods.closeness_tree.exchange.partition import (
    JOIN,
    LEAVE,
    Partition,
    Table,
    draw,
    draw_member,
)
from tclose_spark.methods.closeness_tree.exchange.prefetching import (
    prefetch_boxes,
    prefetch_figures,
)
from tclose_spark.table.arrays import Codes, FloatArray

LOOKS = 4  # members that are tried for a swap
RISKS = 4096  # a power of two


@kernel
def propose(
    table: Table,
    partition: Partition,
    order: Codes,
    risks: FloatArray,
    heat: float,
    price: float,
) -> int:
    """Propose for each row a move to the class of a neighbour, or a swap with one of its members.
    Returns how many proposals were accepted.

    One is accepted if both classes then meet the requirement and the loss plus `price` times the
    weighted closeness ratios times rows rises by at most heat x risk. order: lexicographic, shape
    (n,). risks: -log of uniform numbers, shape (RISKS,).
    """
    n = len(partition.of)
    accepted = 0
    for here in range(n):
        prefetch_boxes(table, partition, order, here)
        prefetch_figures(partition, order, here)
        row = order[here]
        z = draw(partition.random)
        step = 1 + ((z & 127) >> ((z >> 8) & 15) % 7)
        at = here + (step if (z >> 12) & 1 else -step)
        if at < 0 or at >= n:
            continue
        c = partition.of[row]
        d = partition.of[order[at]]
        if c == d or ((z >> 13) & 3 and not covers(table, partition, d, row)):
            continue
        allowed = heat * risks[(z >> 15) & (RISKS - 1)]
        kind = (z >> 32) & 1023
        accepted += (
            try_move(table, partition, row, d, allowed, price)
            if kind < 300
            else try_swap(table, partition, row, d, allowed, price, kind < 800)
        )
    return accepted


@kernel
def try_move(
    table: Table,
    partition: Partition,
    row: int,
    d: int,
    allowed: float,
    price: float,
) -> bool:
    """Move the row to class d if both classes then meet the requirement and loss plus price rise by
    at most `allowed`.
    """
    c = partition.of[row]
    cell = table.cell[row]
    if partition.size[d] >= partition.room[d]:
        return False
    ratios = rise(table, partition, LEAVE, c, cell)
    if ratios == np.inf:
        return False
    ratios += rise(table, partition, JOIN, d, cell)
    if ratios == np.inf:
        return False
    change = price * ratios
    change += (partition.size[d] + 1) * width_after(table, partition, d, -1, row)
    change -= partition.size[d] * partition.width[d]
    change += (partition.size[c] - 1) * width_after(table, partition, c, row, -1)
    change -= partition.size[c] * partition.width[c]
    if change > allowed:
        return False
    move(table, partition, row, d)
    return True


@kernel
def try_swap(
    table: Table,
    partition: Partition,
    row: int,
    d: int,
    allowed: float,
    price: float,
    fitting: bool,
) -> bool:
    """Swap the row with the first acceptable one of LOOKS members of class d, beginning at a random
    one. Returns whether they swapped.

    Acceptable: both classes then meet the requirement, and loss plus price rise by at most
    `allowed`. fitting: the member must also be in the box of the row's class.
    """
    c = partition.of[row]
    cell = table.cell[row]
    size = partition.size[d]
    at = draw_member(partition, d)
    for _ in range(min(LOOKS, size)):
        other = partition.member[partition.start[d] + at]
        at = at + 1 if at + 1 < size else 0
        if fitting and not covers(table, partition, c, other):
            continue
        into = table.cell[other]
        ratios = 0.0
        if cell != into:
            ratios = rise_by_swap(table, partition, c, cell, into)
            if ratios < np.inf:
                ratios += rise_by_swap(table, partition, d, into, cell)
            if ratios == np.inf:
                continue
        change = price * ratios + size * (
            width_after(table, partition, d, other, row) - partition.width[d]
        )
        change += partition.size[c] * (
            width_after(table, partition, c, row, other) - partition.width[c]
        )
        if change <= allowed:
            swap(table, partition, row, other)
            return True
    return False


def make_risks() -> FloatArray:
    """-log of the middles of RISKS equal parts of 0..1, rounded so that all machines have the same
    numbers.
    """
    middles: FloatArray = (np.arange(RISKS) + 0.5) / RISKS
    return (-np.log(middles)).round(9)
