"""Several sensitive attributes together: the tuples that must be close (`privacy.joint`), and what
all reveal.
"""

from __future__ import annotations

from tclose_spark.checks.classes.class_table import RequiredMeasure
from tclose_spark.checks.classes.tuples import (
    TupleCloseness,
    count_alone,
    prefix_tuples,
)
from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.checks.release_figures import reached
from tclose_spark.measures.distances.ground_distances import least_distance
from tclose_spark.options.joint.words import JointFigures, TupleFigures


class JointJudge(ReleaseJudge):
    """prefixes: the tuples of the first attribute, of the first two, and so on. alone: see
    `count_alone`.

    Blocks that are published apart have no tuples.
    """

    makes = JointFigures
    prefixes: list[TupleCloseness]
    alone: list[dict[str, object]]

    def measures(self, release: JudgedRelease) -> list[RequiredMeasure]:
        counts = None if self.spec.release.together else release.tuple_counts
        self.prefixes = prefix_tuples(counts, release.attributes)
        return [*self.prefixes]

    def measure(self, release: JudgedRelease) -> None:
        together = self.spec.release.together
        labels = len(release.labels)
        self.alone = (
            []
            if together
            else count_alone(release.tallies, labels, release.names, release.tuple_counts)
        )

    def report(self, release: JudgedRelease) -> JointFigures:
        """How far tuples are from the table's in the farthest class, beside the least that any
        class of its size can reach.
        """
        joint = {a.name: reached(release.figures, a) for a in release.more_attributes}
        return JointFigures(
            joint=joint if self.spec.privacy.joint else None,
            tuples=[_tuple_figures(release, one) for one in self.prefixes] or None,
            alone=self.alone or None,
        )


def _tuple_figures(release: JudgedRelease, one: TupleCloseness) -> TupleFigures:
    found = release.figures.of(one.criterion.measure, one.criterion.attribute)
    assert found is not None
    return TupleFigures(
        attributes=list(one.names),
        emd=str(found.achieved),
        size=found.size,
        least=str(least_distance(one.counts, found.size or 1)),
    )
