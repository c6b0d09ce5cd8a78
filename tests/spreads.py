"""Spreads over domains of so many values, whose rows do not matter."""

import numpy as np

from tclose_spark.measures.distances import EqualDistance, HierarchicalDistance, OrderedDistance
from tclose_spark.methods.fragmentation.spread import Spread, spread_of


def ordered(values: int) -> Spread:
    return spread_of(OrderedDistance(np.ones(values, dtype=np.int64)))


def equal(values: int) -> Spread:
    return spread_of(EqualDistance(np.ones(values, dtype=np.int64)))


def hierarchical(values: int, parents: tuple[np.ndarray, ...]) -> Spread:
    return spread_of(HierarchicalDistance(np.ones(values, dtype=np.int64), parents))
