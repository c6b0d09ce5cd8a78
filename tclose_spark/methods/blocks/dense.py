"""From rows and the requirement of a release to the plain arrays that kernels take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tclose_spark.errors import ConfigurationError, UnreachableError
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedSensitive
from tclose_spark.methods.blocks.block import Block, Requirement, exact_limits
from tclose_spark.methods.class_requirement import ClassRequirement, largest_shares
from tclose_spark.methods.method import require_frequencies, require_rows
from tclose_spark.methods.people import of_first_rows
from tclose_spark.methods.units import Unit
from tclose_spark.methods.widths import QuasiWidths
from tclose_spark.requirements.planning import tightest
from tclose_spark.table.arrays import WIDEST, FloatArray, IntArray
from tclose_spark.table.people import PERSON
from tclose_spark.table.rows import Rows


@dataclass(frozen=True, kw_only=True)
class OtherSum:
    """One sum beside rows, as kernels have it.

    of_cell: what a row of each cell adds, shape (cells,).
    least: of a class.
    diverse: whether each distinct l holds over it.
    spread: the unit whose shares and distances it is for; None if it is for none.
    """

    of_cell: IntArray
    least: int = 0
    diverse: bool = False
    spread: Unit | None = None


@dataclass(frozen=True)
class Dense:
    """Makes blocks of rows. It has the whole table's distributions and hierarchies, nothing that
    grows with the rows.
    """

    attributes: ResolvedAttributes
    k: int

    @cached_property
    def most_rows(self) -> int:
        """Rows of the largest block whose numerators fit in 64-bit integers (see `holding`)."""
        widest = max(
            max(a.distance.scale, len(a.distance.table)) for a in self.attributes.sensitive
        )
        return (WIDEST - 1) // (4 * widest * self.attributes.rows)

    def require_room(self, rows: int) -> None:
        """Raises ConfigurationError if the numerators of a block of so many rows do not fit in
        64-bit integers.
        """
        if rows > self.most_rows:
            raise ConfigurationError(
                f"{self.attributes.rows:,} rows with so many sensitive values are too many for the "
                "integers of this method; use coarser values, or method: {name: stack_and_deal}",
            )

    def require_reachable(self) -> None:
        """Raises UnreachableError if even the whole table has fewer than k rows (or people), fewer
        values than distinct l, or a value that is too frequent for the frequency l.
        """
        require_rows(self.k, self.attributes)
        require_frequencies(self.attributes)
        for a, of_rows in zip(
            of_first_rows(self.attributes).sensitive,
            self.attributes.sensitive,
            strict=True,
        ):
            key = f"attributes.sensitive_attributes.{a.name}.l"
            least = a.needs.known or a.needs.least_values
            present, of_all = (_values_present(one) for one in (a, of_rows))
            if least > present:
                what = "has" if least > of_all else "over people, with one row each, has"
                raise UnreachableError(
                    f"{key}.distinct is {least}, but the whole table {what} {present} values",
                )

    def block(self, rows: Rows) -> tuple[Block, list[IntArray]]:
        """(the rows as a block; what its dense codes stand for, ascending, an array for each
        quasi-identifier).
        """
        quasi, widths, codes = QuasiWidths(self.attributes.quasi_identifiers).of(rows)
        person = (
            np.unique(rows.owners[PERSON], return_inverse=True)[1]
            if PERSON in rows.owners
            else None
        )
        return Block(
            quasi,
            rows.cell.astype(np.int32),
            widths,
            self.requirement(len(rows)),
            person=person,
        ), codes

    def requirement(self, largest: int) -> Requirement:
        """The requirement of classes of up to `largest` rows."""
        sensitive = self.attributes.sensitive
        self.require_room(largest)
        domains = np.array([len(a.domain.values) for a in sensitive], dtype=np.int64)
        trees = [a.distance.features.parents for a in sensitive]
        longest = int(domains.max())
        parents = np.full(
            (len(sensitive), max(1, *(len(tree) for tree in trees)), longest),
            -1,
            dtype=np.int32,
        )
        tables = np.zeros((len(sensitive), longest), dtype=np.int64)
        for i, (attribute, tree) in enumerate(zip(sensitive, trees, strict=True)):
            tables[i, : len(attribute.domain.counts)] = attribute.domain.counts
            for height, above in enumerate(tree):
                parents[i, height, : len(above)] = above
        sums = self._sums()
        capped = any(a.needs.caps for a in sensitive)
        shares = np.zeros((len(sums), *((len(sensitive), longest) if capped else (0, 0))))
        for i, one in enumerate(sums if capped else ()):
            shares[i] = self._shares_of(one, longest)
        return Requirement(
            codes=np.ascontiguousarray(self.attributes.cells, dtype=np.int32),
            tables=np.concatenate([tables, *(self._tables_of(one, longest) for one in sums)]),
            domains=domains,
            ordered=np.array([a.distance.features.cumulative for a in sensitive]),
            parents=parents,
            heights=np.array([len(tree) for tree in trees], dtype=np.int64),
            rows=int(self.attributes.rows),
            k=int(self.k),
            distinct=np.array([a.needs.least_of_all for a in sensitive], dtype=np.int64),
            limits=exact_limits(
                [a.t for a in sensitive],
                [a.distance.scale for a in sensitive],
                self.attributes.rows,
                largest,
            ),
            caps=self._caps(largest, longest),
            added=np.array([one.of_cell for one in sums], dtype=np.int64).reshape(
                -1,
                len(self.attributes.cells),
            ),
            least=np.array([one.least for one in sums], dtype=np.int64),
            diverse=np.array([one.diverse for one in sums], dtype=np.bool_),
            most=np.array([self._most_of(one, longest) for one in sums]).reshape(
                -1,
                len(sensitive),
            ),
            shares=shares,
        )

    def _caps(self, largest: int, longest: int) -> IntArray:
        """`Requirement.caps` of classes of up to `largest` rows."""
        if not any(a.needs.caps for a in self.attributes.sensitive):
            return np.zeros((2, 0, 0), dtype=np.int64)
        result = np.zeros((2, len(self.attributes.sensitive), longest), dtype=np.int64)
        result[0] = 1
        for a in self.attributes.sensitive:
            most, of = tightest(a.needs.caps, self.attributes.likened_table(a), largest)
            result[0, a.column, : len(most)] = most
            result[1, a.column, : len(of)] = of
        return result

    def _sums(self) -> list[OtherSum]:
        """What counts beside rows."""
        _, *others = self.attributes.units
        sums = []
        for unit in others:
            diverse = unit.spread is not None
            sums.append(OtherSum(of_cell=unit.of_cell, least=unit.least(self.k), diverse=diverse))
            if unit.spread is not None:
                sums.append(OtherSum(of_cell=unit.spread, spread=unit))
        return sums

    def _tables_of(self, one: OtherSum, longest: int) -> IntArray:
        """A sum over the whole table by value, shape (attributes, longest)."""
        tables = np.zeros((len(self.attributes.sensitive), longest), dtype=np.int64)
        for table, codes in zip(tables, self.attributes.cells.T, strict=True):
            np.add.at(table, codes, self.attributes.cell_rows * one.of_cell)
        return tables

    def _most_of(self, one: OtherSum, longest: int) -> FloatArray:
        """`Requirement.most` of a sum, shape (attributes,)."""
        most = np.full(len(self.attributes.sensitive), np.inf)
        for a in self.attributes.sensitive:
            if one.spread is not None and a.t is not None:
                most[a.column] = float(a.t) - one.spread.margin(longest)
        return most

    def _shares_of(self, one: OtherSum, longest: int) -> FloatArray:
        """`Requirement.shares` of a sum, shape (attributes, longest)."""
        shares = np.full((len(self.attributes.sensitive), longest), np.inf)
        for a in self.attributes.sensitive:
            if one.spread is not None:
                shares[a.column, : len(a.domain.values)] = largest_shares(
                    one.spread,
                    self.attributes,
                    a,
                )
        return shares

    def holds(self, cells: IntArray) -> bool:
        """Whether rows with these counts by cell, shape (cells,), meet the requirement of a class
        as kernels know it, for any number of rows.
        """
        return self._planned.holds(cells)

    @cached_property
    def _planned(self) -> ClassRequirement:
        """The requirement with the needs that kernels know: missing values count for l like others,
        one more.
        """
        needed = [
            replace(a.needs, values=a.needs.least_of_all, mixed=(), known=None)
            for a in self.attributes.sensitive
        ]
        pairs = zip(self.attributes.sensitive, needed, strict=True)
        sensitive = tuple(replace(a, needs=needs) for a, needs in pairs)
        return ClassRequirement(replace(self.attributes, sensitive=sensitive), self.k)


def _values_present(a: ResolvedSensitive) -> int:
    """How many values occur that count for l."""
    counts_all = a.needs.known is None
    return sum(
        n > 0 and (counts_all or value is not None)
        for value, n in zip(a.domain.values, a.domain.counts, strict=True)
    )
