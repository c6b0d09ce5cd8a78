"""The best way to split a node: which region of which quasi-identifier, and how many rows of each cell go left.

What goes left is described by a region (codes first..last of a quasi-identifier) and `Space.take`, rows of it by cell;
or, for aligned halves, by the cells' buckets: of each bucket the lower half of its rows in the order of the codes.
"""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.kernels.widths import NUMBER, width
from tclose_spark.methods.closeness_tree.carve.goal import worst
from tclose_spark.methods.closeness_tree.carve.largest import largest_part
from tclose_spark.methods.closeness_tree.carve.node import (
    HALVES,
    NOTHING,
    REGION,
    Split,
    TreeNode,
    TreeRules,
    TreeWorkspace,
)
from tclose_spark.methods.closeness_tree.carve.peel import NEARLY, SMALLEST_SHARE, Division, peel
from tclose_spark.methods.closeness_tree.carve.regions import (
    Present,
    binary_entropy,
    find_present,
    propose_cuts,
    propose_nodes,
)
from tclose_spark.table.arrays import Codes, FloatArray, IntArray

TARGETS = 3
FLOOR = 0.02  # no closeness ratio is aimed at below this
HOPELESS = 0.62  # aligned halves seldom score more than this share of the width they split


@kernel
def propose_all(node: TreeNode, rules: TreeRules, space: TreeWorkspace) -> int:
    """All regions of a node, into space.regions and space.present; how many."""
    count = 0
    space.is_ordered[:] = False
    for j in range(len(rules.widths.domains)):
        find_present(
            j, node.rows[j, node.start : node.end], rules.widths.domains[j], space.tally, space.order, space.present
        )
        if space.present.length[j] < 2:
            continue
        if rules.widths.kinds[j] == NUMBER:
            count = propose_cuts(count, j, rules.least, space.present, rules.widths, space.regions)
        else:
            count = propose_nodes(count, j, rules.least, space.present, rules.widths, space.regions)
    return count


@kernel
def by_value(by_cell: FloatArray, cells: IntArray, codes: Codes, values: FloatArray) -> None:
    """values[s, v]: rows of each value, from rows by cell."""
    values[:] = 0.0
    for c in range(len(cells)):
        if by_cell[c] != 0.0:
            for s in range(codes.shape[1]):
                values[s, codes[cells[c], s]] += by_cell[c]


@kernel
def subtract(whole: FloatArray, part: FloatArray, rest: FloatArray) -> None:
    """rest: whole - part, value by value."""
    for s in range(whole.shape[0]):
        for v in range(whole.shape[1]):
            rest[s, v] = whole[s, v] - part[s, v]


@kernel
def is_diverse(values: FloatArray, domains: IntArray, distinct: IntArray) -> bool:
    """Whether every attribute has as many values as required; values: (attributes, values), in bins where there are
    many.
    """
    for s in range(len(distinct)):
        present = 0
        for v in range(domains[s]):
            present += values[s, v] > 0.0
            if present >= distinct[s]:
                break
        if present < distinct[s]:
            return False
    return True


@kernel
def rate(gain: float, p: float, inside: float, outside: float, before: float, price: float) -> float:
    """The score of a split: width gained for the bits it takes and for the closeness ratio it adds."""
    return gain / (binary_entropy(p) + price * max(0.0, p * inside + (1.0 - p) * outside - before))


