"""Boxes of classes: the lowest and highest code of each quasi-identifier.

Domains may have tens of thousands of codes, so there are no counts of every code. A class has for
each end the number of members there and the next code inwards, which is the new end if the last of
them leaves. The next code may be UNKNOWN after a change; it is then looked up in the members when
needed.
"""

from __future__ import annotations

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.widths import width
from tclose_spark.methods.closeness_tree.exchange.partition import Partition, Table

UNKNOWN = -2
# Beyond any code: no next one.
BELOW = -1
ABOVE = np.int32(2**31 - 1)


@kernel
def covers(table: Table, partition: Partition, c: int, row: int) -> bool:
    """Whether the box of class c covers the row: no code is out of it (see `outside`)."""
    for word in range(len(table.guards)):  # noqa: SIM110
        if outside(table, partition, c, row, word):
            return False
    return True


@kernel
def outside(table: Table, partition: Partition, c: int, row: int, word: int) -> int:
    """The guard bits of the codes of a word by which the row is out of the box of class c.

    All codes of a word are compared at once. With its guard bit set, a code that is less than the
    one subtracted borrows that bit, and no other.
    """
    guards = table.guards[word]
    codes = table.packed[row, word]
    above = (codes | guards) - partition.packed_low[c, word]
    below = (partition.packed_high[c, word] | guards) - codes
    return int(guards & ~(above & below))


@kernel
def only_outside(table: Table, partition: Partition, c: int, row: int) -> int:
    """The only quasi-identifier by which the row is out of the box of class c; -1 if there are
    several, or none.
    """
    found = -1
    for word in range(len(table.guards)):
        out = outside(table, partition, c, row, word)
        if out == 0:
            continue
        if found >= 0 or out & (out - 1):
            return -1
        for j in range(len(table.word)):
            if table.word[j] == word and table.guard[j] == out:
                found = j
    return found


@kernel
def pack_box(table: Table, partition: Partition, c: int) -> None:
    """Set partition.packed_low and partition.packed_high of class c. A class without rows gets a
    box that covers none.
    """
    for word in range(len(table.guards)):
        partition.packed_low[c, word] = partition.packed_high[c, word] = 0
    for j in range(table.quasi.shape[1]):
        word = table.word[j]
        shift = table.shift[j]
        empty = partition.size[c] == 0
        low = 1 if empty else partition.low[c, j]
        high = 0 if empty else partition.high[c, j]
        partition.packed_low[c, word] |= low << shift
        partition.packed_high[c, word] |= high << shift


@kernel
def scan(table: Table, partition: Partition, c: int, j: int) -> None:
    """Set the ends of class c in quasi-identifier j from its members."""
    low = ABOVE
    high = BELOW
    low_next = ABOVE
    high_next = BELOW
    low_rows = high_rows = 0
    for at in range(partition.start[c], partition.start[c] + partition.size[c]):
        code = table.quasi[partition.member[at], j]
        if code < low:
            low_next = low
            low = code
            low_rows = 1
        elif code == low:
            low_rows += 1
        elif code < low_next:
            low_next = code
        if code > high:
            high_next = high
            high = code
            high_rows = 1
        elif code == high:
            high_rows += 1
        elif code > high_next:
            high_next = code
    partition.low[c, j] = low
    partition.low_rows[c, j] = low_rows
    partition.low_next[c, j] = low_next
    partition.high[c, j] = high
    partition.high_rows[c, j] = high_rows
    partition.high_next[c, j] = high_next


@kernel
def width_after(table: Table, partition: Partition, c: int, leaving: int, joining: int) -> float:
    """The width of class c, summed over quasi-identifiers, after one row leaves and one joins (-1:
    none). It is 0 for a class without rows. Changes no box.
    """
    change = 0.0
    for j in range(table.quasi.shape[1]):
        low = partition.low[c, j]
        high = partition.high[c, j]
        to_low = low
        to_high = high
        if leaving >= 0:
            code = table.quasi[leaving, j]
            if code == low and partition.low_rows[c, j] == 1:
                if partition.low_next[c, j] == UNKNOWN:
                    scan(table, partition, c, j)
                to_low = partition.low_next[c, j]
            if code == high and partition.high_rows[c, j] == 1:
                if partition.high_next[c, j] == UNKNOWN:
                    scan(table, partition, c, j)
                to_high = partition.high_next[c, j]
        if joining >= 0:
            code = table.quasi[joining, j]
            to_low = min(to_low, code)
            to_high = max(to_high, code)
        if to_low != low or to_high != high:
            wide = width(j, to_low, to_high, table.widths) if to_low <= to_high else 0.0
            change += wide - partition.wide[c, j]
    return float(partition.width[c] + change)


@kernel
def box_width(table: Table, partition: Partition, c: int, j: int) -> float:
    """The width of the label of class c in quasi-identifier j; 0 for a class without rows."""
    return (
        0.0
        if partition.size[c] == 0
        else width(j, partition.low[c, j], partition.high[c, j], table.widths)
    )


@kernel
def change_box(table: Table, partition: Partition, c: int, leaving: int, joining: int) -> None:
    """Update the box of class c after one row left and one joined (-1: none). Its members are up to
    date already.
    """
    moved = False
    for j in range(table.quasi.shape[1]):
        out = table.quasi[leaving, j] if leaving >= 0 else np.int32(-1)
        into = table.quasi[joining, j] if joining >= 0 else np.int32(-1)
        if out == into:
            continue
        low = partition.low[c, j]
        high = partition.high[c, j]
        if (out == low and partition.low_rows[c, j] == 1) or (
            out == high and partition.high_rows[c, j] == 1
        ):
            scan(table, partition, c, j)
        else:
            if out >= 0:
                forget(partition, c, j, out)
            if into >= 0:
                include(partition, c, j, into)
        if partition.low[c, j] != low or partition.high[c, j] != high:
            partition.wide[c, j] = box_width(table, partition, c, j)
            moved = True
    if moved:
        partition.width[c] = partition.wide[c].sum()
        pack_box(table, partition, c)


@kernel
def forget(partition: Partition, c: int, j: int, code: np.int32) -> None:
    """Update the ends of class c after a member with this code left that was not the last one at an
    end.
    """
    if code == partition.low[c, j]:
        partition.low_rows[c, j] -= 1
    elif code == partition.low_next[c, j]:
        partition.low_next[c, j] = UNKNOWN
    if code == partition.high[c, j]:
        partition.high_rows[c, j] -= 1
    elif code == partition.high_next[c, j]:
        partition.high_next[c, j] = UNKNOWN


@kernel
def include(partition: Partition, c: int, j: int, code: np.int32) -> None:
    """Update the ends of class c after a member with this code joined."""
    if code < partition.low[c, j]:
        partition.low_next[c, j] = partition.low[c, j]
        partition.low[c, j] = code
        partition.low_rows[c, j] = 1
    elif code == partition.low[c, j]:
        partition.low_rows[c, j] += 1
    elif partition.low_next[c, j] != UNKNOWN and code < partition.low_next[c, j]:
        partition.low_next[c, j] = code
    if code > partition.high[c, j]:
        partition.high_next[c, j] = partition.high[c, j]
        partition.high[c, j] = code
        partition.high_rows[c, j] = 1
    elif code == partition.high[c, j]:
        partition.high_rows[c, j] += 1
    elif partition.high_next[c, j] != UNKNOWN and code > partition.high_next[c, j]:
        partition.high_next[c, j] = code
