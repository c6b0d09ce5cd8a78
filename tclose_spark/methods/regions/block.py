"""Blocks with the places at which their quasi-identifiers may be cut."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.dense import Dense
from tclose_spark.methods.blocks.requirement import ANYTHING, Requirement, exact_limits
from tclose_spark.methods.regions.axes import Axes, axes_of
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows


@dataclass(frozen=True)
class RegionBlock(Block):
    """A block to be cut into regions. axes: over the same dense codes as its quasi-identifiers."""

    axes: Axes

    def take(self, rows: IntArray) -> RegionBlock:
        """The block of these rows."""
        return RegionBlock(
            self.quasi[rows], self.cell[rows], self.widths, self.requirement, self.axes
        )


class RegionDense(Dense):
    """Makes blocks to be cut into regions. With (n, t)-closeness a region of n rows is its own
    natural superset, so it needs to meet no t.
    """

    def requirement(self, largest: int) -> Requirement:
        return self._without_t(super().requirement(largest))

    def beside_itself(self, block: RegionBlock) -> RegionBlock:
        """The block with itself, instead of the whole table, as the reference of its classes. It
        has at least n rows.
        """
        rows = len(block.cell)
        sensitive = self.attributes.sensitive
        tables = np.zeros_like(block.requirement.tables)
        for attribute, codes in enumerate(block.requirement.codes.T):
            np.add.at(tables[attribute], codes[block.cell], 1)
        limits = exact_limits(
            [a.t for a in sensitive], [a.distance.scale for a in sensitive], rows, rows
        )
        return replace(
            block,
            requirement=self._without_t(
                block.requirement._replace(tables=tables, rows=rows, limits=limits)
            ),
        )

    def holds(self, cells: IntArray) -> bool:
        nt = self.attributes.nt
        if nt is None or cells.sum() < nt:
            return super().holds(cells)
        without = tuple(replace(a, t=None) for a in self.attributes.sensitive)
        return Dense(replace(self.attributes, sensitive=without), self.k).holds(cells)

    def _without_t(self, requirement: Requirement) -> Requirement:
        if self.attributes.nt is not None:
            requirement.limits[:, self.attributes.nt :] = ANYTHING
        return requirement

    def block(self, rows: Rows) -> tuple[RegionBlock, list[IntArray]]:
        plain, codes = super().block(rows)
        axes = axes_of(self.attributes.quasi_identifiers, codes)
        return RegionBlock(
            plain.quasi, plain.cell, plain.widths, plain.requirement, axes, person=plain.person
        ), codes
