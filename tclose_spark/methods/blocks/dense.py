"""From rows and the requirement of a release to the plain arrays that kernels take."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tclose_spark.errors import ConfigurationError, UnreachableError
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.methods.attributes import CellPeople, ResolvedAttributes, ResolvedSensitive
from tclose_spark.methods.blocks.block import Block
from tclose_spark.methods.blocks.requirement import ONE, Requirement, exact_limits
from tclose_spark.methods.method import require_frequencies, require_rows
from tclose_spark.methods.people import MARGIN, PeopleRequirement, of_first_rows
from tclose_spark.methods.widths import QuasiWidths
from tclose_spark.requirements.planning import tightest
from tclose_spark.table.arrays import WIDEST, IntArray
from tclose_spark.table.rows import Rows


@dataclass(frozen=True)
class Dense:
    """Makes blocks of rows. It has the whole table's distributions and hierarchies, nothing that grows with the
    rows.
    """

    attributes: ResolvedAttributes
    k: int

    @cached_property
    def most_rows(self) -> int:
        """Rows of the largest block whose numerators fit in 64-bit integers (see `numerators`)."""
        widest = max(max(a.distance.scale, len(a.distance.table)) for a in self.attributes.sensitive)
        return (WIDEST - 1) // (4 * widest * self.attributes.rows)

    def require_room(self, rows: int) -> None:
        """Raises ConfigurationError if the numerators of a block of so many rows do not fit in 64-bit integers."""
        if rows > self.most_rows:
            raise ConfigurationError(
                f"{self.attributes.rows:,} rows with so many sensitive values are too many for the integers of this "
                "method; use coarser values, or method: {name: stack_and_deal}"
            )

    def require_reachable(self) -> None:
        """Raises UnreachableError if even the whole table has fewer than k rows (or people), fewer values than distinct
        l, or a value that is too frequent for the frequency l.
        """
        require_rows(self.k, self.attributes)
        require_frequencies(self.attributes)
        counted = self.attributes if self.attributes.people is None else of_first_rows(self.attributes)
        for a, of_rows in zip(counted.sensitive, self.attributes.sensitive, strict=True):
            key, least = f"attributes.sensitive_attributes.{a.name}.l", a.needs.known or a.needs.least_values
            present, of_all = (_values_present(one) for one in (a, of_rows))
            if least > present:
                what = "has" if least > of_all else "over people, with one row each, has"
                raise UnreachableError(f"{key}.distinct is {least}, but the whole table {what} {present} values")

    def block(self, rows: Rows) -> tuple[Block, list[IntArray]]:
        """(the rows as a block; what its dense codes stand for, ascending, an array for each quasi-identifier)."""
        quasi, widths, codes = QuasiWidths(self.attributes.quasi_identifiers).of(rows)
        person = None if rows.person is None else np.unique(rows.person, return_inverse=True)[1]
        return Block(quasi, rows.cell.astype(np.int32), widths, self.requirement(len(rows)), person=person), codes

    def requirement(self, largest: int) -> Requirement:
        """The requirement of classes of up to `largest` rows."""
        sensitive = self.attributes.sensitive
        self.require_room(largest)
        domains = np.array([len(a.domain.values) for a in sensitive], dtype=np.int64)
        trees = [a.distance.features.parents for a in sensitive]
        longest = int(domains.max())
        parents = np.full((len(sensitive), max(1, *(len(tree) for tree in trees)), longest), -1, dtype=np.int32)
        tables = np.zeros((len(sensitive), longest), dtype=np.int64)
        for i, (attribute, tree) in enumerate(zip(sensitive, trees, strict=True)):
            tables[i, : len(attribute.domain.counts)] = attribute.domain.counts
            for height, above in enumerate(tree):
                parents[i, height, : len(above)] = above
        plain = Requirement(
            codes=np.ascontiguousarray(self.attributes.cells, dtype=np.int32),
            tables=tables,
            domains=domains,
            ordered=np.array([a.distance.features.cumulative for a in sensitive]),
            parents=parents,
            heights=np.array([len(tree) for tree in trees], dtype=np.int64),
            rows=int(self.attributes.rows),
            k=int(self.k),
            distinct=np.array([a.needs.least_of_all for a in sensitive], dtype=np.int64),
            limits=exact_limits(
                [a.t for a in sensitive], [a.distance.scale for a in sensitive], self.attributes.rows, largest
            ),
            caps=self._caps(largest, longest),
            first=np.zeros(0, dtype=np.int64),
            weight=np.zeros(0, dtype=np.int64),
            most=np.zeros(0),
            shares=np.zeros((0, 0)),
            household=np.zeros(0, dtype=np.int64),
            households=0,
        )
        return plain if self.attributes.people is None else self._of_people(plain, self.attributes.people)

    def _caps(self, largest: int, longest: int) -> IntArray:
        """`Requirement.caps` of classes of up to `largest` rows."""
        if not any(a.needs.caps for a in self.attributes.sensitive):
            return np.zeros((2, 0, 0), dtype=np.int64)
        result = np.zeros((2, len(self.attributes.sensitive), longest), dtype=np.int64)
        result[0] = 1
        for a in self.attributes.sensitive:
            most, of = tightest(a.needs.caps, self.attributes.likened_table(a), largest)
            result[0, a.column, : len(most)], result[1, a.column, : len(of)] = most, of
        return result

    def _of_people(self, plain: Requirement, people: CellPeople) -> Requirement:
        """The requirement of people, beside that of rows."""
        weight, rows = np.rint(people.share * ONE).astype(np.int64), self.attributes.cell_rows
        tables = np.zeros((3, *plain.tables.shape), dtype=np.int64)
        for counts, each in zip(tables, (rows, rows * people.first, rows * weight), strict=True):
            for attribute, codes in enumerate(plain.codes.T):
                np.add.at(counts[attribute], codes, each)
        of_people, shares = PeopleRequirement(self.attributes, self.k), np.full(plain.caps.shape[1:], np.inf)
        margin = MARGIN + (2 / people.share.min() + plain.domains.max()) / ONE  # weights and expected ones are rounded
        for a in self.attributes.sensitive if plain.caps.size else ():
            shares[a.column, : len(a.domain.values)] = of_people.largest_shares(a, margin)
        tables = tables.reshape(-1, plain.tables.shape[1])
        if people.household is not None:
            whole = np.zeros((1, tables.shape[1]), dtype=np.int64)
            whole[0, 0] = rows @ people.household
            tables = np.concatenate([tables, whole])
            plain = plain._replace(household=people.household, households=people.least_household_units)
        return plain._replace(
            tables=tables,
            first=np.ascontiguousarray(people.first),
            weight=weight,
            most=np.array([np.inf if a.t is None else float(a.t) - margin for a in self.attributes.sensitive]),
            shares=shares,
        )

    def holds(self, cells: IntArray) -> bool:
        """Whether rows with these counts by cell, shape (cells,), meet the requirement of a class. Exact except for
        distances over people, for any number of rows, unlike `requirement` and its kernels.
        """
        size = int(cells.sum())
        if size < self.k:
            return False
        if self.attributes.people is not None:
            some = np.flatnonzero(cells)
            if PeopleRequirement(self.attributes, self.k).broken(np.zeros_like(some), some, cells[some], 1)[0]:
                return False
        for a in self.attributes.sensitive:
            values = np.zeros(len(a.domain.counts), dtype=np.int64)
            np.add.at(values, self.attributes.cells[:, a.column], cells)
            of_one = Histograms.dense(values[None, :])
            if np.count_nonzero(values) < a.needs.least_of_all:
                return False
            if not a.needs.are_capped(of_one, self.attributes.likened_table(a))[0]:
                return False
            if a.t is not None:
                numerator = int(a.distance.numerators(of_one)[0])
                if a.t.denominator * numerator > a.t.numerator * a.distance.scale * self.attributes.rows * size:
                    return False
        return True


def _values_present(a: ResolvedSensitive) -> int:
    """How many values occur that count for l."""
    counts_all = a.needs.known is None
    return sum(
        n > 0 and (counts_all or value is not None) for value, n in zip(a.domain.values, a.domain.counts, strict=True)
    )
