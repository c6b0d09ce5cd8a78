"""Privacy loss against information loss: which k is best (Gowda 2023, chapter 6).

For classes formed for each k, with t the largest distance of a class and i their information loss,
both 0 to 1,

    C = alpha * t + (1 - alpha) * i

is the cost of a k; the best k costs least. The dissertation leaves open how to measure i (here:
NCP) and how to break ties (here: the larger k, which promises more). t is often some hundredths and
i some tenths, so bring both to the same range first (`normalised`) for alpha to weigh as intended.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def costs(t: Sequence[float], loss: Sequence[float], alpha: float) -> FloatArray:
    """C of each k, shape (ks,).

    >>> costs([0.1, 0.05], [0.3, 0.5], alpha=0.5).tolist()
    [0.2, 0.275]
    """
    cost: FloatArray = alpha * np.array(t, dtype=np.float64) + (1 - alpha) * np.array(
        loss, dtype=np.float64
    )
    return cost


def normalised(figures: Sequence[float]) -> FloatArray:
    """Figures scaled to 0 (the smallest) to 1 (the largest), shape (ks,); all 0 if they are equal.

    >>> normalised([0.5, 0.25, 1.0]).round(3).tolist()
    [0.333, 0.0, 1.0]
    """
    values = np.array(figures, dtype=np.float64)
    scaled: FloatArray = (values - values.min()) / ((values.max() - values.min()) or 1.0)
    return scaled


def best_k(ks: Sequence[int], cost: Sequence[float] | FloatArray) -> int:
    """The k of the least cost; of equal ones the largest.

    >>> best_k([2, 3, 4], [0.3, 0.2, 0.2])
    4
    """
    return min(zip(cost, (-k for k in ks), strict=True))[1] * -1
