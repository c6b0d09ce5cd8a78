"""Boxes of classes: the lowest and highest code of each quasi-identifier.

Domains may have tens of thousands of codes, so there are no counts of every code. A class has for each end the number
of members there and the next code inwards, which is the new end if the last of them leaves. The next code may be
UNKNOWN after a change; it is then looked up in the members when needed.
"""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.kernels.widths import width
from tclose_spark.methods.closeness_tree.exchange.partition import Partition, Table
from tclose_spark.table.arrays import Codes

UNKNOWN = -2
LOW, HIGH = 0, 1
"""Sides of a box. Codes times `sign` are compared, so that on both sides the end is the least."""
FAR = 2**31 - 1  # times sign: beyond any code, where there is none


@kernel
def covers(partition: Partition, c: int, codes: Codes) -> bool:
    """Whether the box of class c covers these codes, shape (q,)."""
    for j in range(codes.shape[0]):
        if codes[j] < partition.ends[LOW, c, j] or codes[j] > partition.ends[HIGH, c, j]:
            return False
    return True


@kernel
def scan(table: Table, partition: Partition, c: int, j: int) -> None:
    """Set the ends of class c in quasi-identifier j from its members."""
    for side in range(2):
        sign, end, beyond, rows = 1 - 2 * side, FAR, FAR, 0
        for at in range(partition.start[c], partition.start[c] + partition.size[c]):
            code = sign * table.quasi[partition.member[at], j]
            if code < end:
                beyond, end, rows = end, code, 1
            elif code == end:
                rows += 1
            elif code < beyond:
                beyond = code
        partition.ends[side, c, j], partition.end_rows[side, c, j] = sign * end, rows
        partition.end_next[side, c, j] = sign * beyond


@kernel
def end_after(table: Table, partition: Partition, side: int, c: int, j: int, leaving: int, joining: int) -> int:
    """The end of class c in quasi-identifier j after one row leaves and one joins (-1: none)."""
    end = partition.ends[side, c, j]
    if leaving >= 0 and table.quasi[leaving, j] == end and partition.end_rows[side, c, j] == 1:
        if partition.end_next[side, c, j] == UNKNOWN:
            scan(table, partition, c, j)
        end = partition.end_next[side, c, j]
    if joining >= 0:
        end = min(end, table.quasi[joining, j]) if side == LOW else max(end, table.quasi[joining, j])
    return int(end)


@kernel
def width_after(table: Table, partition: Partition, c: int, leaving: int, joining: int) -> float:
    """The width of class c, summed over quasi-identifiers, after one row leaves and one joins (-1: none). It is 0 for a
    class without rows. Changes no box.
    """
    change = 0.0
    for j in range(table.quasi.shape[1]):
        low = end_after(table, partition, LOW, c, j, leaving, joining)
        high = end_after(table, partition, HIGH, c, j, leaving, joining)
        if low != partition.ends[LOW, c, j] or high != partition.ends[HIGH, c, j]:
            wide = width(j, low, high, table.widths) if low <= high else 0.0
            change += wide - partition.wide[c, j]
    return float(partition.width[c] + change)


@kernel
def box_width(table: Table, partition: Partition, c: int, j: int) -> float:
    """The width of the label of class c in quasi-identifier j; 0 for a class without rows."""
    return (
        0.0 if partition.size[c] == 0 else width(j, partition.ends[LOW, c, j], partition.ends[HIGH, c, j], table.widths)
    )


@kernel
def change_box(table: Table, partition: Partition, c: int, leaving: int, joining: int) -> None:
    """Update the box of class c after one row left and one joined (-1: none). Its members are up to date already."""
    moved = False
    for j in range(table.quasi.shape[1]):
        out = int(table.quasi[leaving, j]) if leaving >= 0 else -1
        into = int(table.quasi[joining, j]) if joining >= 0 else -1
        if out == into:
            continue
        low, high = partition.ends[LOW, c, j], partition.ends[HIGH, c, j]
        if (out == low and partition.end_rows[LOW, c, j] == 1) or (out == high and partition.end_rows[HIGH, c, j] == 1):
            scan(table, partition, c, j)
        else:
            for side in range(2):
                change_end(partition, side, c, j, out, into)
        if partition.ends[LOW, c, j] != low or partition.ends[HIGH, c, j] != high:
            partition.wide[c, j] = box_width(table, partition, c, j)
            moved = True
    if moved:
        partition.width[c] = partition.wide[c].sum()


@kernel
def change_end(partition: Partition, side: int, c: int, j: int, out: int, into: int) -> None:
    """Update an end of class c after a member with the code `out`, not the last one there, left and one with `into`
    joined (-1: none).
    """
    sign, end = 1 - 2 * side, partition.ends[side, c, j]
    if out >= 0 and out == end:
        partition.end_rows[side, c, j] -= 1
    elif out >= 0 and out == partition.end_next[side, c, j]:
        partition.end_next[side, c, j] = UNKNOWN
    if into < 0:
        return
    if sign * into < sign * end:
        partition.end_next[side, c, j], partition.ends[side, c, j], partition.end_rows[side, c, j] = end, into, 1
    elif into == end:
        partition.end_rows[side, c, j] += 1
    elif partition.end_next[side, c, j] != UNKNOWN and sign * into < sign * partition.end_next[side, c, j]:
        partition.end_next[side, c, j] = into
