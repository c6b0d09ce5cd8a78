"""The plan of the closeness tree: which rows form a block, and how a block is put into classes.

Blocks come from the same kind of tree as classes, grown on a sample and stopped at the size of a
block (see `methods.blocks`). The tree routes each row to its block. If a node takes only a share of
some rows, a row's keyed hash decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.figures import TOTALS, describe_figures, rows_lost
from tclose_spark.methods.blocks.layout import BlockLayout, BlockLayoutModel, BlocksPlan, Totals
from tclose_spark.methods.blocks.planning import SampledTable, plan_blocks
from tclose_spark.methods.blocks.routing_tree import Splits
from tclose_spark.methods.closeness_tree.carve.goal import is_wide
from tclose_spark.methods.closeness_tree.carve.tree import TreeGrowth, grow
from tclose_spark.methods.closeness_tree.classes import put_into_classes
from tclose_spark.methods.closeness_tree.effort import (
    GROWTHS,
    PLANNED,
    Effort,
    block_size,
    effort_of,
)
from tclose_spark.methods.method import PlanModel, PlanningInput, PlanReport
from tclose_spark.table.arrays import IntArray

# Of the sample, which are put into classes to compare settings for the growth of blocks.
TRIAL_ROWS = 50_000
# Likewise, for any trial if a domain is wide: bins make trees expensive.
TRIAL_ROWS_IN_BINS = 20_000
CEILING = 0.9  # of the closeness ratio on the sample, so that most leaves meet the requirement on full counts too


class ClosenessTreeModel(PlanModel):
    """A `ClosenessTreePlan` without its effort, which the settings have."""

    growth: TreeGrowth
    layout: BlockLayoutModel


@dataclass(frozen=True, kw_only=True)
class ClosenessTreePlan(BlocksPlan):
    """See the module.

    growth: of the plan's tree, and of the blocks' trees if the effort is one tree.
    effort: the work done for each block.
    """

    layout: BlockLayout
    growth: TreeGrowth
    effort: Effort
    figures: ClassVar[Totals] = {**TOTALS, "lost_by_tree": "sum", "depth": "max"}

    def classes_of(self, block: Block) -> tuple[IntArray, Mapping[str, float]]:
        return put_into_classes(block, self.growth, self.effort.in_block(len(block.cell)))

    def describe(self, figures: Mapping[str, float]) -> dict[str, object]:
        return {
            "blocks": self.blocks,
            "tasks": self.tasks,
            "ncp_before_exchange": round(figures["lost_by_tree"] / figures["rows"], 6),
            **describe_figures(figures),
            "depth": int(figures["depth"]),
            "depth_of_plan": self.layout.tree.depth,
        }

    def to_json(self) -> Mapping[str, object]:
        return ClosenessTreeModel.of(self).model_dump()

    def report(self) -> PlanReport:
        return self.layout.report(
            f"tasks: {self.tasks:,} (leaves of the tree on the sample: "
            f"{self.layout.tree.splits.leaves:,}; merged because they failed the requirement on "
            f"full counts: {self.layout.merges:,})",
        )

    @staticmethod
    def from_json(tree: Mapping[str, object], dense: Dense, effort: Effort) -> ClosenessTreePlan:
        """The plan that `to_json` wrote."""
        model = ClosenessTreeModel.model_validate(tree)
        return ClosenessTreePlan(
            layout=BlockLayout.of_model(model.layout, dense),
            growth=model.growth,
            effort=effort,
        )


def plan_trees(
    given: PlanningInput,
    rows_per_block: int | None = None,
    rows_per_task: int | None = None,
) -> ClosenessTreePlan:
    """Plans the closeness tree. rows_per_block: the most rows of most blocks, by default
    `block_size`;
    rows_per_task: about, by default the effort's.

    Raises:
        UnreachableError: if even the whole table does not meet the requirement.
    """
    table = SampledTable.of(given)
    effort = effort_of(given.settings)
    rows_per_block = rows_per_block or block_size(table.rows, table.dense.most_rows)
    trial = Trial(table, given.log)
    if table.rows <= rows_per_block and effort.in_block(table.rows).trees == 1:
        trial.grow_whole()
    layout = plan_blocks(
        table,
        trial.grow_blocks,
        rows_per_block,
        rows_per_task or effort.rows_per_task,
    )
    return ClosenessTreePlan(layout=layout, growth=trial.growth, effort=effort)


class Trial:
    """Grows trees on a table's sample with the first PLANNED of GROWTHS, and keeps the one that
    loses least.

    growth: the best one; the first of GROWTHS before any trial.
    """

    def __init__(self, table: SampledTable, log: Callable[[str], None]) -> None:
        self.growth = GROWTHS[0]
        self._table = table
        self._log = log

    def grow_whole(self) -> None:
        """Compares trees of a table that is one block."""
        rows = self._rows(len(self._table.sample.cell))
        self._log(f"growing {PLANNED} trees on {rows:,} rows, to compare settings")
        whole = np.zeros(rows, dtype=np.int64)
        self._keep([self._loss(growth, whole) for growth in GROWTHS[:PLANNED]])

    def grow_blocks(self, sample: Block, stop: int) -> Splits:
        """The best tree over the sample that is stopped at nodes of `stop` rows. To compare trees,
        the blocks of some rows are divided into classes.
        """
        rows = self._rows(TRIAL_ROWS)
        self._log(
            f"growing {PLANNED} trees of blocks on a sample of {len(sample.cell):,} rows, and "
            f"classes of {rows:,} of them, to compare settings",
        )
        stopped = TreeGrowth(
            scale=self._table.scale,
            stop=stop,
            most=2 * stop,
            least=max(stop // 8, 1),
            ceiling=CEILING,
        )
        trees = [
            grow(
                sample,
                replace(stopped, reserve=each.reserve, price=each.price),
                self._table.hashes,
            )
            for each in GROWTHS[:PLANNED]
        ]
        losses = [
            self._loss(growth, tree.leaf[:rows])
            for growth, tree in zip(GROWTHS, trees, strict=False)
        ]
        return trees[self._keep(losses)].splits

    def _rows(self, most: int) -> int:
        """How many of the sample's first rows are put into classes, at most `most`."""
        sample = self._table.sample
        return min(
            len(sample.cell),
            TRIAL_ROWS_IN_BINS if is_wide(sample.requirement).any() else most,
        )

    def _loss(self, growth: TreeGrowth, block: IntArray) -> float:
        """The information loss of the sample's first rows in classes that are grown from blocks.

        block: of each of these rows, shape (rows,).
        """
        order = np.argsort(block, kind="stable")
        growth = replace(growth, scale=self._table.rows / len(block))
        parts = map(
            self._table.sample.take,
            np.split(order, np.flatnonzero(np.diff(block[order])) + 1),
        )
        loss = sum(rows_lost(part, grow(part, growth).leaf) for part in parts) / len(block)
        self._log(f"a tree of {PLANNED}: information loss {loss:.4f} before any exchange")
        return loss

    def _keep(self, losses: Sequence[float]) -> int:
        best = int(np.argmin(losses))
        self.growth = GROWTHS[best]
        return best
