"""Annealing: random proposals to move a row or swap two, taken when they lower the loss, or raise it by little (Metropolis)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tclose_spark.methods.closeness_tree.boxes import holds, width_after
from tclose_spark.methods.closeness_tree.changes import move, repack, swap
from tclose_spark.methods.closeness_tree.extras import may, may_swap
from tclose_spark.methods.closeness_tree.partition import JOIN, LEAVE, Partition, Table, draw

TRIES = 12


@njit(cache=True)
def anneal(t: Table, p: Partition, orders: Any, places: Any, steps: Any, risks: Any, proposals: int, hot: float, cold: float) -> int:
    """`proposals` proposals while the temperature falls from hot to cold; returns how many were taken. Feasibility is kept by each.

    orders, places: (orders, n), lexicographic orders and where each row is. steps: distances to look at, drawn from at random, length a
    power of two. risks: -log of uniform numbers, likewise: a loss that rises by at most temperature x risk is taken.
    """
    n, taken, heat = len(p.of), 0, hot
    for number in range(proposals):
        if number % 1024 == 0:
            heat = hot * (cold / hot) ** (number / proposals)
            if number % (1024 * 64) == 0:
                repack(p)
        z = draw(p.random)
        row = (z & 0x7FFFFFFF) * n >> 31
        c = p.of[row]
        o = ((z >> 31) & 0xFFFF) * len(orders) >> 16
        z = draw(p.random)
        step = steps[z & (len(steps) - 1)]
        at = places[o, row] + (step if (z >> 16) & 1 else -step)
        if at < 0 or at >= n:
            continue
        d = p.of[orders[o, at]]
        if d == c:
            continue
        if (z >> 17) & 3 and not holds(p, d, t.quasi[row]):
            continue
        allowed = heat * risks[(z >> 20) & (len(risks) - 1)]
        kind = (z >> 40) & 1023
        if kind < 358:
            taken += try_move(t, p, row, c, d, allowed)
        else:
            taken += try_swap(t, p, row, c, d, allowed, kind < 820)
    return taken


@njit(cache=True)
def try_move(t: Table, p: Partition, row: int, c: int, d: int, allowed: float) -> bool:
    """Move the row from class c to d if both then hold what is asked and the loss rises by at most `allowed`."""
    cell = t.cell[row]
    if p.size[d] >= p.room[d] or not may(t, p, LEAVE, c, cell) or not may(t, p, JOIN, d, cell):
        return False
    rise = (p.size[d] + 1) * width_after(t, p, d, -1, row) - p.size[d] * p.width[d]
    rise += (p.size[c] - 1) * width_after(t, p, c, row, -1) - p.size[c] * p.width[c]
    if rise > allowed:
        return False
    move(t, p, row, d)
    return True


@njit(cache=True)
def try_swap(t: Table, p: Partition, row: int, c: int, d: int, allowed: float, alike: bool) -> bool:
    """Swap the row of class c with one of d if both then hold what is asked and the loss rises by at most `allowed`.

    alike: look in d for a row of the same cell that fits c.
    """
    size, begin = p.size[d], p.start[d]
    at = (draw(p.random) & 0x7FFFFFFF) * size >> 31
    other = p.member[begin + at]
    if alike:
        for _ in range(min(TRIES, size)):
            other = p.member[begin + at]
            if t.cell[other] == t.cell[row] and holds(p, c, t.quasi[other]):
                break
            at = at + 1 if at + 1 < size else 0
    rise = size * (width_after(t, p, d, other, row) - p.width[d])
    if rise > allowed + p.size[c] * p.width[c]:
        return False
    rise += p.size[c] * (width_after(t, p, c, row, other) - p.width[c])
    if rise > allowed:
        return False
    if t.cell[row] != t.cell[other]:
        if not may_swap(t, p, c, t.cell[row], t.cell[other]) or not may_swap(t, p, d, t.cell[other], t.cell[row]):
            return False
    swap(t, p, row, other)
    return True


def risks(count: int) -> Any:
    """-log of the middles of `count` equal parts of 0..1."""
    return -np.log((np.arange(count) + 0.5) / count)
