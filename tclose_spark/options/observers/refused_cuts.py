"""What disjoint regions reveal because the method did not cut them further, counted while the
release is written: see `measures.disclosure.refused_cuts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tclose_spark.engine.protocol import Session
from tclose_spark.engine.tables import task_sum
from tclose_spark.measures.disclosure.refused_cuts import (
    Disclosure,
    disclosed_by_refusal,
    rows_below_cuts,
)
from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.methods.attributes import ResolvedAttributes, ResolvedQuasi
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.arrays import IntArray
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.labels import MISSING
from tclose_spark.table.rows import Rows

MOST_CLASSES = 200  # of a task that are examined
MOST_LINES = 16  # of a quasi-identifier in a class that are examined
CLASSES = "classes"
LARGE = "large_enough"
LOOKED_AT = "looked_at"
TELL = "tell"
Found = dict[Any, Any]
"""Numbers of classes by CLASSES, LARGE, LOOKED_AT and TELL. By (quasi-identifier, sensitive
attribute, value): the number of classes that reveal it, and the most certain side (its rows, and
the least number of them with the value).
"""


def _merge(found: Found, part: Found) -> Found:
    for key, more in part.items():
        if isinstance(key, str):
            found[key] = found.get(key, 0) + more
        else:
            classes, *side = found.get(key, (0, 1, 0))
            found[key] = (classes + more[0], *max(tuple(side), more[1:], key=_certainty))
    return found


def _certainty(side: tuple[int, int]) -> tuple[Fraction, int]:
    """Orders sides (rows, least number with the value) by the least share of the value."""
    return Fraction(side[1], side[0]), side[0]


class RefusedCuts:
    """Counts in tasks; the driver reads `figure` after the write."""

    def __init__(
        self,
        session: Session,
        attributes: ResolvedAttributes,
        k: int,
        median_only: bool,
    ) -> None:
        """median_only: whether the method considers only the median of each quasi-identifier."""
        self._attributes = attributes
        self._k = k
        self._median_only = median_only
        self._sum = task_sum(session, dict, _merge)

    @staticmethod
    def of(
        session: Session,
        spec: ReleaseSpec,
        attributes: ResolvedAttributes,
    ) -> RefusedCuts | None:
        """The counter of a run; None if regions may overlap, or if anything but k and t over rows
        can refuse cuts.
        """
        plain = spec.privacy.n is None and not any(a.is_conditioned for a in attributes.sensitive)
        plain = plain and "person" not in spec.attributes.owners and not spec.privacy.joint
        if not (plain and spec.method.promises_disjoint):
            return None
        return RefusedCuts(session, attributes, spec.privacy.k, spec.method.cuts_at_medians)

    def add(self, rows: Rows, starts: IntArray) -> None:
        """In a task: examines its classes, which begin at these places of the rows."""
        if not self._sum.counts:
            return
        ends = np.append(starts[1:], len(rows))
        large = np.flatnonzero(ends - starts >= 2 * self._k)
        found: Found = {CLASSES: len(starts), LARGE: len(large), LOOKED_AT: 0, TELL: 0}
        for place in large[:MOST_CLASSES].tolist():
            revealed = self._revealed(rows.take(np.arange(starts[place], ends[place])))
            if revealed is not None:
                sides = {key: (1, one.rows, one.at_least) for key, one in revealed.items()}
                _merge(found, {LOOKED_AT: 1, TELL: int(bool(revealed)), **sides})
        self._sum.add(found)

    def _revealed(self, rows: Rows) -> dict[tuple[int, int, int], Disclosure] | None:
        """By quasi-identifier, sensitive attribute and value the most certain side of a class; None
        if it cannot be examined.
        """
        sensitive = self._attributes.sensitive
        distances: list[tuple[GroundDistance, Fraction | None]] = [
            (a.distance, a.t) for a in sensitive
        ]
        counts = [
            np.bincount(self._attributes.cells[rows.cell, a.column], minlength=len(a.domain.values))
            for a in sensitive
        ]
        known: dict[tuple[int, int], Sequence[Disclosure] | None] = {}
        best: dict[tuple[int, int, int], Disclosure] = {}
        for q, quasi in enumerate(self._attributes.quasi_identifiers):
            for side in {min(side, len(rows) - side) for side in self._sides(quasi, rows.quasi[q])}:
                for a in range(len(sensitive)):
                    if (side, a) not in known:
                        known[side, a] = disclosed_by_refusal(counts, side, distances, a)
                    revealed = known[side, a]
                    if revealed is None:
                        return None
                    for one in revealed:
                        before = best.get(
                            (q, a, one.value),
                            Disclosure(rows=1, value=one.value, at_least=0),
                        )
                        best[q, a, one.value] = max(
                            before,
                            one,
                            key=lambda x: _certainty((x.rows, x.at_least)),
                        )
        return best

    def _sides(self, quasi: ResolvedQuasi, codes: IntArray) -> list[int]:
        """The number of rows below each line along which the method could have cut a class in
        two.
        """
        if quasi.domain.kind == "category":
            codes = _below(quasi.hierarchy, codes)
            if len(np.unique(codes)) != 2:  # a cut leaves all parts at once
                return []
        return rows_below_cuts(codes, self._k, MOST_LINES, self._median_only)

    def figure(self) -> dict[str, Any] | None:
        """The number of classes that reveal something, and what. It names raw values, so it must
        stay inside. None if nothing was counted.
        """
        found = self._sum.value
        if not found:
            return None
        quasi = self._attributes.quasi_identifiers
        sensitive = self._attributes.sensitive
        lines = [
            {
                "quasi_identifier": quasi[q].name,
                "sensitive_attribute": sensitive[a].name,
                "sensitive_value": sensitive[a].domain.values[value],
                "classes": found[q, a, value][0],
                "rows": found[q, a, value][1],
                "at_least": found[q, a, value][2],
            }
            for q, a, value in sorted(key for key in found if isinstance(key, tuple))
        ]
        return {**{key: found[key] for key in (CLASSES, LARGE, LOOKED_AT, TELL)}, "values": lines}


def _below(hierarchy: Hierarchy | None, codes: IntArray) -> IntArray:
    """The child of the class's lowest common ancestor above each value; the values themselves
    without a tree.
    """
    if hierarchy is None or (codes == MISSING).any():
        return codes
    height = next(
        (h for h, node in enumerate(hierarchy.nodes) if node[codes.min()] == node[codes.max()]),
        0,
    )
    return hierarchy.nodes[max(height - 1, 0)][codes]
