"""The rows of the input that a release lacks: how many of each value. If the input's distribution
is public, theirs follows from it, so they must be a class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tclose_spark.checks.classes.figures import ClassFigures, figures_of_suppressed
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.table.domains import Counts, Profile, SensitiveDomain
from tclose_spark.table.writing import LONGEST, listing


@dataclass(frozen=True)
class LeftOut:
    """rows: how many, as counted during the write. values: by sensitive attribute, how many more
    rows of each value the input has than the release.
    """

    rows: int
    values: tuple[Counts, ...]

    @staticmethod
    def of(rows: int, profile: Profile, released: Sequence[Counts]) -> LeftOut:
        """From the profile of the input, and the released rows counted by attribute."""
        return LeftOut(rows, tuple(map(values_left, profile.sensitive, released)))

    @property
    def unexplained(self) -> list[int]:
        """The attributes in which the release differs from the input by more than these rows."""
        counts = [values.values() for values in self.values]
        return [
            i for i, rows in enumerate(counts) if min(rows, default=0) < 0 or sum(rows) != self.rows
        ]


def values_left(domain: SensitiveDomain, released: Counts) -> dict[str | None, int]:
    """How many more rows of each value the input has than the release, if they differ.

    >>> values_left(SensitiveDomain("disease", ("flu", "gout"), (3, 2)), {"flu": 2, "gout": 2, "mumps": 1})
    {'flu': 1, 'mumps': -1}
    """
    whole = dict(zip(domain.values, domain.counts, strict=True))
    left = {value: whole.get(value, 0) - released.get(value, 0) for value in {**whole, **released}}
    return {value: n for value, n in left.items() if n}


def whole_input(left: LeftOut, released: Sequence[Counts]) -> list[Counts]:
    """The distributions of the input, by attribute.

    Without suppressed rows these are of the released rows, and follow from the release without the
    profile. Suppressed rows are written nowhere, so the input's distribution is that of the release
    and of the rows missing by the profile.
    """
    return [_added(*one) for one in zip(released, left.values, strict=True)]


def _added(counts: Counts, left: Counts) -> Counts:
    return {
        value: counts.get(value, 0) + max(0, left.get(value, 0)) for value in {**counts, **left}
    }


def suppressed_class(left: LeftOut, k: int, attributes: Sequence[JudgedAttribute]) -> ClassFigures:
    """The figures of the suppressed rows as one class."""
    histograms = {
        a.name: Histograms.dense(
            np.array([[counts.get(value, 0) for value in a.values]], dtype=np.int64)
        )
        for a, counts in zip(attributes, left.values, strict=True)
    }
    return figures_of_suppressed(left.rows, k, attributes, histograms)


def input_listing(a: JudgedAttribute, left: Counts) -> dict[str, Any]:
    """The input's distribution of an attribute, for the certificate: counts in the order of the
    domain.

    For more than LONGEST values this is a hash. Then the suppressed rows' values are listed beside
    it; added to the released ones, they give the distribution.
    """
    counts = listing(a.distance.table.tolist(), "counts")
    if len(a.values) > LONGEST:
        counts["suppressed"] = [[value, left[value]] for value in a.values if value in left]
    return counts
