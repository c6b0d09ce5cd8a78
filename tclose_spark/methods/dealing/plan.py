"""The common part of plans that deal by numbers."""

from __future__ import annotations

from dataclasses import dataclass

from tclose_spark.methods.dealing.nearest import gather_nearest
from tclose_spark.methods.dealing.numbering import Numbering
from tclose_spark.methods.widths import QuasiWidths
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows


@dataclass(frozen=True)
class DealtPlan:
    """A plan that sends and numbers rows by `numbering`.

    widths: for gathering near rows inside blocks of classes; None without.
    """

    numbering: Numbering
    widths: QuasiWidths | None

    @property
    def tasks(self) -> int:
        """See Plan."""
        return self.numbering.tasks

    @property
    def blocks(self) -> int:
        """See Plan: here, the tasks."""
        return self.tasks

    def route(self, rows: Rows) -> tuple[IntArray, IntArray]:
        """See Plan."""
        return self.numbering.route(rows)

    def gathered(self, rows: Rows, part: IntArray, classes: IntArray) -> IntArray:
        """The classes of rows in the order of `Numbering.deal`, with near rows gathered if the plan requires it, shape
        (n,).
        """
        if self.widths is None:
            return classes
        return gather_nearest(
            rows, part, classes, self.numbering.blocks(classes), self.numbering.locality.key(rows), self.widths
        )
