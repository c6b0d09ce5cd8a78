"""What plans that deal by numbers have in common."""

from __future__ import annotations

from dataclasses import dataclass

from tclose_spark.methods.dealing.nearest import gather_nearest
from tclose_spark.methods.dealing.numbering import Numbering
from tclose_spark.methods.widths import QuasiWidths
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows


@dataclass(frozen=True)
class DealtPlan:
    """Rows are sent and numbered by `numbering`.

    widths: where near rows are gathered inside blocks of classes.
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
        """The classes of rows in the order of `Numbering.deal`, near rows gathered where the plan says so, shape
        (n,).
        """
        if self.widths is None:
            return classes
        return gather_nearest(
            rows, part, classes, self.numbering.blocks(classes), self.numbering.locality.key(rows), self.widths
        )
