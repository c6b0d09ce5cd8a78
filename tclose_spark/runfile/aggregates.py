"""Aggregates that a class publishes instead of labels: one value for each quasi-identifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.runfile.hierarchies import HierarchyBuilder

Representative = Literal["mean", "median", "mode"]
ORDERED = ("intervals", "dates", "order")
"""Forms of hierarchies whose values are in natural order. The order of a CSV file may have no
meaning.
"""


@dataclass(frozen=True)
class Aggregate:
    """The value that a class publishes for a quasi-identifier: an aggregate of its values that are
    not missing.

    kind: mean; median (the lower of two in the middle); mode (the most frequent value, the first in
        order of several).
    digits: decimals of a mean, rounded half up. None for dates and times, whose means are rounded
        to days and microseconds.
    """

    kind: Representative
    digits: int | None = None

    @staticmethod
    def of(quasi: QuasiIdentifier, representative: Representative, digits: int) -> Aggregate:
        """The aggregate of a quasi-identifier. Numbers, dates and times have the requested one. A
        category in a hierarchy with a known order has at best the median, any other the mode.
        """
        if quasi.is_numeric:
            rounded = representative == "mean" and quasi.calendar is None
            return Aggregate(representative, digits if rounded else None)
        known = isinstance(quasi.hierarchy, HierarchyBuilder) and quasi.hierarchy.form in ORDERED
        return Aggregate("median" if known and representative != "mode" else "mode")
