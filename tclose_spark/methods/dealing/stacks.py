"""Dealing as arithmetic: the content of each class follows from the histogram, before any row
moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.measures.distances.histograms import (
    Histograms,
    MultiplicityMatrix,
    rank_tuples,
    sum_at,
)
from tclose_spark.table.arrays import IntArray

CHUNK = 1 << 22  # entries of a dense table of compositions held at once: 32 MiB


@dataclass(frozen=True)
class Stack:
    """Cells one on another.

    order: the cells from the first to the last, shape (cells,).
    counts: rows by cell.
    """

    order: IntArray
    counts: IntArray

    @property
    def rows(self) -> int:
        """The height of the stack."""
        return int(self.counts.sum())

    @property
    def starts(self) -> IntArray:
        """First position of each cell, by cell, shape (cells,)."""
        starts = np.empty(len(self.order), dtype=np.int64)
        starts[self.order] = np.cumsum(self.counts[self.order]) - self.counts[self.order]
        return starts


def stack_by_frequency(counts: IntArray, tuples: IntArray | None = None) -> Stack:
    """The paper's stack: cells by descending frequency, ties by value (Gowda 2023, 3.3.1 and
    5.3.1).

    tuples: the number of each cell's tuple, shape (cells,), if cells may have the same: they are
        then together.

    >>> stack_by_frequency(np.array([2, 5, 2, 7])).order.tolist()
    [3, 1, 0, 2]
    >>> stack_by_frequency(np.array([4, 3, 2, 1]), np.array([0, 1, 1, 2])).order.tolist()
    [1, 2, 0, 3]
    """
    if tuples is None:
        return Stack(np.argsort(-counts, kind="stable"), counts)
    rows = sum_at(tuples, counts, len(counts))[tuples]
    return Stack(np.lexsort((tuples, -rows)), counts)


def stack_by_value(counts: IntArray) -> Stack:
    """Cells in the order of their values: every cumulative count of a class is its ideal, rounded
    down or up.
    """
    return Stack(np.arange(len(counts)), counts)


def positions_before(x: IntArray, classes: IntArray, e: int) -> IntArray:
    """U(x, c): how many positions below x go to class c, of e classes.

    >>> positions_before(np.array(7), np.arange(3), 3).tolist()  # positions 0..6 go to classes 0 1 2 0 1 2 0
    [3, 2, 2]
    """
    return (x - classes + e - 1) // e


def class_counts(stack: Stack, classes: IntArray, e: int) -> IntArray:
    """Rows of each cell in each of the given classes, shape (len(classes), cells)

    >>> class_counts(stack_by_value(np.array([3, 4])), np.arange(3), 3).tolist()  # 0 0 0 1 1 1 1 dealt in turn
    [[1, 2], [1, 1], [1, 1]]
    """
    starts = stack.starts[None, :]
    return positions_before(starts + stack.counts, classes[:, None], e) - positions_before(
        starts,
        classes[:, None],
        e,
    )


def representatives(stack: Stack, e: int) -> IntArray:
    """One class of every composition. Counts change only if c passes S mod e of a cell, or n
    mod e.
    """
    return np.unique(np.concatenate([[0], stack.starts % e, [stack.rows % e]]))


def composed_cells(stack: Stack, e: int, values: int = 1) -> Iterator[IntArray]:
    """Rows of each cell in one class of every composition, in chunks of shape (classes, cells).
    values: how many of an attribute are to be counted.
    """
    chosen = representatives(stack, e)
    step = max(1, CHUNK // max(len(stack.counts), values))
    for i in range(0, len(chosen), step):
        yield class_counts(stack, chosen[i : i + step], e)


def compositions(
    stack: Stack,
    cell_codes: IntArray,
    distance: GroundDistance,
    e: int,
) -> list[Histograms]:
    """Histograms of one attribute in one class of every composition, in chunks."""
    parts = []
    for counts in composed_cells(stack, e, len(distance.table)):
        owner, cell = np.nonzero(counts)
        parts.append(
            Histograms.tally(
                owner,
                cell_codes[cell],
                counts[owner, cell],
                len(counts),
                len(distance.table),
            ),
        )
    return parts


@dataclass(frozen=True)
class Shares:
    """How the rows of each cell are dealt: each class gets `base` rows, and `larger` classes from
    `first` on (cyclically) get one more.
    """

    base: IntArray
    first: IntArray
    larger: IntArray
    e: int

    @staticmethod
    def of(stack: Stack, e: int) -> Shares:
        """The shares of a stack's cells among e classes."""
        return Shares(stack.counts // e, stack.starts % e, stack.counts % e, e)

    def before(self, classes: IntArray) -> IntArray:
        """The rows of each cell in all classes before each of the given ones, shape (len(classes),
        cells).
        """
        c = classes[:, None]
        wrapped = np.maximum(self.first + self.larger - self.e, 0)
        more = np.minimum(c, wrapped) + np.clip(c - self.first, 0, self.larger - wrapped)
        before: IntArray = self.base * c + more
        return before

    def class_of(self, cell: IntArray, rank: IntArray) -> IntArray:
        """The class of the row of this rank (0, 1, ...) inside its cell: the c with O(c) <= rank <
        O(c + 1).

        O(c) is how many of the cell's rows the classes before c get. Classes with near numbers get
        rows with near ranks, and counts are those of dealing one by one: which row of a cell goes
        where is free.

        >>> shares = Shares.of(stack_by_value(np.array([3, 4])), 3)
        >>> shares.class_of(np.array([0, 0, 0, 1, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2, 3])).tolist()
        [0, 1, 2, 0, 0, 1, 2]
        """
        base = self.base[cell]
        first = self.first[cell]
        larger = self.larger[cell]
        e = self.e
        wrapped = np.maximum(first + larger - e, 0)  # the classes [0, wrapped) have a row more
        edges = (wrapped, first, np.minimum(first + larger, e))  # then fewer, more, fewer
        # First class and first rank of the current run.
        start = np.zeros_like(cell)
        begin = np.zeros_like(cell)
        result = np.zeros_like(cell)
        for edge, more in zip((*edges, np.full_like(cell, e)), (1, 0, 1, 0), strict=True):
            size = base + more
            inside = rank >= begin
            result = np.where(inside, start + (rank - begin) // np.maximum(size, 1), result)
            begin = begin + size * (edge - start)
            start = edge
        return result


BLOCKS = (2, 4, 8, 16, 32, 64)
MOST_PERMUTED = 3  # attributes of which all orders are tried; of more, each of them first and each other one last
LARGE = 20_000  # cells from which on each order takes long: then each attribute is last once, in one number of blocks
BLOCKS_OF_LARGE = (8,)


def orders(matrix: MultiplicityMatrix, names: tuple[str, ...]) -> Iterator[tuple[str, Stack]]:
    """The portfolio of (name, stack), with the paper's order first. names: of the attributes."""
    yield "frequency", stack_by_frequency(matrix.counts, rank_tuples(matrix.codes))
    large = len(matrix.counts) > LARGE
    for lead in _each_last(len(names)) if large else _leads(len(names)):
        named = ", ".join(names[a] for a in lead)
        yield f"serpentine of {named}", serpentine(matrix, lead)
        for blocks in BLOCKS_OF_LARGE if large else BLOCKS:
            if len(lead) > 1 and blocks < matrix.domains[lead[0]]:
                yield (
                    f"{blocks} blocks of {names[lead[0]]}, serpentine of "
                    f"{', '.join(names[a] for a in lead[1:])}",
                    serpentine(matrix, lead, blocks),
                )
    if len(names) > 1:
        yield "value", stack_by_value(matrix.counts)


def _leads(attributes: int) -> list[tuple[int, ...]]:
    """Orders of the attributes: all of a few, otherwise each pair of a first and a last one."""
    if attributes <= MOST_PERMUTED:
        return list(permutations(range(attributes)))
    pairs = permutations(range(attributes), 2)
    return [
        (first, *(a for a in range(attributes) if a not in (first, last)), last)
        for first, last in pairs
    ]


def _each_last(attributes: int) -> list[tuple[int, ...]]:
    return [(*(a for a in range(attributes) if a != last), last) for last in range(attributes)]


def serpentine(
    matrix: MultiplicityMatrix,
    lead: tuple[int, ...],
    blocks: int | None = None,
) -> Stack:
    """Tuples by the attributes of `lead`, each up and down in turn. With `blocks`, the first
    attribute is in blocks of even mass, and its values decide last.

    >>> tuples = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> stack = serpentine(MultiplicityMatrix(tuples, np.ones(4, dtype=np.int64), (2, 2)), (0, 1))
    >>> tuples[stack.order].tolist()
    [[0, 0], [0, 1], [1, 1], [1, 0]]
    """
    digits = [matrix.codes[:, a] for a in lead]
    if blocks is not None:
        marginal = matrix.marginal(lead[0])
        block = (np.cumsum(marginal) - (marginal + 1) // 2) * blocks // matrix.rows
        digits = [np.maximum(block, 0)[digits[0]], *digits[1:], digits[0]]
    order = np.arange(len(matrix.counts))
    # Of tuples alike in the digits so far, numbered along the stack.
    group = np.zeros(len(order), dtype=np.int64)
    for digit in digits:
        turned = np.where(group % 2 == 0, digit, -digit)
        order = np.lexsort((turned, group))
        new = np.append(
            True,
            (group[order][1:] != group[order][:-1]) | (digit[order][1:] != digit[order][:-1]),
        )
        group[order] = np.cumsum(new) - 1
    return Stack(order, matrix.counts)
