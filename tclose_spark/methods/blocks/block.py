"""The rows of one block as plain arrays: what kernels put into classes."""

from __future__ import annotations

from dataclasses import dataclass

from tclose_spark.kernels.widths import LabelWidths
from tclose_spark.methods.blocks.requirement import Requirement
from tclose_spark.table.arrays import Codes, IntArray


@dataclass(frozen=True)
class Block:
    """Rows to be put into classes, in an order that follows from their content alone.

    quasi: dense codes of the quasi-identifiers, shape (n, q).
    cell: each row's tuple of sensitive values, shape (n,).
    widths: of the labels that cover these codes.
    requirement: what every class must hold.
    """

    quasi: Codes
    cell: Codes
    widths: LabelWidths
    requirement: Requirement

    def take(self, rows: IntArray) -> Block:
        """The block of these rows."""
        return Block(self.quasi[rows], self.cell[rows], self.widths, self.requirement)
