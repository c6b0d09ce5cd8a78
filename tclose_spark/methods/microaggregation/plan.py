"""The plan of microaggregation: blocks with the whole table's distribution, and their division into classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.even_blocks.layout import ROWS_PER_BLOCK, ROWS_PER_TASK, EvenBlocks, plan_even_blocks
from tclose_spark.methods.even_blocks.plan import EvenBlocksPlan, bucketed
from tclose_spark.methods.method import PlanningInput, PlanReport
from tclose_spark.methods.microaggregation.buckets import BucketSizing, choose_class_size, microaggregate_buckets
from tclose_spark.methods.microaggregation.mdav import microaggregate
from tclose_spark.table.arrays import IntArray


@dataclass(frozen=True)
class MicroaggregationPlan(EvenBlocksPlan):
    """The plan; see the module.

    algorithm: 1, 2 or 3.
    class_size: before merging.
    """

    algorithm: int
    class_size: int

    def formed(self, block: Block) -> IntArray:
        """See EvenBlocksPlan."""
        if self.algorithm < 3:
            return microaggregate(block, refined=self.algorithm == 2)
        attribute = bucketed(self.layout.dense.attributes)
        return microaggregate_buckets(block, attribute.column, BucketSizing(attribute.distance).rank, self.class_size)

    def describe(self, figures: Mapping[str, float]) -> dict[str, Any]:
        """See Plan."""
        return {**super().describe(figures), "class_size": self.class_size}

    def to_json(self) -> dict[str, Any]:
        """See Plan."""
        return {"class_size": self.class_size, **self.layout.to_json()}

    def report(self) -> PlanReport:
        """See Plan."""
        return PlanReport(
            figures={"blocks": self.blocks, "tasks": self.tasks, "class_size": self.class_size},
            note=f"{self.blocks_in_words}, classes of {self.class_size:,} rows and more before any are merged",
        )

    @staticmethod
    def from_json(
        tree: Mapping[str, Any], attributes: ResolvedAttributes, k: int, algorithm: int
    ) -> MicroaggregationPlan:
        """The plan that `to_json` wrote."""
        return MicroaggregationPlan(EvenBlocks.from_json(tree, attributes, k), algorithm, tree["class_size"])


def make_plan(
    given: PlanningInput, rows_per_block: int = ROWS_PER_BLOCK, rows_per_task: int = ROWS_PER_TASK
) -> MicroaggregationPlan:
    """Plans microaggregation. The classes do not depend on rows_per_task.

    Raises:
        UnreachableError: see `plan_even_blocks`.
    """
    layout = plan_even_blocks(given, rows_per_block, rows_per_task)
    algorithm = given.settings.algorithm
    return MicroaggregationPlan(layout, algorithm, choose_class_size(given, layout) if algorithm == 3 else given.k)
