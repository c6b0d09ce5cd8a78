"""What plans in blocks have in common: a layout says where rows go, and each block is put into classes by itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.layout import ClassesOf
from tclose_spark.methods.method import ClassAssignment
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows


class Layout(Protocol):
    """The blocks of a table, by tasks."""

    @property
    def tasks(self) -> int:
        """See Plan."""
        ...

    @property
    def blocks(self) -> int:
        """See Plan."""
        ...

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        """See Plan."""
        ...

    def assign_classes(
        self, rows: Rows, task: int, classes_of: ClassesOf, figures: Mapping[str, Literal["sum", "max"]]
    ) -> ClassAssignment:
        """See Plan. Each block of the task is put into classes by itself. figures: how those of several become one."""
        ...


@dataclass(frozen=True)
class BlocksPlan(ABC):
    """The part of a `Plan` that follows from its blocks.

    layout: the blocks of the table.
    """

    layout: Layout

    figures: ClassVar[Mapping[str, Literal["sum", "max"]]]

    @abstractmethod
    def classes_of(self, block: Block) -> tuple[IntArray, Mapping[str, float]]:
        """(the class of each row of a block, shape (n,), from 0; figures): every class holds what is required if the
        block does.
        """

    @property
    def tasks(self) -> int:
        """See Plan."""
        return self.layout.tasks

    @property
    def blocks(self) -> int:
        """See Plan."""
        return self.layout.blocks

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        """See Plan."""
        return self.layout.route(rows)

    def assign_classes(self, rows: Rows, task: int) -> ClassAssignment:
        """See Plan."""
        return self.layout.assign_classes(rows, task, self.classes_of, self.figures)
