"""What a class publishes in place of labels that cover its values: of each quasi-identifier one value, an aggregate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.runfile.hierarchies import HierarchyBuilder

Representative = Literal["mean", "median", "mode"]
ORDERED = ("intervals", "dates", "order")
"""Forms of hierarchies whose values stand in their natural order. A CSV does not say that its lines do."""


@dataclass(frozen=True)
class Aggregate:
    """The value that a class publishes of a quasi-identifier, of those of its rows that are not missing; where all are,
    a missing one.

    kind: mean; median: of two in the middle the lower one; mode: the most frequent value, of several the first in
        order.
    digits: of a mean, behind the point; half a unit of the last is rounded up. None for dates and times, whose means
        are rounded to whole days and microseconds.
    """

    kind: Representative
    digits: int | None = None

    @staticmethod
    def of(quasi: QuasiIdentifier, representative: Representative, digits: int) -> Aggregate:
        """That of a quasi-identifier: numbers, dates and times have what is asked; a category in a hierarchy that knows
        its order at best the median, any other the mode.
        """
        if quasi.is_numeric:
            rounded = representative == "mean" and quasi.calendar is None
            return Aggregate(representative, digits if rounded else None)
        known = isinstance(quasi.hierarchy, HierarchyBuilder) and quasi.hierarchy.form in ORDERED
        return Aggregate("median" if known and representative != "mode" else "mode")
