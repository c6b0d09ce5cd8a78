"""Layered dealing: every class gets one row of each layer of the stack, chosen to make the worst
class as close as possible.

Layer l of a stack dealt to e classes is its positions l e to (l + 1) e - 1. Dealing in turn gives
class c the c-th row of each layer. Any permutation inside a layer is possible. In a stack by value
it keeps every cumulative count of a class at its ideal, rounded down or up. From dealing in turn,
the class with the worst closeness ratio exchanges members with others while that lowers its ratio:
members of one layer, or any two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose_spark.kernels import kernel
from tclose_spark.kernels.mixing import GOLDEN, mixed
from tclose_spark.kernels.structures import structure
from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.methods.dealing.stacks import Shares, Stack
from tclose_spark.table.arrays import FloatArray, IntArray


@structure
class KernelDistances(NamedTuple):
    """The ground distances of all sensitive attributes, for kernels; domains are padded to the
    largest, m values.

    cumulative: whether features are, shape (attributes,).
    shares: the table's share of each node at each height (of each value, at height 0), shape
        (attributes, heights, m).
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


def kernel_distances(
    distances: Sequence[GroundDistance],
    weights: Sequence[float],
) -> KernelDistances:
    """The arrays of ground distances; weights: what a distance of 1 of each weighs (1 / t)."""
    domains = np.array([len(d.table) for d in distances])
    height = max(len(d.features.nodes) for d in distances)
    shape = (len(distances), height, int(domains.max()))
    shares = np.zeros(shape)
    nodes = np.zeros(shape, dtype=np.int64)
    heights = np.ones(len(distances), dtype=np.int64)
    units = np.zeros(len(distances))
    below = np.zeros(shape[::2])
    sums = np.zeros((shape[0], shape[2] + 1))
    for a, distance in enumerate(distances):
        m = domains[a]
        share = distance.table / distance.table.sum()
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
def closeness_ratio(
    held: IntArray,
    gone: IntArray,
    new: IntArray,
    distances: KernelDistances,
    after: IntArray,
) -> float:
    """The closeness ratio (EMD / t) of a class after an exchange of one member, the largest of its
    attributes.

    held: sorted codes of the members, shape (attributes, most members). Of a class of `size` rows
        only the first `size` places count.
    gone, new: the codes of the leaving and the coming member, shape (attributes,); equal codes
        leave the class unchanged.
    after: overwritten with codes after the exchange, shape (size,).
    """
    worst = 0.0
    for a in range(len(distances.domains)):
        if distances.units[a] > 0.0:
            _exchange(held[a], gone[a], new[a], after)
            if distances.cumulative[a]:
                cost = _along(after, a, distances)
            else:
                cost = 0.0
                for height in range(distances.heights[a]):
                    node = distances.nodes[a, height]
                    cost += _at_nodes(after, node, distances.shares[a, height])
            worst = max(worst, cost * distances.units[a])
    return worst


@kernel
def _exchange(held: IntArray, gone: int, new: int, after: IntArray) -> None:
    """Set `after` to the sorted codes of one attribute after one `gone` left and one `new` came,
    shape (size,). held: the sorted codes before; only the first `size` places count. `replace` does
    the same in place.
    """
    size = len(after)
    left = False
    came = False
    i = 0
    for place in range(size):
        if i < size and not left and held[i] == gone:
            i += 1
            left = True
        if not came and (i == size or held[i] >= new):
            after[place] = new
            came = True
        else:
            after[place] = held[i]
            i += 1


@kernel
def _along(members: IntArray, a: int, distances: KernelDistances) -> float:
    """The sum over all places but the last of |class's cumulative share - the table's|. members:
    their codes, ascending.
    """
    below = distances.below[a]
    sums = distances.sums[a]
    last = distances.domains[a] - 1
    size = len(members)
    total = 0.0
    start = 0
    for place in range(size):
        code = members[place]
        total += _stretch(below, sums, start, code, place / size)
        start = code
    return float(total + _stretch(below, sums, start, last, 1.0))


@kernel
def _stretch(below: FloatArray, sums: FloatArray, start: int, end: int, share: float) -> float:
    """The sum over start <= place < end of |share - below[place]|; below is ascending."""
    low = start
    high = end
    while low < high:
        middle = (low + high) // 2
        if below[middle] < share:
            low = middle + 1
        else:
            high = middle
    return float(share * (2 * low - start - end) - 2 * sums[low] + sums[start] + sums[end])


@kernel
def _at_nodes(members: IntArray, node: IntArray, shares: FloatArray) -> float:
    """The sum over the nodes of one height of |class's share - the table's|. members: their codes,
    ascending. Nodes follow the order of the codes.
    """
    size = len(members)
    total = 1.0
    at = -1
    held = 0
    for code in members:
        if node[code] != at:
            if held:
                total += abs(held / size - shares[at]) - shares[at]
            at = node[code]
            held = 0
        held += 1
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


ROWS_PER_GROUP = 100_000  # classes and rows that are dealt in layers at once: what a task and the plan hold of them
SEED = GOLDEN
ROUNDS = 2_000
WORST = 0.02  # of the classes, looked at in a round
TRIES = 400  # exchanges that are tried for each of them
MOST_TRIES = 100_000  # for the worst one alone, before it is left as it is


