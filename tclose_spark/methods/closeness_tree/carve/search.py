"""The best split of a node: a region of a quasi-identifier with the rows of each cell that go left,
or aligned halves.
"""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.kernels.sorting import find_present
from tclose_spark.kernels.widths import NUMBER, width
from tclose_spark.methods.closeness_tree.carve.counts import count_region
from tclose_spark.methods.closeness_tree.carve.halves import try_halves
from tclose_spark.methods.closeness_tree.carve.node import (
    HALVES,
    NOTHING,
    REGION,
    Split,
    TreeInputs,
    TreeNode,
    TreeWorkspace,
)
from tclose_spark.methods.closeness_tree.carve.regions import (
    binary_entropy,
    propose_cuts,
    propose_nodes,
)
from tclose_spark.methods.closeness_tree.carve.score import (
    count_sides,
    keep_better,
    rate,
    side_ratios,
)
from tclose_spark.methods.closeness_tree.carve.sizes import largest_part
from tclose_spark.methods.closeness_tree.carve.trim import (
    NEARLY,
    SMALLEST_SHARE,
    Division,
    trim,
    trim_to_level,
)
from tclose_spark.table.arrays import FloatArray

TARGETS = 3  # closeness ratios that are tried for a part that is carved
FLOOR = 0.02  # the lowest closeness ratio that is aimed at
HOPELESS = 0.62  # aligned halves seldom score more than this share of the width that they split


@kernel
def propose_all(node: TreeNode, inputs: TreeInputs, work: TreeWorkspace) -> int:
    """Set work.regions and work.present for a node; how many regions there are."""
    count = 0
    work.is_counted[:] = False
    for j in range(len(inputs.widths.domains)):
        find_present(
            j,
            node.rows[j, node.start : node.end],
            inputs.widths.domains[j],
            work.tally,
            work.order,
            work.present,
        )
        if work.present.length[j] < 2:
            continue
        if inputs.widths.kinds[j] == NUMBER:
            count = propose_cuts(count, j, inputs.least, work.present, inputs.widths, work.regions)
        else:
            count = propose_nodes(count, j, inputs.least, work.present, inputs.widths, work.regions)
    return count


@kernel
def try_region(
    best: float,
    r: int,
    limit: float,
    node: TreeNode,
    inputs: TreeInputs,
    work: TreeWorkspace,
) -> float:
    """The best score of a region if it is above `best` (then work.take has the rows that go left),
    else `best`.

    The whole region is taken if both sides are within the limit. Otherwise parts of it are trimmed,
    to lower and lower closeness ratios. Each begins with the part before it, whose size bounds what
    is left to gain.
    """
    j, a, b = work.regions.where[r]
    codes = work.present.codes[j]
    rows = node.end - node.start
    goal = inputs.goal
    inner = work.regions.inner[r]
    u = len(node.cells)
    part = work.part[:u]
    inside = work.inside
    outside = work.outside
    count_region(j, a, b, node, work, part)
    size = float(work.present.below[j, b + 1] - work.present.below[j, a])
    count_sides(part, node, inputs, work)
    w0 = width(j, codes[0], codes[work.present.length[j] - 1], inputs.widths)
    ratio_in, ratio_out = side_ratios(size, float(rows), goal, work)
    share = size / rows
    if max(ratio_in, ratio_out) <= limit * NEARLY:
        gain = w0 - share * inner - (1.0 - share) * work.regions.outer[r]
        return keep_better(
            best,
            rate(gain, share, ratio_in, ratio_out, node.ratio, inputs.price),
            part,
            inputs,
            work,
        )
    smallest = max(float(inputs.least), SMALLEST_SHARE * size)
    low = max(node.ratio, FLOOR)
    if inner >= w0 - 1e-12:
        return best
    division = Division(
        part=part,
        cells=node.cells,
        inside=inside,
        outside=outside,
        rows=float(rows),
    )
    for step in range(TARGETS):
        target = limit if step == 0 else low + (limit - low) * (1.0 - step / TARGETS)
        bound = largest_part(inside, size, target, goal, work.scratch)
        if bound < smallest:
            break
        share = min(share, bound / rows)
        if share * (w0 - inner) <= best * binary_entropy(share):
            break
        size = trim_to_level(division, size, bound, goal)
        size = trim(division, size, target, smallest, goal, work.scratch)
        if size <= 0.0:
            break
        ratio_in, ratio_out = side_ratios(size, float(rows), goal, work)
        share = size / rows
        best = keep_better(
            best,
            rate(share * (w0 - inner), share, ratio_in, ratio_out, node.ratio, inputs.price),
            part,
            inputs,
            work,
        )
    return best


@kernel
def first_largest(bounds: FloatArray) -> int:
    """The first place of the largest positive bound, or -1."""
    first = -1
    largest = 0.0
    for r in range(len(bounds)):
        if bounds[r] > largest:
            first = r
            largest = bounds[r]
    return first


@kernel
def best_split(
    count: int,
    limit: float,
    node: TreeNode,
    inputs: TreeInputs,
    work: TreeWorkspace,
) -> Split:
    """The best split of a node with `count` regions such that both closeness ratios are within the
    limit.

    Regions are tried in the order of their bounds, until no bound is above the best score; then
    aligned halves.
    work.whole: the node's rows by value.
    """
    best = Split(score=0.0, kind=NOTHING, j=-1, first=0, last=0)
    bounds = work.regions.bound[:count]
    while True:
        r = first_largest(bounds)
        if r < 0 or bounds[r] <= best.score:
            break
        score = try_region(best.score, r, limit, node, inputs, work)
        if score > best.score:
            j, a, b = work.regions.where[r]
            first = work.present.codes[j, a]
            last = work.present.codes[j, b]
            best = Split(score=score, kind=REGION, j=j, first=first, last=last)
        bounds[r] = -bounds[r]  # seen
    for r in range(count):
        bounds[r] = abs(bounds[r])
    for j in range(len(inputs.widths.domains)):
        codes = work.present.codes[j]
        length = work.present.length[j]
        if (
            inputs.widths.kinds[j] != NUMBER
            or length < 2
            or best.score >= HOPELESS * width(j, codes[0], codes[length - 1], inputs.widths)
        ):
            continue
        score = try_halves(best.score, j, limit, node, inputs, work)
        if score > best.score:
            best = Split(score=score, kind=HALVES, j=j, first=codes[0], last=codes[length - 1])
    return best
