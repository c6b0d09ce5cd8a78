"""The inputs of the kernels of the exchange: rows that never change, and classes with figures that
are kept up to date.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels import kernel
from tclose_spark.kernels.mixing import GOLDEN, mixed
from tclose_spark.kernels.structures import structure
from tclose_spark.kernels.widths import LabelWidths
from tclose_spark.methods.blocks.block import (
    ANYTHING,
    EQUAL,
    ORDERED,
    Block,
    Requirement,
    metrics_of,
)
from tclose_spark.table.arrays import Codes, FloatArray, IntArray

BITS = 63  # of a word
LEAVE = 0
JOIN = 1


@structure
class Table(NamedTuple):
    """The rows and the requirement of their classes. All values of the sensitive attributes, and
    the nodes of their hierarchies except the roots, are numbered as columns: of an attribute first
    its values, then height by height.
    """

    quasi: Codes  # dense codes of the quasi-identifiers, shape (n, q)
    packed: IntArray  # the same codes side by side in words, shape (n, words)
    guards: IntArray  # of each word, the bits above the codes, shape (words,)
    word: IntArray  # where the codes of each quasi-identifier are: the word, shape (q,)
    shift: IntArray  # and the place of their lowest bit, shape (q,)
    guard: IntArray  # and the bit above them, shape (q,)
    cell: Codes  # each row's cell, shape (n,)
    widths: LabelWidths
    requirement: Requirement
    first: IntArray  # attribute s has the columns first[s]..first[s + 1]-1, shape (attributes + 1,)
    column: Codes  # the column of each attribute's value in each cell, shape (cells, attributes)
    metric: NDArray[np.int8]  # EQUAL, ORDERED or HIERARCHICAL, shape (attributes,)
    above: Codes  # the column of the node above each column, or -1, shape (columns,)
    # Records of the whole table with a value (ordered: or a lower one), or below a node, shape
    # (columns,).
    expected: IntArray
    apart: IntArray  # the numerator of a row that has nothing in common with the table, shape (attributes,)
    share: FloatArray  # a numerator times this is the closeness ratio times rows, 0 without a t, shape (attributes,)


@structure
class Partition(NamedTuple):
    """Rows in classes. Invariant between changes: every array is what a recount from `of` would
    give.

    Arrays without a shape have that of the one above. Codes are of each class in each
    quasi-identifier.
    """

    of: Codes  # each row's class, shape (n,)
    place: Codes  # each row's position among the members of its class, from start[c]
    start: IntArray  # class c has the members member[start[c]:start[c] + size[c]], shape (classes,)
    room: IntArray  # how many positions are reserved for them
    size: IntArray  # how many there are
    member: Codes  # rows, class by class, with room between, shape (2 n + 8 classes,)
    low: Codes  # the lowest code, shape (classes, q)
    high: Codes  # the highest code
    packed_low: IntArray  # the lowest codes as in Table.packed, shape (classes, words)
    packed_high: IntArray  # the highest codes
    low_rows: Codes  # how many members have the lowest code, shape (classes, q)
    high_rows: Codes  # how many have the highest code
    low_next: Codes  # the second lowest code (-2: unknown; see `boxes`)
    high_next: Codes  # the second highest code
    wide: FloatArray  # the width of the label from low to high
    width: FloatArray  # its sum over quasi-identifiers, shape (classes,)
    counts: Codes  # the members with each value or below each node, shape (classes, columns)
    held: Codes  # attribute s has members in the columns held[c, first[s]:first[s] + length[c, s]], in any order
    length: IntArray  # in how many columns it has members, shape (classes, attributes)
    present: IntArray  # how many distinct values there are
    total: IntArray  # the numerator of the distance
    # The sum of min(n c_u, s N_u), with s one less and one more; not of ordered attributes (see
    # `common`), shape (2, classes, attributes).
    common: IntArray
    excess: IntArray  # of ordered attributes only (see `excess`), shape (classes, columns)
    # Of ordered attributes only; valid only where fresh, shape (2, classes, columns).
    rises: NDArray[np.float32]
    fresh: NDArray[np.bool_]  # whether `rises` is up to date, shape (2, classes, attributes)
    # The price of each closeness ratio, in multiples of the price in the arguments, shape (classes,
    # attributes).
    weight: FloatArray
    old: Codes  # to work in, as member
    old_start: IntArray  # to work in, as start
    rank: Codes  # to work in: the place of each row in an order, shape (n,)
    tail: FloatArray  # to work in: widths of the last rows of a class, shape (n,)
    random: NDArray[np.uint64]  # the generator's state, shape (1,)


def make_table(block: Block) -> Table:
    """The block as the kernels read it."""
    requirement = block.requirement
    metric = metrics_of(requirement)
    columns = [_columns(requirement, s) for s in range(len(metric))]
    first = np.concatenate([[0], np.cumsum([len(above) for above, _ in columns])]).astype(np.int64)
    above = [
        np.where(nodes < 0, -1, nodes + start)
        for (nodes, _), start in zip(columns, first, strict=False)
    ]
    expected = [
        np.cumsum(rows) if kind == ORDERED else rows
        for (_, rows), kind in zip(columns, metric, strict=True)
    ]
    quasi = np.ascontiguousarray(block.quasi, np.int32)
    bits, word, shift = _words(quasi)
    above_codes = np.int64(1) << bits
    return Table(
        quasi=quasi,
        packed=_packed(quasi, word, shift),
        guards=_packed(above_codes[None], word, shift)[0],
        word=word,
        shift=shift,
        guard=above_codes << shift,
        cell=np.ascontiguousarray(block.cell, np.int32),
        widths=block.widths,
        requirement=requirement,
        first=first,
        column=(requirement.codes + first[:-1]).astype(np.int32),
        metric=metric,
        above=np.concatenate(above).astype(np.int32),
        expected=np.concatenate(expected).astype(np.int64),
        apart=np.where(metric == EQUAL, 2, requirement.heights) * requirement.rows,
        share=_shares(requirement),
    )


def _words(quasi: Codes) -> tuple[IntArray, IntArray, IntArray]:
    """(how many bits the codes of each quasi-identifier have, at least 1; in which word they are;
    from which bit on), each of shape (q,). Above each code is a guard bit.
    """
    bits = np.array([max(int(most).bit_length(), 1) for most in quasi.max(axis=0)], np.int64)
    word, shift = np.zeros((2, len(bits)), np.int64)
    at = used = 0
    for j, need in enumerate(bits + 1):
        if used + need > BITS:
            at += 1
            used = 0
        word[j], shift[j] = at, used
        used += int(need)
    return bits, word, shift


def _packed(codes: IntArray | Codes, word: IntArray, shift: IntArray) -> IntArray:
    """Codes of shape (n, q) as words of shape (n, words)."""
    packed = np.zeros((len(codes), int(word[-1]) + 1), np.int64)
    for j in range(codes.shape[1]):
        packed[:, word[j]] |= codes[:, j].astype(np.int64) << shift[j]
    return packed


def _columns(requirement: Requirement, s: int) -> tuple[IntArray, IntArray]:
    """(the column above each column of attribute s, or -1; records of the whole table in each),
    both from 0.
    """
    above = []
    rows = [requirement.tables[s, : requirement.domains[s]]]
    end = len(rows[0])
    for parents in requirement.parents[s, : max(int(requirement.heights[s]) - 1, 0)]:
        parent = parents[: len(rows[-1])].astype(np.int64)
        above.append(parent + end)
        rows.append(np.bincount(parent, weights=rows[-1]).astype(np.int64))
        end += len(rows[-1])
    above.append(np.full(len(rows[-1]), -1))
    return np.concatenate(above), np.concatenate(rows)


def _shares(requirement: Requirement) -> FloatArray:
    """`Table.share`."""
    largest = requirement.limits.shape[1] - 1
    limits = requirement.limits[:, -1]
    priced = (limits > 0) & (limits < ANYTHING)
    return np.where(priced, largest / np.maximum(limits, 1), 0.0)


def make_partition(table: Table, classes: IntArray, seed: int, spare: int = 0) -> Partition:
    """The classes, with figures still to be counted (`changes.count_all`). classes: from 0, shape
    (n,). spare: how many more classes there are, without rows.
    """
    rows, q = table.quasi.shape
    groups = int(classes.max()) + 1 + spare
    columns = len(table.expected)
    attributes = len(table.metric)
    low, high, low_rows, high_rows, low_next, high_next = np.zeros((6, groups, q), np.int32)
    packed_low, packed_high = np.zeros((2, groups, len(table.guards)), np.int64)
    start, room, old_start = np.zeros((3, groups), np.int64)
    member, old = np.zeros((2, 2 * rows + 8 * groups), np.int32)
    place, rank = np.zeros((2, rows), np.int32)
    counts, held = np.zeros((2, groups, columns), np.int32)
    length, present, total = np.zeros((3, groups, attributes), np.int64)
    return Partition(
        of=classes.astype(np.int32),
        place=place,
        start=start,
        room=room,
        size=np.bincount(classes, minlength=groups).astype(np.int64),
        member=member,
        low=low,
        high=high,
        packed_low=packed_low,
        packed_high=packed_high,
        low_rows=low_rows,
        high_rows=high_rows,
        low_next=low_next,
        high_next=high_next,
        wide=np.zeros((groups, q)),
        width=np.zeros(groups),
        counts=counts,
        held=held,
        length=length,
        present=present,
        total=total,
        common=np.zeros((2, groups, attributes), np.int64),
        excess=np.zeros((groups, columns), np.int64),
        rises=np.zeros((2, groups, columns), np.float32),
        fresh=np.zeros((2, groups, attributes), np.bool_),
        weight=np.ones((groups, attributes)),
        old=old,
        old_start=old_start,
        rank=rank,
        tail=np.zeros(rows),
        random=np.array([seed], np.uint64),
    )


@kernel
def draw(random: NDArray[np.uint64]) -> Any:
    """The next random 64-bit integer (splitmix64), as a nonnegative int64."""
    random[0] += np.uint64(GOLDEN)
    return np.int64(mixed(random[0]) >> np.uint64(1))


@kernel
def draw_member(partition: Partition, c: int) -> int:
    """A random position among the members of class c, from 0."""
    return int((draw(partition.random) & 0x7FFFFFFF) * partition.size[c] >> 31)


@kernel
def rank_rows(partition: Partition, order: Codes) -> None:
    """Set partition.rank to the place of each row in an order."""
    for at in range(len(order)):
        partition.rank[order[at]] = at
