"""Sweeps: every row in turn, along a lexicographic order, looks at the classes of its neighbours for a better place.
Never worse.
"""

from __future__ import annotations

from typing import Any

from tclose_spark.kernels import kernel
from tclose_spark.methods.closeness_tree.boxes import covers
from tclose_spark.methods.closeness_tree.changes import move, swap
from tclose_spark.methods.closeness_tree.extras import may
from tclose_spark.methods.closeness_tree.partition import JOIN, LEAVE, Partition, Table, draw

MOVE_LOOKS, SWAP_LOOKS = 16, 4
LEAST = 1e-9  # a gain below it may be a rounding


@kernel
def first_look(p: Partition) -> int:
    """Where a row starts to look: 1..32 places after it or before it (negative), near ones more often."""
    z = draw(p.random)
    step = 1 + ((z & 31) >> ((z >> 8) % 6))
    return int(step if z & 64 else -step)


@kernel
def sweep_moves(t: Table, p: Partition, order: Any) -> int:
    """Each row goes to the narrowest class that it fits as it is, of some near ones, if that is narrower than its own.
    order: (n,).

    No box grows, so the loss falls by at least the difference. Returns how many moved.
    """
    n, moved = len(order), 0
    for at in range(n):
        row = order[at]
        c, cell = p.of[row], t.cell[row]
        if not may(t, p, LEAVE, c, cell):
            continue
        look = first_look(p)
        step = 1 if look > 0 else -1
        best, least, last = -1, p.width[c] - LEAST, c
        for there in range(at + look, at + look + step * MOVE_LOOKS, step):
            if there < 0 or there >= n:
                break
            d = p.of[order[there]]
            if d == last:
                continue
            last = d
            if p.width[d] < least and covers(p, d, t.quasi[row]) and p.size[d] < p.room[d] and may(t, p, JOIN, d, cell):
                best, least = d, p.width[d]
        if best >= 0:
            move(t, p, row, best)
            moved += 1
    return moved


@kernel
def sweep_swaps(t: Table, p: Partition, order: Any) -> int:
    """Each row changes places with a near one of its cell, if each fits the other's class as it is. order: (n,), by
    cell first.

    No box grows and no distance changes, so the loss does not rise; ends of boxes come free. Returns how many swapped.
    """
    n, swapped = len(order), 0
    for at in range(n):
        row = order[at]
        c, cell = p.of[row], t.cell[row]
        look = first_look(p)
        step = 1 if look > 0 else -1
        for there in range(at + look, at + look + step * SWAP_LOOKS, step):
            if there < 0 or there >= n:
                break
            other = order[there]
            d = p.of[other]
            if d == c or t.cell[other] != cell or not covers(p, d, t.quasi[row]) or not covers(p, c, t.quasi[other]):
                continue
            swap(t, p, row, other)
            swapped += 1
            break
    return swapped
