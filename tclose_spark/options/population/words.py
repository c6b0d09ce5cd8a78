"""The words of the risk of re-identification: see `privacy.population` and `privacy.risk`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tclose_spark.report.certificate.risks import CertifiedRisks
from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.option_words import Certified, OptionWords
from tclose_spark.requirements.figures import Figures, OptionFigures, Plain
from tclose_spark.requirements.words import BAR, MARK, GuaranteeRow
from tclose_spark.runfile.combinations import RISK_FIGURES
from tclose_spark.runfile.privacy import RISKS
from tclose_spark.table.writing import number


@dataclass(frozen=True)
class PopulationFigures(OptionFigures):
    """risks: by kind, with the population and who is unique in it (see
    `PopulationRisks.to_json`).
    """

    risks: Plain


class PopulationWords(OptionWords):
    """The risks by kind, with the limits that are required. Nobody is alone in a class: it has k
    people.
    """

    def certify(self, made: Certified, certificate: Certificate) -> None:
        required = [] if made.spec.privacy.risk is None else [*made.spec.privacy.risk.required()]
        risks = {
            key: entry
            for key, entry in made.figures.of(PopulationFigures).risks.items()
            if key != "uniques"
        }
        for adversary in RISKS:
            if adversary in risks:
                limits = {figure: float(limit) for of, figure, limit in required if of == adversary}
                risks[adversary] = {**risks[adversary], "required": limits}
        certificate.risks = CertifiedRisks.read(risks)

    def tables(self, certificate: Certificate, whole: str) -> Mapping[str, list[GuaranteeRow]]:
        return {"risks": [*_rows(certificate.risks)]}

    def parts(self, certificate: Certificate, figures: Figures) -> Mapping[str, str]:
        return {"guarantees": "population/risks.html.j2"} if certificate.risks else {}


def _rows(risks: CertifiedRisks | None) -> Iterator[GuaranteeRow]:
    """A row for each figure of each kind of risk."""
    for adversary in RISKS:
        entry: Any = getattr(risks, adversary, None)
        for figure in () if entry is None else RISK_FIGURES:
            limit = getattr(entry.required, figure)
            reached = getattr(entry, figure)
            yield GuaranteeRow(
                name=f"{adversary}, {figure}{' (estimate)' if entry.estimate else ''}",
                attribute="",
                meaning="",
                required="" if limit is None else f"at most {number(limit, reached)}",
                achieved=number(reached, limit),
                met=None if limit is None else reached <= limit,
                bar=None if not limit else min(BAR, MARK * reached / limit),
            )
