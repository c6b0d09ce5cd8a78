"""Names of the arrays that the whole package works on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
HashArray = NDArray[np.uint64]

Codes = NDArray[np.int32]
"""Dense codes 0, 1, ... of values, as kernels take them."""

ExactArray = NDArray[Any]
"""Whole numbers: int64, or objects holding Python integers where 64 bits may not do."""

WIDEST = 1 << 62
"""Integers below this are exact in int64 arithmetic, with room for one sum or difference."""


def exact(array: IntArray, bound: int) -> ExactArray:
    """The array itself if no result passes `bound` < WIDEST, otherwise as Python integers."""
    return array if bound < WIDEST else array.astype(object)
