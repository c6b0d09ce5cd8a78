"""Layered dealing: every class gets one row of each layer of the stack, chosen to make the worst class as close as
possible.

Layer l of a stack dealt to e classes is its positions l e to (l + 1) e - 1. Dealing in turn gives class c the c-th
row of each layer. Any permutation inside a layer is possible. In a stack by value it keeps every cumulative count
of a class at its ideal, rounded down or up. From dealing in turn, the class with the worst closeness ratio
exchanges members with others while that lowers its ratio: members of one layer, or any two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels import kernel
from tclose_spark.kernels.mixing import GOLDEN, mixed
from tclose_spark.methods.dealing.stacks import Shares, Stack
from tclose_spark.methods.stack_and_deal.closeness_ratio import KernelDistances, closeness_ratio, replace
from tclose_spark.table.arrays import FloatArray, IntArray

ROWS_PER_GROUP = 100_000  # classes and rows that are dealt in layers at once: what a task and the plan hold of them
SEED = GOLDEN
ROUNDS = 2_000
WORST = 0.02  # of the classes, looked at in a round
TRIES = 400  # exchanges that are tried for each of them
MOST_TRIES = 100_000  # for the worst one alone, before it is left as it is


@dataclass(frozen=True)
class LayeredDeal:
    """Groups of classes, each with its share of every cell (that of dealing in turn), dealt in layers by itself.

    So neither a task nor the plan holds all classes, and any task finds the classes of a group again.

    codes: of each cell, shape (cells, attributes).
    starts: the first class of each group, and their number, shape (groups + 1,).
    """

    stack: Stack
    codes: IntArray
    distances: KernelDistances
    starts: IntArray

    def group(self, number: int) -> tuple[IntArray, IntArray]:
        """(cell, class) of each row of a group, the rows by cell and then by class; classes count from the group's
        first.
        """
        first, last = self.starts[number : number + 2]
        before = Shares.of(self.stack, int(self.starts[-1])).before(np.array([first, last]))
        counts, order = before[1] - before[0], self.stack.order
        classes = deal_in_layers(np.repeat(order, counts[order]), int(last - first), self.codes, self.distances)
        return np.repeat(np.arange(len(counts)), counts), classes


def groups_of(rows: int) -> int:
    """The number of groups in which the classes of a table are dealt."""
    return -(-rows // ROWS_PER_GROUP)


def deal_in_layers(cells: IntArray, classes: int, codes: IntArray, distances: KernelDistances) -> IntArray:
    """The classes of the rows of a stack, the rows by cell and then by class, shape (rows,).

    cells: the cell at each position, shape (rows,). codes: the codes of each cell, shape (cells, attributes). rows >=
    classes.
    """
    n = len(cells)
    layers = -(-n // classes)
    members = np.full((classes, layers), -1, dtype=np.int64)
    position = np.arange(n)
    members[position % classes, position // classes] = cells
    sizes = np.full(classes, layers, dtype=np.int64)
    sizes[n - (layers - 1) * classes :] -= 1
    held = codes[members].transpose(0, 2, 1).copy()  # (classes, attributes, layers)
    held[sizes < layers, :, -1] = np.iinfo(np.int64).max
    held.sort(axis=2)
    ratios = np.empty(classes)
    _measure(held, sizes, codes, members, distances, ratios)
    state = np.array([SEED], dtype=np.uint64)
    tries = TRIES
    for _ in range(ROUNDS):
        worst = np.argsort(-ratios, kind="stable")[: max(int(classes * WORST), 1)]
        if _lower(worst if tries == TRIES else worst[:1], members, held, sizes, codes, distances, ratios, state, tries):
            tries = TRIES
        elif tries < MOST_TRIES:
            tries *= 4
        else:
            break
    owner, layer = np.nonzero(members >= 0)
    return owner[np.lexsort((owner, members[owner, layer]))]


@kernel
def _measure(
    held: IntArray, sizes: IntArray, codes: IntArray, members: IntArray, distances: KernelDistances, ratios: FloatArray
) -> None:
    for c in range(len(sizes)):
        same = codes[members[c, 0]]
        ratios[c] = closeness_ratio(held[c], sizes[c], same, same, distances)


@kernel
def _random(state: NDArray[np.uint64], below: int) -> int:
    """A number 0..below-1 (splitmix64)."""
    state[0] += np.uint64(GOLDEN)
    return int(mixed(state[0]) % np.uint64(below))


@kernel
def _lower(
    worst: IntArray,
    members: IntArray,
    held: IntArray,
    sizes: IntArray,
    codes: IntArray,
    distances: KernelDistances,
    ratios: FloatArray,
    state: NDArray[np.uint64],
    tries: int,
) -> bool:
    """Exchanges members of these classes with others to lower the worse of both; returns whether the first improved."""
    attributes = codes.shape[1]
    bettered = False
    for place in range(len(worst)):
        one = worst[place]
        for trial in range(tries):
            other = _random(state, len(sizes))
            i = _random(state, sizes[one])
            j = i if trial % 2 == 0 and i < sizes[other] else _random(state, sizes[other])
            mine, yours = members[one, i], members[other, j]
            if other == one or mine == yours or ratios[other] >= ratios[one]:
                continue
            after = closeness_ratio(held[one], sizes[one], codes[mine], codes[yours], distances)
            if after >= ratios[one] * (1.0 - 1e-9):
                continue
            theirs = closeness_ratio(held[other], sizes[other], codes[yours], codes[mine], distances)
            if theirs >= ratios[one] * (1.0 - 1e-9):
                continue
            for a in range(attributes):
                replace(held[one, a], sizes[one], codes[mine, a], codes[yours, a])
                replace(held[other, a], sizes[other], codes[yours, a], codes[mine, a])
            members[one, i], members[other, j] = yours, mine
            ratios[one], ratios[other] = after, theirs
            bettered = bettered or place == 0
            if place > 0 and after < ratios[worst[0]] * 0.97:
                break
    return bettered
