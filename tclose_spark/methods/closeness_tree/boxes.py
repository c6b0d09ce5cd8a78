"""Boxes of classes: the lowest and highest code of each quasi-identifier, kept without counts of every code.

Domains may have tens of thousands of codes. So a class knows, at each end, how many members are there and the next code
inwards: what the box becomes when one member leaves. After a change that may be unknown (UNKNOWN); it is looked up in
the members when asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.widths import width
from tclose_spark.methods.closeness_tree.partition import Partition, Table

UNKNOWN = -2
BELOW, ABOVE = -1, np.int32(2**31 - 1)  # no next code: beyond any


@kernel
def covers(p: Partition, c: int, codes: Any) -> bool:
    """Whether the box of class c holds codes (q,)."""
    for j in range(codes.shape[0]):  # noqa: SIM110
        if codes[j] < p.low[c, j] or codes[j] > p.high[c, j]:
            return False
    return True


@kernel
def scan(t: Table, p: Partition, c: int, j: int) -> None:
    """Set the ends of class c in quasi-identifier j from its members."""
    low, high, low_next, high_next = ABOVE, BELOW, ABOVE, BELOW
    low_rows = high_rows = 0
    for at in range(p.start[c], p.start[c] + p.size[c]):
        code = t.quasi[p.member[at], j]
        if code < low:
            low_next, low, low_rows = low, code, 1
        elif code == low:
            low_rows += 1
        elif code < low_next:
            low_next = code
        if code > high:
            high_next, high, high_rows = high, code, 1
        elif code == high:
            high_rows += 1
        elif code > high_next:
            high_next = code
    p.low[c, j], p.low_rows[c, j], p.low_next[c, j] = low, low_rows, low_next
    p.high[c, j], p.high_rows[c, j], p.high_next[c, j] = high, high_rows, high_next


@kernel
def width_after(t: Table, p: Partition, c: int, leaving: int, joining: int) -> float:
    """The width of class c, summed over quasi-identifiers, if one row leaves and one joins (-1: none). Changes no box.

    A class that is left without rows has no width.
    """
    change = 0.0
    for j in range(t.quasi.shape[1]):
        low, high = p.low[c, j], p.high[c, j]
        to_low, to_high = low, high
        if leaving >= 0:
            code = t.quasi[leaving, j]
            if code == low and p.low_rows[c, j] == 1:
                if p.low_next[c, j] == UNKNOWN:
                    scan(t, p, c, j)
                to_low = p.low_next[c, j]
            if code == high and p.high_rows[c, j] == 1:
                if p.high_next[c, j] == UNKNOWN:
                    scan(t, p, c, j)
                to_high = p.high_next[c, j]
        if joining >= 0:
            code = t.quasi[joining, j]
            to_low, to_high = min(to_low, code), max(to_high, code)
        if to_low != low or to_high != high:
            wide = (
                width(j, to_low, to_high, t.kinds, t.missing, t.place, t.nodes, t.shares) if to_low <= to_high else 0.0
            )
            change += wide - p.wide[c, j]
    return float(p.width[c] + change)


@kernel
def change_box(t: Table, p: Partition, c: int, leaving: int, joining: int) -> None:
    """Bring the box of class c up to date after one row left and one joined (-1: none): its members are already
    right.
    """
    moved = False
    for j in range(t.quasi.shape[1]):
        out = t.quasi[leaving, j] if leaving >= 0 else np.int32(-1)
        into = t.quasi[joining, j] if joining >= 0 else np.int32(-1)
        if out == into:
            continue
        low, high = p.low[c, j], p.high[c, j]
        if (out == low and p.low_rows[c, j] == 1) or (out == high and p.high_rows[c, j] == 1):
            scan(t, p, c, j)
        else:
            if out >= 0:
                forget(p, c, j, out)
            if into >= 0:
                extend(p, c, j, into)
        if p.low[c, j] != low or p.high[c, j] != high:
            p.wide[c, j] = (
                0.0
                if p.size[c] == 0
                else width(j, p.low[c, j], p.high[c, j], t.kinds, t.missing, t.place, t.nodes, t.shares)
            )
            moved = True
    if moved:
        p.width[c] = p.wide[c].sum()


@kernel
def forget(p: Partition, c: int, j: int, code: Any) -> None:
    """One member with this code has left class c, and was not the last one at an end."""
    if code == p.low[c, j]:
        p.low_rows[c, j] -= 1
    elif code == p.low_next[c, j]:
        p.low_next[c, j] = UNKNOWN
    if code == p.high[c, j]:
        p.high_rows[c, j] -= 1
    elif code == p.high_next[c, j]:
        p.high_next[c, j] = UNKNOWN


@kernel
def extend(p: Partition, c: int, j: int, code: Any) -> None:
    """A member with this code has joined class c."""
    if code < p.low[c, j]:
        p.low_next[c, j], p.low[c, j], p.low_rows[c, j] = p.low[c, j], code, 1
    elif code == p.low[c, j]:
        p.low_rows[c, j] += 1
    elif p.low_next[c, j] != UNKNOWN and code < p.low_next[c, j]:
        p.low_next[c, j] = code
    if code > p.high[c, j]:
        p.high_next[c, j], p.high[c, j], p.high_rows[c, j] = p.high[c, j], code, 1
    elif code == p.high[c, j]:
        p.high_rows[c, j] += 1
    elif p.high_next[c, j] != UNKNOWN and code > p.high_next[c, j]:
        p.high_next[c, j] = code
