"""The regions that may be split off a node: ranges of the codes of one quasi-identifier, with
bounds on their scores.
"""

from __future__ import annotations

from typing import NamedTuple

from tclose_spark.kernels import kernel, log2
from tclose_spark.kernels.sorting import PresentCodes
from tclose_spark.kernels.structures import structure
from tclose_spark.kernels.widths import NODE, LabelWidths, width
from tclose_spark.methods.closeness_tree.carve.trim import SMALLEST_SHARE
from tclose_spark.table.arrays import FloatArray, IntArray

CUTS = 12  # of a numeric quasi-identifier, in each node


@structure
class Regions(NamedTuple):
    """Candidate regions, and room for more."""

    where: (
        IntArray  # quasi-identifier, first and last place among its present codes, shape (most, 3)
    )
    inner: FloatArray  # the width of the region, shape (most,)
    outer: FloatArray  # the width of the rest, shape (most,)
    bound: FloatArray  # an upper bound on the score, shape (most,)


@kernel
def binary_entropy(p: float) -> float:
    """Bits of a choice with probability p, 0 < p < 1."""
    return -(p * log2(p) + (1.0 - p) * log2(1.0 - p))


@kernel
def add_region(
    count: int,
    region: tuple[int, int, int],
    least: int,
    present: PresentCodes,
    widths: LabelWidths,
    regions: Regions,
) -> int:
    """Add the region (j, a, b), the present codes a..b of j, if both sides are large enough and it
    can gain; how many regions there are now.

    Its bound: a carved part of share p gains at most p (w0 - inner), and p / binary_entropy(p)
    grows with p, so it is highest with all rows of the region.
    """
    j, a, b = region
    length = present.length[j]
    size = present.below[j, b + 1] - present.below[j, a]
    rows = present.below[j, length]
    if (
        size < least
        or rows - size < least
        or size < SMALLEST_SHARE * rows
        or count >= len(regions.bound)
    ):
        return count
    codes = present.codes[j]
    w0 = width(j, codes[0], codes[length - 1], widths)
    inner = width(j, codes[a], codes[b], widths)
    lowest = codes[0] if a > 0 else codes[b + 1]
    highest = codes[length - 1] if b < length - 1 else codes[a - 1]
    outer = width(j, lowest, highest, widths)
    p = size / rows
    gain = max(p * (w0 - inner), w0 - p * inner - (1.0 - p) * outer)
    if gain <= 0.0:
        return count
    regions.where[count, 0] = j
    regions.where[count, 1] = a
    regions.where[count, 2] = b
    regions.inner[count], regions.outer[count], regions.bound[count] = (
        inner,
        outer,
        gain / binary_entropy(p),
    )
    return count + 1


@kernel
def propose_cuts(
    count: int,
    j: int,
    least: int,
    present: PresentCodes,
    widths: LabelWidths,
    regions: Regions,
) -> int:
    """Add prefixes and suffixes of a numeric quasi-identifier at cuts of nearly equal mass; missing
    values are separate.
    """
    start = 0
    length = present.length[j]
    rows = present.below[j, length]
    if widths.missing[j] and present.codes[j, 0] == 0:
        count = add_region(count, (j, start, start), least, present, widths, regions)
        start += 1
        count = add_region(count, (j, start, length - 1), least, present, widths, regions)
    last = -1
    known = rows - present.below[j, start]
    for x in range(start, length - 1):
        below = present.below[j, x + 1]
        bin_ = (below - present.below[j, start]) * CUTS // known
        if bin_ != last and below >= least and rows - below >= least:
            last = bin_
            count = add_region(count, (j, start, x), least, present, widths, regions)
            count = add_region(count, (j, x + 1, length - 1), least, present, widths, regions)
    return count


@kernel
def propose_nodes(
    count: int,
    j: int,
    least: int,
    present: PresentCodes,
    widths: LabelWidths,
    regions: Regions,
) -> int:
    """Add the single values of a categorical quasi-identifier, then the hierarchy nodes with more
    than one child.
    """
    codes = present.codes[j]
    length = present.length[j]
    nodes = widths.nodes[j]
    for a in range(length):
        count = add_region(count, (j, a, a), least, present, widths, regions)
    if widths.kinds[j] != NODE:
        return count
    for height in range(1, len(nodes)):
        a = 0
        for b in range(length):
            if b + 1 < length and nodes[height, codes[b + 1]] == nodes[height, codes[a]]:
                continue
            if b > a and nodes[height - 1, codes[a]] != nodes[height - 1, codes[b]]:
                count = add_region(count, (j, a, b), least, present, widths, regions)
            a = b + 1
    return count
