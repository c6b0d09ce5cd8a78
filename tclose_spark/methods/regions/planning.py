"""Planning disjoint regions of a large table: parts are cut on a sample and counted over the whole
table.

A sample cannot guarantee that a part meets the requirement, or that it has all values of the table.
One scan counts both. A part stays undivided if one of its children fails the requirement or if none
of them takes some row. So a block is a box. If it is still large, it is cut on the sample anew, by
another quasi-identifier.

Parts of a table that do not overlap, as ranges of codes: they apply to other rows than those
they were cut on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tclose_spark.errors import ConfigurationError
from tclose_spark.methods.attributes import ResolvedQuasi, require_plain
from tclose_spark.methods.blocks.layout import BlockLayout
from tclose_spark.methods.blocks.planning import MOST_COUNTS, count_leaves
from tclose_spark.methods.blocks.routing_tree import HIGHEST, LOWEST, RoutingTree, no_splits
from tclose_spark.methods.method import PlanningInput
from tclose_spark.methods.regions.block import NODES, NUMBERS, VALUES, RegionDense, axis_kind
from tclose_spark.methods.regions.cutting import RegionCuts, RegionGrowth, cut
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.labels import MISSING, NumericLabels
from tclose_spark.table.rows import Rows


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
            number = len(nodes) if len(children) else -1 - part
            half = len(children) // 2
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
            (*splits[:3], *splits[5:7]),
            (quasi, lo, hi, left, right),
            strict=True,
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
        places = np.flatnonzero(stays)
        number = np.cumsum(stays) - 1
        quasi = np.where(np.asarray(divided)[places], self.quasi[places], -1)
        parent = np.where(places > 0, number[self.parent[places]], -1)
        return PartTree(quasi, parent, self.lo[places], self.hi[places]), places

    def grafted(self, part: int, tree: PartTree) -> PartTree:
        """The tree with an undivided part divided as another tree's whole is."""
        quasi = self.quasi.copy()
        first = len(self.parent) - 1
        quasi[part] = tree.quasi[0]
        above = np.where(tree.parent[1:] == 0, part, tree.parent[1:] + first)
        return PartTree(
            np.concatenate([quasi, tree.quasi[1:]]),
            np.concatenate([self.parent, above]),
            np.concatenate([self.lo, tree.lo[1:]]),
            np.concatenate([self.hi, tree.hi[1:]]),
        )


def parts_of(
    cuts: RegionCuts,
    quasi_identifiers: Sequence[ResolvedQuasi],
    codes: Sequence[IntArray],
) -> PartTree:
    """The parts that a sample was cut into, for all rows of the table. codes: what the sample's
    dense codes stand for.

    Codes between or beyond those of the sample belong to a part beside them if labels then cannot
    meet, else to none.
    """
    lo = cuts.lo.copy()
    hi = cuts.hi.copy()
    for part in np.flatnonzero(cuts.quasi >= 0).tolist():
        j = int(cuts.quasi[part])
        children = np.flatnonzero(cuts.parent == part)
        lows = codes[j][cuts.lo[children]]
        highs = codes[j][cuts.hi[children]]
        lo[children], hi[children] = _code_ranges(quasi_identifiers[j], lows, highs)
    return PartTree(cuts.quasi, cuts.parent, lo, hi)


def _code_ranges(
    quasi: ResolvedQuasi,
    lows: IntArray,
    highs: IntArray,
) -> tuple[IntArray, IntArray]:
    """The codes (lowest, highest) that belong to children with these lowest and highest codes."""
    missing = int(lows[0] == MISSING)
    kind = axis_kind(quasi)
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
    lows[missing] = MISSING + 1
    highs[-1] = HIGHEST
    if not isinstance(quasi.labeller, NumericLabels) or quasi.labeller.round_to is None:
        highs[missing:-1] = lows[missing + 1 :] - 1
    return lows, highs


def _height(hierarchy: Hierarchy, lows: IntArray, highs: IntArray) -> int:
    """The height of the lowest common ancestor of all of these leaves."""
    height, _ = hierarchy.common_ancestors(lows[:1], highs[-1:])
    return int(height[0])


ROUNDS = 4  # of cutting and counting
CEILING = 0.95  # of the closeness ratio on the sample, so that most parts meet the requirement on full counts too
LEAST = 40  # rows of the sample in a part, for the same reason; neither applies if the sample is the whole table


def plan_regions(
    given: PlanningInput,
    growth: RegionGrowth,
    rows_per_block: int,
    rows_per_task: int,
    labels_meet: bool = False,
) -> BlockLayout:
    """Disjoint blocks of a table, of at most about `rows_per_block` rows if the sample can separate
    them, in tasks of about `rows_per_task` rows. A table of at most `rows_per_block` rows is one
    block. labels_meet: whether labels of classes may have values in common.

    Raises:
        ConfigurationError: if a distance has unequal steps, a hierarchy has the same label at
            several levels for different values, or a block is too large for the integers of the
            kernels.
        UnreachableError: if even the whole table does not meet k and distinct l.
    """
    require_plain(given.attributes.sensitive, "a method that cuts regions")
    if not labels_meet:
        _require_one_level(given.attributes.quasi_identifiers)
    dense = RegionDense(given.attributes, given.k)
    dense.require_reachable()
    tree = PartTree.whole()
    counts = given.attributes.cell_rows[None, :]
    merges = 0
    if given.attributes.rows > rows_per_block:
        tree, counts, merges = _cut(given, dense, growth, rows_per_block)
    block_rows = counts.sum(axis=1)[tree.quasi < 0]
    # No row of the table ends in a divided part.
    block_of = np.maximum(np.cumsum(tree.quasi < 0) - 1, 0)
    return BlockLayout.of(dense, tree.routing_tree, block_of, block_rows, rows_per_task, merges)


