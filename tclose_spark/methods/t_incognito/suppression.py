"""Which groups of a node are suppressed: those that are no classes, if they are few enough.

Where the input's distribution is public, so is that of what is suppressed, which therefore has to be a class itself
(`checks.suppressed`). If it is not, the smallest classes are suppressed with it, until it is. ARX asks no such thing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tclose_spark.methods.t_incognito.frequency_sets import FrequencySet, frequency_set
from tclose_spark.methods.t_incognito.requirement import GroupRequirement, Mask, cells_of
from tclose_spark.table.arrays import IntArray

MOST_ADDED = 200  # classes that are suppressed with others so that these are a class, too
MOST_COUNTS = 1 << 20  # counts of cells that are held for it


@dataclass(frozen=True, kw_only=True)
class Suppression:
    """How many rows may be left out, and what is asked of the others, and of them.

    requirement: what every class must hold.
    most: rows that may be left out.
    of: whose distribution classes must be near to (`PlanningInput.of`).
    class_of_suppressed: whether the suppressed rows must be a class where `of` is the input; without it nodes are those
        of ARX, and the verifier objects.
    """

    requirement: GroupRequirement
    most: int
    of: Literal["input", "released"] = "input"
    class_of_suppressed: bool = True

    def may_hold(self, groups: FrequencySet) -> bool:
        """Whether this node, a finer one, or one of more quasi-identifiers may hold. If so, all may that are coarser or
        have fewer of them (see `requirement`). Without suppression: whether this node holds.
        """
        if not self.most:
            return self.suppressed(groups) is not None
        return self.requirement.least_lost(groups, self.most if self.of == "released" else 0) <= self.most

    def suppressed(self, groups: FrequencySet) -> Mask | None:
        """The groups that are suppressed, shape (groups,); None if that does not do."""
        sizes, requirement = groups.sizes, self.requirement
        poor = requirement.poor(groups)
        if sizes[poor].sum() > self.most:
            return None
        shifts = self.of == "released" and self.most
        left = self._beside_the_released(groups, poor) if shifts else requirement.broken(groups)
        rows = int(sizes[left].sum())
        if rows > self.most or left.all():
            return None
        if rows and self.of == "input" and self.class_of_suppressed:
            return self._as_a_class(groups, left)
        return left

    def _as_a_class(self, groups: FrequencySet, left: Mask) -> Mask | None:
        """What is suppressed with as many of the smallest classes as make a class of it; None if no number of those
        that may be left out does.
        """
        kept = np.flatnonzero(~left)
        smallest = kept[np.argsort(groups.sizes[kept], kind="stable")]
        room = self.most - int(groups.sizes[left].sum())
        fits = int(np.searchsorted(np.cumsum(groups.sizes[smallest]), room, side="right"))
        tried = min(fits, len(kept) - 1, MOST_ADDED, MOST_COUNTS // self._cells)
        counts = np.zeros((tried + 1, self._cells), dtype=np.int64)
        counts[0] = cells_of(groups.only(np.flatnonzero(left)), self._cells)
        for step, group in enumerate(smallest[:tried], start=1):
            entries = slice(*groups.offsets[group : group + 2])
            counts[step, groups.cell[entries]] = groups.rows[entries]
        holds = np.flatnonzero(~self.requirement.broken(frequency_set(np.cumsum(counts, axis=0))))
        if not len(holds):
            return None
        left = left.copy()
        left[smallest[: holds[0]]] = True
        return left

    def _beside_the_released(self, groups: FrequencySet, poor: Mask) -> Mask:
        """Where classes are compared with what is released: each that is left out changes that, until none is too far.
        A group that was left out stays out.
        """
        left = poor
        while not left.all() and groups.sizes[left].sum() <= self.most:
            kept = np.flatnonzero(~left)
            released = groups.only(kept)
            broken = self.requirement.broken(released, cells_of(released, self._cells))
            if not broken.any():
                break
            left = left.copy()
            left[kept[broken]] = True
        return left

    @property
    def _cells(self) -> int:
        return len(self.requirement.attributes.cells)

    def compared(self, groups: FrequencySet, left: Mask) -> IntArray:
        """Rows of each cell of what the classes' distances are measured from, shape (cells,)."""
        if self.of == "input":
            return self.requirement.attributes.cell_rows
        return cells_of(groups.only(np.flatnonzero(~left)), self._cells)
