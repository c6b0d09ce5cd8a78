"""A search for regions of a block with little loss, by looking ahead over its first splits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose_spark.methods.blocks.figures import by_class, closeness_ratios, rows_lost
from tclose_spark.methods.regions.block import RegionBlock, RegionDense
from tclose_spark.methods.regions.cutting import RegionGrowth, cut, first_splits
from tclose_spark.table.arrays import FloatArray, IntArray

FEW = 200  # blocks of fewer rows are not worth looking ahead


@dataclass(frozen=True)
class RegionSearch:
    """growth: how a block is cut.
    ahead: to this depth, each of its best splits is tried. The result never loses more than without looking ahead.
    """

    growth: RegionGrowth
    ahead: int = 0


def find_regions(block: RegionBlock, search: RegionSearch) -> tuple[IntArray, float]:
    """(the region of each row of a block, shape (n,), from 0; their information loss in rows)."""
    regions = np.unique(cut(block, search.growth).region, return_inverse=True)[1]
    least = rows_lost(block, regions)
    if search.ahead == 0 or len(regions) < FEW:
        return regions, least
    nearer = RegionSearch(search.growth, search.ahead - 1)
    for parts in first_splits(block, search.growth):
        found, lost, number = np.zeros(len(regions), dtype=np.int64), 0.0, 0
        for part in parts:
            inside, more = find_regions(block.take(part), nearer)
            found[part] = number + inside
            lost, number = lost + more, int(found[part].max()) + 1
            if lost >= least:
                break
        else:
            regions, least = found, lost
    return regions, least


def find_near_regions(block: RegionBlock, search: RegionSearch, dense: RegionDense) -> tuple[IntArray, FloatArray]:
    """(the region of each row of a block, shape (n,), from 0; the closeness ratio of each region to its reference).

    The reference is the whole table. With (n, t)-closeness (Li et al. 2010) a region of n rows needs no reference. It
    is
    a natural superset of its parts: it is divided further, with itself as the reference, until nothing is divided.
    """
    regions, _ = find_regions(block, search)
    ratios, n = closeness_ratios(block, regions), dense.attributes.nt
    if n is None:
        return regions, ratios
    order, starts = by_class(regions)
    found, made = np.zeros(len(regions), dtype=np.int64), list[float]()
    for number, ratio in enumerate(ratios.tolist()):
        rows = order[starts[number] : starts[number + 1]]
        anchor = dense.beside_itself(block.take(rows)) if len(rows) >= n else block
        if np.array_equal(anchor.requirement.tables, block.requirement.tables):
            found[rows] = len(made)
            made.append(ratio)
        else:
            inside, more = find_near_regions(anchor, search, dense)
            found[rows] = len(made) + inside
            made += more.tolist()
    return found, np.array(made)
