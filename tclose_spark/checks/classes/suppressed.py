"""The rows that a release leaves out. Where the input's distribution is public, theirs follows, so they are a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tclose_spark.checks.classes.class_table import JudgedAttribute
from tclose_spark.checks.classes.figures import ClassFigures, figures_of_class
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.runfile.spec import Privacy
from tclose_spark.table.domains import Counts, Profile, SensitiveDomain
from tclose_spark.table.writing import LONGEST, listing


@dataclass(frozen=True)
class SuppressedRows:
    """The rows that are suppressed.

    rows: how many, as counted while the rows were written.
    values: of each sensitive attribute, how many rows of each value the input has more than the release.
    public: whether that follows from the certificate, since it tells the input's distribution, which the classes are
        compared with.
    """

    rows: int
    values: tuple[Counts, ...]
    public: bool

    @staticmethod
    def of(rows: int, privacy: Privacy, profile: Profile, released: Sequence[Counts]) -> SuppressedRows:
        """What the profile's input has and the released rows, counted by attribute, lack."""
        values = tuple(map(suppressed_values, profile.sensitive, released))
        return SuppressedRows(rows, values, rows > 0 and privacy.of == "input")

    @property
    def unexplained(self) -> list[int]:
        """The attributes in which the release differs from the input by something else than these rows."""
        counts = [values.values() for values in self.values]
        return [i for i, rows in enumerate(counts) if min(rows, default=0) < 0 or sum(rows) != self.rows]

    def compared(self, released: Sequence[Counts]) -> list[Counts]:
        """The distributions that classes must be near to, by attribute: of the input, or of the released rows.

        With nothing suppressed the release itself has the input's, and the profile has to be believed in nothing.
        Suppressed rows are written nowhere, so the input's distribution is what is released and what, by the profile,
        is missing.
        """
        if not self.public:
            return list(released)
        return [
            {value: counts.get(value, 0) + max(0, left.get(value, 0)) for value in {**counts, **left}}
            for counts, left in zip(released, self.values, strict=True)
        ]


def suppressed_values(domain: SensitiveDomain, released: Counts) -> dict[str | None, int]:
    """How many rows of each value the input has more than the release, where they differ.

    >>> values_left(SensitiveDomain("disease", ("flu", "gout"), (3, 2)), {"flu": 2, "gout": 2, "mumps": 1})
    {'flu': 1, 'mumps': -1}
    """
    whole = dict(zip(domain.values, domain.counts, strict=True))
    left = {value: whole.get(value, 0) - released.get(value, 0) for value in {**whole, **released}}
    return {value: n for value, n in left.items() if n}


def suppressed_class(left: SuppressedRows, k: int, attributes: Sequence[JudgedAttribute]) -> ClassFigures:
    """The figures of the suppressed rows as one class. Its guarantees are those of every class."""
    columns: dict[str, Any] = {"quasi_identifiers": [{"are": "suppressed"}], "size": [left.rows]}
    for a, counts in zip(attributes, left.values, strict=True):
        histogram = Histograms.dense(np.array([[counts.get(value, 0) for value in a.values]], dtype=np.int64))
        columns |= dict(zip((name for name, _ in a.fields()), a.measured(histogram), strict=True))
    return figures_of_class(pa.RecordBatch.from_pydict(columns), k, attributes)


def input_listing(a: JudgedAttribute, left: Counts) -> dict[str, Any]:
    """The input's distribution, by which an attribute is judged, as the certificate tells it: counts in the order of
    the domain. Of more than LONGEST values that is a hash; the values of the suppressed rows then stand beside it, so
    that who adds them to the released ones has the distribution.
    """
    counts = listing(a.distance.table.tolist(), "counts")
    if len(a.values) > LONGEST:
        counts["suppressed"] = [[value, left[value]] for value in a.values if value in left]
    return counts
