"""Which rows of a table make a block, by their content alone, and which task puts it into classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.routing_tree import RoutingTree
from tclose_spark.methods.method import ClassAssignment
from tclose_spark.table.arrays import IntArray, in_order
from tclose_spark.table.rows import Rows

ClassesOf = Callable[[Block], tuple[IntArray, Mapping[str, float]]]
"""(the class of each row of a block, shape (n,), from 0; figures): every class holds what is required if the block
does."""


@dataclass(frozen=True, kw_only=True)
class BlockLayout:
    """The blocks of a table. Each holds what is required of a class, by exact counts of the whole table.

    dense: makes a block of its rows.
    tree: leads a row to a leaf.
    block_of: of each leaf, shape (leaves,).
    block_rows: of each block, counted, shape (blocks,).
    first_block: of each task, shape (tasks,).
    merges: how many leaves were merged with others since they did not hold.
    """

    dense: Dense
    tree: RoutingTree
    block_of: IntArray
    block_rows: IntArray
    first_block: IntArray
    merges: int

    @property
    def tasks(self) -> int:
        """See Plan."""
        return len(self.first_block)

    @property
    def blocks(self) -> int:
        """See Plan."""
        return len(self.block_rows)

    @cached_property
    def task_of(self) -> IntArray:
        """The task of each block, shape (blocks,)."""
        return np.searchsorted(self.first_block, np.arange(self.blocks), side="right") - 1

    def block(self, rows: Rows) -> IntArray:
        """The block of each row, shape (n,): a function of its content."""
        return self.block_of[self.tree.leaf_of(rows)]

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        """See Plan."""
        return np.arange(len(rows)), self.task_of[self.block(rows)]

    def assign_classes(
        self, rows: Rows, task: int, classes_of: ClassesOf, figures: Mapping[str, Literal["sum", "max"]]
    ) -> ClassAssignment:
        """See Plan. Each block of the task is put into classes by itself, its rows in the order of their hashes.

        figures: how those of several blocks become one.
        """
        block = self.block(rows)
        mine = self.task_of == task
        if not np.array_equal(np.bincount(block, minlength=self.blocks)[mine], self.block_rows[mine]):
            raise ValueError(
                "a block has not the rows that the plan counted: the input changed since, or rows were lost"
            )
        by_hash = rows.sorted_by_hash()
        order = by_hash[in_order(block[by_hash])]
        classes = np.empty(len(rows), dtype=np.int64)
        ends = np.cumsum(self.block_rows[mine])
        measured: list[Mapping[str, float]] = []
        first_class = np.cumsum(self.block_rows) - self.block_rows  # a block has no more classes than rows
        for number, start, end in zip(np.flatnonzero(mine), ends - self.block_rows[mine], ends, strict=True):
            places = order[start:end]
            dense_block, _ = self.dense.block(rows.take(places))
            classes_here, figures_here = classes_of(dense_block)
            classes[places] = first_class[number] + classes_here
            measured.append(figures_here)
        return ClassAssignment(
            here=np.arange(len(rows)), classes=classes, blocks=len(measured), figures=together(measured, figures)
        )

    def to_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        return {
            "merges": self.merges,
            **self.tree.to_json(),
            "block_of": self.block_of.tolist(),
            "block_rows": self.block_rows.tolist(),
            "first_block": self.first_block.tolist(),
        }

    @staticmethod
    def from_json(tree: Mapping[str, Any], dense: Dense) -> BlockLayout:
        """The layout that `to_json` wrote."""
        return BlockLayout(
            dense=dense,
            tree=RoutingTree.from_json(tree, len(dense.attributes.cells)),
            block_of=np.array(tree["block_of"], dtype=np.int64),
            block_rows=np.array(tree["block_rows"], dtype=np.int64),
            first_block=np.array(tree["first_block"], dtype=np.int64),
            merges=tree["merges"],
        )


def together(measured: Sequence[Mapping[str, float]], figures: Mapping[str, Literal["sum", "max"]]) -> dict[str, float]:
    """The figures of several blocks as one."""
    return {
        name: sum(of_block[name] for of_block in measured)
        if how == "sum"
        else max(of_block[name] for of_block in measured)
        for name, how in figures.items()
    }
