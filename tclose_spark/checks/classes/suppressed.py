"""The suppressed rows of a release. If the input's distribution is public, theirs follows from it, so they must be a
class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tclose_spark.checks.classes.figures import ClassFigures, figures_of_class
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.requirements.registry import columns_of, fields_of
from tclose_spark.runfile.spec import Privacy
from tclose_spark.table.domains import Counts, Profile, SensitiveDomain
from tclose_spark.table.writing import LONGEST, listing


@dataclass(frozen=True)
class SuppressedRows:
    """The suppressed rows.

    rows: how many, as counted during the write.
    values: by sensitive attribute, how many more rows of each value the input has than the release.
    public: whether these counts follow from the certificate, which then has the input's distribution.
    """

    rows: int
    values: tuple[Counts, ...]
    public: bool

    @staticmethod
    def of(rows: int, privacy: Privacy, profile: Profile, released: Sequence[Counts]) -> SuppressedRows:
        """From the profile of the input, and the released rows counted by attribute."""
        values = tuple(map(suppressed_values, profile.sensitive, released))
        return SuppressedRows(rows, values, rows > 0 and privacy.of == "input")

    @property
    def unexplained(self) -> list[int]:
        """The attributes in which the release differs from the input by more than these rows."""
        counts = [values.values() for values in self.values]
        return [i for i, rows in enumerate(counts) if min(rows, default=0) < 0 or sum(rows) != self.rows]

    def compared(self, released: Sequence[Counts]) -> list[Counts]:
        """The distributions to compare classes with, by attribute: of the input, or of the released rows.

        Without suppressed rows both are equal, and follow from the release without the profile. Suppressed rows are
        written nowhere, so the input's distribution is that of the release and of the rows missing by the profile.
        """
        if not self.public:
            return list(released)
        return [
            {value: counts.get(value, 0) + max(0, left.get(value, 0)) for value in {**counts, **left}}
            for counts, left in zip(released, self.values, strict=True)
        ]


def suppressed_values(domain: SensitiveDomain, released: Counts) -> dict[str | None, int]:
    """How many more rows of each value the input has than the release, if they differ.

    >>> suppressed_values(SensitiveDomain("disease", ("flu", "gout"), (3, 2)), {"flu": 2, "gout": 2, "mumps": 1})
    {'flu': 1, 'mumps': -1}
    """
    whole = dict(zip(domain.values, domain.counts, strict=True))
    left = {value: whole.get(value, 0) - released.get(value, 0) for value in {**whole, **released}}
    return {value: n for value, n in left.items() if n}


def suppressed_class(left: SuppressedRows, k: int, attributes: Sequence[JudgedAttribute]) -> ClassFigures:
    """The figures of the suppressed rows as one class, with the guarantees of every class."""
    columns: dict[str, Any] = {"quasi_identifiers": [{"are": "suppressed"}], "size": [left.rows]}
    histograms = {
        a.name: Histograms.dense(np.array([[counts.get(value, 0) for value in a.values]], dtype=np.int64))
        for a, counts in zip(attributes, left.values, strict=True)
    }
    columns |= dict(zip((name for name, _ in fields_of(attributes)), columns_of(attributes, histograms), strict=True))
    return figures_of_class(pa.RecordBatch.from_pydict(columns), k, attributes)


def input_listing(a: JudgedAttribute, left: Counts) -> dict[str, Any]:
    """The input's distribution of an attribute, for the certificate: counts in the order of the domain.

    For more than LONGEST values this is a hash. Then the suppressed rows' values are listed beside it; added to the
    released ones, they give the distribution.
    """
    counts = listing(a.distance.table.tolist(), "counts")
    if len(a.values) > LONGEST:
        counts["suppressed"] = [[value, left[value]] for value in a.values if value in left]
    return counts
