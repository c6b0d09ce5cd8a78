"""The closeness tree where people are counted.

Blocks are boxes of the table, so all rows of a person are in one block. There the tree and the
exchange put units into classes. The units are people, by their first rows, if a person's rows stay
together; otherwise they are rows. The tree knows nothing of the other rows of a person. So classes
are merged with their neighbours until all meet what is required of rows and of people. Merged
classes are cut again where both sides do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np

from tclose_spark.methods.attributes import ResolvedAttributes
from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.figures import (
    TOTALS,
    by_class,
    closeness_ratios,
    describe_figures,
    figures_of_block,
)
from tclose_spark.methods.blocks.layout import BlockLayout, BlockLayoutModel, BlocksPlan, Totals
from tclose_spark.methods.closeness_tree.classes import put_into_classes
from tclose_spark.methods.closeness_tree.disjoint import FAST, OF_PLAN
from tclose_spark.methods.closeness_tree.effort import GROWTHS, ROWS_PER_BLOCK, Effort, effort_of
from tclose_spark.methods.closeness_tree.settings import ClosenessTree
from tclose_spark.methods.even_blocks import merge_until_all_hold
from tclose_spark.methods.method import PlanningInput, PlanReport
from tclose_spark.methods.people import of_first_rows, only_rows
from tclose_spark.methods.regions.block import RegionBlock, RegionDense
from tclose_spark.methods.regions.plan import find_regions
from tclose_spark.methods.regions.planning import plan_regions
from tclose_spark.table.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class PeopleTreePlan(BlocksPlan):
    """See the module.

    units: makes blocks of units.
    effort: the work done for each block.
    """

    layout: BlockLayout
    units: Dense
    effort: Effort
    figures: ClassVar[Totals] = {**TOTALS, "merged": "sum"}

    def classes_of(self, block: Block) -> tuple[IntArray, Mapping[str, float]]:
        unit, member = self._units(block)
        cells = np.bincount(block.cell[unit], minlength=len(self.units.attributes.cells))
        classes = np.zeros(len(block.cell), dtype=np.int64)
        if self.units.holds(cells):
            of_units = replace(block.take(unit), requirement=self.units.requirement(len(unit)))
            effort = self.effort.in_block(len(of_units.cell))
            classes = put_into_classes(of_units, GROWTHS[0], effort)[0][member]
        assert isinstance(block, RegionBlock)
        merged, gone = merge_until_all_hold(block, classes)
        classes = self._cut_again(block, merged)
        return classes, {
            **figures_of_block(block, classes, closeness_ratios(block, classes)),
            "merged": gone,
        }

    def _cut_again(self, block: RegionBlock, classes: IntArray) -> IntArray:
        """The classes, each cut where all sides meet the requirement."""
        order, starts = by_class(classes)
        found = np.empty_like(classes)
        made = 0
        for start, end in pairwise(starts.tolist()):
            rows = order[start:end]
            regions = find_regions(block.take(rows), FAST)
            found[rows], made = made + regions, made + int(regions.max()) + 1
        return found

    def _units(self, block: Block) -> tuple[IntArray, IntArray]:
        """(the row that stands for each unit, the unit of each row)."""
        attributes = self.layout.dense.attributes
        if not attributes.together:
            return np.arange(len(block.cell)), np.arange(len(block.cell))
        assert block.person is not None
        first = np.flatnonzero(attributes.counted.of_cell[block.cell])
        unit = np.empty(len(first), dtype=np.int64)
        unit[block.person[first]] = np.arange(len(first))
        return first, unit[block.person]

    def describe(self, figures: Mapping[str, float]) -> dict[str, object]:
        merged = {"merged": int(figures["merged"])}
        return {"blocks": self.blocks, "tasks": self.tasks, **describe_figures(figures), **merged}

    def to_json(self) -> Mapping[str, object]:
        return BlockLayoutModel.of(self.layout).model_dump()

    def report(self) -> PlanReport:
        return self.layout.report(f"tasks: {self.tasks:,}")


def plan_people(given: PlanningInput) -> PeopleTreePlan:
    """Plans the closeness tree for a table whose people are counted.

    Raises:
        UnreachableError: if even the whole table does not meet the requirement.
    """
    effort = effort_of(given.settings)
    layout = plan_regions(given, OF_PLAN, ROWS_PER_BLOCK, effort.rows_per_task, labels_meet=True)
    return PeopleTreePlan(
        layout=layout,
        units=dense_of_units(given.attributes, given.k),
        effort=effort,
    )


def read_people_plan(
    tree: Mapping[str, object],
    attributes: ResolvedAttributes,
    k: int,
    settings: ClosenessTree,
) -> PeopleTreePlan:
    """The plan that `PeopleTreePlan.to_json` wrote."""
    return PeopleTreePlan(
        layout=BlockLayout.of_model(
            BlockLayoutModel.model_validate(tree),
            RegionDense(attributes, k),
        ),
        units=dense_of_units(attributes, k),
        effort=effort_of(settings),
    )


def dense_of_units(attributes: ResolvedAttributes, k: int) -> Dense:
    """Makes blocks of units: first rows if a person's rows must be together, otherwise rows."""
    return Dense(of_first_rows(attributes) if attributes.together else only_rows(attributes), k)
