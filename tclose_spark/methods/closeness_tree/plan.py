"""The plan of the closeness tree: which rows make a block, and how a block is put into classes.

The same tree that makes classes is grown on a sample and stopped at the size of a block (see `methods.blocks`); a row
finds its block by walking it, and where a node takes only a share of the rows, the row's keyed hash decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from tclose_spark.methods.closeness_tree.carve.tree import TreeGrowth, grow
from tclose_spark.methods.closeness_tree.classes import put_into_classes
from tclose_spark.methods.closeness_tree.effort import GROWTHS, PLANNED, ROWS_PER_BLOCK, Effort, effort_of
from tclose_spark.methods.method import PlanningInput, PlanReport
from tclose_spark.table.arrays import IntArray

TRIED_ROWS = 50_000  # of the sample, which go on to classes when ways to grow blocks are tried
TRIED_IN_BINS = 20_000  # of the sample, when any ways are tried where domains are wide: bins make trees dear
CEILING = 0.9  # of the closeness ratio on the sample, so that most leaves hold on full counts too


@dataclass(frozen=True, kw_only=True)
class ClosenessTreePlan(BlocksPlan):
    """See the module.

    layout: the blocks of the table.
    growth: of the plan's tree, and of the blocks' where the effort is one tree.
    effort: what is done for each block.
    """

    layout: BlockLayout
    growth: TreeGrowth
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
            layout=BlockLayout.from_json(tree, dense), growth=TreeGrowth(**tree["growth"]), effort=effort
        )


def make_plan(
    given: PlanningInput, rows_per_block: int | None = None, rows_per_task: int | None = None
) -> ClosenessTreePlan:
    """Plans the closeness tree. rows_per_block: of most blocks, at most, by default ROWS_PER_BLOCK; rows_per_task:
    about, by default what the effort says.

    Raises:
        UnreachableError: if even the whole table does not hold what is required.
    """
    table, effort = SampledTable.of(given), effort_of(given.settings)
    rows_per_block, trial = rows_per_block or ROWS_PER_BLOCK, Trial(table, given.log)
    if table.rows <= rows_per_block and effort.trees == 1:
        trial.grow_whole()
    layout = plan_blocks(table, trial.grow_blocks, rows_per_block, rows_per_task or effort.rows_per_task)
    return ClosenessTreePlan(layout=layout, growth=trial.growth, effort=effort)


class Trial:
    """Grows trees on a table's sample in PLANNED ways, and keeps the one that loses least.

    growth: which way that was; the first one, before any was tried.
    """

    def __init__(self, table: SampledTable, log: Callable[[str], None]) -> None:
        self.growth = GROWTHS[0]
        self._table, self._log = table, log

    def grow_whole(self) -> None:
        """Tries the tree of a table that is one block."""
        rows = self._rows(len(self._table.sample.cell))
        self._log(f"trying {PLANNED} ways to grow a tree on {rows:,} rows")
        whole = np.zeros(rows, dtype=np.int64)
        self._keep([self._loss(growth, whole) for growth in GROWTHS[:PLANNED]])

    def grow_blocks(self, sample: Block, stop: int) -> Splits:
        """The best tree over the sample that is stopped at nodes of `stop` rows. Some rows go on in each block: what it
        is worth shows only at the end.
        """
        rows = self._rows(TRIED_ROWS)
        self._log(f"growing blocks in {PLANNED} ways on a sample of {len(sample.cell):,} rows, {rows:,} to the end")
        stopped = TreeGrowth(
            scale=self._table.scale,
            stop=stop,
            most=2 * stop,
            least=max(stop // 8, 1),
            ceiling=CEILING,
            keep_splits=True,
        )
        ways = [replace(stopped, beta=growth.beta, price=growth.price) for growth in GROWTHS[:PLANNED]]
        trees = [grow(sample, way) for way in ways]
        losses = [self._loss(growth, tree.leaf[:rows]) for growth, tree in zip(GROWTHS, trees, strict=False)]
        return trees[self._keep(losses)].splits

    def _rows(self, most: int) -> int:
        """How many of the sample's first rows go on to the end: of at most so many."""
        sample = self._table.sample
        return min(len(sample.cell), TRIED_IN_BINS if is_wide(sample.requirement).any() else most)

    def _loss(self, growth: TreeGrowth, block: IntArray) -> float:
        """What the sample's first rows lose each, in blocks that are grown to the end.

        block: of each of these rows, shape (rows,).
        """
        order, way = np.argsort(block, kind="stable"), replace(growth, scale=self._table.rows / len(block))
        parts = map(self._table.sample.take, np.split(order, np.flatnonzero(np.diff(block[order])) + 1))
        loss = sum(rows_lost(part, grow(part, way).leaf) for part in parts) / len(block)
        self._log(f"a tree of {PLANNED}: information loss {loss:.4f} before any exchange")
        return loss

    def _keep(self, losses: Sequence[float]) -> int:
        best = int(np.argmin(losses))
        self.growth = GROWTHS[best]
        return best
