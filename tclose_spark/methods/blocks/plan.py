"""The common part of plans in blocks: a layout routes the rows, and each block is put into classes
by itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.layout import ClassesOf, Totals
from tclose_spark.methods.method import ClassAssignment
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows


class Layout(Protocol):
    """Blocks of a table, in tasks: see BlockLayout."""

    @property
    def tasks(self) -> int: ...

    @property
    def blocks(self) -> int: ...

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]: ...

    def assign_classes(
        self, rows: Rows, task: int, classes_of: ClassesOf, figures: Totals
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
