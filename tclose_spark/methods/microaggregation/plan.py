"""The plan of microaggregation: blocks, each with the whole table's distribution, and how one is put into classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.figures import closeness_ratios, rows_lost
from tclose_spark.methods.even_blocks.layout import EvenBlocks
from tclose_spark.methods.even_blocks.merging import merge_until_all_hold
from tclose_spark.methods.even_blocks.planning import ROWS_PER_BLOCK, ROWS_PER_TASK, plan_even_blocks
from tclose_spark.methods.method import PlanningInput, PlanReport, Settled
from tclose_spark.methods.microaggregation.buckets import Sizing, microaggregate_buckets, rank_of
from tclose_spark.methods.microaggregation.mdav import microaggregate
from tclose_spark.methods.microaggregation.refinement import microaggregate_refined
from tclose_spark.methods.microaggregation.sizing import bucketed, choose_class_size
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows


@dataclass(frozen=True, kw_only=True)
class MicroaggregationPlan:
    """See the module.

    layout: the blocks of the table.
    algorithm: 1, 2 or 3.
    class_size: before classes are merged.
    """

    layout: EvenBlocks
    algorithm: int
    class_size: int

    figures: ClassVar[Mapping[str, Literal["sum", "max"]]] = {
        "rows": "sum",
        "lost": "sum",
        "classes": "sum",
        "merged": "sum",
        "largest_load": "max",
    }

    @property
    def tasks(self) -> int:
        """See Plan."""
        return self.layout.tasks

    @property
    def blocks(self) -> int:
        """See Plan."""
        return self.layout.blocks

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        """See Plan."""
        return self.layout.route(rows)

    def settle(self, rows: Rows, task: int) -> Settled:
        """See Plan. Each block of the task is put into classes by itself, and those that do not hold are merged."""
        return self.layout.settle(rows, task, self._classes_of, self.figures)

    def _classes_of(self, block: Block) -> tuple[IntArray, Mapping[str, float]]:
        classes, merged = merge_until_all_hold(block, self._formed(block))
        return classes, {
            "rows": len(classes),
            "lost": rows_lost(block, classes),
            "classes": int(classes.max()) + 1,
            "merged": merged,
            "largest_load": float(closeness_ratios(block, classes).max()),
        }

    def _formed(self, block: Block) -> IntArray:
        """The classes before any are merged, shape (n,)."""
        if self.algorithm == 3:
            attribute = bucketed(self.layout.dense.attributes)
            rank = rank_of(Sizing.of(attribute.distance).order)
            return microaggregate_buckets(block, attribute.column, rank, self.class_size)
        return microaggregate(block) if self.algorithm == 1 else microaggregate_refined(block)

    def describe(self, figures: Mapping[str, float]) -> dict[str, Any]:
        """See Plan."""
        return {
            "blocks": self.blocks,
            "tasks": self.tasks,
            "class_size": self.class_size,
            "classes": int(figures["classes"]),
            "merged": int(figures["merged"]),
            "ncp": round(figures["lost"] / figures["rows"], 6),
            "largest_load": round(figures["largest_load"], 6),
        }

    def to_json(self) -> dict[str, Any]:
        """See Plan."""
        return {"class_size": self.class_size, **self.layout.to_json()}

    def report(self) -> PlanReport:
        """See Plan."""
        return PlanReport(
            figures={"blocks": self.blocks, "tasks": self.tasks, "class_size": self.class_size},
            note=(
                f"blocks: {self.blocks:,} of up to {int(self.layout.block_rows.max()):,} rows, tasks: {self.tasks:,}, "
                f"classes of {self.class_size:,} rows before those that do not hold are merged"
            ),
        )

    @staticmethod
    def from_json(
        tree: Mapping[str, Any], attributes: ResolvedAttributes, k: int, algorithm: int
    ) -> MicroaggregationPlan:
        """The plan that `to_json` wrote."""
        return MicroaggregationPlan(
            layout=EvenBlocks.from_json(tree, attributes, k), algorithm=algorithm, class_size=tree["class_size"]
        )


def make_plan(
    given: PlanningInput, rows_per_block: int = ROWS_PER_BLOCK, rows_per_task: int = ROWS_PER_TASK
) -> MicroaggregationPlan:
    """Plans microaggregation. The classes do not depend on rows_per_task.

    Raises:
        UnreachableError: see `plan_even_blocks`.
    """
    layout = plan_even_blocks(given, rows_per_block, rows_per_task)
    algorithm = given.settings.algorithm
    size = choose_class_size(given) if algorithm == 3 else given.k
    return MicroaggregationPlan(layout=layout, algorithm=algorithm, class_size=size)
