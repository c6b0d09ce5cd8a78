"""The regions of a block, by number."""

from __future__ import annotations

import numpy as np

from tclose_spark.methods.blocks.figures import by_class, closeness_ratios
from tclose_spark.methods.regions.block import RegionBlock, RegionDense
from tclose_spark.methods.regions.cutting import RegionGrowth, cut
from tclose_spark.table.arrays import FloatArray, IntArray


def find_regions(block: RegionBlock, growth: RegionGrowth) -> IntArray:
    """The region of each row of a block, shape (n,), from 0."""
    regions: IntArray = np.unique(cut(block, growth).region, return_inverse=True)[1]
    return regions


def find_near_regions(
    block: RegionBlock, growth: RegionGrowth, dense: RegionDense
) -> tuple[IntArray, FloatArray]:
    """(the region of each row of a block, shape (n,), from 0; the closeness ratio of each region to
    its reference).

    The reference is the whole table. With (n, t)-closeness (Li et al. 2010) a region of n rows
    needs no reference. It is a natural superset of its parts: it is divided further, with itself as
    the reference, until nothing is divided.
    """
    regions = find_regions(block, growth)
    ratios = closeness_ratios(block, regions)
    n = dense.attributes.nt
    if n is None:
        return regions, ratios
    order, starts = by_class(regions)
    found = np.zeros(len(regions), dtype=np.int64)
    made = list[float]()
    for number, ratio in enumerate(ratios.tolist()):
        rows = order[starts[number] : starts[number + 1]]
        anchor = dense.beside_itself(block.take(rows)) if len(rows) >= n else block
        if np.array_equal(anchor.requirement.tables, block.requirement.tables):
            found[rows] = len(made)
            made.append(ratio)
        else:
            inside, more = find_near_regions(anchor, growth, dense)
            found[rows] = len(made) + inside
            made += more.tolist()
    return found, np.array(made)
