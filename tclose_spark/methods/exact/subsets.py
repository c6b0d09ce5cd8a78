"""Dynamic programming over subsets of at most 16 rows (Liang and Yuan, Theorem 8), for every
requirement of a class.

A subset of rows is the set bits of an integer. With c(S) what the rows of S lose as a class,
infinitely much if they are none, the least loss of the rows S is

    best(S) = min over subsets T of S with the highest row of S of  c(T) + best(S without T)

A class with the labels of another one is merged with it by every reader, and the merged class holds
as well, so classes need no other labels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.class_requirement import CellGroups, ClassRequirement
from tclose_spark.methods.exact.losses import QuasiLosses
from tclose_spark.table.arrays import FloatArray, IntArray, ranked

MOST_ROWS = 16


def class_losses(
    attributes: ResolvedAttributes, k: int, quasi: Sequence[IntArray], cell: IntArray
) -> FloatArray:
    """What the rows of each subset lose together as a class, weighted as methods do, shape
    (2^rows,); infinity if they are none.

    quasi: the rows' codes by quasi-identifier, shapes (rows,). cell: shape (rows,).
    """
    subsets = np.arange(1 << len(cell))
    within = (subsets[:, None] >> np.arange(len(cell))) & 1
    sizes = within.sum(axis=1)
    possible = np.flatnonzero(sizes >= k)
    some = CellGroups.of(by_cell(cell, within[possible], len(attributes.cells)))
    possible = possible[~ClassRequirement(attributes, k).broken(some)]
    made = np.full(len(subsets), np.inf)
    if not len(possible):
        return made
    rows, losses = within[possible], np.zeros(len(possible))
    for q, codes in zip(attributes.quasi_identifiers, quasi, strict=True):
        values, place = ranked(codes)
        held = np.bitwise_or.reduce(rows << place, axis=1)
        sets, of_class = np.unique(held, return_inverse=True)
        owner, members = np.nonzero((sets[:, None] >> np.arange(len(values))) & 1)
        loss, _ = QuasiLosses(q, values).of(members, np.searchsorted(owner, np.arange(len(sets))))
        losses += q.weight * loss[of_class]
    made[possible] = sizes[possible] * losses / len(quasi)
    return made


def by_cell(cell: IntArray, rows: IntArray, cells: int) -> IntArray:
    """Rows of each cell in each group, shape (groups, cells). cell: of each kind of row, shape
    (kinds,). rows: of each kind in each group, shape (groups, kinds).
    """
    counts = np.zeros((cells, len(rows)), dtype=np.int64)
    np.add.at(counts, cell, rows.T)
    return counts.T


def best_partition(losses: FloatArray) -> tuple[float, list[int]]:
    """(the least loss of all rows, the classes as subsets); (infinity, []) if no partition holds.

    losses: of each subset as a class, shape (2^rows,).

    >>> best_partition(np.array([np.inf, 1.0, 1.0, 1.5, 2.0, 2.0, 4.0, 9.0]))  # {row 0 and row 2}, {row 1}
    (3.0, [5, 2])
    """
    rows = len(losses).bit_length() - 1
    best = np.full(len(losses), np.inf)
    best[0] = 0.0
    # Each row below the highest one is in neither of the two, in the rest, or in its class: three
    # ways, one digit.
    rest = group = np.zeros(1, dtype=np.int32)
    for highest in range(rows):
        bit = 1 << highest
        least = best[rest] + losses[group | bit]
        for row in range(highest):
            ways = least.reshape(1 << row, 3, -1)
            least = np.stack([ways[:, 0], np.minimum(ways[:, 1], ways[:, 2])], axis=1)
        best[bit : 2 * bit] = least.ravel()
        if highest < rows - 1:
            rest, group = (
                np.concatenate([rest, rest | bit, rest]),
                np.concatenate([group, group, group | bit]),
            )
    return float(best[-1]), _classes(losses, best) if np.isfinite(best[-1]) else []


def _classes(losses: FloatArray, best: FloatArray) -> list[int]:
    """The classes of a partition of all rows that loses least."""
    classes, left = [], len(losses) - 1
    while left:
        highest = 1 << (left.bit_length() - 1)
        groups = np.arange(highest, 2 * highest)
        groups = groups[groups & ~left == 0]
        found = groups[losses[groups] + best[left ^ groups] == best[left]]
        classes.append(int(found[0]))
        left ^= classes[-1]
    return classes
