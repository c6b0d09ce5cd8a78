"""Reshaping: a box is extended or shrunk by several rows at once.

A wider box costs every row of the class, and pays only when many rows have joined. A narrower box
pays only when the last row at its end has left.
"""

from __future__ import annotations

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.widths import width
from tclose_spark.methods.closeness_tree.exchange.boxes import (
    UNKNOWN,
    only_outside,
    outside,
    scan,
)
from tclose_spark.methods.closeness_tree.exchange.changes import move
from tclose_spark.methods.closeness_tree.exchange.distances import rise
from tclose_spark.methods.closeness_tree.exchange.partition import (
    JOIN,
    LEAVE,
    Partition,
    Table,
    draw,
    draw_member,
    rank_rows,
)
from tclose_spark.methods.closeness_tree.exchange.scatter import scatter, undo
from tclose_spark.table.arrays import Codes, FloatArray

NEAR = 64  # rows on either side among which a class looks for those that would join it
LOOKS = 16  # rows on either side whose classes may take a row of a shrunk one
MOST_AT_END = 8  # rows that may leave an end of a box
PAYING = 0.5  # about how much of what all near rows would gain in a wider box is gained: not all of them can join


@kernel
def reshape(
    table: Table,
    partition: Partition,
    order: Codes,
    risks: FloatArray,
    heat: float,
    price: float,
) -> int:
    """Each class in turn may lose one end of its box, and may extend its box. Returns how many
    changes were made.

    A change is made if all classes then meet the requirement, and the loss plus `price` times the
    weighted closeness ratios times rows rises by at most heat x risk. order: lexicographic, shape
    (n,). risks: see `propose`.
    """
    changed = 0
    rank_rows(partition, order)
    for c in range(len(partition.size)):
        if partition.size[c] > 0:
            z = draw(partition.random)
            allowed = heat * risks[(z >> 24) & (len(risks) - 1)]
            changed += shrink(table, partition, order, c, z, allowed, price)
            z = draw(partition.random)
            allowed = heat * risks[(z >> 24) & (len(risks) - 1)]
            changed += extend(table, partition, order, c, z, allowed, price)
    return changed


@kernel
def shrink(
    table: Table,
    partition: Partition,
    order: Codes,
    c: int,
    z: int,
    allowed: float,
    price: float,
) -> bool:
    """The rows at one end of the box of class c leave it for near classes (see `scatter`). Returns
    whether they did.

    z: random bits, which draw a quasi-identifier and its end.
    """
    j = ((z & 0xFFFF) * table.quasi.shape[1]) >> 16
    upper = (z >> 20) & 1
    low = partition.low[c, j]
    high = partition.high[c, j]
    rows = partition.high_rows[c, j] if upper else partition.low_rows[c, j]
    if low == high or rows > MOST_AT_END:
        return False
    if (partition.high_next[c, j] if upper else partition.low_next[c, j]) == UNKNOWN:
        scan(table, partition, c, j)
    code = high if upper else low
    left = (low, partition.high_next[c, j]) if upper else (partition.low_next[c, j], high)
    narrower = partition.width[c] - partition.wide[c, j] + width(j, left[0], left[1], table.widths)
    budget = (
        allowed + partition.size[c] * partition.width[c] - (partition.size[c] - rows) * narrower
    )
    return scatter(table, partition, order, c, j, code, LOOKS, budget, allowed, price)


@kernel
def extend(
    table: Table,
    partition: Partition,
    order: Codes,
    d: int,
    z: int,
    allowed: float,
    price: float,
) -> bool:
    """The box of class d is extended to cover a near row of a wider class, and all near rows join
    that gain, unless costs rise by more than `allowed`. Returns whether any joined. z: random bits,
    which draw a direction.
    """
    at, j = row_beside(table, partition, order, d, 1 if z & 1 else -1)
    if at < 0:
        return False
    code = table.quasi[order[at], j]
    low = min(code, partition.low[d, j])
    high = max(code, partition.high[d, j])
    wider = partition.width[d] - partition.wide[d, j] + width(j, low, high, table.widths)
    found = 0
    gain = 0.0
    for there in range(max(at - NEAR, 0), min(at + NEAR + 1, len(order))):
        row = order[there]
        c = partition.of[row]
        if (
            c != d
            and partition.width[c] > wider
            and covers_but(table, partition, d, row, j, (low, high))
        ):
            gain += partition.width[c] - wider
            partition.old[2 * found] = row
            found += 1
    if partition.size[d] * (wider - partition.width[d]) - PAYING * gain > allowed:
        return False
    change = 0.0
    moved = 0
    for at in range(found):
        row = partition.old[2 * at]
        if partition.size[d] == partition.room[d]:
            break
        c = partition.of[row]
        cell = table.cell[row]
        ratios = rise(table, partition, LEAVE, c, cell)
        if ratios < np.inf:
            ratios += rise(table, partition, JOIN, d, cell)
        if ratios == np.inf or price * ratios > partition.width[c] - wider:
            continue
        change += price * ratios
        change -= partition.size[c] * partition.width[c] + partition.size[d] * partition.width[d]
        move(table, partition, row, d)
        change += partition.size[c] * partition.width[c] + partition.size[d] * partition.width[d]
        partition.old[2 * moved] = row
        partition.old[2 * moved + 1] = c
        moved += 1
    if change <= allowed:
        return moved > 0
    undo(table, partition, moved)
    return False


@kernel
def row_beside(
    table: Table,
    partition: Partition,
    order: Codes,
    d: int,
    step: int,
) -> tuple[int, int]:
    """(the place in the order of a row that is in a wider class, and outside the box of class d in
    one quasi-identifier only; that quasi-identifier): the first one from a random member of d on,
    forwards (step 1) or backwards (-1); (-1, -1) if there is none near.
    """
    at = partition.rank[partition.member[partition.start[d] + draw_member(partition, d)]]
    for _ in range(NEAR):
        at += step
        if at < 0 or at >= len(order):
            break
        row = order[at]
        if partition.of[row] == d or partition.width[partition.of[row]] <= partition.width[d]:
            continue
        j = only_outside(table, partition, d, row)
        if j >= 0:
            return at, j
    return -1, -1


@kernel
def covers_but(
    table: Table,
    partition: Partition,
    d: int,
    row: int,
    j: int,
    ends: tuple[int, int],
) -> bool:
    """Whether the box of class d covers the row, if it reaches from ends[0] to ends[1] in
    quasi-identifier j.
    """
    for word in range(len(table.guards)):
        out = outside(table, partition, d, row, word)
        if word == table.word[j]:
            out &= ~table.guard[j]
        if out != 0:
            return False
    return bool(ends[0] <= table.quasi[row, j] <= ends[1])
