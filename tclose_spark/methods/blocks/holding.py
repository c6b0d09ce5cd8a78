"""Whether a class meets the requirement, and its closeness ratio, for kernels, from its counts by
value. Exact, except for distances over other sums than rows.

counts: of one class by value, int64, of the shape of `Requirement.tables`. excess: to work in,
    shape (largest domain,), int64 (see `work_space`).

Numerators of the distance of a class from the table (see `measures.distances`) follow from counts
by value of one attribute. With integers they are exact; with floats (shares of the table, rows = 1)
methods measure during a search. Precondition: scale * n * s < 2^62 for the largest s, so that every
sum fits in 64 bits; `Dense.require_room` ensures it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.methods.blocks.block import ANYTHING, Requirement
from tclose_spark.table.arrays import Codes, IntArray

BEYOND = 1.0 + 1e-12
"""The least ratio of a value above its cap."""


@kernel
def equal_numerator(counts: Any, size: Any, table: Any, domain: int, rows: Any) -> Any:
    """Sum over values v of |n c_v - s N_v|."""
    total = 0
    for value in range(domain):
        total += abs(rows * counts[value] - size * table[value])
    return total


@kernel
def ordered_numerator(counts: Any, size: Any, table: Any, domain: int, rows: Any) -> Any:
    """Sum over values i but the last of |n C_i - s X_i|, C and X cumulative."""
    total = 0
    excess = 0
    for value in range(domain - 1):
        excess += rows * counts[value] - size * table[value]
        total += abs(excess)
    return total


@kernel
def twice_hierarchical_numerator(
    counts: Any,
    size: Any,
    table: Any,
    domain: int,
    parents: Codes,
    height: int,
    rows: Any,
    excess: Any,
) -> Any:
    """Sum over all nodes except the root of |n c - s N| of the rows below the node: twice the
    numerator. The excess below a node has to leave through it; `measures.distances.features` has
    the same sum.

    excess: to work in, shape (domain,), of the type of counts. Invariant: before each height,
        excess[:level] is n c - s N of the nodes one height lower. A node's children are consecutive
        and no node comes after its first child, so a height overwrites the one below in place.
    """
    for value in range(domain):
        excess[value] = rows * counts[value] - size * table[value]
    total = excess[0] - excess[0]
    level = domain
    for step in range(height):
        last = -1
        for child in range(level):
            net = excess[child]
            node = parents[step, child]
            total += abs(net)
            if node == last:
                excess[node] += net
            else:
                excess[node] = net
                last = node
        level = last + 1
    return total


def work_space(requirement: Requirement) -> IntArray:
    """The array `excess` for kernels to work in, shape (largest domain,)."""
    return np.zeros(requirement.tables.shape[1], dtype=np.int64)


@kernel
def numerator(
    attribute: int,
    counts: IntArray,
    size: int,
    requirement: Requirement,
    excess: IntArray,
) -> int:
    """The exact numerator of the distance of a class of `size` rows from the table: distance =
    numerator / (scale n s).

    counts: by value of this attribute.
    """
    table = requirement.tables[attribute]
    domain = requirement.domains[attribute]
    height = requirement.heights[attribute]
    rows = requirement.rows
    if height > 0:
        parents = requirement.parents[attribute]
        return int(
            twice_hierarchical_numerator(counts, size, table, domain, parents, height, rows, excess)
            // 2,
        )
    if requirement.ordered[attribute]:
        return int(ordered_numerator(counts, size, table, domain, rows))
    return int(equal_numerator(counts, size, table, domain, rows))


@kernel
def distance_holds(
    attribute: int,
    counts: IntArray,
    size: int,
    requirement: Requirement,
    excess: IntArray,
) -> bool:
    """Whether the distance of one attribute is at most its t, exactly. counts: by value of this
    attribute.
    """
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
def caps_hold(attribute: int, counts: IntArray, size: int, requirement: Requirement) -> bool:
    """Whether no value of one attribute is above its cap. counts: by value of this attribute."""
    caps = requirement.caps
    if caps.shape[1] == 0:
        return True
    for value in range(requirement.domains[attribute]):
        if caps[1, attribute, value] * counts[value] > caps[0, attribute, value] * size:
            return False
    return True


@kernel
def cap_ratio(attribute: int, counts: IntArray, size: int, requirement: Requirement) -> float:
    """How much of the way from its share of the table to its cap the share of a value is, at most:
    1 at the cap. A float.
    """
    caps = requirement.caps
    worst = 0.0
    if caps.shape[1] == 0:
        return worst
    for value in range(requirement.domains[attribute]):
        most = caps[0, attribute, value]
        of = caps[1, attribute, value]
        if of > 0:
            expected = requirement.tables[attribute, value] / requirement.rows
            rise = counts[value] / size - expected
            room = most / of - expected
            ratio = rise / room if room > 0.0 else 0.0
            worst = max(
                worst,
                min(ratio, 1.0) if of * counts[value] <= most * size else max(ratio, BEYOND),
            )
    return worst


@kernel
def holds(counts: IntArray, size: int, requirement: Requirement, excess: IntArray) -> bool:
    """Whether a class of `size` rows meets the requirement, exactly."""
    if size < requirement.k:
        return False
    for attribute in range(len(requirement.domains)):
        if not distinct_holds(attribute, counts[attribute], requirement):
            return False
        if not caps_hold(attribute, counts[attribute], size, requirement):
            return False
        if not distance_holds(attribute, counts[attribute], size, requirement, excess):
            return False
    for other in range(len(requirement.least)):  # noqa: SIM110
        if not other_holds(other, counts, requirement, excess):
            return False
    return True


@kernel
def other_holds(other: int, counts: IntArray, requirement: Requirement, excess: IntArray) -> bool:
    """Whether a class meets what is required over one of the sums beside rows (see
    `Requirement`).
    """
    attributes = len(requirement.domains)
    total = 0
    first = (1 + other) * attributes
    for value in range(requirement.domains[0]):
        total += counts[first, value]
    if total < requirement.least[other]:
        return False
    for attribute in range(attributes):
        if requirement.diverse[other] and not distinct_holds(
            attribute,
            counts[first + attribute],
            requirement,
        ):
            return False
        if requirement.shares.shape[1] > 0 and not shares_hold(
            other,
            attribute,
            counts[first + attribute],
            requirement,
        ):
            return False
        most = requirement.most[other, attribute]
        if most < np.inf and distance_over(other, attribute, counts, requirement, excess) > most:
            return False
    return True


@kernel
def shares_hold(other: int, attribute: int, weights: IntArray, requirement: Requirement) -> bool:
    """Whether no value of one attribute is above its cap over one of the other sums. weights: its
    counts by value.
    """
    size = 0
    for value in range(requirement.domains[attribute]):
        size += weights[value]
    for value in range(requirement.domains[attribute]):
        if weights[value] > requirement.shares[other, attribute, value] * size:
            return False
    return True


@kernel
def distance_over(
    other: int,
    attribute: int,
    counts: IntArray,
    requirement: Requirement,
    excess: IntArray,
) -> float:
    """The distance of one attribute over one of the other sums, a float."""
    place = (1 + other) * len(requirement.domains) + attribute
    domain = requirement.domains[attribute]
    weights = counts[place]
    table = requirement.tables[place]
    height = requirement.heights[attribute]
    size = 0
    whole = 0
    for value in range(domain):
        size += weights[value]
        whole += table[value]
    expected = size / whole  # of each unit of the table
    if height > 0:
        for value in range(domain):
            excess[value] = weights[value] - int(expected * table[value])
        parents = requirement.parents[attribute]
        twice = twice_hierarchical_numerator(excess, 0, table, domain, parents, height, 1, excess)
        return float(twice / (2.0 * height * size))
    if requirement.ordered[attribute]:
        return float(
            ordered_numerator(weights, expected, table, domain, 1.0) / (max(domain - 1, 1) * size),
        )
    return float(equal_numerator(weights, expected, table, domain, 1.0) / (2.0 * size))


@kernel
def closeness_ratio(
    counts: IntArray,
    size: int,
    requirement: Requirement,
    excess: IntArray,
) -> float:
    """The largest EMD / t of an attribute, or `cap_ratio` if it is larger; a class is within both
    at 1. A float, for schedules and figures only.
    """
    worst = 0.0
    for attribute in range(len(requirement.domains)):
        worst = max(worst, cap_ratio(attribute, counts[attribute], size, requirement))
        limit = requirement.limits[attribute, size]
        if limit == ANYTHING:
            continue
        reached = numerator(attribute, counts[attribute], size, requirement, excess)
        if reached > 0:
            worst = max(worst, reached / limit if limit > 0 else np.inf)
    for other in range(len(requirement.least)):
        for attribute in range(len(requirement.domains)):
            most = requirement.most[other, attribute]
            if most < np.inf:
                far = distance_over(other, attribute, counts, requirement, excess)
                worst = max(worst, far / max(most, 1e-300))
    return worst


@kernel
def add_cell(counts: IntArray, cell: int, rows: int, requirement: Requirement) -> None:
    """Add `rows` rows of one cell (subtract, if negative) to the counts by value of every
    attribute.
    """
    codes = requirement.codes
    attributes = requirement.codes.shape[1]
    for attribute in range(attributes):
        counts[attribute, codes[cell, attribute]] += rows
    for other in range(len(requirement.added)):
        each = rows * requirement.added[other, cell]
        first = (1 + other) * attributes
        for attribute in range(attributes):
            counts[first + attribute, codes[cell, attribute]] += each
