"""Counting and sorting the codes of some rows, for kernels: in place, without memory of their
own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels import kernel
from tclose_spark.kernels.structures import structure

SPARSE = 8
"""Codes are sorted instead of counted if the domain has more than this many codes for each row."""


@structure
class PresentCodes(NamedTuple):
    """The codes that occur in some rows, of several columns."""

    codes: NDArray[np.int64]  # ascending, shape (columns, longest)
    # below[j, i] rows have one of the first i codes, shape (columns, longest + 1).
    below: NDArray[np.int64]
    length: NDArray[np.int64]  # how many codes occur, shape (columns,)


@kernel
def find_present(
    j: int,
    column: NDArray[np.int32],
    domain: int,
    tally: NDArray[np.int64],
    keys: NDArray[np.int64],
    present: PresentCodes,
) -> None:
    """Fill `present` for column j. tally: zero before and after, shape (domain,); keys: to work in,
    shape (rows,).
    """
    size = len(column)
    length = 0
    present.below[j, 0] = 0
    if domain <= SPARSE * size:
        for code in column:
            tally[code] += 1
        for code in range(domain):
            if tally[code] > 0:
                present.codes[j, length] = code
                present.below[j, length + 1] = present.below[j, length] + tally[code]
                length += 1
                tally[code] = 0
    else:
        for i in range(size):
            keys[i] = column[i]
        heap_sort(keys[:size])
        for code in keys[:size]:
            if length == 0 or present.codes[j, length - 1] != code:
                present.codes[j, length] = code
                present.below[j, length + 1] = present.below[j, length]
                length += 1
            present.below[j, length] += 1
    present.length[j] = length


@kernel
def sort_rows(
    j: int,
    column: NDArray[np.int32],
    present: PresentCodes,
    tally: NDArray[np.int64],
    order: NDArray[np.int64],
) -> None:
    """order: the rows in the order of their codes of column j, as `find_present` found them; ties
    in row order.
    """
    for x in range(present.length[j]):
        tally[present.codes[j, x]] = present.below[j, x]
    for i in range(len(column)):
        order[tally[column[i]]] = i
        tally[column[i]] += 1
    for x in range(present.length[j]):
        tally[present.codes[j, x]] = 0


@kernel
def heap_sort(values: NDArray[np.int64]) -> None:
    """Sort in place, ascending."""
    size = len(values)
    for first in range(size // 2 - 1, -1, -1):
        sift(values, first, size)
    for last in range(size - 1, 0, -1):
        values[0], values[last] = values[last], values[0]
        sift(values, 0, last)


@kernel
def sift(values: NDArray[np.int64], at: int, size: int) -> None:
    """Let the value at `at` sink until none below it, in the heap of the first `size`, is
    larger.
    """
    value = values[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and values[child + 1] > values[child]:
            child += 1
        if values[child] <= value:
            break
        values[at] = values[child]
        at = child
    values[at] = value
