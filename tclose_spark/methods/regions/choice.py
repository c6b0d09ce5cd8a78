"""The choice of a split for a part. Only splits whose children all meet the requirement, exactly, are considered."""

from __future__ import annotations

import numpy as np

from tclose_spark.kernels import kernel, log2
from tclose_spark.kernels.widths import width
from tclose_spark.methods.blocks.holding import add_cell, closeness_ratio, holds
from tclose_spark.methods.regions.axes import NODES
from tclose_spark.methods.regions.children import find_children, first_cut, last_cut, order_rows
from tclose_spark.methods.regions.workspace import MEDIAN, CutInputs, CutWorkspace
from tclose_spark.table.arrays import IntArray

FLOOR = 0.02  # the lowest limit for a closeness ratio
NONE = -1e18  # the score of a split that is not allowed
OVERSPENT = -1e9  # added to the score of a split above the limit of its depth, which is taken only if there is no other


@kernel
def count_values(rows: IntArray, inputs: CutInputs, values: IntArray) -> None:
    """Set values to the rows by sensitive value."""
    values[:] = 0
    for row in rows:
        add_cell(values, inputs.cell[row], 1, inputs.requirement)


@kernel
def part_width(j: int, inputs: CutInputs, work: CutWorkspace) -> float:
    """The width of a part's label of quasi-identifier j."""
    return width(j, work.present.codes[j, 0], work.present.codes[j, work.present.length[j] - 1], inputs.widths)


@kernel
def lost_rows(size: int, inputs: CutInputs, work: CutWorkspace) -> float:
    """The information loss of a part as a class, in rows times quasi-identifiers."""
    total = 0.0
    for j in range(len(inputs.columns)):
        total += size * part_width(j, inputs, work)
    return total


@kernel
def limit_of(size: int, scoring: int, inputs: CutInputs) -> float:
    """The highest closeness ratio allowed for the children of a part of so many rows. It rises with each halving."""
    later = log2(max(size * inputs.rule.scale / (2.0 * inputs.requirement.k), 1.0))
    return float(max(FLOOR, 1.0 - inputs.rule.slack[scoring] * later) * inputs.rule.ceiling)


@kernel
def rate(j: int, cut: int, rows: IntArray, ratio: float, scoring: int, inputs: CutInputs, work: CutWorkspace) -> float:
    """The score of a split: width gained, divided by the bits of the split and the price of the closeness ratio spent.
    NONE if a child fails the requirement.

    ratio: of the part. work.whole: its rows by value; work.inside: of a cut in two, the rows below it.
    """
    parts = find_children(j, cut, inputs, work)
    if parts == 0:
        return NONE
    starts, below, codes, k = work.starts, work.present.below[j], work.present.codes[j], inputs.requirement.k
    for x in range(parts):
        if below[starts[x + 1]] - below[starts[x]] < k:
            return NONE
    gain, bits, spent, worst = part_width(j, inputs, work), 0.0, 0.0, 0.0
    for x in range(parts):
        first, end = below[starts[x]], below[starts[x + 1]]
        size = end - first
        if parts == 2 and inputs.axes.kinds[j] < NODES:
            if x == 1:
                for s in range(work.whole.shape[0]):
                    for v in range(work.whole.shape[1]):
                        work.outside[s, v] = work.whole[s, v] - work.inside[s, v]
            values = work.outside if x == 1 else work.inside
        else:
            values = work.outside
            values[:] = 0
            for i in range(first, end):
                add_cell(values, inputs.cell[rows[work.order[j, i]]], 1, inputs.requirement)
        if not holds(values, size, inputs.requirement, work.excess):
            return NONE
        reached, p = closeness_ratio(values, size, inputs.requirement, work.excess), size / len(rows)
        worst = max(worst, reached)
        spent += p * reached
        bits -= p * log2(p)
        gain -= p * width(j, codes[starts[x]], codes[starts[x + 1] - 1], inputs.widths)
    if worst > inputs.rule.ceiling:
        return NONE
    score = gain / (bits + inputs.rule.price[scoring] * max(0.0, spent - ratio))
    return float(score if worst <= limit_of(len(rows), scoring, inputs) else score + OVERSPENT)


