"""Merging classes until every one holds (Soria-Comas et al. 2015, Algorithm 1; Weber, 2.3.3).

The class that is farthest from the table joins the class that is nearest to it in its
quasi-identifiers, until all hold. In the worst case all of a block is one class, which holds. The
paper takes the distance of the means, which it publishes. Here labels are published that cover a
class, and nearest is the class with which that costs least: by how much the information loss of the
other one and of the two together differ (the loss of the first is the same for all). On Adult (k =
5, occupation, t = 0.3) Algorithm 1 so loses .47, with the narrowest common label .59.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.structures import structure
from tclose_spark.kernels.widths import LabelWidths, width
from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.figures import by_class
from tclose_spark.methods.blocks.holding import add_cell, closeness_ratio, holds, work_space
from tclose_spark.methods.blocks.requirement import Requirement
from tclose_spark.table.arrays import Codes, FloatArray, IntArray


@structure
class Clusters(NamedTuple):
    """Classes being merged, e at first. The first of those merged stands for all of them.

    order, starts: the rows, class by class, and where the first classes begin, shapes (n,) and (e +
        1,).
    follows: the next class merged into the same one, or -1, shape (e,).
    last: the last one of those that this one stands for, shape (e,).
    sizes: rows, 0 of a class that was merged into another, shape (e,).
    ratios: the closeness ratio, 0 of a class that holds, shape (e,).
    held: 1 where a class holds what is required, shape (e,).
    low, high: the range of the codes, shape (e, quasi-identifiers).
    counts, excess: room for what `holds` takes.
    """

    order: IntArray
    starts: IntArray
    follows: IntArray
    last: IntArray
    sizes: IntArray
    ratios: FloatArray
    held: IntArray
    low: Codes
    high: Codes
    counts: IntArray
    excess: IntArray


def merge_until_all_hold(block: Block, classes: IntArray) -> tuple[IntArray, int]:
    """(the classes after merging, numbered from 0, how many were merged away). classes: from 0,
    shape (n,).

    Every class holds what is required if the block does.
    """
    order, starts = by_class(classes)
    e = len(starts) - 1
    ordered = block.quasi[order]
    clusters = Clusters(
        order=order,
        starts=starts,
        follows=np.full(e, -1, dtype=np.int64),
        last=np.arange(e, dtype=np.int64),
        sizes=np.diff(starts),
        ratios=np.zeros(e),
        held=np.zeros(e, dtype=np.int64),
        low=np.minimum.reduceat(ordered, starts[:-1]),
        high=np.maximum.reduceat(ordered, starts[:-1]),
        counts=np.zeros(block.requirement.tables.shape, dtype=np.int64),
        excess=work_space(block.requirement),
    )
    _merge(clusters, block.cell, block.widths, block.requirement)
    merged = np.empty(e, dtype=np.int64)
    for number, first in enumerate(np.flatnonzero(clusters.sizes > 0).tolist()):
        while first >= 0:
            merged[first] = number
            first = clusters.follows[first]
    result = np.empty_like(classes)
    result[order] = np.repeat(merged, np.diff(starts))
    return result, e - int(merged.max()) - 1


@kernel
def _merge(clusters: Clusters, cell: Codes, widths: LabelWidths, requirement: Requirement) -> None:
    """Merges until every class holds, or one is left."""
    e = len(clusters.sizes)
    for c in range(e):
        _judge(c, clusters, cell, requirement)
    while True:
        worst = -1
        most = -1.0
        for c in range(e):
            if clusters.sizes[c] > 0 and clusters.held[c] == 0 and clusters.ratios[c] > most:
                worst = c
                most = clusters.ratios[c]
        if worst < 0:
            return
        near = _nearest(worst, clusters, widths)
        if near < 0:
            return
        _join(min(worst, near), max(worst, near), clusters)
        _judge(min(worst, near), clusters, cell, requirement)


@kernel
def _judge(c: int, clusters: Clusters, cell: Codes, requirement: Requirement) -> None:
    """Fills `ratios` and `held` of a class from its rows."""
    clusters.counts[:] = 0
    part = c
    while part >= 0:
        for at in range(clusters.starts[part], clusters.starts[part + 1]):
            add_cell(clusters.counts, cell[clusters.order[at]], 1, requirement)
        part = clusters.follows[part]
    size = clusters.sizes[c]
    clusters.held[c] = 1 if holds(clusters.counts, size, requirement, clusters.excess) else 0
    clusters.ratios[c] = 0.0
    if clusters.held[c] == 0:
        clusters.ratios[c] = closeness_ratio(clusters.counts, size, requirement, clusters.excess)


@kernel
def _nearest(c: int, clusters: Clusters, widths: LabelWidths) -> int:
    """The class with which c loses least, or -1 if c is the only one."""
    near = -1
    least = np.inf
    for other in range(len(clusters.sizes)):
        if other == c or clusters.sizes[other] == 0:
            continue
        total = 0.0
        size = clusters.sizes[other]
        for j in range(clusters.low.shape[1]):
            low = clusters.low[other, j]
            high = clusters.high[other, j]
            total -= size * width(j, low, high, widths)
            low = min(clusters.low[c, j], low)
            high = max(clusters.high[c, j], high)
            # Together no less than alone.
            total += (clusters.sizes[c] + size) * width(j, low, high, widths)
            if total >= least:
                break
        if total < least:
            near = other
            least = total
    return near


@kernel
def _join(c: int, other: int, clusters: Clusters) -> None:
    """Merges the class `other` into c."""
    clusters.follows[clusters.last[c]] = other
    clusters.last[c] = clusters.last[other]
    clusters.sizes[c] += clusters.sizes[other]
    clusters.sizes[other] = 0
    for j in range(clusters.low.shape[1]):
        clusters.low[c, j] = min(clusters.low[c, j], clusters.low[other, j])
        clusters.high[c, j] = max(clusters.high[c, j], clusters.high[other, j])
