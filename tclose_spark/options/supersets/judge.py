"""(n, t)-closeness of a release (see `privacy.nt`): each class is close to a natural superset, in
place of the whole table.

`SupersetsWords` describes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.checks.supersets import NearSupersets, expect_supersets, near_supersets
from tclose_spark.report.certificate.guarantees import NearSuperset
from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.option_words import Certified, Lines, OptionWords
from tclose_spark.requirements.closeness import (
    NearFigures,
    near_entry,
    near_lines,
    near_row,
    near_violation,
)
from tclose_spark.requirements.expectation import Expectation
from tclose_spark.requirements.figures import OptionFigures
from tclose_spark.requirements.words import GuaranteeRow
from tclose_spark.runfile.spec import ReleaseSpec


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


class SupersetsJudge(ReleaseJudge):
    """near: by attribute with a t."""

    makes = SupersetsFigures
    near: list[NearSupersets]

    def __init__(self, spec: ReleaseSpec) -> None:
        super().__init__(spec)
        assert spec.privacy.n is not None
        self.n = spec.privacy.n

    def measure(self, release: JudgedRelease) -> None:
        self.near = near_supersets(release.classes, release.attributes, self.n)

    def problems(self, release: JudgedRelease) -> Iterator[str]:
        far = [near_violation(one.guarantee) for one in self.near if not one.guarantee.holds]
        yield from (*far, *release.untried_supersets) if far else ()

    def expectations(self, release: JudgedRelease) -> list[Expectation]:
        return expect_supersets(release.attributes)

    def report(self, release: JudgedRelease) -> SupersetsFigures:
        return SupersetsFigures(
            near={str(one.guarantee.attribute): _figures(one) for one in self.near},
        )


def _figures(near: NearSupersets) -> NearFigures:
    proven = {"whole_table": near.whole_table, "itself": near.itself, "superset": near.superset}
    return NearFigures(achieved=float(near.guarantee.achieved), classes=proven)
