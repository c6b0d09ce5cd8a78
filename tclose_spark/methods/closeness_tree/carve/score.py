"""The score of a split, and the counts and closeness ratios of its two sides."""

from __future__ import annotations

from tclose_spark.kernels import kernel
from tclose_spark.methods.closeness_tree.carve.goal import Goal, worst
from tclose_spark.methods.closeness_tree.carve.node import TreeInputs, TreeNode, TreeWorkspace
from tclose_spark.methods.closeness_tree.carve.regions import binary_entropy
from tclose_spark.table.arrays import FloatArray, IntArray


@kernel
def count_sides(part: FloatArray, node: TreeNode, inputs: TreeInputs, work: TreeWorkspace) -> None:
    """Set work.inside and work.outside to the rows by value of a part and of the rest. part: its
    rows by cell.
    """
    cells = node.cells
    codes = inputs.goal.codes
    inside = work.inside
    outside = work.outside
    inside[:] = 0.0
    for c in range(len(cells)):
        if part[c] != 0.0:
            for s in range(codes.shape[1]):
                inside[s, codes[cells[c], s]] += part[c]
    for s in range(inside.shape[0]):
        for v in range(inside.shape[1]):
            outside[s, v] = work.whole[s, v] - inside[s, v]


@kernel
def side_ratios(size: float, rows: float, goal: Goal, work: TreeWorkspace) -> tuple[float, float]:
    """The closeness ratios of a part of `size` of `rows` rows and of the rest, by work.inside and
    work.outside.
    """
    inside, _ = worst(work.inside, size, goal, work.scratch)
    outside, _ = worst(work.outside, rows - size, goal, work.scratch)
    return inside, outside


@kernel
def is_diverse(values: FloatArray, domains: IntArray, distinct: IntArray) -> bool:
    """Whether every attribute has as many values as required. values: rows by value (or bin),
    (attributes, values).
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
def rate(
    gain: float,
    p: float,
    inside: float,
    outside: float,
    before: float,
    price: float,
) -> float:
    """The score of a split: width gained, divided by its bits and the price of the closeness ratio
    that it adds.
    """
    return gain / (binary_entropy(p) + price * max(0.0, p * inside + (1.0 - p) * outside - before))


@kernel
def keep_better(
    best: float,
    score: float,
    part: FloatArray,
    inputs: TreeInputs,
    work: TreeWorkspace,
) -> float:
    """The higher of the two scores. If it is `score`, and both sides are diverse, work.take becomes
    the part.
    """
    if score <= best or not (
        is_diverse(work.inside, inputs.goal.domains, inputs.requirement.distinct)
        and is_diverse(work.outside, inputs.goal.domains, inputs.requirement.distinct)
    ):
        return best
    for c in range(len(part)):
        work.take[c] = part[c]
    return score
