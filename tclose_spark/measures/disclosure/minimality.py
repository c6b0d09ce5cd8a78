"""What a method reveals by choosing, by sensitive value, who stays in a narrow class (minimality
attack: Wong, Fu, Wang and Pei 2007).

Every class may be t-close, and the choice still reveals something. Suppose p of a value's n people
have a sensitive value, and n1 of them are in narrow classes with its largest share c that t allows.
Then of the n2 people left in wide classes, a share

    x = p + (p - c) n1 / n2

has it, whatever these wide classes state. A class is narrow for a value (or a node) of a
quasi-identifier if its label covers nothing else, otherwise wide. If no class is narrow, x is p:
nobody was chosen. The suppressed rows are one more class, the widest: an adversary with a list of
people knows who fits no class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.table.arrays import FloatArray, IntArray

UNIT = 1 << 20  # of shares: integer sums do not depend on the order in which tasks end
PAIRS_AT_ONCE = 1 << 20
CHANCE = 1 / 20  # probability of reporting anything if all differences are random


@dataclass(frozen=True)
class HeightTally:
    """Rows by value of a quasi-identifier, height of their label, and sensitive value: arrays of
    shape (values, heights, m). The last height is that of suppressed rows, which have no label.

    people: how many there are.
    said: how many of them have the sensitive value by the shares that their classes publish, in
        units of 1 / UNIT.
    """

    people: IntArray
    said: IntArray


def label_heights(value: IntArray, starts: IntArray, nodes: Sequence[IntArray]) -> IntArray:
    """The height of the lowest node that covers all values of each class, shape (classes,).

    value: of each row, class by class from `starts`. nodes: for each height 0, 1, .. below the root
        the node of every value, numbered in the values' order.
    """
    low = np.minimum.reduceat(value, starts)
    high = np.maximum.reduceat(value, starts)
    return np.asarray(sum((node[low] != node[high]).astype(np.int64) for node in nodes))


def tally_heights(
    values: Sequence[IntArray],
    trees: Sequence[Sequence[IntArray]],
    sensitive: IntArray,
    starts: IntArray,
    m: int,
) -> list[HeightTally]:
    """The tallies, one for each quasi-identifier, of rows in whole classes, class by class from
    `starts`.

    values: by quasi-identifier the code of each row; trees: its nodes (see `label_heights`).
    sensitive: the code of each row, below m.
    """
    sizes = np.diff(np.append(starts, len(sensitive)))
    owner = np.repeat(np.arange(len(starts)), sizes)
    inside = Histograms.tally(owner, sensitive, np.ones_like(owner), len(starts), m)
    share = (inside.counts * UNIT // np.repeat(sizes, inside.entries_of)).astype(np.float64)
    shapes = [(len(nodes[0]), heights_of(nodes), m) for nodes in trees]
    places = [
        (value * shape[1] + label_heights(value, starts, nodes)[owner]) * m
        for value, nodes, shape in zip(values, trees, shapes, strict=True)
    ]
    said = [np.zeros(int(np.prod(shape)), dtype=np.int64) for shape in shapes]
    for rows, many, entries in _pairs(owner, inside):
        weights = share[entries]
        code = inside.values[entries]
        for place, sums in zip(
            places,
            said,
            strict=True,
        ):  # weights are whole numbers: their sum is exact in any order
            sums += np.bincount(np.repeat(place[rows], many) + code, weights, len(sums)).astype(
                np.int64,
            )
    people = [
        np.bincount(place + sensitive, minlength=len(sums))
        for place, sums in zip(places, said, strict=True)
    ]
    return [
        HeightTally(n.reshape(shape), sums.reshape(shape))
        for n, sums, shape in zip(people, said, shapes, strict=True)
    ]


def heights_of(nodes: Sequence[IntArray]) -> int:
    """The number of heights in a tally: those of the nodes, `*` above them, and suppressed rows."""
    return len(nodes) + 2


def tally_at_height(
    height: int,
    values: Sequence[IntArray],
    trees: Sequence[Sequence[IntArray]],
    sensitive: IntArray,
    m: int,
) -> list[HeightTally]:
    """The tallies of rows that are all at one height of each quasi-identifier, without published
    shares; height -1: of suppressed rows. See `tally_heights`.
    """
    tallies = []
    for value, nodes in zip(values, trees, strict=True):
        shape = (len(nodes[0]), heights_of(nodes), m)
        place = (value * shape[1] + height % shape[1]) * m + sensitive
        people = np.bincount(place, minlength=int(np.prod(shape))).reshape(shape)
        tallies.append(HeightTally(people, np.zeros_like(people)))
    return tallies


def with_suppressed(counted: HeightTally, compared_with_input: bool) -> HeightTally:
    """A tally of the whole table in which suppressed rows take the public distribution: their own
    if classes are compared with the input, otherwise that of the released rows.
    """
    suppressed = counted.people[:, -1]
    released = counted.people[:, :-1].sum(axis=(0, 1))
    public = suppressed.sum(axis=0) if compared_with_input else released
    said = counted.said.copy()
    said[:, -1] = suppressed.sum(axis=1, keepdims=True) * (
        public * UNIT // max(int(public.sum()), 1)
    )
    return HeightTally(counted.people, said)


def _pairs(owner: IntArray, inside: Histograms) -> Iterator[tuple[slice, IntArray, IntArray]]:
    """Every row with every entry of its class's histogram, in batches: (rows, entries of each row,
    the entries).
    """
    repeats = inside.entries_of[owner]
    through = np.cumsum(repeats)
    cuts = np.searchsorted(
        through,
        np.arange(PAIRS_AT_ONCE, int(through[-1]), PAIRS_AT_ONCE),
        side="right",
    )
    for first, last in pairwise([0, *np.unique(cuts[cuts > 0]).tolist(), len(owner)]):
        many = repeats[first:last]
        begin = inside.starts[owner[first:last]] - (np.cumsum(many) - many)
        yield slice(first, last), many, np.arange(int(many.sum())) + np.repeat(begin, many)


@dataclass(frozen=True, kw_only=True)
class WideClassGroup:
    """People of one value (or node) of a quasi-identifier who are left in wide classes or
    suppressed, and one sensitive value.

    height, node, sensitive: codes of both.
    people: with that value.
    wide: of these, in wide classes or suppressed.
    suppressed: of these, suppressed.
    true, said: the share of `wide` with the sensitive value, and the share that their classes
        publish.
    narrow, whole: the share among those in narrow classes, and among all.
    evidence: a lower bound on -log of the probability, under random choice, of a share so far above
        the published one and so different from that of all (Hoeffding 1963).
    """

    height: int
    node: int
    sensitive: int
    people: int
    wide: int
    suppressed: int
    true: float
    said: float
    narrow: float
    whole: float
    evidence: float

    @property
    def surplus(self) -> float:
        """How far the true share exceeds the published one and that of narrow classes: what the
        choice reveals to an adversary who does not know the share of all.
        """
        return self.true - max(self.said, self.narrow)


def groups_in_wide_classes(
    counted: HeightTally,
    nodes: Sequence[IntArray],
    k: int,
) -> list[WideClassGroup]:
    """For each value and node with at least k people, in narrow and in wide classes: the sensitive
    value with the most evidence of being more frequent among those in wide classes than by chance.
    """
    result: list[WideClassGroup] = []
    for height, node in enumerate(nodes):
        narrow = _sums(counted.people[:, : height + 1].sum(axis=1), node)
        wide = _sums(counted.people[:, height + 1 :].sum(axis=1), node)
        said = _sums(counted.said[:, height + 1 :].sum(axis=1), node) / UNIT
        suppressed = _sums(counted.people[:, -1], node).sum(axis=1)
        values = np.bincount(node)
        for i in np.flatnonzero(
            (narrow.sum(axis=1) + wide.sum(axis=1) >= k) & narrow.any(axis=1) & wide.any(axis=1),
        ):
            one = (
                values[i] == 1
                if height == 0
                else values[i] > np.bincount(nodes[height - 1])[nodes[height - 1][node == i][0]]
            )
            if one:  # a node with one child is that child
                result.append(
                    _largest(height, int(i), narrow[i], wide[i], said[i], int(suppressed[i])),
                )
    return result


def _sums(table: IntArray, node: IntArray) -> IntArray:
    """The rows of a table summed by node."""
    result = np.zeros((int(node.max()) + 1, table.shape[1]), dtype=np.int64)
    np.add.at(result, node, table)
    return result


def _largest(
    height: int,
    node: int,
    narrow: IntArray,
    wide: IntArray,
    said: FloatArray,
    suppressed: int,
) -> WideClassGroup:
    n1 = int(narrow.sum())
    n2 = int(wide.sum())
    true = wide / n2
    stated = said / n2
    kept = narrow / n1
    whole = (narrow + wide) / (n1 + n2)
    chosen = np.maximum(n2 * _divergence(true, whole), n1 * _divergence(1 - kept, 1 - whole))
    evidence = np.minimum(n2 * _divergence(true, stated), chosen)
    s = int(np.argmax(evidence))
    return WideClassGroup(
        height=height,
        node=node,
        sensitive=s,
        people=n1 + n2,
        wide=n2,
        suppressed=suppressed,
        true=float(true[s]),
        said=float(stated[s]),
        narrow=float(kept[s]),
        whole=float(whole[s]),
        evidence=float(evidence[s]),
    )


def _divergence(true: FloatArray, expected: FloatArray) -> FloatArray:
    """The Kullback-Leibler divergence of two shares if the first is larger, otherwise 0."""
    result = np.zeros(len(true))
    over = np.flatnonzero(true > expected)
    x = true[over]
    p = np.maximum(expected[over], np.finfo(np.float64).tiny)
    rest = np.where(x < 1, (1 - x) * np.log(np.where(x < 1, 1 - x, 1) / (1 - p)), 0.0)
    result[over] = x * np.log(x / p) + rest
    return result


def beyond_chance(groups: Sequence[WideClassGroup], m: int) -> list[WideClassGroup]:
    """The groups whose surplus exceeds chance, after testing m sensitive values of each; largest
    product of people and surplus first.
    """
    enough = np.log(max(len(groups) * m, 1) / CHANCE)
    return sorted(
        (one for one in groups if one.evidence >= enough),
        key=lambda one: -one.wide * one.surplus,
    )
