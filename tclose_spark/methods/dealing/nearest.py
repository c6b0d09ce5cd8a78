"""GENERATE-CLASSES (Gowda 2023, 4.4.3; Weber, 3.4.3): a class is a row with the nearest rows of
each part.

The number of rows of each part in a class is fixed before. The choice of rows is free, and
quasi-identifiers decide it. The papers search the whole table for every class. Here, dealing has
brought similar rows into neighbouring classes, so a class searches only a block of classes (on
Adult, blocks of 200 classes lose least).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.structures import structure
from tclose_spark.kernels.widths import LabelWidths, width
from tclose_spark.methods.dealing.locality import Locality, deal_sample, sort_by_content
from tclose_spark.methods.dealing.stacks import Stack
from tclose_spark.methods.widths import QuasiWidths
from tclose_spark.table.arrays import Codes, FloatArray, HashArray, IntArray
from tclose_spark.table.rows import Rows

CLASSES_PER_BLOCK = 200
ROWS_PER_BLOCK = 100_000  # where classes are so large that these are fewer classes


def classes_per_block(class_size: int) -> int:
    """The number of classes of this size in a block."""
    return min(max(ROWS_PER_BLOCK // class_size, 1), CLASSES_PER_BLOCK)


def gather_nearest(
    rows: Rows,
    part: IntArray,
    classes: IntArray,
    block: IntArray,
    key: HashArray,
    quasi_widths: QuasiWidths,
) -> IntArray:
    """Classes with as many rows of each part as `classes` gives them, and near rows in each, shape
    (n,).

    part, classes: of each row, shape (n,).
    block: shape (n,); classes exchange rows inside a block only.
    key: order keys; a class begins with the first row left in their order. The order of the rows
        decides between equally near ones, so it must follow from their content.
    """
    quasi, widths, _ = quasi_widths.of(rows)
    by_part = np.lexsort((part, block))  # stable: rows of a part keep their order
    result = np.empty_like(classes)
    for here in np.split(by_part, np.flatnonzero(np.diff(block[by_part])) + 1):
        seeds = np.argsort(key[here], kind="stable")
        result[here] = exchange_nearest(part[here], classes[here], seeds, quasi[here], widths)
    return result


def exchange_nearest(
    part: IntArray,
    classes: IntArray,
    seeds: IntArray,
    quasi: Codes,
    widths: LabelWidths,
) -> IntArray:
    """Classes with as many rows of each part as `classes` gives them, shape (n,), of the rows of
    one block.

    part: of each row, shape (n,), ascending. seeds: the rows in the order in which they begin a
        class, shape (n,).
    """
    parts, dense = np.unique(part, return_inverse=True)
    owner, inverse = np.unique(classes, return_inverse=True)
    wanted, need = np.unique(inverse * len(parts) + dense, return_counts=True)
    block = _Block(
        starts=np.searchsorted(dense, np.arange(len(parts) + 1)),
        rows=np.arange(len(part)),
        left=np.bincount(dense),
        order=seeds,
        part=dense,
        needs=np.searchsorted(wanted // len(parts), np.arange(len(owner) + 1)),
        wanted=wanted % len(parts),
        need=need,
        quasi=quasi,
        class_of=np.full(len(part), -1, dtype=np.int64),
        apart=np.empty(widths.place.shape),
        near=np.empty(len(part)),
        chosen=np.empty(len(part), dtype=np.int64),
    )
    _generate(block, widths)
    chosen: IntArray = owner[block.class_of]
    return chosen


def deal_sample_nearest(
    locality: Locality,
    sample: Rows,
    part: IntArray,
    stack: Stack,
    class_size: int,
    quasi_widths: QuasiWidths,
) -> IntArray:
    """The classes of the sample, dealt by itself to classes of this size with near rows gathered,
    shape (n,). part: of each row.
    """
    classes = deal_sample(locality, sample, part, stack, class_size)
    order = sort_by_content(sample, part, locality.key(sample))
    part = part[order]
    classes = classes[order]
    key = locality.key(sample)[order]
    class_of = np.empty_like(classes)
    class_of[order] = gather_nearest(
        sample.take(order),
        part,
        classes,
        classes // classes_per_block(class_size),
        key,
        quasi_widths,
    )
    return class_of


@kernel
def keep_near(
    far: float,
    row: int,
    held: int,
    many: int,
    near: FloatArray,
    chosen: IntArray,
) -> int:
    """Inserts a row at this distance among the nearest `many`, of which `held` are present; returns
    their new number. Earlier rows win ties.
    """
    if held == many and far >= near[held - 1]:
        return held
    slot = held if held < many else held - 1
    while slot > 0 and near[slot - 1] > far:
        near[slot], chosen[slot] = near[slot - 1], chosen[slot - 1]
        slot -= 1
    near[slot] = far
    chosen[slot] = row
    return min(held + 1, many)


@structure
class _Block(NamedTuple):
    """The rows of a block, and what its classes need.

    rows: the rows that are left of part p are rows[starts[p] : starts[p] + left[p]]. order: the
        rows by their keys.
    part: of each row. Class c needs need[i] rows of part wanted[i], for i from needs[c] to needs[c
        + 1].
    class_of: of each row, -1 for none yet.
    apart: room for how far each code of a quasi-identifier is from that of the row which begins a
        class, asked for once where codes are fewer than rows.
    near, chosen: room for how far the nearest rows of a part are, and for these rows.
    """

    starts: IntArray
    rows: IntArray
    left: IntArray
    order: IntArray
    part: IntArray
    needs: IntArray
    wanted: IntArray
    need: IntArray
    quasi: Codes
    class_of: IntArray
    apart: FloatArray
    near: FloatArray
    chosen: IntArray


@kernel
def _generate(block: _Block, widths: LabelWidths) -> None:
    """Fills `class_of`, the class of each row of a block.

    Invariant: every row of `rows` has no class yet, and those left of each part are as many as the
        classes to come need. Those before `begun` in the order all have one.
    """
    begun = 0
    for c in range(len(block.needs) - 1):
        while begun < len(block.order) and block.class_of[block.order[begun]] >= 0:
            begun += 1
        centre = _first_left(block, c, begun)
        _measure_apart(block, centre, widths)
        for i in range(block.needs[c], block.needs[c + 1]):
            start = block.starts[block.wanted[i]]
            left = block.left[block.wanted[i]]
            if block.need[i] == left:  # the last class of a part takes what is left
                for at in range(start, start + left):
                    block.class_of[block.rows[at]] = c
            else:
                _take_nearest(block, c, i, centre, widths)
            block.left[block.wanted[i]] -= block.need[i]


@kernel
def _first_left(block: _Block, c: int, begun: int) -> int:
    """The first row without a class, from a place in the order on, of a part that class c needs.
    There is one: what is left of each part is what the classes to come need.
    """
    order = block.order
    part = block.part
    wanted = block.wanted
    class_of = block.class_of
    first = block.needs[c]
    last = block.needs[c + 1]
    for place in range(begun, len(order)):
        row: int = order[place]
        if class_of[row] < 0:
            for i in range(first, last):
                if wanted[i] == part[row]:
                    return row
    return -1


@kernel
def _measure_apart(block: _Block, centre: int, widths: LabelWidths) -> None:
    """Fills `apart`."""
    for j in range(block.quasi.shape[1]):
        if widths.domains[j] < len(block.part):
            b = block.quasi[centre, j]
            for a in range(widths.domains[j]):
                block.apart[j, a] = width(j, min(a, b), max(a, b), widths)


@kernel
def _take_nearest(block: _Block, c: int, i: int, centre: int, widths: LabelWidths) -> None:
    """Gives class c the need[i] rows of part wanted[i] that are nearest to the row `centre`, itself
    first, and removes them from `rows`.
    """
    quasi = block.quasi
    rows = block.rows
    class_of = block.class_of
    n = len(block.part)
    apart = block.apart
    near = block.near
    chosen = block.chosen
    start = block.starts[block.wanted[i]]
    many = block.need[i]
    held = 0
    end = start + block.left[block.wanted[i]]
    for at in range(start, end):
        row = rows[at]
        far = -1.0 if row == centre else 0.0
        for j in range(quasi.shape[1]):
            a = quasi[row, j]
            b = quasi[centre, j]
            far += apart[j, a] if widths.domains[j] < n else width(j, min(a, b), max(a, b), widths)
            if held == many and far >= near[held - 1]:
                break
        held = keep_near(far, row, held, many, near, chosen)
    for slot in range(many):
        class_of[chosen[slot]] = c
    kept = start
    for at in range(start, end):
        if class_of[rows[at]] < 0:
            rows[kept] = rows[at]
            kept += 1
