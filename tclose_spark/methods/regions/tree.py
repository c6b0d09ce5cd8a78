"""Parts of a table that do not overlap, as stretches of codes: they apply to other rows than they were found on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from tclose_spark.methods.attributes import ResolvedQuasi
from tclose_spark.methods.regions.axes import NODES, NUMBERS, VALUES, kind_of
from tclose_spark.methods.regions.cutting import RegionCuts
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.labels import MISSING, NumericLabels
from tclose_spark.table.rows import Rows

HIGHEST = np.int64(2**63 - 1)


@dataclass(frozen=True)
class RegionTree:
    """A tree of parts; part 0 is the whole table, and a part comes before those that it is divided into.

    quasi: the quasi-identifier that a part is divided by, -1: it is not divided, shape (parts,).
    parent: the part that it comes from, -1: none, shape (parts,).
    lo, hi: of its parent's rows, those with these codes of the quasi-identifier are in it, shape (parts,).
    """

    quasi: IntArray
    parent: IntArray
    lo: IntArray
    hi: IntArray

    @staticmethod
    def whole() -> RegionTree:
        """One part, all of the table."""
        one = np.full(1, -1, dtype=np.int64)
        return RegionTree(one, one, one, one)

    @cached_property
    def children(self) -> list[IntArray]:
        """The parts that each part is divided into, in the order of their codes."""
        order = np.argsort(self.parent, kind="stable")
        begin = np.searchsorted(self.parent[order], np.arange(len(self.parent) + 1))
        return [order[first:end] for first, end in pairwise(begin)]

    @cached_property
    def leaf(self) -> IntArray:
        """The number of each part that is not divided, -1 of others, shape (parts,)."""
        return np.where(self.quasi < 0, np.cumsum(self.quasi < 0) - 1, -1)

    @cached_property
    def depth(self) -> int:
        """Splits above the deepest part."""
        deep = np.zeros(len(self.parent), dtype=np.int64)
        for part in range(1, len(deep)):
            deep[part] = deep[self.parent[part]] + 1
        return int(deep.max())

    def part_of(self, rows: Rows) -> IntArray:
        """The last part on each row's way, shape (n,): one that is not divided, or one of whose children none takes the
        row, as its label would reach into another's.
        """
        part = np.zeros(len(rows), dtype=np.int64)
        pending = [(0, np.arange(len(rows)))]
        while pending:
            number, here = pending.pop()
            part[here] = number
            children = self.children[number]
            if not len(children) or not len(here):
                continue
            codes = rows.quasi[self.quasi[number]][here]
            child = np.searchsorted(self.lo[children], codes, side="right") - 1
            child[codes > self.hi[children][child]] = -1
            order = np.argsort(child, kind="stable")
            begin = np.searchsorted(child[order], np.arange(len(children) + 1))
            pending += [
                (int(c), here[order[first:end]]) for c, first, end in zip(children, begin[:-1], begin[1:], strict=True)
            ]
        return part

    def leaf_of(self, rows: Rows) -> IntArray:
        """The undivided part of each row, by its number among these, shape (n,)."""
        return self.leaf[self.part_of(rows)]

    def pruned(self, divided: Sequence[bool]) -> tuple[RegionTree, IntArray]:
        """(the tree in which these parts are divided, and none below one that is not; its parts' numbers here)."""
        kept = np.zeros(len(self.parent), dtype=bool)
        kept[0] = True
        for part in range(1, len(kept)):
            kept[part] = kept[self.parent[part]] and divided[self.parent[part]]
        places = np.flatnonzero(kept)
        number = np.cumsum(kept) - 1
        quasi = np.where(np.asarray(divided)[places], self.quasi[places], -1)
        parent = np.where(places > 0, number[self.parent[places]], -1)
        return RegionTree(quasi, parent, self.lo[places], self.hi[places]), places

    def grafted(self, part: int, tree: RegionTree) -> RegionTree:
        """The tree with an undivided part divided as another tree's whole is."""
        quasi, first = self.quasi.copy(), len(self.parent) - 1
        quasi[part] = tree.quasi[0]
        above = np.where(tree.parent[1:] == 0, part, tree.parent[1:] + first)
        return RegionTree(
            np.concatenate([quasi, tree.quasi[1:]]),
            np.concatenate([self.parent, above]),
            np.concatenate([self.lo, tree.lo[1:]]),
            np.concatenate([self.hi, tree.hi[1:]]),
        )

    def to_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        return {
            "parts": {name: getattr(self, name).tolist() for name in ("quasi", "parent", "lo", "hi")},
        }

    @staticmethod
    def from_json(tree: Mapping[str, Any]) -> RegionTree:
        """The tree that `to_json` wrote."""
        return RegionTree(*(np.array(tree["parts"][name], dtype=np.int64) for name in ("quasi", "parent", "lo", "hi")))


def tree_of(cuts: RegionCuts, quasi_identifiers: Sequence[ResolvedQuasi], codes: Sequence[IntArray]) -> RegionTree:
    """The parts that rows were cut into, for all rows of their table; codes: what the rows' dense codes stand for.

    What lies between or beyond the rows' codes goes with those beside it where labels can not meet; else with none.
    """
    lo, hi = cuts.lo.copy(), cuts.hi.copy()
    for part in np.flatnonzero(cuts.quasi >= 0).tolist():
        j, children = int(cuts.quasi[part]), np.flatnonzero(cuts.parent == part)
        lows, highs = codes[j][cuts.lo[children]], codes[j][cuts.hi[children]]
        lo[children], hi[children] = _stretches(quasi_identifiers[j], lows, highs)
    return RegionTree(cuts.quasi, cuts.parent, lo, hi)


def _stretches(quasi: ResolvedQuasi, lows: IntArray, highs: IntArray) -> tuple[IntArray, IntArray]:
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
    if kind != NUMBERS and alone:  # one value beside the missing one: of two, the label would be `*`
        return lows, highs
    lows[missing], highs[-1] = MISSING + 1, HIGHEST
    if not isinstance(quasi.labeller, NumericLabels) or quasi.labeller.round_to is None:
        highs[missing:-1] = lows[missing + 1 :] - 1
    return lows, highs


def _height(hierarchy: Hierarchy, lows: IntArray, highs: IntArray) -> int:
    """The height of the lowest common ancestor of all of these leaves."""
    height, _ = hierarchy.common_ancestors(lows[:1], highs[-1:])
    return int(height[0])
