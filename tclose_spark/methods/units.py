"""What classes count: rows, people and households, each as an integer for every cell that adds up
over a class.

A person counts for k and l by the first row alone, so a person whose first row is elsewhere does
not count. Classes then have at least the people that are required. Over people, a row weighs one
over the number of its person's rows. Likewise, a row weighs one over the number of its household's
rows, and a class has at least as many households as its rows weigh. All add up like rows, so what
holds for cells holds for classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tclose_spark.runfile.attributes import Attributes
from tclose_spark.table.arrays import FloatArray, IntArray
from tclose_spark.table.domains import Profile
from tclose_spark.table.people import FIRST, ROWS_OF_HOUSEHOLD, ROWS_OF_PERSON

WHOLE = 1 << 30
"""What a person or a household weighs, spread over its rows: the sum over 2^32 of them fits in 64
bits.
"""
MARGIN = 1e-9
"""How far below t a distance over rounded weights must be, because it is computed in doubles."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One thing that classes count.

    name: `rows`, `people` or `households`.
    of_cell: what a row of each cell counts, shape (cells,).
    spread: what a row of each cell weighs where l, shares and distances count too, shape (cells,);
        None if only the number of them matters.
    needed: how many a class needs at least; None for k.
    whole: what `of_cell` of all rows of one of them adds up to, at most.
    """

    name: str
    of_cell: IntArray
    spread: IntArray | None
    needed: int | None = None
    whole: int = 1

    def least(self, k: int) -> int:
        """The least sum of `of_cell` over a class. It is above that of one less, so that enough of
        them are there.

        >>> Unit(name="households", of_cell=np.array([3]), spread=None, needed=2, whole=10).least(k=5)
        11
        """
        return ((self.needed or k) - 1) * self.whole + 1

    def total(self, rows: IntArray) -> int:
        """How many of them these rows are. rows: by cell, shape (cells,)."""
        return round(int(rows @ self.of_cell) / self.whole)

    def margin(self, values: int) -> float:
        """How far below its limit a share or a distance over this unit must be, because weights are
        rounded. values: of the attribute.
        """
        assert self.spread is not None
        return MARGIN + (2 * WHOLE / int(self.spread.min()) + values) / WHOLE

    @cached_property
    def shares(self) -> FloatArray:
        """`spread` as a share of one of them, shape (cells,)."""
        assert self.spread is not None
        return self.spread / WHOLE


def rows_of(cells: int) -> Unit:
    """The rows of a table with so many cells, as a unit."""
    each = np.ones(cells, dtype=np.int64)
    return Unit(name="rows", of_cell=each, spread=each)


def units_of(settings: Attributes, profile: Profile) -> tuple[Unit, ...]:
    """The units of a profiled table: rows first, and people and households if they are counted."""
    counted = profile.counted_of_cells
    units = [rows_of(len(profile.cells))]
    if FIRST in counted:
        weights = np.rint(WHOLE / counted[ROWS_OF_PERSON]).astype(np.int64)
        units.append(Unit(name="people", of_cell=counted[FIRST], spread=weights))
    if ROWS_OF_HOUSEHOLD in counted:
        each = WHOLE // counted[ROWS_OF_HOUSEHOLD]
        least = settings.least_households
        units.append(Unit(name="households", of_cell=each, spread=None, needed=least, whole=WHOLE))
    return tuple(units)
