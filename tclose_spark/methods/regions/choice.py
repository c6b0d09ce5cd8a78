"""Which split of a part: each one is checked exactly, child by child, before it is thought of."""

from __future__ import annotations

import numpy as np

from tclose_spark.kernels import kernel, log2
from tclose_spark.kernels.widths import width
from tclose_spark.methods.blocks.holding import add_cell, closeness_ratio, holds
from tclose_spark.methods.regions.axes import NODES
from tclose_spark.methods.regions.children import find_children, first_cut, last_cut, order_rows
from tclose_spark.methods.regions.space import MEDIAN, CutRules, CutWorkspace
from tclose_spark.table.arrays import IntArray

FLOOR = 0.02  # no closeness ratio is aimed at below this
NONE = -1e18  # the score of what is no split
LATE = -1e9  # added to the score of a split that passes the limit of its depth: it is taken where no other is left


@kernel
def count_values(rows: IntArray, rules: CutRules, values: IntArray) -> None:
    """values: rows by sensitive value."""
    values[:] = 0
    for row in rows:
        add_cell(values, rules.cell[row], 1, rules.requirement.codes)


@kernel
def part_width(j: int, rules: CutRules, space: CutWorkspace) -> float:
    """The width of a part's label of j."""
    return width(j, space.codes[j, 0], space.codes[j, space.length[j] - 1], rules.widths)


@kernel
def lost_rows(size: int, rules: CutRules, space: CutWorkspace) -> float:
    """The information loss of a part as a class, in rows times quasi-identifiers."""
    total = 0.0
    for j in range(len(rules.columns)):
        total += size * part_width(j, rules, space)
    return total


@kernel
def limit_of(size: int, way: int, rules: CutRules) -> float:
    """The closeness ratio that the children of a part of so many rows may have, by its depth: it is spent little by
    little.
    """
    later = log2(max(size * rules.way.scale / (2.0 * rules.requirement.k), 1.0))
    return float(max(FLOOR, 1.0 - rules.way.slack[way] * later) * rules.way.ceiling)


@kernel
def rate(j: int, cut: int, rows: IntArray, ratio: float, way: int, rules: CutRules, space: CutWorkspace) -> float:
    """The score of a split: the width gained for the bits that it takes and for the closeness ratio that is spent; NONE
    if a child does not hold what is required.

    ratio: of the part. space.whole: its rows by value; space.inside: with `cut` above 0 and one cut in two, the rows
    below it, counted already.
    """
    parts = find_children(j, cut, rules, space)
    if parts == 0:
        return NONE
    starts, below, codes, k = space.starts, space.below[j], space.codes[j], rules.requirement.k
    for x in range(parts):
        if below[starts[x + 1]] - below[starts[x]] < k:
            return NONE
    gain, bits, spent, worst = part_width(j, rules, space), 0.0, 0.0, 0.0
    for x in range(parts):
        first, end = below[starts[x]], below[starts[x + 1]]
        size = end - first
        if parts == 2 and rules.axes.kinds[j] < NODES:
            if x == 1:
                for s in range(space.whole.shape[0]):
                    for v in range(space.whole.shape[1]):
                        space.outside[s, v] = space.whole[s, v] - space.inside[s, v]
            values = space.outside if x == 1 else space.inside
        else:
            values = space.outside
            values[:] = 0
            for i in range(first, end):
                add_cell(values, rules.cell[rows[space.order[j, i]]], 1, rules.requirement.codes)
        if not holds(values, size, rules.requirement, space.excess):
            return NONE
        reached, p = closeness_ratio(values, size, rules.requirement, space.excess), size / len(rows)
        worst = max(worst, reached)
        spent += p * reached
        bits -= p * log2(p)
        gain -= p * width(j, codes[starts[x]], codes[starts[x + 1] - 1], rules.widths)
    if worst > rules.way.ceiling:
        return NONE
    score = gain / (bits + rules.way.price[way] * max(0.0, spent - ratio))
    return float(score if worst <= limit_of(len(rows), way, rules) else score + LATE)


