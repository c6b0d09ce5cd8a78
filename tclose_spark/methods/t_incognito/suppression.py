"""Suppressed groups of a node: those that are not classes, if they are few enough.

If the input's distribution is public, so is that of the suppressed rows, which must therefore form a class
(`checks.classes.suppressed`). If they do not, the smallest classes are suppressed too, until they do. ARX does not
require this.
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
    """The limit of suppression, and the requirements of released and suppressed rows.

    requirement: of every class.
    most: the most rows that may be suppressed.
    of: the distribution that classes are compared with (`PlanningInput.of`).
    class_of_suppressed: whether the suppressed rows must be a class if `of` is the input. Without it, nodes are
        those of ARX, and the verifier objects.
    """

    requirement: GroupRequirement
    most: int
    of: Literal["input", "released"] = "input"
    class_of_suppressed: bool = True

    def may_hold(self, groups: FrequencySet) -> bool:
        """Whether this node, a finer one, or one of more quasi-identifiers may hold.

        If so, coarser nodes and nodes of fewer quasi-identifiers may too (see `requirement`). Without suppression:
        whether this node holds.
        """
        if not self.most:
            return self.suppressed(groups) is not None
        return self.requirement.least_lost(groups, self.most if self.of == "released" else 0) <= self.most

    def suppressed(self, groups: FrequencySet) -> Mask | None:
        """The suppressed groups, shape (groups,); None if suppression does not suffice."""
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
        """The suppressed groups, with as many of the smallest classes as make them a class; None if no allowed number
        does.
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
        """The suppressed groups if classes are compared with the released rows. Each suppression changes that
        distribution, until no class is too far. A suppressed group stays suppressed.
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
        """Rows of each cell in the distribution that classes are compared with, shape (cells,)."""
        if self.of == "input":
            return self.requirement.attributes.cell_rows
        return cells_of(groups.only(np.flatnonzero(~left)), self._cells)