def _require_one_level(quasi_identifiers: Sequence[ResolvedQuasi]) -> None:
    """Raises ConfigurationError if a hierarchy has the same label at several levels for different
    values.
    """
    for quasi in quasi_identifiers:
        under: defaultdict[str, set[tuple[int, ...]]] = defaultdict(set)
        paths = quasi.hierarchy.paths if quasi.hierarchy is not None else ()
        for labels in zip(*paths, strict=True):
            leaves: defaultdict[str, list[int]] = defaultdict(list)
            for leaf, label in enumerate(labels):
                leaves[label].append(leaf)
            for label, here in leaves.items():
                under[label].add(tuple(here))
        if any(len(meant) > 1 for meant in under.values()):
            raise ConfigurationError(
                f"attributes.quasi_identifiers.{quasi.name}.hierarchy: the same label is used at "
                "several levels for different values; give each node its own label, or use a "
                "method whose regions may overlap",
            )


def _cut(
    given: PlanningInput,
    dense: RegionDense,
    growth: RegionGrowth,
    rows_per_block: int,
) -> tuple[PartTree, IntArray, int]:
    """(the parts of the table, the rows of each by cell, how many splits were undone)."""
    sample = given.sample.take(np.arange(min(len(given.sample), max(dense.most_rows, 1))))
    scale = given.attributes.rows / len(sample)
    stop = max(
        int(rows_per_block / scale),
        len(sample) * len(given.attributes.cells) // MOST_COUNTS,
    )
    growth = replace(
        growth,
        rule=growth.rule._replace(stop=stop, ceiling=CEILING if scale > 1 else 1.0),
    )
    tree = PartTree.whole()
    counts = given.attributes.cell_rows[None, :]
    merges = 0
    of_sample = _of_sample(dense, scale)
    # Of each part to be cut: quasi-identifiers to avoid.
    banned: dict[int, IntArray] = {0: np.zeros(0, dtype=np.int64)}
    for number in range(1, ROUNDS + 1):
        given.log(
            f"cutting regions on a sample of {len(sample):,} rows: round {number} of at most "
            f"{ROUNDS}",
        )
        before = tree
        known = dict(banned)
        tree = _cut_parts(tree, sample, of_sample, growth, banned, scale)
        if len(tree.parent) == len(before.parent):
            break
        counts, ended = _count(given, tree)
        divided = _are_divided(dense, tree, counts, ended)
        failed = [int(p) for p in np.flatnonzero((tree.quasi >= 0) & ~divided)]
        larger = tree
        tree, places = tree.pruned(divided.tolist())
        counts = counts[places]
        banned = {}
        for part in np.flatnonzero(np.isin(places, failed)).tolist():
            merges += 1
            if counts[part].sum() > rows_per_block:
                place = int(places[part])
                banned[part] = np.append(known.get(place, []), larger.quasi[place]).astype(np.int64)
        if not banned:
            break
    return tree, counts, merges


def _of_sample(dense: RegionDense, scale: float) -> RegionDense:
    """Makes blocks of a sample with one in `scale` rows of the table. n of (n, t)-closeness is
    scaled down, with a margin so that most parts that have n rows by the sample have them on full
    counts too.
    """
    nt = dense.attributes.nt
    if nt is None or scale <= 1:
        return dense
    return replace(
        dense,
        attributes=replace(dense.attributes, nt=max(LEAST, int(np.ceil(nt / scale / CEILING)))),
    )


def _cut_parts(
    tree: PartTree,
    sample: Rows,
    dense: RegionDense,
    growth: RegionGrowth,
    banned: dict[int, IntArray],
    scale: float,
) -> PartTree:
    """The tree with some parts cut on the sample, at first not by the quasi-identifiers that are
    banned.
    """
    part_of = tree.routing_tree.leaf_of(sample)
    least = max(LEAST, int(np.ceil(dense.k / scale))) if scale > 1 else dense.k
    for part, avoided in banned.items():
        rows = sample.take(np.flatnonzero(part_of == part))
        if len(rows) < 2 * least:
            continue
        block, codes = replace(dense, k=least).block(rows)
        cuts = cut(block, growth, avoided)
        if len(cuts.parent) > 1:
            tree = tree.grafted(part, parts_of(cuts, dense.attributes.quasi_identifiers, codes))
    return tree


def _count(given: PlanningInput, tree: PartTree) -> tuple[IntArray, IntArray]:
    """(rows of the whole table in each part, by cell, shape (parts, cells); how many rows no child
    of the part takes, shape (parts,)).
    """
    counts = count_leaves(given.counts, tree.routing_tree, len(given.attributes.cells))
    ended = counts.sum(axis=1)
    for part in range(len(ended) - 1, 0, -1):  # children have higher numbers
        counts[tree.parent[part]] += counts[part]
    return counts, ended


def _are_divided(
    dense: RegionDense,
    tree: PartTree,
    counts: IntArray,
    ended: IntArray,
) -> NDArray[np.bool_]:
    """Which parts stay divided, shape (parts,): those whose children take all rows and all meet the
    requirement.
    """
    divided: NDArray[np.bool_] = (tree.quasi >= 0) & (ended == 0)
    for part in np.flatnonzero(divided).tolist():
        divided[part] = all(dense.holds(counts[child]) for child in tree.children[part])
    return divided
