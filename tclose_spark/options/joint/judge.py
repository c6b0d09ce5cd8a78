"""Several sensitive attributes together: the tuples that must be close (`privacy.joint`), and what
all reveal.

`JointWords` describes both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tclose_spark.checks.classes.class_table import RequiredMeasure
from tclose_spark.checks.classes.tuples import (
    TupleCloseness,
    count_alone,
    prefix_tuples,
)
from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.checks.release_figures import reached
from tclose_spark.measures.distances.ground_distances import least_distance
from tclose_spark.report.certificate.guarantees import Closeness
from tclose_spark.report.certificate.sections import Alone, Certificate, Growth, Tuples
from tclose_spark.report.option_words import Certified, OptionWords
from tclose_spark.report.sections import growth_of
from tclose_spark.requirements.closeness import JOINT
from tclose_spark.requirements.figures import Figures, OptionFigures, Plain
from tclose_spark.runfile.privacy import covered


@dataclass(frozen=True)
class TupleFigures:
    """attributes: of the tuple. emd: of the farthest class, which has `size` rows. least: any class
    of this size can reach.
    """

    attributes: Sequence[str]
    emd: str
    size: int | None
    least: str


@dataclass(frozen=True)
class JointFigures(OptionFigures):
    """joint: what classes achieve in the tuples that must be close, by name. tuples: of the first
    attribute, of the first two, and so on. alone: see `count_alone`.
    """

    joint: Mapping[str, Plain] | None = None
    tuples: Sequence[TupleFigures] | None = None
    alone: Sequence[Plain] | None = None


class JointWords(OptionWords):
    """The closeness of tuples that must be close; and measured only, the distances of all tuples,
    and people alone with a pair of values.
    """

    def certify(self, made: Certified, certificate: Certificate) -> None:
        required = made.spec.privacy.joint or ()
        figures = made.figures.of(JointFigures)
        protected = covered(required)
        certificate.unprotected = {
            name: found for name, found in certificate.unprotected.items() if name not in protected
        }
        if figures.joint is not None:
            certificate.guarantees.joint = {
                one.name: Closeness.read(
                    {
                        "attributes": list(one.attributes),
                        **JOINT.entry(one.as_attribute, figures.joint[one.name]["t"]),
                    },
                )
                for one in required
            }
        if figures.alone is not None:
            certificate.information.alone = [Alone.read(one) for one in figures.alone]
        if figures.tuples is not None:
            growth = [_growth_of(one) for one in figures.tuples]
            certificate.information.tuples = Tuples(
                distance="equal",
                achieved=growth[-1].achieved,
                achieved_exact=growth[-1].achieved_exact,
                growth=growth,
            )

    def variables(self, certificate: Certificate) -> Mapping[str, Any]:
        return {"joint": certificate.guarantees.joint or {}}

    def sections(self, certificate: Certificate, figures: Figures) -> Mapping[str, Any]:
        growth = _growth(certificate, figures)
        return {
            "growth": growth_of(growth) if growth else None,
            "alone": certificate.information.alone or (),
        }

    def parts(self, certificate: Certificate, figures: Figures) -> Mapping[str, str]:
        return {"worst": "joint/together.html.j2"} if _growth(certificate, figures) else {}


def _growth(certificate: Certificate, figures: Figures) -> list[Growth]:
    """The distances by number of attributes, if the figures are of all classes."""
    tuples = certificate.information.tuples
    return [] if tuples is None or not figures.spreads else tuples.growth


def _growth_of(one: TupleFigures) -> Growth:
    return Growth.read(
        {
            "attributes": one.attributes,
            "achieved": float(Fraction(one.emd)),
            "achieved_exact": one.emd,
            "size": one.size,
            "least": one.least,
        },
    )


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
