"""A plan of disjoint regions, shared by the methods that make them. They differ in how a part is
split.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.figures import (
    TOTALS,
    by_class,
    closeness_ratios,
    describe_figures,
    figures_of_block,
)
from tclose_spark.methods.blocks.layout import BlockLayout, BlockLayoutModel, BlocksPlan, Totals
from tclose_spark.methods.method import PlanReport
from tclose_spark.methods.regions.block import RegionBlock, RegionDense
from tclose_spark.methods.regions.cutting import RegionGrowth, cut
from tclose_spark.table.arrays import FloatArray, IntArray


def find_regions(block: RegionBlock, growth: RegionGrowth) -> IntArray:
    """The region of each row of a block, shape (n,), from 0."""
    regions: IntArray = np.unique(cut(block, growth).region, return_inverse=True)[1]
    return regions


def find_near_regions(
    block: RegionBlock,
    growth: RegionGrowth,
    dense: RegionDense,
) -> tuple[IntArray, FloatArray]:
    """(the region of each row of a block, shape (n,), from 0; the closeness ratio of each region to
    its reference).

    The reference is the whole table. With (n, t)-closeness (Li et al. 2010) a region of n rows
    needs no reference. It is a natural superset of its parts: it is divided further, with itself as
    the reference, until nothing is divided.
    """
    regions = find_regions(block, growth)
    ratios = closeness_ratios(block, regions)
    n = dense.attributes.nt
    if n is None:
        return regions, ratios
    order, starts = by_class(regions)
    found = np.zeros(len(regions), dtype=np.int64)
    made = list[float]()
    for number, ratio in enumerate(ratios.tolist()):
        rows = order[starts[number] : starts[number + 1]]
        anchor = dense.beside_itself(block.take(rows)) if len(rows) >= n else block
        if np.array_equal(anchor.requirement.tables, block.requirement.tables):
            found[rows] = len(made)
            made.append(ratio)
        else:
            inside, more = find_near_regions(anchor, growth, dense)
            found[rows] = len(made) + inside
            made += more.tolist()
    return found, np.array(made)


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

    def describe(self, figures: Mapping[str, float]) -> dict[str, object]:
        return {
            "blocks": self.blocks,
            "tasks": self.tasks,
            "regions": int(figures["regions"]),
            **describe_figures(figures),
            "depth_of_plan": self.layout.tree.depth,
        }

    def to_json(self) -> Mapping[str, object]:
        return BlockLayoutModel.of(self.layout).model_dump()

    def report(self) -> PlanReport:
        return self.layout.report(
            f"which tasks divide into regions, tasks: {self.tasks:,} (splits of the sample that "
            "were undone because a side failed the requirement on full counts: "
            f"{self.layout.merges:,})",
        )

    @staticmethod
    def from_json(
        tree: Mapping[str, object],
        dense: RegionDense,
        growths: tuple[RegionGrowth, ...],
    ) -> RegionPlan:
        """The plan that `to_json` wrote."""
        layout = BlockLayout.of_model(BlockLayoutModel.model_validate(tree), dense)
        return RegionPlan(layout=layout, growths=growths)
