"""The plan of the closeness tree: which rows make a block, and how a block is put into classes.

The same tree that makes classes is grown on a sample and stopped at the size of a block (see `methods.blocks`); a row
finds its block by walking it, and where a node takes only a share of the rows, the row's keyed hash decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.figures import rows_lost
from tclose_spark.methods.blocks.layout import BlockLayout
from tclose_spark.methods.blocks.plan import BlocksPlan
from tclose_spark.methods.blocks.planning import SampledTable, plan_blocks
from tclose_spark.methods.blocks.routing_tree import Splits
from tclose_spark.methods.closeness_tree.carve.goal import is_wide
from tclose_spark.methods.closeness_tree.carve.tree import Growth, grow
from tclose_spark.methods.closeness_tree.classes import put_into_classes
from tclose_spark.methods.closeness_tree.effort import GROWTHS, PLANNED, ROWS_PER_BLOCK, Effort, effort_of
from tclose_spark.methods.method import PlanningInput, PlanReport
from tclose_spark.table.arrays import IntArray

TRIED_ROWS = 50_000  # of the sample, on which ways to grow are tried
TRIED_IN_BINS = 20_000  # the same where domains are wide: bins make trees dear
CEILING = 0.9  # of the closeness ratio on the sample, so that most leaves hold on full counts too


@dataclass(frozen=True, kw_only=True)
class ClosenessTreePlan(BlocksPlan):
    """See the module.

    layout: the blocks of the table.
    growth: of the plan's tree, and of the blocks' where the effort is one tree.
    effort: what is done for each block.
    """

    layout: BlockLayout
    growth: Growth
    effort: Effort

    figures: ClassVar[Mapping[str, Literal["sum", "max"]]] = {
        "rows": "sum",
        "lost_by_tree": "sum",
        "lost": "sum",
        "load": "sum",
        "largest_load": "max",
        "depth": "max",
    }

    def classes_of(self, block: Block) -> tuple[IntArray, Mapping[str, float]]:
        """See BlocksPlan. The tree, then the exchange."""
        return put_into_classes(block, self.growth, self.effort)

    def describe(self, figures: Mapping[str, float]) -> dict[str, Any]:
        """See Plan."""
        rows = figures["rows"]
        return {
            "blocks": self.blocks,
            "tasks": self.tasks,
            "ncp_before_exchange": round(figures["lost_by_tree"] / rows, 6),
            "ncp": round(figures["lost"] / rows, 6),
            "mean_load": round(figures["load"] / rows, 6),
            "largest_load": round(figures["largest_load"], 6),
            "depth": int(figures["depth"]),
            "depth_of_plan": self.layout.tree.depth,
        }

    def to_json(self) -> dict[str, Any]:
        """See Plan."""
        layout = self.layout.to_json()
        growth = {"beta": self.growth.beta, "price": self.growth.price}
        return {"merges": layout.pop("merges"), "growth": growth, **layout}

    def report(self) -> PlanReport:
        """See Plan."""
        layout = self.layout
        return PlanReport(
            figures={"blocks": self.blocks, "tasks": self.tasks, "merges": layout.merges},
            note=(
                f"blocks: {self.blocks:,} of up to {int(layout.block_rows.max()):,} rows, tasks: {self.tasks:,} "
                f"(leaves of the tree on the sample: {layout.tree.splits.leaves:,}; merged, since they did not hold on "
                f"full counts: {layout.merges:,})"
            ),
        )

    @staticmethod
    def from_json(tree: Mapping[str, Any], dense: Dense, effort: Effort) -> ClosenessTreePlan:
        """The plan that `to_json` wrote."""
        return ClosenessTreePlan(
            layout=BlockLayout.from_json(tree, dense), growth=Growth(**tree["growth"]), effort=effort
        )


def make_plan(
    given: PlanningInput, rows_per_block: int | None = None, rows_per_task: int | None = None
) -> ClosenessTreePlan:
    """Plans the closeness tree. rows_per_block: of most blocks, at most, by default ROWS_PER_BLOCK; rows_per_task:
    about, by default what the effort says.

    Raises:
        UnreachableError: if even the whole table does not hold what is required.
    """
    table, effort, growth = SampledTable.of(given), effort_of(given.settings), GROWTHS[0]
    rows_per_block = rows_per_block or ROWS_PER_BLOCK
    if table.rows > rows_per_block or effort.trees == 1:
        growth = _choose_growth(table, given.log)

    def grow_blocks(sample: Block, stop: int) -> Splits:
        given.log(f"growing blocks on a sample of {len(sample.cell):,} rows")
        least = max(stop // 8, 1)
        way = replace(
            growth, scale=table.scale, stop=stop, most=2 * stop, least=least, ceiling=CEILING, keep_splits=True
        )
        return grow(sample, way).splits

    layout = plan_blocks(table, grow_blocks, rows_per_block, rows_per_task or effort.rows_per_task)
    return ClosenessTreePlan(layout=layout, growth=growth, effort=effort)


def _choose_growth(table: SampledTable, log: Callable[[str], None]) -> Growth:
    """The growth whose tree loses least on the first rows of the sample."""
    rows = TRIED_IN_BINS if is_wide(table.sample.requirement).any() else TRIED_ROWS
    sample = table.sample.take(np.arange(min(rows, len(table.sample.cell))))
    log(f"trying {PLANNED} ways to grow a tree on {len(sample.cell):,} rows of the sample")
    losses = []
    for number, growth in enumerate(GROWTHS[:PLANNED], start=1):
        way = replace(growth, scale=table.rows / len(sample.cell))
        losses.append(rows_lost(sample, grow(sample, way).leaf))
        log(f"tree {number} of {PLANNED}: information loss {losses[-1] / len(sample.cell):.4f} before any exchange")
    return GROWTHS[int(np.argmin(losses))]
