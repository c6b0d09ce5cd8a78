"""Whether groups of rows are classes: enough of each unit, every t, l and cap. This is the one
answer in numpy; kernels have theirs in `methods.blocks.holding`.

Over rows, it is exact. Distances and shares over people are doubles, with a margin below t, beta
and the frequency l; the verifier counts people and households exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedSensitive, too_far
from tclose_spark.methods.units import Unit
from tclose_spark.requirements.planning import Needs
from tclose_spark.table.arrays import ExactArray, FloatArray, IntArray

Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class CellGroups:
    """Groups of rows by cell, none of them empty.

    group: of each entry, ascending, shape (entries,).
    cell: of each entry, ascending inside a group, shape (entries,).
    rows: of each entry, at least 1, shape (entries,).
    """

    group: IntArray
    cell: IntArray
    rows: IntArray

    @staticmethod
    def of(counts: IntArray) -> CellGroups:
        """Groups with so many rows of each cell, shape (groups, cells).

        >>> CellGroups.of(np.array([[0, 2], [1, 1]])).rows.tolist()
        [2, 1, 1]
        """
        group, cell = np.nonzero(counts)
        return CellGroups(group=group, cell=cell, rows=counts[group, cell])

    @cached_property
    def groups(self) -> int:
        """The number of groups."""
        return int(self.group[-1]) + 1 if len(self.group) else 0

    @cached_property
    def offsets(self) -> IntArray:
        """The first entry of each group, and the end, shape (groups + 1,)."""
        return np.searchsorted(self.group, np.arange(self.groups + 1))

    @cached_property
    def sizes(self) -> IntArray:
        """Rows of each group, shape (groups,)."""
        return np.add.reduceat(self.rows, self.offsets[:-1])

    def sums(self, of_cell: IntArray) -> IntArray:
        """What the rows of each group add up to, shape (groups,). of_cell: of a row of each cell,
        shape (cells,).
        """
        return np.add.reduceat(self.rows * of_cell[self.cell], self.offsets[:-1])

    def in_all(self, cells: int) -> IntArray:
        """Rows of each cell in all groups together, shape (cells,)."""
        rows = np.zeros(cells, dtype=np.int64)
        np.add.at(rows, self.cell, self.rows)
        return rows


@dataclass(frozen=True)
class ClassRequirement:
    """What every class must hold.

    attributes: the whole table's.
    k: of a class, people if they are counted, otherwise rows.
    """

    attributes: ResolvedAttributes
    k: int

    def poor(self, groups: CellGroups) -> Mask:
        """The groups with too few of a unit, or fewer values than a distinct l, shape (groups,)."""
        poor = np.zeros(groups.groups, dtype=np.bool_)
        for unit in self.attributes.units:
            poor |= groups.sums(unit.of_cell) < unit.least(self.k)
        for a in self.attributes.sensitive:
            if a.needs.least_values > 1:
                for unit in self.attributes.spread_units:
                    poor |= self._breaks(groups, a, unit, Needs(values=a.needs.least_values))
        return poor

    def broken(self, groups: CellGroups, cell_rows: IntArray | None = None) -> Mask:
        """The groups that break anything, shape (groups,).

        cell_rows: rows of each cell of what distances are measured from, the whole table unless
            given, shape (cells,).
        """
        broken = self.poor(groups)
        if broken.all():
            return broken
        _, *others = self.attributes.spread_units
        for a in self.attributes.sensitive:
            broken |= self._broken_over_rows(groups, a, cell_rows)
            for unit in others:
                broken |= self._broken_over(unit, groups, a, cell_rows)
        return broken

    def holds(self, rows: IntArray) -> bool:
        """Whether rows with these counts by cell are a class, shape (cells,)."""
        return bool(rows.any()) and not self.broken(CellGroups.of(rows[None]))[0]

    def _broken_over_rows(
        self,
        groups: CellGroups,
        a: ResolvedSensitive,
        cell_rows: IntArray | None,
    ) -> Mask:
        """The groups that break what one attribute requires over rows, exactly, shape (groups,)."""
        histograms = self.histograms(groups, a)
        broken = ~a.needs.are_met(histograms, self.attributes.likened_table(a, cell_rows))
        if a.t is not None and a.t < 1:
            broken |= too_far(*self.distances(a, histograms, cell_rows), a.t, histograms.sizes)
        return broken

    def _broken_over(
        self,
        unit: Unit,
        groups: CellGroups,
        a: ResolvedSensitive,
        cell_rows: IntArray | None,
    ) -> Mask:
        """The groups that break what one attribute requires over a unit of rounded weights, shape
        (groups,).
        """
        broken = np.zeros(groups.groups, dtype=np.bool_)
        margin = unit.margin(len(a.domain.values))
        if a.needs.mixed:
            broken |= self._breaks(groups, a, unit, replace(a.needs, caps=()))
        if a.t is None and not a.needs.caps:
            return broken
        weights: Any = groups.rows * unit.shares[groups.cell]
        values = self.attributes.cells[groups.cell, a.column]
        classes = Histograms.tally(
            groups.group,
            values,
            weights,
            groups.groups,
            len(a.domain.values),
        )
        if a.t is not None and a.t < 1:
            distance = distance_over(unit, self.attributes, a, cell_rows)
            broken |= distance.distances(classes) > float(a.t) - margin
        if a.needs.caps:
            most = largest_shares(unit, self.attributes, a, cell_rows)[classes.values]
            over = classes.counts > most * np.repeat(classes.sizes, classes.entries_of)
            broken |= np.logical_or.reduceat(over, classes.starts)
        return broken

    def histograms(self, groups: CellGroups, a: ResolvedSensitive) -> Histograms:
        """The rows of each group by value of an attribute."""
        if self.attributes.cell_is_value:
            return Histograms(groups.offsets, self.attributes.cells[groups.cell, 0], groups.rows)
        values = self.attributes.cells[groups.cell, a.column]
        return Histograms.tally(
            groups.group,
            values,
            groups.rows,
            groups.groups,
            len(a.domain.values),
        )

    def distances(
        self,
        a: ResolvedSensitive,
        histograms: Histograms,
        cell_rows: IntArray | None,
    ) -> tuple[GroundDistance, ExactArray]:
        """(the distance over rows, the exact numerators of these groups). cell_rows: see
        `broken`.
        """
        if cell_rows is None or cell_rows is self.attributes.cell_rows:
            return a.distance, a.distance.numerators(histograms)
        table = np.zeros(len(a.domain.values), dtype=np.int64)
        np.add.at(table, self.attributes.cells[:, a.column], cell_rows)
        distance, recoded = a.beside(table, histograms)
        return distance, distance.numerators(recoded)

    def _breaks(self, groups: CellGroups, a: ResolvedSensitive, unit: Unit, needs: Needs) -> Mask:
        """The groups whose values, of what counts as the unit, break these needs, shape (groups,).
        A group without any breaks none: it has too few of the unit.
        """
        broken = np.zeros(groups.groups, dtype=np.bool_)
        counts = groups.rows * unit.of_cell[groups.cell]
        here = np.flatnonzero(counts)
        if len(here):
            some, place = np.unique(groups.group[here], return_inverse=True)
            values = self.attributes.cells[groups.cell[here], a.column]
            counted = Histograms.tally(place, values, counts[here], len(some), len(a.domain.values))
            broken[some] = ~needs.are_met(counted, a.distance.table)
        return broken


def distance_over(
    unit: Unit,
    attributes: ResolvedAttributes,
    a: ResolvedSensitive,
    cell_rows: IntArray | None = None,
) -> GroundDistance:
    """The distance of one attribute over a unit, from rows with these cells, the whole table unless
    given.
    """
    rows = attributes.cell_rows if cell_rows is None else cell_rows
    table: Any = np.bincount(
        attributes.cells[:, a.column],
        rows * unit.shares,
        len(a.domain.values),
    )
    return a.distance.of(table, a.domain.values, a.hierarchy)


def largest_shares(
    unit: Unit,
    attributes: ResolvedAttributes,
    a: ResolvedSensitive,
    cell_rows: IntArray | None = None,
) -> FloatArray:
    """The largest share of each value over a unit that a class may have, less a relative margin;
    infinite if there is none. Shape (m,).
    """
    rows = attributes.likened_rows if cell_rows is None else cell_rows
    table = np.bincount(attributes.cells[:, a.column], rows * unit.shares, len(a.domain.values))
    most = np.full(len(table), np.inf)
    for cap in a.needs.caps:
        share = float(cap.share) * (table if cap.of_table else np.ones(len(table)))
        share = share / table.sum() if cap.of_table else share
        capped = slice(None) if cap.at is None else cap.at
        most[capped] = np.minimum(most, share)[capped]
    return np.where(most < 1, most * (1 - unit.margin(len(table))), np.inf)