@kernel
def try_region(best: float, r: int, limit: float, node: TreeNode, rules: TreeRules, space: TreeWorkspace) -> float:
    """The best score of a region if it beats `best` (then space.take holds what goes left), else `best`.

    The region itself where it and the rest fit; else what is carved from it, for ratios lower and lower: each begins
    where the one before it ended, and a part of that size bounds what is left to gain.
    """
    j, a, b = space.regions.where[r]
    codes, rows, goal = space.present.codes[j], node.end - node.start, rules.goal
    inner, u = space.regions.inner[r], len(node.cells)
    part, inside, outside = space.part[:u], space.inside, space.outside
    order_cells(j, node, space)
    count_region(j, a, b, rows, space, part)
    size = float(space.present.below[j, b + 1] - space.present.below[j, a])
    by_value(part, node.cells, goal.codes, inside)
    subtract(space.whole, inside, outside)
    w0 = width(j, codes[0], codes[space.present.length[j] - 1], rules.widths)
    ratio_in, _ = worst(inside, size, goal, space.scratch)
    ratio_out, _ = worst(outside, rows - size, goal, space.scratch)
    share = size / rows
    if max(ratio_in, ratio_out) <= limit * NEARLY:
        gain = w0 - share * inner - (1.0 - share) * space.regions.outer[r]
        return keep(best, rate(gain, share, ratio_in, ratio_out, node.ratio, rules.price), part, rules, space)
    smallest, low = max(float(rules.least), SMALLEST_SHARE * size), max(node.ratio, FLOOR)
    if inner >= w0 - 1e-12:
        return best
    division = Division(part=part, cells=node.cells, inside=inside, outside=outside, rows=float(rows))
    for step in range(TARGETS):
        target = limit if step == 0 else low + (limit - low) * (1.0 - step / TARGETS)
        bound = largest_part(inside, size, target, goal, space.scratch)
        if bound < smallest:
            break
        share = min(share, bound / rows)
        if share * (w0 - inner) <= best * binary_entropy(share):
            break
        size = peel(division, size, bound, target, smallest, goal, space.scratch)
        if size <= 0.0:
            break
        ratio_in, _ = worst(inside, size, goal, space.scratch)
        ratio_out, _ = worst(outside, rows - size, goal, space.scratch)
        share = size / rows
        best = keep(
            best, rate(share * (w0 - inner), share, ratio_in, ratio_out, node.ratio, rules.price), part, rules, space
        )
    return best


@kernel
def order_cells(j: int, node: TreeNode, space: TreeWorkspace) -> None:
    """space.ordered[j]: the place of each row's cell, the rows in the order of their codes of j, if it is not yet."""
    if space.is_ordered[j]:
        return
    column, cells, tally, present = node.rows[j, node.start : node.end], space.ordered[j], space.tally, space.present
    for x in range(present.length[j]):
        tally[present.codes[j, x]] = present.below[j, x]
    for i in range(len(column)):
        cells[tally[column[i]]] = node.cell[i]
        tally[column[i]] += 1
    for x in range(present.length[j]):
        tally[present.codes[j, x]] = 0
    space.is_ordered[j] = True


@kernel
def count_region(j: int, a: int, b: int, rows: int, space: TreeWorkspace, part: FloatArray) -> None:
    """part: the rows with present codes a..b of j, by cell: by counting them, or the others where these are fewer."""
    below, q = space.present.below, len(space.ordered)
    start, end, cells, tally = below[j, a], below[j, b + 1], space.ordered[j], space.tally
    if 2 * (end - start) <= rows:
        for i in range(start, end):
            tally[cells[i]] += 1
    else:
        for c in range(len(part)):
            tally[c] = below[q, c + 1] - below[q, c]
        for i in range(start):
            tally[cells[i]] -= 1
        for i in range(end, rows):
            tally[cells[i]] -= 1
    for c in range(len(part)):
        part[c] = tally[c]
        tally[c] = 0


@kernel
def keep(best: float, score: float, part: FloatArray, rules: TreeRules, space: TreeWorkspace) -> float:
    """The better of the two scores; if it is `score`, and both sides are diverse, space.take is the part."""
    if score <= best or not (
        is_diverse(space.inside, rules.goal.domains, rules.requirement.distinct)
        and is_diverse(space.outside, rules.goal.domains, rules.requirement.distinct)
    ):
        return best
    for c in range(len(part)):
        space.take[c] = part[c]
    return score


@kernel
def sort_rows(j: int, column: Codes, present: Present, tally: IntArray, order: IntArray) -> None:
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
def set_quotas(node: TreeNode, bucket: IntArray, space: TreeWorkspace) -> int:
    """space.quota: half the node's rows of each bucket, odd ones up and down by turns; their sum.

    bucket: of every cell.
    """
    quota, below, size, odd = space.quota, space.present.below[len(space.ordered)], 0, 0
    quota[:] = 0
    for c in range(len(node.cells)):
        quota[bucket[node.cells[c]]] += below[c + 1] - below[c]
    for x in range(len(quota)):
        odd += quota[x] & 1
        quota[x] = quota[x] // 2 + (quota[x] & odd & 1)
        size += quota[x]
    return int(size)


@kernel
def halve(node: TreeNode, bucket: IntArray, space: TreeWorkspace) -> int:
    """space.left[i]: whether row i is in the lower half of its bucket in the order space.order; how many are."""
    quota, size = space.quota, set_quotas(node, bucket, space)
    for i in space.order[: len(node.cell)]:
        x = bucket[node.cells[node.cell[i]]]
        space.left[i] = quota[x] > 0
        quota[x] -= quota[x] > 0
    return size


