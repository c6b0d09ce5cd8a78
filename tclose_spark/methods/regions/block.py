"""Blocks with the lines along which their quasi-identifiers may be cut."""

from __future__ import annotations

from dataclasses import dataclass

from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.regions.axes import Axes, axes_of
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows


@dataclass(frozen=True)
class RegionBlock(Block):
    """A block to be cut into regions; axes: over the same dense codes as its quasi-identifiers."""

    axes: Axes

    def take(self, rows: IntArray) -> RegionBlock:
        """The block of these rows."""
        return RegionBlock(self.quasi[rows], self.cell[rows], self.widths, self.requirement, self.axes)


class RegionDense(Dense):
    """Makes blocks to be cut into regions."""

    def block(self, rows: Rows) -> tuple[RegionBlock, list[IntArray]]:
        """See Dense."""
        plain, codes = super().block(rows)
        axes = axes_of(self.attributes.quasi_identifiers, codes)
        return RegionBlock(plain.quasi, plain.cell, plain.widths, plain.requirement, axes), codes
