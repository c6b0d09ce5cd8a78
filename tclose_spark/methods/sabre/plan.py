"""The plan of SABRE: blocks with the whole table's distribution, and how far bounds may exceed t
before merging.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
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
from tclose_spark.methods.even_blocks.plan import EvenBlocksPlan, bucketed, choose_least_loss
from tclose_spark.methods.method import PlanningInput, PlanReport
from tclose_spark.methods.sabre.redistribution import Redistribution
from tclose_spark.table.arrays import IntArray

STRETCHES = tuple(Fraction(x) for x in ("1", "1.25", "1.5", "2", "2.5", "3", "4", "6", "8"))
"""Of t, that bounds are tried up to where what is reached is measured."""


@dataclass(frozen=True)
class SabrePlan(EvenBlocksPlan):
    """The plan; see the module.

    stretch: bounds are below t times this.
    """

    stretch: Fraction

    @cached_property
    def redistribution(self) -> Redistribution:
        """The function from a block to classes."""
        return Redistribution(bucketed(self.layout.dense.attributes), self.stretch)

    @property
    def buckets(self) -> int:
        """The number of buckets of sensitive values."""
        return int(self.redistribution.bucket_of.max()) + 1

    def formed(self, block: Block) -> IntArray:
        return self.redistribution.redistribute(block)

    def describe(self, figures: Mapping[str, float]) -> dict[str, Any]:
        return {**super().describe(figures), "buckets": self.buckets}

    def to_json(self) -> dict[str, Any]:
        return {"stretch": str(self.stretch), **self.layout.to_json()}

    def report(self) -> PlanReport:
        return PlanReport(
            figures={"blocks": self.blocks, "tasks": self.tasks, "buckets": self.buckets},
            note=(
                f"buckets of sensitive values: {self.buckets:,}, {self.blocks_in_words}, bounds up "
                f"to {float(self.stretch):g} t before any classes are merged"
            ),
        )

    @staticmethod
    def from_json(tree: Mapping[str, Any], attributes: ResolvedAttributes, k: int) -> SabrePlan:
        """The plan that `to_json` wrote."""
        return SabrePlan(EvenBlocks.from_json(tree, attributes, k), Fraction(tree["stretch"]))


def make_plan(
    given: PlanningInput, rows_per_block: int = ROWS_PER_BLOCK, rows_per_task: int = ROWS_PER_TASK
) -> SabrePlan:
    """Plans SABRE. The classes do not depend on rows_per_task.

    Raises:
        UnreachableError: see `plan_even_blocks`.
    """
    layout = plan_even_blocks(given, rows_per_block, rows_per_task)
    attribute = bucketed(given.attributes)
    if given.settings.bounds == "proven" or attribute.t is None:
        return SabrePlan(layout, Fraction(1))

    def divide(block: Block, stretch: Fraction) -> IntArray:
        return Redistribution(attribute, stretch).redistribute(block)

    stretch = choose_least_loss(
        given, layout, STRETCHES, divide, lambda stretch: f"bounds up to {float(stretch):g} t"
    )
    return SabrePlan(layout, stretch)
