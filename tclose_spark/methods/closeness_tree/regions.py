"""The regions of a node that may be split off: stretches of the codes of one quasi-identifier, each with a bound on
what it can gain.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tclose_spark.kernels import kernel, log2
from tclose_spark.kernels.widths import NODE, width
from tclose_spark.methods.closeness_tree.peel import SMALLEST_SHARE

CUTS = 12


class Ruler(NamedTuple):
    """The arrays of `Widths` that `width` takes."""

    kinds: Any
    missing: Any
    place: Any
    nodes: Any
    shares: Any


class Present(NamedTuple):
    """The codes that occur in a node, ascending, with prefix sums: rows of present codes 0..i-1 are below[j, i]."""

    codes: Any  # (q, longest)
    below: Any  # (q, longest + 1)
    length: Any  # (q,)


class Regions(NamedTuple):
    """Candidate regions: where is (most, 3): quasi-identifier, first and last place among its present codes; then
    widths of the region and of the rest, and an upper bound on the score, each (most,).
    """

    where: Any
    inner: Any
    outer: Any
    bound: Any


@kernel
def span(j: int, lo: int, hi: int, ruler: Ruler) -> float:
    """The width of lo..hi."""
    return float(width(j, lo, hi, ruler.kinds, ruler.missing, ruler.place, ruler.nodes, ruler.shares))


@kernel
def entropy(p: float) -> float:
    """Bits of a choice with probability p, 0 < p < 1."""
    return -(p * log2(p) + (1.0 - p) * log2(1.0 - p))


@kernel
def heap_sort(values: Any) -> None:
    """Sort in place, ascending."""
    size = len(values)
    for first in range(size // 2 - 1, -1, -1):
        sift(values, first, size)
    for last in range(size - 1, 0, -1):
        values[0], values[last] = values[last], values[0]
        sift(values, 0, last)


@kernel
def sift(values: Any, at: int, size: int) -> None:
    """Let the value at `at` sink until none below it, in the heap of the first `size`, is larger."""
    value = values[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and values[child + 1] > values[child]:
            child += 1
        if values[child] <= value:
            break
        values[at] = values[child]
        at = child
    values[at] = value


@kernel
def find_present(j: int, column: Any, domain: int, tally: Any, order: Any, present: Present) -> None:
    """Fill `present` for quasi-identifier j: by counting, or by sorting (in `order`) where the domain is much larger
    than the node.
    """
    size, length = len(column), 0
    present.below[j, 0] = 0
    if domain <= 8 * size:
        for code in column:
            tally[code] += 1
        for code in range(domain):
            if tally[code] > 0:
                present.codes[j, length] = code
                present.below[j, length + 1] = present.below[j, length] + tally[code]
                length += 1
                tally[code] = 0
    else:
        for i in range(size):
            order[i] = column[i]
        heap_sort(order[:size])
        for code in order[:size]:
            if length == 0 or present.codes[j, length - 1] != code:
                present.codes[j, length] = code
                present.below[j, length + 1] = present.below[j, length]
                length += 1
            present.below[j, length] += 1
    present.length[j] = length


@kernel
def add_region(
    found: int, j: int, a: int, b: int, rows: int, least: int, present: Present, ruler: Ruler, regions: Regions
) -> int:
    """Add the region of present codes a..b of j, if both sides are large enough and it can gain; how many there are
    now.

    The bound: a carved part of share p gains at most p (w0 - inner) and p / entropy(p) grows with p, so p of all its
    rows.
    """
    length = present.length[j]
    size = present.below[j, b + 1] - present.below[j, a]
    if size < least or rows - size < least or size < SMALLEST_SHARE * rows or found >= len(regions.bound):
        return found
    codes = present.codes[j]
    w0 = span(j, codes[0], codes[length - 1], ruler)
    inner = span(j, codes[a], codes[b], ruler)
    outer = span(j, codes[0] if a > 0 else codes[b + 1], codes[length - 1] if b < length - 1 else codes[a - 1], ruler)
    p = size / rows
    gain = max(p * (w0 - inner), w0 - p * inner - (1.0 - p) * outer)
    if gain <= 0.0:
        return found
    regions.where[found, 0], regions.where[found, 1], regions.where[found, 2] = j, a, b
    regions.inner[found], regions.outer[found], regions.bound[found] = inner, outer, gain / entropy(p)
    return found + 1


@kernel
def propose_cuts(found: int, j: int, rows: int, least: int, present: Present, ruler: Ruler, regions: Regions) -> int:
    """The prefixes and suffixes of a numeric quasi-identifier at cuts of nearly equal mass; the missing value apart."""
    start, length = 0, present.length[j]
    if ruler.missing[j] and present.codes[j, 0] == 0:
        start = 1
        found = add_region(found, j, 0, 0, rows, least, present, ruler, regions)
        found = add_region(found, j, 1, length - 1, rows, least, present, ruler, regions)
    last, known = -1, rows - present.below[j, start]
    for x in range(start, length - 1):
        below = present.below[j, x + 1]
        bin_ = (below - present.below[j, start]) * CUTS // known
        if bin_ != last and below >= least and rows - below >= least:
            last = bin_
            found = add_region(found, j, start, x, rows, least, present, ruler, regions)
            found = add_region(found, j, x + 1, length - 1, rows, least, present, ruler, regions)
    return found


@kernel
def propose_nodes(found: int, j: int, rows: int, least: int, present: Present, ruler: Ruler, regions: Regions) -> int:
    """The single values of a categorical quasi-identifier, then the nodes of its hierarchy that hold more than a
    child.
    """
    codes, length, nodes = present.codes[j], present.length[j], ruler.nodes[j]
    for a in range(length):
        found = add_region(found, j, a, a, rows, least, present, ruler, regions)
    if ruler.kinds[j] != NODE:
        return found
    for height in range(1, len(nodes)):
        a = 0
        for b in range(length):
            if b + 1 < length and nodes[height, codes[b + 1]] == nodes[height, codes[a]]:
                continue
            if b > a and nodes[height - 1, codes[a]] != nodes[height - 1, codes[b]]:
                found = add_region(found, j, a, b, rows, least, present, ruler, regions)
            a = b + 1
    return found
