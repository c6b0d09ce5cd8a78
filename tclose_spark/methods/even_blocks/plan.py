"""The common part of plans in even blocks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedSensitive
from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.figures import closeness_ratios, rows_lost
from tclose_spark.methods.blocks.plan import BlocksPlan
from tclose_spark.methods.even_blocks.layout import ROWS_PER_BLOCK, EvenBlocks
from tclose_spark.methods.even_blocks.merging import merge_until_all_hold
from tclose_spark.methods.method import PlanningInput
from tclose_spark.table.arrays import IntArray

Option = TypeVar("Option")


@dataclass(frozen=True)
class EvenBlocksPlan(BlocksPlan):
    """Each block is divided into classes by itself, and classes that do not hold are merged.

    layout: the blocks of the table.
    """

    layout: EvenBlocks

    figures: ClassVar[Mapping[str, Literal["sum", "max"]]] = {
        "rows": "sum",
        "lost": "sum",
        "classes": "sum",
        "merged": "sum",
        "largest_closeness_ratio": "max",
    }

    @abstractmethod
    def formed(self, block: Block) -> IntArray:
        """The class of each row of a block, from 0, shape (n,), before merging. Classes need not
        hold.
        """

    def classes_of(self, block: Block) -> tuple[IntArray, Mapping[str, float]]:
        classes, merged = merge_until_all_hold(block, self.formed(block))
        return classes, {
            "rows": len(classes),
            "lost": rows_lost(block, classes),
            "classes": int(classes.max()) + 1,
            "merged": merged,
            "largest_closeness_ratio": float(closeness_ratios(block, classes).max()),
        }

    def describe(self, figures: Mapping[str, float]) -> dict[str, Any]:
        return {
            "blocks": self.blocks,
            "tasks": self.tasks,
            "classes": int(figures["classes"]),
            "merged": int(figures["merged"]),
            "ncp": round(figures["lost"] / figures["rows"], 6),
            "largest_closeness_ratio": round(figures["largest_closeness_ratio"], 6),
        }

    @property
    def blocks_in_words(self) -> str:
        """The blocks, for the plan's note."""
        return (
            f"blocks: {self.blocks:,} of up to {int(self.layout.block_rows.max()):,} rows, tasks: "
            f"{self.tasks:,}"
        )


def bucketed(attributes: ResolvedAttributes) -> ResolvedSensitive:
    """The sensitive attribute whose values form buckets: the one with a t, otherwise the first."""
    return next((a for a in attributes.sensitive if a.t is not None), attributes.sensitive[0])


def choose_least_loss(
    given: PlanningInput,
    layout: EvenBlocks,
    options: Sequence[Option],
    divide: Callable[[Block, Option], IntArray],
    in_words: Callable[[Option], str],
) -> Option:
    """The option that loses least if a sample as large as a block is divided, and classes that do
    not hold are merged.

    divide: the class of each row of a block by an option, shape (n,).
    """
    rows = given.sample.take(np.arange(min(len(given.sample), ROWS_PER_BLOCK)))
    block = layout.dense.block(rows)[0]
    losses = []
    for option in options:
        losses.append(rows_lost(block, merge_until_all_hold(block, divide(block, option))[0]))
        given.log(f"{in_words(option)} lose {losses[-1] / len(rows):.4f} on {len(rows):,} rows")
    return options[int(np.argmin(losses))]
