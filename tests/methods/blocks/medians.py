"""A method that needs `methods.blocks` and nothing more: halves at the median, as long as both
hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.holding import add_cell, holds, work_space
from tclose_spark.methods.blocks.layout import BlockLayout, BlockLayoutModel, BlocksPlan
from tclose_spark.methods.blocks.planning import SampledTable, plan_blocks
from tclose_spark.methods.blocks.routing_tree import Splits, first_splits, no_splits
from tclose_spark.methods.method import PlanningInput, PlanReport
from tclose_spark.table.arrays import IntArray


def holds_by_itself(block: Block, rows: IntArray) -> bool:
    """Whether these rows may be a class."""
    counts = np.zeros(block.requirement.tables.shape, dtype=np.int64)
    for cell in block.cell[rows]:
        add_cell(counts, cell, 1, block.requirement)
    return holds(counts, len(rows), block.requirement, work_space(block.requirement))


def find_cut(block: Block, rows: IntArray) -> tuple[int, int] | None:
    """(the first quasi-identifier whose halves at the median both hold, the highest code of the
    lower half).
    """
    for j, column in enumerate(block.quasi[rows].T):
        highest = int(np.sort(column)[len(rows) // 2]) - 1
        below = column <= highest
        if (
            below.any()
            and holds_by_itself(block, rows[below])
            and holds_by_itself(block, rows[~below])
        ):
            return j, highest
    return None


def split_by_medians(block: Block, stop: int = 0) -> tuple[IntArray, Splits]:
    """(the leaf of each row, the splits)."""
    splits = no_splits(len(block.cell), len(block.requirement.codes))
    leaf, nodes, leaves = np.zeros(len(block.cell), dtype=np.int64), 0, 0

    def divide(rows: IntArray) -> int:
        nonlocal nodes, leaves
        cut = find_cut(block, rows) if len(rows) > stop else None
        if cut is None:
            leaf[rows] = leaves
            leaves += 1
            return -leaves
        node, nodes = nodes, nodes + 1
        splits.quasi[node], splits.hi[node] = cut
        below = block.quasi[rows, cut[0]] <= cut[1]
        splits.left[node], splits.right[node] = divide(rows[below]), divide(rows[~below])
        return node

    divide(np.arange(len(block.cell)))
    return leaf, first_splits(splits, nodes, leaves)


@dataclass(frozen=True)
class MedianPlan(BlocksPlan):
    """Its blocks, each halved anew."""

    layout: BlockLayout
    figures: ClassVar[Mapping[str, Literal["sum", "max"]]] = {"rows": "sum", "largest": "max"}

    def classes_of(self, block: Block) -> tuple[IntArray, Mapping[str, float]]:
        return put_into_classes(block)

    def to_json(self) -> Mapping[str, object]:
        return BlockLayoutModel.of(self.layout).model_dump()

    def report(self) -> PlanReport:
        return PlanReport(figures={"blocks": self.blocks})

    def describe(self, figures: Mapping[str, float]) -> dict[str, Any]:
        return dict(figures)


def put_into_classes(block: Block) -> tuple[IntArray, dict[str, float]]:
    """A leaf is a class, or two where its rows, halved as they stand, both hold: so their order
    counts.
    """
    classes, splits = split_by_medians(block)
    for leaf in range(splits.leaves):
        rows = np.flatnonzero(classes == leaf)
        first, second = rows[: len(rows) // 2], rows[len(rows) // 2 :]
        if holds_by_itself(block, first) and holds_by_itself(block, second):
            classes[second] += splits.leaves
    return classes, {"rows": len(classes), "largest": int(np.bincount(classes).max())}


def make_plan(given: PlanningInput, rows_per_block: int, rows_per_task: int) -> MedianPlan:
    """The same halves on the sample, stopped at the size of a block."""
    table = SampledTable.of(given)
    layout = plan_blocks(
        table,
        lambda sample, stop: split_by_medians(sample, stop)[1],
        rows_per_block,
        rows_per_task,
    )
    return MedianPlan(layout)
