"""Which rows of a table form a block, by their content alone, and which task puts the block into
classes.

The common part of plans in blocks: a layout routes the rows, and each block is put into classes
by itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, Protocol

import numpy as np

from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.routing_tree import RoutingTree, RoutingTreeModel
from tclose_spark.methods.method import ClassAssignment, Integers, PlanModel, PlanReport
from tclose_spark.table.arrays import IntArray, in_order
from tclose_spark.table.rows import Rows

ClassesOf = Callable[[Block], tuple[IntArray, Mapping[str, float]]]
"""Returns (the class of each row of a block, shape (n,), from 0; figures). Every class meets the
requirement if the block does.
"""
Totals = Mapping[str, Literal["sum", "max"]]
"""How a figure of several blocks is formed."""


class BlockLayoutModel(PlanModel):
    """A `BlockLayout` in `plan.json`, without what makes a block."""

    tree: RoutingTreeModel
    block_of: Integers
    block_rows: Integers
    first_block: Integers
    merges: int


@dataclass(frozen=True, kw_only=True)
class BlockLayout:
    """The blocks of a table. Each meets the requirement of a class, by exact counts of the whole
    table.

    dense: makes a block from its rows.
    tree: leads a row to a leaf.
    block_of: the block of each leaf, shape (leaves,).
    block_rows: rows of each block in the whole table, shape (blocks,).
    first_block: the first block of each task, shape (tasks,).
    merges: how many splits of the sample were undone because a side failed the requirement on full
        counts.
    """

    dense: Dense
    tree: RoutingTree
    block_of: IntArray
    block_rows: IntArray
    first_block: IntArray
    merges: int

    @staticmethod
    def of(
        dense: Dense,
        tree: RoutingTree,
        block_of: IntArray,
        block_rows: IntArray,
        rows_per_task: int,
        merges: int,
    ) -> BlockLayout:
        """The blocks in order, as many to a task as have about `rows_per_task` rows.

        Raises:
            ConfigurationError: if a block is too large for the integers of the kernels.
        """
        dense.require_room(int(block_rows.max()))
        task = (np.cumsum(block_rows) - block_rows) // rows_per_task
        first_block = np.flatnonzero(np.diff(task, prepend=-1))
        return BlockLayout(
            dense=dense,
            tree=tree,
            block_of=block_of,
            block_rows=block_rows,
            first_block=first_block,
            merges=merges,
        )

    @property
    def tasks(self) -> int:
        return len(self.first_block)

    @property
    def blocks(self) -> int:
        return len(self.block_rows)

    @cached_property
    def task_of(self) -> IntArray:
        """The task of each block, shape (blocks,)."""
        return np.searchsorted(self.first_block, np.arange(self.blocks), side="right") - 1

    def block(self, rows: Rows) -> IntArray:
        """The block of each row, shape (n,)."""
        return self.block_of[self.tree.leaf_of(rows)]

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        return np.arange(len(rows)), self.task_of[self.block(rows)]

    def assign_classes(
        self,
        rows: Rows,
        task: int,
        classes_of: ClassesOf,
        figures: Totals,
    ) -> ClassAssignment:
        """See Plan. Each block of the task is put into classes by itself, its rows in the order of
        their hashes.
        """
        block = self.block(rows)
        mine = self.task_of == task
        if not np.array_equal(
            np.bincount(block, minlength=self.blocks)[mine],
            self.block_rows[mine],
        ):
            raise ValueError(
                "the rows of a block differ in number from those that the plan counted: the input "
                "changed since planning, or rows were lost",
            )
        by_hash = rows.sorted_by_hash()
        order = by_hash[in_order(block[by_hash])]
        classes = np.empty(len(rows), dtype=np.int64)
        ends = np.cumsum(self.block_rows[mine])
        measured: list[Mapping[str, float]] = []
        # A block has no more classes than rows.
        first_class = np.cumsum(self.block_rows) - self.block_rows
        for number, start, end in zip(
            np.flatnonzero(mine),
            ends - self.block_rows[mine],
            ends,
            strict=True,
        ):
            places = order[start:end]
            dense_block, _ = self.dense.block(rows.take(places))
            classes_here, figures_here = classes_of(dense_block)
            classes[places] = first_class[number] + classes_here
            measured.append(figures_here)
        return ClassAssignment(
            here=np.arange(len(rows)),
            classes=classes,
            blocks=len(measured),
            figures=together(measured, figures),
        )

    def report(self, note: str) -> PlanReport:
        """The report of a plan with this layout. note: what to say after the number and size of its
        blocks.
        """
        return PlanReport(
            figures={"blocks": self.blocks, "tasks": self.tasks, "merges": self.merges},
            note=f"blocks: {self.blocks:,} of up to {int(self.block_rows.max()):,} rows, {note}",
        )

    @staticmethod
    def of_model(model: BlockLayoutModel, dense: Dense) -> BlockLayout:
        """The layout of a model."""
        return BlockLayout(
            dense=dense,
            tree=RoutingTree.of_model(model.tree),
            block_of=model.block_of,
            block_rows=model.block_rows,
            first_block=model.first_block,
            merges=model.merges,
        )


def together(measured: Sequence[Mapping[str, float]], figures: Totals) -> dict[str, float]:
    """The figures of several blocks as one."""
    return {
        name: (sum if how == "sum" else max)(of_block[name] for of_block in measured)
        for name, how in figures.items()
    }


class Layout(Protocol):
    """Blocks of a table, in tasks: see BlockLayout."""

    @property
    def tasks(self) -> int: ...

    @property
    def blocks(self) -> int: ...

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]: ...

    def assign_classes(
        self,
        rows: Rows,
        task: int,
        classes_of: ClassesOf,
        figures: Totals,
    ) -> ClassAssignment: ...


@dataclass(frozen=True)
class BlocksPlan(ABC):
    """The part of a `Plan` that follows from its blocks."""

    layout: Layout
    figures: ClassVar[Totals]

    @abstractmethod
    def classes_of(self, block: Block) -> tuple[IntArray, Mapping[str, float]]:
        """See `ClassesOf`."""

    @property
    def tasks(self) -> int:
        return self.layout.tasks

    @property
    def blocks(self) -> int:
        return self.layout.blocks

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        return self.layout.route(rows)

    def assign_classes(self, rows: Rows, task: int) -> ClassAssignment:
        return self.layout.assign_classes(rows, task, self.classes_of, self.figures)