@kernel
def count_halves(
    j: int, node: TreeNode, bucket: IntArray, space: TreeWorkspace, part: FloatArray
) -> tuple[int, int, int]:
    """(how many rows are in the lower halves of their buckets in the order of j, their highest code, the lowest code of
    the others). part: those rows by cell.
    """
    quota, size, taken, top, bottom = space.quota, set_quotas(node, bucket, space), 0, -1, -1
    cells, tally, codes, below = space.ordered[j], space.tally, space.present.codes[j], space.present.below[j]
    for x in range(space.present.length[j]):
        before = taken
        for i in range(below[x], below[x + 1]):
            c = cells[i]
            y = bucket[node.cells[c]]
            goes = int(quota[y] > 0)
            quota[y] -= goes
            tally[c] += goes
            taken += goes
        top = codes[x] if taken > before else top
        bottom = codes[x] if bottom < 0 and taken - before < below[x + 1] - below[x] else bottom
        if taken == size:
            bottom = codes[x + 1] if bottom < 0 else bottom
            break
    for c in range(len(part)):
        part[c] = tally[c]
        tally[c] = 0
    return size, top, bottom


@kernel
def try_halves(
    best: float, j: int, level: int, limit: float, node: TreeNode, rules: TreeRules, space: TreeWorkspace
) -> float:
    """The score of aligned halves of j if they fit and beat `best`, else `best`. space.ordered: in the order of j."""
    rows, part = node.end - node.start, space.part[: len(node.cells)]
    size, top, bottom = count_halves(j, node, rules.buckets[level], space, part)
    if size < rules.least or rows - size < rules.least:
        return best
    codes, length = space.present.codes[j], space.present.length[j]
    lo, hi, p = codes[0], codes[length - 1], size / rows
    gain = (
        width(j, lo, hi, rules.widths)
        - p * width(j, lo, top, rules.widths)
        - (1.0 - p) * width(j, bottom, hi, rules.widths)
    )
    if gain <= best * binary_entropy(p):
        return best
    by_value(part, node.cells, rules.goal.codes, space.inside)
    subtract(space.whole, space.inside, space.outside)
    ratio_in, _ = worst(space.inside, float(size), rules.goal, space.scratch)
    ratio_out, _ = worst(space.outside, float(rows - size), rules.goal, space.scratch)
    if max(ratio_in, ratio_out) > limit * NEARLY:
        return best
    return keep(best, rate(gain, p, ratio_in, ratio_out, node.ratio, rules.price), part, rules, space)


@kernel
def first_largest(bounds: FloatArray) -> int:
    """Where the largest positive bound stands first, or -1."""
    first, largest = -1, 0.0
    for r in range(len(bounds)):
        if bounds[r] > largest:
            first, largest = r, bounds[r]
    return first


@kernel
def search(count: int, limit: float, node: TreeNode, rules: TreeRules, space: TreeWorkspace) -> Split:
    """The best split of a node, of whose proposed regions there are `count`, with both ratios within the limit.

    Regions in the order of their bounds, until no bound beats the best so far; then aligned halves of numbers.
    space.whole: the node's counts by value.
    """
    best = Split(score=0.0, kind=NOTHING, j=-1, first=0, last=0, level=-1)
    bounds = space.regions.bound[:count]
    while True:
        r = first_largest(bounds)
        if r < 0 or bounds[r] <= best.score:
            break
        score = try_region(best.score, r, limit, node, rules, space)
        if score > best.score:
            j, a, b = space.regions.where[r]
            first, last = space.present.codes[j, a], space.present.codes[j, b]
            best = Split(score=score, kind=REGION, j=j, first=first, last=last, level=-1)
        bounds[r] = -bounds[r]  # seen
    for r in range(count):
        bounds[r] = abs(bounds[r])
    for j in range(len(rules.widths.domains)):
        codes, length = space.present.codes[j], space.present.length[j]
        if (
            rules.widths.kinds[j] != NUMBER
            or length < 2
            or best.score >= HOPELESS * width(j, codes[0], codes[length - 1], rules.widths)
        ):
            continue
        order_cells(j, node, space)
        for level in range(len(rules.buckets)):
            score = try_halves(best.score, j, level, limit, node, rules, space)
            if score > best.score:
                best = Split(score=score, kind=HALVES, j=j, first=codes[0], last=codes[length - 1], level=level)
    return best
