"""What classes must meet where people are counted: k people, each l over people, and each t and beta over people too.

A person counts for k and l by the first row alone, so a person whose first row is elsewhere does not count. Classes
then have at least the people that are required. Over people, a row weighs one over the number of its person's rows.
Likewise, a row weighs one over the number of its household's rows, and a class has at least as many households as its
rows weigh. All add up like rows, so what holds for cells holds for classes. Distances and shares are doubles here, with
a margin below t, beta and the frequency l; the verifier counts people and households exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose_spark.errors import ConfigurationError
from tclose_spark.measures import diversity
from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.attributes import CellPeople, ResolvedAttributes, ResolvedSensitive
from tclose_spark.table.arrays import FloatArray, IntArray
from tclose_spark.table.domains import remaining_values

MARGIN = 1e-9
"""How far below t a distance over people must be, because it is computed in doubles."""


@dataclass(frozen=True)
class PeopleRequirement:
    """attributes: of a table whose people are counted. k: people of a class."""

    attributes: ResolvedAttributes
    k: int

    def broken(
        self, group: IntArray, cell: IntArray, rows: IntArray, groups: int, cell_rows: IntArray | None = None
    ) -> NDArray[np.bool_]:
        """Which groups of rows are no class, shape (groups,). Entry i is `rows[i]` rows of `cell[i]` in `group[i]`.

        cell_rows: rows of each cell of what distances are measured from, the whole table unless given, shape (cells,).
        """
        people = self._people
        broken = self.poor(group, cell, rows, groups)
        for a, distance in zip(self.attributes.sensitive, self.distances(cell_rows), strict=True):
            values = self.attributes.cells[cell, a.column]
            if a.t is not None and a.t < 1:
                shares: Any = rows * people.share[cell]
                classes = Histograms.tally(group, values, shares, groups, len(a.domain.values))
                broken |= distance.distances(classes) > float(a.t) - MARGIN
            if a.needs.mixed:
                firsts, some = self._firsts(a, group, cell, rows)
                broken[some] |= ~replace(a.needs, caps=()).are_met(firsts, a.distance.table)
            if a.needs.caps:
                shares = rows * people.share[cell]
                classes = Histograms.tally(group, values, shares, groups, len(a.domain.values))
                most = self.largest_shares(a, MARGIN, cell_rows)[classes.values]
                over = classes.counts > most * np.repeat(classes.sizes, classes.entries_of)
                broken |= np.logical_or.reduceat(over, classes.starts)
        return broken

    def poor(self, group: IntArray, cell: IntArray, rows: IntArray, groups: int) -> NDArray[np.bool_]:
        """Which groups have fewer than k people, or may have too few households, or have fewer values than distinct l,
        shape (groups,).
        """
        people = np.bincount(group, weights=rows * self._people.first[cell], minlength=groups)
        poor: NDArray[np.bool_] = people < self.k
        if self._people.household is not None:
            units = np.bincount(group, weights=rows * self._people.household[cell], minlength=groups)
            poor |= units < self._people.least_household_units
        for a in self.attributes.sensitive:
            if a.needs.least_values > 1:
                firsts, some = self._firsts(a, group, cell, rows)
                poor[some] |= diversity.distinct(firsts) < a.needs.least_values
        return poor

    def largest_shares(self, a: ResolvedSensitive, margin: float, cell_rows: IntArray | None = None) -> FloatArray:
        """The largest share of each value over the people of a class, less a relative margin; infinite if there is
        none. Shape (m,).
        """
        rows = self.attributes.likened_rows if cell_rows is None else cell_rows
        table = np.bincount(self.attributes.cells[:, a.column], rows * self._people.share, len(a.domain.values))
        most = np.full(len(table), np.inf)
        for cap in a.needs.caps:
            share = float(cap.share) * (table if cap.of_table else np.ones(len(table)))
            share = share / table.sum() if cap.of_table else share
            capped = slice(None) if cap.at is None else cap.at
            most[capped] = np.minimum(most, share)[capped]
        return np.where(most < 1, most * (1 - margin), np.inf)

    def distances(self, cell_rows: IntArray | None = None) -> list[GroundDistance]:
        """The distances over people from rows with these cells, by sensitive attribute."""
        rows = self.attributes.cell_rows if cell_rows is None else cell_rows
        shares, distances = rows * self._people.share, []
        for a in self.attributes.sensitive:
            table: Any = np.bincount(self.attributes.cells[:, a.column], shares, len(a.domain.values))
            distances.append(a.distance.of(table, a.domain.values, a.hierarchy))
        return distances

    @property
    def _people(self) -> CellPeople:
        assert self.attributes.people is not None
        return self.attributes.people

    def _firsts(
        self, a: ResolvedSensitive, group: IntArray, cell: IntArray, rows: IntArray
    ) -> tuple[Histograms, IntArray]:
        """(the values of the first rows of people in the groups that have any, which groups these are)."""
        first = np.flatnonzero(self._people.first[cell])
        some, place = np.unique(group[first], return_inverse=True)
        values = self.attributes.cells[cell[first], a.column]
        return Histograms.tally(place, values, rows[first], len(some), len(a.domain.values)), some


def of_first_rows(attributes: ResolvedAttributes) -> ResolvedAttributes:
    """The attributes of a table with the first row of each person, whose rows are its people."""
    assert attributes.people is not None
    first = attributes.people.first
    likened = None if attributes.likened is None else attributes.likened * first
    return replace(with_cell_rows(attributes, attributes.cell_rows * first), people=None, likened=likened)


def with_cell_rows(attributes: ResolvedAttributes, rows: IntArray) -> ResolvedAttributes:
    """The attributes of a part of a table, with the part's distributions. rows: of the part by cell, shape (cells,)."""
    sensitive = []
    for a in attributes.sensitive:
        counts = np.bincount(attributes.cells[:, a.column], rows, len(a.domain.values)).astype(np.int64)
        domain = replace(a.domain, counts=tuple(counts.tolist()))
        sensitive.append(replace(a, domain=domain, distance=a.distance.of(counts, a.domain.values, a.hierarchy)))
    return replace(attributes, rows=int(rows.sum()), sensitive=tuple(sensitive), cell_rows=rows)


