"""The plan of microaggregation: blocks with the whole table's distribution, and their division into
classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.even_blocks.layout import (
    ROWS_PER_BLOCK,
    ROWS_PER_TASK,
    EvenBlocks,
    plan_even_blocks,
)
from tclose_spark.methods.even_blocks.plan import EvenBlocksPlan
from tclose_spark.methods.method import PlanningInput, PlanReport
from tclose_spark.methods.microaggregation.buckets import (
    Cut,
    choose_class_size,
    microaggregate_buckets,
)
from tclose_spark.methods.microaggregation.cells import cut_of, first_component, rank_scores
from tclose_spark.methods.microaggregation.mdav import microaggregate
from tclose_spark.methods.microaggregation.settings import Microaggregation
from tclose_spark.table.arrays import IntArray


@dataclass(frozen=True)
class MicroaggregationPlan(EvenBlocksPlan):
    """The plan; see the module.

    settings: with the algorithm.
    class_size: before merging.
    component: of `cells: first_component`, otherwise empty.
    """

    settings: Microaggregation
    class_size: int
    component: tuple[int, ...]

    @cached_property
    def cut(self) -> Cut:
        """The buckets of algorithm 3."""
        return cut_of(self.layout.dense.attributes, self.settings.cells, self.component)

    def formed(self, block: Block) -> IntArray:
        if self.settings.algorithm < 3:
            return microaggregate(block, refined=self.settings.algorithm == 2)
        return microaggregate_buckets(block, *self.cut(block.cell, self.class_size))

    def describe(self, figures: Mapping[str, float]) -> dict[str, Any]:
        return {**super().describe(figures), "class_size": self.class_size}

    def to_json(self) -> dict[str, Any]:
        component = {"component": list(self.component)} if self.component else {}
        return {"class_size": self.class_size, **component, **self.layout.to_json()}

    def report(self) -> PlanReport:
        return PlanReport(
            figures={"blocks": self.blocks, "tasks": self.tasks, "class_size": self.class_size},
            note=f"{self.blocks_in_words}, classes of {self.class_size:,} rows and more before any "
            "are merged",
        )

    @staticmethod
    def from_json(
        tree: Mapping[str, Any], attributes: ResolvedAttributes, k: int, settings: Microaggregation
    ) -> MicroaggregationPlan:
        """The plan that `to_json` wrote."""
        layout = EvenBlocks.from_json(tree, attributes, k)
        component = tuple(tree.get("component", ()))
        return MicroaggregationPlan(layout, settings, tree["class_size"], component)


def make_plan(
    given: PlanningInput, rows_per_block: int = ROWS_PER_BLOCK, rows_per_task: int = ROWS_PER_TASK
) -> MicroaggregationPlan:
    """Plans microaggregation. The classes do not depend on rows_per_task.

    Raises:
        UnreachableError: see `plan_even_blocks`.
    """
    layout = plan_even_blocks(given, rows_per_block, rows_per_task)
    settings: Microaggregation = given.settings
    if settings.algorithm < 3:
        return MicroaggregationPlan(layout, settings, given.k, ())
    component: tuple[int, ...] = ()
    if settings.cells == "first_component":
        component = first_component(rank_scores(given.attributes), given.attributes.cell_rows)
        given.log(
            f"first principal component of the sensitive attributes: {component}, in millionths"
        )
    size = choose_class_size(given, layout, cut_of(given.attributes, settings.cells, component))
    return MicroaggregationPlan(layout, settings, size, component)
