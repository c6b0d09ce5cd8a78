"""The best way to split a node: which region of which quasi-identifier, and how many rows of each cell go left.

What goes left is described by a region (codes first..last of a quasi-identifier) and `Space.take`, rows of it by cell;
or, for aligned halves, by the cells' buckets: of each bucket the lower half of its rows in the order of the codes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tclose_spark.kernels import kernel
from tclose_spark.kernels.widths import NUMBER
from tclose_spark.methods.closeness_tree.loads import Asked
from tclose_spark.methods.closeness_tree.peel import NEARLY, SMALLEST_SHARE, Goal, largest_part, peel, worst
from tclose_spark.methods.closeness_tree.regions import (
    Present,
    Regions,
    Ruler,
    entropy,
    find_present,
    propose_cuts,
    propose_nodes,
    span,
)

REGION, HALVES = 1, 2
TARGETS = 3
FLOOR = 0.02  # no load is aimed at below this
HOPELESS = 0.62  # aligned halves seldom score more than this share of the width they split


class Space(NamedTuple):
    """Arrays to work in, made once for a block."""

    present: Present
    regions: Regions
    tally: Any  # (longest domain,), zero between uses
    part: Any  # (cells,), rows of the part that is tried, by the node's cells
    take: Any  # (cells,), those of the best part so far
    whole: Any  # (attributes, values), the node's rows by value
    inside: Any  # (attributes, values), those of the part that is tried
    outside: Any  # (attributes, values), those of the rest
    slope: Any  # (values,), of `peel`
    order: Any  # (rows,), rows sorted by a quasi-identifier
    left: Any  # (rows,), which rows go left
    other: Any  # (rows,), rows that go right, on their way
    cell: Any  # (rows,), Node.cell
    cells: Any  # (cells,), Node.cells
    quota: Any  # (cells,), rows of each cell, or bucket, that may still go left
    counted: Any  # (cells,), rows of each cell in the region, where a split is written down
    taken: Any  # (cells,), those of them that go left
    sides: Any  # (2, attributes, values), rows of both sides by value, for the exact test


class Rules(NamedTuple):
    """What holds for all nodes: a level of `buckets` (levels, cells) gives the bucket of every cell; `least` rows are
    the smallest side worth trying; `price` is the cost of a unit of load, in bits; `surely` the share of
    a limit at which integers hardly ever refuse what floats pass.
    """

    ruler: Ruler
    goal: Goal
    asked: Asked
    buckets: Any
    domains: Any
    least: Any
    price: Any
    surely: Any


class Node(NamedTuple):
    """The rows start..end-1 of `rows` (q + 2, n): codes of each quasi-identifier, the cell, the row's number. cells:
    the cells that occur, ascending; cell[i]: the place of row start + i's cell in them; load: of the node.
    """

    rows: Any
    start: Any
    end: Any
    cells: Any
    cell: Any
    load: Any


class Found(NamedTuple):
    """The best split so far; kind 0: none. j, first, last: the region, as codes. level: the buckets of aligned
    halves.
    """

    score: float
    kind: int
    j: int
    first: int
    last: int
    level: int


@kernel
def propose_all(node: Node, rules: Rules, space: Space) -> int:
    """All regions of a node, into space.regions and space.present; how many."""
    rows, found = node.end - node.start, 0
    for j in range(len(rules.domains)):
        find_present(j, node.rows[j, node.start : node.end], rules.domains[j], space.tally, space.order, space.present)
        if space.present.length[j] < 2:
            continue
        if rules.ruler.kinds[j] == NUMBER:
            found = propose_cuts(found, j, rows, rules.least, space.present, rules.ruler, space.regions)
        else:
            found = propose_nodes(found, j, rows, rules.least, space.present, rules.ruler, space.regions)
    return found


@kernel
def by_value(by_cell: Any, cells: Any, codes: Any, values: Any) -> None:
    """values[s, v]: rows of each value, from rows by cell."""
    values[:] = 0.0
    for c in range(len(cells)):
        if by_cell[c] != 0.0:
            for s in range(codes.shape[1]):
                values[s, codes[cells[c], s]] += by_cell[c]


@kernel
def subtract(whole: Any, part: Any, rest: Any) -> None:
    """rest: whole - part, value by value."""
    for s in range(whole.shape[0]):
        for v in range(whole.shape[1]):
            rest[s, v] = whole[s, v] - part[s, v]


@kernel
def is_diverse(values: Any, domains: Any, distinct: Any) -> bool:
    """Whether every attribute has as many values as asked; values: (attributes, values), in bins where there are
    many.
    """
    for s in range(len(distinct)):
        found = 0
        for v in range(domains[s]):
            found += values[s, v] > 0.0
            if found >= distinct[s]:
                break
        if found < distinct[s]:
            return False
    return True


@kernel
def rate(gain: float, p: float, inside: float, outside: float, before: float, price: float) -> float:
    """The score of a split: width gained for the bits it takes and for the load it adds."""
    return gain / (entropy(p) + price * max(0.0, p * inside + (1.0 - p) * outside - before))


@kernel
def try_region(best: float, r: int, limit: float, node: Node, rules: Rules, space: Space) -> float:
    """The best score of a region if it beats `best` (then space.take holds what goes left), else `best`.

    The region itself where it and the rest fit; else what is carved from it, for loads lower and lower: each begins
    where the one before it ended, and a part of that size bounds what is left to gain.
    """
    j, a, b = space.regions.where[r]
    codes, rows, goal = space.present.codes[j], node.end - node.start, rules.goal
    inner, u = space.regions.inner[r], len(node.cells)
    part, inside, outside = space.part[:u], space.inside, space.outside
    count_region(node.rows[j, node.start : node.end], codes[a], codes[b], node.cell, part)
    size = float(space.present.below[j, b + 1] - space.present.below[j, a])
    by_value(part, node.cells, goal.codes, inside)
    subtract(space.whole, inside, outside)
    w0 = span(j, codes[0], codes[space.present.length[j] - 1], rules.ruler)
    load_in, _ = worst(inside, size, goal)
    load_out, _ = worst(outside, rows - size, goal)
    share = size / rows
    if max(load_in, load_out) <= limit * NEARLY:
        gain = w0 - share * inner - (1.0 - share) * space.regions.outer[r]
        return keep(best, rate(gain, share, load_in, load_out, node.load, rules.price), part, rules, space)
    smallest, low = max(float(rules.least), SMALLEST_SHARE * size), max(node.load, FLOOR)
    bound = largest_part(inside, size, limit, goal)
    if bound < smallest:
        return best
    share = min(share, bound / rows)
    for step in range(TARGETS):
        if inner >= w0 - 1e-12 or share * (w0 - inner) <= best * entropy(share):
            break
        target = limit if step == 0 else low + (limit - low) * (1.0 - step / TARGETS)
        size = peel(part, node.cells, inside, outside, size, rows, target, smallest, goal, space.slope)
        if size <= 0.0:
            break
        load_in, _ = worst(inside, size, goal)
        load_out, _ = worst(outside, rows - size, goal)
        share = size / rows
        best = keep(
            best, rate(share * (w0 - inner), share, load_in, load_out, node.load, rules.price), part, rules, space
        )
    return best


@kernel
def count_region(column: Any, lo: int, hi: int, cell: Any, part: Any) -> None:
    """part: the rows with codes lo..hi, by cell."""
    part[:] = 0.0
    wide = np.uint32(hi - lo)
    for i in range(len(column)):
        part[cell[i]] += np.float64(np.uint32(column[i] - lo) <= wide)  # no branch: twice as fast


@kernel
def keep(best: float, score: float, part: Any, rules: Rules, space: Space) -> float:
    """The better of the two scores; if it is `score`, and both sides are diverse, space.take is the part."""
    if score <= best or not (
        is_diverse(space.inside, rules.goal.domains, rules.asked.distinct)
        and is_diverse(space.outside, rules.goal.domains, rules.asked.distinct)
    ):
        return best
    for c in range(len(part)):
        space.take[c] = part[c]
    return score


@kernel
def sort_rows(j: int, column: Any, present: Present, tally: Any, order: Any) -> None:
    """order: the rows in the order of their codes of j, those of one code as they stand. tally is left zero."""
    length = present.length[j]
    for x in range(length):
        tally[present.codes[j, x]] = present.below[j, x]
    for i in range(len(column)):
        order[tally[column[i]]] = i
        tally[column[i]] += 1
    for x in range(length):
        tally[present.codes[j, x]] = 0


@kernel
def halve(node: Node, bucket: Any, space: Space) -> int:
    """space.left[i]: whether row i is in the lower half of its bucket in the order space.order; how many are.

    bucket: of every cell. Odd rows go left and right by turns.
    """
    quota, size = space.quota, 0
    quota[:] = 0
    for c in node.cell:
        quota[bucket[node.cells[c]]] += 1
    odd = 0
    for x in range(len(quota)):
        odd += quota[x] & 1
        quota[x] = quota[x] // 2 + (quota[x] & odd & 1)
    for i in space.order[: len(node.cell)]:
        x = bucket[node.cells[node.cell[i]]]
        space.left[i] = quota[x] > 0
        if quota[x] > 0:
            quota[x] -= 1
            size += 1
    return size


@kernel
def try_halves(best: float, j: int, level: int, limit: float, node: Node, rules: Rules, space: Space) -> float:
    """The score of aligned halves of j if they fit and beat `best`, else `best`. space.order: the rows in the order of
    j.
    """
    column, rows = node.rows[j, node.start : node.end], node.end - node.start
    size = halve(node, rules.buckets[level], space)
    if size < rules.least or rows - size < rules.least:
        return best
    part = space.part[: len(node.cells)]
    part[:] = 0.0
    top, bottom = -1, -1
    for i in space.order[:rows]:
        if space.left[i]:
            part[node.cell[i]] += 1.0
            top = column[i]
        elif bottom < 0:
            bottom = column[i]
    codes = space.present.codes[j]
    lo, hi, p = codes[0], codes[space.present.length[j] - 1], size / rows
    gain = (
        span(j, lo, hi, rules.ruler) - p * span(j, lo, top, rules.ruler) - (1.0 - p) * span(j, bottom, hi, rules.ruler)
    )
    if gain <= best * entropy(p):
        return best
    by_value(part, node.cells, rules.goal.codes, space.inside)
    subtract(space.whole, space.inside, space.outside)
    load_in, _ = worst(space.inside, float(size), rules.goal)
    load_out, _ = worst(space.outside, float(rows - size), rules.goal)
    if max(load_in, load_out) > limit * NEARLY:
        return best
    return keep(best, rate(gain, p, load_in, load_out, node.load, rules.price), part, rules, space)


@kernel
def first_largest(bounds: Any) -> int:
    """Where the largest positive bound stands first, or -1."""
    found, largest = -1, 0.0
    for r in range(len(bounds)):
        if bounds[r] > largest:
            found, largest = r, bounds[r]
    return found


@kernel
def search(count: int, limit: float, node: Node, rules: Rules, space: Space) -> Found:
    """The best split of a node, of whose proposed regions there are `count`, with both loads within the limit.

    Regions in the order of their bounds, until no bound beats what was found; then aligned halves of numbers.
    space.whole: the node's counts by value.
    """
    best = Found(0.0, 0, -1, 0, 0, -1)
    bounds = space.regions.bound[:count]
    while True:
        r = first_largest(bounds)
        if r < 0 or bounds[r] <= best.score:
            break
        score = try_region(best.score, r, limit, node, rules, space)
        if score > best.score:
            j, a, b = space.regions.where[r]
            best = Found(score, REGION, j, space.present.codes[j, a], space.present.codes[j, b], -1)
        bounds[r] = -bounds[r]  # seen
    for r in range(count):
        bounds[r] = abs(bounds[r])
    for j in range(len(rules.domains)):
        codes, length = space.present.codes[j], space.present.length[j]
        if (
            rules.ruler.kinds[j] != NUMBER
            or length < 2
            or best.score >= HOPELESS * span(j, codes[0], codes[length - 1], rules.ruler)
        ):
            continue
        sort_rows(j, node.rows[j, node.start : node.end], space.present, space.tally, space.order)
        for level in range(len(rules.buckets)):
            score = try_halves(best.score, j, level, limit, node, rules, space)
            if score > best.score:
                best = Found(score, HALVES, j, codes[0], codes[length - 1], level)
    return best
