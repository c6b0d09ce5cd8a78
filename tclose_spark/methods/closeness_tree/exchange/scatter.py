"""Scattering: several rows of a class move to near classes at once. A class of the least size can
lose no single row, but it can lose all: it is dissolved.
"""

from __future__ import annotations

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.methods.closeness_tree.exchange.boxes import covers
from tclose_spark.methods.closeness_tree.exchange.changes import move
from tclose_spark.methods.closeness_tree.exchange.distances import holds, rise
from tclose_spark.methods.closeness_tree.exchange.partition import (
    JOIN,
    Partition,
    Table,
    draw,
    rank_rows,
)
from tclose_spark.table.arrays import Codes, FloatArray

LOOKS = 32  # rows on either side whose classes may take a row of a dissolved one
MOST_DISSOLVED = 200  # rows of a class that may be dissolved
ANY = -1  # no quasi-identifier


@kernel
def dissolve_all(
    table: Table,
    partition: Partition,
    order: Codes,
    risks: FloatArray,
    heat: float,
    price: float,
) -> int:
    """All rows of each class in turn move to near classes, on the conditions of `reshape`. Returns
    how many did.
    """
    dissolved = 0
    rank_rows(partition, order)
    for c in range(len(partition.size)):
        if 0 < partition.size[c] <= MOST_DISSOLVED:
            allowed = heat * risks[(draw(partition.random) >> 24) & (len(risks) - 1)]
            budget = allowed + cost(table, partition, c, price)
            dissolved += scatter(table, partition, order, c, ANY, 0, LOOKS, budget, allowed, price)
    return dissolved


@kernel
def cost(table: Table, partition: Partition, c: int, price: float) -> float:
    """The loss of class c plus `price` times its weighted closeness ratio times rows."""
    total = 0.0
    for s in range(table.column.shape[1]):
        total += partition.weight[c, s] * table.share[s] * partition.total[c, s]
    return float(partition.size[c] * partition.width[c] + price * total)


@kernel
def scatter(
    table: Table,
    partition: Partition,
    order: Codes,
    c: int,
    j: int,
    code: int,
    looks: int,
    budget: float,
    allowed: float,
    price: float,
) -> bool:
    """Each row of class c with this code in quasi-identifier j (ANY: each row) moves to the
    cheapest near class that covers it, unless the rest of class c would then fail the requirement
    or costs rise by more than `allowed`. Returns whether they moved.

    budget: about what the rows may cost in other classes. If they would cost more, none is moved on
        trial.
    """
    for at in range(partition.start[c], partition.start[c] + partition.size[c]):
        row = partition.member[at]
        if j == ANY or table.quasi[row, j] == code:
            budget -= cheapest(table, partition, order, row, looks, price)[1]
            if budget < 0:
                return False
    before = cost(table, partition, c, price)
    change = 0.0
    moved = 0
    for at in range(
        partition.size[c] - 1,
        -1,
        -1,
    ):  # a row that leaves gives its place to one that was looked at
        row = partition.member[partition.start[c] + at]
        if j == ANY or table.quasi[row, j] == code:
            d, more = cheapest(table, partition, order, row, looks, price)
            change += more
            if change == np.inf:
                break
            move(table, partition, row, d)
            partition.old[2 * moved] = row
            partition.old[2 * moved + 1] = c
            moved += 1
    left = partition.size[c]
    pays = change + cost(table, partition, c, price) - before <= allowed
    if pays and (left == 0 or holds(table, partition, c, left)):
        return True
    undo(table, partition, moved)
    return False


@kernel
def cheapest(
    table: Table,
    partition: Partition,
    order: Codes,
    row: int,
    looks: int,
    price: float,
) -> tuple[int, float]:
    """(the class near the row, other than its own, that covers it and costs least with it; what the
    row costs there: infinite if there is none). A class wider than the best one so far is passed
    over, although it may need the row.
    """
    c = partition.of[row]
    cell = table.cell[row]
    place = partition.rank[row]
    best = -1
    least = np.inf
    last = c
    for there in range(max(place - looks, 0), min(place + looks + 1, len(order))):
        d = partition.of[order[there]]
        if d in (c, last):
            continue
        last = d
        room = partition.size[d] < partition.room[d]
        if partition.width[d] < least and room and covers(table, partition, d, row):
            joining = rise(table, partition, JOIN, d, cell)
            if joining < np.inf and partition.width[d] + price * joining < least:
                best = d
                least = partition.width[d] + price * joining
    return best, least


@kernel
def undo(table: Table, partition: Partition, moved: int) -> None:
    """Move `moved` rows back: partition.old has each row and the class that it came from, in
    turns.
    """
    for at in range(moved - 1, -1, -1):
        move(table, partition, partition.old[2 * at], partition.old[2 * at + 1])
