"""Annealing: random proposals to move a row or swap two, taken when they lower the loss, or raise it by little
(Metropolis).

Sweeps do what costs nothing; proposals pay a little to open the way for them: a row of another cell comes in where one
was missing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.methods.closeness_tree.boxes import covers, width_after
from tclose_spark.methods.closeness_tree.changes import move, swap
from tclose_spark.methods.closeness_tree.extras import may, may_swap
from tclose_spark.methods.closeness_tree.partition import JOIN, LEAVE, Partition, Table, draw

LOOKS = 8
RISKS = 4096  # a power of two


@kernel
def propose(t: Table, p: Partition, orders: Any, places: Any, risks: Any, heat: float) -> int:
    """One proposal for each row, by random: to move to the class of a neighbour, or to swap with a member of it.
    Returns how many were taken.

    orders, places: (orders, n), lexicographic orders and where each row is in them. risks: (RISKS,), -log of uniform
    numbers: a change is taken if the loss rises by at most heat x risk. Each change keeps what is asked of classes.
    """
    n, taken = len(p.of), 0
    for _ in range(n):
        z = draw(p.random)
        row = (z & 0x7FFFFFFF) * n >> 31
        order = ((z >> 31) & 0xFFFF) * len(orders) >> 16
        z = draw(p.random)
        step = 1 + ((z & 127) >> ((z >> 8) & 15) % 7)
        at = places[order, row] + (step if (z >> 12) & 1 else -step)
        if at < 0 or at >= n:
            continue
        c, d = p.of[row], p.of[orders[order, at]]
        if c == d or ((z >> 13) & 3 and not covers(p, d, t.quasi[row])):
            continue
        allowed = heat * risks[(z >> 15) & (RISKS - 1)]
        kind = (z >> 32) & 1023
        taken += try_move(t, p, row, d, allowed) if kind < 300 else try_swap(t, p, row, d, allowed, kind < 800)
    return taken


@kernel
def try_move(t: Table, p: Partition, row: int, d: int, allowed: float) -> bool:
    """Move the row to class d if both classes then hold what is asked, and the loss rises by at most `allowed`."""
    c, cell = p.of[row], t.cell[row]
    if p.size[d] >= p.room[d] or not may(t, p, LEAVE, c, cell) or not may(t, p, JOIN, d, cell):
        return False
    rise = (p.size[d] + 1) * width_after(t, p, d, -1, row) - p.size[d] * p.width[d]
    rise += (p.size[c] - 1) * width_after(t, p, c, row, -1) - p.size[c] * p.width[c]
    if rise > allowed:
        return False
    move(t, p, row, d)
    return True


@kernel
def try_swap(t: Table, p: Partition, row: int, d: int, allowed: float, fitting: bool) -> bool:
    """Swap the row with one of class d: the first of LOOKS members from a random one on with which all is well.

    That is: it is in the box of the row's class (if `fitting`), both classes then hold what is asked, and the loss
    rises by at most `allowed`.
    """
    c, cell, size = p.of[row], t.cell[row], p.size[d]
    at = (draw(p.random) & 0x7FFFFFFF) * size >> 31
    for _ in range(min(LOOKS, size)):
        other = p.member[p.start[d] + at]
        at = at + 1 if at + 1 < size else 0
        if fitting and not covers(p, c, t.quasi[other]):
            continue
        into = t.cell[other]
        if cell != into and not (may_swap(t, p, c, cell, into) and may_swap(t, p, d, into, cell)):
            continue
        rise = size * (width_after(t, p, d, other, row) - p.width[d])
        rise += p.size[c] * (width_after(t, p, c, row, other) - p.width[c])
        if rise <= allowed:
            swap(t, p, row, other)
            return True
    return False


def make_risks() -> Any:
    """-log of the middles of RISKS equal parts of 0..1, ascending probabilities; rounded, so that all machines have the
    same.
    """
    return np.round(-np.log((np.arange(RISKS) + 0.5) / RISKS), 9)
