"""The closeness ratio of a class after an exchange of one member, from the sorted codes of its members.

All ground distances are sums of absolute differences between class and table (see `measures.distances.features`). A
class of s members needs only these s codes, however large the domain is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels import kernel
from tclose_spark.kernels.structures import structure
from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.table.arrays import FloatArray, IntArray


@structure
class KernelDistances(NamedTuple):
    """The ground distances of all sensitive attributes, for kernels; domains are padded to the largest, m values.

    cumulative: whether features are, shape (attributes,).
    shares: the table's share of each node at each height (of each value, at height 0), shape (attributes, heights, m).
    nodes: the node of each value at each height, same shape.
    heights: steps from a value to the root, shape (attributes,).
    below: the cumulative shares, shape (attributes, m).
    sums: sums of these before each place, shape (attributes, m + 1).
    domains: the size of each domain, shape (attributes,).
    units: what one step costs, over the t that is required, shape (attributes,).
    """

    cumulative: NDArray[np.bool_]
    shares: NDArray[np.float64]
    nodes: IntArray
    heights: IntArray
    below: FloatArray
    sums: FloatArray
    domains: IntArray
    units: FloatArray


def kernel_distances(distances: Sequence[GroundDistance], weights: Sequence[float]) -> KernelDistances:
    """The arrays of ground distances; weights: what a distance of 1 of each weighs (1 / t)."""
    domains = np.array([len(d.table) for d in distances])
    height = max(len(d.features.nodes) for d in distances)
    shape = (len(distances), height, int(domains.max()))
    shares, nodes = np.zeros(shape), np.zeros(shape, dtype=np.int64)
    heights, units = np.ones(len(distances), dtype=np.int64), np.zeros(len(distances))
    below, sums = np.zeros(shape[::2]), np.zeros((shape[0], shape[2] + 1))
    for a, distance in enumerate(distances):
        m, share = domains[a], distance.table / distance.table.sum()
        below[a, :m] = np.cumsum(share)
        sums[a, 1 : m + 1] = np.cumsum(below[a, :m])
        levels = distance.features.nodes
        heights[a] = len(levels)
        nodes[a, : len(levels), :m] = levels
        for level, node in enumerate(levels):
            shares[a, level, : node.max() + 1] = np.bincount(node, share)
        units[a] = weights[a] / distance.features.scale
    return KernelDistances(
        cumulative=np.array([d.features.cumulative for d in distances]),
        shares=shares,
        nodes=nodes,
        heights=heights,
        below=below,
        sums=sums,
        domains=domains,
        units=units,
    )


@kernel
def closeness_ratio(codes: IntArray, size: int, gone: IntArray, new: IntArray, distances: KernelDistances) -> float:
    """The closeness ratio (EMD / t) of a class after an exchange of one member, the largest of its attributes.

    codes: sorted codes of the members in the first `size` places, shape (attributes, most members). gone, new: the
    codes of the leaving and the coming member, shape (attributes,); equal codes leave the class unchanged.
    """
    worst = 0.0
    for a in range(len(distances.domains)):
        if distances.units[a] > 0.0:
            cost = _along(codes[a], size, gone[a], new[a], a, distances) if distances.cumulative[a] else 0.0
            if not distances.cumulative[a]:
                for height in range(distances.heights[a]):
                    node, shares = distances.nodes[a, height], distances.shares[a, height]
                    cost += _at_nodes(codes[a], size, gone[a], new[a], node, shares)
            worst = max(worst, cost * distances.units[a])
    return worst


@kernel
def _next(
    codes: IntArray, size: int, gone: int, new: int, i: int, left: bool, came: bool
) -> tuple[int, int, bool, bool]:
    """(the next code of the members after the exchange, ascending, the place to go on from, whether one left, whether
    one came).
    """
    if i < size and not left and codes[i] == gone:
        i, left = i + 1, True
    if not came and (i == size or codes[i] >= new):
        return new, i, left, True
    return codes[i], i + 1, left, came


@kernel
def _along(codes: IntArray, size: int, gone: int, new: int, a: int, distances: KernelDistances) -> float:
    """The sum over all places but the last of |class's cumulative share - the table's|."""
    below, sums, last = distances.below[a], distances.sums[a], distances.domains[a] - 1
    total, held, start, left, came, i = 0.0, 0, 0, False, False, 0
    while held < size:
        code, i, left, came = _next(codes, size, gone, new, i, left, came)
        total += _stretch(below, sums, start, code, held / size)
        start, held = code, held + 1
    return float(total + _stretch(below, sums, start, last, 1.0))


@kernel
def _stretch(below: FloatArray, sums: FloatArray, start: int, end: int, share: float) -> float:
    """The sum over start <= place < end of |share - below[place]|; below is ascending."""
    low, high = start, end
    while low < high:
        middle = (low + high) // 2
        if below[middle] < share:
            low = middle + 1
        else:
            high = middle
    return float(share * (2 * low - start - end) - 2 * sums[low] + sums[start] + sums[end])


@kernel
def _at_nodes(codes: IntArray, size: int, gone: int, new: int, node: IntArray, shares: FloatArray) -> float:
    """The sum over the nodes of one height of |class's share - the table's|. Nodes follow the order of the codes."""
    total, at, held, left, came, i, taken = 1.0, -1, 0, False, False, 0, 0
    while taken < size:
        code, i, left, came = _next(codes, size, gone, new, i, left, came)
        if node[code] != at:
            if held:
                total += abs(held / size - shares[at]) - shares[at]
            at, held = node[code], 0
        held, taken = held + 1, taken + 1
    return float(total + abs(held / size - shares[at]) - shares[at])


@kernel
def replace(codes: IntArray, size: int, gone: int, new: int) -> None:
    """Updates one attribute's sorted codes in place after an exchange of one member."""
    place = 0
    while codes[place] != gone:
        place += 1
    while place + 1 < size and codes[place + 1] < new:
        codes[place] = codes[place + 1]
        place += 1
    while place > 0 and codes[place - 1] > new:
        codes[place] = codes[place - 1]
        place -= 1
    codes[place] = new