def with_remaining_values(attributes: ResolvedAttributes, rows: IntArray) -> ResolvedAttributes:
    """The attributes over the domains that a release of a part of the table has (see `remaining_values`). rows: of the
    part by cell, shape (cells,). Values that the part lacks have code 0.
    """
    cells, sensitive = attributes.cells.copy(), []
    for a in attributes.sensitive:
        if a.order is None or not rows.any():
            sensitive.append(a)
            continue
        counts = np.bincount(attributes.cells[:, a.column], rows, len(a.domain.values)).astype(np.int64)
        left = remaining_values(a.domain, counts, a.order)
        code = np.full(len(counts), -1, dtype=np.int64)
        code[left] = np.arange(len(left))
        cells[:, a.column] = np.maximum(code, 0)[attributes.cells[:, a.column]]
        values = tuple(a.domain.values[i] for i in left)
        domain = replace(a.domain, values=values, counts=tuple(counts[left].tolist()))
        sensitive.append(replace(a, domain=domain, needs=a.needs.recoded(code)))
    return replace(attributes, cells=cells, sensitive=tuple(sensitive))


def distances_of(attributes: ResolvedAttributes, k: int, rows: IntArray) -> list[Fraction]:
    """How far a part of the table is from the whole, by sensitive attribute: the distance over rows, or that over
    people with its margin if it is larger. rows: of the part by cell, shape (cells,).
    """
    some, found = np.flatnonzero(rows), []
    over_people = PeopleRequirement(attributes, k).distances() if attributes.people is not None else ()
    for i, a in enumerate(attributes.sensitive):
        values = attributes.cells[some, a.column]
        part = Histograms.tally(np.zeros_like(some), values, rows[some], 1, len(a.domain.values))
        numerator = int(a.distance.numerators(part)[0])
        far = Fraction(numerator, a.distance.scale * attributes.rows * int(rows.sum()))
        if over_people and attributes.people is not None:
            shares: Any = rows[some] * attributes.people.share[some]
            people = Histograms.tally(np.zeros_like(some), values, shares, 1, len(a.domain.values))
            far = max(far, Fraction(float(over_people[i].distances(people)[0]) + MARGIN))
        found.append(far)
    return found


def require_constant(attributes: ResolvedAttributes) -> None:
    """Raises ConfigurationError if all rows of a person must be in one class, and their quasi-identifiers differ. For
    methods that assign rows to classes by their quasi-identifiers.
    """
    if attributes.people is None or not any(attributes.people.varying):
        return
    varying = zip(attributes.quasi_identifiers, attributes.people.varying, strict=True)
    found = [f"{quasi.name!r} (of {people:,} people)" for quasi, people in varying if people]
    raise ConfigurationError(
        f"attributes.person: rows of one person differ in {', '.join(found)}, so this method cannot keep them in one "
        "class; use method: {name: closeness_tree} with overlap: allowed, or rows: apart"
    )