@kernel
def insert_split(found: int, score: float, j: int, cut: int, work: CutWorkspace) -> int:
    """Insert a split among the best found so far, as long as there is room; how many there are now."""
    splits, scores = work.splits, work.scores
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
def find_best(rows: IntArray, scoring: int, inputs: CutInputs, work: CutWorkspace) -> int:
    """Set work.splits to the splits of a part with the best scores, best first; how many."""
    found, size = 0, len(rows)
    ratio = closeness_ratio(work.whole, size, inputs.requirement, work.excess)
    for j in range(len(inputs.columns)):
        if work.present.length[j] < 2 or work.banned[j]:
            continue
        work.inside[:] = 0
        counted, next_cut, below = 0, 0, work.present.below[j]
        for cut in range(first_cut(j, inputs, work), last_cut(j, inputs, work) + 1):
            if below[cut] * inputs.rule.cuts < next_cut * size and cut < last_cut(j, inputs, work):
                continue
            next_cut = below[cut] * inputs.rule.cuts // size + 1
            while counted < below[cut]:
                add_cell(work.inside, inputs.cell[rows[work.order[j, counted]]], 1, inputs.requirement)
                counted += 1
            score = rate(j, cut, rows, ratio, scoring, inputs, work)
            if score > NONE:
                found = insert_split(found, score, j, cut, work)
    return found


@kernel
def median(j: int, inputs: CutInputs, work: CutWorkspace) -> int:
    """The place of the cut nearest to the median of a part at which labels do not meet, the lower one of two; 0 if
    none.
    """
    below, best = work.present.below[j], 0
    size = below[work.present.length[j]]
    for cut in range(first_cut(j, inputs, work), last_cut(j, inputs, work) + 1):
        nearer = best == 0 or abs(2 * below[cut] - size) < abs(2 * below[best] - size)
        if nearer and find_children(j, cut, inputs, work) > 0:
            best = cut
    return best


@kernel
def find_median(rows: IntArray, inputs: CutInputs, work: CutWorkspace) -> int:
    """Set work.splits to the split at the median of the quasi-identifier with the widest label that can be split; how
    many splits that is, 0 or 1. Ties go to the first quasi-identifier.
    """
    q, last, at = len(inputs.columns), np.inf, -1
    for _ in range(q):
        best, widest = -1, -1.0
        for j in range(q):  # the next one in the order of widths, then of numbers
            wide = part_width(j, inputs, work)
            if (wide < last or (wide == last and j > at)) and wide > widest:
                best, widest = j, wide
        last, at = widest, best
        if best < 0 or work.present.length[best] < 2 or work.banned[best]:
            continue
        cut = median(best, inputs, work)
        if cut == 0:
            continue
        work.inside[:] = 0
        for i in range(work.present.below[best, cut]):
            add_cell(work.inside, inputs.cell[rows[work.order[best, i]]], 1, inputs.requirement)
        if rate(best, cut, rows, 1.0, 0, inputs, work) > NONE:
            work.splits[0, 0], work.splits[0, 1] = best, cut
            return 1
    return 0


@kernel
def examine(rows: IntArray, inputs: CutInputs, work: CutWorkspace) -> bool:
    """Set work.order, work.present and work.whole for a part; whether it is large enough to be divided."""
    for j in range(len(inputs.columns)):
        order_rows(j, rows, inputs, work)
    if len(rows) <= inputs.rule.stop or len(rows) < 2 * inputs.requirement.k:
        return False
    count_values(rows, inputs, work.whole)
    return True


@kernel
def find_splits(rows: IntArray, scoring: int, inputs: CutInputs, work: CutWorkspace) -> int:
    """Set work.splits to the splits worth trying of the part that was examined last, best first; how many."""
    if inputs.rule.criterion == MEDIAN:
        return find_median(rows, inputs, work)
    return find_best(rows, scoring, inputs, work)
