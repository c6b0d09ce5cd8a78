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
