"""The words of (n, t)-closeness: see `privacy.nt`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tclose_spark.report.certificate.guarantees import NearSuperset
from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.option_words import Certified, Lines, OptionWords
from tclose_spark.requirements.figures import OptionFigures
from tclose_spark.requirements.supersets import NearFigures, near_entry, near_lines, near_row
from tclose_spark.requirements.words import GuaranteeRow


@dataclass(frozen=True)
class SupersetsFigures(OptionFigures):
    """near: what classes achieve, and how many each kind of superset proves, by attribute
    with a t.
    """

    near: Mapping[str, NearFigures]


class SupersetsWords(OptionWords):
    """Distances from natural supersets, by attribute with a t. Those from the whole table are
    measured only.
    """

    def certify(self, made: Certified, certificate: Certificate) -> None:
        settings = made.spec.attributes.sensitive_attributes
        n = made.spec.privacy.n
        assert n is not None
        for entry in certificate.guarantees.t.values():
            entry.required = None
            entry.required_exact = None
        near = made.figures.of(SupersetsFigures).near
        certificate.guarantees.nt = {
            name: NearSuperset.read(near_entry(settings[name], n, found))
            for name, found in near.items()
        }

    def tables(self, certificate: Certificate, whole: str) -> Mapping[str, list[GuaranteeRow]]:
        near = _near(certificate)
        classes = certificate.release.classes
        return {"guarantees": [near_row(name, nt, whole, classes) for name, nt in near.items()]}

    def variables(self, certificate: Certificate) -> Mapping[str, Any]:
        return {"near": _near(certificate)}

    def lines(self, certificate: Certificate) -> Mapping[str, Lines]:
        return {
            "closeness": [
                line for name, nt in _near(certificate).items() for line in near_lines(name, nt)
            ],
        }


def _near(certificate: Certificate) -> Mapping[str, Mapping[str, Any]]:
    found = certificate.guarantees.nt or {}
    return {name: nt.to_json() for name, nt in found.items()}