@kernel
def keep(found: int, score: float, j: int, cut: int, space: CutWorkspace) -> int:
    """Keeps a split among the best, as many as there is room for; how many there are now."""
    splits, scores = space.splits, space.scores
    place = found
    while place > 0 and scores[place - 1] < score:
        place -= 1
    if place == len(scores):
        return found
    found = min(found + 1, len(scores))
    for x in range(found - 1, place, -1):
        scores[x], splits[x, 0], splits[x, 1] = scores[x - 1], splits[x - 1, 0], splits[x - 1, 1]
    scores[place], splits[place, 0], splits[place, 1] = score, j, cut
    return found


@kernel
def find_best(rows: IntArray, way: int, rules: CutRules, space: CutWorkspace) -> int:
    """The splits of a part with the best scores, best first, into space.splits; how many."""
    found, size = 0, len(rows)
    ratio = closeness_ratio(space.whole, size, rules.requirement, space.excess)
    for j in range(len(rules.columns)):
        if space.length[j] < 2 or space.banned[j]:
            continue
        space.inside[:] = 0
        counted, mark, below = 0, 0, space.below[j]
        for cut in range(first_cut(j, rules, space), last_cut(j, rules, space) + 1):
            if below[cut] * rules.way.cuts < mark * size and cut < last_cut(j, rules, space):
                continue
            mark = below[cut] * rules.way.cuts // size + 1
            while counted < below[cut]:
                add_cell(space.inside, rules.cell[rows[space.order[j, counted]]], 1, rules.requirement.codes)
                counted += 1
            score = rate(j, cut, rows, ratio, way, rules, space)
            if score > NONE:
                found = keep(found, score, j, cut, space)
    return found


@kernel
def median(j: int, rules: CutRules, space: CutWorkspace) -> int:
    """The place of the cut that is nearest to the median of a part, of those at which labels do not meet; the lower one
    of two. 0 if there is none.
    """
    below, best = space.below[j], 0
    size = below[space.length[j]]
    for cut in range(first_cut(j, rules, space), last_cut(j, rules, space) + 1):
        nearer = best == 0 or abs(2 * below[cut] - size) < abs(2 * below[best] - size)
        if nearer and find_children(j, cut, rules, space) > 0:
            best = cut
    return best


@kernel
def find_median(rows: IntArray, rules: CutRules, space: CutWorkspace) -> int:
    """1 and the split into space.splits: at the median of the quasi-identifier of the widest label, of those that hold;
    0 if none does. Ties of widths go to the first one.
    """
    q, last, at = len(rules.columns), np.inf, -1
    for _ in range(q):
        best, widest = -1, -1.0
        for j in range(q):  # the next one in the order of widths, then of places
            wide = part_width(j, rules, space)
            if (wide < last or (wide == last and j > at)) and wide > widest:
                best, widest = j, wide
        last, at = widest, best
        if best < 0 or space.length[best] < 2 or space.banned[best]:
            continue
        cut = median(best, rules, space)
        if cut == 0:
            continue
        space.inside[:] = 0
        for i in range(space.below[best, cut]):
            add_cell(space.inside, rules.cell[rows[space.order[best, i]]], 1, rules.requirement.codes)
        if rate(best, cut, rows, 1.0, 0, rules, space) > NONE:
            space.splits[0, 0], space.splits[0, 1] = best, cut
            return 1
    return 0


@kernel
def enter(rows: IntArray, rules: CutRules, space: CutWorkspace) -> bool:
    """Looks at a part: space.codes with the rest, and space.whole; whether it is large enough to be divided."""
    for j in range(len(rules.columns)):
        order_rows(j, rows, rules, space)
    if len(rows) <= rules.way.stop or len(rows) < 2 * rules.requirement.k:
        return False
    count_values(rows, rules, space.whole)
    return True


@kernel
def find_splits(rows: IntArray, way: int, rules: CutRules, space: CutWorkspace) -> int:
    """The splits of a part that `enter` looked at that are worth trying, best first, into space.splits; how many."""
    if rules.way.choice == MEDIAN:
        return find_median(rows, rules, space)
    return find_best(rows, way, rules, space)
