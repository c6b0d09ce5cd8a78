"""A plan of disjoint regions, shared by the methods that make them. They differ in how a part is
split.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.figures import TOTALS, describe_figures, figures_of_block
from tclose_spark.methods.blocks.layout import BlockLayout, Totals
from tclose_spark.methods.blocks.plan import BlocksPlan
from tclose_spark.methods.method import PlanReport
from tclose_spark.methods.regions.block import RegionBlock, RegionDense
from tclose_spark.methods.regions.cutting import RegionGrowth
from tclose_spark.methods.regions.search import find_near_regions
from tclose_spark.table.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class RegionPlan(BlocksPlan):
    """Blocks that are boxes of the table; each is divided into regions, and each region is a class.

    growths: how each block is divided; the result with the least loss is kept, the first of equal
        ones.
    """

    layout: BlockLayout
    growths: tuple[RegionGrowth, ...]
    figures: ClassVar[Totals] = {**TOTALS, "regions": "sum"}

    def classes_of(self, block: Block) -> tuple[IntArray, Mapping[str, float]]:
        dense = self.layout.dense
        assert isinstance(block, RegionBlock)
        assert isinstance(dense, RegionDense)  # which made the block
        found = [find_near_regions(block, growth, dense) for growth in self.growths]
        figures = [figures_of_block(block, classes, ratios) for classes, ratios in found]
        best = int(np.argmin([each["lost"] for each in figures]))
        return found[best][0], {**figures[best], "regions": len(found[best][1])}

    def describe(self, figures: Mapping[str, float]) -> dict[str, Any]:
        return {
            "blocks": self.blocks,
            "tasks": self.tasks,
            "regions": int(figures["regions"]),
            **describe_figures(figures),
            "depth_of_plan": self.layout.tree.depth,
        }

    def to_json(self) -> dict[str, Any]:
        return self.layout.to_json()

    def report(self) -> PlanReport:
        return self.layout.report(
            f"which tasks divide into regions, tasks: {self.tasks:,} (splits of the sample that "
            "were undone because a side failed the requirement on full counts: "
            f"{self.layout.merges:,})"
        )

    @staticmethod
    def from_json(
        tree: Mapping[str, Any], dense: RegionDense, growths: tuple[RegionGrowth, ...]
    ) -> RegionPlan:
        """The plan that `to_json` wrote."""
        return RegionPlan(layout=BlockLayout.from_json(tree, dense), growths=growths)
