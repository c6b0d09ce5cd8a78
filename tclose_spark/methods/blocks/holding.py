"""Whether a class meets the requirement, exactly, and its closeness ratio, for kernels, from its counts by value.

counts: rows of one class by value, shape (attributes, largest domain), int64. excess: to work in, shape (largest
    domain,), int64 (see `work_space`). `Dense.require_room` ensures the precondition of `numerators`.
"""

from __future__ import annotations

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.methods.blocks.numerators import equal_numerator, ordered_numerator, twice_hierarchical_numerator
from tclose_spark.methods.blocks.requirement import ANYTHING, Requirement
from tclose_spark.table.arrays import Codes, IntArray


def work_space(requirement: Requirement) -> IntArray:
    """The array `excess` for kernels to work in, shape (largest domain,)."""
    return np.zeros(requirement.tables.shape[1], dtype=np.int64)


@kernel
def numerator(attribute: int, counts: IntArray, size: int, requirement: Requirement, excess: IntArray) -> int:
    """The exact numerator of the distance of a class of `size` rows from the table: distance = numerator / (scale n s).

    counts: by value of this attribute.
    """
    table, domain = requirement.tables[attribute], requirement.domains[attribute]
    height, rows = requirement.heights[attribute], requirement.rows
    if height > 0:
        parents = requirement.parents[attribute]
        return int(twice_hierarchical_numerator(counts, size, table, domain, parents, height, rows, excess) // 2)
    if requirement.ordered[attribute]:
        return int(ordered_numerator(counts, size, table, domain, rows))
    return int(equal_numerator(counts, size, table, domain, rows))


@kernel
def distance_holds(attribute: int, counts: IntArray, size: int, requirement: Requirement, excess: IntArray) -> bool:
    """Whether the distance of one attribute is at most its t, exactly. counts: by value of this attribute."""
    limit = requirement.limits[attribute, size]
    if limit == ANYTHING:
        return True
    return bool(numerator(attribute, counts, size, requirement, excess) <= limit)


@kernel
def distinct_holds(attribute: int, counts: IntArray, requirement: Requirement) -> bool:
    """Whether at least l values of one attribute occur. counts: by value of this attribute."""
    missing = requirement.distinct[attribute]
    if missing <= 1:
        return True
    for value in range(requirement.domains[attribute]):
        if counts[value] > 0:
            missing -= 1
            if missing == 0:
                return True
    return False


@kernel
def holds(counts: IntArray, size: int, requirement: Requirement, excess: IntArray) -> bool:
    """Whether a class of `size` rows meets the requirement, exactly."""
    if size < requirement.k:
        return False
    for attribute in range(len(requirement.domains)):
        if not distinct_holds(attribute, counts[attribute], requirement):
            return False
        if not distance_holds(attribute, counts[attribute], size, requirement, excess):
            return False
    return True


@kernel
def closeness_ratio(counts: IntArray, size: int, requirement: Requirement, excess: IntArray) -> float:
    """The largest EMD / t of an attribute; a class is within its t at 1. A float, for schedules and figures only."""
    worst = 0.0
    for attribute in range(len(requirement.domains)):
        limit = requirement.limits[attribute, size]
        if limit == ANYTHING:
            continue
        reached = numerator(attribute, counts[attribute], size, requirement, excess)
        if reached > 0:
            worst = max(worst, reached / limit if limit > 0 else np.inf)
    return worst


@kernel
def add_cell(counts: IntArray, cell: int, rows: int, codes: Codes) -> None:
    """Add `rows` rows of one cell (subtract, if negative) to the counts by value of every attribute."""
    for attribute in range(codes.shape[1]):
        counts[attribute, codes[cell, attribute]] += rows
