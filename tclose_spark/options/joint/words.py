"""The words of several sensitive attributes together: see `privacy.joint`."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from tclose_spark.report.option_words import Certificate, Certified, OptionWords
from tclose_spark.report.sections import growth_of
from tclose_spark.requirements.closeness import JOINT
from tclose_spark.runfile.joint import covered


class JointWords(OptionWords):
    """The closeness of tuples that must be close; and measured only, the distances of all tuples,
    and people alone with a pair of values.
    """

    def certify(self, made: Certified, sections: dict[str, Any]) -> None:
        required, figures = made.spec.privacy.joint or (), made.figures
        for name in covered(required):
            sections["unprotected"].pop(name, None)
        if "joint" in figures:
            sections["guarantees"]["joint"] = {
                one.name: {
                    "attributes": list(one.attributes),
                    **JOINT.entry(one.as_attribute, figures["joint"][one.name]["t"]),
                }
                for one in required
            }
        if "alone" in figures:
            sections["information"]["alone"] = figures["alone"]
        if "tuples" in figures:
            growth = [
                {
                    "attributes": one["attributes"],
                    **_exactly(one["emd"]),
                    "size": one["size"],
                    "least": one["least"],
                }
                for one in figures["tuples"]
            ]
            last = _exactly(figures["tuples"][-1]["emd"])
            sections["information"]["tuples"] = {"distance": "equal", **last, "growth": growth}

    def variables(self, certificate: Certificate) -> Mapping[str, Any]:
        return {"joint": certificate["guarantees"].get("joint", {})}

    def sections(self, certificate: Certificate, figures: Mapping[str, Any]) -> Mapping[str, Any]:
        growth = _growth(certificate, figures)
        return {
            "growth": growth_of(growth) if growth else None,
            "alone": certificate["information"].get("alone", ()),
        }

    def parts(self, certificate: Certificate, figures: Mapping[str, Any]) -> Mapping[str, str]:
        return {"worst": "joint/together.html.j2"} if _growth(certificate, figures) else {}


def _growth(certificate: Certificate, figures: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The distances by number of attributes, if the figures are of all classes."""
    found = certificate["information"].get("tuples", {}) if figures.get("spreads") else {}
    growth: list[dict[str, Any]] | None = found.get("growth")
    return growth


def _exactly(achieved: str) -> dict[str, Any]:
    return {"achieved": float(Fraction(achieved)), "achieved_exact": achieved}