@dataclass(frozen=True)
class LayeredDeal:
    """Groups of classes, each with its share of every cell (that of dealing in turn), dealt in
    layers by itself.

    So neither a task nor the plan holds all classes, and any task finds the classes of a group
    again.

    codes: of each cell, shape (cells, attributes).
    starts: the first class of each group, and their number, shape (groups + 1,).
    """

    stack: Stack
    codes: IntArray
    distances: KernelDistances
    starts: IntArray

    def group(self, number: int) -> tuple[IntArray, IntArray]:
        """(cell, class) of each row of a group, the rows by cell and then by class; classes count
        from the group's first.
        """
        first, last = self.starts[number : number + 2]
        before = Shares.of(self.stack, int(self.starts[-1])).before(np.array([first, last]))
        counts = before[1] - before[0]
        order = self.stack.order
        classes = deal_in_layers(
            np.repeat(order, counts[order]),
            int(last - first),
            self.codes,
            self.distances,
        )
        return np.repeat(np.arange(len(counts)), counts), classes


def groups_of(rows: int) -> int:
    """The number of groups in which the classes of a table are dealt."""
    return -(-rows // ROWS_PER_GROUP)


def deal_in_layers(
    cells: IntArray,
    classes: int,
    codes: IntArray,
    distances: KernelDistances,
) -> IntArray:
    """The classes of the rows of a stack, the rows by cell and then by class, shape (rows,).

    cells: the cell at each position, shape (rows,).
    codes: the codes of each cell, shape (cells, attributes). rows >= classes.
    """
    n = len(cells)
    layers = -(-n // classes)
    members = np.full((classes, layers), -1, dtype=np.int64)
    position = np.arange(n)
    members[position % classes, position // classes] = cells
    sizes = np.full(classes, layers, dtype=np.int64)
    sizes[n - (layers - 1) * classes :] -= 1
    held = codes[members].transpose(0, 2, 1).copy()  # (classes, attributes, layers)
    held[sizes < layers, :, -1] = np.iinfo(np.int64).max
    held.sort(axis=2)
    ratios = np.empty(classes)
    dealt = LayeredClasses(
        members=members,
        held=held,
        sizes=sizes,
        codes=np.array(codes, order="C"),
        ratios=ratios,
        state=np.array([SEED], dtype=np.uint64),
        after=np.empty(layers, dtype=np.int64),
    )
    _measure(dealt, distances)
    tries = TRIES
    for _ in range(ROUNDS):
        worst = np.argsort(-ratios, kind="stable")[: max(int(classes * WORST), 1)]
        if _lower(worst if tries == TRIES else worst[:1], dealt, distances, tries):
            tries = TRIES
        elif tries < MOST_TRIES:
            tries *= 4
        else:
            break
    owner, layer = np.nonzero(members >= 0)
    return owner[np.lexsort((owner, members[owner, layer]))]


@structure
class LayeredClasses(NamedTuple):
    """Classes that exchange members.

    members: cells, one of each layer, -1 where a class has none, shape (classes, layers).
    held: the sorted codes of the members, shape (classes, attributes, layers).
    sizes: shape (classes,). codes: of each cell, shape (cells, attributes).
    ratios: closeness ratios, shape (classes,). state: of the random numbers, shape (1,).
    after: codes of the members after an exchange, overwritten by each look, shape (layers,).
    """

    members: IntArray
    held: IntArray
    sizes: IntArray
    codes: IntArray
    ratios: FloatArray
    state: NDArray[np.uint64]
    after: IntArray


@kernel
def _measure(dealt: LayeredClasses, distances: KernelDistances) -> None:
    """Fills the closeness ratios."""
    for c in range(len(dealt.sizes)):
        same = dealt.codes[dealt.members[c, 0]]
        after = dealt.after[: dealt.sizes[c]]
        dealt.ratios[c] = closeness_ratio(dealt.held[c], same, same, distances, after)


@kernel
def _random(state: NDArray[np.uint64], below: int) -> int:
    """A number 0..below-1 (splitmix64)."""
    state[0] += np.uint64(GOLDEN)
    return int(mixed(state[0]) % np.uint64(below))


@kernel
def _lower(
    worst: IntArray,
    dealt: LayeredClasses,
    distances: KernelDistances,
    tries: int,
) -> bool:
    """Exchanges members of these classes with others to lower the worse of both; returns whether
    the first improved.
    """
    members = dealt.members
    held = dealt.held
    sizes = dealt.sizes
    codes = dealt.codes
    ratios = dealt.ratios
    state = dealt.state
    attributes = codes.shape[1]
    bettered = False
    for place in range(len(worst)):
        one = worst[place]
        for trial in range(tries):
            other = _random(state, len(sizes))
            i = _random(state, sizes[one])
            j = i if trial % 2 == 0 and i < sizes[other] else _random(state, sizes[other])
            mine = members[one, i]
            yours = members[other, j]
            if other == one or mine == yours or ratios[other] >= ratios[one]:
                continue
            after = dealt.after[: sizes[one]]
            ours = closeness_ratio(held[one], codes[mine], codes[yours], distances, after)
            if ours >= ratios[one] * (1.0 - 1e-9):
                continue
            after = dealt.after[: sizes[other]]
            theirs = closeness_ratio(held[other], codes[yours], codes[mine], distances, after)
            if theirs >= ratios[one] * (1.0 - 1e-9):
                continue
            for a in range(attributes):
                replace(held[one, a], sizes[one], codes[mine, a], codes[yours, a])
                replace(held[other, a], sizes[other], codes[yours, a], codes[mine, a])
            members[one, i] = yours
            members[other, j] = mine
            ratios[one] = ours
            ratios[other] = theirs
            bettered = bettered or place == 0
            if place > 0 and ours < ratios[worst[0]] * 0.97:
                break
    return bettered
