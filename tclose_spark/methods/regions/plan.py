"""A plan of regions that do not overlap, for the methods that make them: they differ in how parts are split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.figures import rows_lost
from tclose_spark.methods.blocks.plan import BlocksPlan
from tclose_spark.methods.method import PlanReport
from tclose_spark.methods.regions.block import RegionBlock, RegionDense
from tclose_spark.methods.regions.layout import RegionLayout
from tclose_spark.methods.regions.search import RegionSearch, find_near_regions
from tclose_spark.table.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class RegionPlan(BlocksPlan):
    """See the module.

    layout: the blocks of the table, each a region by itself.
    searches: how each block is cut, in one or several ways, of which the one that loses least is kept; of equal ones
        the first.
    """

    layout: RegionLayout
    searches: tuple[RegionSearch, ...]

    figures: ClassVar[Mapping[str, Literal["sum", "max"]]] = {
        "rows": "sum",
        "regions": "sum",
        "lost": "sum",
        "load": "sum",
        "largest_load": "max",
    }

    def classes_of(self, block: Block) -> tuple[IntArray, Mapping[str, float]]:
        """See BlocksPlan. The block is cut; every region is a class."""
        assert isinstance(block, RegionBlock)  # made by RegionDense
        return put_into_regions(block, self.searches, self.layout.dense)

    def describe(self, figures: Mapping[str, float]) -> dict[str, Any]:
        """See Plan."""
        rows = figures["rows"]
        return {
            "blocks": self.blocks,
            "tasks": self.tasks,
            "regions": int(figures["regions"]),
            "ncp": round(figures["lost"] / rows, 6),
            "mean_load": round(figures["load"] / rows, 6),
            "largest_load": round(figures["largest_load"], 6),
            "depth_of_plan": self.layout.tree.depth,
        }

    def to_json(self) -> dict[str, Any]:
        """See Plan."""
        return self.layout.to_json()

    def report(self) -> PlanReport:
        """See Plan."""
        layout = self.layout
        return PlanReport(
            figures={"blocks": self.blocks, "tasks": self.tasks, "merges": layout.merges},
            note=(
                f"regions that are cut further by tasks: {self.blocks:,}, of up to {int(layout.block_rows.max()):,} "
                f"rows, tasks: {self.tasks:,} (parts of the sample that are not divided after all, since their "
                f"children do not hold on full counts: {layout.merges:,})"
            ),
        )

    @staticmethod
    def from_json(tree: Mapping[str, Any], dense: RegionDense, searches: tuple[RegionSearch, ...]) -> RegionPlan:
        """The plan that `to_json` wrote."""
        return RegionPlan(layout=RegionLayout.from_json(tree, dense), searches=searches)


def put_into_regions(
    block: RegionBlock, searches: tuple[RegionSearch, ...], dense: RegionDense
) -> tuple[IntArray, dict[str, float]]:
    """(the class of each row of a block, shape (n,), from 0; figures as `RegionPlan.figures` names them).

    Every class holds what is required if the block does, and their labels do not meet.
    """
    found = [find_near_regions(block, search, dense) for search in searches]
    lost = [rows_lost(block, classes) for classes, _ in found]
    classes, ratios = found[int(np.argmin(lost))]
    return classes, {
        "rows": len(classes),
        "regions": len(ratios),
        "lost": min(lost),
        "load": float(ratios @ np.bincount(classes)),
        "largest_load": float(ratios.max()),
    }
