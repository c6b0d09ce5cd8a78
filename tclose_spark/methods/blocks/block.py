"""The rows of one block as plain arrays, the input of kernels that form classes."""

from __future__ import annotations

from dataclasses import dataclass

from tclose_spark.kernels.widths import LabelWidths
from tclose_spark.methods.blocks.requirement import Requirement
from tclose_spark.table.arrays import Codes, IntArray


@dataclass(frozen=True)
class Block:
    """Rows to be put into classes, in an order that depends only on their content.

    quasi: dense codes of the quasi-identifiers, shape (n, q).
    cell: each row's cell (tuple of sensitive values), shape (n,).
    widths: how wide labels over these codes are.
    requirement: what every class must meet.
    """

    quasi: Codes
    cell: Codes
    widths: LabelWidths
    requirement: Requirement

    def take(self, rows: IntArray) -> Block:
        """The block of these rows."""
        return Block(self.quasi[rows], self.cell[rows], self.widths, self.requirement)
