"""The requirement in floats, as shares of the table and of t: what the tree measures by while it searches.

Nothing here is exact: what is decided by it is checked in integers before it is used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels import kernel
from tclose_spark.kernels.structures import structure
from tclose_spark.methods.blocks.numerators import equal_numerator, ordered_numerator, twice_hierarchical_numerator
from tclose_spark.methods.blocks.requirement import ANYTHING, HIERARCHICAL, ORDERED, Requirement, metrics_of
from tclose_spark.table.arrays import Codes, FloatArray, IntArray

MOST_BINS = 512


@structure
class Goal(NamedTuple):
    """What the tree aims at.

    codes: the value, or bin, of each attribute in each cell, shape (cells, attributes).
    target: the share of each value in the whole table, shape (attributes, largest domain).
    t: the largest distance, in units of one row's, shape (attributes,); infinite without a t.
    unit: t * scale, so that numerator / (unit * rows) is the closeness ratio, shape (attributes,).
    domains: values, or bins, of each attribute, shape (attributes,).
    metric: EQUAL, ORDERED or HIERARCHICAL, shape (attributes,).
    parents: as in `Requirement`.
    heights: as in `Requirement`.
    """

    codes: Codes
    target: FloatArray
    t: FloatArray
    unit: FloatArray
    domains: IntArray
    metric: NDArray[np.int8]
    parents: Codes
    heights: IntArray


@structure
class Scratch(NamedTuple):
    """To work in, each of shape (largest domain,).

    excess: of each value, or of each node.
    node: the node above each value.
    gradient: how much the distance falls with a row of each value.
    """

    excess: FloatArray
    node: IntArray
    gradient: FloatArray


def goal_of(requirement: Requirement) -> Goal:
    """The floats of a requirement. t * scale is read off the limit of the largest class, rounded up.

    An ordered attribute of more than MOST_BINS values is measured in so many bins of successive values: nearly its
    distance, in work that does not grow with the values.
    """
    largest = requirement.limits.shape[1] - 1
    binned = requirement.ordered & (requirement.domains > MOST_BINS)
    domains = np.where(binned, MOST_BINS, requirement.domains)
    codes = np.where(binned, requirement.codes.astype(np.int64) * MOST_BINS // requirement.domains, requirement.codes)
    target = np.zeros((len(domains), int(domains.max())))
    for s in range(len(domains)):
        values = np.arange(requirement.domains[s])
        np.add.at(
            target[s], values * domains[s] // requirement.domains[s], requirement.tables[s, values] / requirement.rows
        )
    ts = [
        np.inf if row[-1] == ANYTHING else (int(row[-1]) + 1) / (requirement.rows * max(largest, 1))
        for row in requirement.limits
    ]
    scales = np.where(
        requirement.heights > 0, requirement.heights, np.where(requirement.ordered, np.maximum(domains - 1, 1), 2)
    )
    before = np.where(binned, requirement.domains - 1, scales)
    t = np.maximum(np.array(ts, dtype=np.float64), 1e-9) / before
    return Goal(
        codes=np.ascontiguousarray(codes, dtype=np.int32),
        target=target,
        t=t,
        unit=t * scales,
        domains=np.ascontiguousarray(domains, dtype=np.int64),
        metric=metrics_of(requirement),
        parents=requirement.parents,
        heights=requirement.heights,
    )


def scratch_of(goal: Goal) -> Scratch:
    """Room to work in with this goal."""
    longest = goal.target.shape[1]
    return Scratch(excess=np.zeros(longest), node=np.zeros(longest, dtype=np.int64), gradient=np.zeros(longest))


@kernel
def worst(values: FloatArray, size: float, goal: Goal, scratch: Scratch) -> tuple[float, int]:
    """(the largest closeness ratio of an attribute, which one it is) of `size` rows with these counts by value."""
    largest, attribute = 0.0, 0
    for s in range(len(goal.unit)):
        if goal.unit[s] == np.inf:
            continue
        m = goal.domains[s]
        if goal.metric[s] == HIERARCHICAL:
            numerator = 0.5 * twice_hierarchical_numerator(
                values[s], size, goal.target[s], m, goal.parents[s], goal.heights[s], 1.0, scratch.excess
            )
        elif goal.metric[s] == ORDERED:
            numerator = ordered_numerator(values[s], size, goal.target[s], m, 1.0)
        else:
            numerator = equal_numerator(values[s], size, goal.target[s], m, 1.0)
        ratio = numerator / (goal.unit[s] * size)
        if ratio > largest:
            largest, attribute = ratio, s
    return largest, attribute
