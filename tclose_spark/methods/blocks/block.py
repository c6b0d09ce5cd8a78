"""The rows of one block as plain arrays, the input of kernels that form classes."""

from __future__ import annotations

from dataclasses import dataclass, field

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
    person: a number for the person of each row, from 0, if people are counted, shape (n,).
    """

    quasi: Codes
    cell: Codes
    widths: LabelWidths
    requirement: Requirement
    person: IntArray | None = field(default=None, kw_only=True)

    def take(self, rows: IntArray) -> Block:
        """The block of these rows, whose people are not numbered."""
        return Block(self.quasi[rows], self.cell[rows], self.widths, self.requirement)
