"""Planning regions of a large table: cut on a sample, counted over the whole table, and kept where each part holds.

A sample cannot promise that a part holds, nor that no row has a value that the sample lacks. One scan counts both; a
part whose children do not all hold, or which has a row that none of them takes, is not divided, whatever is below it.
So a block is a box. Where it is still large, it is cut on the sample anew, by another quasi-identifier.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tclose_spark.errors import ConfigurationError
from tclose_spark.methods.attributes import ResolvedQuasi, require_plain
from tclose_spark.methods.blocks.planning import MOST_COUNTS
from tclose_spark.methods.method import PlanningInput
from tclose_spark.methods.regions.block import RegionDense
from tclose_spark.methods.regions.cutting import RegionGrowth, cut
from tclose_spark.methods.regions.layout import RegionLayout
from tclose_spark.methods.regions.tree import RegionTree, tree_of
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows

ROUNDS = 4  # of cutting and counting
CEILING = 0.95  # of the closeness ratio on the sample, so that most parts hold on full counts too
LEAST = 40  # rows of the sample that a part has, so that this is so; neither where the sample is the whole table


def plan_regions(given: PlanningInput, growth: RegionGrowth, rows_per_block: int, rows_per_task: int) -> RegionLayout:
    """The regions of a table, of at most about `rows_per_block` rows where the sample can tell them apart, in tasks of
    about `rows_per_task` rows. A table that is no larger is one.

    Raises:
        ConfigurationError: if a distance has steps that differ, a hierarchy has a label at several levels for different
            values, or a block is too large for the integers of the kernels.
        UnreachableError: if even the whole table does not hold k and distinct l.
    """
    require_plain(given.attributes.sensitive, "a method that cuts regions")
    _require_one_level(given.attributes.quasi_identifiers)
    dense = RegionDense(given.attributes, given.k)
    dense.require_reachable()
    tree, counts, merges = RegionTree.whole(), given.attributes.cell_rows[None, :], 0
    if given.attributes.rows > rows_per_block:
        tree, counts, merges = _cut(given, dense, growth, rows_per_block)
    block_rows = counts.sum(axis=1)[tree.quasi < 0]
    dense.require_room(int(block_rows.max()))
    task = (np.cumsum(block_rows) - block_rows) // rows_per_task
    return RegionLayout(
        dense=dense,
        tree=tree,
        block_of=np.arange(len(block_rows)),
        block_rows=block_rows,
        first_block=np.flatnonzero(np.diff(task, prepend=-1)),
        merges=merges,
    )


def _require_one_level(quasi_identifiers: Sequence[ResolvedQuasi]) -> None:
    """Raises ConfigurationError if a label of a hierarchy does not say at which level it is meant."""
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
                f"attributes.quasi_identifiers.{quasi.name}.hierarchy: a label stands at several levels for different "
                "values, so regions of classes would overlap; give each node a label of its own, or use a method whose "
                "regions may overlap"
            )


def _cut(
    given: PlanningInput, dense: RegionDense, growth: RegionGrowth, rows_per_block: int
) -> tuple[RegionTree, IntArray, int]:
    """(the parts of the table, the rows of each by cell, how many were not divided after all)."""
    sample = given.sample.take(np.arange(min(len(given.sample), max(dense.most_rows, 1))))
    scale = given.attributes.rows / len(sample)
    stop = max(int(rows_per_block / scale), len(sample) * len(given.attributes.cells) // MOST_COUNTS)
    growth = replace(growth, way=growth.way._replace(scale=scale, stop=stop, ceiling=CEILING if scale > 1 else 1.0))
    tree, counts, merges = RegionTree.whole(), given.attributes.cell_rows[None, :], 0
    of_sample = _of_sample(dense, scale)
    banned: dict[int, IntArray] = {0: np.zeros(0, dtype=np.int64)}  # of parts to be cut: by what not to
    for number in range(1, ROUNDS + 1):
        given.log(f"cutting regions on a sample of {len(sample):,} rows, round {number} of at most {ROUNDS}")
        before, known = tree, dict(banned)
        tree = _cut_parts(tree, sample, of_sample, growth, banned)
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
    """Makes blocks of a sample, of which a row stands for `scale` of the table: n of (n, t)-closeness is so many fewer,
    and a few more, so that most parts that have it on the sample have it on full counts too.
    """
    nt = dense.attributes.nt
    if nt is None or scale <= 1:
        return dense
    return replace(dense, attributes=replace(dense.attributes, nt=max(LEAST, int(np.ceil(nt / scale / CEILING)))))


def _cut_parts(
    tree: RegionTree, sample: Rows, dense: RegionDense, growth: RegionGrowth, banned: dict[int, IntArray]
) -> RegionTree:
    """The tree with some parts cut on the sample, each by no quasi-identifier that it may not be cut by first."""
    part_of, scale = tree.part_of(sample), growth.way.scale
    least = max(LEAST, int(np.ceil(dense.k / scale))) if scale > 1 else dense.k
    for part, not_by in banned.items():
        rows = sample.take(np.flatnonzero(part_of == part))
        if len(rows) < 2 * least:
            continue
        block, codes = dense.block(rows)
        block = replace(block, requirement=block.requirement._replace(k=least))
        cuts = cut(block, growth, not_by)
        if len(cuts.parent) > 1:
            tree = tree.grafted(part, tree_of(cuts, dense.attributes.quasi_identifiers, codes))
    return tree


def _count(given: PlanningInput, tree: RegionTree) -> tuple[IntArray, IntArray]:
    """(rows of the whole table in each part, by cell, shape (parts, cells); how many of them end their way there, shape
    (parts,)).
    """
    cells, parts = len(given.attributes.cells), len(tree.parent)
    counts = given.counts(lambda rows: tree.part_of(rows) * cells + rows.cell, parts * cells).reshape(-1, cells)
    ended = counts.sum(axis=1)
    for part in range(parts - 1, 0, -1):  # children have higher numbers
        counts[tree.parent[part]] += counts[part]
    return counts, ended


def _are_divided(dense: RegionDense, tree: RegionTree, counts: IntArray, ended: IntArray) -> NDArray[np.bool_]:
    """Which parts are divided, shape (parts,): those where no row ends its way, and whose children all hold."""
    divided: NDArray[np.bool_] = (tree.quasi >= 0) & (ended == 0)
    for part in np.flatnonzero(divided).tolist():
        divided[part] = all(dense.holds(counts[child]) for child in tree.children[part])
    return divided
