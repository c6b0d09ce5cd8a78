"""GENERATE-CLASSES (Gowda 2023, 4.4.3; Weber, 3.4.3): a class is a row with the nearest rows of each part.

The number of rows of each part in a class is fixed before. The choice of rows is free, and quasi-identifiers decide it.
The papers search the whole table for every class. Here, dealing has brought similar rows into neighbouring classes, so
a class searches only a block of classes (on Adult, blocks of 200 classes lose least).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels import kernel
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
    rows: Rows, part: IntArray, classes: IntArray, block: IntArray, key: HashArray, quasi_widths: QuasiWidths
) -> IntArray:
    """Classes with as many rows of each part as `classes` gives them, and near rows in each, shape (n,).

    part, classes: of each row, shape (n,). block: shape (n,); classes exchange rows inside a block only. key: order
    keys; a class begins with the first row left in their order. The order of the rows decides between equally near
    ones, so it must follow from their content.
    """
    quasi, widths, _ = quasi_widths.of(rows)
    by_part = np.lexsort((part, block))  # stable: rows of a part keep their order
    result = np.empty_like(classes)
    for here in np.split(by_part, np.flatnonzero(np.diff(block[by_part])) + 1):
        seeds = np.argsort(key[here], kind="stable")
        result[here] = exchange_nearest(part[here], classes[here], seeds, quasi[here], widths)
    return result


def exchange_nearest(part: IntArray, classes: IntArray, seeds: IntArray, quasi: Codes, widths: LabelWidths) -> IntArray:
    """Classes with as many rows of each part as `classes` gives them, shape (n,), of the rows of one block.

    part: of each row, shape (n,), ascending. seeds: the rows in the order in which they begin a class, shape (n,).
    """
    parts, dense = np.unique(part, return_inverse=True)
    owner, inverse = np.unique(classes, return_inverse=True)
    wanted, need = np.unique(inverse * len(parts) + dense, return_counts=True)
    class_of = np.full(len(part), -1, dtype=np.int64)
    _generate(
        np.searchsorted(dense, np.arange(len(parts) + 1)),
        np.arange(len(part)),
        np.bincount(dense),
        seeds,
        dense,
        np.searchsorted(wanted // len(parts), np.arange(len(owner) + 1)),
        wanted % len(parts),
        need,
        quasi,
        widths,
        np.empty(widths.place.shape),
        np.empty(len(part)),
        np.empty(len(part), dtype=np.int64),
        class_of,
    )
    chosen: IntArray = owner[class_of]
    return chosen


def deal_sample_nearest(
    locality: Locality, sample: Rows, part: IntArray, stack: Stack, class_size: int, quasi_widths: QuasiWidths
) -> IntArray:
    """The classes of the sample, dealt by itself to classes of this size with near rows gathered, shape (n,). part: of
    each row.
    """
    classes = deal_sample(locality, sample, part, stack, class_size)
    order = sort_by_content(sample, part, locality.key(sample))
    part, classes, key = part[order], classes[order], locality.key(sample)[order]
    class_of = np.empty_like(classes)
    class_of[order] = gather_nearest(
        sample.take(order), part, classes, classes // classes_per_block(class_size), key, quasi_widths
    )
    return class_of


@kernel
def keep_near(far: float, row: int, held: int, many: int, near: FloatArray, chosen: IntArray) -> int:
    """Inserts a row at this distance among the nearest `many`, of which `held` are present; returns their new number.
    Earlier rows win ties.
    """
    if held == many and far >= near[held - 1]:
        return held
    slot = held if held < many else held - 1
    while slot > 0 and near[slot - 1] > far:
        near[slot], chosen[slot] = near[slot - 1], chosen[slot - 1]
        slot -= 1
    near[slot], chosen[slot] = far, row
    return min(held + 1, many)


@kernel
def _generate(
    starts: IntArray,
    rows: IntArray,
    left: IntArray,
    order: IntArray,
    part: IntArray,
    needs: IntArray,
    wanted: IntArray,
    need: IntArray,
    quasi: Codes,
    widths: LabelWidths,
    apart: FloatArray,
    near: NDArray[np.float64],
    chosen: IntArray,
    class_of: IntArray,
) -> None:
    """Fills `class_of`, the class of each row of a block.

    rows: the rows that are left of part p are rows[starts[p] : starts[p] + left[p]]. order: the rows by their keys.
    Class c needs need[i] rows of part wanted[i], for i from needs[c] to needs[c + 1]. apart: room for how far each code
    of a quasi-identifier is from that of the row which begins a class, asked for once where codes are fewer than rows.
    near, chosen: room for how far the nearest rows of a part are, and for these rows.

    Invariant: every row of `rows` has no class yet, and those left of each part are as many as the classes to come
    need. Those before `begun` in the order all have one.
    """
    begun = 0
    for c in range(len(needs) - 1):
        while begun < len(order) and class_of[order[begun]] >= 0:
            begun += 1
        centre = -1
        for place in range(begun, len(order)):
            row = order[place]
            if class_of[row] < 0:
                for i in range(needs[c], needs[c + 1]):
                    if wanted[i] == part[row]:
                        centre = row
                if centre >= 0:
                    break
        for j in range(quasi.shape[1]):
            if widths.domains[j] < len(part):
                b = quasi[centre, j]
                for a in range(widths.domains[j]):
                    apart[j, a] = width(j, min(a, b), max(a, b), widths)
        for i in range(needs[c], needs[c + 1]):
            start, many, held = starts[wanted[i]], need[i], 0
            if many == left[wanted[i]]:  # the last class of a part takes what is left
                for at in range(start, start + many):
                    class_of[rows[at]] = c
                left[wanted[i]] = 0
                continue
            for at in range(start, start + left[wanted[i]]):
                row = rows[at]
                far = -1.0 if row == centre else 0.0
                for j in range(quasi.shape[1]):
                    a, b = quasi[row, j], quasi[centre, j]
                    far += apart[j, a] if widths.domains[j] < len(part) else width(j, min(a, b), max(a, b), widths)
                    if held == many and far >= near[held - 1]:
                        break
                held = keep_near(far, row, held, many, near, chosen)
            for slot in range(many):
                class_of[chosen[slot]] = c
            kept = start
            for at in range(start, start + left[wanted[i]]):
                if class_of[rows[at]] < 0:
                    rows[kept] = rows[at]
                    kept += 1
            left[wanted[i]] -= many
