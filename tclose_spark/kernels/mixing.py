"""Pseudo-random numbers for kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from tclose_spark.kernels import kernel

GOLDEN = 0x9E3779B97F4A7C15
"""The increment of splitmix64."""


@kernel
def mixed(z: Any) -> Any:
    """The output of splitmix64 (Steele, Lea and Flood 2014) for a state: 64 pseudo-random bits."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
