"""The suppressed rows of a release. If the input's distribution is public, theirs follows from it,
so they must be a class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tclose_spark.checks.classes.figures import ClassFigures, figures_of_suppressed
from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.checks.left_out import LeftOut
from tclose_spark.checks.problems import violation
from tclose_spark.checks.release_figures import achieved_of
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.table.domains import Counts
from tclose_spark.table.writing import LONGEST, listing


class SuppressionJudge(ReleaseJudge):
    """figures: of the suppressed rows as one class, if their distribution is public."""

    figures: ClassFigures | None = None

    def _are_public(self, left: LeftOut) -> bool:
        """Whether the counts of their values follow from the certificate, which then has the
        input's distribution.
        """
        return left.rows > 0 and self.spec.privacy.of == "input"

    def compared(self, release: JudgedRelease) -> Sequence[Counts] | None:
        """See ReleaseJudge: of the input, or of the released rows.

        Without suppressed rows both are equal, and follow from the release without the profile.
        Suppressed rows are written nowhere, so the input's distribution is that of the release and
        of the rows missing by the profile.
        """
        if not self._are_public(release.left):
            return None
        return [
            {
                value: counts.get(value, 0) + max(0, left.get(value, 0))
                for value in {**counts, **left}
            }
            for counts, left in zip(release.counts, release.left.values, strict=True)
        ]

    def measure(self, release: JudgedRelease) -> None:
        if self._are_public(release.left) and not release.left.unexplained:
            known = release.first(lambda judge: judge.left_out_class(release))
            self.figures = known or suppressed_class(
                release.left, self.spec.privacy.k, release.attributes
            )

    def problems(self, release: JudgedRelease) -> Iterator[str]:
        for broken in [] if self.figures is None else self.figures.broken:
            yield violation(broken, suppressed=True)

    def report(self, release: JudgedRelease, figures: dict[str, Any]) -> Sequence[str]:
        if self.figures is not None:
            figures["suppressed"] |= {"attributes": achieved_of(self.figures, release.attributes)}
            for a, values in zip(release.attributes, release.left.values, strict=True):
                figures["attributes"][a.name]["input"] = input_listing(a, values)
        return ()


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
