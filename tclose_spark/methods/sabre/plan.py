"""The plan of SABRE: blocks, each with the whole table's distribution, the buckets, and how a block's rows are
redistributed to classes.

Redistribution is the paper's SABRE-KNN: a class begins with a row drawn at random (the first one left in the order of
the keyed hashes) and takes, of each bucket, the rows nearest to it (see `methods.dealing.nearest`). What is left to the
proof is checked: classes that do not hold are merged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from tclose_spark.measures.multiplicity import MultiplicityMatrix
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedSensitive
from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.figures import closeness_ratios, rows_lost
from tclose_spark.methods.dealing.nearest import exchange_nearest
from tclose_spark.methods.dealing.relaxed_conformance import FragmentTable
from tclose_spark.methods.even_blocks.layout import EvenBlocks
from tclose_spark.methods.even_blocks.merging import merge_until_all_hold
from tclose_spark.methods.even_blocks.planning import ROWS_PER_BLOCK, ROWS_PER_TASK, plan_even_blocks
from tclose_spark.methods.method import PlanningInput, PlanReport, Settled
from tclose_spark.methods.sabre.bucketization import bucketize
from tclose_spark.methods.sabre.sizes import class_sizes
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows

STRETCHES = tuple(Fraction(x) for x in ("1", "1.25", "1.5", "2", "2.5", "3", "4", "6", "8"))
"""Of t, that bounds are tried up to where what is reached is measured."""


@dataclass(frozen=True)
class Redistribution:
    """Puts a block into classes.

    attribute: the sensitive one that is put into buckets.
    stretch: the bounds are below t times this.
    """

    attribute: ResolvedSensitive
    stretch: Fraction

    @cached_property
    def limit(self) -> Fraction:
        """Of the bounds; 1, which no distance is above, where no t is required."""
        return Fraction(1) if self.attribute.t is None else min(self.attribute.t * self.stretch, Fraction(1))

    @cached_property
    def bucket_of(self) -> IntArray:
        """The bucket of each value, shape (m,)."""
        if self.attribute.t is None:
            return np.zeros(len(self.attribute.distance.table), dtype=np.int64)
        return bucketize(self.attribute.distance, self.limit)

    @cached_property
    def table(self) -> FragmentTable:
        """What the proven bounds need of the buckets."""
        counts = self.attribute.distance.table
        present = np.flatnonzero(counts)
        matrix = MultiplicityMatrix(present[:, None], counts[present], (len(counts),))
        return FragmentTable.of(matrix, self.bucket_of[present], [self.attribute.distance])

    def redistribute(self, block: Block) -> IntArray:
        """The class of each row of a block, from 0, shape (n,), before any are merged."""
        bucket = self.bucket_of[block.requirement.codes[block.cell, self.attribute.column]]
        rows = np.bincount(bucket, minlength=int(self.bucket_of.max()) + 1)
        sizes = class_sizes(rows, block.requirement.k, self.table, float(self.limit))
        by_bucket = np.argsort(bucket, kind="stable")
        dealt = np.concatenate([np.repeat(np.arange(len(sizes)), of_bucket) for of_bucket in sizes.T])
        seeds = np.argsort(by_bucket)  # the places of the rows in the order of their hashes
        classes = np.empty_like(dealt)
        classes[by_bucket] = exchange_nearest(
            bucket[by_bucket], dealt, seeds, np.ascontiguousarray(block.quasi[by_bucket]), block.widths
        )
        return classes


@dataclass(frozen=True)
class SabrePlan:
    """See the module.

    layout: the blocks of the table.
    """

    layout: EvenBlocks
    stretch: Fraction

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

    @cached_property
    def redistribution(self) -> Redistribution:
        """What puts blocks into classes."""
        return Redistribution(bucketed(self.layout.dense.attributes), self.stretch)

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        """See Plan."""
        return self.layout.route(rows)

    def settle(self, rows: Rows, task: int) -> Settled:
        """See Plan. The rows of each block are redistributed by themselves, and classes that do not hold are merged."""
        return self.layout.settle(rows, task, self._classes_of, self.figures)

    def _classes_of(self, block: Block) -> tuple[IntArray, Mapping[str, float]]:
        classes, merged = merge_until_all_hold(block, self.redistribution.redistribute(block))
        return classes, {
            "rows": len(classes),
            "lost": rows_lost(block, classes),
            "classes": int(classes.max()) + 1,
            "merged": merged,
            "largest_load": float(closeness_ratios(block, classes).max()),
        }

    def describe(self, figures: Mapping[str, float]) -> dict[str, Any]:
        """See Plan."""
        return {
            "blocks": self.blocks,
            "tasks": self.tasks,
            "buckets": self._buckets,
            "classes": int(figures["classes"]),
            "merged": int(figures["merged"]),
            "ncp": round(figures["lost"] / figures["rows"], 6),
            "largest_load": round(figures["largest_load"], 6),
        }

    @property
    def _buckets(self) -> int:
        return int(self.redistribution.bucket_of.max()) + 1

    def to_json(self) -> dict[str, Any]:
        """See Plan."""
        return {"stretch": str(self.stretch), **self.layout.to_json()}

    def report(self) -> PlanReport:
        """See Plan."""
        return PlanReport(
            figures={"blocks": self.blocks, "tasks": self.tasks, "buckets": self._buckets},
            note=(
                f"buckets of sensitive values: {self._buckets:,}, blocks: {self.blocks:,} of up to "
                f"{int(self.layout.block_rows.max()):,} rows, tasks: {self.tasks:,}, bounds up to "
                f"{float(self.stretch):g} t before classes that do not hold are merged"
            ),
        )

    @staticmethod
    def from_json(tree: Mapping[str, Any], attributes: ResolvedAttributes, k: int) -> SabrePlan:
        """The plan that `to_json` wrote."""
        return SabrePlan(EvenBlocks.from_json(tree, attributes, k), Fraction(tree["stretch"]))


def bucketed(attributes: ResolvedAttributes) -> ResolvedSensitive:
    """The sensitive attribute that is put into buckets: the one that a t is required of, else the first."""
    return next((a for a in attributes.sensitive if a.t is not None), attributes.sensitive[0])


def make_plan(
    given: PlanningInput, rows_per_block: int = ROWS_PER_BLOCK, rows_per_task: int = ROWS_PER_TASK
) -> SabrePlan:
    """Plans SABRE. The classes do not depend on rows_per_task.

    Raises:
        UnreachableError: see `plan_even_blocks`.
    """
    layout = plan_even_blocks(given, rows_per_block, rows_per_task)
    measured = given.settings.bounds == "measured" and bucketed(given.attributes).t is not None
    return SabrePlan(layout, _choose_stretch(given, layout) if measured else Fraction(1))


def _choose_stretch(given: PlanningInput, layout: EvenBlocks) -> Fraction:
    """Of STRETCHES that which loses least on a sample as large as a block."""
    rows = given.sample.take(np.arange(min(len(given.sample), ROWS_PER_BLOCK)))
    block, _ = layout.dense.block(rows)
    losses = []
    for stretch in STRETCHES:
        classes = Redistribution(bucketed(given.attributes), stretch).redistribute(block)
        losses.append(rows_lost(block, merge_until_all_hold(block, classes)[0]))
        given.log(f"bounds up to {float(stretch):g} t lose {losses[-1] / len(rows):.4f} on {len(rows):,} rows")
    return STRETCHES[int(np.argmin(losses))]
