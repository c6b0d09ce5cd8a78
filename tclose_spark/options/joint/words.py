"""The words of several sensitive attributes together: see `privacy.joint`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tclose_spark.report.option_words import Certificate, Certified, OptionWords
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

    def certify(self, made: Certified, sections: dict[str, Any]) -> None:
        required = made.spec.privacy.joint or ()
        figures = made.figures.of(JointFigures)
        for name in covered(required):
            sections["unprotected"].pop(name, None)
        if figures.joint is not None:
            sections["guarantees"]["joint"] = {
                one.name: {
                    "attributes": list(one.attributes),
                    **JOINT.entry(one.as_attribute, figures.joint[one.name]["t"]),
                }
                for one in required
            }
        if figures.alone is not None:
            sections["information"]["alone"] = figures.alone
        if figures.tuples is not None:
            growth = [
                {
                    "attributes": one.attributes,
                    **_exactly(one.emd),
                    "size": one.size,
                    "least": one.least,
                }
                for one in figures.tuples
            ]
            last = _exactly(figures.tuples[-1].emd)
            sections["information"]["tuples"] = {"distance": "equal", **last, "growth": growth}

    def variables(self, certificate: Certificate) -> Mapping[str, Any]:
        return {"joint": certificate["guarantees"].get("joint", {})}

    def sections(self, certificate: Certificate, figures: Figures) -> Mapping[str, Any]:
        growth = _growth(certificate, figures)
        return {
            "growth": growth_of(growth) if growth else None,
            "alone": certificate["information"].get("alone", ()),
        }

    def parts(self, certificate: Certificate, figures: Figures) -> Mapping[str, str]:
        return {"worst": "joint/together.html.j2"} if _growth(certificate, figures) else {}


def _growth(certificate: Certificate, figures: Figures) -> list[dict[str, Any]] | None:
    """The distances by number of attributes, if the figures are of all classes."""
    found = certificate["information"].get("tuples", {}) if figures.spreads else {}
    growth: list[dict[str, Any]] | None = found.get("growth")
    return growth


def _exactly(achieved: str) -> dict[str, Any]:
    return {"achieved": float(Fraction(achieved)), "achieved_exact": achieved}
