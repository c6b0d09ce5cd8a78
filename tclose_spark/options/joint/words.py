"""The words of several sensitive attributes together: see `privacy.joint`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

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
