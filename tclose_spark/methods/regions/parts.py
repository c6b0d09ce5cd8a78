"""Parts of a table that do not overlap, as ranges of codes: they apply to other rows than those
they were cut on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from tclose_spark.methods.attributes import ResolvedQuasi
from tclose_spark.methods.blocks.routing_tree import HIGHEST, LOWEST, RoutingTree, no_splits
from tclose_spark.methods.regions.axes import NODES, NUMBERS, VALUES, kind_of
from tclose_spark.methods.regions.cutting import RegionCuts
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.labels import MISSING, NumericLabels


@dataclass(frozen=True)
class PartTree:
    """A tree of parts of a table. Part 0 is the whole table, and a part comes before those that it
    is divided into.

    quasi: the quasi-identifier that a part is divided by, -1 if it is not divided, shape (parts,).
    parent: the part that it comes from, -1 if none, shape (parts,).
    lo, hi: a part has its parent's rows with these codes of the parent's quasi-identifier, shape
        (parts,).
    """

    quasi: IntArray
    parent: IntArray
    lo: IntArray
    hi: IntArray

    @staticmethod
    def whole() -> PartTree:
        """The whole table, undivided."""
        one = np.full(1, -1, dtype=np.int64)
        return PartTree(one, one, one, one)

    @cached_property
    def children(self) -> list[IntArray]:
        """The parts that each part is divided into, in the order of their codes."""
        order = np.argsort(self.parent, kind="stable")
        begin = np.searchsorted(self.parent[order], np.arange(len(self.parent) + 1))
        return [order[first:end] for first, end in pairwise(begin)]

    @cached_property
    def routing_tree(self) -> RoutingTree:
        """Leads each row to the last part on its way, by number: one that is not divided, or one of
        whose children takes the row, because its label would reach into another child's.
        """
        nodes: list[
            list[int]
        ] = []  # quasi-identifier, lowest and highest code that goes left, left, right
        pending = [(0, self.children[0], -1, 0)]
        while pending:
            part, children, above, side = pending.pop()
            number, half = len(nodes) if len(children) else -1 - part, len(children) // 2
            if above >= 0:
                nodes[above][3 + side] = number
            if half:  # a binary search for the child
                nodes.append([self.quasi[part], LOWEST, self.hi[children[half - 1]], 0, 0])
                pending += [(part, children[:half], number, 0), (part, children[half:], number, 1)]
            elif len(children):
                child = int(children[0])
                nodes.append([self.quasi[part], self.lo[child], self.hi[child], 0, -1 - part])
                pending.append((child, self.children[child], number, 0))
        quasi, lo, hi, left, right = np.array(nodes, dtype=np.int64).reshape(-1, 5).T
        codes = []
        for j in range(int(self.quasi.max()) + 1):
            here = quasi == j
            codes.append(np.unique([*(lo[here & (lo > LOWEST)] - 1), *hi[here], HIGHEST]))
            lo[here], hi[here] = (
                np.searchsorted(codes[j], lo[here]),
                np.searchsorted(codes[j], hi[here]),
            )
        splits = no_splits(len(nodes), 1)
        for array, values in zip(
            (*splits[:3], *splits[5:7]), (quasi, lo, hi, left, right), strict=True
        ):
            array[:] = values
        return RoutingTree(splits._replace(leaves=len(self.parent)), tuple(codes))

    def pruned(self, divided: Sequence[bool]) -> tuple[PartTree, IntArray]:
        """(the tree in which only these parts are divided, the number in this tree of each of its
        parts).
        """
        stays = np.zeros(len(self.parent), dtype=bool)
        stays[0] = True
        for part in range(1, len(stays)):
            stays[part] = stays[self.parent[part]] and divided[self.parent[part]]
        places, number = np.flatnonzero(stays), np.cumsum(stays) - 1
        quasi = np.where(np.asarray(divided)[places], self.quasi[places], -1)
        parent = np.where(places > 0, number[self.parent[places]], -1)
        return PartTree(quasi, parent, self.lo[places], self.hi[places]), places

    def grafted(self, part: int, tree: PartTree) -> PartTree:
        """The tree with an undivided part divided as another tree's whole is."""
        quasi, first = self.quasi.copy(), len(self.parent) - 1
        quasi[part] = tree.quasi[0]
        above = np.where(tree.parent[1:] == 0, part, tree.parent[1:] + first)
        return PartTree(
            np.concatenate([quasi, tree.quasi[1:]]),
            np.concatenate([self.parent, above]),
            np.concatenate([self.lo, tree.lo[1:]]),
            np.concatenate([self.hi, tree.hi[1:]]),
        )


def parts_of(
    cuts: RegionCuts, quasi_identifiers: Sequence[ResolvedQuasi], codes: Sequence[IntArray]
) -> PartTree:
    """The parts that a sample was cut into, for all rows of the table. codes: what the sample's
    dense codes stand for.

    Codes between or beyond those of the sample belong to a part beside them if labels then cannot
    meet, else to none.
    """
    lo, hi = cuts.lo.copy(), cuts.hi.copy()
    for part in np.flatnonzero(cuts.quasi >= 0).tolist():
        j, children = int(cuts.quasi[part]), np.flatnonzero(cuts.parent == part)
        lows, highs = codes[j][cuts.lo[children]], codes[j][cuts.hi[children]]
        lo[children], hi[children] = _code_ranges(quasi_identifiers[j], lows, highs)
    return PartTree(cuts.quasi, cuts.parent, lo, hi)


def _code_ranges(
    quasi: ResolvedQuasi, lows: IntArray, highs: IntArray
) -> tuple[IntArray, IntArray]:
    """The codes (lowest, highest) that belong to children with these lowest and highest codes."""
    missing, kind = int(lows[0] == MISSING), kind_of(quasi)
    lows, highs, alone = lows.copy(), highs.copy(), len(lows) - missing == 1
    if kind == VALUES:
        return lows, highs
    if kind == NODES and quasi.hierarchy is not None:
        height = _height(quasi.hierarchy, lows[missing:], highs[missing:]) - (not alone)
        node = quasi.hierarchy.nodes[height]
        lows[missing:] = np.searchsorted(node, node[lows[missing:]], side="left")
        highs[missing:] = np.searchsorted(node, node[highs[missing:]], side="right") - 1
        return lows, highs
    if (
        kind != NUMBERS and alone
    ):  # one value beside the missing one: of two, the label would be `*`
        return lows, highs
    lows[missing], highs[-1] = MISSING + 1, HIGHEST
    if not isinstance(quasi.labeller, NumericLabels) or quasi.labeller.round_to is None:
        highs[missing:-1] = lows[missing + 1 :] - 1
    return lows, highs


def _height(hierarchy: Hierarchy, lows: IntArray, highs: IntArray) -> int:
    """The height of the lowest common ancestor of all of these leaves."""
    height, _ = hierarchy.common_ancestors(lows[:1], highs[-1:])
    return int(height[0])
