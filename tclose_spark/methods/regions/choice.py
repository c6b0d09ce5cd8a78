"""The choice of a split for a part. Only splits whose children all meet the requirement, exactly,
are considered.
"""

from __future__ import annotations

from tclose_spark.kernels import kernel, log2
from tclose_spark.kernels.widths import width
from tclose_spark.methods.blocks.holding import add_cell, closeness_ratio, holds
from tclose_spark.methods.regions.block import NODES
from tclose_spark.methods.regions.children import find_children, first_cut, last_cut, order_rows
from tclose_spark.methods.regions.workspace import CutInputs, CutWorkspace
from tclose_spark.table.arrays import IntArray

NONE = -1e18  # the score of a split that is not allowed


@kernel
def count_part(rows: IntArray, inputs: CutInputs, values: IntArray) -> None:
    """Set values to the rows by sensitive value."""
    values[:] = 0
    for row in rows:
        add_cell(values, inputs.cell[row], 1, inputs.requirement)


@kernel
def part_width(j: int, inputs: CutInputs, work: CutWorkspace) -> float:
    """The width of a part's label of quasi-identifier j."""
    return width(
        j,
        work.present.codes[j, 0],
        work.present.codes[j, work.present.length[j] - 1],
        inputs.widths,
    )


@kernel
def lost_rows(size: int, inputs: CutInputs, work: CutWorkspace) -> float:
    """The information loss of a part as a class, in rows times quasi-identifiers."""
    total = 0.0
    for j in range(len(inputs.columns)):
        total += size * part_width(j, inputs, work)
    return total


@kernel
def rate(j: int, cut: int, rows: IntArray, inputs: CutInputs, work: CutWorkspace) -> float:
    """The score of a split: width gained, divided by the bits of the split. NONE if a child fails
    the requirement.

    work.whole: the part's rows by value; work.inside: of a cut in two, the rows below it.
    """
    parts = find_children(j, cut, inputs, work)
    if parts == 0:
        return NONE
    starts = work.starts
    below = work.present.below[j]
    codes = work.present.codes[j]
    k = inputs.requirement.k
    for x in range(parts):
        if below[starts[x + 1]] - below[starts[x]] < k:
            return NONE
    gain = part_width(j, inputs, work)
    bits = 0.0
    ceiling = inputs.rule.ceiling
    for x in range(parts):
        first = below[starts[x]]
        end = below[starts[x + 1]]
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
        if (
            ceiling < 1.0
            and closeness_ratio(values, size, inputs.requirement, work.excess) > ceiling
        ):
            return NONE
        p = size / len(rows)
        bits -= p * log2(p)
        gain -= p * width(j, codes[starts[x]], codes[starts[x + 1] - 1], inputs.widths)
    return gain / bits


@kernel
def insert_split(found: int, score: float, j: int, cut: int, most: int, work: CutWorkspace) -> int:
    """Insert a split among the best found so far, of which at most `most` are of one
    quasi-identifier, as long as there is room; how many there are now.
    """
    splits = work.splits
    scores = work.scores
    same = 0
    last = 0
    for x in range(found):
        if splits[x, 0] == j:
            same = same + 1
            last = x
    if same == most:  # the one with the lowest score makes room
        if scores[last] >= score:
            return found
        found -= 1
        for x in range(last, found):
            scores[x], splits[x, 0], splits[x, 1] = (
                scores[x + 1],
                splits[x + 1, 0],
                splits[x + 1, 1],
            )
    place = found
    while place > 0 and scores[place - 1] < score:
        place -= 1
    if place == len(scores):
        return found
    found = min(found + 1, len(scores))
    for x in range(found - 1, place, -1):
        scores[x], splits[x, 0], splits[x, 1] = scores[x - 1], splits[x - 1, 0], splits[x - 1, 1]
    scores[place] = score
    splits[place, 0] = j
    splits[place, 1] = cut
    return found


@kernel
def median(j: int, inputs: CutInputs, work: CutWorkspace) -> int:
    """The place of the cut nearest to the median of a part at which labels do not meet, the lower
    one of two; 0 if none.
    """
    below = work.present.below[j]
    best = 0
    size = below[work.present.length[j]]
    for cut in range(first_cut(j, inputs, work), last_cut(j, inputs, work) + 1):
        nearer = best == 0 or abs(2 * below[cut] - size) < abs(2 * below[best] - size)
        if nearer and find_children(j, cut, inputs, work) > 0:
            best = cut
    return best


@kernel
def is_banned(j: int, rows: IntArray, inputs: CutInputs, work: CutWorkspace) -> bool:
    """Whether a part is the whole block, and that is not to be divided by quasi-identifier j."""
    return bool(len(rows) == len(inputs.cell) and work.banned[j])


@kernel
def find_splits(rows: IntArray, inputs: CutInputs, work: CutWorkspace) -> int:
    """Set work.splits to the splits worth trying of the part that was examined last, best first;
    how many.
    """
    found = 0
    size = len(rows)
    rule = inputs.rule
    for j in range(len(inputs.columns)):
        if work.present.length[j] < 2 or is_banned(j, rows, inputs, work):
            continue
        work.inside[:] = 0
        counted = 0
        next_cut = 0
        below = work.present.below[j]
        first = first_cut(j, inputs, work)
        last = last_cut(j, inputs, work)
        if rule.cuts == 0:
            first = last = median(j, inputs, work)
        for cut in range(max(first, 1), last + 1):
            if below[cut] * rule.cuts < next_cut * size and cut < last:
                continue
            next_cut = below[cut] * rule.cuts // size + 1
            while counted < below[cut]:
                add_cell(
                    work.inside,
                    inputs.cell[rows[work.order[j, counted]]],
                    1,
                    inputs.requirement,
                )
                counted += 1
            score = rate(j, cut, rows, inputs, work)
            if score > NONE and rule.cuts == 0:
                score = part_width(j, inputs, work)  # as Mondrian does, the first of equal ones
            if score > NONE:
                found = insert_split(found, score, j, cut, rule.each, work)
    return found


@kernel
def examine(rows: IntArray, inputs: CutInputs, work: CutWorkspace) -> bool:
    """Set work.order, work.present and work.whole for a part; whether it is large enough to be
    divided.
    """
    for j in range(len(inputs.columns)):
        order_rows(j, rows, inputs, work)
    if len(rows) <= inputs.rule.stop or len(rows) < 2 * inputs.requirement.k:
        return False
    count_part(rows, inputs, work.whole)
    return True
