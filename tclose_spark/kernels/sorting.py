"""Sorting in kernels, in place and without memory of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels import kernel


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
    """Let the value at `at` sink until none below it, in the heap of the first `size`, is larger."""
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
